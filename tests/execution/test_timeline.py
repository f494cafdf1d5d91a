"""The timeline that `rx.run(..., trace=...)` writes."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import reactors as rx
from tests.messages import refused, warned


class Noting(rx.Reactor):
    tick = rx.Timer(0, "1 us")

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick)
    def count(self) -> None:
        self.n += 1
        self.trace("n", self.n)
        if self.n == 2:
            self.trace("two")


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.first, self.second = Noting(), Noting()


def events(file: Path, phase: str) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    written = json.loads(file.read_text(), parse_constant=refuse)
    return [event for event in written["traceEvents"] if event["ph"] == phase]


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_what_reactions_note_is_in_the_timeline(backend: Any, tmp_path: Path) -> None:
    """Values as counters and events as instants, on their workers, within the reactions that noted them."""
    file = tmp_path / "trace.json"
    workers = 1 if backend == "inline" else 2
    rx.run(Main(), backend=backend, workers=workers, placement={"main.second": workers - 1}, fast=True,
           timeout="2 us", trace=file)  # fmt: skip
    for path, worker in (("main.first", 0), ("main.second", workers - 1)):
        values = [event for event in events(file, "C") if event["name"] == f"{path}.n"]
        assert [(event["tid"], event["args"]) for event in values] == [(worker, {"value": n}) for n in (1, 2, 3)]
        (two,) = [event for event in events(file, "i") if event["name"] == f"{path}.two"]
        assert two["args"] == {"reaction": f"{path}.count", "time": 1_000, "microstep": 0}
        spans = [event for event in events(file, "X") if event["name"] == f"{path}.count"]
        assert [
            span["ts"] <= event["ts"] <= span["ts"] + span["dur"] for span, event in zip(spans, values, strict=True)
        ]


def test_numbers_that_json_has_not_are_strings_and_all_others_stay(tmp_path: Path) -> None:
    class Diverging(rx.Reactor):
        @rx.reaction(rx.startup)
        def note(self) -> None:
            for value in (float("nan"), float("inf"), -float("inf"), -0.0, 1e308):
                self.trace("loss", value)

    file = tmp_path / "trace.json"
    rx.run(Diverging(), fast=True, trace=file)
    values = [event["args"]["value"] for event in events(file, "C")]
    assert list(map(repr, values)) == ["'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "1e+308"]


def test_without_a_timeline_nothing_is_noted_and_the_digest_is_the_same(tmp_path: Path) -> None:
    def run(**options: Any) -> rx.Result:
        return rx.run(Main(), fast=True, timeout="2 us", **options)

    assert run().digest == run(trace=tmp_path / "trace.json").digest


def test_a_tag_in_which_more_is_noted_than_there_is_room_for_is_left_out(tmp_path: Path) -> None:
    class Talking(rx.Reactor):
        again = rx.LogicalAction()

        @rx.reaction(rx.startup, effects=again)
        def talk(self) -> None:
            for k in range(2**16):
                self.trace("k", k)
            self.again.schedule()

        @rx.reaction(again)
        def once_more(self) -> None:
            self.trace("k", -1)

    file = tmp_path / "trace.json"
    assert warned(lambda: rx.run(Talking(), fast=True, trace=file)) == [
        f"the trace '{file}' lacks 1 of 3 tags, which came faster than they could be written"
    ]
    assert [event["args"]["value"] for event in events(file, "C")] == [-1]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n", "much", "main: trace('n', ...) is given 'much', of type str; write a number"),
        ("", 1, "main: trace('', ...): the name is empty; write one of 1 to 56 bytes"),
        ("é" * 29, None, f"main: trace('{'é' * 29}', ...): the name is 58 bytes long; write one of 1 to 56 bytes"),
        (3, 1, "main: trace(3, ...): the name is of type int; write a string"),
        (
            "\ud800",
            1,
            "main: trace('\\ud800', ...): the name has half of a surrogate pair, which is no character",
        ),
    ],
)
def test_what_cannot_be_noted_is_refused_with_or_without_a_timeline(name: Any, value: Any, words: str) -> None:
    class Wrong(rx.Reactor):
        @rx.reaction(rx.startup)
        def note(self) -> None:
            self.trace(name, value)

    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Wrong())
    assert isinstance(caught.value.__cause__, rx.ArgumentError)
    assert str(caught.value.__cause__) == words


def test_outside_of_a_reaction_there_is_nothing_to_note_and_no_start() -> None:
    main = Main()  # @main
    for use, ask in ((".trace()", lambda: main.trace("n")), (".start_time", lambda: main.start_time)):
        assert refused(rx.OutsideReactionError, ask) == (
            f"Main (made at @main): {use} outside of a reaction; it is known only while the program runs: use it in a "
            "reaction, such as one to rx.startup"
        )


@pytest.mark.parametrize("way", [{}, {"workers": 2, "backend": "thread"}, {"workers": 2, "backend": "process"}])
def test_all_know_when_the_run_began(way: dict[str, Any]) -> None:
    class Asking(rx.Reactor):
        start, now = 0, 0

        @rx.reaction(rx.startup)
        def ask(self) -> None:
            self.start, self.now = self.start_time, self.physical_time

    class Two(rx.Reactor):
        def __init__(self) -> None:
            self.a, self.b = Asking(), Asking()

    main, before = Two(), time.time_ns()
    placement = {"main.b": way.get("workers", 1) - 1}
    result = rx.run(main, placement=placement, **way)
    assert main.a.start == main.b.start
    assert before <= main.a.start <= main.a.start + main.a.now <= time.time_ns()
    assert abs(result.started_at - datetime.fromtimestamp(main.a.start / 1e9, UTC)).total_seconds() < 1e-5
    virtual = Two()
    result = rx.run(virtual, placement=placement, clock=rx.VirtualClock(), **way)
    assert virtual.a.start == 0
    assert result.started_at == datetime(1970, 1, 1, tzinfo=UTC)
