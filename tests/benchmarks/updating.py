"""How many transitions does a learner digest while others sample? SAC on Pendulum-v1, two hidden layers of 256.

PAL's and Spreeze's question: sampling has a process of its own, the ratio of updates to steps is what both manage, and
Spreeze's batches are as large as pay. A round is an update, and the frames of a second are updates times the batch.
Ours learn on one worker, or on both: two learners that share each batch (PAL), actor and critics apart (Spreeze).
Stable-Baselines3 samples and learns in turn: with a step for an update, with as many steps as ours, and with a step for
an update and a torch that has both cores.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from row import ALL, Bar, Measure, Row, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW = "batch 4096, few samples"
BATCHES = {"batch 256": 256, "batch 4096": 4096, FEW: 4096}
RATIO = {"batch 256": 1 / 16, "batch 4096": 1 / 256, FEW: 1 / 16}
TWO, APART = f"{ALL}, two learners", f"{ALL}, actor and critics apart"
SB3, SB3_MORE, SB3_BOTH = "Stable-Baselines3", "Stable-Baselines3, as many samples", "Stable-Baselines3, both cores"

row = Row(
    title="SAC Pendulum-v1, transitions learned from while others are sampled, torch with one thread",
    unit="frames/s",
    variants=tuple(BATCHES),
    work=lambda variant: BATCHES[variant],
    bars=(
        Bar(ALL, SB3, 1.5, ("batch 256",)),
        Bar(APART, SB3, 1.5, ("batch 256",)),
        Bar(ALL, SB3_MORE, 1.5, ("batch 256", "batch 4096")),
        Bar(TWO, SB3, 5, ("batch 4096",)),
        Bar(TWO, ALL, 1.6, (FEW,)),
    ),
    check_rounds=8,
)


def ours(variant: str, **learners: Any) -> Iterator[Measure]:
    from reactors import rl

    torch.set_num_threads(1)
    batch, ratio = BATCHES[variant], RATIO[variant]
    horizon = round(4 / ratio / 8)
    made = rl.SAC(num_envs=8, horizon=horizon, batch_size=batch, updates_per_step=ratio, learning_starts=8 * horizon)

    def measure(rounds: int) -> Sample:
        steps = round((rounds + 16) / ratio)
        done = rl.train(made, "Pendulum-v1", total_steps=steps, workers=2, mode="pipelined", actors=1, **learners)
        rows = done.journal
        first = next(row for row in rows if row["global_step"] * ratio >= 12)
        updates = (rows[-1]["global_step"] - first["global_step"]) * ratio
        return Sample((rows[-1]["seconds"] - first["seconds"]) * rounds / updates)

    yield measure


@row.peer(ALL)
def one(variant: str) -> Iterator[Measure]:
    yield from ours(variant)


@row.peer(TWO)
def two(variant: str) -> Iterator[Measure]:
    yield from ours(variant, learners=2)


@row.peer(APART)
def apart(variant: str) -> Iterator[Measure]:
    yield from ours(variant, actor_device="cpu", critic_device="cpu", exchange_every=4)


def peer(variant: str, batch: int, every: int, threads: int = 1) -> Iterator[Measure]:
    import stable_baselines3 as sb3
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(threads)

    class Watch(BaseCallback):
        began, at = 0.0, 0

        def _on_rollout_start(self) -> None:
            learner: Any = self.model
            if not self.began and learner._n_updates >= 4:
                self.began, self.at = time.perf_counter(), learner._n_updates

        def _on_step(self) -> bool:
            return True

    def measure(rounds: int) -> Sample:
        learner = sb3.SAC(
            "MlpPolicy", "Pendulum-v1", learning_rate=1e-3, batch_size=batch, learning_starts=256,
            train_freq=every, gradient_steps=1, device="cpu", seed=0,
        )  # fmt: skip
        watch = Watch()
        learner.learn(256 + every * (rounds + 5), callback=watch)
        updates = learner._n_updates - watch.at
        seconds = time.perf_counter() - watch.began
        return Sample(seconds / (updates * batch) * rounds * BATCHES[variant])

    yield measure


@row.peer(SB3)
def stable_baselines(variant: str) -> Iterator[Measure]:
    """As it is by default, with a step for an update."""
    yield from peer(variant, BATCHES[variant], 1)


@row.peer(SB3_MORE)
def stable_baselines_sampling(variant: str) -> Iterator[Measure]:
    """Sampling as much as ours does."""
    yield from peer(variant, BATCHES[variant], round(1 / RATIO[variant]))


@row.peer(SB3_BOTH)
def stable_baselines_threads(variant: str) -> Iterator[Measure]:
    """As it is by default, its arithmetic on both cores."""
    yield from peer(variant, BATCHES[variant], 1, threads=2)
