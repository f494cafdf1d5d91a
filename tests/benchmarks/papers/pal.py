"""Parallel Actors and Learners: A Framework for Generating Scalable RL Implementations, arXiv 2110.01101."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import torch
from matplotlib.figure import Figure
from papers.table import Table, doubled, number, of_row
from row import CORES, OURS
from run import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from papers.table import Rows


def scaling(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """DQN on CartPole by numbers of actors and learners: environment steps and updates a second."""
    from reactors import rl

    torch.set_num_threads(1)
    yield ["learners", "actors", "workers", "mode", "steps/s", "updates/s"]
    steps = 4_000 if options.quick else 16_000
    for learners in doubled(max(2, CORES // 4)):
        for actors in doubled(max(4, CORES)):
            for mode in ("pipelined", "free"):
                workers, found = min(CORES, actors + learners), []
                algorithm = rl.DQN(
                    num_envs=max(8, actors), learning_starts=256, batch_size=64, updates_per_step=0.5, prioritized=True
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


def curves(rows: Rows) -> Figure:
    """Steps and updates a second over actors, a line for each number of learners and mode."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    for panel, column in zip(figure.subplots(1, 2), (4, 5), strict=True):
        for learners, mode in dict.fromkeys((row[0], row[3]) for row in rows[1:]):
            chosen = [row for row in rows[1:] if (row[0], row[3]) == (learners, mode)]
            line = {"color": f"C{int(learners) - 1}", "ls": "-" if mode == "pipelined" else "--", "marker": "o"}
            name = f"{learners} learner{'s' * (learners != '1')}, {mode}"
            panel.plot([int(row[1]) for row in chosen], [number(row[column]) for row in chosen], label=name, **line)
        panel.set(xlabel="actors", ylabel=rows[0][column], xticks=sorted({int(row[1]) for row in rows[1:]}))
        panel.set_ylim(bottom=0)
    figure.legend(*panel.get_legend_handles_labels(), fontsize=7, loc="outside right center")
    return figure


def over_fanout(rows: Rows) -> Figure:
    """Microseconds a call over K, a line for each call, batch and number of slots."""
    ks = [int(name.removeprefix("K=").partition(",")[0]) for name in rows[0][1:]]
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    for panel, call in zip(figure.subplots(1, 2, sharey=True), ("sample", "update"), strict=True):
        for row in rows[1:]:
            if row[0].startswith(call):
                panel.plot(ks, [number(cell) for cell in row[1:]], marker="o", label=row[0].removeprefix(f"{call} "))
        panel.set(title=call, xlabel="K", ylabel="us a call", xscale="log", yscale="log")
        panel.set_xticks(ks, [str(k) for k in ks])
        panel.minorticks_off()
    named = panel.get_legend_handles_labels()
    figure.legend(*named, fontsize=7, loc="outside right center", title="batch, slots")
    return figure


TABLES = (
    Table("pal-k", of_row("tree_fanout", "a call of"), over_fanout),
    Table("pal-tree", of_row("sum_tree", "calls", ours=OURS)),
    Table("pal-buffer", of_row("replay", "buffer", ours=OURS)),
    Table("pal-locks", of_row("replay_beside", "side that is timed", ours=OURS)),
    Table("pal-scaling", scaling, curves),
)
