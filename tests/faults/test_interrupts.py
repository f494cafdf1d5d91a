"""Ctrl-C, and the death of the program that started the workers: in a program of its own, which is then looked at."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

import reactors as rx
from reactors.testing import PROC, children
from reactors_runtime.processes.interrupts import Interrupts

PROGRAM = """
import signal, sys
import reactors as rx

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts the tests in the background ignores it

class Busy(rx.Reactor):
    tick = rx.Timer(period="10 ms")
    def __init__(self, endless):
        self.endless = endless
    @rx.reaction(tick)
    def work(self):
        print("working", flush=True)
        while self.endless:
            pass
    @rx.reaction(rx.shutdown)
    def close(self):
        print("closed", flush=True)

class Main(rx.Reactor):
    def __init__(self, endless):
        self.busy = rx.bank(2, Busy, endless)

try:
    rx.run(Main(sys.argv[1] == "endless"), workers=2, backend="process", placement={"main": 0, "main.busy[1]": 1})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@contextmanager
def program(kind: str) -> Iterator[subprocess.Popen[str]]:
    """The program above, in which both workers have begun to work."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            for _ in range(2):
                assert process.stdout.readline() == "working\n", process.communicate()
            yield process
        finally:
            process.kill()


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    return {pid}.union(*(family(child) for child in children(pid)))


def alive(pid: int) -> bool:
    """Whether a process has not ended; one that its parent has not waited for has."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(processes: set[int]) -> bool:
    """Whether they end, sooner or later."""
    patience = time.monotonic() + 10
    while any(map(alive, processes)):
        if time.monotonic() > patience:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("kind", ["orderly", "endless"])
def test_nothing_is_left_when_the_caller_is_killed(kind: str) -> None:
    with program(kind) as process:
        everybody = family(process.pid)
        assert len(everybody) == 4  # caller, server, two workers
        process.kill()
        assert gone(everybody)


def test_nothing_is_left_when_the_server_is_killed() -> None:
    with program("endless") as process:
        (server,) = children(process.pid)
        everybody = family(process.pid)
        os.kill(server, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        assert "was killed by SIGKILL" in errors
        assert gone(everybody)


def test_ctrl_c_lets_the_shutdown_reactions_run_and_comes_out() -> None:
    with program("orderly") as process:
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        assert printed.count("closed") == 2
        assert printed.endswith("interrupted\n")
        assert process.returncode == 0


def test_ctrl_c_twice_kills_a_worker_in_an_endless_loop() -> None:
    with program("endless") as process:
        everybody = family(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "waiting for worker" in process.stderr.readline()  # and it says so
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        assert "closed" not in printed
        assert printed.endswith("interrupted\n")
        assert gone(everybody)


def test_ctrl_c_from_the_terminal_reaches_the_caller_alone() -> None:
    with program("orderly") as process:
        for pid in sorted(family(process.pid), reverse=True):  # as a terminal does, to the whole foreground group
            os.kill(pid, signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        assert printed.count("closed") == 2
        assert printed.endswith("interrupted\n")


def test_a_terminated_caller_takes_its_workers_along() -> None:
    with program("endless") as process:
        everybody = family(process.pid)
        process.terminate()
        assert gone(everybody)


def test_the_temporary_directory_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with program("orderly") as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert not list(tmp_path.iterdir())


LEFT = """
import ctypes, os, time
from reactors_runtime.processes.servers import idle_server
from tests.faults.programs import Pair, run, stop

run(Pair(stop))
if not (child := os.fork()):
    time.sleep(60)  # it has a copy of all that the caller has open
    os._exit(0)
print(idle_server().pid, child, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("fork", ["os.fork()", "ctypes.PyDLL(None).fork()"])
def test_a_server_ends_with_its_caller_though_a_fork_of_that_lives_on(fork: str) -> None:
    """A fork by a library closes nothing of Python's, and keeps the socket to the server open."""
    program = LEFT.replace("os.fork()", fork)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server, child = map(int, process.stdout.readline().split())
        try:
            process.kill()
            assert gone({server})
            assert alive(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_the_second_ctrl_c_ends_a_run_in_this_thread_at_once() -> None:
    """Also in the middle of its shutdown reactions."""

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.did: list[str] = []

        @rx.reaction(rx.startup)
        def begin(self) -> None:
            signal.raise_signal(signal.SIGINT)

        @rx.reaction(rx.shutdown)
        def end(self) -> None:
            self.did.append("first")
            signal.raise_signal(signal.SIGINT)

        @rx.reaction(rx.shutdown)
        def end_too(self) -> None:
            self.did.append("second")

    main = Main()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            rx.run(main)
    finally:
        signal.signal(signal.SIGINT, before)
    assert main.did == ["first"]


def test_what_ctrl_c_does_is_as_before_when_a_run_is_over() -> None:
    """And a handler of the user's own is heard during the run."""
    rang: list[int] = []

    def ring(number: int, _frame: object) -> None:
        rang.append(number)

    before = signal.getsignal(signal.SIGINT)
    try:
        for mine, counted in ((signal.default_int_handler, 1), (ring, 0)):
            signal.signal(signal.SIGINT, mine)
            with Interrupts() as interrupts:
                signal.raise_signal(signal.SIGINT)
            assert interrupts.count == counted
            assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)
    assert rang == [signal.SIGINT]


class Idle(rx.Reactor):
    @rx.reaction(rx.startup)
    def begin(self) -> None: ...


def test_ctrl_c_is_not_lost_while_numeric_libraries_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found by a callback from C, in which an exception has nowhere to go."""

    class Found:
        def __init__(self) -> None:
            ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()

        def select(self, user_api: str) -> "Found":
            return self

        def limit(self, limits: object) -> nullcontext[object]:
            return nullcontext(limits)

    monkeypatch.setattr("threadpoolctl.ThreadpoolController", Found)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            rx.run(Idle(), fast=True, timeout="1 ms")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


ALONE = """
import signal, sys, threading, time
import reactors as rx

signal.signal(signal.SIGINT, signal.default_int_handler)

class Main(rx.Reactor):
    tick = rx.Timer(0, 1)  # which nothing reads
    action = rx.PhysicalAction()
    @rx.reaction(rx.startup)
    def begin(self):
        print("working", flush=True)
        if sys.argv[1] == "thread":
            threading.Thread(target=self.act).start()
    def act(self):
        time.sleep(0.05)
        self.action.schedule()
    @rx.reaction(action, effects=rx.stop)
    def end(self):
        self.request_stop()
    @rx.reaction(rx.shutdown)
    def close(self):
        print("closed", flush=True)

try:
    rx.run(Main(), fast=True, workers=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("by", ["thread", "signal"])
def test_where_no_reaction_runs_for_long_signals_are_seen_and_other_threads_run(by: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ALONE, by], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "working\n"
            if by == "signal":
                process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert output == ("closed\n" if by == "thread" else "closed\ninterrupted\n")
