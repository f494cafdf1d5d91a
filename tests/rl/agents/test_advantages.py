"""Advantages of agents that come and go are those of each agent's own steps, one episode after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reactors.rl.estimates.agents import Presence, agents_advantages

SHAPE = 17, 3, 4


def plain(rewards: Any, values: Any, following: Any, presence: Presence, gamma: float, lam: float) -> Any:
    """Of one agent: its own steps, gathered episode by episode, and equation 11 of PPO's paper for each of them."""
    acted, next_acted, terminated, truncated = presence
    found = np.zeros(len(values))
    episode: list[list[Any]] = []  # [step, reward, value]
    for t in range(len(values)):
        if acted[t]:
            episode.append([t, 0.0, values[t]])
        if not episode:
            continue  # a reward before an agent's first action belongs to no step
        episode[-1][1] += rewards[t]
        if not (terminated[t] or truncated[t] or t == len(values) - 1):
            continue
        after = 0.0 if terminated[t] else following[t] if next_acted[t] else episode[-1][2]
        if not (terminated[t] or truncated[t] or next_acted[t]):
            episode.pop()  # it waits, and its value is what the step before has led to
        nexts = [*[each[2] for each in episode], after][1:]
        deltas = [each[1] + gamma * then - each[2] for each, then in zip(episode, nexts, strict=True)]
        for i, (at, _, _) in enumerate(episode):
            found[at] = sum((gamma * lam) ** k * delta for k, delta in enumerate(deltas[i:]))
        episode = []
    return found


def random_presence(rng: np.random.Generator) -> Presence:
    """Of agents that act, wait, end and are broken off; what follows is known as it is of environments."""
    acted = rng.random(SHAPE) < rng.choice([0.3, 0.7, 1.0])
    terminated = rng.random(SHAPE) < 0.1
    truncated = (rng.random(SHAPE) < 0.1) & ~terminated
    over = terminated | truncated
    next_acted = np.concatenate([acted[1:], rng.random((1, *SHAPE[1:])) < 0.5])
    return Presence(acted, np.where(over, truncated & (rng.random(SHAPE) < 0.5), next_acted), terminated, truncated)


@pytest.mark.parametrize("seed", range(20))
def test_each_agent_is_as_if_it_were_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    presence = random_presence(rng)
    rewards, values, following = (rng.normal(size=SHAPE).astype(np.float32) for _ in range(3))
    found = agents_advantages(rewards, values, following, presence, 0.9, 0.8)
    for e in range(SHAPE[1]):
        for i in range(SHAPE[2]):
            mine: Any = [each[:, e, i] for each in (rewards, values, following)]
            alone = Presence(*(each[:, e, i] for each in presence))
            np.testing.assert_allclose(
                found[:, e, i], plain(*mine, presence=alone, gamma=0.9, lam=0.8), rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize("seed", range(5))
def test_values_beyond_are_asked_for_where_they_count_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    presence = random_presence(rng)
    rewards, values, following = (rng.normal(size=SHAPE).astype(np.float32) for _ in range(3))
    needed = np.where(presence.beyond, following, np.nan)
    found = agents_advantages(rewards, np.where(presence.acted, values, np.nan), needed, presence, 0.9, 0.8)
    np.testing.assert_array_equal(found, agents_advantages(rewards, values, following, presence, 0.9, 0.8))


def test_steps_that_wait_for_what_comes_have_no_advantage_yet() -> None:
    presence = random_presence(np.random.default_rng(0))
    waits = presence.unfinished
    assert waits.any()
    assert not (waits & presence.next_acted).any()
    ones: Any = np.ones(SHAPE, np.float32)
    assert not agents_advantages(ones, ones * 3, ones * 5, presence, 0.9, 0.8)[waits].any()
