"""Training while serving: clients play with the policy that is being trained, and see it get better.

Players, a learner and a server are one graph. The learner's weights reach the players for their next round, and the
server at once. Clients are threads: each plays a CartPole of its own and asks the server for every action.

The program does not wait for the clock (`fast=True`). Requests do not wait for the program, either: they are tagged
with physical time, and a round takes a minute of logical time, so logical time is always ahead of it.

Run:   python train_and_serve.py --rounds 200
       python train_and_serve.py --workers 3
Needs: pip install 'reactors[rl]'
"""

from __future__ import annotations

import argparse
import statistics
import threading
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch

import reactors as rx
from reactors import rl

ENV = "CartPole-v1"
ROUND = "1 min"


class Player(rx.Reactor):
    """Plays a round with every new weights: `horizon` steps in each of its environments."""

    weights = rx.Input(shape="size", dtype=np.float32)

    def __init__(self, algorithm: rl.Algorithm, spaces: Any, envs: int) -> None:
        self.policy, self.horizon, self.num_envs = algorithm.policy(*spaces), algorithm.horizon, envs
        self.size = self.policy.size
        plain = rl.transition_dtype(*spaces)
        fields = [(name, plain[name]) for name in plain.names or ()]
        row = np.dtype([*fields, *algorithm.remembered(spaces[1]).items()])
        self.segment = rx.Output(shape=(self.horizon, envs), dtype=row)
        self.add_reaction(self.weights, self.play, effects=self.segment)

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.envs = [gym.make(ENV) for _ in range(self.num_envs)]
        self.obs = np.stack([env.reset(seed=self.seed + i)[0] for i, env in enumerate(self.envs)])

    def play(self) -> None:
        self.policy.load(self.weights.value)
        rows = self.segment.loan()
        for step in rows:
            step["obs"] = self.obs
            step["action"], remembered = self.policy.act(self.obs, self.rng, 0)
            for name, values in remembered.items():
                step[name] = values
            for i, env in enumerate(self.envs):
                row = step[i]
                row["next_obs"], row["reward"], row["terminated"], row["truncated"], _ = env.step(row["action"])
                self.obs[i] = env.reset()[0] if row["terminated"] or row["truncated"] else row["next_obs"]
        self.segment.set(rows)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        for env in self.envs:
            env.close()


class Learner(rx.Reactor):
    """Makes the first weights, and better ones of every round."""

    weights = rx.Output(shape="size", dtype=np.float32)

    def __init__(self, algorithm: rl.Algorithm, spaces: Any, players: Any) -> None:
        self.algorithm, self.spaces, self.size = algorithm, spaces, players[0].size
        segment = players[0].segment
        self.segments = rx.Input(shape=segment.shape, dtype=segment.dtype, width=len(players))
        self.add_reaction(self.segments, self.learn, effects=self.weights)

    @rx.reaction(rx.startup, effects=weights)
    def begin(self) -> None:
        observation_space, action_space = self.spaces
        self.learning = self.algorithm.learning(observation_space, action_space, self.seed % 2**32)
        self.weights.set(self.learning.weights())

    def learn(self) -> None:
        rows = np.concatenate(list(self.segments.array), axis=1)  # (steps, all environments)
        batch = {name: torch.from_numpy(rows[name].copy()) for name in rows.dtype.names or ()}
        for _ in self.learning.learn(batch):  # it stops before each step, where several learners would meet
            pass
        self.weights.set(self.learning.weights())


class TrainAndServe(rx.Reactor):
    def __init__(self, players: int, rounds: int) -> None:
        algorithm = rl.PPO(num_envs=8, horizon=64, total_steps=8 * 64 * rounds)
        env = gym.make(ENV)
        spaces = env.observation_space, env.action_space
        env.close()
        self.players = rx.bank(players, Player, algorithm, spaces, algorithm.num_envs // players)
        self.learner = Learner(algorithm, spaces, self.players)
        self.server = rl.serve(algorithm.policy(*spaces), observation_space=spaces[0], max_batch=8, max_wait="0.5 ms")
        rx.connect(self.learner.weights, self.server.weights)
        rx.connect(self.learner.weights, self.players.weights, after=ROUND, broadcast=True)
        rx.connect(self.players.segment, self.learner.segments)


def client(server: rl.Server, seed: int, returns: list[float]) -> None:
    """Plays one episode after the other with the actions that the server says, until it serves no more."""
    env = gym.make(ENV)
    observation, _ = env.reset(seed=seed)
    total = 0.0
    server.wait()
    while True:
        try:
            action = server.request(observation).result()
        except rl.NotServingError:
            break
        observation, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        if terminated or truncated:
            returns.append(total)
            observation, _ = env.reset()
            total = 0.0
    env.close()


def place(path: str, workers: int) -> int:
    """The server has the last worker for itself: so nobody who asks waits for a round to be over."""
    last = max(workers - 1, 1)
    if path == "main.server":
        return workers - 1
    return int(path[:-1].rpartition("[")[2]) % last if path.startswith("main.players[") else 0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--players", type=int, default=2)
    options.add_argument("--clients", type=int, default=4)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--backend", default="auto", choices=("auto", "inline", "thread", "process"))
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    program = TrainAndServe(args.players, args.rounds)
    returns: list[float] = []
    clients = [threading.Thread(target=client, args=(program.server, i, returns)) for i in range(args.clients)]
    for thread in clients:
        thread.start()
    result = rx.run(
        program, workers=args.workers, backend=args.backend, fast=True, timeout=f"{args.rounds} min", seed=args.seed,
        placement=partial(place, workers=args.workers),
    )  # fmt: skip
    for thread in clients:
        thread.join()
    print(result.summary())
    print(f"weights of {program.server.updates} rounds; {program.server.statistics()}")
    if len(returns) >= 20:
        first, last = statistics.mean(returns[:10]), statistics.mean(returns[-10:])
        print(f"the clients' first ten episodes had a mean return of {first:.0f}, their last ten of {last:.0f}")


if __name__ == "__main__":
    main()
