"""Efficient Parallel Reinforcement Learning Framework using the Reactor Model, arXiv 2312.04704."""

from __future__ import annotations

from typing import TYPE_CHECKING

from papers.resources import used
from papers.table import Table, of_row
from row import ALL
from run import PeerError, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from run import Bench


def resources(bench: Bench, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """What broadcast and gather takes of memory and of processors, by reactors and by size."""
    peers = [ALL, *(name for name in ("Ray, one ray.put",) if not options.no_ray)]
    yield ["", *(f"{name}, {what}" for name in peers for what in ("MB at the peak", "processor ms a round"))]
    variants = {"10 MB": 20, **{f"{n} reactors, 10 MB": 40 for n in (2, 4, 8)}, "100 MB": 5, "2 reactors, 500 MB": 2}
    for variant, rounds in variants.items():
        cells: list[str] = []
        for name in peers:
            try:
                # Of ours more, for a round takes less, and what a start takes varies by as much as some rounds.
                found = used("broadcast", name, variant, rounds * (5 if name == ALL else 1), bench.log)
                cells += [short(found.peak / 1e6), short(1e3 * found.processor)]
            except PeerError as failure:
                cells += [str(failure), ""]
        yield [variant, *cells]


TABLES = (
    Table("lf-broadcast", of_row("broadcast", "array", ours=ALL)),
    Table("lf-resources", resources),
    Table("lf-gym", of_row("lockstep", "environment", ours=ALL)),
    Table("lf-atari", of_row("frames", "game", ours=ALL)),
    Table("lf-q", of_row("dqn", "", ours=ALL)),
    Table("lf-agents", of_row("agents", "agents, networks", ours=ALL)),
)
