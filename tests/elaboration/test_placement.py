"""Where reactors run."""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from tests.messages import warned


class Leaf(rx.Reactor):
    @rx.reaction(rx.startup)
    def begin(self) -> None: ...


class Branch(Leaf):
    def __init__(self) -> None:
        self.leaf, self.leaves = Leaf(), rx.bank(2, Leaf)


class Tree(Leaf):
    def __init__(self) -> None:
        self.branch, self.branches, self.branching = Branch(), rx.bank(2, Branch), Leaf()


def workers(placement: Any, number: int = 3) -> dict[str, int]:
    result = rx.run(Tree(), workers=number, backend="thread", placement=placement)
    return {each.path.removesuffix(".begin").removeprefix("main."): each.worker for each in result.statistics}


BRANCH = ("", ".leaf", ".leaves[0]", ".leaves[1]")


@pytest.mark.parametrize("form", [lambda choice: choice, lambda choice: choice.get])
def test_what_a_reactor_contains_goes_where_it_goes(form: Any) -> None:
    """Unless it is placed itself; a name that only begins like that of the container is none of it."""
    found = workers(form({"main.branch": 2, "main.branch.leaves[0]": 1, "main.branches[0]": 2}))
    assert [found[f"branch{inner}"] for inner in BRANCH] == [2, 2, 1, 2]
    assert [found[f"branches[0]{inner}"] for inner in BRANCH] == [2, 2, 2, 2]
    assert [found[f"branches[1]{inner}"] for inner in BRANCH] == [1, 1, 1, 1]
    assert found["branching"] == found["main"] == 0


def test_all_is_contained_in_the_main_reactor() -> None:
    assert set(workers({"main": 1}).values()) == {1}


def test_a_bank_is_spread_and_an_outer_one_decides_for_those_inside() -> None:
    found = workers("auto", 2)
    assert [found[f"branch{inner}"] for inner in BRANCH] == [0, 0, 0, 1]
    assert [found[f"branches[1]{inner}"] for inner in BRANCH] == [1, 1, 1, 1]


def test_what_may_run_elsewhere_is_a_reactor_of_the_program_not_a_connection_of_a_mode() -> None:
    class Source(rx.Reactor):
        out = rx.Output(int)

        @rx.reaction(rx.startup, effects=out)
        def go(self) -> None: ...

    class Sink(rx.Reactor):
        inp = rx.Input(int)

        @rx.reaction(inp)
        def see(self) -> None: ...

    class Main(rx.Reactor):
        off = rx.Mode(initial=True)

        def __init__(self) -> None:
            self.source, self.sink = Source(), Sink()
            with self.off:
                rx.connect(self.source.out, self.sink.inp)

    assert warned(lambda: rx.run(Main(), workers=2, backend="thread", fast=True)) == [
        (
            "all 3 reactors of main run on worker 0, and the others have nothing to do: its reactions wait for one "
            "another, and no placement changes that: leave workers=2 out"
        )
    ]


def test_neighbours_in_a_bank_share_a_worker() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.parts = rx.bank(7, Leaf)

    result = rx.run(Main(), workers=3, backend="thread")
    found = {each.path: each.worker for each in result.statistics}
    assert [found[f"main.parts[{i}].begin"] for i in range(7)] == [0, 0, 0, 1, 1, 2, 2]


def test_workers_are_numbered_from_zero() -> None:
    with pytest.raises(rx.PlacementError, match=r"placement of main\.branch: 3; workers are whole numbers from 0 to 2"):
        workers({"main.branch": 3})


class Clock(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def strike(self) -> None:
        self.out.set(1)


class Stage(rx.Reactor):
    inp, out = rx.Input(int), rx.Output(int)

    @rx.reaction(inp, effects=out)
    def work(self) -> None:
        self.out.set(self.inp.value)


class Begin(rx.Reactor):
    inp, out = rx.Input(int), rx.Output(int)

    @rx.reaction(rx.startup, inp, effects=out)
    def work(self) -> None:
        if self.tag.microstep < 3:
            self.out.set(1)


class Counted(rx.Reactor):
    """It ends the program after a while."""

    inp = rx.Input(int)

    @rx.reaction(inp, effects=rx.stop)
    def count(self) -> None: ...


class Program(rx.Reactor):
    """What `build` makes of it."""

    def __init__(self, build: Callable[[Any], object]) -> None:
        build(self)


def fan(main: Any) -> None:
    """Stages in a list, all at one level."""
    main.clock, main.stages = Clock(), [Stage() for _ in range(6)]
    for stage in main.stages:
        main.clock.out >> stage.inp


def wrapped(main: Any) -> None:
    main.inner = Program(fan)


def named(main: Any) -> None:
    """Stages with names, and one that comes after two of them."""
    main.clock, main.left, main.right, main.last = Clock(), Stage(), Stage(), Stage()
    main.clock.out >> main.left.inp
    main.clock.out >> main.right.inp
    main.right.out >> main.last.inp


def clocks(main: Any) -> None:
    """A list of clocks beside one: of the list, the second is the first for another worker."""
    main.clock, main.clocks = Clock(), [Clock(), Clock(), Clock()]


def line(main: Any) -> None:
    """One stage after the other: they can be at different tags."""
    main.clock, main.first, main.second = Clock(), Stage(), Stage()
    main.clock.out >> main.first.inp
    main.first.out >> main.second.inp


def stopping(main: Any) -> None:
    """The clock may not be ahead of who may stop the program."""
    main.clock, main.stage, main.counted = Clock(), Stage(), Counted()
    main.clock.out >> main.stage.inp
    main.stage.out >> main.counted.inp


def circle(main: Any) -> None:
    """A cycle that one microstep cuts."""
    main.one, main.other = Begin(), Stage()
    main.one.out >> main.other.inp
    rx.connect(main.other.out, main.one.inp, after=0)


def slow_circle(main: Any) -> None:
    """Whether one can be ahead depends on when values come."""
    main.one, main.other = Begin(), Stage()
    main.one.out >> main.other.inp
    rx.connect(main.other.out, main.one.inp, after="1 ms")


def late(main: Any) -> None:
    """A cycle in which values are older than the period, so both halves can run at the same time."""
    main.clock, main.stage = Ahead(), Stage()
    main.clock.out >> main.stage.inp
    rx.connect(main.stage.out, main.clock.inp, after="2 ms")


class Ahead(rx.Reactor):
    inp, out = rx.Input(int), rx.Output(int)
    tick = rx.Timer(0, "1 ms")

    @rx.reaction(tick, uses=inp, effects=out)
    def strike(self) -> None:
        self.out.set(1)


class Once(rx.Reactor):
    @rx.reaction(rx.startup)
    def begin(self) -> None: ...

    @rx.reaction(rx.shutdown)
    def end(self) -> None: ...


def once(main: Any) -> None:
    """Two side by side that do something at the start and at the end alone, which is not worth a worker."""
    main.one, main.other = Once(), Once()


SERIAL = "its reactions wait for one another, and no placement changes that: leave workers={} out"
MEASURED = (
    "only measured times could show which of them gain by running apart; trace= and reactors place find that out from "
    "a run, or placement= says it"
)


@pytest.mark.parametrize(
    ("build", "number", "elsewhere"),
    [
        (fan, 2, {f"main.stages[{i}]": 1 for i in (1, 3, 5)}),
        (fan, 3, {f"main.stages[{i}]": i % 3 for i in (1, 2, 4, 5)}),
        (wrapped, 2, {f"main.inner.stages[{i}]": 1 for i in (1, 3, 5)}),
        (named, 2, {"main.right": 1}),
        (named, 3, {"main.right": 1}),
        (clocks, 2, {"main.clocks[0]": 1, "main.clocks[2]": 1}),
        (line, 2, {"main.first": 1, "main.second": 1}),
        (line, 3, {"main.first": 1, "main.second": 2}),
        (late, 2, {"main.stage": 1}),
    ],
)
def test_a_program_without_banks_uses_more_workers_where_that_gains_something(
    build: Any, number: int, elsewhere: dict[str, int]
) -> None:
    options: dict[str, Any] = {"fast": True, "timeout": "3 ms"}
    result = rx.run(Program(build), workers=number, backend="thread", **options)
    found = {each.path.rpartition(".")[0]: each.worker for each in result.statistics}
    assert {path: worker for path, worker in found.items() if worker} == elsewhere
    assert result.digest == rx.run(Program(build), **options).digest


@pytest.mark.parametrize(
    ("build", "number", "serial"), [(stopping, 2, True), (circle, 4, True), (slow_circle, 2, False), (once, 2, False)]
)
def test_where_nothing_gains_all_is_on_worker_0_with_a_word(build: Any, number: int, serial: bool) -> None:
    graph = rx.Graph(Program(build))
    said = SERIAL.format(number) if serial else MEASURED
    assert warned(lambda: rx.run(graph, workers=number, backend="thread", fast=True, timeout="3 ms")) == [
        f"all {len(graph.reactors)} reactors of main run on worker 0, and the others have nothing to do: {said}"
    ]
