"""Training, whole: the same algorithm with the same hyperparameters and networks, here and in Stable-Baselines3.

A round is `STEPS` environment steps. The first fifth of a measurement warms up, and start-up is left out. With one
ratio of updates to steps, what holds for steps holds for updates and for the frames in them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from row import ALL, ONE, Bar, Measure, Row, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reactors.rl import Algorithm

A2C, PPO, DQN, SAC = "A2C CartPole-v1, 16", "PPO CartPole-v1", "DQN CartPole-v1", "SAC Pendulum-v1"
IMPALA, APPO = "IMPALA CartPole-v1", "APPO CartPole-v1"
EQUAL = "PPO CartPole-v1, simulation and learning equally heavy"
SYNC = f"{ALL}, sync"
SB3, SCRIPT = "Stable-Baselines3", "script"
STEPS = {A2C: 2560, PPO: 1280, DQN: 512, SAC: 32, IMPALA: 2560, APPO: 2560, EQUAL: 2560}
ENVS = {A2C: 16, PPO: 8, DQN: 8, SAC: 4}

row = Row(
    title="training, torch with one thread",
    unit="steps/s",
    variants=(A2C, PPO, DQN, SAC, IMPALA, APPO, EQUAL),
    work=STEPS.__getitem__,
    bars=(
        Bar(ONE, SB3, 2, (A2C,)),
        Bar(ALL, SB3, 2, (DQN,)),
        Bar(ALL, SB3, 1.7, (PPO,)),
        Bar(ALL, SB3, 1.5, (SAC,)),
        Bar(ALL, SCRIPT, 1.5, (PPO,)),
        Bar(ALL, SYNC, 1.8, (EQUAL,)),
        Bar(ALL, ONE, 1.8, (EQUAL,)),
    ),
    check_rounds=5,
)


def algorithm(variant: str) -> Algorithm:
    """Ours, with hyperparameters that Stable-Baselines3 has, too."""
    from reactors import rl

    env = environment(variant)
    made: dict[str, Callable[[], Algorithm]] = {
        A2C: lambda: rl.A2C(num_envs=16, horizon=5, learning_rate=7e-4, anneal=False, value_scale=1.0),
        PPO: lambda: rl.PPO.preset(env, anneal=False),
        DQN: lambda: rl.DQN.preset(env, double=False, learning_starts=256, learning_rate=2.3e-3, anneal=False),
        SAC: lambda: rl.SAC.preset(env, learning_starts=32),
        IMPALA: lambda: rl.IMPALA.preset(env),
        APPO: lambda: rl.APPO.preset(env),
        EQUAL: lambda: rl.PPO.preset(env, epochs=2, anneal=False),
    }
    return made[variant]()


def environment(variant: str) -> str:
    """Its id."""
    return "Pendulum-v1" if variant == SAC else "CartPole-v1"


def ours(variant: str, workers: int, mode: Any, actors: int) -> Iterator[Measure]:
    from reactors import rl

    torch.set_num_threads(1)
    made, env = algorithm(variant), environment(variant)

    def measure(rounds: int) -> Sample:
        steps = rounds * STEPS[variant]
        done = rl.train(made, env, total_steps=steps * 5 // 4, workers=workers, mode=mode, actors=actors)
        first = next(row for row in done.journal if row["global_step"] >= steps // 4)
        last = done.journal[-1]
        pace = (last["seconds"] - first["seconds"]) / (last["global_step"] - first["global_step"])
        return Sample(pace * steps)

    yield measure


@row.peer(ALL)
def pipelined(variant: str) -> Iterator[Measure]:
    yield from ours(variant, 2, "pipelined", 1)


@row.peer(SYNC)
def sync(variant: str) -> Iterator[Measure]:
    yield from ours(variant, 2, "sync", 2)


@row.peer(ONE)
def alone(variant: str) -> Iterator[Measure]:
    yield from ours(variant, 1, "sync", 1)


def model(variant: str, seed: int = 0) -> Any:
    """Stable-Baselines3's, with its fastest vector environment, which for these is the one without processes."""
    import stable_baselines3 as sb3
    from stable_baselines3.common.env_util import make_vec_env

    env = make_vec_env(environment(variant), n_envs=ENVS[variant], seed=seed)
    common: dict[str, Any] = {"device": "cpu", "seed": seed}
    if variant == A2C:
        net = {"net_arch": {"pi": [64, 64], "vf": [64, 64]}}
        return sb3.A2C("MlpPolicy", env, n_steps=5, learning_rate=7e-4, gamma=0.99, policy_kwargs=net, **common)
    if variant == PPO:
        return sb3.PPO(
            "MlpPolicy", env, n_steps=32, batch_size=256, n_epochs=20, gamma=0.98, gae_lambda=0.8, learning_rate=1e-3,
            clip_range=0.2, ent_coef=0.0, policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}}, **common,
        )  # fmt: skip
    if variant == DQN:
        return sb3.DQN(
            "MlpPolicy", env, learning_rate=2.3e-3, buffer_size=100_000, learning_starts=256, batch_size=64,
            gamma=0.99, train_freq=32, gradient_steps=128, target_update_interval=256, exploration_fraction=0.16,
            exploration_final_eps=0.04, policy_kwargs={"net_arch": [256, 256]}, **common,
        )  # fmt: skip
    return sb3.SAC(
        "MlpPolicy", env, learning_rate=1e-3, batch_size=256, buffer_size=200_000, learning_starts=32, train_freq=4,
        gradient_steps=16, **common,
    )  # fmt: skip


@row.peer(SB3, variants=(A2C, PPO, DQN, SAC))
def stable_baselines(variant: str) -> Iterator[Measure]:
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(1)

    class Watch(BaseCallback):
        def __init__(self, after: int) -> None:
            super().__init__()
            self.after, self.began, self.at = after, 0.0, 0

        def _on_step(self) -> bool:
            if not self.began and self.num_timesteps >= self.after:
                self.began, self.at = time.perf_counter(), self.num_timesteps
            return True

    def measure(rounds: int) -> Sample:
        steps = rounds * STEPS[variant]
        learner, watch = model(variant), Watch(steps // 4)
        learner.learn(steps * 5 // 4, callback=watch)
        return Sample((time.perf_counter() - watch.began) * steps / (learner.num_timesteps - watch.at))

    yield measure


@row.peer(SCRIPT, variants=(PPO,))
def script(variant: str) -> Iterator[Measure]:
    """All in one loop, as CleanRL writes it."""
    from scripted_ppo import ppo

    torch.set_num_threads(1)

    def measure(rounds: int) -> Sample:
        wanted = rounds * STEPS[variant]
        began, at = 0.0, 0
        for steps, _ in ppo(0):
            if not began and steps >= wanted // 4:
                began, at = time.perf_counter(), steps
            if steps >= wanted * 5 // 4:
                break
        return Sample((time.perf_counter() - began) * wanted / (steps - at))

    yield measure
