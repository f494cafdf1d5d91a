"""Does self-play learn? Connect four against past policies, and simple_tag with two groups that do so.

    python tests/benchmarks/self_play.py connect_four --steps 300000
    python tests/benchmarks/self_play.py simple_tag --steps 100000

It prints how long it took, what became of Elo, and tables of what was learned against a random player and past
policies, of which the first that had learned anything is "the first checkpoint".
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from torch import nn

from reactors import rl


class Lines(nn.Module):
    """Sees a board by squares of four by four, in which any line of four lies."""

    features = 128

    def __init__(self, space: Any) -> None:
        super().__init__()
        rows, columns, planes = space.shape
        self.squares = nn.Conv2d(planes, 64, 4)
        self.together = nn.Linear(64 * (rows - 3) * (columns - 3), self.features)

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        """Boards (n, rows, columns, planes)."""
        seen = self.squares(boards.permute(0, 3, 1, 2).float()).relu()
        found: torch.Tensor = self.together(seen.flatten(1)).relu()
        return found


CONNECT_FOUR: dict[str, Any] = {
    "num_envs": 32, "horizon": 128, "batch_size": 512, "epochs": 4, "learning_rate": 1e-3, "anneal": True,
    "gamma": 0.95, "lam": 0.8, "entropy": 0.03, "torso": Lines,
}  # fmt: skip
SIMPLE_TAG: dict[str, Any] = {"groups": {"adversary": ("adversary_*",), "good": ("agent_*",)}}
PROGRAMS: dict[str, tuple[str, dict[str, Any], rl.Past]] = {
    "connect_four": ("classic/connect_four_v3", CONNECT_FOUR, rl.Past(every=10, size=50, chance=0.8)),
    "simple_tag": ("mpe2:simple_tag_v3", SIMPLE_TAG, rl.Past(every=25, size=20)),
}


def measured(name: str, steps: int, seed: int, mode: Any, workers: int, episodes: int) -> None:
    """Train, and hold what was learned against others."""
    env, hyperparameters, past = PROGRAMS[name]
    began = time.perf_counter()
    done = rl.train(
        rl.IPPO(**hyperparameters), env, total_steps=steps, seed=seed, workers=workers, mode=mode, opponents=past
    )
    seconds, last = time.perf_counter() - began, done.journal[-1]
    print(f"{name}, seed {seed}: {done.steps:,} steps in {seconds:.0f} s, digest {done.digest}")
    print({key: round(x, 3) for key, x in last.items() if "elo/" in key})
    pool = done.past
    chosen = {each.rounds: each for each in (*pool[:2], pool[len(pool) // 2], pool[-1])}
    print(done.against(["random", *chosen.values()], episodes=episodes), flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--mode", choices=("sync", "pipelined"), default="sync")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=100)
    given = parser.parse_args()
    for seed in given.seeds:
        measured(given.program, given.steps, seed, given.mode, given.workers, given.episodes)


if __name__ == "__main__":
    main()
