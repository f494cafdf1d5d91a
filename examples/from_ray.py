"""Evolution strategies with reactors: the program of `before/ray_actors.py`, moved over from Ray.

An actor becomes a reactor, what it returns an output, `ray.get` of all players a multiport, `ray.put` a broadcast. The
driver is a reactor as well. Players still play at the same time; which one is first can no longer matter.

Run:   python from_ray.py
       python from_ray.py --compare      beside Ray, in turns; and the lines that changed
Needs: pip install '.[rl]', and '.[ray]' to compare
"""

import argparse

import gymnasium as gym
import numpy as np

import reactors as rx

ENV, WEIGHTS, SPREAD, STEP = "CartPole-v1", 4, 0.5, 0.5


class Player(rx.Reactor):
    weights = rx.Input(shape=WEIGHTS)
    noise = rx.Output(shape=("tries", WEIGHTS))
    gains = rx.Output(shape="tries")

    def __init__(self, tries):
        self.tries = tries

    @rx.reaction(rx.startup)
    def open(self):
        self.env = gym.make(ENV)
        self.env.reset(seed=self.seed)

    @rx.reaction(weights, effects=(noise, gains))
    def play(self):
        noise = self.rng.standard_normal((self.tries, WEIGHTS))
        gains = np.array([self.episode(self.weights.value + SPREAD * each) for each in noise])
        self.noise.set(noise)
        self.gains.set(gains)

    def episode(self, weights):
        total, over = 0.0, False
        obs, _ = self.env.reset()
        while not over:
            obs, reward, terminated, truncated, _ = self.env.step(int(obs @ weights > 0))
            total += float(reward)
            over = terminated or truncated
        return total


class Driver(rx.Reactor):
    send = rx.Output(shape=WEIGHTS)
    noise = rx.Input(shape=("tries", WEIGHTS), width="players")
    gains = rx.Input(shape="tries", width="players")

    def __init__(self, players, tries, rounds):
        self.players, self.tries = players, tries
        self.rounds, self.weights, self.curve = rounds, np.zeros(WEIGHTS), []

    @rx.reaction(rx.startup, effects=send)
    def begin(self):
        self.send.set(self.weights)

    @rx.reaction(noise, gains, effects=send)
    def learn(self):
        noise, gains = self.noise.array.reshape(-1, WEIGHTS), self.gains.array.reshape(-1)
        self.curve.append(gains.mean())
        self.weights = self.weights + STEP * (gains - gains.mean()) @ noise / (len(gains) * (gains.std() + 1e-8))
        if len(self.curve) < self.rounds:
            self.send.set(self.weights)


class Strategies(rx.Reactor):
    def __init__(self, players=8, tries=4, rounds=20):
        self.driver = Driver(players, tries, rounds)
        self.players = rx.bank(players, Player, tries)
        rx.connect(self.driver.send, self.players.weights, after=0, broadcast=True)
        rx.connect(self.players.noise, self.driver.noise)
        rx.connect(self.players.gains, self.driver.gains)


def train(workers=2, players=8, tries=4, rounds=20):
    """The weights in the end, and the mean return of each round."""
    program = Strategies(players, tries, rounds)
    rx.run(program, workers=workers, fast=True)
    return program.driver.weights, program.driver.curve


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--compare", action="store_true", help="run the program before as well, in turns")
    options.add_argument("--turns", type=int, default=5, help="of the comparison")
    args = options.parse_args()
    if args.compare:
        from before import comparison, ray_actors

        comparison.show(ray_actors.train, train, args.turns, workers=args.workers, rounds=args.rounds)
    else:
        weights, curve = train(args.workers, rounds=args.rounds)
        print(f"weights {weights}, mean return {curve[0]:.0f} at first, {curve[-1]:.0f} in the end")


if __name__ == "__main__":
    main()
