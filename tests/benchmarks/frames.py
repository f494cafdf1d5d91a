"""Lock-step simulation of an ALE game with raw frames: what moving 1.6 MB a round costs beside an emulator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import ale_py
import cluster
import gymnasium as gym
import numpy as np
import numpy.typing as npt
from pool import pool, shared
from row import ALL, CORES, ONE, Bar, Measure, Row, Sample
from timing import Stopwatch

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N = 16
FRAME = (210, 160, 3)
GAMES = {f"{name}, raw frames": name for name in ("Pong", "MsPacman", "SpaceInvaders")}
PONG, *OTHERS = GAMES
Array = npt.NDArray[Any]

row = Row(
    title="lock-step simulation, 16 ALE environments",
    unit="steps/s",
    variants=(PONG,),
    further=tuple(OTHERS),
    work=lambda _: N,
    bars=(
        Bar(ALL, "loop", 1.7),
        Bar(ALL, "Ray actors", 5),
        Bar(ALL, "AsyncVectorEnv", 1.3),
        Bar(ALL, "Ray compiled graph", 1),
        Bar(ALL, "EnvPool", 1),
    ),
    check_rounds=20,
)


def make(variant: str) -> gym.Env[Any, Any]:
    gym.register_envs(ale_py)
    return gym.make(f"ALE/{GAMES[variant]}-v5", disable_env_checker=True)


def actions_of(variant: str) -> int:
    return int(make(variant).action_space.n)  # type: ignore[attr-defined]


class Game:
    """One environment, reset by itself when an episode ends."""

    def __init__(self, index: int, variant: str) -> None:
        self.index, self.env = index, make(variant)

    def reset(self) -> None:
        self.env.reset(seed=self.index)

    def step(self, action: Any) -> tuple[Array, float]:
        frame, reward, terminated, truncated, _ = self.env.step(action)
        if terminated or truncated:
            frame, _ = self.env.reset()
        return frame, float(reward)

    def step_own(self, actions: Array | None) -> tuple[Array, float] | None:
        return self.reset() if actions is None else self.step(actions[self.index])


class Driver:
    """The gathering side: draws the actions, and looks at some of every frame."""

    def __init__(self, actions: int) -> None:
        self.rng = np.random.default_rng(0)
        self.actions, self.total = actions, 0

    def draw(self) -> Array:
        return self.rng.integers(self.actions, size=N)

    def look(self, frames: Array, rewards: Array) -> None:
        self.total += int(frames[:, 100, ::8].sum()) + int(rewards.sum())


def timed(variant: str, rounds: int, step: Callable[[Array], tuple[Array, Array]]) -> Sample:
    driver, watch = Driver(actions_of(variant)), Stopwatch(rounds)
    while watch.running():
        driver.look(*step(driver.draw()))
    return Sample(watch.seconds, driver.total)


class World(rx.Reactor):
    actions = rx.Input(shape=(N,), dtype=np.int64)
    frame = rx.Output(shape=FRAME, dtype=np.uint8)
    reward = rx.Output(shape=(), dtype=np.float64)

    def __init__(self, variant: str) -> None:
        self.variant = variant

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.game = Game(self.bank_index, self.variant)
        self.game.reset()

    @rx.reaction(actions, effects=(frame, reward))
    def step(self) -> None:
        frame, reward = self.game.step(self.actions.value[self.bank_index])
        self.frame.set(frame)
        self.reward.set(reward)


class Center(rx.Reactor):
    """Draws the actions and gathers the frames."""

    frames = rx.Input(shape=FRAME, dtype=np.uint8, width=N)
    rewards = rx.Input(shape=(), dtype=np.float64, width=N)
    actions = rx.Output(shape=(N,), dtype=np.int64)

    def __init__(self, variant: str, rounds: int) -> None:
        self.driver, self.watch = Driver(actions_of(variant)), Stopwatch(rounds)

    @rx.reaction(rx.startup, effects=actions)
    def begin(self) -> None:
        self.watch.running()
        self.actions.set(self.driver.draw())

    @rx.reaction(frames, rewards, effects=(actions, rx.stop))
    def gather(self) -> None:
        self.driver.look(self.frames.array, self.rewards.array)
        if self.watch.running():
            self.actions.set(self.driver.draw())
        else:
            self.request_stop()


class Lockstep(rx.Reactor):
    def __init__(self, variant: str, rounds: int) -> None:
        self.center = Center(variant, rounds)
        self.worlds = rx.bank(N, World, variant)
        rx.connect(self.center.actions, self.worlds.actions, after=0, broadcast=True)
        rx.connect(self.worlds.frame, self.center.frames)
        rx.connect(self.worlds.reward, self.center.rewards)


def on(variant: str, workers: int) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Lockstep(variant, rounds)
        rx.run(main, workers=workers, fast=True)
        return Sample(main.center.watch.seconds, main.center.driver.total)

    yield measure


@row.peer(ONE)
def one(variant: str) -> Iterator[Measure]:
    yield from on(variant, 1)


@row.peer(ALL)
def all_cores(variant: str) -> Iterator[Measure]:
    yield from on(variant, CORES)


@row.peer("loop")
def loop(variant: str) -> Iterator[Measure]:
    games = [Game(i, variant) for i in range(N)]
    frames, rewards = np.zeros((N, *FRAME), np.uint8), np.zeros(N)

    def step(actions: Array) -> tuple[Array, Array]:
        for i, game in enumerate(games):
            frames[i], rewards[i] = game.step(actions[i])
        return frames, rewards

    def measure(rounds: int) -> Sample:
        for game in games:
            game.reset()
        return timed(variant, rounds, step)

    yield measure


def gather(answers: list[tuple[Array, float]]) -> tuple[Array, Array]:
    frames, rewards = zip(*answers, strict=True)
    return np.array(frames), np.array(rewards)


@row.peer("Ray actors", group="Ray")
def ray_actors(variant: str) -> Iterator[Measure]:
    with cluster.started(N) as ray:
        actors = [ray.remote(Game).remote(i, variant) for i in range(N)]

        def step(actions: Array) -> tuple[Array, Array]:
            return gather(ray.get([actor.step.remote(action) for actor, action in zip(actors, actions, strict=True)]))

        def measure(rounds: int) -> Sample:
            ray.get([actor.reset.remote() for actor in actors])
            return timed(variant, rounds, step)

        yield measure


@row.peer("Ray compiled graph", group="Ray")
def ray_compiled(variant: str) -> Iterator[Measure]:
    with cluster.started(N) as ray:
        actors = [ray.remote(Game).remote(i, variant) for i in range(N)]
        graph = cluster.Compiled(ray, actors, "step_own")

        def measure(rounds: int) -> Sample:
            with graph.awake():
                graph(None)
                return timed(variant, rounds, lambda actions: gather(graph(actions)))

        yield measure
        graph.close()


@row.peer("AsyncVectorEnv")
def async_vector(variant: str) -> Iterator[Measure]:
    envs = gym.vector.AsyncVectorEnv([partial(make, variant)] * N, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)

    def measure(rounds: int) -> Sample:
        envs.reset(seed=0)
        return timed(variant, rounds, lambda actions: envs.step(actions)[:2])

    yield measure
    envs.close()


@row.peer("EnvPool")
def env_pool(variant: str) -> Iterator[Measure]:
    import envpool

    envs = envpool.make_gymnasium(
        f"{GAMES[variant]}-v5", num_envs=N, num_threads=CORES, seed=0, img_height=FRAME[0], img_width=FRAME[1],
        gray_scale=False, stack_num=1, frame_skip=4, repeat_action_probability=0.25,
    )  # fmt: skip
    envs.reset()

    def step(actions: Array) -> tuple[Array, Array]:
        frames, rewards, *_ = envs.step(actions)
        return frames.transpose(0, 2, 3, 1), rewards

    yield lambda rounds: Sample(
        timed(variant, rounds, step).seconds
    )  # other random numbers: its outcome can't be compared
    envs.close()


@row.peer("shared-memory pool")
def by_hand(variant: str) -> Iterator[Measure]:
    given, frames, rewards = shared((N,), np.int64), shared((N, *FRAME), np.uint8), shared((N,), np.float64)

    def member(i: int) -> Callable[[], None]:
        game = Game(i, variant)
        game.reset()

        def step() -> None:
            frames[i], rewards[i] = game.step(given[i])

        return step

    def measure(rounds: int) -> Sample:
        with pool(CORES, N, member) as round_of_all:

            def step(actions: Array) -> tuple[Array, Array]:
                given[:] = actions
                round_of_all()
                return frames, rewards

            return timed(variant, rounds, step)

    yield measure
