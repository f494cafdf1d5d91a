"""The leading machine says to those that wait that it is there, so that they wait for it while it is busy.

It searches for a placement, or sends another one its share. One that is gone or frozen says nothing.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors_runtime.machines.channel import Channel

_OFTEN = 1.0  # seconds from one time to the next
_MOST = 2.0  # seconds for a machine to take that: it has taken all before, or does not listen any more


class SignsOfLife:
    """Says "wait" over all `channels`, from a thread of its own, until the `end`."""

    def __init__(self, channels: list[Channel]) -> None:
        self._channels = set(channels)
        self._changing = threading.Lock()  # nothing else is said over any of them meanwhile
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._speak, name="reactors-signs", daemon=True)
        self._thread.start()

    @contextmanager
    def silent(self, channel: Channel) -> Iterator[None]:
        """The caller uses a channel; if nothing goes wrong, it is said there again afterwards."""
        with self._changing:
            self._channels.discard(channel)
        yield
        with self._changing:
            self._channels.add(channel)

    def end(self) -> None:
        """Nothing is said any more."""
        self._over.set()
        self._thread.join()

    def _speak(self) -> None:
        while not self._over.wait(_OFTEN):
            with self._changing:
                for channel in [*self._channels]:
                    try:
                        channel.send("wait", seconds=_MOST)
                    except OSError:  # which shows when it is to have its share
                        self._channels.discard(channel)
