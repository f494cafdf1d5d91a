"""Efficient Parallel Methods for Deep Reinforcement Learning (PAAC), arXiv 1705.04862."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from papers.table import Table
from row import CORES
from run import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence


def environments(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """Pong in frames of 84x84 by n_e environments, n_w simulators and network; where the time of all workers goes."""
    from reactors import rl

    torch.set_num_threads(1)
    yield ["network", "n_e", "n_w", "steps/s", "environments", "inference", "learning", "the rest, and waiting"]
    for torso in ("nips", "nature"):
        for n_e in (16, 32) if options.quick else (16, 32, 64, 128, 256):
            for n_w in sorted({1, CORES}):
                algorithm = rl.A2C.paac(num_envs=n_e, learning_rate=0.0007 * n_e, torso=torso)
                done = rl.train(
                    algorithm, rl.atari("Pong"), total_steps=n_e * 5 * max(4, 640 // n_e), workers=n_w, actors=n_w,
                    inference="central",
                )  # fmt: skip
                wall = done.result.wall_time
                shares = dict.fromkeys(("simulators", "server", "learners"), 0.0)
                for each in done.result.statistics:
                    for name in shares:
                        if each.path.startswith(f"main.{name}") and not each.path.endswith(".open"):
                            shares[name] += each.seconds / (n_w * wall)
                used = [f"{share:.0%}" for share in shares.values()]
                yield [torso, n_e, n_w, short(done.steps / wall), *used, f"{1 - sum(shares.values()):.0%}"]


TABLES = (Table("paac-envs", environments),)
