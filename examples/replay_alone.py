"""The replay buffer without any reactor: prioritized DQN on CartPole in a plain loop.

Three-step returns are put together as rows are added, batches are drawn by priority and seen by torch without copies,
and the errors of each batch become its new priorities.

Run:   python replay_alone.py
       python replay_alone.py --steps 20000 --seed 1
Needs: pip install '.[rl]'
"""

import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors import rl


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


class Learner:
    def __init__(self, buffer: rl.ReplayBuffer) -> None:
        self.buffer = buffer
        self.net, self.target = network(), network()
        self.target.load_state_dict(self.net.state_dict())
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.updates = 0

    def update(self, size: int) -> None:
        batch = self.buffer.sample(size)
        rows = batch.tensors()
        with torch.no_grad():
            best = self.net(rows["next_obs"]).argmax(1, keepdim=True)  # double DQN
            value = self.target(rows["next_obs"]).gather(1, best)[:, 0]
            target = rows["reward"] + rows["discount"] * ~rows["terminated"] * value
        errors = self.net(rows["obs"]).gather(1, rows["action"][:, None])[:, 0] - target
        loss = (rows["weights"] * nn.functional.huber_loss(errors, torch.zeros_like(errors), reduction="none")).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.buffer.update_priorities(batch, errors.detach().abs().numpy())
        self.updates += 1
        if self.updates % 200 == 0:
            self.target.load_state_dict(self.net.state_dict())

    def act(self, obs: np.ndarray) -> int:
        with torch.no_grad():
            return int(self.net(torch.from_numpy(obs)).argmax())


def train(steps: int, batch: int = 64, goal: float = 300.0, seed: int = 0) -> tuple[Learner, list[float]]:
    """The learner, and the returns of all episodes; it ends when 10 of them have the mean `goal`."""
    torch.manual_seed(seed)
    rng, env = np.random.default_rng(seed), gym.make("CartPole-v1")
    spaces = env.observation_space, env.action_space
    buffer = rl.ReplayBuffer.of(*spaces, 50_000, prioritized=True, n_step=3, gamma=0.99, seed=seed)
    learner, returns, total = Learner(buffer), [0.0], 0.0
    obs, _ = env.reset(seed=seed)
    for step in range(steps):
        explores = rng.random() < max(0.05, 1 - step / 3000)
        action = int(rng.integers(2)) if explores else learner.act(obs)
        following, reward, terminated, truncated, _ = env.step(action)
        buffer.add(obs=obs[None], action=[action], reward=[float(reward)], next_obs=following[None],
                   terminated=[terminated], truncated=[truncated])  # fmt: skip
        obs, total = following, total + float(reward)
        if terminated or truncated:
            returns.append(total)
            obs, total = env.reset()[0], 0.0
        if step >= 499 and step % 2 == 1:
            learner.update(batch)
        if np.mean(returns[-10:]) >= goal:
            break
    env.close()
    return learner, returns[1:]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=12_000, help="of the environment, at most")
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--goal", type=float, default=300.0, help="mean return of 10 episodes that ends the training")
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()

    torch.set_num_threads(1)
    began = time.monotonic()
    learner, returns = train(args.steps, args.batch, args.goal, args.seed)
    print(
        f"{learner.updates} updates in {time.monotonic() - began:.1f} s; the last 10 of {len(returns)} episodes "
        f"returned {np.mean(returns[-10:]):.0f} on average; {len(learner.buffer)} rows kept"
    )


if __name__ == "__main__":
    main()
