"""Deadlines of reactions that are C functions: the reference has the same in Python (catalogue, section 9)."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest

import reactors as rx
from reactors.testing import trace as steps_of
from tests.oracle.ways import TOGETHER, note, trace

SOURCE = """
#include <stdint.h>
static void set(int64_t value, void **data, unsigned char *present, void *state)    /* (timer) -> port */
{
    *(int64_t *)data[1] = value;
    present[1] = 1;
    ++*(int64_t *)state;
}
void one(void **data, unsigned char *present, void *state) { set(1, data, present, state); }
void two(void **data, unsigned char *present, void *state) { set(2, data, present, state); }
"""
ffi = cffi.FFI()
ffi.cdef("void one(void **, unsigned char *, void *); void two(void **, unsigned char *, void *);")
in_c: Any = None


@pytest.fixture(autouse=True, scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Worker processes load the library from its file."""
    global in_c  # noqa: PLW0603 - reactions are made of it where no fixture is at hand
    source = tmp_path_factory.mktemp("bodies") / "bodies.c"
    source.write_text(SOURCE)
    library = source.with_suffix(".so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    in_c = ffi.dlopen(str(library))


def native(name: str, state: Any) -> Any:
    return rx.native(ffi.addressof(in_c, name), state)


def sleepy(rx: Any, _: Any) -> Any:
    return rx.VirtualClock(sleep=True)


def idle(rx: Any, _: Any) -> Any:
    return rx.VirtualClock()


def working(seconds: float, deadline: int, *, late_in_c: bool, nodes: int = 1) -> Callable[[Any], Any]:
    """Every 1,000 ns, a reaction that works for so long, and one in C with that deadline; what that sets is noted."""

    def program(rx: Any) -> Any:
        class Node(rx.Reactor):
            tick = rx.Timer(0, 1000)
            out = rx.Output(dtype=np.int64)

            def __init__(self) -> None:
                self.ones, self.twos = np.zeros(1, np.int64), np.zeros(1, np.int64)
                body, late = self.one, self.two
                if hasattr(rx, "native"):
                    body = native("one", self.ones)
                    late = native("two", self.twos) if late_in_c else self.two
                self.add_reaction(self.tick, self.work)
                self.add_reaction(self.tick, body, effects=self.out, deadline=deadline, late=late)

            def work(self) -> None:
                if self.tag.time != 1000:
                    time.sleep(seconds)

            def one(self) -> None:
                self.out.set(1)

            def two(self) -> None:
                if not late_in_c:
                    note(self, "late", self.lag)
                self.out.set(2)

        class Sink(rx.Reactor):
            value = rx.Input(dtype=np.int64)

            @rx.reaction(value)
            def see(self) -> None:
                note(self, int(self.value.value))

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.nodes = [Node() for _ in range(nodes)]
                self.sinks = [Sink() for _ in range(nodes)]
                for node, sink in zip(self.nodes, self.sinks, strict=True):
                    rx.connect(node.out, sink.value)

        return Main()

    return program


@pytest.mark.parametrize("late_in_c", [True, False])
def test_a_native_reaction_does_not_run_when_its_deadline_is_missed(late_in_c: bool) -> None:
    """Deadlines 1, 2: strictly beyond t + D; what runs instead has the same effects, be it in C or Python."""
    late = {} if late_in_c else {"main.nodes[0]": [(0, 0, "late", 201), (2000, 0, "late", 201)]}
    assert trace(working(201e-9, 200, late_in_c=late_in_c), clock=sleepy, ways=TOGETHER, timeout=2000) == {
        **late,
        "main.sinks[0]": [(0, 0, 2), (1000, 0, 1), (2000, 0, 2)],
    }
    assert trace(working(200e-9, 200, late_in_c=late_in_c), clock=sleepy, ways=TOGETHER, timeout=1000) == {
        "main.sinks[0]": [(0, 0, 1), (1000, 0, 1)]
    }


@pytest.mark.parametrize("late_in_c", [True, False])
def test_a_native_reaction_with_a_deadline_of_zero_never_runs(late_in_c: bool) -> None:
    """Deadlines 1: D = 0 is missed even where no time has passed, with any workers and of many reactions at once."""
    found = trace(working(0, 0, late_in_c=late_in_c, nodes=6), clock=idle, timeout=3000)
    for k in range(6):
        assert found[f"main.sinks[{k}]"] == [(t, 0, 2) for t in range(0, 3001, 1000)]


@pytest.mark.parametrize(("workers", "backend"), [(1, "inline"), (2, "thread"), (2, "process")])
def test_missed_deadlines_of_native_reactions_are_counted_and_both_states_come_home(workers: int, backend: Any) -> None:
    """Deadlines 2: the statistics of the reaction count both, and how many were late."""
    main = working(500e-9, 100, late_in_c=True, nodes=2)(rx)
    placement = {"main.nodes[0]": 0, "main.nodes[1]": workers - 1}
    clock = rx.VirtualClock(sleep=True)
    result = rx.run(main, clock=clock, workers=workers, backend=backend, placement=placement, timeout=3000)
    found = [(each.count, each.late) for each in result.statistics if each.late]
    assert found == [(4, 3)] * 2
    assert [(node.ones[0], node.twos[0]) for node in main.nodes] == [(1, 3)] * 2


@pytest.mark.parametrize("late_in_c", [True, False])
def test_a_replay_is_late_where_the_run_was(late_in_c: bool, tmp_path: Path) -> None:
    """Deadlines 1: in a log is which native reactions were late, and a replay looks at no clock."""
    log = tmp_path / "log"
    program = working(201e-9, 200, late_in_c=late_in_c)
    first = rx.run(program(rx), clock=rx.VirtualClock(sleep=True), record=log, timeout=2000)
    main = working(0, 200, late_in_c=late_in_c)(rx)
    again = rx.run(main, replay=log)
    assert again.digest == first.digest
    assert main.sinks[0].log == [(0, 0, 2), (1000, 0, 1), (2000, 0, 2)]


def test_what_runs_instead_of_a_native_reaction_may_change_the_deadline() -> None:
    """Deadlines 5: and has nothing to run a second time (4)."""

    class Main(rx.Reactor):
        tick = rx.Timer(0, 1000)
        out = rx.Output(dtype=np.int64)

        def __init__(self) -> None:
            self.found: list[tuple[int, bool]] = []

        step = rx.reaction(tick, effects=out)(native("one", np.zeros(1, np.int64)))

        @step.deadline(0)
        def late(self) -> None:
            self.found.append((self.tag.time, self.check_deadline(handle=True)))
            self.update_deadline("1 s")

    main = Main()
    result = rx.run(main, clock=rx.VirtualClock(), timeout=3000)
    assert main.found == [(0, True)]
    assert [(each.path, each.count, each.late) for each in result.statistics] == [("main.step", 4, 1)]


def test_a_class_may_declare_both_in_c_and_a_subclass_other_ones() -> None:
    """Deadlines 2: by attribute, overridden as any other."""
    counts = np.zeros((3, 1), np.int64)

    class Base(rx.Reactor):
        tick = rx.Timer(0, 1000)
        out = rx.Output(dtype=np.int64)
        step = rx.reaction(tick, effects=out)(native("one", counts[0]))
        late: Any = step.deadline(0)(native("two", counts[1]))

    class Other(Base):
        late = native("two", counts[2])

    class InPython(Base):
        def late(self) -> None:
            self.out.set(7)

    for kind, expected in ((Base, [0, 1, 0]), (Other, [0, 1, 1]), (InPython, [0, 1, 1])):
        rx.run(kind(), clock=rx.VirtualClock(), timeout=0)
        assert counts[:, 0].tolist() == expected
    steps = steps_of(InPython(), clock=rx.VirtualClock(), timeout=0)
    assert [(each.reaction, each.late, each.written) for each in steps] == [("step", True, {"main.out": 7})]


def test_what_runs_instead_of_a_reaction_in_python_is_in_python() -> None:
    """Deadlines 4: it may be called in the middle of the reaction."""

    class Main(rx.Reactor):
        tick = rx.Timer(0, 1000)

        def __init__(self) -> None:
            self.add_reaction(self.tick, self.work, deadline=0, late=native("one", None))

        def work(self) -> None: ...

    with pytest.raises(
        rx.DeclarationError, match=r"main\.work .* is written in Python, but what runs when its deadline"
    ):
        rx.Graph(Main())
