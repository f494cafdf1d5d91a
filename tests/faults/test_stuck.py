"""A reaction that never returns: on a terminal the run says where it is, and so does Ctrl-C."""

import re

import numpy as np
import pytest

import reactors as rx
from reactors.graph import Graph
from reactors_runtime import tables
from reactors_runtime.memory import Memory
from reactors_runtime.planning.image import Image
from reactors_runtime.planning.options import RunOptions
from reactors_runtime.processes.stuck import AFTER_S, Stall
from tests.terminal import typed

PROGRAM = """
import sys
import reactors as rx
from reactors_runtime.processes import stuck

way, kind, after, *progress = sys.argv[1:]
stuck.AFTER_S = float(after)

class Loop(rx.Reactor):
    tick = rx.Timer(period="1 s")
    @rx.reaction(tick)
    def work(self):
        while kind == "endless":
            pass

class Wait(rx.Reactor):
    outside = rx.PhysicalAction()
    @rx.reaction(outside)
    def hear(self):
        pass

class Main(rx.Reactor):
    def __init__(self):
        self.loop, self.wait = Loop(), Wait()

places = "auto" if way == "inline" else {"main.wait": 1}
try:
    workers = 1 if way == "inline" else 2
    rx.run(Main(), workers=workers, backend=way, placement=places, timeout="2 s", progress=bool(progress))
except KeyboardInterrupt:
    print("interrupted")
else:
    print("ended")
"""
WHERE = r"worker 0 \((pid \d+; )?runs main[^)]*\)"
STUCK = rf"no reaction has ended for 0.2 s: {WHERE} is in main.loop.work at tag 0 s; Ctrl-C stops the run\n"
STOPPING = rf"stopping; waiting for {WHERE}, in main.loop.work at tag 0 s; Ctrl-C {{}}\n"


@pytest.mark.parametrize("way", ["inline", "thread", "process"])
def test_a_run_without_progress_says_where_it_is_and_ctrl_c_ends_it(way: str) -> None:
    """Inline, Ctrl-C ends the reaction itself; elsewhere, the second one does not wait for it any more."""
    moves = [("main.loop.work at tag 0 s; Ctrl-C stops", "\x03"), ("main.loop.work at tag 0 s; Ctrl-C", "\x03")]
    shown = typed(PROGRAM, way, "endless", "0.2", moves=moves).replace("^C", "")
    assert len(re.findall(STUCK, shown)) == shown.count("no reaction has ended") == 1, shown
    stopping = {"inline": "", "thread": STOPPING.format("leaves it behind"), "process": STOPPING.format("kills it")}
    assert re.search(f"{stopping[way]}interrupted\n$", shown), shown


@pytest.mark.parametrize("way", ["thread", "process"])
def test_whom_a_stopped_run_waits_for_is_said_in_place_of_the_progress_line(way: str) -> None:
    moves = [("main.loop.work at tag 0 s; Ctrl-C stops", ""), ("0 reactions (0/s)", "\x03"), ("Ctrl-C ", "\x03")]
    shown = typed(PROGRAM, way, "endless", "0.2", "progress", moves=moves).replace("^C", "")
    assert "\x1b[2Kstopping; waiting for worker 0" in shown, shown
    assert shown.endswith("\ninterrupted\n"), shown


@pytest.mark.parametrize("way", ["inline", "thread", "process"])
def test_a_program_that_waits_for_its_time_or_for_the_outside_is_not_stuck(way: str) -> None:
    shown = typed(PROGRAM, way, "waiting", "0.6")
    assert "no reaction has ended" not in shown
    assert shown.endswith("ended\n")


class Two(rx.Reactor):
    def __init__(self) -> None:
        self.each = rx.bank(2, rx.Reactor)


def test_who_has_neither_slept_nor_ended_a_reaction_is_stuck_and_it_is_reported_once() -> None:
    image = Image(Graph(Two()).program, [0, 0, 1], 2, RunOptions())
    with Memory.reserve(image.size) as memory:
        image.write(memory)
        bells = tables.view(memory, image.at["bells"], 2, tables.BELL)
        stall = Stall(image, memory)
        stall.restart(0.0)
        assert stall.look(AFTER_S - 1) is None
        bells["reactions"][1] += 1  # one of them gets on
        assert stall.look(AFTER_S) is None
        assert stall.look(2 * AFTER_S - 1) is None
        bells["sleeps"] += 1  # both wait
        assert stall.look(2 * AFTER_S) is None
        bells["sleeps"][0] += 1  # one does
        assert stall.look(3 * AFTER_S - 1) is None
        words = stall.look(3 * AFTER_S)
        assert words is not None
        assert "worker 1 (runs main.each[1])" in words
        assert "worker 0" not in words
        assert stall.look(9 * AFTER_S) is None


def test_a_worker_that_has_ended_is_not_stuck() -> None:
    image = Image(Graph(Two()).program, [0, 0, 0], 1, RunOptions())
    with Memory.reserve(image.size) as memory:
        image.write(memory)
        bells = tables.view(memory, image.at["bells"], 1, tables.BELL)
        bells["finished"] = np.uint64(1)
        stall = Stall(image, memory)
        stall.restart(0.0)
        assert stall.look(2 * AFTER_S) is None
