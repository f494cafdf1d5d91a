"""Sutton and Barto, "Reinforcement Learning", 2018, section 6.5."""

from __future__ import annotations

from typing import Any


def learn(q: Any, batch: Any, alpha: float, gamma: float) -> float:
    """Equation 6.8 for every step, in the order of time and then of environments; the mean absolute error."""
    total = 0.0
    steps, envs = batch["reward"].shape
    for t in range(steps):
        for i in range(envs):
            s, a, s_next = batch["obs"][t, i], batch["action"][t, i], batch["next_obs"][t, i]
            worth = 0.0 if batch["terminated"][t, i] else q[s_next].max()
            error = batch["reward"][t, i] + gamma * worth - q[s, a]
            q[s, a] += alpha * error
            total += abs(error)
    return total / (steps * envs)
