"""How does logical time count rounds?

A round is a minute, which no round takes: with `fast=True` no worker waits for it, and logical time stays ahead of the
physical time by which requests from outside are tagged, so that a server in the graph answers them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import reactors as rx

ROUND = 60_000_000_000  # ns
LATER = 50  # ns after the beginning of a round: when several learners learn, and again as much: when that is noted
HALF = ROUND // 2  # when checkpoints are made: all events of the round are over
STOP = HALF + 100  # an end at which nothing is half done


def round_of(tag: rx.Tag) -> int:
    """Its number.

    >>> import reactors as rx
    >>> round_of(rx.Tag(3 * ROUND + LATER, 2))
    3
    """
    return tag.time // ROUND
