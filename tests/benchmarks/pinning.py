"""A round of lock-step that does nothing, on two workers: alone on the machine, and beside a busy stranger.

Two workers that are put on one core can stay there, in each other's way. `python pinning.py --runs 200` counts in how
many runs they do: the median round takes more than 100 us, or both workers go to sleep in most rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from row import OURS, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

N = 16  # environments, half of them on each worker
WARM = 100
BAD_US = 100.0
PINS: dict[str, Any] = {"auto": "auto", "True": True, "False": False}
QUIET, STRANGER = VARIANTS = ("nothing else", "a busy stranger")
AUTO, PINNED, LEFT = (f"{OURS}, 2 workers, pin={pin}" for pin in PINS)

row = Row(
    title="a round of lock-step that does nothing, the median of a run",
    unit="us",
    variants=VARIANTS,
    work=lambda _: 1,
    bars=(Bar(AUTO, BAD_US, 1),),
    rounds=lambda _: 5000,
    note="the mean, and how many runs are bad: python tests/benchmarks/pinning.py",
)


class Nothing(rx.Reactor):
    action = rx.Input(int)
    answer = rx.Output(int)

    @rx.reaction(action, effects=answer)
    def step(self) -> None:
        self.answer.set(1)


class Center(rx.Reactor):
    answers = rx.Input(int, width=N)
    actions = rx.Output(int, width=N)

    def __init__(self, rounds: int) -> None:
        self.rounds, self.ends = rounds, list[int]()

    @rx.reaction(rx.startup, effects=actions)
    def begin(self) -> None:
        self.go()

    @rx.reaction(answers, effects=(actions, rx.stop))
    def gather(self) -> None:
        self.ends.append(time.perf_counter_ns())
        if len(self.ends) == self.rounds + WARM:
            self.request_stop()
        else:
            self.go()

    def go(self) -> None:
        for action in self.actions:
            action.set(1)


class Lockstep(rx.Reactor):
    def __init__(self, rounds: int) -> None:
        self.center = Center(rounds)
        self.members = rx.bank(N, Nothing)
        rx.connect(self.center.actions, self.members.action, after=0)
        rx.connect(self.members.answer, self.center.answers)


@dataclass
class Run:
    """One run: its median round and its mean one in us, and how it waited."""

    median: float
    mean: float
    sleeps: float  # a round, of the worker that sleeps less
    moves: int

    @property
    def bad(self) -> bool:
        return self.median > BAD_US or self.sleeps > 0.5


def measured(rounds: int, pin: Any) -> Run:
    main = Lockstep(rounds)
    result = rx.run(main, workers=2, fast=True, pin=pin)
    ends = main.center.ends[WARM - 1 :]
    took = [(end - begin) / 1e3 for begin, end in itertools.pairwise(ends)]
    sleeps = min(worker.sleeps for worker in result.workers) / (rounds + WARM)
    return Run(statistics.median(took), statistics.fmean(took), sleeps, sum(worker.moves for worker in result.workers))


@contextlib.contextmanager
def beside(variant: str) -> Iterator[None]:
    """With the stranger, if it is that variant."""
    if variant == QUIET:
        yield
        return
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
    ) as other:
        try:
            assert other.stdout
            other.stdout.readline()
            yield
        finally:
            other.kill()


def on(pin: Any, variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        with beside(variant):
            return Sample(measured(rounds, pin).median / 1e6 * rounds)

    yield measure


@row.peer(AUTO)
def automatic(variant: str) -> Iterator[Measure]:
    yield from on("auto", variant)


@row.peer(PINNED)
def pinned(variant: str) -> Iterator[Measure]:
    yield from on(True, variant)


@row.peer(LEFT)
def left(variant: str) -> Iterator[Measure]:
    yield from on(False, variant)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--pins", nargs="+", default=list(PINS), choices=list(PINS))
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}; us: median of the runs' medians [least .. greatest], of their means")
    for variant in VARIANTS:
        runs: dict[str, list[Run]] = {pin: [] for pin in options.pins}
        with beside(variant):
            measured(options.rounds, False)  # warm
            for _ in range(options.runs):
                for pin, found in runs.items():
                    found.append(measured(options.rounds, PINS[pin]))
        for pin, found in runs.items():
            medians = [run.median for run in found]
            means, moves = statistics.median(run.mean for run in found), sum(run.moves for run in found)
            bad = sum(run.bad for run in found)
            print(
                f"  {variant:15}  pin={pin:5}  {statistics.median(medians):6.1f}  [{min(medians):5.1f} .. "
                f"{max(medians):6.1f}]  mean {means:6.1f}  bad {bad:3} of {len(found)}  moves {moves}"
            )
        sys.stdout.flush()
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
