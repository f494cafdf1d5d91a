"""Deep Q-learning put together of the pieces of `rl.train`, with a reactor of one's own among them.

`rl.train(rl.DQN(), ...)` is a graph: actors play rounds, a replay draws batches from them, a learner sends weights
back. Here the same reactors are wired by hand, so that `Curiosity` can stand between actors and replay: it rewards
states that were seldom seen. With `--bonus 0` the weights are those of `rl.train`, bit for bit.

Run:   python own_training.py --workers 2
Needs: pip install '.[rl]'
"""

import argparse
from collections import Counter
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

import reactors as rx
from reactors import rl
from reactors.rl.dataflow import ROUND, Acting, Actor, Experience, ReplayLearner, Rollout

CELL = np.array([0.1, 0.01])  # states of MountainCar-v0 that lie in one such cell of positions and speeds are alike


class Curiosity(rx.Reactor):
    """Adds to every reward a bonus that falls with the number of visits to the state that a step led to."""

    def __init__(self, segment: Any, actors: int, bonus: float) -> None:
        self.played = rx.Input(shape=segment.shape, dtype=segment.dtype, width=actors)
        self.rewarded = rx.Output(shape=segment.shape, dtype=segment.dtype, width=actors)
        self.bonus, self.visits = bonus, Counter[tuple[int, ...]]()
        self.add_reaction(self.played, self.reward, effects=self.rewarded)

    def reward(self) -> None:
        for i in self.played.present:
            rows = self.rewarded[i].loan()  # (steps, environments), in shared memory
            rows[...] = self.played[i].value
            cells = np.floor(rows["next_obs"] / CELL).astype(int).reshape(-1, len(CELL))
            for cell, row in zip(map(tuple, cells.tolist()), rows.reshape(-1), strict=True):
                self.visits[cell] += 1
                row["reward"] += self.bonus / np.sqrt(self.visits[cell])
            self.rewarded[i].set(rows)


class Training(rx.Reactor):
    """What `rl.train` runs for a DQN, but for `Curiosity`."""

    def __init__(self, algorithm: rl.DQN, env: str, actors: int = 2, seed: int = 0, bonus: float = 1.0) -> None:
        make = partial(gym.make, env)
        spaces = make().observation_space, make().action_space
        first = algorithm.learning(*spaces, seed).weights()
        each = algorithm.num_envs // actors  # environments of an actor

        def rollout(i: int) -> Rollout:
            return Rollout(algorithm, [make] * each, i * each, *spaces)

        def acting(_: int) -> Acting:
            return Acting(algorithm, *spaces, first)

        self.actors = rx.bank(actors, Actor, rollout, acting)
        self.curiosity = Curiosity(self.actors[0].segment, actors, bonus)
        self.experience = Experience(algorithm, *spaces, actors)
        self.learner = ReplayLearner(algorithm, *spaces, seed, len(first), batches=self.experience.batches)
        rx.connect(self.actors.segment, self.curiosity.played)
        rx.connect(self.curiosity.rewarded, self.experience.segments)
        rx.connect(self.experience.batches, self.learner.batches)
        rx.connect(self.learner.weights, self.actors.weights, after=ROUND, broadcast=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=150, help="of 8 environments with 32 steps each")
    options.add_argument("--bonus", type=float, default=1.0, help="for a state that was never seen")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    algorithm = rl.DQN(
        num_envs=8, horizon=32, batch_size=64, learning_rate=1e-3, anneal=True, target_every=128, hidden=(256, 256),
        exploration_fraction=0.16, exploration_final=0.04,
    ).scheduled(256 * args.rounds)  # fmt: skip
    program = Training(algorithm, "MountainCar-v0", seed=args.seed, bonus=args.bonus)
    end = args.rounds * ROUND - ROUND // 2  # half a round after the last one has begun
    result = rx.run(program, workers=args.workers, fast=True, timeout=end, seed=args.seed)
    weights = program.learner.learning.weights()
    print(f"{program.experience.added} steps in {result.wall_time:.1f} s, {len(program.curiosity.visits)} cells seen")
    print(f"weights {weights.astype(np.float64).sum():.12f}")


if __name__ == "__main__":
    main()
