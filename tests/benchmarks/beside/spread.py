"""simple_spread of mpe2: three agents cover three landmarks. What all contenders share; it needs no reactors."""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

from mpe2 import simple_spread_v3

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

AGENTS, STEPS = 3, 25  # no episode is shorter
EPISODES = 200  # of an evaluation
NUM_ENVS, HORIZON = 16, 100
EPOCHS, MINIBATCH = 10, 1_600  # minibatches count an agent's step, not a step of all agents
LEARNING_RATE, GAMMA, LAM, CLIP, ENTROPY, VALUE, MAX_GRAD_NORM = 7e-4, 0.99, 0.95, 0.2, 0.01, 1.0, 10.0
HIDDEN = (64, 64)
"""Those of Yu et al., 2022 (arXiv 2103.01955), tables 7 and 8, with fewer environments; all share them."""


def environment() -> Any:
    """A PettingZoo parallel environment with five actions."""
    return simple_spread_v3.parallel_env(N=AGENTS, max_cycles=STEPS, continuous_actions=False)


def evaluate(seed: int, act: Callable[[dict[str, NDArray[np.float32]]], dict[str, int]]) -> tuple[float, float]:
    """Mean and deviation of returns, of which each is the mean over agents; `act` gives actions for observations."""
    env, returns = environment(), []
    for episode in range(EPISODES):
        observations, _ = env.reset(seed=1_000_000 + 1_000 * seed + episode)
        total = 0.0
        while env.agents:
            observations, rewards, *_ = env.step(act(observations))
            total += fmean(rewards.values())
        returns.append(total)
    env.close()
    return round(fmean(returns), 2), round(pstdev(returns), 2)
