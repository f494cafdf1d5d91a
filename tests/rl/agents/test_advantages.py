"""Advantages of agents that come and go are those of each agent's own steps, one episode after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reactors.rl.estimates.agents import agents_advantages, cut_off


def plain(
    rewards: Any, values: Any, following: Any, acted: Any, terminated: Any, truncated: Any, gamma: float, lam: float
) -> Any:
    """Of one agent: its own steps, gathered episode by episode, and equation 11 of PPO's paper for each of them."""
    found = np.zeros(len(values))
    episode: list[list[Any]] = []  # [step, reward, value]
    ends = [*np.flatnonzero(terminated | truncated), len(values)]
    start = 0
    for end in ends:
        for t in range(start, min(end + 1, len(values))):
            if acted[t]:
                episode.append([t, 0.0, values[t]])
            if episode:
                episode[-1][1] += rewards[t]
        if episode:
            at = episode[-1][0] if end == len(values) else end
            last = 0.0 if end < len(values) and terminated[end] else following[at]
            nexts = [each[2] for each in episode[1:]] + [last]
            deltas = [each[1] + gamma * after - each[2] for each, after in zip(episode, nexts, strict=True)]
            for i, (t, _, _) in enumerate(episode):
                found[t] = sum((gamma * lam) ** k * delta for k, delta in enumerate(deltas[i:]))
        episode, start = [], end + 1
    return found


@pytest.mark.parametrize("seed", range(20))
def test_each_agent_is_as_if_it_were_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = 17, 3, 4
    acted = rng.random(shape) < rng.choice([0.3, 0.7, 1.0])
    terminated = rng.random(shape) < 0.1
    truncated = (rng.random(shape) < 0.1) & ~terminated
    rewards, values, following = (rng.normal(size=shape).astype(np.float32) for _ in range(3))
    # what is given to one that has not acted in its episode yet is nobody's
    found = agents_advantages(rewards, values, following, acted, terminated, truncated, 0.9, 0.8)
    for e in range(shape[1]):
        for i in range(shape[2]):
            mine: Any = [each[:, e, i] for each in (rewards, values, following, acted, terminated, truncated)]
            np.testing.assert_allclose(found[:, e, i], plain(*mine, gamma=0.9, lam=0.8), rtol=1e-4, atol=1e-5)


def test_values_beyond_are_asked_for_where_they_count_alone() -> None:
    rng = np.random.default_rng(0)
    shape = 9, 40
    acted, terminated = rng.random(shape) < 0.6, rng.random(shape) < 0.1
    truncated = (rng.random(shape) < 0.1) & ~terminated
    wanted = cut_off(acted, terminated, truncated)
    rewards, values, following = (rng.normal(size=shape).astype(np.float32) for _ in range(3))
    given = (rewards, values, np.where(wanted, following, np.nan), acted, terminated, truncated)
    found = agents_advantages(*given, 0.9, 0.8)
    wanted = agents_advantages(rewards, values, following, acted, terminated, truncated, 0.9, 0.8)
    np.testing.assert_array_equal(found, wanted)
