"""Deep deterministic policy gradient: Lillicrap et al., 2015 (arXiv 1509.02971).

TD3 changed three things in it. Without them, that is with one critic, no delay and no noise in the target, TD3's update
is DDPG's (algorithm 1). The noise on actions is normal, not an Ornstein-Uhlenbeck process, which was found to make no
difference (Fujimoto et al., 2018, section 6.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reactors.rl.algorithms.td3 import TD3


@dataclass(frozen=True, kw_only=True)
class DDPG(TD3):
    """Hyperparameters; those that it shares with TD3 have TD3's defaults, with which it is usually compared.

    >>> DDPG().critics
    1
    """

    name: ClassVar[str] = "DDPG"

    critics: int = 1
    """The paper's algorithm 1."""
    policy_delay: int = 1
    """The paper's algorithm 1."""
    target_noise: float = 0.0
    """The paper's algorithm 1, which has none."""
