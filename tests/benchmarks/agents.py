"""Multi-agent inference: a world broadcasts what all see, each agent's network picks an action, the world gathers.

In the last variant ten cars cross a traffic junction, with policies that have learned to; the others' are untrained.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import cluster
import junction
import numpy as np
import numpy.typing as npt
import torch
from pool import block, pool, shared
from row import ALL, CORES, IDEAL, ONE, Bar, Measure, Row, Sample
from timing import Stopwatch
from torch import nn

import reactors as rx
from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLICIES = {"small": (16, 64, 64, 5), "large": (256, 1024, 1024, 1024, 18), "trained": junction.SIZES}
CASES = {
    f"{agents} agents, {policy} policy": (agents, policy) for policy in ("small", "large") for agents in (4, 10, 16)
}
CASES["10 cars, trained policy"] = (junction.CARS, "trained")
SMALL = tuple(case for case in CASES if "small" in case)
BATCHED = "rl.Policies"
LARGE = tuple(case for case in CASES if "large" in case)
Array = npt.NDArray[np.float32]

row = Row(
    title="multi-agent inference",
    unit="rounds/s",
    variants=tuple(CASES),
    work=lambda _: 1,
    bars=(
        Bar(ALL, "Ray actors", 25, SMALL),
        Bar(ALL, "Ray actors", 2.5, LARGE),
        Bar(ALL, "Ray compiled graph", 10, SMALL),
        Bar(ALL, "loop", 1.85, SMALL),
        Bar(ALL, "loop", 1.6, LARGE),
        Bar(BATCHED, "loop", 5, SMALL),
    ),
    prepare=lambda case: junction.said() if CASES[case][1] == "trained" else "",
    check_rounds=20,
)


class Policy:
    """An agent's network."""

    def __init__(self, index: int, policy: str) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(index)
        sizes = POLICIES[policy]
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.index, self.net = index, nn.Sequential(*layers[:-1])
        if policy == "trained":
            junction.load(self.net, junction.learned()["weights"])

    def act(self, seen: torch.Tensor) -> int:
        """The best action by what this agent sees."""
        with torch.inference_mode():
            return int(self.net(seen[self.index]).argmax())

    def act_array(self, seen: Array) -> int:
        with torch.inference_mode():
            return self.act(torch.from_numpy(seen))


class Scene:
    """A world that costs next to nothing: 64 observations that come round again. What is measured is the agents."""

    def __init__(self, agents: int, size: int) -> None:
        self.seen = np.random.default_rng(0).standard_normal((64, agents, size)).astype(np.float32)
        self.round, self.total = 0, 0

    def observe(self) -> Array:
        return self.seen[self.round % 64]

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        self.round += 1
        self.total = (self.total * 31 + int(actions.sum())) % 1_000_003


def scene_of(case: str) -> Scene | junction.Crossing:
    agents, policy = CASES[case]
    return junction.Crossing() if policy == "trained" else Scene(agents, POLICIES[policy][0])


def timed(case: str, rounds: int, infer: Callable[[Array], Any]) -> Sample:
    scene, watch = scene_of(case), Stopwatch(rounds, 10)
    while watch.running():
        scene.step(np.asarray(infer(scene.observe())))
    return Sample(watch.seconds, scene.total)


class World(rx.Reactor):
    actions = rx.Input(shape=(), dtype=np.int64, width="agents")
    observation = rx.Output(shape=("agents", "size"), dtype=np.float32)

    def __init__(self, case: str, rounds: int) -> None:
        self.agents, policy = CASES[case]
        self.size = POLICIES[policy][0]
        self.scene, self.watch = scene_of(case), Stopwatch(rounds, 10)

    @rx.reaction(rx.startup, effects=observation)
    def reset(self) -> None:
        self.watch.running()
        self.observation.set(self.scene.observe())

    @rx.reaction(actions, effects=(observation, rx.stop))
    def step(self) -> None:
        self.scene.step(self.actions.array)
        if self.watch.running():
            self.observation.set(self.scene.observe())
        else:
            self.request_stop()


class Agent(rx.Reactor):
    observation = rx.Input(shape=("agents", "size"), dtype=np.float32)
    action = rx.Output(shape=(), dtype=np.int64)

    def __init__(self, case: str) -> None:
        self.agents, self.name = CASES[case]
        self.size = POLICIES[self.name][0]

    @rx.reaction(rx.startup)
    def load(self) -> None:
        self.policy = Policy(self.bank_index, self.name)

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        self.action.set(self.policy.act(self.observation.tensor))


class MultiAgent(rx.Reactor):
    def __init__(self, case: str, rounds: int, *, batched: bool = False) -> None:
        agents, policy = CASES[case]
        self.world = World(case, rounds)
        if batched:
            self.agents: Any = rl.Policies([Policy(i, policy).net for i in range(agents)], shape=POLICIES[policy][:1])
            rx.connect(self.world.observation, self.agents.observations)
        else:
            self.agents = rx.bank(agents, Agent, case)
            rx.connect(self.world.observation, self.agents.observation, broadcast=True)
        rx.connect(self.agents.action, self.world.actions, after=0)


def on(workers: int, case: str, *, batched: bool = False) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = MultiAgent(case, rounds, batched=batched)
        rx.run(main, workers=workers, fast=True)
        return Sample(main.world.watch.seconds, main.world.scene.total)

    yield measure


@row.peer(ONE)
def one(case: str) -> Iterator[Measure]:
    yield from on(1, case)


@row.peer(ALL)
def all_cores(case: str) -> Iterator[Measure]:
    yield from on(CORES, case)


@row.peer(BATCHED)
def batched(case: str) -> Iterator[Measure]:
    yield from on(1, case, batched=True)


@row.peer("loop")
def loop(case: str) -> Iterator[Measure]:
    agents, policy = CASES[case]
    policies = [Policy(i, policy) for i in range(agents)]

    def infer(seen: Array) -> list[int]:
        tensor = torch.from_numpy(seen)
        return [policy.act(tensor) for policy in policies]

    yield lambda rounds: timed(case, rounds, infer)


@row.peer(IDEAL, variants=(*SMALL, *LARGE))
def apart(case: str) -> Iterator[Measure]:
    """Each of so many processes has its share of the agents, and a scene of its own."""
    agents, policy = CASES[case]

    def measure(rounds: int) -> Sample:
        def member(part: int) -> Callable[[], None]:
            policies = [Policy(i, policy) for i in block(part, CORES, agents)]
            scene = Scene(agents, POLICIES[policy][0])

            def play() -> None:
                for _ in range(rounds):
                    tensor = torch.from_numpy(scene.observe())
                    scene.step(np.asarray([policy.act(tensor) for policy in policies]))

            return play

        with pool(CORES, CORES, member) as all_parts:
            watch = Stopwatch(1, 1)
            while watch.running():
                all_parts()
            return Sample(watch.seconds)

    yield measure


@row.peer("Ray actors", group="Ray")
def ray_actors(case: str) -> Iterator[Measure]:
    agents, policy = CASES[case]
    with cluster.started(agents) as ray:
        actors = [ray.remote(Policy).remote(i, policy) for i in range(agents)]
        yield lambda rounds: timed(
            case, rounds, lambda seen: ray.get([actor.act_array.remote(seen) for actor in actors])
        )


@row.peer("Ray compiled graph", group="Ray")
def ray_compiled(case: str) -> Iterator[Measure]:
    agents, policy = CASES[case]
    with cluster.started(agents) as ray:
        actors = [ray.remote(Policy).remote(i, policy) for i in range(agents)]
        graph = cluster.Compiled(ray, actors, "act_array")

        def measure(rounds: int) -> Sample:
            with graph.awake():
                return timed(case, rounds, graph)

        yield measure
        graph.close()


@row.peer("shared-memory pool")
def by_hand(case: str) -> Iterator[Measure]:
    agents, name = CASES[case]
    given, actions = shared((agents, POLICIES[name][0]), np.float32), shared((agents,), np.int64)

    def member(i: int) -> Callable[[], None]:
        policy, tensor = Policy(i, name), torch.from_numpy(given)

        def step() -> None:
            actions[i] = policy.act(tensor)

        return step

    def measure(rounds: int) -> Sample:
        with pool(CORES, agents, member) as round_of_all:

            def infer(seen: Array) -> Any:
                given[:] = seen
                round_of_all()
                return actions

            return timed(case, rounds, infer)

    yield measure
