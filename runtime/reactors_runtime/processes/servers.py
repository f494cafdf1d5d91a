"""The caller's end of the server: start one early, lend it to one run at a time, keep one idle between runs.

A server stands for one setting: the environment and sys.path that were in force when it imported what it holds. A run
in another setting gets another server. Two runs at once get two servers.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from reactors_runtime.processes.messages import mapped, pair, readable
from reactors_runtime.settings.numeric_environment import given, one_thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reactors_runtime.processes.interrupts import Interrupts


class Key(NamedTuple):
    """The setting of a server: what imports may depend on."""

    environment: frozenset[tuple[str, str]]
    path: tuple[str, ...]  # sys.path
    interpreter: str

    @classmethod
    def now(cls, changes: Mapping[str, str] | None) -> Key:
        """The environment, search path and interpreter that the caller has now."""
        lasting = ((name, value) for name, value in one_thread(environment(changes)).items() if name not in _PASSING)
        return cls(frozenset(lasting), tuple(search_path()), sys.executable or "")


ESSENTIAL = ("numpy", "reactors_runtime.engine")  # what every worker needs
_PASSING = {"PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "SHLVL", "_", "COLUMNS", "LINES"}  # no import depends on these
_BOOT = (
    "import sys; sys.path[:] = sys.argv[3:]; from reactors_runtime.processes.server import main; "
    "main(int(sys.argv[1]), int(sys.argv[2]))"
)
_PATIENCE = 120.0  # seconds; for an import that takes longer, something is wrong


class ServerDied(Exception):  # noqa: N818 - it is what happened
    """The server ended; says how, and what it had printed."""


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The caller's environment with changes."""
    return given() | dict(changes or {})


def search_path() -> list[str]:
    """sys.path as it is for a process that may stand elsewhere."""
    return [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100 - "" is the working directory here


class ServerProcess:
    """A server process, seen by its caller."""

    def __init__(self, key: Key) -> None:
        if not sys.platform.startswith("linux"):
            raise ServerDied('worker processes need Linux (memfd, pidfd); elsewhere use backend="thread"')
        if not key.interpreter:
            raise ServerDied('this Python is embedded and names no interpreter to start; use backend="thread"')
        self.key = key
        self.asked: set[str] = set()  # modules that it has imported, or tried to
        self.loading: list[str] = []  # modules that it is importing now
        self.unfit: str | None = None  # a module that made it unfit to be forked
        self.proven = False  # it has answered once
        self.awaited = False  # its answer
        with contextlib.ExitStack() as failed, contextlib.ExitStack() as started:
            self.wire, theirs = pair()
            started.callback(theirs.close)
            failed.callback(self.wire.close)
            self._log = os.memfd_create("reactors", os.MFD_CLOEXEC)
            failed.callback(os.close, self._log)
            try:
                self._process = subprocess.Popen(
                    [
                        *(key.interpreter, *subprocess._args_from_interpreter_flags()),  # type: ignore[attr-defined]
                        *("-c", _BOOT, str(theirs.fileno()), str(os.getpid()), *key.path),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    pass_fds=[theirs.fileno()],
                    env=dict(key.environment),
                )
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    raise
                raise ServerDied(f"{key.interpreter}, which workers are to run in, does not start: {error}") from error
            failed.callback(self._process.wait)
            failed.callback(self._process.kill)
            self._end = os.pidfd_open(self._process.pid)
            failed.pop_all()

    @property
    def pid(self) -> int:
        """The process number of the server."""
        return self._process.pid

    def descriptors(self) -> set[int]:
        """What it holds open in this process."""
        return {self.wire.fileno(), self._log, self._end}

    def fileno(self) -> int:
        """A descriptor that poll finds readable when the server has ended."""
        return self._end

    def load(self, names: Iterable[str]) -> None:
        """Have it import modules, without waiting for it. Not while it imports others."""
        self.loading = [name for name in names if name not in self.asked]
        self.asked.update(self.loading)
        self.awaited = True
        with contextlib.suppress(ConnectionError):  # it is dead, as `loaded` will find
            self.wire.send("import", self.loading)

    def loaded(self, interrupts: Interrupts) -> None:
        """Wait until it has imported what it was to."""
        patience = time.monotonic() + _PATIENCE
        while self.awaited:
            ready = readable([self.wire.fileno(), self.fileno(), interrupts.fileno()], 1.0)
            if interrupts.fileno() in ready and interrupts.heard():
                raise KeyboardInterrupt
            if self.wire.fileno() in ready:
                try:
                    (_, self.unfit), _ = self.wire.receive()
                except EOFError:
                    raise self.died() from None
                self.awaited, self.proven, self.loading = False, True, []
            elif self.fileno() in ready:
                raise self.died()
            elif time.monotonic() > patience:
                raise ServerDied(f"importing {', '.join(self.loading[:5])} takes over {_PATIENCE:.0f} s")

    def died(self) -> ServerDied:
        """The error that says how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        how = "does not answer" if code is None else ending(code)
        with contextlib.suppress(ValueError), mapped(os.dup(self._log)) as log:  # ValueError: it is empty
            return ServerDied(f"{self._name()} {how}; it printed:\n{log[-4000:].decode(errors='replace')}")
        if code is not None and code >= 0:
            how += " and printed nothing; it is sys.executable, which has to be a Python like this one"
        return ServerDied(f"{self._name()} {how}")

    def _name(self) -> str:
        return f"the process that workers are forked from ({self.key.interpreter}, pid {self.pid})"

    def close(self) -> None:
        """End it, and with it its workers."""
        self.wire.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._log)
        os.close(self._end)

    def forget(self) -> None:
        """Let go of it in a fork of the caller, which is not its parent."""
        self.wire.close()
        os.close(self._log)
        os.close(self._end)
        self._process.returncode = 0  # so that Popen does not complain that it still runs


def ending(status: int) -> str:
    """How a process ended, from its exit status or, negative, its signal.

    >>> ending(-9), ending(3)
    ('was killed by SIGKILL', 'ended with exit status 3')
    """
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"was killed by signal {-status}"


class _Idle:
    """The servers that no run uses: one at most."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: ServerProcess | None = None
        self.unfit: defaultdict[Key, set[str]] = defaultdict(set)  # what leaves threads or descriptors when imported

    def take(self, key: Key) -> ServerProcess:
        with self.lock:
            server, self.server = self.server, None
        if server is not None:
            if server.key == key and not readable([server.fileno()], 0):
                return server
            server.close()
        return ServerProcess(key)

    def give(self, server: ServerProcess) -> None:
        with self.lock:
            surplus, self.server = self.server, server
        if surplus is not None:
            surplus.close()

    def close(self) -> None:
        with self.lock:
            server, self.server = self.server, None
        if server is not None:
            server.close()

    def forget(self) -> None:
        self.lock = threading.Lock()  # the thread that held it is not in this process
        if self.server is not None:
            self.server.forget()
            self.server = None


_idle = _Idle()
atexit.register(_idle.close)
os.register_at_fork(after_in_child=_idle.forget)


def close_server() -> None:
    """End the idle server; the next run starts another."""
    _idle.close()


def idle_server() -> ServerProcess | None:
    """The server that waits for the next run, if there is one."""
    return _idle.server


def warm_up(modules: Iterable[str] = (), changes: Mapping[str, str] | None = None) -> None:
    """Have a server start and import what workers will need, while the caller goes on."""
    server = _idle.take(Key.now(changes))
    if not server.proven and not server.awaited:
        server.load(_fit(server.key, (*ESSENTIAL, *modules)))
    _idle.give(server)


@contextmanager
def lent(modules: Iterable[str], changes: Mapping[str, str] | None, interrupts: Interrupts) -> Iterator[ServerProcess]:
    """A server that has imported `modules`, for one run. It is kept afterwards unless the run left it in a mess."""
    server = _prepared(Key.now(changes), (*ESSENTIAL, *modules), interrupts)
    try:
        yield server
    except BaseException:
        server.close()
        raise
    _idle.give(server)


def prepare(server: ServerProcess, modules: Iterable[str]) -> None:
    """Have a server whose run is over import what its workers did, for the next run."""
    names = [name for name in _fit(server.key, modules) if name not in server.asked]
    if names:
        server.load(names)


def _prepared(key: Key, modules: Iterable[str], interrupts: Interrupts) -> ServerProcess:
    unfit = _idle.unfit[key]
    suspects: set[str] = set()  # what servers were importing when they died
    while True:
        server = _idle.take(key)
        proven = server.proven
        try:
            server.loaded(interrupts)
            if not server.unfit:
                server.load(_fit(key, modules))
                server.loaded(interrupts)
            if not server.unfit:
                return server
            unfit.add(server.unfit)
        except ServerDied:
            suspects.update(server.loading)
            unfit.update(server.loading)
            if not server.loading and not proven:  # it was none of these
                unfit.difference_update(suspects)
                server.close()
                raise
        except BaseException:
            server.close()
            raise
        server.close()


def _fit(key: Key, modules: Iterable[str]) -> list[str]:
    """Those that may be imported ahead. Whatever needs what is unfit is unfit too: without the essentials, none."""
    unfit = _idle.unfit[key]
    return [] if unfit.intersection(ESSENTIAL) else [name for name in modules if name not in unfit]
