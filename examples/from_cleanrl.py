"""The loop of `before/cleanrl_ppo.py`, in the way of CleanRL, cut into two reactors that work at the same time.

Network, advantages and update stay as they were, and are imported. The first half of the loop becomes `Player`, the
second `Learner`; weights reach the player two rounds later, so that it plays the next round while the learner learns
from this one. What is learned is the same bit for bit on one worker and on two.

Run:   python from_cleanrl.py
       python from_cleanrl.py --compare      beside the loop, in turns; and the lines that changed
Needs: pip install '.[rl]'
"""

import argparse
from contextlib import contextmanager

import numpy as np
import torch
from before import cleanrl_ppo
from before.cleanrl_ppo import Agent, Args, make_envs, update
from torch import optim
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import reactors as rx
from reactors import rl

NUMBERS = ("actions", "logprobs", "rewards", "dones", "values")
ROW = np.dtype([("obs", np.float32, 4), *((name, np.float32) for name in NUMBERS)])


def new_agent(args):
    with rl.Seeded(args.seed):  # whatever else this process has drawn
        return Agent()


@contextmanager
def drawing(reactor):
    """What torch draws within comes from this reactor's stream of numbers, on whatever worker it is."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(reactor.random)
        yield
        reactor.random = torch.get_rng_state()


class Player(rx.Reactor):
    tick = rx.Timer(0, "1 ms")  # a round
    weights = rx.Input(shape="size", dtype=np.float32)
    rollout = rx.Output(shape=("rows", "envs_each"), dtype=ROW)

    def __init__(self, args, size):
        self.args, self.size, self.rows, self.envs_each, self.curve = args, size, args.num_steps + 1, args.num_envs, []

    @rx.reaction(rx.startup)
    def open(self):
        self.random, self.agent = torch.Generator().manual_seed(self.seed).get_state(), new_agent(self.args)
        self.envs = make_envs(self.args)
        self.obs, _ = self.envs.reset(seed=self.args.seed)
        self.done = self.total = np.zeros(self.args.num_envs)

    @rx.reaction(weights)
    def load(self):
        vector_to_parameters(self.weights.tensor.clone(), self.agent.parameters())  # which are views of it from now on

    @rx.reaction(tick, effects=rollout)
    def play(self):
        rows = self.rollout.loan()
        with torch.no_grad(), drawing(self):
            for t, row in enumerate(rows):
                row["obs"], row["dones"] = self.obs, self.done
                actions, logprobs, _, values = self.agent.get_action_and_value(torch.as_tensor(self.obs))
                row["actions"], row["logprobs"], row["values"] = actions, logprobs, values
                if t < self.args.num_steps:
                    row["rewards"] = self.step(actions.numpy())
        self.rollout.set(rows)

    def step(self, actions):
        self.obs, reward, terminated, truncated, _ = self.envs.step(actions)
        self.done, self.total = terminated | truncated, self.total + reward
        self.curve += self.total[self.done].tolist()
        self.total = self.total * ~self.done
        return reward

    @rx.reaction(rx.shutdown)
    def close(self):
        self.envs.close()


class Learner(rx.Reactor):
    rollout = rx.Input(shape=("rows", "envs_each"), dtype=ROW)
    weights = rx.Output(shape="size", dtype=np.float32)

    def __init__(self, args, size):
        self.args, self.size, self.rows, self.envs_each = args, size, args.num_steps + 1, args.num_envs

    @rx.reaction(rx.startup)
    def open(self):
        self.random, self.agent = torch.Generator().manual_seed(self.seed).get_state(), new_agent(self.args)
        self.optimizer = optim.Adam(self.agent.parameters(), lr=self.args.learning_rate, eps=1e-5)

    @rx.reaction(rollout, effects=weights)
    def learn(self):
        rows = self.rollout.value
        with drawing(self):
            update(self.args, self.agent, self.optimizer, *(torch.tensor(rows[name]) for name in ("obs", *NUMBERS)))
        self.weights.set(parameters_to_vector(self.agent.parameters()).detach().numpy())


class Training(rx.Reactor):
    def __init__(self, args):
        size = sum(each.numel() for each in Agent().parameters())
        self.player, self.learner = Player(args, size), Learner(args, size)
        rx.connect(self.player.rollout, self.learner.rollout)
        rx.connect(self.learner.weights, self.player.weights, after="2 ms")


def train(iterations=40, workers=2):
    """The returns of all episodes."""
    training = Training(Args(num_iterations=iterations))
    rx.run(training, workers=workers, fast=True, timeout=f"{iterations - 1} ms")
    return training.player.curve


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--iterations", type=int, default=40)
    options.add_argument("--compare", action="store_true", help="run the loop as well, in turns")
    options.add_argument("--turns", type=int, default=5, help="of the comparison")
    args = options.parse_args()
    if args.compare:
        from before import comparison

        comparison.show(
            cleanrl_ppo.train, train, args.turns, kept=update, workers=args.workers, iterations=args.iterations
        )
    else:
        curve = train(args.iterations, args.workers)
        print(f"mean return of the last 20 of {len(curve)} episodes: {np.mean(curve[-20:]):.0f}")


if __name__ == "__main__":
    main()
