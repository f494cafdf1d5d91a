"""How does one policy act in the environments of all simulators at once?

As in PAAC (Clemente et al., arXiv 1705.04862, section 4): one evaluation of all observations a step, and one copy of
the weights. A step is a microstep. Simulators answer choices at the same tag, and what they saw comes back one
microstep later. With two parts, environments take turns: choices for one half are made while the other half is
simulated, at the same tag, and reach it a microstep later.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.lowlevel import offered
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.envs.spaces import array_type
from reactors.rl.rounds import ROUND, round_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import gymnasium as gym

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.dataflow.acting import Acting


def choice_dtype(algorithm: Algorithm, action_space: gym.Space[Any]) -> Any:
    """An action, and what the policy remembers of it."""
    action = array_type(action_space)
    return np.dtype(
        [("action", action.dtype, action.shape), *algorithm.remembered(action_space).items()], align=True
    )  # fmt: skip


ENDED = np.dtype([("terminated", np.bool_), ("truncated", np.bool_)])


class InferenceServer(Stateful):
    """Chooses actions for the environments of all simulators, in their order; every minute is a round.

    `initial` and `observations` have a channel for each simulator, and so has `choices`. A recurrent policy also has to
    know of each step which episodes `ended`, and which environments have `begun` new ones in a resumed run. What is
    chosen does not depend on how many simulators share the environments. `figures` has the seconds that a round took,
    and the age of the weights in rounds.
    """

    rounds = rx.Timer("first", ROUND)
    other = rx.LogicalAction()
    weights = rx.Input(shape="size", dtype=np.float32)
    figures = rx.Output(tuple)
    offered(weights)  # none are sent in free mode

    def __init__(
        self,
        acting: Acting,
        observation_space: gym.Space[Any],
        choice: Any,
        horizon: int,
        simulators: int,
        num_envs: int,
        parts: int,
    ) -> None:
        self.acting, self.size, self.horizon, self.parts = acting, len(acting.latest), horizon, parts
        self.last = parts * horizon + parts - 2  # the microstep at which simulators have ended a round
        observation: Any = array_type(observation_space)  # of a Box or a Discrete, which algorithms take
        shape = observation.shape
        self.initial = rx.Input(shape=(num_envs, *shape), dtype=observation.dtype, width=simulators)
        self.observations = rx.Input(shape=(num_envs // parts, *shape), dtype=observation.dtype, width=simulators)
        if acting.remembers:
            self.ended = rx.Input(shape=(num_envs // parts,), dtype=ENDED, width=simulators)
            self.begun = rx.Input(shape=(num_envs,), dtype=np.bool_, width=simulators)
        self.choices = rx.Output(shape=(num_envs // parts,), dtype=choice, width=simulators)
        together = simulators * num_envs // parts, *shape
        self.seen = [np.zeros(together, observation.dtype) for _ in range(parts)]
        self.began = 0.0
        said = self.choices, self.figures
        self.add_reaction(rx.startup, self.open)
        self.add_reaction(self.weights, self.load)
        self.add_reaction(self.initial, self.look, uses=self.begun if acting.remembers else ())
        self.add_reaction(self.rounds, self.begin, effects=(*said, self.other))
        self.add_reaction(self.other, self.begin_other, effects=said)
        self.add_reaction(self.observations, self.answer, uses=self.ended if acting.remembers else (), effects=said)

    def open(self) -> None:
        """Take on the first weights, or those of a checkpoint."""
        self.acting.open(self.rng, *map(len, self.seen))
        self.go_on()

    def state_dict(self) -> dict[str, Any]:
        """Random numbers, weights and what else the policy has; simulators tell what they see when they start."""
        return self.acting.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        self.acting.load_state_dict(state)

    def load(self) -> None:
        """Choose by newer weights from the next round on."""
        self.acting.load(self.weights.value, round_of(self.tag))

    def look(self) -> None:
        """What the environments show at the start."""
        for part, seen in enumerate(self.seen):
            seen[:] = self.initial.array[:, part :: self.parts].reshape(seen.shape)
            if self.acting.remembers:
                self.acting.forget(self.begun.array[:, part :: self.parts].reshape(-1), part)

    def begin(self) -> None:
        """Begin a round: the first choices of all environments, or of one half."""
        self.began = time.perf_counter()
        self.acting.look()
        self.choose(0)
        if self.parts == 2:
            self.other.schedule()

    def begin_other(self) -> None:
        """The first choices for the second half."""
        self.choose(1)

    def answer(self) -> None:
        """What a step led to."""
        t, part = divmod(self.tag.microstep, self.parts)
        seen = self.seen[part]
        seen[:] = self.observations.array.reshape(seen.shape)
        if self.acting.remembers:
            ended = self.ended.array.reshape(-1)
            self.acting.forget(ended["terminated"] | ended["truncated"], part)
        if t < self.horizon:
            self.choose(part)
        else:
            self.tell()

    def choose(self, part: int) -> None:
        """Actions for one part, in one evaluation."""
        actions, remembered = self.acting.act(self.seen[part], round_of(self.tag), part)
        choices = self.choices.loan()
        for name, values in {"action": actions, **remembered}.items():
            choices[name] = values.reshape(choices[name].shape)
        self.choices.set(choices)
        self.tell()

    def tell(self) -> None:
        """Of the round, if this is its end."""
        if self.tag.microstep == self.last:
            number = round_of(self.tag)
            self.figures.set((rx.Measured(time.perf_counter() - self.began), self.acting.age(number)))
