"""Efficient Parallel Methods for Deep Reinforcement Learning (PAAC), arXiv 1705.04862."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from papers.table import Table
from row import CORES
from run import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from reactors import rl

PARTS = ("simulators", "server", "learners")
UNROLL = 5


def environments(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """Pong in frames of 84x84 by n_e environments, n_w simulators and network; where the time of all workers goes."""
    from reactors import rl

    torch.set_num_threads(1)
    yield ["network", "n_e", "n_w", "steps/s", "environments", "inference", "learning", "the rest, and waiting"]
    for torso in ("nips", "nature"):
        for n_e in (16, 32) if options.quick else (16, 32, 64, 128, 256):
            for n_w in sorted({1, CORES}):
                algorithm = rl.A2C.paac(num_envs=n_e, learning_rate=0.0007 * n_e, torso=torso)
                rounds = max(4, 640 // n_e)
                # A short run is taken from a long one, so that neither starting nor the first rounds count.
                wall, *parts = seconds(algorithm, rounds + 2, n_w) - seconds(algorithm, 2, n_w)
                shares = [part / (n_w * wall) for part in parts]
                used = [f"{share:.0%}" for share in (*shares, 1 - sum(shares))]
                yield [torso, n_e, n_w, short(rounds * n_e * UNROLL / wall), *used]


def seconds(algorithm: rl.A2C, rounds: int, workers: int) -> npt.NDArray[np.float64]:
    """What so many rounds take: by the clock, and in each of PARTS."""
    from reactors import rl

    done = rl.train(
        algorithm, rl.atari("Pong"), total_steps=algorithm.num_envs * UNROLL * rounds, workers=workers, actors=workers,
        inference="central",
    )  # fmt: skip
    spent = [
        sum(
            each.seconds
            for each in done.result.statistics
            if each.path.startswith(f"main.{part}") and not each.path.endswith(".open")
        )
        for part in PARTS
    ]
    return np.array([done.result.wall_time, *spent])


TABLES = (Table("paac-envs", environments),)
