"""Too few descriptors, and a full disk: the error says which, and nothing is left behind."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import reactors as rx

FEWER = """
import os, resource, sys, threading
import numpy as np
import reactors as rx, reactors.shipping
from reactors.testing import children
from reactors_runtime.processes import workers

class Source(rx.Reactor):
    tick = rx.Timer(0, 10)
    out = rx.Output(shape=3, dtype=np.float32)
    @rx.reaction(tick, effects=out)
    def send(self):
        self.out.set(np.ones(3, np.float32))

class Sink(rx.Reactor):
    inp = rx.Input(shape=3, dtype=np.float32)
    n = 0
    @rx.reaction(inp)
    def hear(self):
        self.n += 1

class Main(rx.Reactor):
    def __init__(self):
        self.source, self.sink = Source(), Sink()
        rx.connect(self.source.out, self.sink.inp)

way = {"inline": {}, "thread": {"placement": {"main.sink": 1}}, "process": {"placement": {"main.sink": 1}}}[sys.argv[1]]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
open_ones = lambda: set(os.listdir("/proc/self/fd"))
for free in range(30):
    before = open_ones()
    held = []
    try:
        while True:
            held.append(os.dup(0))
    except OSError:
        for one in held[:free]:
            os.close(one)
    main = Main()
    try:
        rx.run(main, workers=2 if way else 1, backend=sys.argv[1], fast=True, timeout=1000, **way)
        print(main.sink.n)
    except rx.TooManyOpenFiles as error:
        print(error)
    for one in held[free:]:
        os.close(one)
    workers.close_server()
    assert open_ones() == before, (free, open_ones(), before)
    assert threading.active_count() == 1, free
    assert not children(os.getpid()), free
"""


@pytest.mark.parametrize("way", ["inline", "thread", "process"])
def test_however_few_descriptors_are_free_a_run_works_or_says_so(way: str) -> None:
    done = subprocess.run([sys.executable, "-c", FEWER, way], capture_output=True, text=True, check=False)
    assert not done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 30
    refused = lines.index("101")
    assert refused > 0
    assert set(lines[refused:]) == {"101"}
    said = (
        "main: its run needs more open files than are left: this process may have 64, a worker process takes two, and "
        "twelve serve all of them; close files, use fewer workers, or allow more (ulimit -n)"
    )
    assert set(lines[:refused]) == {said}


class Full(rx.Reactor):
    """Hears from outside, on a disk that is full from the start."""

    outside = rx.PhysicalAction(bytes)

    def __init__(self, *, failing: bool = False) -> None:
        self.failing = failing

    @rx.reaction(rx.startup)
    def fill(self) -> None:
        self.limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, self.limit[1]))  # what has a byte gets no other
        self.outside.schedule(b"hello")

    @rx.reaction(outside, effects=rx.stop)
    def hear(self) -> None:
        self.request_stop()
        if self.failing:
            raise LookupError("mine")

    @rx.reaction(rx.shutdown)
    def empty(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limit)


def test_a_log_that_cannot_be_written_on_ends_the_run_and_is_no_whole_log(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    with pytest.raises(rx.ReplayError) as caught:
        rx.run(Full(), record=log)
    assert str(caught.value) == (
        f"main: the log {log!r} ends before the run does, because it cannot be written (File too large)"
    )
    with pytest.warns(rx.ReactorWarning, match="breaks off"):
        rx.run(Full(), replay=log)


def test_the_programs_own_error_comes_out_of_a_run_whose_trace_cannot_be_written() -> None:
    with pytest.raises(rx.ReactionError, match="raised LookupError: mine") as caught:
        rx.run(Full(failing=True), trace="/dev/full")
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.__notes__ == ["the trace '/dev/full' cannot be written (No space left on device)"]


def test_a_run_is_as_good_without_its_trace() -> None:
    with pytest.warns(rx.ReactorWarning, match="the trace '/dev/full' cannot be written") as caught:
        assert rx.run(Full(), trace="/dev/full").reactions == 3
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]


def test_time_that_stands_still_comes_out_of_a_run_whose_trace_cannot_be_written() -> None:
    class Again(rx.Reactor):
        again = rx.LogicalAction()

        @rx.reaction(rx.startup, again, effects=again)
        def on(self) -> None:
            self.again.schedule()

    with pytest.raises(rx.MicrostepLimitError) as caught:
        rx.run(Again(), trace="/dev/full", max_microsteps=100)
    assert caught.value.__notes__ == ["the trace '/dev/full' cannot be written (No space left on device)"]


def test_the_end_of_a_log_that_cannot_be_written_is_missed(tmp_path: Path) -> None:
    class Fill(rx.Reactor):
        @rx.reaction(rx.startup)
        def fill(self) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(rx.ReplayError, match="ends before the run does"):
            rx.run(Fill(), record=tmp_path / "log")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_worker_that_has_not_started_yet_has_no_process_to_name() -> None:
    from reactors.graph import Graph
    from reactors_runtime.planning.image import Image
    from reactors_runtime.planning.options import RunOptions
    from reactors_runtime.processes import faults

    image = Image(Graph(Full()).program, [0], 1, RunOptions())
    assert faults.who(image, 0) == "worker 0 (runs main)"
    assert faults.who(image, 0, os.getpid()) == f"worker 0 (pid {os.getpid()}; runs main)"
