"""Is what a trace of one worker predicts for two what two workers do? Five programs, each run as was predicted.

    python tests/benchmarks/predicting.py --repetitions 5

Where two processes at once do not do 1.8 times the work of one, nothing can be said here: "not measurable here".
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import reactors as rx
from reactors.tracing.capacity import Machine
from reactors.tracing.model import Model
from reactors.tracing.placing import best

LEAST = 1.8  # of the work of one process, by two at once
WORKERS = 2


def work(rounds: int) -> int:
    """Some microseconds."""
    return sum(range(rounds))


class Step(rx.Reactor):
    """Does `costs`, one after another, whenever something comes, and passes on how much that was."""

    given, done = rx.Input(int), rx.Output(int)

    def __init__(self, *costs: int) -> None:
        self.costs, self.n = costs, 0

    @rx.reaction(given, effects=done)
    def step(self) -> None:
        self.n += 1
        self.done.set(work(self.costs[self.n % len(self.costs)]))


class Ticking(rx.Reactor):
    """Sends at every tick, and does some work itself."""

    tick = rx.Timer(0, "1 us")
    out = rx.Output(int)

    def __init__(self, cost: int) -> None:
        self.cost = cost

    @rx.reaction(tick, effects=out)
    def send(self) -> None:
        self.out.set(work(self.cost))


class Learner(rx.Reactor):
    """Begins a round, gathers what comes of it, and learns."""

    given = rx.Input(int, width="width")
    out = rx.Output(int)
    again = rx.LogicalAction()

    def __init__(self, width: int, cost: int) -> None:
        self.width, self.cost = width, cost

    @rx.reaction(rx.startup, again, effects=out)
    def begin(self) -> None:
        self.out.set(1)

    @rx.reaction(given, effects=again)
    def learn(self) -> None:
        work(self.cost)
        self.again.schedule(delay="1 us")


class LockStep(rx.Reactor):
    """Eight simulators of uneven cost, and a learner that waits for all of them."""

    def __init__(self) -> None:
        self.learner = Learner(8, 4000)
        self.simulators = rx.bank(8, Step, lambda i: 2000 + 700 * i, lambda i: 5000 - 300 * i)
        rx.connect(self.learner.out, self.simulators.given, broadcast=True)
        rx.connect(self.simulators.done, self.learner.given)


class Pipelined(rx.Reactor):
    """Actors that act by weights of two rounds ago, so that learning is beside acting."""

    def __init__(self) -> None:
        self.clock, self.actors, self.learner = Ticking(100), rx.bank(4, Step, 4000, 5000), Step(14000, 18000)
        self.gather = Gather()
        rx.connect(self.clock.out, self.actors.given, broadcast=True)
        rx.connect(self.actors.done, self.gather.given)
        rx.connect(self.gather.out, self.learner.given)
        self.reader = Reader()
        rx.connect(self.learner.done, self.reader.given, after="2 us")


class Gather(rx.Reactor):
    given = rx.Input(int, width=4)
    out = rx.Output(int)

    @rx.reaction(given, effects=out)
    def gather(self) -> None:
        self.out.set(1)


class Reader(rx.Reactor):
    given = rx.Input(int)

    @rx.reaction(given)
    def read(self) -> None: ...


class SkewedChains(rx.Reactor):
    """Chains whose links differ tenfold, so that halves by number are no halves by time."""

    def __init__(self) -> None:
        self.clock = Ticking(100)
        for n, cost in enumerate((18000, 12000, 2000, 1500, 1000, 800)):
            first, second = Step(cost), Step(cost // 2, cost)
            setattr(self, f"first{n}", first)
            setattr(self, f"second{n}", second)
            rx.connect(self.clock.out, first.given)
            rx.connect(first.done, second.given)


class MultiAgent(rx.Reactor):
    """A world, and agents of which some think longer."""

    def __init__(self) -> None:
        costs = (9000, 3000, 3000, 3000, 6000, 1000)
        self.world = Learner(len(costs), 2500)
        for n, cost in enumerate(costs):
            agent = Step(cost, cost + 500)
            setattr(self, f"agent{n}", agent)
            rx.connect(self.world.out, agent.given)
            rx.connect(agent.done, self.world.given[n])


class TimerPipeline(rx.Reactor):
    """A source and three stages, each of which can be at another tag."""

    def __init__(self) -> None:
        self.source, self.one, self.two, self.three = Ticking(3000), Step(4000), Step(9000), Step(2000)
        rx.connect(self.source.out, self.one.given)
        rx.connect(self.one.done, self.two.given)
        rx.connect(self.two.done, self.three.given)


PROGRAMS = (LockStep, Pipelined, SkewedChains, MultiAgent, TimerPipeline)


def seconds(program: type[rx.Reactor], **options: Any) -> float:
    """By the wall, from the first tag to the end."""
    return rx.run(program(), fast=True, timeout="600 us", **options).wall_time


def main() -> None:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7)
    repetitions = parser.parse_args().repetitions
    print("| program | one worker | two, by the profile | predicted / measured | auto / profile | two processes |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            # By turns, since this machine may be another one a second later.
            rounds = [once(program, Path(folder) / f"{program.__name__}{n}.rxt") for n in range(repetitions)]
            one, two, right, gain, capacity = (sorted(each) for each in zip(*rounds, strict=True))
            middle = repetitions // 2
            there = f"{right[middle]:.2f} ({right[0]:.2f} to {right[-1]:.2f})"
            if capacity[middle] < LEAST:
                there += ", not measurable here"
            times = (f"{1e3 * each[middle]:.1f} ms" for each in (one, two))
            gained = f"{gain[middle]:.2f} ({gain[0]:.2f} to {gain[-1]:.2f})"
            print(
                "|", " | ".join((program.__name__, *times, there, gained, f"{capacity[middle]:.2f}")), "|", flush=True
            )


def once(program: type[rx.Reactor], file: Path) -> tuple[float, float, float, float, float]:
    """Seconds on one worker and on two, what was predicted of them, what "auto" takes of that, and what two give."""
    traced = seconds(program, trace=file)
    machine = Machine.here(WORKERS)
    model = Model(rx.Trace(file))
    found = best(model, WORKERS, machine)
    two = seconds(program, workers=WORKERS, backend="process", placement=f"profile:{file}")
    automatic = seconds(program, workers=WORKERS, backend="process")
    return traced, two, found.prediction.seconds / two, automatic / two, WORKERS * machine.share(WORKERS)


if __name__ == "__main__":
    main()
