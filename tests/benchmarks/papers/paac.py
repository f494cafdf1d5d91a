"""Efficient Parallel Methods for Deep Reinforcement Learning (PAAC), arXiv 1705.04862."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from matplotlib.figure import Figure
from papers.table import Table, doubled, number
from row import CORES
from run import short

import reactors as rx
from reactors import rl

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from papers.table import Rows

PARTS = ("simulators", "server", "learners")
UNROLL = 5
SIMULATORS = [(n, halves) for n in doubled(CORES) for halves in (False, True) if n > 1 or not halves]
"""How many, and if in halves."""
BEFORE = 3  # rounds that do not count: memory is touched, and caches are filled


def environments(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """Pong in frames of 84x84 by n_e environments, n_w simulators and network; where the time of all workers goes.

    By more than one simulator also in two halves, one in inference while the other is in its simulators.
    """
    torch.set_num_threads(1)
    yield ["network", "n_e", "n_w", "steps/s", "environments", "inference", "learning", "waiting", "the rest"]
    for torso in ("nips", "nature"):
        for n_e in (16, 32) if options.quick else (16, 32, 64, 128, 256):
            for n_w, halves in SIMULATORS:
                if n_e % (n_w * (1 + halves)):
                    continue
                algorithm = rl.A2C.paac(num_envs=n_e, torso=torso)
                rate, parts = used(algorithm, max(4, 640 // n_e), n_w, halves)
                simulators = f"{n_w}, in halves" if halves else n_w
                yield [torso, n_e, simulators, short(rate), *(f"{part:.0%}" for part in (*parts, 1 - sum(parts)))]


def used(algorithm: rl.A2C, rounds: int, workers: int, halves: bool) -> tuple[float, list[float]]:
    """Steps a second, and which part of the workers' time PARTS and waiting took, by the trace of a run."""
    steps = algorithm.num_envs * UNROLL
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.rxt"
        rl.train(
            algorithm, rl.atari("Pong"), total_steps=steps * (BEFORE + rounds), workers=workers, actors=workers,
            inference="central", double_buffer=halves, trace=file,
        )  # fmt: skip
        trace = rx.Trace(file)
        found = trace.by_worker()
    times = np.unique(np.concatenate([spans.rows["tag"]["time"] for spans in found]))
    first = times[np.searchsorted(times, times.max() * BEFORE // (BEFORE + rounds))]
    ran, waited = (
        np.concatenate([rows[rows["tag"]["time"] >= first] for rows in some])
        for some in ([spans.reactions for spans in found], [spans.waits for spans in found])
    )
    part_of = np.array([_part(each["path"]) for each in trace.reactions])
    spent = np.bincount(part_of[ran["reaction"]], (ran["end"] - ran["start"]) / 1e9, len(PARTS) + 1)
    spent[-1] = (waited["end"] - waited["start"]).sum() / 1e9  # in place of what is of none of PARTS
    wall = int(max(ran["end"].max(), waited["end"].max(initial=0)) - ran["start"].min()) / 1e9
    return steps * rounds / wall, [float(part) for part in spent / (wall * workers)]


def _part(path: str) -> int:
    """Which of PARTS a reaction is of, or one more."""
    return next((n for n, part in enumerate(PARTS) if path.startswith(f"main.{part}")), len(PARTS))


def split(rows: Rows) -> Figure:
    """Where the time of all workers goes, a bar for each row: the paper's figure of its time usage."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    networks = list(dict.fromkeys(row[0] for row in rows[1:]))
    for panel, network in zip(figure.subplots(1, len(networks), sharey=True), networks, strict=True):
        chosen = [row for row in rows[1:] if row[0] == network]
        names = [f"{row[1]}\n{row[2].replace(', in halves', '*')}" for row in chosen]
        below = np.zeros(len(chosen))
        for column in range(4, len(rows[0])):
            parts = np.array([number(row[column]) for row in chosen])
            panel.bar(names, parts, bottom=below, label=rows[0][column])
            below += parts
        panel.set(title=network, xlabel="n_e, and below it n_w (*: in halves)", ylabel="part of the workers' time")
    figure.legend(*panel.get_legend_handles_labels(), fontsize=7, loc="outside right center")
    return figure


TABLES = (Table("paac-envs", environments, split),)
