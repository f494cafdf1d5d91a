"""Reinforcement learning: environments, replay and training, as type checkers see them."""

from __future__ import annotations

from typing import Any, assert_type

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

import reactors as rx
from reactors import rl


class Play(rx.Reactor):
    def __init__(self) -> None:
        self.env = rl.Env("CartPole-v1", num_envs=4, on_error="restart", render_mode="rgb_array")
        self.envs = rx.bank(2, rl.Env, "CartPole-v1", num_envs=2)
        self.fast = rl.BatchedEnv("CartPole-v1", num_envs=4, autoreset_mode="SameStep")
        self.games = rl.MultiAgentEnv("mpe/simple_v3", on_error="restart")
        self.replay = rl.Replay(100, {"obs": ((4,), "f4")}, batch_size=3, actors=2, prioritized=True)
        self.figures = rl.record.EpisodeStatistics(sources=1, window=10)
        rx.connect(self.envs.transition, self.replay.transitions)
        rx.connect(self.env.episode, self.figures.episode)
        self.add_reaction(self.env.episode, self.look)

    def look(self) -> None:
        for episode in self.env.episode.value:
            assert_type(episode, rl.Episode | Any)


class Random(rl.Policy):
    size = 0

    def load(self, weights: NDArray[np.float32]) -> None: ...

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        return rng.integers(2, size=len(observations)), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.zeros(len(observations), np.int64)


vector = rl.VectorEnv("CartPole-v1", num_envs=4, workers=2, on_error="restart", autoreset_mode="NextStep")
obs, rewards, terminated, truncated, infos = vector.step([0, 1, 0, 1])
assert_type(rewards, NDArray[np.float64])
peer = rl.sb3.VecEnv([lambda: gym.make("CartPole-v1")], workers=1, on_error="restart")
buffer = rl.ReplayBuffer(100, {"obs": ((4,), "f4"), "mine": "f4"}, prioritized=True, seed=0)
assert_type(buffer.add({"obs": np.zeros((3, 4)), "mine": np.zeros(3)}), NDArray[np.int64])
batch = buffer.sample(3)
assert_type(batch.obs, NDArray[Any])
assert_type(batch.indices, NDArray[np.int64])
assert_type(batch.weights, NDArray[np.float32])
assert_type(batch["mine"], NDArray[Any])
buffer.update_priorities(batch, np.abs(batch["mine"]))

done = rl.train(rl.PPO(epochs=2), "CartPole-v1", mode="pipelined", backend="process", workers=2, on_error="restart")
assert_type(done.weights, NDArray[np.float32])
assert_type(done.evaluate(3), rl.Evaluation)
greedy: float = done.evaluate(3)
assert_type(done.digest, str)
assert_type(done.steps, int)
assert_type(done.result, rx.Result)
assert_type(done.policy.greedy(np.zeros((1, 4))), NDArray[Any])
if done.best is not None:
    done.best.save("runs/best")
again = rl.load("runs/best")
assert_type(again, rl.TrainedPolicy)
assert_type(again.policy, rl.Policy)
server = rl.serve(again, max_batch=8, max_wait="2 ms")
assert_type(server.wait(1), bool)
rl.serve(Random(), observation_space=gym.spaces.Discrete(3))
tuned = rl.tune(rl.DQN(), "CartPole-v1", mode="free", cores=2)
rl.train(rl.DQN(), "CartPole-v1", **tuned.options)
