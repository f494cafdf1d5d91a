"""PPO in one file, as CleanRL has its algorithms: the program before `from_cleanrl.py`."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import nn, optim
from torch.distributions import Categorical


@dataclass
class Args:
    env_id: str = "CartPole-v1"
    seed: int = 1
    num_envs: int = 8
    num_steps: int = 128
    num_iterations: int = 40
    num_minibatches: int = 4
    update_epochs: int = 4
    learning_rate: float = 2.5e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


def make_envs(args):
    same_step = gym.vector.AutoresetMode.SAME_STEP
    return gym.vector.SyncVectorEnv([lambda: gym.make(args.env_id)] * args.num_envs, autoreset_mode=same_step)


class Agent(nn.Module):
    def __init__(self, observations=4, actions=2):
        super().__init__()
        self.critic = nn.Sequential(
            nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )
        self.actor = nn.Sequential(
            nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, actions)
        )

    def get_value(self, x):
        return self.critic(x).squeeze(-1)

    def get_action_and_value(self, x, action=None):
        policy = Categorical(logits=self.actor(x))
        action = policy.sample() if action is None else action
        return action, policy.log_prob(action), policy.entropy(), self.get_value(x)


def advantages(args, rewards, dones, values):
    found, last = torch.zeros_like(rewards[: args.num_steps]), 0
    for t in reversed(range(args.num_steps)):
        going = 1 - dones[t + 1]
        delta = rewards[t] + args.gamma * values[t + 1] * going - values[t]
        found[t] = last = delta + args.gamma * args.gae_lambda * going * last
    return found


def update(args, agent, optimizer, obs, actions, logprobs, rewards, dones, values):
    gains = advantages(args, rewards, dones, values)
    returns = (gains + values[:-1]).flatten()
    obs, actions, logprobs, gains = (each[: args.num_steps].flatten(0, 1) for each in (obs, actions, logprobs, gains))
    for _ in range(args.update_epochs):
        for rows in torch.randperm(len(obs)).chunk(args.num_minibatches):
            _, logprob, entropy, value = agent.get_action_and_value(obs[rows], actions[rows])
            ratio = (logprob - logprobs[rows]).exp()
            gain = (gains[rows] - gains[rows].mean()) / (gains[rows].std() + 1e-8)
            clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
            loss = -torch.min(gain * ratio, gain * clipped).mean() - args.ent_coef * entropy.mean()
            loss = loss + args.vf_coef * 0.5 * (value - returns[rows]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
            optimizer.step()


class Training:
    def __init__(self, args):
        self.args, self.curve = args, []
        torch.manual_seed(args.seed)
        self.agent = Agent()
        self.optimizer = optim.Adam(self.agent.parameters(), lr=args.learning_rate, eps=1e-5)
        self.envs = make_envs(args)
        self.obs, _ = self.envs.reset(seed=args.seed)
        self.done = self.total = np.zeros(args.num_envs)

    def run(self):
        for _ in range(self.args.num_iterations):
            self.learn(self.play())

    def play(self):
        steps, n = self.args.num_steps, self.args.num_envs
        obs = torch.zeros(steps + 1, *self.obs.shape)
        actions, logprobs, rewards, dones, values = (torch.zeros(steps + 1, n) for _ in range(5))
        for t in range(steps + 1):
            obs[t], dones[t] = torch.as_tensor(self.obs), torch.as_tensor(self.done)
            with torch.no_grad():
                actions[t], logprobs[t], _, values[t] = self.agent.get_action_and_value(obs[t])
            if t < steps:
                rewards[t] = torch.as_tensor(self.step(actions[t].long().numpy()))
        return obs, actions, logprobs, rewards, dones, values

    def step(self, actions):
        self.obs, reward, terminated, truncated, _ = self.envs.step(actions)
        self.done, self.total = terminated | truncated, self.total + reward
        self.curve += self.total[self.done].tolist()
        self.total = self.total * ~self.done
        return reward

    def learn(self, rollout):
        update(self.args, self.agent, self.optimizer, *rollout)


def train(iterations=40, workers=2):
    """The returns of all episodes; one loop has one process, whatever `workers`."""
    torch.set_num_threads(1)
    training = Training(Args(num_iterations=iterations))
    training.run()
    training.envs.close()
    return training.curve


if __name__ == "__main__":
    print(f"mean return of the last 20 episodes: {np.mean(train()[-20:]):.0f}")
