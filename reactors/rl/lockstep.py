"""The reactors behind `rl.VectorEnv`: rows of environments that all take one step, and the one that gives the beat.

A `Rows` has some of the environments, a few consecutive ones, on its worker. The `Beat` is on the caller's: what it is
told there it sends out, for the next microstep, and what comes back it keeps until the caller looks. A call of which
the caller wants the halves is therefore two tags, with the caller in between, whose own work then runs at the same time
as the environments'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

import reactors as rx
from reactors.rl.spaces import memory, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.group import Group, Infos
    from reactors.rl.spaces import Space

Form = dict[str, Any]  # of a port: shape and dtype, or nothing, and it carries objects


def rows_form(space: Space, room: int) -> Form:
    """A port's form that has so many values of a space."""
    where = memory(space)
    return {} if where.dtype is None else {"shape": (room, *(where.shape or ())), "dtype": where.dtype}


class Rows(rx.Reactor):
    """A group of environments.

    `actions` are those of all environments, as one block, or as a list where they have no common dtype. `order` is a
    tuple: the name of a method of the group, and its arguments; what that returns, or raises, is the `reply`.
    """

    order = rx.Input()
    rewards = rx.Output(shape="room", dtype=np.float64)
    ended = rx.Output(shape=(2, "room"), dtype=np.bool_)  # terminated, truncated
    infos = rx.Output()
    reply = rx.Output()

    def __init__(self, group: Group, actions: Form) -> None:
        self.group, self.room = group, group.room
        form = rows_form(group.observation_space, group.room)
        self.in_block = bool(form)
        self.actions = rx.Input(**actions)
        self.observations = rx.Output(**form)
        self.add_reaction(self.actions, self.step, effects=(self.observations, self.rewards, self.ended, self.infos))
        self.add_reaction(self.order, self.obey, effects=(self.observations, self.reply))

    @rx.reaction(rx.startup)
    def make(self) -> None:
        """Make the environments."""
        self.group.make()

    def step(self) -> None:
        """Step them all."""
        actions = self.actions.value[self.group.own]
        if actions.__class__ is ndarray:
            actions = actions.copy()  # environments may keep them, or write into them
        observations: Any = self.observations.loan() if self.in_block else [None] * len(actions)
        rewards, ended = self.rewards.loan(), self.ended.loan()
        infos = self.group.step(actions, observations, rewards, ended)
        self.observations.set(observations)
        self.rewards.set(rewards)
        self.ended.set(ended)
        if infos:
            self.infos.set(infos)

    def obey(self) -> None:
        """Do what else a vector environment can be asked."""
        done = self.group.obey(self.order.value)
        if self.order.value[0] == "reset" and not isinstance(done, Exception):
            observations, done = done
            self.observations.set(observations)
        self.reply.set(done)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """Close them all."""
        self.group.close()


class Beat(rx.Reactor):
    """Sends out what the caller puts into `next_actions` or `next_order`, and keeps what comes back.

    `batch` is an array, with `copy` a new one every time, or a list where observations are objects; the rest is new at
    every step.
    """

    turn = rx.LogicalAction()
    order = rx.Output()
    rewards = rx.Input(shape="room", dtype=np.float64, width="groups")
    ended = rx.Input(shape=(2, "room"), dtype=np.bool_, width="groups")
    infos = rx.Input(width="groups")
    reply = rx.Input(width="groups")

    pause: Callable[[], None]  # of the run, which is given afterwards
    next_actions: Any = None
    next_order: Any = None
    at_once = False  # whether the caller waits for the answer, and has nothing to do before

    def __init__(
        self, groups: int, room: int, num_envs: int, observation_space: Space, actions: Form, *, copy: bool
    ) -> None:
        self.groups, self.room, self.num_envs, self.copy = groups, room, num_envs, copy
        # The last group may have fewer environments than room; its rows beyond them are cut off with one view of all.
        self.whole: Any = rows(memory(observation_space), groups * room)
        self.batch = self.whole[:num_envs]
        self.actions = rx.Output(**actions)
        self.observations = rx.Input(**rows_form(observation_space, room), width=groups)
        self.add_reaction(self.turn, self.send, effects=(self.actions, self.order))
        self.add_reaction(self.infos, self.note)
        answers = self.observations, self.ended
        self.add_reaction(self.rewards, self.gather, uses=answers, effects=self.turn)
        self.add_reaction(self.reply, self.listen, uses=self.observations, effects=self.turn)

    @rx.reaction(rx.startup, effects=turn)
    def begin(self) -> None:
        """Wait for the first call."""
        # To look a multiport's channels up takes longer than to read them.
        self.all_observations, self.all_rewards, self.all_ended = [*self.observations], [*self.rewards], [*self.ended]
        self.turn.schedule()
        self.pause()

    def send(self) -> None:
        """Pass the caller's wish on."""
        self.told: Infos = []
        if self.next_order is None:
            self.actions.set(self.next_actions)
        else:
            self.order.set(self.next_order)
        self.next_actions = self.next_order = None
        if not self.at_once:
            self.pause()

    def note(self) -> None:
        """What environments said beside their observations."""
        self.told = [info for answer in self.infos if answer.is_present for info in answer.value]

    def gather(self) -> None:
        """The answers to a step."""
        n = self.num_envs
        returns = np.concatenate([each.value for each in self.all_rewards])
        ended = np.concatenate([each.value for each in self.all_ended], 1)
        self.latest = returns[:n], *ended[:, :n]
        self.look()

    def listen(self) -> None:
        """The answers to anything else."""
        self.replies = [answer.value for answer in self.reply]
        if all(each.is_present for each in self.all_observations):
            self.look()
        else:
            self.wait()

    def look(self) -> None:
        """The observations."""
        found = [each.value for each in self.all_observations]
        if found[0].__class__ is ndarray:
            if self.copy:
                self.whole = np.empty_like(self.whole)
            np.concatenate(found, out=self.whole)
            self.batch = self.whole[: self.num_envs]
        else:
            self.batch = [each for group in found for each in group]
        self.wait()

    def wait(self) -> None:
        """Wait for the next call."""
        self.turn.schedule()
        self.pause()
