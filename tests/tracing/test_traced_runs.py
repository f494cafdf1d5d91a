"""All that a run did is in its trace, wherever it ran and however it ended."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reactors as rx
from reactors.testing import trace as steps_of
from reactors.tracing.accounting import accounts
from reactors.tracing.executions import STATE, Executions
from reactors.tracing.trace import Trace
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from pathlib import Path

WAYS = [
    pytest.param({}, id="inline"),
    pytest.param({"workers": 2, "backend": "thread"}, id="threads"),
    pytest.param({"workers": 2, "backend": "process"}, id="processes"),
]


class Count(rx.Reactor):
    tick = rx.Timer(0, "1 us")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def count(self) -> None:
        self.out.set(1)

    @rx.reaction(tick)
    def beside(self) -> None: ...


class Add(rx.Reactor):
    one = rx.Input(int)
    total = rx.Output(int)

    def __init__(self) -> None:
        self.sum = 0

    @rx.reaction(one, effects=total)
    def add(self) -> None:
        self.sum += self.one.value
        if self.sum % 2:
            self.total.set(self.sum)


class Sink(rx.Reactor):
    one = rx.Input(int)

    @rx.reaction(one)
    def take(self) -> None: ...


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.count, self.add, self.sink = Count(), Add(), Sink()
        rx.connect(self.count.out, self.add.one)
        rx.connect(self.add.total, self.sink.one, after="2 us")


def placement(way: dict[str, Any]) -> dict[str, int]:
    return {"main.add": way.get("workers", 1) - 1}


@pytest.mark.parametrize("way", WAYS)
def test_every_reaction_is_in_the_trace_at_its_tag(way: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "run.rxt"
    options: dict[str, Any] = {"fast": True, "timeout": "300 us", "placement": placement(way)}
    result = rx.run(Main(), **options, **way, trace=file)
    trace = Trace(file)
    executions = Executions(trace)
    found = [
        (tuple(row["tag"].tolist()), trace.name(row["reaction"]))
        for row in executions.rows
    ]  # fmt: skip
    del options["placement"]
    wanted = [
        ((step.tag.time, step.tag.microstep), f"{step.reactor}.{step.reaction}") for step in steps_of(Main(), **options)
    ]
    assert sorted(found) == sorted(wanted)
    assert len(found) == result.reactions
    assert trace.end is not None
    assert trace.end["tags_left_out"] == [0] * trace.workers
    assert (executions.cost >= 0).all()
    for spans in trace.by_worker():
        ran = spans.reactions
        assert (ran["start"][1:] >= ran["end"][:-1]).all()
        assert {trace.reactions[n]["worker"] for n in np.unique(ran["reaction"]).tolist()} <= {spans.worker}


@pytest.mark.parametrize("way", WAYS)
def test_edges_lead_from_writers_to_readers_and_along_each_reactor(way: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "run.rxt"
    rx.run(Main(), fast=True, timeout="5 us", placement=placement(way), **way, trace=file)
    executions = Executions(Trace(file))
    edges, trace = executions.edges, executions.trace

    def named(execution: int) -> tuple[str, int]:
        row = executions.rows[execution]
        return trace.name(row["reaction"]), int(row["tag"]["time"])

    ports = {
        (named(a), named(b)) for a, b, e in zip(edges.source, edges.target, edges.element, strict=True) if e != STATE
    }
    assert ports == {
        *(((("main.count.count"), 1000 * n), ("main.add.add", 1000 * n)) for n in range(6)),
        *((("main.add.add", 1000 * n), ("main.sink.take", 1000 * (n + 2))) for n in (0, 2)),
    }
    state = {
        (named(a), named(b)) for a, b, e in zip(edges.source, edges.target, edges.element, strict=True) if e == STATE
    }
    assert state >= {(("main.add.add", 1000 * n), ("main.add.add", 1000 * (n + 1))) for n in range(5)}
    assert (("main.count.count", 0), ("main.count.beside", 0)) in state
    assert (edges.source < edges.target).all()


@pytest.mark.parametrize("way", WAYS)
def test_all_of_the_time_is_accounted_for(way: dict[str, Any], tmp_path: Path) -> None:
    """What a worker did not spend in reactions and in waits it spent in the engine, and that is not negative."""
    file = tmp_path / "run.rxt"
    result = rx.run(Main(), fast=True, timeout="2 ms", placement=placement(way), **way, trace=file)
    for account, worker in zip(accounts(Trace(file)), result.workers, strict=True):
        assert account.wall == pytest.approx(result.wall_time)  # both from the worker that ended last
        assert account.engine >= 0
        assert account.reactions > 0
        ends = {"the start", "the end of others"}
        before_the_end = sum(seconds for name, seconds in account.waits.items() if name not in ends)
        assert before_the_end <= worker.waited + 1e-3


def test_a_wait_says_what_it_was_for(tmp_path: Path) -> None:
    class Slow(rx.Reactor):
        tick = rx.Timer(0, "20 ms")
        out = rx.Output(int)

        @rx.reaction(tick, effects=out)
        def work(self) -> None:
            time.sleep(0.001)
            self.out.set(1)

    class Both(rx.Reactor):
        def __init__(self) -> None:
            self.slow, self.sink = Slow(), Sink()
            rx.connect(self.slow.out, self.sink.one)

    file = tmp_path / "run.rxt"
    rx.run(
        Both(), timeout="100 ms", workers=2, backend="thread", placement={"main.slow": 0, "main.sink": 1}, trace=file
    )
    first, second = Trace(file).by_worker()
    assert lib.RX_WAITED_CLOCK in first.waits["kind"]
    inputs = second.waits[second.waits["kind"] == lib.RX_WAITED_INPUT]
    assert len(inputs)
    assert set(inputs["reads"].tolist()) == {0}  # the worker that it waited for
    assert {Trace(file).name(n) for n in inputs["reaction"].tolist()} == {"main.sink.take"}


def test_what_is_noted_is_there_with_its_name_and_value(tmp_path: Path) -> None:
    class Noting(rx.Reactor):
        tick = rx.Timer(0, "1 us")

        @rx.reaction(tick)
        def note(self) -> None:
            self.trace("loss", 0.5)
            self.trace("here")

    file = tmp_path / "run.rxt"
    rx.run(Noting(), fast=True, timeout="3 us", trace=file)
    (spans,) = Trace(file).by_worker()
    noted = spans.rows[spans.rows["kind"] >= lib.RX_NOTED]
    assert spans.names == ["loss", "here"] * 4
    assert noted["kind"].tolist() == [lib.RX_VALUED, lib.RX_NOTED] * 4
    assert noted["reads"].view(np.float64)[::2].tolist() == [0.5] * 4


@pytest.mark.parametrize("before", [0, 1])
def test_names_stay_with_what_they_name_wherever_blocks_end(before: int, tmp_path: Path) -> None:
    """What is noted takes two spans, so one before them moves all ends of blocks between the two."""

    class Noting(rx.Reactor):
        def __init__(self) -> None:
            for _ in range(before):
                self.add_reaction(rx.startup, self.rest)
            self.add_reaction(rx.startup, self.note)

        def rest(self) -> None: ...

        def note(self) -> None:
            for k in range(40_000):
                self.trace(f"n{k}", k)

    file = tmp_path / "run.rxt"
    rx.run(Noting(), fast=True, trace=file)
    pieces = [*Trace(file).pieces()]
    assert len(pieces) > 1
    for piece in pieces:
        assert len(piece.names) == (piece.rows["kind"] >= lib.RX_NOTED).sum()
    assert [name for piece in pieces for name in piece.names] == [f"n{k}" for k in range(40_000)]


def test_a_run_that_failed_has_a_trace_up_to_there(tmp_path: Path) -> None:
    class Failing(rx.Reactor):
        tick = rx.Timer(0, "1 us")

        @rx.reaction(tick)
        def fail(self) -> None:
            if self.tag.time == 5000:
                raise ValueError

    file = tmp_path / "run.rxt"
    with pytest.raises(rx.ReactionError):
        rx.run(Failing(), fast=True, timeout="1 ms", trace=file)
    trace = Trace(file)
    assert len(Executions(trace)) == 5
    assert trace.end is not None


def test_a_trace_changes_nothing(tmp_path: Path) -> None:
    options: dict[str, Any] = {"fast": True, "timeout": "100 us"}
    assert rx.run(Main(), **options).digest == rx.run(Main(), **options, trace=tmp_path / "run.rxt").digest


def test_tags_that_come_too_fast_are_left_out_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.launch.SPANS", 1024)
    file = tmp_path / "run.rxt"
    with pytest.warns(rx.ReactorWarning, match="lacks .* tags, which came faster than they could be written"):
        result = rx.run(Main(), fast=True, timeout="20 ms", trace=file)
    trace = Trace(file)
    executions = Executions(trace)
    assert trace.end is not None
    assert len(executions) + trace.end["spans_left_out"][0] == result.reactions
    tags = np.unique(executions.rows["tag"])
    assert len(tags) + trace.end["tags_left_out"][0] == result.tags


def test_a_trace_that_cannot_be_begun_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(rx.ArgumentError, match=r"there is no folder .*nowhere'; make it"):
        rx.run(Main(), fast=True, timeout="1 us", trace=tmp_path / "nowhere" / "run.rxt")


@pytest.mark.parametrize("file", [True, 5])
def test_what_is_no_name_of_a_file_is_refused(file: object) -> None:
    with pytest.raises(rx.ArgumentError, match=rf"trace of rx.run is {file!r}; write the name of a file"):
        rx.run(Main(), fast=True, timeout="1 us", trace=file)  # type: ignore[arg-type]


def test_a_timeline_whose_trace_cannot_be_written_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("reactors.tracing.blocks.FileBlock.write", full)
    with pytest.warns(rx.ReactorWarning, match=r"run.json' cannot be written \(No space left on device\)"):
        rx.run(Main(), fast=True, timeout="3 us", trace=tmp_path / "run.json")
    assert [*tmp_path.iterdir()] == []
