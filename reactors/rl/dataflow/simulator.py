"""Who steps environments, if others choose the actions?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.lowlevel import run_seed
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.envs.spaces import array_type
from reactors.rl.rounds import round_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.dataflow.rollout import Rollout


class Simulator(Stateful):
    """Steps its environments, with what an `InferenceServer` chooses for them, microstep by microstep.

    `initial` has all observations at the start, and then `observations` those that every step led to. With two parts,
    one is stepped at each microstep, in turn. With a dtype for it, `ended` says of every step which episodes it ended,
    and `begun`, at the start, which environments begin new episodes because theirs could not go on in a resumed run.
    After `horizon` steps of all, `segment` has the experience, as an actor's has.
    """

    episodes = rx.Output(tuple)

    def __init__(self, rollout: Rollout, choice: Any, ended: Any = None) -> None:
        self.rollout, self.parts, self.tells = rollout, rollout.parts, ended is not None
        horizon, num_envs = rollout.shape
        self.last = self.parts * horizon - 1
        self.remembered = choice.names[1:]
        observation: Any = array_type(rollout.spaces[0])  # of a Box or a Discrete, which algorithms take
        shape = observation.shape
        self.choices = rx.Input(shape=(num_envs // self.parts,), dtype=choice)
        self.initial = rx.Output(shape=(num_envs, *shape), dtype=observation.dtype)
        self.observations = rx.Output(shape=(num_envs // self.parts, *shape), dtype=observation.dtype)
        self.segment = rx.Output(shape=rollout.shape, dtype=rollout.dtype)
        starts: list[rx.Output[Any]] = [self.initial]
        effects: list[rx.Output[Any]] = [self.observations, self.segment, self.episodes]
        if self.tells:
            self.ended = rx.Output(shape=(num_envs // self.parts,), dtype=ended)
            effects.append(self.ended)
            self.begun = rx.Output(shape=(num_envs,), dtype=np.bool_)
            starts.append(self.begun)
        self.add_reaction(rx.startup, self.open, effects=starts)
        self.add_reaction(self.choices, self.step, effects=effects)
        self.add_reaction(rx.shutdown, self.close)

    def open(self) -> None:
        """Make the environments, and send their first observations."""
        self.rollout.open(run_seed(self), self.path)
        self.go_on()
        self.rows = np.zeros(self.rollout.shape, self.rollout.dtype)
        seen = self.initial.loan()
        for part in range(self.parts):
            seen[part :: self.parts] = self.rollout.observations(part)
        self.initial.set(seen)
        if self.tells:
            self.begun.set(self.rollout.begun)

    def state_dict(self) -> dict[str, Any]:
        """Of the environments, which are all there is."""
        return self.rollout.state_dict()

    def form(self) -> dict[str, Any]:
        """Environments look for themselves."""
        return self.rollout.form()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        self.rollout.load_state_dict(state)
        self.unrestored = self.rollout.unrestored

    def step(self) -> None:
        """One step of one part."""
        rollout = self.rollout
        at = self.tag.microstep - self.parts + 1  # with two parts, choices arrive a microstep after they were made
        if at == 0:
            rollout.begin(self.rows)
        t, part = divmod(at, self.parts)
        choices = self.choices.value
        rollout.step(t, choices["action"], {name: choices[name] for name in self.remembered}, part)
        self.observations.set(rollout.observations(part))
        if self.tells:
            ended: Any = self.ended.loan()
            for name in ended.dtype.names:
                ended[name] = self.rows[name][t, part :: self.parts]
            self.ended.set(ended)
        if at == self.last:
            episodes = rollout.finish(round_of(self.tag))
            self.segment.set(self.rows)
            if episodes:
                self.episodes.set(episodes)

    def close(self) -> None:
        """Close the environments at the end of the run."""
        self.failure = self.rollout.failure
        self.rollout.close()
        del self.rows
