"""Machines whose clocks differ have one logical time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import reactors as rx
from tests.machines.test_runs import Line, run

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = """
import sys
import time

import reactors as rx


class Looks(rx.Reactor):
    ticks = rx.Timer("20 ms", "20 ms")

    def __init__(self):
        self.start = 0
        self.clock = 0
        self.lags = []

    @rx.reaction(ticks)
    def look(self):
        self.start, self.clock = self.start_time, time.monotonic_ns()
        self.lags.append(self.lag)


class Main(rx.Reactor):
    def __init__(self):
        self.here, self.there = Looks(), Looks()


main = Main()
machines = rx.Machines(count=2, listen=sys.argv[1], token_file="token")
found = rx.run(main, timeout="100 ms", workers=2, machines=machines, placement={"main.there": 1})
one, two = found.machines
print(abs(two.ahead - 1000) <= two.error < 1, (one.ahead, one.error) == (0, 0))
print(900e9 < main.there.clock - main.here.clock < 1100e9)
print(abs(main.there.start - main.here.start) <= two.error * 1e9)
print(all(0 <= lag < 10e9 for looks in (main.here, main.there) for lag in looks.lags))
print(f"machine 1 ({two.host}): its clock is 1,000 s ahead, give or take" in found.summary())
"""


def test_logical_time_is_the_same_on_machines_whose_clocks_are_not(in_other_time: Callable[[str], str]) -> None:
    assert in_other_time(PROGRAM).split("\n")[:-1] == ["True True", *["True"] * 4]


def test_a_result_says_how_far_clocks_agree() -> None:
    found = run(Line(), timeout="5 ms", placement={"main.adds": 1, "main.sink": 1})
    assert [each.machine for each in found.machines] == [0, 1]
    assert found.machines[0].error == 0
    assert abs(found.machines[1].ahead) <= found.machines[1].error  # it is the same clock
    assert [each.machine for each in found.workers] == [0, 1]
    assert "machine 0" in found.summary()
    assert not rx.run(Line(), fast=True, timeout="5 ms").machines
