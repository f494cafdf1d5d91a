"""Efficient Parallel Reinforcement Learning Framework using the Reactor Model, arXiv 2312.04704."""

from __future__ import annotations

from papers.table import Table, of_row
from row import ALL

TABLES = (
    Table("lf-broadcast", of_row("broadcast", "array", ours=ALL)),
    Table("lf-gym", of_row("lockstep", "environment", ours=ALL)),
    Table("lf-atari", of_row("frames", "game", ours=ALL)),
    Table("lf-q", of_row("dqn", "", ours=ALL)),
    Table("lf-agents", of_row("agents", "agents, networks", ours=ALL)),
)
