"""Accelerating Distributed Deep Reinforcement Learning: the improved IMPALA, RLDM 2019."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import torch
from papers.table import Table
from run import short

from tests.catch import SETTINGS, Catch

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence


def ablations(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """Catch in frames of 42x42 with each of the paper's four parts, and without it."""
    from reactors import rl

    torch.set_num_threads(1)
    impala, appo = rl.IMPALA(**SETTINGS["IMPALA"]), rl.APPO(**SETTINGS["APPO"])
    replay = {"replay_slots": 64, "replay_proportion": 0.5}
    runs: dict[str, tuple[Any, dict[str, Any]]] = {
        "V-trace alone (IMPALA)": (impala, {}),
        "with replay": (rl.IMPALA(**SETTINGS["IMPALA"] | replay), {}),
        "with an auto-encoder": (rl.IMPALA(**SETTINGS["IMPALA"] | {"latent": 64}), {}),
        "with PPO's loss (APPO)": (appo, {}),
        "APPO with replay": (rl.APPO(**SETTINGS["APPO"] | replay), {}),
        "APPO with an auto-encoder": (rl.APPO(**SETTINGS["APPO"] | {"latent": 64}), {}),
        "APPO with a loader": (appo, {"loaders": 1}),
        "APPO with all three": (rl.APPO(**SETTINGS["APPO"] | replay | {"latent": 64}), {"loaders": 1}),
    }
    yield ["Catch, 42x42", "balls caught of 100, by seed", "steps to 95, median", "steps/s"]
    steps, seeds = (8_000, 1) if options.quick else (60_000, 3)
    for name, (algorithm, more) in runs.items():
        caught, reached, rates = [], [], []
        for seed in range(seeds):
            done = rl.train(
                algorithm, Catch, total_steps=steps, seed=seed, mode="pipelined", workers=2, eval_every=16,
                eval_episodes=100, **more,
            )  # fmt: skip
            caught.append(done.evaluate(100, seed=10_000 + seed))
            reached.append(
                next((row["global_step"] for row in done.journal if row.get("eval/mean_return", 0) >= 0.95), None)
            )
            rates.append(done.steps / done.journal[-1]["seconds"])
        there = sorted(each for each in reached if each is not None)
        middle = f"{there[len(there) // 2]:,.0f}" if 2 * len(there) > len(reached) else "not in most"
        yield [name, ", ".join(f"{100 * each:.0f}" for each in caught), middle, short(statistics.median(rates))]


TABLES = (Table("impala-parts", ablations),)
