"""Training of many agents, whole: IPPO with one network for all, here and in a loop as CleanRL writes it.

A round is `NUM_ENVS` x `HORIZON` steps of all agents. The first fifth of a measurement warms up, and start-up is left
out. What a framework costs over the environments, network and learning themselves is the ratio to the loop.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import cluster
import gymnasium as gym
import numpy as np
import torch
from beside import spread
from pettingzoo import ParallelEnv
from row import ALL, ONE, Bar, Measure, Row, Sample
from scripted_ppo import Settings, ppo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

NUM_ENVS, HORIZON, EPOCHS = 8, 25, 4
AGENTS = {"simple_spread, 3 agents": 3} | {f"a line, {agents} agents": agents for agents in (4, 10, 50)}
RAY = "Ray actors"

row = Row(
    title="training of many agents, torch with one thread",
    unit="steps/s",
    variants=tuple(AGENTS),
    work=lambda _: NUM_ENVS * HORIZON,
    bars=(Bar(ONE, "loop", 0.9), Bar(ALL, RAY, 2)),
    check_rounds=5,
)


class Line(ParallelEnv[str, Any, Any]):
    """Agents that walk to places of their own on a line: an environment that costs next to nothing."""

    metadata: dict[str, Any] = {"name": "line"}  # noqa: RUF012

    def __init__(self, agents: int) -> None:
        self.possible_agents = [f"walker_{i}" for i in range(agents)]
        self.wanted = np.linspace(-1, 1, agents, dtype=np.float32)

    def observation_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(-np.inf, np.inf, (8,), np.float32)

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        del options
        self.rng = np.random.default_rng(seed) if seed is not None or not hasattr(self, "rng") else self.rng
        self.agents, self.at = self.possible_agents[:], self.rng.uniform(-1, 1, len(self.wanted)).astype(np.float32)
        self.step_number = 0
        return self.seen(), {agent: {} for agent in self.agents}

    def seen(self) -> dict[str, NDArray[np.float32]]:
        rows = np.zeros((len(self.at), 8), np.float32)
        rows[:, 0], rows[:, 1] = self.at, self.wanted - self.at
        return dict(zip(self.possible_agents, rows, strict=True))

    def step(self, actions: dict[str, int]) -> Any:
        moves = np.fromiter(actions.values(), np.float32, len(self.at))
        self.at += (moves - 1) / 10
        self.step_number += 1
        there, over = self.agents, self.step_number == HORIZON
        rewards = dict(zip(there, (-np.abs(self.wanted - self.at)).tolist(), strict=True))
        self.agents = [] if over else there
        none, infos = dict.fromkeys(there, False), {agent: {} for agent in there}  # type: ignore[var-annotated]
        return self.seen(), rewards, none, dict.fromkeys(there, over), infos


def environment(variant: str) -> Any:
    """A PettingZoo parallel environment whose agents are there until its episode's end."""
    return spread.environment() if "spread" in variant else Line(AGENTS[variant])


class Stepped:
    """One, in arrays of all its agents; it begins again by itself."""

    def __init__(self, variant: str) -> None:
        self.env = environment(variant)

    def reset(self, seed: int) -> NDArray[np.float32]:
        return np.stack([*self.env.reset(seed=seed)[0].values()])

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[np.float32], list[float], bool]:
        seen, rewards, *_ = self.env.step(dict(zip(self.env.agents, actions.tolist(), strict=True)))
        over = not self.env.agents
        return np.stack([*(self.env.reset()[0] if over else seen).values()]), [*rewards.values()], over


class Flat:
    """Some of them as the vector environment that `ppo` asks for: each agent of each is one of its environments."""

    def __init__(self, variant: str, resets: Callable[[int], Any], steps: Callable[[Any], Any]) -> None:
        env, self.agents, self.resets, self.steps = environment(variant), AGENTS[variant], resets, steps
        name = env.possible_agents[0]
        self.single_observation_space, self.single_action_space = env.observation_space(name), env.action_space(name)

    def reset(self, seed: int) -> tuple[NDArray[np.float32], dict[str, Any]]:
        return np.concatenate(self.resets(seed)), {}

    def step(self, actions: NDArray[np.int64]) -> Any:
        seen, rewards, over = zip(*self.steps(actions.reshape(NUM_ENVS, self.agents)), strict=True)
        truncated = np.repeat(over, self.agents)
        return np.concatenate(seen), np.concatenate(rewards), np.zeros_like(truncated), truncated, {}


def learns(variant: str, envs: Flat) -> Iterator[Measure]:
    """The loop, whatever steps the environments."""
    torch.set_num_threads(1)
    agents = AGENTS[variant]
    settings = Settings(
        num_envs=NUM_ENVS * agents, horizon=HORIZON, epochs=EPOCHS, batch_size=100 * agents, gamma=0.99, lam=0.95,
        learning_rate=7e-4, entropy=0.01,
    )  # fmt: skip

    def measure(rounds: int) -> Sample:
        began, warm = 0.0, max(1, rounds // 4)
        for done, _ in enumerate(ppo(0, envs, settings=settings), 1):  # type: ignore[arg-type]
            if done == warm:
                began = time.perf_counter()
            if done == warm + rounds:
                break
        return Sample(time.perf_counter() - began)

    yield measure


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    envs = [Stepped(variant) for _ in range(NUM_ENVS)]
    yield from learns(
        variant,
        Flat(
            variant,
            lambda seed: [env.reset(seed + i) for i, env in enumerate(envs)],
            lambda actions: [env.step(each) for env, each in zip(envs, actions, strict=True)],
        ),
    )


@row.peer(RAY, group="Ray")
def ray_actors(variant: str) -> Iterator[Measure]:
    """Each environment in an actor; acting and learning in the driver."""
    with cluster.started(NUM_ENVS) as ray:
        envs = [ray.remote(Stepped).remote(variant) for _ in range(NUM_ENVS)]
        yield from learns(
            variant,
            Flat(
                variant,
                lambda seed: ray.get([env.reset.remote(seed + i) for i, env in enumerate(envs)]),
                lambda actions: ray.get([env.step.remote(each) for env, each in zip(envs, actions, strict=True)]),
            ),
        )


def ours(variant: str, workers: int, mode: Any) -> Iterator[Measure]:
    from reactors import rl

    torch.set_num_threads(1)
    algorithm = rl.IPPO(
        num_envs=NUM_ENVS, horizon=HORIZON, epochs=EPOCHS, batch_size=100 * AGENTS[variant], learning_rate=7e-4,
        entropy=0.01, normalise_values=False,
    )  # fmt: skip

    def measure(rounds: int) -> Sample:
        each = NUM_ENVS * HORIZON
        warm = max(1, rounds // 4) * each
        done = rl.train(
            algorithm, lambda: environment(variant), total_steps=warm + rounds * each, workers=workers, mode=mode
        )
        first = next(row for row in done.journal if row["global_step"] >= warm)
        last = done.journal[-1]
        pace = (last["seconds"] - first["seconds"]) / (last["global_step"] - first["global_step"])
        return Sample(pace * rounds * each)

    yield measure


@row.peer(ALL)
def pipelined(variant: str) -> Iterator[Measure]:
    yield from ours(variant, 2, "pipelined")


@row.peer(ONE)
def alone(variant: str) -> Iterator[Measure]:
    yield from ours(variant, 1, "sync")
