"""What is known about an episode when it is over?"""

from __future__ import annotations

from typing import NamedTuple


class Episode(NamedTuple):
    """One episode of one environment, as sent by the port `episode` at the tag at which it ended.

    >>> Episode(env=0, number=3, total=12.0, length=12, seed=7, failed=False).length
    12
    """

    env: int  # which environment of the reactor, from 0
    number: int  # which episode of this environment, from 0
    total: float  # its return: the sum of its rewards, undiscounted
    length: int  # in steps
    seed: int | None  # the last seed of the environment
    failed: bool = False  # the environment raised an error and was made again
    returns: tuple[float, ...] = ()  # of the possible agents, in order, whose sum is `total`; () with a single agent.
    # nan for those that a past policy played: then `total` is of the others
