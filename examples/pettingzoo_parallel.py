"""A PettingZoo environment as a reactor, a policy for each of its agents, and a learner for each of these.

Rock, paper, scissors between two players who learn from what the other one did: each counts the moves of its opponent,
and plays what beats them, now and then at random. The environment is made on its own worker, by name. An agent has a
channel of every port; one that is gone would be absent. The same on any number of workers.

Run:   python pettingzoo_parallel.py
       python pettingzoo_parallel.py --workers 2
Needs: pip install '.[rl]'
"""

import argparse

import numpy as np

import reactors as rx
from reactors import rl

MOVES = ("rock", "paper", "scissors")  # each beats the one before it; an observation is the other's last move


class Player(rx.Reactor):
    """Plays what beats the moves it has seen, as often as it has seen them; leans to its favourite at first."""

    observation = rx.Input(dtype=np.int64)
    reward = rx.Input(dtype=np.float64)
    action = rx.Output(dtype=np.int64)

    def __init__(self, favourite: int, explores: float) -> None:
        self.seen, self.explores = np.ones(len(MOVES)), explores
        self.seen[favourite - 1] += 5
        self.score = 0.0
        self.played = np.zeros(len(MOVES), int)

    @rx.reaction(reward)
    def hear(self) -> None:
        self.score += float(self.reward.value)

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        last = int(self.observation.value)
        if last < len(MOVES):  # else nothing was played yet
            self.seen[last] += 1
        random = self.rng.random() < self.explores
        move = int(self.rng.integers(3)) if random else (int(self.seen.argmax()) + 1) % 3
        self.played[move] += 1
        self.action.set(np.asarray(move))


class Match(rx.Reactor):
    def __init__(self, rounds: int = 25) -> None:
        self.env = rl.MultiAgentEnv("classic/rps_v2", max_cycles=rounds)
        self.players = rx.bank(2, Player, lambda i: i, explores=lambda i: (0.05, 0.5)[i])
        self.statistics = rl.record.EpisodeStatistics()
        for player, agent in zip(self.players, self.env.agent.values(), strict=True):
            rx.connect(agent.observation, player.observation)
            rx.connect(agent.reward, player.reward)
            rx.connect(player.action, agent.action, after="1 us")  # the next step is a microsecond later
        rx.connect(self.env.episode, self.statistics.episode[0])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=5000)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    match = Match()
    result = rx.run(match, workers=args.workers, fast=True, seed=args.seed, timeout=f"{args.steps} us")
    print(result.summary())
    for name, player in zip(match.env.agents, match.players, strict=True):
        counts = ", ".join(f"{n} {move}" for move, n in zip(MOVES, player.played, strict=True))
        print(f"{name}: score {player.score:+.0f} with {counts}")
    print(f"{len(match.statistics.returns)} matches over, digest {result.digest}")


if __name__ == "__main__":
    main()
