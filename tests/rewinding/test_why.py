"""What made a value: a slice of a run, back to where it came into the program."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors.testing import inject

if TYPE_CHECKING:
    from pathlib import Path


class Walk(rx.Reactor):
    tick, out = rx.Timer(0, "1 ms"), rx.Output(int)

    def __init__(self, by: int = 3) -> None:
        self.x, self.by, self.idle = 0, by, 0

    @rx.reaction(tick, effects=out)
    def step(self) -> None:
        self.x += self.by
        if self.x % 2:
            self.out.set(self.x)

    @rx.reaction(tick)
    def rest(self) -> None:
        self.idle += 1


class Book(rx.Reactor):
    inp, out = rx.Input(int), rx.Output(int)
    later = rx.LogicalAction(int)

    def __init__(self) -> None:
        self.rows, self.last = [0] * 4, 0
        self.fixed = 7

    @rx.reaction(inp, effects=later)
    def note(self) -> None:
        self.last = self.inp.value
        self.rows[self.last % 4] = self.last + self.fixed
        if self.last % 3 == 0:
            self.later.schedule(self.last, "300 us")

    @rx.reaction(later, effects=out)
    def publish(self) -> None:
        self.out.set(self.later.value)


class Library(rx.Reactor):
    def __init__(self, delay: Any = None) -> None:
        self.walk, self.book = Walk(), Book()
        rx.connect(self.walk.out, self.book.inp, after=delay)


def test_a_write_comes_from_a_schedule_a_message_and_an_attribute() -> None:
    with rx.Replay(Library(), timeout="20 ms") as r:
        found = r.to("10 ms").why("main.book.out")
    first, second, third = found.steps[:3]
    assert (first.reaction, first.tag, first.made) == ("main.book.publish", rx.Tag(8_300_000, 0), ("main.book.out",))
    assert [read.what for read in first.read] == ["main.book.later"]
    assert first.read[0].by == ("main.book.note", second.tag)
    assert (second.reaction, second.made) == ("main.book.note", ("main.book.later",))
    assert second.read[0].what == "main.book.inp"
    assert (third.reaction, third.made) == ("main.walk.step", ("main.walk.out",))
    assert "main.book.last" not in {read.what for step in found.steps for read in step.read}  # set before it is read
    assert "main.walk.rest" not in found.counts
    assert found.origins["main.walk.by"] == found.origins["main.book.fixed"] == "as it was made"
    assert found.origins["main.walk.tick"] == "a timer"


@pytest.mark.parametrize(("delay", "lag"), [(None, (0, 0)), (0, (0, 1)), ("2 ms", (2_000_000, 0))])
def test_a_delay_leads_back_to_the_tag_at_which_it_was_written(delay: Any, lag: tuple[int, int]) -> None:
    with rx.Replay(Library(delay), timeout="20 ms") as r:
        found = r.to("12 ms").why("main.book.rows[1]")
    assert found.place == "main.book.rows[1]"
    notes = [step for step in found.steps if step.reaction == "main.book.note"]
    assert len(notes) == found.counts["main.book.note"] >= 6
    for step in notes:
        (inp,) = (read for read in step.read if read.what == "main.book.inp")
        assert inp.by == ("main.walk.step", rx.Tag(step.tag.time - lag[0], step.tag.microstep - lag[1]))


def test_what_no_execution_has_changed_is_as_it_was_made() -> None:
    with rx.Replay(Library(), timeout="20 ms") as r:
        found = r.to("10 ms").why("main.walk.by")
    assert len(found) == 0
    assert str(found) == "main.walk.by is as it was made: no execution has changed it"


def test_only_the_last_steps_are_kept_one_by_one_and_all_are_counted() -> None:
    with rx.Replay(Library(), timeout="1 s") as r:
        few, all_of_it = (r.to("500 ms").why(r.main.walk.out, most=most) for most in (3, 10_000))
    assert len(few.steps) == 3
    assert (few.counts, few.spans, few.origins) == (all_of_it.counts, all_of_it.spans, all_of_it.origins)
    assert len(few) == len(all_of_it.steps) == 501
    assert "main.walk.step: 501 executions, 0 s to 500 ms" in str(few)


def test_a_place_that_is_none_is_refused() -> None:
    with rx.Replay(Library(), timeout="20 ms") as r:
        with pytest.raises(
            rx.ArgumentError, match=r"no port or attribute 'main\.walk\.idl'; did you mean 'main\.walk\.idle'"
        ):
            r.why("main.walk.idl")
        for structure in ("main.walk", "main.walk.tick", "main.book.later"):
            with pytest.raises(rx.ArgumentError, match="there is no port or attribute"):
                r.why(structure)


class Bell(rx.Reactor):
    rung = rx.PhysicalAction(str)

    def __init__(self) -> None:
        self.heard = ""

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.greeting = f"hello {self.rng.integers(9)} "

    @rx.reaction(rung, effects=rx.stop)
    def answer(self) -> None:
        self.heard = self.greeting + self.rung.value
        self.request_stop()


def test_it_ends_where_it_leaves_the_program() -> None:
    clock = rx.VirtualClock()
    bell = Bell()
    clock.at("3 ms", bell.rung, "cat")
    with rx.Replay(bell, clock=clock, timeout="1 s") as r:
        found = r.end().why("main.heard")
    assert found.counts == {"main.answer": 1, "main.open": 1}
    assert found.origins == {
        "main.rung": "from outside",
        "main.startup": "the start",
        "main.rng": "its random numbers",
    }


class Spaced(rx.Reactor):
    """Schedules every millisecond what may come every 3 ms."""

    tick = rx.Timer(0, "1 ms")

    def __init__(self, policy: Any) -> None:
        self.a = rx.LogicalAction(int, min_delay="1 ms", min_spacing="3 ms", policy=policy)
        self.n = self.x = 0
        self.add_reaction(self.tick, self.go, effects=self.a)
        self.add_reaction(self.a, self.hear)

    def go(self) -> None:
        self.n += 1
        self.a.schedule(self.n)

    def hear(self) -> None:
        self.x = self.a.value


@pytest.mark.parametrize("policy", ["defer", "drop", "replace", "update"])
def test_an_event_comes_from_the_execution_whose_value_it_has(policy: str) -> None:
    with rx.Replay(Spaced(policy), timeout="20 ms") as r:
        for ms in (1, 4, 7, 10, 13):
            found = r.to(f"{ms} ms").why("main.x")
            (event,) = (read for read in found.steps[0].read if read.what == "main.a")
            assert event.by is not None
            reaction, tag = event.by
            assert (reaction, tag.time // 1_000_000 + 1) == ("main.go", r.main.x), ms


def test_what_is_on_its_way_is_not_what_a_port_has() -> None:
    with rx.Replay(Library("2 ms"), timeout="20 ms") as r:
        assert r.to("1 ms").why("main.book.inp").steps == ()
        assert r.to("5 ms").why("main.book.inp").steps[0].tag == rx.Tag(2_000_000, 0)


class Odd(rx.Reactor):
    """Changes things by other names than one reads them, and fails."""

    tick = rx.Timer(0, "1 ms")

    def __init__(self) -> None:
        self.items: list[int] = []
        self.box, self.seen, self.n, self.m = {"items": self.items}, 0, 0, 0

    @rx.reaction(tick)
    def grow(self) -> None:
        self.items.append(1)

    @rx.reaction(tick)
    def look(self) -> None:
        self.seen = len(self.box["items"])

    @rx.reaction(tick)
    def fail(self) -> None:
        self.n = vars(self)["seen"]
        if self.n == 3:
            raise ValueError(self.n)


def test_what_is_changed_by_another_name_is_said_to_be() -> None:
    with rx.Replay(Odd(), timeout="9 ms") as r:
        found = r.to("0 ms").why("main.seen")  # it is read for the first time
        assert found.counts == {"main.look": 1}
        assert found.origins["main.box"] == "changed by another name"
        found = r.to("1 ms").why("main.seen")
        assert found.counts == {"main.look": 1}
        assert found.origins["main.box"] == "changed by another name"


def test_an_execution_that_raises_has_made_what_it_has_changed() -> None:
    with rx.Replay(Odd(), timeout="9 ms") as r:
        found = r.end().why("main.n")
        assert (r.main.n, found.steps[0].reaction, found.steps[0].tag) == (3, "main.fail", rx.Tag(2_000_000, 0))
        assert found.steps[1].reaction == "main.look"  # by vars(self)


def test_the_way_is_drawn_in_colour(tmp_path: Path) -> None:
    with rx.Replay(Library(), timeout="20 ms") as r:
        text = r.to("10 ms").why("main.book.out").draw(tmp_path / "why.dot").read_text()
    (wire,) = (line for line in text.splitlines() if '"main.walk.out" -> "main.book.inp"' in line)
    assert 'color="#ff6000" penwidth=2' in wire
    assert "\N{MULTIPLICATION SIGN}" in text
    (rest,) = (line for line in text.splitlines() if "rest" in line)
    assert "#ffffff" in rest  # which has nothing to do with it


# ---- no message that is left out of a slice matters ----


class Node(rx.Reactor):
    """Reads one or two inputs and its state, sometimes; writes, schedules and changes, sometimes."""

    tick = rx.Timer(0, "2 ms")
    ins = rx.Input(int, width="width")
    out = rx.Output(int)
    later = rx.LogicalAction(int)

    def __init__(self, seed: int, width: int) -> None:
        self.width, self.kind = width, random.Random(seed).randrange(6)
        self.total, self.held, self.table = seed, 0, [0] * 3

    @rx.reaction(tick, effects=out)
    def begin(self) -> None:
        if self.kind in (0, 3):
            self.total = (self.total * 5 + 1) % 97
        if self.kind != 2:
            self.out.set(self.total)

    @rx.reaction(ins, effects=(out, later))
    def take(self) -> None:
        values = [port.value for port in self.ins if port.is_present]
        if self.kind in (1, 3):
            self.held = sum(values)
            self.out.set(self.held % 31)
        elif self.kind == 2:
            self.table[values[0] % 3] += 1
            self.later.schedule(values[-1], "700 us")
        elif self.kind == 4:
            self.later.schedule(self.held)
        self.held += 1

    @rx.reaction(later, effects=out)
    def send(self) -> None:
        self.out.set(self.later.value + self.table[0])


class Net(rx.Reactor):
    """Nodes of which each hears two: earlier ones at once, or a microstep or 1 ms later, others 1 ms later."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        size = rng.randrange(3, 7)
        heard = [
            [(other, rng.choice([None, 0, "1 ms"]) if other < i else "1 ms") for other in rng.sample(range(size), 2)]
            for i in range(size)
        ]
        self.nodes = [Node(seed * 10 + i, len(heard[i])) for i in range(size)]
        for node, sources in zip(self.nodes, heard, strict=True):
            for port, (other, delay) in zip(node.ins, sources, strict=True):
                rx.connect(self.nodes[other].out, port, after=delay)


@pytest.mark.parametrize("seed", range(12))
def test_a_message_outside_of_the_slice_may_get_lost(seed: int, tmp_path: Path) -> None:
    rng, timeout = random.Random(seed), "15 ms"
    whole = Net(seed)
    rx.run(whole, fast=True, timeout=timeout, journal=tmp_path / "whole.rxj")
    journal = rx.Journal(tmp_path / "whole.rxj")
    wrote = [i for i in range(len(journal)) if any(path.endswith(".out") for path in journal.written(i))]
    executed = [(journal.name(i), journal.tag(i)) for i in wrote]
    with rx.Replay(Net(seed), timeout=timeout) as r:
        r.end()
        target = rng.randrange(len(whole.nodes))
        found = r.why(f"main.nodes[{target}].held", most=100_000)
        needed = {(step.reaction, step.tag) for step in found.steps if any(".out" in made for made in step.made)}
    unneeded = [each for each in executed if each not in needed]
    for reaction, tag in rng.sample(unneeded, min(6, len(unneeded))):
        without = Net(seed)
        with inject(without, at=(reaction, tag), drop=True) as program:
            rx.run(program, fast=True, timeout=timeout)
        assert without.nodes[target].held == whole.nodes[target].held, (reaction, tag)
