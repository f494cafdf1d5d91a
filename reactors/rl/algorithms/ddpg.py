"""Deep deterministic policy gradient: Lillicrap et al., 2015 (arXiv 1509.02971).

TD3 came of it by three changes; without them, one critic, no delay and no noise in the target, TD3's update is DDPG's
(algorithm 1). Noise on actions is normal and not an Ornstein-Uhlenbeck process, which has been found to make no
difference (Fujimoto et al., 2018, section 6.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reactors.rl.algorithms.td3 import TD3


@dataclass(frozen=True, kw_only=True)
class DDPG(TD3):
    """Hyperparameters; those that it shares with TD3 are TD3's, which is what it is compared with since.

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
