"""One of the processes of a run that is executed again: its socket to the user's process, and its copies."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from typing import Any, NoReturn

from reactors.rewinding.forking import fork
from reactors_runtime.processes.messages import WireEnd, readable


class ProcessOfRun:
    """This process, as the cursor uses it. It ends as soon as the user's process does not talk to it any more."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.wire: WireEnd | None = None  # once it has stopped for the first time
        self.copies: set[int] = set()  # its children

    @property
    def wire_end(self) -> WireEnd:
        """Its own socket."""
        assert self.wire is not None
        return self.wire

    def say(self, *message: Any, descriptors: tuple[int, ...] = ()) -> None:
        """Say something to the user's process."""
        try:
            self.wire_end.send(*message, descriptors=descriptors)
        except ConnectionError:
            os._exit(0)

    def hear(self) -> tuple[Any, ...]:
        """What the user's process says next."""
        try:
            message, _ = self.wire_end.receive()
        except (EOFError, OSError):
            os._exit(0)
        return tuple(message)

    def copy(self) -> int:
        """Make a copy: its number, or 0 in the copy, which has a socket of its own then."""
        pid = fork()
        if pid:
            self.copies.add(pid)
        else:
            self.copies = set()
            self.connect()
        return pid

    def connect(self) -> None:
        """Have a socket of one's own to the user's process."""
        if self.wire is not None:
            self.wire.close()
        end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            end.connect(self.address)
            self.wire = WireEnd(end)
            self.wire.send("here", os.getpid())
        except OSError:
            os._exit(0)

    def interruptible(self, yes: bool) -> None:
        """While it runs, the kernel ends this process when the socket is closed, or anything comes over it."""
        descriptor = self.wire_end.fileno()
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC if yes else flags & ~os.O_ASYNC)
        if yes and readable([descriptor], 0):  # nothing is said while it runs: it was closed before
            os._exit(0)

    def bury(self) -> None:
        """Take leave of copies that have ended."""
        for pid in [*self.copies]:
            try:
                ended, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                ended = pid
            if ended:
                self.copies.discard(pid)

    def leave(self, others: list[int]) -> NoReturn:
        """End this process; the first one waits for all others before, which become its children by then."""
        patience = time.monotonic() + 2.0
        for pid in others:
            while time.monotonic() < patience:
                try:
                    ended, _ = os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    if not os.path.exists(f"/proc/{pid}"):  # noqa: PTH110
                        break
                    ended = 0
                if ended:
                    break
                time.sleep(0.001)
        os._exit(0)


def hush() -> None:
    """Of what reactions print nothing is shown, for they have printed it before."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
