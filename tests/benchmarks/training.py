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
        Bar(ALL, SYNC, 1.3, (EQUAL,)),
        Bar(ALL, ONE, 1.8, (EQUAL,)),
    ),
    check_rounds=5,
)


def algorithm(variant: str) -> Algorithm:
    """Ours, with hyperparameters that Stable-Baselines3 has, too."""
    from reactors import rl

    made: dict[str, Callable[[], Algorithm]] = {
        A2C: lambda: rl.A2C(num_envs=16, horizon=5, learning_rate=7e-4, anneal=False, lam=1.0),
        PPO: lambda: rl.PPO(anneal=False),
        DQN: lambda: rl.DQN(double=False, learning_starts=256),
        SAC: lambda: rl.SAC(learning_starts=32),
        IMPALA: rl.IMPALA,
        APPO: rl.APPO,
        EQUAL: lambda: rl.PPO(epochs=2, anneal=False),
    }
    return made[variant]()


def ours(variant: str, workers: int, mode: Any, actors: int) -> Iterator[Measure]:
    from reactors import rl

    torch.set_num_threads(1)
    made, env = algorithm(variant), "Pendulum-v1" if variant == SAC else "CartPole-v1"

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


def model(variant: str) -> Any:
    """Stable-Baselines3's, with its fastest vector environment, which for these is the one without processes."""
    import stable_baselines3 as sb3
    from stable_baselines3.common.env_util import make_vec_env

    env = make_vec_env("Pendulum-v1" if variant == SAC else "CartPole-v1", n_envs=ENVS[variant], seed=0)
    common: dict[str, Any] = {"device": "cpu", "seed": 0}
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
    import gymnasium as gym
    import numpy as np
    from torch import nn
    from torch.distributions import Categorical

    del variant
    torch.set_num_threads(1)
    n, horizon = 8, 32

    def net(outputs: int, gain: float) -> nn.Sequential:
        layers = [nn.Linear(4, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
        for layer, scale in zip(layers, (2**0.5, 2**0.5, gain), strict=True):
            nn.init.orthogonal_(layer.weight, scale)
            nn.init.zeros_(layer.bias)
        return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])

    def measure(rounds: int) -> Sample:
        updates = rounds * STEPS[PPO] * 5 // 4 // (n * horizon)
        torch.manual_seed(0)
        make: Callable[[], Any] = lambda: gym.make("CartPole-v1")  # noqa: E731
        envs = gym.vector.SyncVectorEnv([make] * n)
        actor, critic = net(2, 0.01), net(1, 1.0)
        parameters = [*actor.parameters(), *critic.parameters()]
        adam = torch.optim.Adam(parameters, lr=1e-3, eps=1e-5)
        obs, actions, logs = torch.zeros(horizon, n, 4), torch.zeros(horizon, n), torch.zeros(horizon, n)
        rewards, values, over = torch.zeros(horizon, n), torch.zeros(horizon, n), torch.zeros(horizon + 1, n)
        following = torch.as_tensor(envs.reset(seed=0)[0])
        began, at = 0.0, 0
        for update in range(updates):
            if update == updates // 5:
                began, at = time.perf_counter(), update
            over[0] = over[horizon]
            for t in range(horizon):
                obs[t] = following
                with torch.no_grad():
                    policy = Categorical(logits=actor(following))
                    action = policy.sample()
                    actions[t], logs[t], values[t] = action, policy.log_prob(action), critic(following)[:, 0]
                seen, reward, terminated, truncated, _ = envs.step(action.numpy())
                following, rewards[t] = torch.as_tensor(seen), torch.as_tensor(reward)
                over[t + 1] = torch.as_tensor(np.logical_or(terminated, truncated))
            with torch.no_grad():
                later, carried, found = critic(following)[:, 0], torch.zeros(n), torch.zeros(horizon, n)
                for t in reversed(range(horizon)):
                    going = 1 - over[t + 1]
                    found[t] = carried = rewards[t] + 0.98 * going * later - values[t] + 0.98 * 0.8 * going * carried
                    later = values[t]
                returns = (found + values).flatten()
            flat = obs.flatten(0, 1), actions.flatten(), logs.flatten(), found.flatten(), returns
            for _ in range(20):
                order = torch.randperm(n * horizon)
                o, a, before, gained, wanted = (each[order] for each in flat)
                policy = Categorical(logits=actor(o))
                ratio = (policy.log_prob(a) - before).exp()
                gained = (gained - gained.mean()) / (gained.std() + 1e-8)
                loss = torch.max(-gained * ratio, -gained * ratio.clamp(0.8, 1.2)).mean()
                loss = loss + 0.5 * (critic(o)[:, 0] - wanted).square().mean() - 0.0 * policy.entropy().mean()
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                adam.step()
        envs.close()
        return Sample((time.perf_counter() - began) * rounds * STEPS[PPO] / ((updates - at) * n * horizon))

    yield measure
