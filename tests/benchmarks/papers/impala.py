"""Accelerating Distributed Deep Reinforcement Learning: the improved IMPALA, RLDM 2019."""

from __future__ import annotations

import statistics
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import torch
from papers.table import Table
from run import short

from tests.catch import SETTINGS, Catch

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence


def parts(appo: Mapping[str, Any]) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Algorithms with each of the paper's four parts, and without it, and options of their training.

    All hyperparameters that IMPALA has, too, are those of this APPO: learning rate and passes, for instance.
    """
    from reactors import rl

    whole = rl.APPO(**appo)
    impala = {each.name: getattr(whole, each.name) for each in fields(rl.IMPALA) if each.init}
    replay, encoder, loader = {"replay_slots": 64, "replay_proportion": 0.5}, {"latent": 64}, {"loaders": 1}
    return {
        "V-trace alone (IMPALA)": (rl.IMPALA(**impala), {}),
        "with replay": (rl.IMPALA(**{**impala, **replay}), {}),
        "with an auto-encoder": (rl.IMPALA(**{**impala, **encoder}), {}),
        "with a loader": (rl.IMPALA(**impala), loader),
        "with PPO's loss (APPO)": (rl.APPO(**appo), {}),
        "APPO with replay": (rl.APPO(**{**appo, **replay}), {}),
        "APPO with an auto-encoder": (rl.APPO(**{**appo, **encoder}), {}),
        "APPO with a loader": (rl.APPO(**appo), loader),
        "APPO with all three": (rl.APPO(**{**appo, **replay, **encoder}), loader),
    }


def minatar(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """MinAtar's Breakout with each part, and without it; in five minutes each, far from all that can be learned."""
    from reactors import rl
    from reactors.rl.contract.presets.tables import needed_preset

    torch.set_num_threads(1)
    settings: Any = needed_preset(rl.APPO, "minatar:breakout").values
    steps, seed = 6_400 if options.quick else 500_000, 0
    yield ["MinAtar Breakout", f"return of the last 20 episodes of {steps:,} steps, seed {seed}", "steps/s", "digest"]
    for name, (algorithm, more) in parts(settings).items():
        done = rl.train(
            algorithm, "minatar:breakout", total_steps=steps, seed=seed, mode="pipelined", workers=2, **more
        )  # fmt: skip
        last = done.journal[-1]
        yield [name, f"{last['charts/episodic_return']:.2f}", short(done.steps / last["seconds"]), done.digest[:12]]


def ablations(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """Catch in frames of 42x42 with each part, and without it."""
    from reactors import rl

    torch.set_num_threads(1)
    yield ["Catch, 42x42", "balls caught of 100, by seed", "steps to 95, median", "steps/s", "digests"]
    steps, seeds = (8_000, 1) if options.quick else (60_000, 3)
    for name, (algorithm, more) in parts(SETTINGS["APPO"]).items():
        caught, reached, rates, digests = [], [], [], []
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
            digests.append(done.digest[:12])
        there = sorted(each for each in reached if each is not None)
        middle = f"{there[len(there) // 2]:,.0f}" if 2 * len(there) > len(reached) else "not in most"
        balls = ", ".join(f"{100 * each:.0f}" for each in caught)
        yield [name, balls, middle, short(statistics.median(rates)), ", ".join(digests)]


TABLES = (Table("impala-parts", ablations), Table("impala-minatar", minatar))
