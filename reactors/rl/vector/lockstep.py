"""The reactors behind `rl.VectorEnv`: rows of environments, and the one that gives the beat.

A `Rows` has some of the environments, a few consecutive ones, on its worker. The `Beat` is on the caller's: what it is
given there it sends out, for the next microstep, and what comes back it keeps until the caller looks. A call of which
the caller wants the halves is therefore two tags, with the caller in between, whose own work then runs at the same time
as the environments'.

Environments can also be stepped one by one: then their answers come back through physical connections, so none waits
for anybody, and which of them come first is not reproducible.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import ndarray

import reactors as rx
from reactors.rl.envs.spaces import array_type, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.envs.spaces import Space
    from reactors.rl.vector.group import Group, Infos

Form = dict[str, Any]  # of a port: shape and dtype, or nothing, and it carries objects


def rows_form(space: Space, room: int) -> Form:
    """A port's form that has so many values of a space."""
    where = array_type(space)
    return {} if where.dtype is None else {"shape": (room, *(where.shape or ())), "dtype": where.dtype}


class Answer(NamedTuple):
    """What an environment that is stepped by itself says."""

    env_id: int
    observations: Any  # a block, or a list, of one
    reward: float
    terminated: bool
    truncated: bool
    infos: Infos


class Rows(rx.Reactor):
    """A group of environments.

    `actions` are those of all environments, as one block of the space's own dtype, or, as `listed`, one by one, of
    whatever type the caller gave. `order` is a
    tuple: the name of a method of the group, and its arguments; what that returns, or raises, is the `reply`. An action
    in `one` is for one environment alone, which gives an `answer`.
    """

    listed = rx.Input()
    order = rx.Input()
    rewards = rx.Output(shape="room", dtype=np.float64)
    ended = rx.Output(shape=(2, "room"), dtype=np.bool_)  # terminated, truncated
    infos = rx.Output()
    reply = rx.Output()

    def __init__(self, group: Group, actions: Form, *, asynchronous: bool) -> None:
        self.group, self.room = group, group.room
        form = rows_form(group.observation_space, group.room)
        self.in_block = bool(form)
        self.observations = rx.Output(**form)
        answers = self.observations, self.rewards, self.ended, self.infos
        if actions:
            self.actions = rx.Input(**actions)
            self.add_reaction(self.actions, self.step, effects=answers)
        self.add_reaction(self.listed, self.step_listed, effects=answers)
        self.add_reaction(self.order, self.obey, effects=(self.observations, self.reply))
        if not asynchronous:
            return
        self.one = rx.Input(width=self.room)
        self.answer = rx.Output(Answer, width=self.room)
        for i in range(self.room):  # each answers as soon as it can, and not when all of its tag are done
            self.add_reaction(self.one[i], partial(self.step_one, i), effects=self.answer[i])

    @rx.reaction(rx.startup)
    def make(self) -> None:
        """Make the environments, on the worker that steps them."""
        self.group.make()

    def step(self) -> None:
        """Step them all, with a block of actions."""
        self.step_with(self.actions.value[self.group.own].copy())  # environments may keep them, or write into them

    def step_listed(self) -> None:
        """Step them all, with actions as they are."""
        self.step_with([deepcopy(action) for action in self.listed.value[self.group.own]])

    def step_with(self, actions: Any) -> None:
        """Step each with its action."""
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

    def step_one(self, i: int) -> None:
        """Step one of them."""
        self.answer[i].set(Answer(*self.group.step_one(i, deepcopy(self.one[i].value))))

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """Close the environments on the worker that stepped them."""
        self.group.close()


class Beat(rx.Reactor):
    """Sends out what the caller puts into `next_actions` or `next_order`, and keeps what comes back.

    `batch` is an array, with `copy` a new one every time, or a list where observations are objects; the rest is new at
    every step. Actions for single environments come in `next_ones`; their answers wait in `ready`. Where there can be
    such, `turn` is the caller's to schedule, and otherwise each call is the next microstep.
    """

    listed = rx.Output()
    order = rx.Output()
    rewards = rx.Input(shape="room", dtype=np.float64, width="groups")
    ended = rx.Input(shape=(2, "room"), dtype=np.bool_, width="groups")
    infos = rx.Input(width="groups")
    reply = rx.Input(width="groups")

    pause: Callable[[], None]  # of the run
    next_actions: Any = None
    next_order: Any = None
    wanted = 0  # so many answers are waited for
    at_once = False  # whether the caller waits for the answer, and has nothing to do before

    def __init__(
        self,
        groups: int,
        room: int,
        num_envs: int,
        observation_space: Space,
        actions: Form,
        *,
        copy: bool,
        asynchronous: bool,
    ) -> None:
        self.groups, self.room, self.num_envs = groups, room, num_envs
        self.copy, self.asynchronous = copy, asynchronous
        self.next_ones: dict[int, Any] = {}
        self.ready: list[Answer] = []
        # The last group may have fewer environments than room; its rows beyond them are cut off with one view of all.
        self.whole: Any = rows(array_type(observation_space), groups * room)
        self.batch = self.whole[:num_envs]
        self.turn: Any = rx.PhysicalAction() if asynchronous else rx.LogicalAction()
        sent: tuple[Any, ...] = self.listed, self.order
        if actions:
            self.actions = rx.Output(**actions)
            sent = self.actions, *sent
        self.observations = rx.Input(**rows_form(observation_space, room), width=groups)
        next_turn = () if asynchronous else self.turn
        self.add_reaction(rx.startup, self.begin, effects=next_turn)
        self.add_reaction(self.turn, self.send, effects=sent)
        self.add_reaction(self.infos, self.note)
        answers = self.observations, self.ended
        self.add_reaction(self.rewards, self.gather, uses=answers, effects=next_turn)
        self.add_reaction(self.reply, self.listen, uses=self.observations, effects=next_turn)
        if asynchronous:
            self.one = rx.Output(width=groups * room)
            self.answer = rx.Input(Answer, width=groups * room)
            self.add_reaction(self.turn, self.send_ones, effects=self.one)
            self.add_reaction(self.answer, self.queue)

    def begin(self) -> None:
        """Wait for the first call."""
        # To look a multiport's channels up takes longer than to read them.
        self.all_observations, self.all_rewards, self.all_ended = [*self.observations], [*self.rewards], [*self.ended]
        self.rest()

    def send_ones(self) -> None:
        """Pass actions on, each to its environment."""
        for i, action in self.next_ones.items():
            self.one[i].set(action)
        self.next_ones = {}

    def queue(self) -> None:
        """Answers, as they come."""
        before = len(self.ready)
        self.ready += [self.answer[i].value for i in self.answer.present]
        if before < self.wanted <= len(self.ready):
            self.pause()

    def send(self) -> None:
        """Pass the caller's wish on."""
        self.noted: Infos = []
        if self.next_order is not None:
            self.order.set(self.next_order)
        elif self.next_actions.__class__ is list:
            self.listed.set(self.next_actions)
        elif self.next_actions is not None:
            self.actions.set(self.next_actions)
        self.next_actions = self.next_order = None
        if not self.at_once:
            self.pause()

    def note(self) -> None:
        """What environments said beside their observations."""
        self.noted = [info for answer in self.infos if answer.is_present for info in answer.value]

    def gather(self) -> None:
        """The answers to a step."""
        n = self.num_envs
        if self.groups == 1:
            returns, ended = self.all_rewards[0].value.copy(), self.all_ended[0].value.copy()
        else:
            returns = np.concatenate([each.value for each in self.all_rewards])
            ended = np.concatenate([each.value for each in self.all_ended], 1)
        self.latest = returns[:n], ended[0, :n], ended[1, :n]
        self.look()

    def listen(self) -> None:
        """The answers to anything else."""
        self.replies = [answer.value for answer in self.reply]
        if all(each.is_present for each in self.all_observations):
            self.look()
        else:
            self.rest()

    def look(self) -> None:
        """Put the observations of all groups together, in the order of the environments."""
        found = [each.value for each in self.all_observations]
        if found[0].__class__ is ndarray:
            if self.groups == 1 and self.copy:
                self.batch = found[0].copy()
            else:
                if self.copy:
                    self.whole = np.empty(self.whole.shape, self.whole.dtype)
                np.concatenate(found, out=self.whole)
                self.batch = self.whole[: self.num_envs]
        else:
            self.batch = [each for group in found for each in group]
        self.rest()

    def rest(self) -> None:
        """Wait for the next call."""
        if not self.asynchronous:
            self.turn.schedule()
        self.pause()
