"""Multi-agent PPO: Yu et al., 2022 (arXiv 2103.01955), PPO with a critic that sees the state of the environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reactors.rl.algorithms.agents.ippo import IPPO


@dataclass(frozen=True, kw_only=True)
class MAPPO(IPPO):
    """Hyperparameters: those of `IPPO`, whose tables they are.

    The critic sees what `state()` of the environment gives, or what all agents see together where there is none, and
    which agent's value it is to give. Actors see what their own agent does, so that they act without it.

    >>> MAPPO().central
    True
    """

    name: ClassVar[str] = "MAPPO"
    central: ClassVar[bool] = True
