"""Multi-agent PPO: Yu et al., 2022 (arXiv 2103.01955), PPO with a critic that sees the environment's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reactors.rl.algorithms.agents.ippo import IPPO


@dataclass(frozen=True, kw_only=True)
class MAPPO(IPPO):
    """Hyperparameters: those of `IPPO`, which come from the same tables.

    The critic sees the environment's `state()`, or without one the joint observations of all agents, and for which
    agent the value is. Actors see only their own agent's observation, so they act without the state.

    >>> MAPPO().central
    True
    """

    name: ClassVar[str] = "MAPPO"
    central: ClassVar[bool] = True
