"""Evolution strategies with actors of Ray: the program before `from_ray.py`.

Players try disturbed copies of the weights and return what each gained; the driver moves the weights towards the better
ones. It waits for all players in each round, for the result would depend on who is first otherwise.
"""

import gymnasium as gym
import numpy as np
import ray

ENV, WEIGHTS, SPREAD, STEP = "CartPole-v1", 4, 0.5, 0.5


@ray.remote
class Player:
    def __init__(self, seed, tries):
        self.tries = tries
        self.env = gym.make(ENV)
        self.env.reset(seed=seed)
        self.rng = np.random.default_rng(seed)

    def play(self, weights):
        noise = self.rng.standard_normal((self.tries, WEIGHTS))
        gains = np.array([self.episode(weights + SPREAD * each) for each in noise])
        return noise, gains

    def episode(self, weights):
        total, over = 0.0, False
        obs, _ = self.env.reset()
        while not over:
            obs, reward, terminated, truncated, _ = self.env.step(int(obs @ weights > 0))
            total += float(reward)
            over = terminated or truncated
        return total


class Driver:
    def __init__(self, players, tries, rounds):
        self.rounds, self.weights, self.curve = rounds, np.zeros(WEIGHTS), []
        self.players = [Player.remote(seed, tries) for seed in range(players)]

    def run(self):
        for _ in range(self.rounds):
            weights = ray.put(self.weights)
            self.learn(ray.get([player.play.remote(weights) for player in self.players]))  # type: ignore[attr-defined]

    def learn(self, results):
        noise, gains = (np.concatenate(parts) for parts in zip(*results, strict=True))
        self.curve.append(gains.mean())
        self.weights = self.weights + STEP * (gains - gains.mean()) @ noise / (len(gains) * (gains.std() + 1e-8))


def train(workers=2, players=8, tries=4, rounds=20):
    """The weights in the end, and the mean return of each round."""
    if not ray.is_initialized():
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    driver = Driver(players, tries, rounds)
    driver.run()
    return driver.weights, driver.curve


if __name__ == "__main__":
    print(train())
