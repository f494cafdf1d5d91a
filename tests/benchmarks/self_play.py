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

from reactors import rl

CONNECT_FOUR: dict[str, Any] = {
    "num_envs": 16, "horizon": 128, "hidden": (128, 128), "batch_size": 512, "epochs": 4, "learning_rate": 1e-3
}  # fmt: skip
SIMPLE_TAG: dict[str, Any] = {"groups": {"adversary": ("adversary_*",), "good": ("agent_*",)}}
PROGRAMS: dict[str, tuple[str, dict[str, Any], rl.Past]] = {
    "connect_four": ("classic/connect_four_v3", CONNECT_FOUR, rl.Past(every=10, size=50)),
    "simple_tag": ("mpe2:simple_tag_v3", SIMPLE_TAG, rl.Past(every=25, size=20)),
}


def measured(name: str, steps: int, seed: int, workers: int, episodes: int) -> None:
    """Train, and hold what was learned against others."""
    env, hyperparameters, past = PROGRAMS[name]
    began = time.perf_counter()
    done = rl.train(
        rl.IPPO(**hyperparameters), env, total_steps=steps, seed=seed, workers=workers, mode="pipelined", opponents=past
    )
    seconds, last = time.perf_counter() - began, done.journal[-1]
    print(f"{name}, seed {seed}: {done.steps:,} steps in {seconds:.0f} s, digest {done.digest}")
    print({key: round(x, 3) for key, x in last.items() if "elo/" in key})
    pool = done.past
    chosen = {each.rounds: each for each in (pool[0], pool[1], pool[len(pool) // 2], pool[-1])}
    print(done.against(["random", *chosen.values()], episodes=episodes), flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=100)
    given = parser.parse_args()
    for seed in given.seeds:
        measured(given.program, given.steps, seed, given.workers, given.episodes)


if __name__ == "__main__":
    main()
