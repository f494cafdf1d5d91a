"""The server: a fresh interpreter that holds what workers import, and forks them.

The caller's own process is never forked, for it may hold threads, locks or a GPU. The server has one thread and
nothing open but its wires, so a fork of it is as good as a new interpreter, and starts in milliseconds. It serves one
run at a time. It dies with the caller: at once when the socket closes, and by a descriptor of the caller's process
when a fork of the caller keeps the socket open. Workers die with the server.

Words it hears: import, fork, kill. Words it says: imported, forked, unforked, exited. Its workers say theirs
(see worker.py) on the same socket, so that the caller sees what happened in the order in which it did.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import os
import select
import signal
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from reactors_runtime.processes import worker
from reactors_runtime.processes.messages import WireEnd, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


class _Server:
    def __init__(self, wire: WireEnd, caller: int) -> None:
        self.wire = wire
        self.caller = caller  # a pidfd, as are the keys of `workers`
        self.workers: dict[int, tuple[int, int]] = {}  # number, pid
        self.poll = select.poll()
        self.poll.register(wire, select.POLLIN)
        self.poll.register(caller, select.POLLIN)

    def serve(self) -> NoReturn:
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor in self.workers:
                    self.bury(descriptor)
                elif descriptor == self.caller:
                    raise EOFError("the caller is gone")
                else:
                    self.hear()

    def hear(self) -> None:
        (word, *rest), descriptors = self.wire.receive()
        if word == "import":
            self.wire.send("imported", self.load(*rest))
        elif word == "fork":
            number, setting = rest
            self.fork(number, setting, descriptors)
        elif word == "kill":
            (numbers,) = rest
            for number, pid in self.workers.values():
                if number in numbers:
                    os.kill(pid, signal.SIGKILL)

    def load(self, names: list[str]) -> str | None:
        """Import modules; the name of the first that leaves a thread or a descriptor behind, if one does."""
        with self._hanging_on_the_wire():
            for name in names:
                if name in sys.modules:
                    continue
                before = os.listdir("/proc/self/fd")  # noqa: PTH208
                try:
                    importlib.import_module(name)
                except BaseException:  # noqa: BLE001 - the error comes again where the module is needed
                    continue
                if len(os.listdir("/proc/self/task")) > 1 or os.listdir("/proc/self/fd") != before:  # noqa: PTH208
                    return name
        return None

    @contextmanager
    def _hanging_on_the_wire(self) -> Iterator[None]:
        """While entered, the kernel ends this process by SIGIO when the other end closes, whatever it is busy with."""
        flags = fcntl.fcntl(self.wire, fcntl.F_GETFL)
        fcntl.fcntl(self.wire, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self.wire, fcntl.F_SETFL, flags | os.O_ASYNC)
        try:
            if readable([self.wire.fileno()], 0):  # nothing is said while we import: it was closed before
                raise EOFError("the caller is gone")
            yield
        finally:
            fcntl.fcntl(self.wire, fcntl.F_SETFL, flags)

    def fork(self, number: int, setting: worker.Setting, descriptors: list[int]) -> None:
        gc.freeze()  # what is there now is not looked at by any worker's collector, so its pages stay shared
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self.wire.send("unforked", number, str(error))
            pid = -1
        if pid == 0:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == server:
                prctl(_PR_SET_NAME, f"reactors-{number}".encode())
                for descriptor in (self.caller, *self.workers):
                    os.close(descriptor)
                os.register_at_fork(after_in_child=terminable)  # what a reaction forks, multiprocessing for instance
                worker.main(number, setting, self.wire, descriptors)
            os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid > 0:
            pidfd = os.pidfd_open(pid)
            self.workers[pidfd] = number, pid
            self.poll.register(pidfd, select.POLLIN)
            self.wire.send("forked", number)

    def bury(self, pidfd: int) -> None:
        number, _ = self.workers.pop(pidfd)
        self.poll.unregister(pidfd)
        end = os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
        os.close(pidfd)
        assert end is not None  # only with WNOHANG
        self.wire.send("exited", number, end.si_status if end.si_code == os.CLD_EXITED else -end.si_status)


def prctl(option: int, value: int | bytes) -> None:
    """Set a property of this process; refused only where the kernel is older than the property."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def terminable() -> None:
    """Let SIGTERM end this process."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main(descriptor: int, caller: int) -> NoReturn:
    """Serve the process `caller` over the socket `descriptor` until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller, who says when to end
    signal.signal(signal.SIGTERM, lambda *_: None)  # and so is this, which may be sent to all of its group
    prctl(_PR_SET_NAME, b"reactors-server")
    gc.disable()
    pidfd = os.pidfd_open(os.getppid())
    if os.getppid() != caller:
        os._exit(0)
    server = _Server(WireEnd(socket.socket(fileno=descriptor)), pidfd)
    try:
        server.serve()
    except (EOFError, ConnectionError):
        for _, pid in server.workers.values():
            os.kill(pid, signal.SIGKILL)
        for _, pid in server.workers.values():
            os.waitpid(pid, 0)
        os._exit(0)
