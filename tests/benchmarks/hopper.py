"""Off-policy training in MuJoCo, whole: as in `make learn_beside`, but on as many cores as there are."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from beside.task import Task
from row import CORES, ONE, OURS, Bar, Measure, Row, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

SB3, SB3_ALL = "Stable-Baselines3", f"Stable-Baselines3, torch with {CORES} threads"
APART, PARTS = f"{OURS}, actor and critics apart", f"{OURS}, {CORES} learners"
STEPS = 32  # of a round
RANDOM = 128  # steps before

row = Row(
    title="Hopper-v5, steps with an update each",
    unit="steps/s",
    variants=("SAC", "TD3"),
    work=lambda _: STEPS,
    bars=(Bar(ONE, SB3, 1.1), Bar(APART, SB3_ALL, 1.5, ("SAC",)), Bar(PARTS, SB3_ALL, 1.2, ("TD3",))),
    check_rounds=2,
)


class Started(Task):
    """With little random play."""

    @property
    def settings(self) -> Any:
        return replace(super().settings, learning_starts=RANDOM)


def task(variant: str) -> Started:
    return Started(variant, "Hopper-v5", 200_000, 0)


def ours(variant: str, **options: Any) -> Iterator[Measure]:
    from reactors import rl

    torch.set_num_threads(1)
    made = task(variant)

    def measure(rounds: int) -> Sample:
        steps = rounds * STEPS
        done = rl.train(made.settings, made.make, total_steps=2 * RANDOM + steps, **options)
        first = next(row for row in done.journal if row["global_step"] >= 2 * RANDOM)
        last = done.journal[-1]
        pace = (last["seconds"] - first["seconds"]) / (last["global_step"] - first["global_step"])
        return Sample(pace * steps)

    yield measure


@row.peer(ONE)
def alone(variant: str) -> Iterator[Measure]:
    yield from ours(variant)


@row.peer(APART)
def apart(variant: str) -> Iterator[Measure]:
    yield from ours(variant, workers=CORES, mode="pipelined", actor_device="cpu", critic_device="cpu")


@row.peer(PARTS)
def parts(variant: str) -> Iterator[Measure]:
    yield from ours(variant, workers=CORES, mode="pipelined", learners=CORES)


def theirs(variant: str, threads: int) -> Iterator[Measure]:
    from beside import stable_baselines
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(threads)
    made = task(variant)

    class Begun(BaseCallback):
        """When steps with updates begin."""

        at = 0.0

        def _on_step(self) -> bool:
            if self.num_timesteps == 2 * RANDOM:
                self.at = time.perf_counter()
            return True

    def measure(rounds: int) -> Sample:
        learner, begun = stable_baselines.model(made), Begun()
        learner.learn(2 * RANDOM + rounds * STEPS, callback=begun)
        return Sample(time.perf_counter() - begun.at)

    yield measure


@row.peer(SB3)
def one_thread(variant: str) -> Iterator[Measure]:
    yield from theirs(variant, 1)


@row.peer(SB3_ALL)
def all_threads(variant: str) -> Iterator[Measure]:
    yield from theirs(variant, CORES)
