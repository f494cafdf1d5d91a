"""Deep Q-learning wired by hand: environments, policies, a replay and a learner, each a reactor, on CartPole.

`rl.Env` plays, a policy beside each chooses, `rl.Replay` keeps what all of them did and draws by priority, the learner
answers with errors, which become priorities, and with weights. These reach the policies `lag` later: until then no
reactor waits for the learner. The same seed gives the same weights, bit for bit, on any number of workers.
`rl.train(rl.DQN(), ...)` is this with all that belongs around it.

Run:   python replay_dataflow.py --workers 2
Needs: pip install '.[rl]'
"""

import argparse
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import reactors as rx
from reactors import rl

ENVS, BATCH, STEP = 8, 64, "1 us"  # a row of environments is one reactor; a step takes a microsecond of logical time


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


WEIGHTS = sum(p.numel() for p in network().parameters())


class Policy(rx.Reactor):
    """Acts greedily by the newest weights that have come, but for a share of steps that falls."""

    observation = rx.Input(shape=(ENVS, 4), dtype=np.float32)
    weights = rx.Input(shape=(WEIGHTS,), dtype=np.float32)
    action = rx.Output(shape=(ENVS,), dtype=np.int64)

    def __init__(self) -> None:
        self.net, self.steps = network(), 0

    @rx.reaction(weights)
    def load(self) -> None:
        vector_to_parameters(torch.tensor(self.weights.value), self.net.parameters())

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        with torch.no_grad():
            best = self.net(torch.tensor(self.observation.value)).argmax(1).numpy()
        explores = self.rng.random(ENVS) < max(0.05, 1 - self.steps / 250)
        self.action.set(np.where(explores, self.rng.integers(2, size=ENVS), best))
        self.steps += 1


class Learner(rx.Reactor):
    """Double Q-learning: a batch in, its errors and now and then weights out."""

    batch = rx.Input()
    errors = rx.Output(shape=(BATCH,), dtype=np.float32)
    weights = rx.Output(shape=(WEIGHTS,), dtype=np.float32)

    def __init__(self) -> None:
        self.net, self.target, self.updates = network(), network(), 0
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    @rx.reaction(rx.startup, effects=weights)
    def begin(self) -> None:
        self.publish()

    @rx.reaction(batch, effects=(errors, weights))
    def learn(self) -> None:
        rows = rl.batch_tensors(self.batch.value)  # no copies: these are the rows that the replay drew
        with torch.no_grad():
            best = self.net(rows["next_obs"]).argmax(1, keepdim=True)
            value = self.target(rows["next_obs"]).gather(1, best)[:, 0]
            goal = rows["reward"] + rows["discount"] * ~rows["terminated"] * value
        errors = self.net(rows["obs"]).gather(1, rows["action"][:, None])[:, 0] - goal
        loss = (rows["weights"] * nn.functional.huber_loss(errors, torch.zeros_like(errors), reduction="none")).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.errors.set(errors.detach().abs().numpy())
        self.updates += 1
        if self.updates % 10 == 0:
            self.publish()
        if self.updates % 200 == 0:
            self.target.load_state_dict(self.net.state_dict())

    def publish(self) -> None:
        self.weights.set(parameters_to_vector(self.net.parameters()).detach().numpy())


class Scores(rx.Reactor):
    """Remembers what the latest episodes returned."""

    def __init__(self, actors: int) -> None:
        self.episode = rx.Input(tuple[rl.Episode, ...], width=actors)
        self.returns: deque[float] = deque(maxlen=20)
        self.add_reaction(self.episode, self.note)

    def note(self) -> None:
        for i in self.episode.present:
            self.returns.extend(episode.total for episode in self.episode[i].value)


class DQN(rx.Reactor):
    def __init__(self, actors: int = 2, lag: str = "4 us", seed: int = 0) -> None:
        spaces = gym.spaces.Box(-np.inf, np.inf, (4,)), gym.spaces.Discrete(2)
        self.envs = rx.bank(actors, rl.Env, "CartPole-v1", num_envs=ENVS)
        with rl.Seeded(seed):  # networks are made here, in order, and travel to their workers
            self.policies, self.learner = rx.bank(actors, Policy), Learner()
        self.replay = rl.Replay.of(*spaces, 50_000, actors=actors, rows=ENVS, row_streams=True, batch_size=BATCH,
                                   prioritized=True, n_step=3, train_every=4, learning_starts=500)  # fmt: skip
        self.scores = Scores(actors)
        rx.connect(self.envs.observation, self.policies.observation)
        rx.connect(self.policies.action, self.envs.action, after=STEP)
        rx.connect(self.envs.transition, self.replay.transitions)
        rx.connect(self.replay.batch, self.learner.batch)
        rx.connect(self.learner.errors, self.replay.priorities, after=0)
        rx.connect(self.learner.weights, self.policies.weights, after=lag, broadcast=True)
        rx.connect(self.envs.episode, self.scores.episode)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=1000, help="of each environment")
    options.add_argument("--actors", type=int, default=2, help=f"of {ENVS} environments each")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    program = DQN(args.actors, seed=args.seed)
    result = rx.run(program, workers=args.workers, fast=True, timeout=f"{args.steps} us", seed=args.seed)
    weights = parameters_to_vector(program.learner.net.parameters()).detach().double().sum()
    print(f"{program.learner.updates} updates in {result.wall_time:.1f} s, digest {result.digest}")
    print(f"weights {float(weights):.12f}")
    print(f"the last {len(program.scores.returns)} episodes returned {np.mean(program.scores.returns):.0f} on average")


if __name__ == "__main__":
    main()
