"""Parallel Actors and Learners: A Framework for Generating Scalable RL Implementations, arXiv 2110.01101."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import torch
from papers.table import Table, of_row
from row import CORES, OURS
from run import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence


def scaling(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """DQN on CartPole by numbers of actors and learners: environment steps and updates a second."""
    from reactors import rl

    torch.set_num_threads(1)
    yield ["learners", "actors", "workers", "mode", "steps/s", "updates/s"]
    steps = 4_000 if options.quick else 16_000
    for learners in (1, 2):
        for actors in (1, 2, 4):
            for mode in ("pipelined", "free"):
                workers, found = min(CORES, actors + learners), []
                algorithm = rl.DQN(
                    num_envs=8, learning_starts=256, batch_size=64, updates_per_step=0.5, prioritized=True
                )  # fmt: skip
                for seed in range(options.repetitions):
                    done = rl.train(
                        algorithm, "CartPole-v1", total_steps=steps, learners=learners, actors=actors, mode=mode,  # type: ignore[arg-type]
                        workers=workers, seed=seed,
                    )  # fmt: skip
                    first = next(row for row in done.journal if row["global_step"] >= steps // 4)
                    last = done.journal[-1]
                    seconds = last["seconds"] - first["seconds"]
                    found.append((last["global_step"] - first["global_step"]) / seconds)
                rate = statistics.median(found)
                yield [learners, actors, workers, mode, short(rate), short(rate * algorithm.updates_per_step)]


TABLES = (
    Table("pal-k", of_row("tree_fanout", "a call of")),
    Table("pal-tree", of_row("sum_tree", "calls", ours=OURS)),
    Table("pal-buffer", of_row("replay", "buffer", ours=OURS)),
    Table("pal-locks", of_row("replay_beside", "side that is timed", ours=OURS)),
    Table("pal-scaling", scaling),
)
