"""Environments and replay."""

import gymnasium as gym
import numpy as np
import torch

import reactors as rx
from reactors import rl


class Play(rx.Reactor):
    text = rx.Input(str)

    def __init__(self) -> None:
        self.env = rl.Env("CartPole-v1")
        self.games = rl.MultiAgentEnv("mpe/simple_v3")
        self.envs = rx.bank(2, rl.Env, "CartPole-v1", on_error="retry")  # error
        self.more = rx.bank(2, rl.Env, seed=1)  # error
        rx.connect(self.env.observatoin, self.env.action)  # error
        rx.connect(self.env.episode, self.text)  # error
        rx.connect(self.games.episode, self.text)  # error
        self.env.episode.value[0].totel  # error
        self.games.rewrad  # error
        self.games.agent["a"].observatoin  # error


rl.Env(5)  # error
rl.Env("CartPole-v1", 4)  # error
rl.Env("CartPole-v1", on_error="ignore")  # error
rl.Env("CartPole-v1", num_envs="4")  # error
rl.Env("CartPole-v1", seed="1")  # error
rl.BatchedEnv("CartPole-v1", num_envs=4, on_error="ignore")  # error
rl.BatchedEnv("CartPole-v1", num_envs=4, autoreset_mode="next_step")  # error
rl.MultiAgentEnv("mpe/simple_v3", on_error="ignore")  # error
rl.VectorEnv(5)  # error
rl.VectorEnv("CartPole-v1", num_envs=4, on_error="skip")  # error
rl.VectorEnv("CartPole-v1", num_envs=4, workers="2")  # error
rl.VectorEnv("CartPole-v1", num_envs=4, autoreset_mode="same")  # error
rl.VectorEnv("CartPole-v1", num_envs=4, observation_mode="any")  # error
vector = rl.VectorEnv("CartPole-v1", num_envs=4)
vector.reset(4)  # error
vector.rest()  # error
obs, rewards, terminated, infos = vector.step([0, 0, 0, 0])  # error
vector.step([0, 0, 0, 0])[1].colour  # error
rl.sb3.VecEnv([lambda: gym.make("CartPole-v1")], on_error="skip")  # error
rl.sb3.VecEnv([lambda: gym.make("CartPole-v1")], worker=2)  # error
rl.sb3.VecEnv(4)  # error
rl.ReplayBuffer(100)  # error
rl.ReplayBuffer(100, {"obs": "f4"}, weights="rows")  # error
rl.ReplayBuffer(100, {"obs": "f4"}, priority=True)  # error
rl.ReplayBuffer(100, {"obs": "f4"}, seed="1")  # error
buffer = rl.ReplayBuffer(100, {"obs": "f4"})
buffer.sample("3")  # error
buffer.sampel(3)  # error
buffer.add(np.zeros(3), "x")  # error
buffer.statistics().lenght  # error
batch = buffer.sample(3)
batch.mine.upper()  # error
batch.indices.upper()  # error
batch.weights.upper()  # error
batch["obs"].upper()  # error
buffer.update_priorities("x")  # error
rl.Replay(10, {"obs": "f4"})  # error
rl.Replay(10, {"obs": "f4"}, batch_size="3")  # error
rl.Replay(10, {"obs": "f4"}, batch_size=3).batchs  # error
rl.SumTree("10")  # error
rl.SumTree(10).totl  # error
rl.Policies([torch.nn.Linear(2, 2)], shape=(2,), choose="best")  # error
rl.Policies([torch.nn.Linear(2, 2)])  # error
rl.Policies([5], shape=(2,))  # error
rl.record.EpisodeStatistics(sources="2")  # error
rl.Envv("CartPole-v1")  # error
