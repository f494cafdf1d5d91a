"""Stepping environments of many agents, with actions drawn at random: what a framework costs over their own time.

The loop steps eight environments and does nothing with what they say; the ratio to it is what rows of observations,
ports and tags cost.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from agents_training import AGENTS, NUM_ENVS, environment
from row import ALL, CORES, ONE, Bar, Measure, Row, Sample
from timing import Stopwatch

import reactors as rx
from reactors import rl
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.envs.agents.sources import cast_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SPREAD = "simple_spread, 3 agents"
PORTS = "rl.MultiAgentEnv, 1 worker"
ROLLOUT = "an actor of rl.train"
WARM = 20  # rounds, as of a stopwatch

row = Row(
    title="stepping environments of many agents",
    unit="steps/s",
    variants=(SPREAD,),
    further=tuple(variant for variant in AGENTS if variant != SPREAD),
    work=lambda _: NUM_ENVS,
    bars=tuple(Bar(ours, "loop", 0.9) for ours in (ONE, PORTS, ROLLOUT)),
)


class Draws:
    """Actions for the agents of an environment, the same whoever asks."""

    def __init__(self, variant: str, index: int) -> None:
        env = environment(variant)
        self.agents, self.rng = AGENTS[variant], np.random.default_rng(index)
        self.n = env.action_space(env.possible_agents[0]).n

    def __call__(self) -> NDArray[np.int64]:
        return self.rng.integers(self.n, size=self.agents)


def draws(variant: str) -> list[Draws]:
    return [Draws(variant, i) for i in range(NUM_ENVS)]


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    envs = [environment(variant) for _ in range(NUM_ENVS)]

    def measure(rounds: int) -> Sample:
        for i, env in enumerate(envs):
            env.reset(seed=i)
        drawn, total, watch = draws(variant), 0.0, Stopwatch(rounds)
        while watch.running():
            for env, draw in zip(envs, drawn, strict=True):
                total += sum(env.step(dict(zip(env.agents, draw(), strict=True)))[1].values())
                if not env.agents:
                    env.reset()
        return Sample(watch.seconds, round(total, 3))

    yield measure


def rows(workers: int, variant: str) -> Iterator[Measure]:
    envs = rl.MultiAgentVectorEnv(partial(environment, variant), num_envs=NUM_ENVS, workers=workers)

    def measure(rounds: int) -> Sample:
        envs.reset(seed=0)
        drawn, total, watch = draws(variant), 0.0, Stopwatch(rounds)
        while watch.running():
            total += float(envs.step(np.stack([draw() for draw in drawn]))[1].sum())
        return Sample(watch.seconds, round(total, 3))

    try:
        yield measure
    finally:
        envs.close()


@row.peer(ONE)
def one(variant: str) -> Iterator[Measure]:
    yield from rows(1, variant)


@row.peer(ALL)
def all_cores(variant: str) -> Iterator[Measure]:
    yield from rows(CORES, variant)


class Drawing:
    """Acts for the team of a rollout, as `TeamActing` does."""

    opponents = memories = None

    def __init__(self, variant: str) -> None:
        self.draws, self.teams = draws(variant), [self]

    def act(self, seen: NDArray[Any], number: int) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        """Of all agents, which are always there."""
        del seen, number
        return np.concatenate([draw() for draw in self.draws]), {}

    def forget(self, gone: NDArray[np.bool_]) -> None:
        """There is nothing that is remembered."""


@row.peer(ROLLOUT)
def rollout(variant: str) -> Iterator[Measure]:
    make = partial(environment, variant)
    algorithm = rl.IPPO(num_envs=NUM_ENVS)
    played = AgentsRollout(algorithm, make, NUM_ENVS, 0, cast_of(make, "rollout"))
    played.open(0, "rollout")

    def measure(rounds: int) -> Sample:
        for e, simulation in enumerate(played.simulations):
            simulation.begin_with(e)
        acting: Any = Drawing(variant)
        total, seconds = 0.0, 0.0
        for steps in (WARM, rounds):
            played.shape = steps, NUM_ENVS
            rows = np.zeros(played.shape, played.dtypes[0])
            began = time.monotonic()
            played.play(acting, [rows], 0)
            seconds = time.monotonic() - began
            total += float(rows["rewards"].sum(dtype=np.float64))
        return Sample(seconds, round(total, 3))

    try:
        yield measure
    finally:
        played.close()


class Player(rx.Reactor):
    """Acts for all agents of an environment."""

    observation = rx.Input(shape="shape", dtype=np.float32, width="agents")
    reward = rx.Input(shape=(), dtype=np.float64, width="agents")
    action = rx.Output(shape=(), dtype=np.int64, width="agents")

    def __init__(self, env: rl.MultiAgentEnv, variant: str, index: int, rounds: int) -> None:
        self.shape, self.agents = env.observation_spaces[0].shape, len(env.agents)
        self.draw, self.watch, self.total = Draws(variant, index), Stopwatch(rounds), 0.0

    @rx.reaction(observation, uses=reward, effects=(action, rx.stop))
    def act(self) -> None:
        self.total += float(self.reward.array.sum())
        if self.watch.running():
            self.action.set(self.draw())
        else:
            self.request_stop()


class Play(rx.Reactor):
    def __init__(self, variant: str, rounds: int) -> None:
        make = partial(environment, variant)
        self.envs = [rl.MultiAgentEnv(make, seed=i) for i in range(NUM_ENVS)]
        self.players = [Player(env, variant, i, rounds) for i, env in enumerate(self.envs)]
        for env, player in zip(self.envs, self.players, strict=True):
            rx.connect(env.observation, player.observation)
            rx.connect(env.reward, player.reward)
            rx.connect(player.action, env.action, after=0)


@row.peer(PORTS)
def ports(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Play(variant, rounds)
        rx.run(main, fast=True)
        return Sample(main.players[0].watch.seconds, round(sum(player.total for player in main.players), 3))

    yield measure
