"""The traffic junction: cars cross two roads, see only their neighbourhood, and should not collide.

A PettingZoo parallel environment after Sukhbaatar et al., "Learning Multiagent Communication with Backpropagation"
(2016). Two roads of two lanes cross on a square grid. Cars wait outside, enter at one of the four ends, follow a route
(right, straight on or left) by the actions brake (0) and gas (1), and leave at its end. An agent is in `agents` only
while its car is on the road: agents come late and go early, and the episode is over when the last one is gone.

Run:   python traffic_junction.py    (plays one episode with random actions and draws every step)
Needs: pip install '.[rl]'
"""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

Cell = tuple[int, int]
Observation = NDArray[np.float32]
GAS = 1
GRASS, ROAD, CAR, CRASH = (96, 144, 80), (96, 96, 96), (240, 208, 64), (224, 32, 32)
PIXELS = 16  # of a cell
DELAY, COLLISION = -0.01, -10.0  # the reward: for every step, times the steps so far; for sharing a cell


def routes(size: int) -> list[list[Cell]]:
    """The twelve ways through the junction: right, straight on and left from each of the four ends."""
    lane, opposite = size // 2 - 1, size // 2
    south = [
        [(row, lane) for row in range(lane + 1)] + [(lane, column) for column in reversed(range(lane))],
        [(row, lane) for row in range(size)],
        [(row, lane) for row in range(opposite + 1)] + [(opposite, column) for column in range(opposite, size)],
    ]
    ways = [south]
    for _ in range(3):  # the other ends are the same picture, turned by a quarter
        ways.append([[(column, size - 1 - row) for row, column in route] for route in ways[-1]])
    return [route for end in ways for route in end]


class TrafficJunction(ParallelEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo ships no types
    """The environment: each of `cars` agents sees the cars within `sight` cells and is towed after `patience` steps.

    An observation holds the car's row and column, how far it is on its route and which way it turns (one of three),
    then the neighbourhood, row by row: 1 where another car is. Beside it, `infos` say whether the car has `collided` in
    this step, and whether it is `through`.
    """

    def __init__(
        self, cars: int = 4, size: int = 14, sight: int = 1, arrival: float = 0.3, patience: int = 80,
        render_mode: str = "ansi",
    ) -> None:  # fmt: skip
        self.size, self.sight, self.arrival, self.patience = size, sight, arrival, patience
        self.metadata = {"name": "traffic_junction_v0", "render_modes": ["ansi", "rgb_array"], "render_fps": 10}
        self.render_mode = render_mode
        self.possible_agents = [f"car_{i}" for i in range(cars)]
        self.agents: list[str] = []
        self.routes = routes(size)
        self._sees = gym.spaces.Box(0.0, 1.0, (6 + (2 * sight + 1) ** 2,), np.float32)
        self._does = gym.spaces.Discrete(2)
        self._random = np.random.default_rng()

    def observation_space(self, agent: str) -> gym.Space[Any]:  # noqa: ARG002
        return self._sees

    def action_space(self, agent: str) -> gym.Space[Any]:  # noqa: ARG002
        return self._does

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self.way = {agent: int(self._random.integers(len(self.routes))) for agent in self.possible_agents}
        self.progress = dict.fromkeys(self.possible_agents, 0)
        self.age = dict.fromkeys(self.possible_agents, 0)
        self.waiting = list(self.possible_agents)
        self.agents = []
        self._let_in()
        return self._observe(self.agents), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        for agent in self.agents:
            self.progress[agent] += actions[agent] == GAS
            self.age[agent] += 1
        through = {agent: self.progress[agent] == len(self._route(agent)) for agent in self.agents}
        towed = {agent: self.age[agent] == self.patience and not through[agent] for agent in self.agents}
        cells = [self._cell(agent) for agent in self.agents if not through[agent]]
        collided = {agent: not through[agent] and cells.count(self._cell(agent)) > 1 for agent in self.agents}
        rewards = {agent: DELAY * self.age[agent] + COLLISION * collided[agent] for agent in self.agents}
        infos: dict[str, dict[str, Any]] = {
            agent: {"collided": collided[agent], "through": through[agent]} for agent in self.agents
        }
        seen = self.agents
        self.agents = [agent for agent in self.agents if not through[agent] and not towed[agent]]
        entered = self._let_in()
        nothing = dict.fromkeys(entered, False)
        seen = seen + entered
        return (
            self._observe(seen),
            rewards | dict.fromkeys(entered, 0.0),
            through | nothing,
            towed | nothing,
            infos | {agent: {} for agent in entered},
        )

    def render(self) -> str | NDArray[np.uint8]:
        return self._frame() if self.render_mode == "rgb_array" else self._text()

    def _text(self) -> str:
        picture = [[" "] * self.size for _ in range(self.size)]
        for row, column in (cell for route in self.routes for cell in route):
            picture[row][column] = "."
        for agent in self.agents:
            row, column = self._cell(agent)
            picture[row][column] = "#" if picture[row][column] != "." else agent[-1]  # a digit is a car, # a collision
        return "\n".join("".join(row) for row in picture)

    def _frame(self) -> NDArray[np.uint8]:
        picture = np.full((self.size, self.size, 3), GRASS, np.uint8)
        for cell in (cell for route in self.routes for cell in route):
            picture[cell] = ROAD
        cells = [self._cell(agent) for agent in self.agents]
        for cell in cells:
            picture[cell] = CAR if cells.count(cell) == 1 else CRASH
        return picture.repeat(PIXELS, 0).repeat(PIXELS, 1)

    def _route(self, agent: str) -> list[Cell]:
        return self.routes[self.way[agent]]

    def _cell(self, agent: str) -> Cell:
        route = self._route(agent)
        return route[min(self.progress[agent], len(route) - 1)]

    def _let_in(self) -> list[str]:
        """Lets waiting cars enter where the first cell is free: by chance, but one at least if the road is empty."""
        entered: list[str] = []
        for agent in list(self.waiting):
            free = all(self._cell(other) != self._cell(agent) for other in self.agents)
            if free and (not self.agents or self._random.random() < self.arrival):
                self.waiting.remove(agent)
                self.agents.append(agent)
                entered.append(agent)
        return entered

    def _observe(self, agents: list[str]) -> dict[str, Observation]:
        reach = self.sight
        road = np.zeros((self.size + 2 * reach,) * 2, np.float32)  # with a margin, so that no view leaves it
        for agent in self.agents:
            row, column = self._cell(agent)
            road[row + reach, column + reach] += 1
        return {agent: self._view(agent, road) for agent in agents}

    def _view(self, agent: str, road: Observation) -> Observation:
        row, column = self._cell(agent)
        view = road[row : row + 2 * self.sight + 1, column : column + 2 * self.sight + 1].copy()
        view[self.sight, self.sight] -= agent in self.agents  # not itself
        own = np.zeros(6, np.float32)
        own[:3] = row / self.size, column / self.size, self.progress[agent] / len(self._route(agent))
        own[3 + self.way[agent] % 3] = 1
        return np.concatenate([own, view.clip(0, 1).ravel()])


def main() -> None:
    env, random = TrafficJunction(cars=10), np.random.default_rng(0)
    env.reset(seed=0)
    total = 0.0
    while env.agents:
        _, rewards, *_ = env.step({agent: int(random.integers(2)) for agent in env.agents})
        total += sum(rewards.values())
        print(f"{env.render()}\non the road: {', '.join(env.agents)}; reward so far {total:.2f}\n")


if __name__ == "__main__":
    main()
