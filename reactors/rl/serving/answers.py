"""How do answers come back from the process that has the server?

Through a pipe of the caller's, which the worker opens by its place in `/proc`, as memory that processes share is
reached. The worker has the only end for writing from then on, so when it closes the pipe, or dies, the caller knows.
Values are kept as in logs, without pickle.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

from reactors.lowlevel import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

LENGTH = struct.Struct("<I")


class PipeEnd(NamedTuple):
    """Where a pipe is to be opened."""

    process: int
    descriptor: int


class Listener(Protocol):
    """What a server reports to: that it takes requests, its answers, and its end."""

    def opened(self) -> None:
        """The server takes requests from now on."""

    def answered(self, number: int, actions: NDArray[Any] | Sequence[Any]) -> None:
        """The actions for batch `number`, one for each of its requests."""

    def closed(self) -> None:
        """The server takes no more requests."""


class AnswerSender:
    """The worker's end: reports to a `Listener` in another process, which `again` finds there."""

    def __init__(self, place: PipeEnd, again: Callable[[], Any]) -> None:
        self.place, self.again = place, again
        self.pipe: BinaryIO | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return self.again, ()

    def opened(self) -> None:
        """The server takes requests from now on."""
        self.pipe = Path(f"/proc/{self.place.process}/fd/{self.place.descriptor}").open("wb")  # noqa: SIM115 - until closed
        self._send(None)

    def answered(self, number: int, actions: NDArray[Any] | Sequence[Any]) -> None:
        """The actions for batch `number`, one for each of its requests."""
        self._send((number, actions))

    def closed(self) -> None:
        """The server takes no more requests."""
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None

    def _send(self, value: Any) -> None:
        assert self.pipe is not None
        data = encode(value)
        self.pipe.write(LENGTH.pack(len(data)) + data)
        self.pipe.flush()


class Receiver:
    """The caller's end, with a thread that tells `listener` what comes, until nothing more can come."""

    def __init__(self, listener: Listener, name: str) -> None:
        read, write = os.pipe()
        self.place = PipeEnd(os.getpid(), write)
        self._let_go = weakref.finalize(self, _closed, write)
        self.thread = threading.Thread(
            target=_receive, args=(read, weakref.ref(listener), self._let_go), name=name, daemon=True
        )
        self.thread.start()

    def finish(self) -> None:
        """The worker is gone, or has closed the pipe: hear all that it has said."""
        self._let_go()
        if self.thread is not threading.current_thread():
            self.thread.join(5)  # callbacks of futures, which run there, may take their time


def _receive(read: int, listener: weakref.ref[Any], let_go: Callable[[], object]) -> None:
    with open(read, "rb") as pipe:
        opened = False
        while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
            data = pipe.read(LENGTH.unpack(head)[0])
            found: Listener | None = listener()
            if found is None:
                break
            if opened:
                found.answered(*decode(data))
            else:
                opened = True
                let_go()  # from here on the worker alone can write
                found.opened()
            del found
        if opened and (found := listener()) is not None:
            found.closed()


def _closed(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)
