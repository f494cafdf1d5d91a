"""A virtual clock is one clock on all machines: nothing that a program sees of time depends on where it runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from tests.machines.test_runs import run

if TYPE_CHECKING:
    from pathlib import Path


class Door(rx.Reactor):
    """What comes from outside has the time of the virtual clock, and goes on after a while."""

    bell = rx.PhysicalAction(int)
    out = rx.Output(int)

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    @rx.reaction(bell, effects=out)
    def open(self) -> None:
        self.seen.append((self.tag.time, self.lag))
        if self.bell.value % 2:
            time.sleep(0.001)
        self.out.set(self.bell.value)


class Hall(rx.Reactor):
    """Some of it is too late."""

    given = rx.Input(int)
    tick = rx.Timer("1 ms", "1 ms")
    echo = rx.Output(int)

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    @rx.reaction(given, effects=echo)
    def hear(self) -> None:
        self.seen.append(("in time", *self.tag, self.physical_time, self.given.value))
        self.echo.set(self.given.value)

    @hear.deadline("500 us")
    def too_late(self) -> None:
        self.seen.append(("late", *self.tag, self.physical_time, self.given.value))

    @rx.reaction(tick)
    def look(self) -> None:
        self.seen.append(("tick", *self.tag, self.lag))


class Attic(rx.Reactor):
    echo = rx.Input(int)

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []

    @rx.reaction(echo)
    def hear(self) -> None:
        self.seen.append((*self.tag, self.physical_time, self.echo.value))


class House(rx.Reactor):
    def __init__(self) -> None:
        self.door, self.hall, self.attic = Door(), Hall(), Attic()
        self.door.out >> self.hall.given
        rx.connect(self.hall.echo, self.attic.echo, after="100 us", physical=True)

    def clock(self, *, sleep: bool) -> rx.VirtualClock:
        clock = rx.VirtualClock(sleep=sleep)
        for n in range(12):
            clock.at(f"{700 * n} us", self.door.bell, n)
        return clock

    @property
    def seen(self) -> list[list[Any]]:
        return [self.door.seen, self.hall.seen, self.attic.seen]


@pytest.mark.parametrize("sleep", [False, True])
@pytest.mark.parametrize("count", [2, 3])
def test_all_see_the_same_time_on_any_number_of_machines(count: int, sleep: bool) -> None:
    alone, together = House(), House()
    placement = {"main.door": 0, "main.hall": 1, "main.attic": count - 1}
    options: dict[str, Any] = {"workers": count, "placement": placement, "timeout": "10 ms"}
    expected = rx.run(alone, clock=alone.clock(sleep=sleep), **options)
    found = run(together, count, fast=False, clock=together.clock(sleep=sleep), **options)
    assert found.digest == expected.digest
    assert together.seen == alone.seen
    assert any(late == "late" for late, *_ in together.hall.seen) == sleep


def test_what_is_recorded_by_a_virtual_clock_is_replayed_without(tmp_path: Path) -> None:
    live, again = House(), House()
    options: dict[str, Any] = {"placement": {"main.door": 1, "main.hall": 0, "main.attic": 1}}
    found = run(live, fast=False, clock=live.clock(sleep=True), timeout="10 ms", record=tmp_path / "log", **options)
    replayed = run(again, fast=False, timeout=None, replay=tmp_path / "log", **options)
    assert replayed.digest == found.digest
