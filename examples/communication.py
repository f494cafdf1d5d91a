"""Cars that tell each other what they know, and learn what to tell.

Communication is as in IC3Net (Singh, Jain, Sukhbaatar, ICLR 2019, arXiv 1812.09755), at the traffic junction. A car
updates its memory with what it sees, and a gate decides whether it sends that memory to the others. One microstep later
it takes the mean of what it has heard into its memory, and brakes or goes. A car that is not on the road, or that keeps
silent, sends nothing. So a step of all cars is one microstep: actions and the next observations are at its tag, and
messages arrive at the next.

The learner gets whole episodes. It computes again what the cars computed, as a batch, so that gradients go through the
messages to those who spoke, ten steps back. Its weights reach the cars a round later, and meanwhile they play on. The
result is the same on any number of workers.

Run:   python communication.py --workers 2
       python communication.py --no-messages
       python communication.py --agents 10 --episodes 2300
Needs: pip install '.[rl]'
"""

import argparse
import math
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import clip_grad_norm_, parameters_to_vector, vector_to_parameters
from traffic_junction import TrafficJunction

import reactors as rx
from reactors import rl

ROUND = "1 ms"  # of logical time: an episode at every junction
SEES, ACTIONS, HIDDEN = 15, 2, 32
STRETCH = 10  # how many steps back gradients go
LONGEST = 80  # steps of an episode

Vector = NDArray[np.float32]
DID = np.dtype([("action", np.int64), ("spoke", np.bool_), ("log_prob", np.float32)])
STEP = np.dtype([("there", np.bool_), ("seen", np.float32, SEES), ("did", DID), ("reward", np.float32)])


class Network(torch.nn.Module):
    """What a car does with what it sees and hears; all cars have the same weights."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = torch.nn.Linear(SEES, HIDDEN)
        self.cell = torch.nn.GRUCell(HIDDEN, HIDDEN)
        self.sight = torch.nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.hearing = torch.nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.gate, self.action = torch.nn.Linear(HIDDEN, 2), torch.nn.Linear(HIDDEN, ACTIONS)
        self.value = torch.nn.Linear(HIDDEN, 1)
        for name, parameter in self.named_parameters():
            small = name.startswith(("gate", "action"))  # at first, what is seen hardly matters
            if parameter.ndim == 1:
                torch.nn.init.zeros_(parameter)
            else:
                torch.nn.init.orthogonal_(parameter, 0.01 if small else 1.0)
        torch.nn.init.constant_(self.gate.bias.data[1:], 4.0)  # cars begin talkative: they learn when to be silent

    def see(self, seen: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.encode(seen))

    def remember(self, features: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """The memory (..., HIDDEN) after what is seen: what a car may tell."""
        told: torch.Tensor = self.cell(features.reshape(-1, HIDDEN), memory.reshape(-1, HIDDEN))
        return told.view(memory.shape)

    def listen(self, features: torch.Tensor, memory: torch.Tensor, heard: torch.Tensor) -> torch.Tensor:
        """The memory after what is heard, from which an action is chosen."""
        return torch.tanh(memory + self.sight(features) + self.hearing(heard))


SHAPES = {name: tuple(each.shape) for name, each in Network().named_parameters()}
SIZE = sum(map(math.prod, SHAPES.values()))


class Car:
    """The network in NumPy, for one car: there, calls of torch would cost more than the arithmetic."""

    def __init__(self, weights: Vector) -> None:
        ends = np.cumsum([math.prod(shape) for shape in SHAPES.values()])
        parts = np.split(weights, ends[:-1])
        self.of = {name: part.reshape(SHAPES[name]) for name, part in zip(SHAPES, parts, strict=True)}

    def linear(self, name: str, x: Vector) -> Vector:
        result: Vector = self.of[f"{name}.weight"] @ x + self.of[f"{name}.bias"]
        return result

    def see(self, seen: Vector) -> Vector:
        return np.maximum(self.linear("encode", seen), 0)

    def remember(self, features: Vector, memory: Vector) -> Vector:
        new = self.of["cell.weight_ih"] @ features + self.of["cell.bias_ih"]
        old = self.of["cell.weight_hh"] @ memory + self.of["cell.bias_hh"]
        gates: Any = 1 / (1 + np.exp(-new[: 2 * HIDDEN] - old[: 2 * HIDDEN]))
        proposed = np.tanh(new[2 * HIDDEN :] + gates[:HIDDEN] * old[2 * HIDDEN :])
        result: Vector = proposed + gates[HIDDEN:] * (memory - proposed)
        return result

    def listen(self, features: Vector, memory: Vector, heard: Vector) -> Vector:
        result: Vector = np.tanh(memory + self.of["sight.weight"] @ features + self.of["hearing.weight"] @ heard)
        return result


class Agent(rx.Reactor):
    """A car, which tells the others what it remembers, and acts when it has heard what they do."""

    weights = rx.Input(shape=(SIZE,), dtype=np.float32)
    observation = rx.Input(shape=(SEES,), dtype=np.float32)
    heard = rx.Input(shape=(HIDDEN,), dtype=np.float32, width="others")
    message = rx.Output(shape=(HIDDEN,), dtype=np.float32)
    did = rx.Output(shape=(), dtype=DID)
    think = rx.LogicalAction()

    def __init__(self, first: Vector, others: int, messages: bool) -> None:
        self.car, self.others, self.messages = Car(first), others, messages
        self.memory, self.next = np.zeros(HIDDEN, np.float32), rx.Tag(0, 0)

    @rx.reaction(weights)
    def load(self) -> None:
        self.car = Car(self.weights.value.copy())

    # Declared before `see`, and so before it at a tag: what an action leads to is seen at the tag of the action.
    @rx.reaction(think, uses=heard, effects=did)
    def act(self) -> None:
        total = np.zeros(HIDDEN, np.float32)
        for i in self.heard.present:
            total += self.heard[i].value
        mean = total / np.float32(max(1, len(self.heard.present)))
        self.memory = self.car.listen(self.features, self.memory, mean)
        action, log_prob = self.choose(self.car.linear("action", self.memory))
        did = self.did.loan()
        did["action"], did["spoke"], did["log_prob"] = action, self.spoke, self.log_prob + log_prob
        self.did.set(did)

    @rx.reaction(observation, effects=(message, think))
    def see(self) -> None:
        if self.tag != self.next:  # it was not there a microstep ago
            self.memory = np.zeros(HIDDEN, np.float32)
        self.next = rx.Tag(self.tag.time, self.tag.microstep + 1)
        self.features = self.car.see(self.observation.value)
        self.memory = self.car.remember(self.features, self.memory)
        self.spoke, self.log_prob = self.choose(self.car.linear("gate", self.memory)) if self.messages else (0, 0.0)
        if self.spoke:
            self.message.set(self.memory)
        self.think.schedule()  # one microstep later, when messages arrive; there may be none

    def choose(self, logits: Vector) -> tuple[int, float]:
        """A choice from the softmax, and the logarithm of its probability."""
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        choice = int(self.rng.random() >= shares[0])
        return choice, math.log(shares[choice])


class Junction(rx.Reactor):
    """The road: plays an episode in each round, and says at its end what has been. It counts what cars did."""

    tick = rx.Timer(0, ROUND)
    did = rx.Input(shape=(), dtype=DID, width="cars")
    observation = rx.Output(shape=(SEES,), dtype=np.float32, width="cars")
    episode = rx.Output(shape=(LONGEST, "cars"), dtype=STEP)

    def __init__(self, cars: int) -> None:
        self.cars = cars
        self.steps = self.collisions = self.through = 0

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.env = TrafficJunction(self.cars)
        self.env.reset(seed=self.seed % 2**32)

    @rx.reaction(tick, effects=observation)
    def begin(self) -> None:
        self.record, self.t = np.zeros((LONGEST, self.cars), STEP), 0
        self.show(self.env.reset()[0])

    @rx.reaction(did, effects=(observation, episode))
    def step(self) -> None:
        cars, row = self.env.possible_agents, self.record[self.t]
        for i in self.did.present:
            row["did"][i] = self.did[i].value
        acts = {cars[i]: int(row["did"]["action"][i]) for i in self.did.present}
        observations, rewards, _, _, infos = self.env.step(acts)
        for i in self.did.present:
            row["reward"][i] = rewards[cars[i]]
            self.collisions += infos[cars[i]]["collided"]
            self.through += infos[cars[i]]["through"]
        self.steps += 1
        self.t += 1
        if self.env.agents and self.t < LONGEST:
            self.show(observations)
        else:
            self.episode.set(self.record)

    def show(self, observations: dict[str, NDArray[np.float32]]) -> None:
        for i, car in enumerate(self.env.possible_agents):
            if car in self.env.agents:
                self.record["there"][self.t, i] = True
                self.record["seen"][self.t, i] = observations[car]
                self.observation[i].set(observations[car])


class Crossing(rx.Reactor):
    """A junction and its cars. Messages take a microstep."""

    weights = rx.Input(shape=(SIZE,), dtype=np.float32)
    episode = rx.Output(shape=(LONGEST, "cars"), dtype=STEP)

    def __init__(self, cars: int, first: Vector, messages: bool) -> None:
        self.cars = cars
        self.junction = Junction(cars)
        self.agents: Any = rx.bank(cars, Agent, first, cars - 1, messages)
        rx.connect(self.weights, self.agents.weights, broadcast=True)
        rx.connect(self.junction.observation, self.agents.observation)
        rx.connect(self.agents.did, self.junction.did)
        rx.connect(self.junction.episode, self.episode)
        for i in range(cars):
            others = [self.agents[j].message for j in range(cars) if j != i]
            rx.connect(others, self.agents[i].heard, after=0)


class Again:
    """What cars computed in `steps` (time, episodes, cars), computed again with gradients.

    `values`, `log_probs` and `entropies` are of the same shape. The cars begin with the memories `first` (episodes,
    cars, HIDDEN); `before` has those before each step.
    """

    def __init__(self, network: Network, steps: NDArray[Any], first: torch.Tensor, messages: bool) -> None:
        there, did = torch.from_numpy(steps["there"]), steps["did"]
        spoke = torch.from_numpy(did["spoke"])
        features, speaks = network.see(torch.from_numpy(steps["seen"].copy())), (spoke & there)[..., None].float()
        others = (speaks.sum(2, keepdim=True) - speaks).clamp(min=1)  # that each car hears
        stays = (there[:-1] & there[1:])[..., None].float()
        memory = first
        told: list[torch.Tensor] = []
        after: list[torch.Tensor] = []
        self.before: list[torch.Tensor] = []
        for t in range(len(steps)):
            self.before.append(memory)
            memory = network.remember(features[t], memory)
            told.append(memory)
            said = memory * speaks[t]
            heard = (said.sum(1, keepdim=True) - said) / others[t]
            memory = network.listen(features[t], memory, heard)
            after.append(memory)
            if t + 1 < len(steps):
                memory = memory * stays[t]
        memories = torch.stack(after)
        self.values = network.value(memories)[..., 0]
        self.log_probs, self.entropies = chosen(network.action(memories), torch.from_numpy(did["action"].copy()))
        if messages:
            of_gate, entropies = chosen(network.gate(torch.stack(told)), spoke.long())
            self.log_probs, self.entropies = self.log_probs + of_gate, self.entropies + entropies


def chosen(logits: torch.Tensor, choices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The logarithms of the probabilities of choices, and the entropies."""
    log_probs = torch.log_softmax(logits, -1)
    return log_probs.gather(-1, choices[..., None])[..., 0], -(log_probs.exp() * log_probs).sum(-1)


class Learner(rx.Reactor):
    """Policy gradients with a baseline, each car for its own reward; several passes over a round, clipped as in PPO."""

    episodes = rx.Input(shape=(LONGEST, "cars"), dtype=STEP, width="junctions")
    weights = rx.Output(shape=(SIZE,), dtype=np.float32)

    scale, gamma, lambda_, clip, passes, parts = 0.05, 0.99, 0.95, 0.2, 4, 4

    def __init__(
        self, cars: int, junctions: int, first: Vector, messages: bool, rounds: int, rate: float, entropy: float
    ) -> None:
        self.cars, self.junctions, self.first, self.messages = cars, junctions, first, messages
        self.rounds, self.rate, self.entropy, self.learned = rounds, rate, entropy, 0

    @rx.reaction(rx.startup)
    def open(self) -> None:
        with rl.Seeded(self.seed):
            self.network = Network()
        vector_to_parameters(torch.tensor(self.first), self.network.parameters())  # a copy, which learning changes
        self.adam = torch.optim.Adam(self.network.parameters(), lr=self.rate, eps=1e-5)

    @rx.reaction(episodes, effects=weights)
    def learn(self) -> None:
        episodes = self.episodes.array.swapaxes(0, 1)  # (time, junctions, cars)
        lasted = int(episodes["there"].any((1, 2)).sum())
        if self.learned < self.rounds:
            self.update(episodes[: -(-lasted // STRETCH) * STRETCH].copy())
        self.weights.set(parameters_to_vector(self.network.parameters()).detach().numpy())

    def update(self, steps: NDArray[Any]) -> None:
        self.learned += 1
        with torch.no_grad():
            now = Again(self.network, steps, torch.zeros(*steps.shape[1:], HIDDEN), self.messages)
        better, returns = self.advantages(steps, now.values.numpy())
        first = torch.stack(now.before[::STRETCH]).flatten(0, 1)
        steps, better, returns = (in_stretches(each) for each in (steps, better, returns))
        used = np.flatnonzero(steps["there"].any((0, 2)))
        for _ in range(self.passes):
            for part in np.array_split(self.rng.permutation(used), self.parts):
                there = torch.from_numpy(steps["there"][:, part])
                again = Again(self.network, steps[:, part], first[part], self.messages)
                advantage = torch.from_numpy(better[:, part])
                ratio = (again.log_probs - torch.from_numpy(steps["did"]["log_prob"][:, part].copy())).exp()
                gain = torch.min(ratio * advantage, ratio.clamp(1 - self.clip, 1 + self.clip) * advantage)
                wrong = (again.values - torch.from_numpy(returns[:, part])) ** 2
                loss = (wrong - gain - self.entropy * again.entropies)[there].mean()
                self.adam.zero_grad()
                loss.backward()
                clip_grad_norm_(self.network.parameters(), 5.0)
                self.adam.step()

    def advantages(self, steps: NDArray[Any], values: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Generalised advantages, normalised, and returns; an episode that is cut off goes on as it was."""
        there, found = steps["there"], np.zeros_like(values)
        beyond, going = values[-1], len(steps) == LONGEST
        later: Any = np.zeros_like(beyond)
        for t in reversed(range(len(steps))):
            error = steps["reward"][t] * self.scale + self.gamma * beyond * going - values[t]
            later = found[t] = (error + self.gamma * self.lambda_ * later * going) * there[t]
            beyond, going = values[t], there[t]
        of_all = found[there]
        return (found - of_all.mean()) / (of_all.std() + 1e-6), found + values


def in_stretches(x: NDArray[Any]) -> NDArray[Any]:
    """(time, episodes, ...) to (STRETCH, stretches, ...): first those that begin at 0, then those at STRETCH..."""
    cut = x.reshape(-1, STRETCH, *x.shape[1:]).swapaxes(0, 1)
    return np.ascontiguousarray(cut.reshape(STRETCH, -1, *x.shape[2:]))


class Communication(rx.Reactor):
    """Junctions side by side, and a learner, which learns for so many rounds."""

    def __init__(
        self,
        cars: int = 4,
        rounds: int = 100,
        seed: int = 0,
        *,
        junctions: int = 16,
        messages: bool = True,
        rate: float = 2e-3,
        entropy: float = 0.03,
        first: Vector | None = None,
    ) -> None:
        if first is None:
            with rl.Seeded(seed):
                first = parameters_to_vector(Network().parameters()).detach().numpy()
        self.crossings = rx.bank(junctions, Crossing, cars, first, messages)
        self.learner = Learner(cars, junctions, first, messages, rounds, rate, entropy)
        rx.connect(self.crossings.episode, self.learner.episodes, after=ROUND)  # at one tag, however long they took
        rx.connect(self.learner.weights, self.crossings.weights, after=ROUND, broadcast=True)


def measure(weights: Vector, args: argparse.Namespace) -> str:
    """What comes of cars with these weights, in so many episodes at each junction."""
    program = Communication(args.agents, 0, junctions=args.junctions, messages=args.messages, first=weights)
    rx.run(program, fast=True, timeout="5 ms", workers=args.workers, backend=args.backend, seed=args.seed + 1)
    roads: Any = [each.junction for each in program.crossings]
    steps, collisions, through = (sum(getattr(each, of) for each in roads) for of in ("steps", "collisions", "through"))
    return f"{100 * collisions / steps:.1f} collisions in a hundred steps, and {100 * through / steps:.1f} cars through"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--agents", type=int, default=4)
    options.add_argument("--episodes", type=int, default=1600, help="a round is one at each junction")
    options.add_argument("--junctions", type=int, default=16, help="side by side")
    options.add_argument("--no-messages", dest="messages", action="store_false", help="no car hears another")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--backend", default="auto", choices=("auto", "inline", "thread", "process"))
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    if args.agents < 2:
        options.error(f"--agents is {args.agents}, and a single car has no other to talk to; take two or more")
    rounds = max(1, args.episodes // args.junctions)
    program = Communication(args.agents, rounds, args.seed, junctions=args.junctions, messages=args.messages)
    print(f"before training: {measure(program.learner.first, args)}")
    result = rx.run(
        program, fast=True, timeout=f"{rounds} ms", workers=args.workers, backend=args.backend, seed=args.seed
    )
    weights = parameters_to_vector(program.learner.network.parameters()).detach().numpy()
    roads: Any = [each.junction for each in program.crossings]
    print(f"after {sum(each.steps for each in roads):,} steps in {result.wall_time:.0f} s: {measure(weights, args)}")
    print(f"digest {result.digest}, weights {blake2b(weights.tobytes(), digest_size=16).hexdigest()}")


if __name__ == "__main__":
    main()
