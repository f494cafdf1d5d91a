"""What a trace says of other placements, and the placements that come from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import reactors as rx
from reactors.command.cli import main as command
from reactors.tracing.capacity import Machine
from reactors.tracing.executions import Executions
from reactors.tracing.model import Model
from reactors.tracing.placing import automatic, best
from reactors.tracing.remedies import diagnosis
from reactors.tracing.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IDEAL = Machine()
"""On which workers are as fast as one alone."""


class Source(rx.Reactor):
    tick = rx.Timer(0, "1 us")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def count(self) -> None:
        self.out.set(1)


class Work(rx.Reactor):
    given, done = rx.Input(int), rx.Output(int)

    def __init__(self, rounds: int = 3000) -> None:
        self.rounds = rounds

    @rx.reaction(given, effects=done)
    def work(self) -> None:
        self.done.set(sum(range(self.rounds)))


class Gather(rx.Reactor):
    given = rx.Input(int, width=4)

    @rx.reaction(given)
    def take(self) -> None: ...


class Farm(rx.Reactor):
    """Four that work side by side, which are no bank."""

    def __init__(self, rounds: tuple[int, ...] = (3000, 3000, 3000, 3000)) -> None:
        self.source, self.gather = Source(), Gather()
        self.a, self.b, self.c, self.d = (Work(each) for each in rounds)
        for n, each in enumerate((self.a, self.b, self.c, self.d)):
            rx.connect(self.source.out, each.given)
            rx.connect(each.done, self.gather.given[n])


class Line(rx.Reactor):
    """One after the other, with as much to do; each can be at another tag."""

    def __init__(self) -> None:
        self.source, self.first, self.second = Source(), Work(), Work()
        rx.connect(self.source.out, self.first.given)
        rx.connect(self.first.done, self.second.given)


class Circle(rx.Reactor):
    """Each waits for the other."""

    def __init__(self) -> None:
        self.one, self.other = Begin(), Work()
        rx.connect(self.one.out, self.other.given)
        rx.connect(self.other.done, self.one.again, after="1 us")


class Begin(rx.Reactor):
    again, out = rx.Input(int), rx.Output(int)

    @rx.reaction(rx.startup, again, effects=out)
    def go(self) -> None:
        self.out.set(sum(range(3000)))


def modelled(trace: Trace, **costs: int) -> Model:
    """As if all reactions took 10 ns, and those of some reactors so many."""
    model = Model(trace)
    for number, reaction in enumerate(trace.reactions):
        name = reaction["path"].split(".")[-2]
        model.cost[model.executions.rows["reaction"] == number] = costs.get(name, 10)
    return model


def traced(main: rx.Reactor, tmp_path: Path, **options: Any) -> Trace:
    file = tmp_path / "run.rxt"
    rx.run(main, fast=True, timeout="100 us", trace=file, **options)
    return Trace(file)


@pytest.mark.parametrize(
    ("program", "workers", "least", "most"),
    [
        (Farm, 2, 1.9, 2.0),
        (Farm, 4, 3.7, 4.0),
        (Line, 2, 1.9, 2.0),
        (Line, 3, 1.9, 2.1),
        (Circle, 2, 1.0, 1.0),
    ],
)
def test_what_is_independent_gains_and_what_is_not_does_not(
    program: Callable[[], rx.Reactor], workers: int, least: float, most: float, tmp_path: Path
) -> None:
    big = dict.fromkeys(("a", "b", "c", "d", "first", "second", "one", "other"), 1000)
    model = modelled(traced(program(), tmp_path), **big)
    here = model.predicted([0] * len(model.trace.reactors), 1, IDEAL)
    there = best(model, workers, Machine(hop=0)).prediction
    assert least <= here.seconds / there.seconds <= most
    assert sum(there.busy) == pytest.approx(sum(here.busy))
    assert model.critical_path().seconds <= there.seconds


def test_one_worker_takes_what_all_reactions_take_and_the_engine(tmp_path: Path) -> None:
    trace = traced(Farm(), tmp_path)
    model = Model(trace)
    alone = model.predicted([0] * len(trace.reactors), 1, IDEAL)
    assert alone.seconds == pytest.approx(alone.busy[0], rel=1e-6)
    assert alone.seconds * 1e9 == pytest.approx(model.cost.sum(), rel=1e-6)


@pytest.mark.parametrize("program", [Farm, Line, Circle])
def test_a_reaction_shared_on_one_worker_takes_as_long_and_on_two_less(
    program: Callable[[], rx.Reactor], tmp_path: Path
) -> None:
    trace = traced(program(), tmp_path)
    model = modelled(trace, a=1000, b=1000, c=1000, d=1000, first=1000, second=1000, one=1000, other=1000)
    machine, placed = Machine(hop=0), automatic(trace, 2)
    now = model.predicted(placed, 2, machine)
    for number, reaction in enumerate(trace.reactions):
        both = model.shared(number)
        worker = placed[reaction["reactor"]]
        here = both.predicted([*placed, worker], 2, machine)
        assert here.seconds == pytest.approx(now.seconds)
        assert sum(here.busy) == pytest.approx(sum(now.busy))
        there = both.predicted([*placed, 1 - worker], 2, machine)
        assert there.seconds >= both.critical_path().seconds
    if program is Circle:  # one of the two is idle at any time, so that half of either can be there
        heavy = [n for n, each in enumerate(trace.reactions) if each["path"].split(".")[-2] in ("one", "other")]
        for number in heavy:
            least = min(model.shared(number).predicted([*placed, worker], 2, machine).seconds for worker in range(2))
            assert now.seconds / least == pytest.approx(4 / 3, rel=0.02)


def test_a_machine_that_gives_less_takes_longer(tmp_path: Path) -> None:
    model = modelled(traced(Farm(), tmp_path), a=1000, b=1000, c=1000, d=1000)
    placed = automatic(model.trace, 2)
    fast, slow = (model.predicted(placed, 2, Machine({2: share}, hop=0)).seconds for share in (1.0, 0.5))
    assert slow == pytest.approx(2 * fast, rel=0.01)


def test_the_search_never_ends_with_what_is_worse_than_automatic(tmp_path: Path) -> None:
    """Three that have little to do and one that has much: automatic has two on each worker."""
    trace = traced(Farm(), tmp_path)
    found = best(modelled(trace, a=9000, b=100, c=9000, d=100), 2, IDEAL)
    assert found.auto.seconds / found.prediction.seconds > 1.2
    number = {each["path"]: n for n, each in enumerate(trace.reactors)}
    assert found.worker_of[number["main.a"]] != found.worker_of[number["main.c"]]


def test_the_same_trace_gives_the_same_placement(tmp_path: Path) -> None:
    trace = traced(Farm(), tmp_path)
    assert best(Model(trace), 3, IDEAL) == best(Model(Trace(trace.path)), 3, IDEAL)


def test_who_was_placed_by_hand_stays_there(tmp_path: Path) -> None:
    trace = traced(Farm(), tmp_path, workers=2, backend="thread", placement={"main.a": 1, "main.b": 1, "main.c": 1})
    found = best(Model(trace), 2, IDEAL)
    number = {each["path"]: n for n, each in enumerate(trace.reactors)}
    assert [found.worker_of[number[f"main.{name}"]] for name in "abc"] == [1, 1, 1]


def test_automatic_is_where_a_run_has_them(tmp_path: Path) -> None:
    trace = traced(Farm(), tmp_path, workers=2, backend="thread")
    assert [each["worker"] for each in trace.reactors] == automatic(trace, 2)


def test_a_part_of_a_long_trace_is_whole_tags_from_its_middle(tmp_path: Path) -> None:
    trace = traced(Farm(), tmp_path)
    whole, part = Model(trace), Model(trace, most=60)
    assert part.executions.all == len(whole.executions) == 606
    assert len(part.executions) == 60
    times = part.executions.rows["tag"]["time"]
    assert times[0] > 0
    assert times[-1] < 100_000


def test_a_trace_of_nothing_says_so(tmp_path: Path) -> None:
    class Empty(rx.Reactor):
        tick = rx.Timer("1 ms")

        @rx.reaction(tick)
        def never(self) -> None: ...

    file = tmp_path / "run.rxt"
    rx.run(Empty(), fast=True, timeout="1 us", trace=file)
    with pytest.raises(rx.TraceError, match=r"run\.rxt has no reactions, so there is nothing to predict from"):
        Model(Trace(file))


def test_a_diagnosis_names_what_all_wait_for(tmp_path: Path) -> None:
    found = diagnosis(traced(Farm((9000, 100, 100, 100)), tmp_path))
    assert found.parts[0][0] == "main.a.work"
    assert found.parts[0][1] > 0.5
    assert found.bound < 1.5
    assert all(each.gain >= 1.03 for each in found.remedies)
    assert any(each.said == "main.a.work in half the time" for each in found.remedies)


class Divisible(Work):
    __remedy__ = "dividers=2"


class OneOfTwo(rx.Reactor):
    """On one worker, where all that can help is another one."""

    def __init__(self) -> None:
        self.source, self.big = Source(), Divisible(9000)
        rx.connect(self.source.out, self.big.given)


def test_an_option_that_divides_work_is_a_remedy_on_workers_that_are_there(tmp_path: Path) -> None:
    found = diagnosis(traced(OneOfTwo(), tmp_path), machine=Machine({2: 1.0}))
    said = {each.said: each.gain for each in found.remedies}
    assert said["dividers=2 for main.big.work, workers=2"] == pytest.approx(2, rel=0.2)


def test_a_summary_of_a_traced_run_says_what_limits_it(tmp_path: Path) -> None:
    result = rx.run(Farm(), fast=True, timeout="100 us", trace=tmp_path / "run.rxt")
    assert "critical path: main." in result.summary()
    assert "critical path: main." in result._repr_html_()
    assert "critical path" not in rx.run(Farm(), fast=True, timeout="100 us").summary()


# ---- placements from files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["thread", "process"])
def test_a_run_takes_the_placement_of_a_profile(backend: str, tmp_path: Path) -> None:
    trace = traced(Farm((9000, 100, 9000, 100)), tmp_path)
    options: dict[str, Any] = {"fast": True, "timeout": "100 us", "workers": 2, "backend": backend}
    result = rx.run(Farm((9000, 100, 9000, 100)), **options, placement=f"profile:{trace.path}")
    worker = {each.path: each.worker for each in result.statistics}
    assert worker["main.a.work"] != worker["main.c.work"]
    assert result.digest == rx.run(Farm((9000, 100, 9000, 100)), fast=True, timeout="100 us").digest


def test_what_the_command_writes_a_run_takes(tmp_path: Path) -> None:
    trace, file = traced(Farm((9000, 100, 9000, 100)), tmp_path), tmp_path / "places.toml"
    done = CliRunner().invoke(command, ["place", str(trace.path), "--workers", "1,2,4", "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert "with any number of workers at most" in done.output
    assert "[workers-4]" in file.read_text()
    options: dict[str, Any] = {"fast": True, "timeout": "100 us", "backend": "thread"}
    by_toml = rx.run(Farm((9000, 100, 9000, 100)), **options, workers=4, placement=str(file))
    workers = {each.path: each.worker for each in by_toml.statistics}
    assert workers["main.a.work"] != workers["main.c.work"]
    with pytest.raises(
        rx.PlacementError,
        match=r"has no table \[workers-3\]; it has \[workers-1\], \[workers-2\], \[workers-4\]; reactors place",
    ):
        rx.run(Farm(), **options, workers=3, placement=str(file))


class Turns(rx.Reactor):
    """Two that take turns at each tag, and two more."""

    def __init__(self) -> None:
        self.circles = rx.bank(2, Circle)


@pytest.mark.parametrize("latency", [0, 1_000_000])
def test_what_waits_for_each_other_stays_on_one_machine_where_the_way_is_long(latency: int, tmp_path: Path) -> None:
    model = modelled(traced(Turns(), tmp_path), one=1000, other=1000)
    found = best(model, 4, Machine(hop=0, machines=2, latency=latency))
    machine = {each["path"]: found.worker_of[n] // 2 for n, each in enumerate(model.trace.reactors)}
    apart = [machine[f"main.circles[{i}].one"] != machine[f"main.circles[{i}].other"] for i in range(2)]
    assert not any(apart) or latency == 0
    assert machine["main.circles[0].one"] != machine["main.circles[1].one"] or latency == 0
    assert found.prediction.seconds <= found.auto.seconds


def test_latency_counts_where_a_program_waits_for_messages(tmp_path: Path) -> None:
    model = modelled(traced(Circle(), tmp_path), one=1000, other=1000)
    apart = [int(each["path"].endswith("other")) for each in model.trace.reactors]
    near, far = (model.predicted(apart, 2, Machine(hop=0, machines=n, latency=5000)).seconds for n in (1, 2))
    messages = (far - near) * 1e9 / 5000
    assert messages > 100  # two for each of the 100 tags, but at the ends


def test_a_run_on_machines_takes_the_placement_for_them(tmp_path: Path) -> None:
    trace, file = traced(Farm((9000, 100, 9000, 100)), tmp_path), tmp_path / "places.toml"
    words = ["place", str(trace.path), "--machines", "2", "--workers", "2", "--latency", "1 ms", "-o", str(file)]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    assert "latency from one machine to another: 1.00 ms" in done.output
    assert "[machines-2-workers-2]" in file.read_text()
    options: dict[str, Any] = {"fast": True, "timeout": "100 us", "workers": 2, "machines": rx.Machines(count=2)}
    digest = rx.run(Farm((9000, 100, 9000, 100)), fast=True, timeout="100 us").digest
    for placement in (str(file), f"profile:{trace.path}"):
        assert rx.run(Farm((9000, 100, 9000, 100)), placement=placement, **options).digest == digest
    with pytest.raises(rx.PlacementError, match=r"no table \[machines-2-workers-4\]; .*--workers 4 --machines 2 makes"):
        rx.run(Farm((9000, 100, 9000, 100)), placement=str(file), **{**options, "workers": 4})


@pytest.mark.parametrize("rounds", [(100, 9000, 100, 100), (3000, 3000, 3000, 3000)])
def test_entries_say_the_same_as_a_worker_for_each(rounds: tuple[int, ...], tmp_path: Path) -> None:
    from reactors.elaboration.placing import placed
    from reactors.tracing.profile import entries

    trace = traced(Farm(rounds), tmp_path)
    graph = rx.Graph(Farm(rounds))
    for workers in (1, 2, 3, 4):
        found = best(Model(trace), workers, IDEAL).worker_of
        assert placed(graph.program, workers, entries(trace, found, workers)) == found


def test_entries_of_containers_are_inherited(tmp_path: Path) -> None:
    from reactors.elaboration.placing import placed
    from reactors.tracing.profile import entries

    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.farms = rx.bank(3, Farm)

    trace, program = traced(Outer(), tmp_path), rx.Graph(Outer()).program
    every = range(len(program.reactors))
    for seed in range(50):
        wanted = [(n * n * 7 + seed * n + seed) % 3 for n in every]
        assert placed(program, 3, entries(trace, wanted, 3)) == wanted


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file or directory"),
        ("a = [", "is no TOML"),
        ('[workers-2]\n"main.nobody" = 1', "placement names 'main.nobody', and there is no such reactor"),
        ('[workers-2]\n"main.a" = 2', "workers are whole numbers from 0 to 1"),
        ('[workers-2]\n"main.a" = "b"', "workers are whole numbers from 0 to 1"),
        ("workers-2 = 1", "has no table"),
    ],
)
def test_a_file_that_is_no_placement_is_refused(content: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "places.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(rx.PlacementError, match=words):
        rx.run(Farm(), workers=2, fast=True, timeout="1 us", placement=str(file))


def test_the_profile_of_another_program_is_refused(tmp_path: Path) -> None:
    trace = traced(Farm(), tmp_path)
    with pytest.raises(rx.PlacementError, match=r"is of another program, Farm, or of other parameters: main\.gather"):
        rx.run(Line(), workers=2, fast=True, timeout="1 us", placement=f"profile:{trace.path}")
    with pytest.raises(rx.TraceError, match="is no trace"):
        rx.run(Line(), workers=2, fast=True, timeout="1 us", placement=f"profile:{__file__}")
    with pytest.raises(rx.PlacementError, match=r"placement of rx\.run is 'fastest'; write"):
        rx.run(Line(), workers=2, fast=True, timeout="1 us", placement="fastest")


def test_a_picture_shows_the_load_of_a_profile(tmp_path: Path) -> None:
    trace = traced(Farm((9000, 100, 100, 100)), tmp_path)
    text = rx.Graph(Farm((9000, 100, 100, 100))).draw(tmp_path / "g.dot", profile=trace.path).read_text()
    assert "/s" in text
    assert text.count("%") >= 6
    mermaid = rx.Graph(Farm()).mermaid(profile=trace)
    assert "%" in mermaid


def test_the_picture_of_another_program_is_refused(tmp_path: Path) -> None:
    trace = traced(Farm(), tmp_path)
    with pytest.raises(
        rx.TraceError, match=r"run\.rxt is of another program, Farm, or of other parameters: main\.gather"
    ):
        rx.Graph(Line()).draw(tmp_path / "g.dot", profile=trace)


def test_a_program_that_keeps_to_the_clock_waits_for_it(tmp_path: Path) -> None:
    file = tmp_path / "run.rxt"

    class Slow(rx.Reactor):
        tick = rx.Timer(0, "20 ms")

        @rx.reaction(tick)
        def work(self) -> None: ...

    rx.run(Slow(), timeout="200 ms", trace=file)
    model = Model(Trace(file))
    critical = model.critical_path()
    assert 0.2 <= critical.seconds < 0.25
    assert critical.clock == pytest.approx(0.2)
    found = diagnosis(Trace(file))
    assert found.parts[0][0] == "waiting for the clock"
    assert found.bound == pytest.approx(1.0, rel=0.05)


def test_what_was_measured_beside_others_is_not_made_slower_again(tmp_path: Path) -> None:
    """The traced placement takes as long by the model, whatever the machine gives two workers."""
    trace = traced(Farm(), tmp_path, workers=2, backend="thread")
    model, present = Model(trace), [int(each["worker"]) for each in trace.reactors]
    slow, fast = (model.predicted(present, 2, Machine({2: share})).seconds for share in (0.5, 1.0))
    assert slow == fast
    assert (
        model.predicted([0] * len(present), 1, Machine({2: 0.5})).seconds
        < model.predicted([0] * len(present), 1, IDEAL).seconds
    )


@pytest.mark.parametrize("width", [64, 65, 130])
def test_no_edge_is_missed_however_many_ports_a_reaction_has(width: int, tmp_path: Path) -> None:
    class Many(rx.Reactor):
        tick = rx.Timer(0, "1 us")
        out = rx.Output(int, width=width)

        @rx.reaction(tick, effects=out)
        def go(self) -> None:
            for n in range(0, width, 2):
                self.out[n].set(n)

    class One(rx.Reactor):
        given = rx.Input(int)

        @rx.reaction(given)
        def see(self) -> None: ...

    class All(rx.Reactor):
        given = rx.Input(int, width=width)

        @rx.reaction(given)
        def see(self) -> None: ...

    class Wide(rx.Reactor):
        def __init__(self) -> None:
            self.many, self.ones, self.all = Many(), rx.bank(width, One), All()
            rx.connect(self.many.out, self.ones.given)
            rx.connect(self.many.out, self.all.given)

    file = tmp_path / "run.rxt"
    rx.run(Wide(), fast=True, timeout="2 us", trace=file)
    edges = Executions(Trace(file)).messages
    to_ones = 3 * len(range(0, width, 2))
    assert len(np.unique(np.stack([edges.source, edges.target]), axis=1).T) == to_ones + 3
    assert len(edges.source) >= 2 * to_ones
