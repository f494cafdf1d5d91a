"""The reactors behind vector environments: rows of environments, and the one that gives the beat.

A `Rows` has some consecutive environments, on its worker. The `Beat` is on the caller's worker: it sends out what the
caller gives it, at the next microstep, and keeps the results until the caller looks. A call that the caller splits into
halves therefore takes two tags, with the caller in between, whose own work then runs at the same time as the
environments.

Environments can also be stepped one by one. Their answers then come back through physical connections, so that none
waits for another; the order of answers is not reproducible.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import reactors as rx
from reactors.rl._rows import joined
from reactors.rl.envs.spaces import ArrayType, rows
from reactors.rl.vector.share import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.vector.share import Infos

Form = dict[str, Any]  # of a port: shape and dtype, or empty for objects


class Forms(NamedTuple):
    """The forms of what travels: an observation, the actions of all as one block, and the shape of its rewards."""

    observation: ArrayType
    actions: Form
    rewards: tuple[int, ...] = ()

    def observations(self, room: int) -> Form:
        """The form of a port for `room` observations."""
        dtype, shape = self.observation
        return {} if dtype is None else {"shape": (room, *(shape or ())), "dtype": dtype}


class Answer(NamedTuple):
    """The result of an environment that is stepped by itself."""

    env_id: int
    observations: Any  # a block, or a list, of one
    reward: float
    terminated: bool
    truncated: bool
    infos: Infos


class Rows(rx.Reactor):
    """A group of environments: single-agent ones, or an `AgentsGroup`.

    `actions` are those of all environments: one block of the space's own dtype, or with `listed` one by one, of any
    type. `order` is a tuple: the name of a method of the group, and its arguments; its result or exception is the
    `reply`. An action in `one` is for one environment alone, which sends an `answer`.
    """

    listed = rx.Input()
    order = rx.Input()
    rewards = rx.Output(shape="of_rewards", dtype=np.float64)
    terminated = rx.Output(shape="of_rewards", dtype=np.bool_)
    truncated = rx.Output(shape="of_rewards", dtype=np.bool_)
    infos = rx.Output()
    reply = rx.Output()

    def __init__(self, group: Any, forms: Forms, *, asynchronous: bool) -> None:
        self.group, self.room = group, group.room
        self.of_rewards, actions = (self.room, *forms.rewards), forms.actions
        form = forms.observations(self.room)
        self.in_block = bool(form)
        self.observations = rx.Output(**form)
        self.finals = rx.Output(**form)  # last observations, in the rows of those that have ended
        answers = self.observations, self.rewards, self.terminated, self.truncated, self.infos, self.finals
        if actions:
            self.actions = rx.Input(**actions)
            plain = np.dtype(actions["dtype"]).names is None
            self.of_numbers = plain and len(actions["shape"]) == 1  # new objects when they come out of an array
            self.add_reaction(self.actions, self.step, effects=answers)
        self.add_reaction(self.listed, self.step_listed, effects=answers)
        self.add_reaction(self.order, self.obey, effects=(self.observations, self.reply))
        if not asynchronous:
            return
        self.one = rx.Input(width=self.room)
        self.answer = rx.Output(Answer, width=self.room)
        for i in range(self.room):  # each answers as soon as it can, not when its whole tag is done
            self.add_reaction(self.one[i], partial(self.step_one, i), effects=self.answer[i])

    @rx.reaction(rx.startup)
    def make(self) -> None:
        """Make the environments, on the worker that steps them."""
        self.group.make()

    def step(self) -> None:
        """Step all environments with a block of actions."""
        actions = self.actions.value[self.group.own]
        self.step_with(actions if self.of_numbers else actions.copy())  # environments may keep theirs, or write into it

    def step_listed(self) -> None:
        """Step all environments with actions as they were given."""
        self.step_with([deepcopy(action) for action in self.listed.value[self.group.own]])

    def step_with(self, actions: Any) -> None:
        """Step each environment with its action."""
        observations: Any = self.observations.loan() if self.in_block else [None] * len(actions)
        rewards, terminated, truncated = self.rewards.loan(), self.terminated.loan(), self.truncated.loan()
        infos: Any
        try:
            infos = self.group.step(actions, observations, rewards, terminated, truncated, self.lend)
        except RefusedError as refused:
            infos = refused.error, refused.error.__cause__
        self.observations.set(observations)
        self.rewards.set(rewards)
        self.terminated.set(terminated)
        self.truncated.set(truncated)
        if infos:
            self.infos.set(infos)

    def lend(self) -> Any:
        """Memory for last observations; asking for it also sends it."""
        block = self.finals.loan()
        self.finals.set(block)
        return block

    def obey(self) -> None:
        """Run any other request to a vector environment."""
        done = self.group.obey(self.order.value)
        if self.order.value[0] == "reset" and not isinstance(done, Exception):
            observations, done = done
            self.observations.set(observations)
        self.reply.set(done)

    def step_one(self, i: int) -> None:
        """Step one environment."""
        self.answer[i].set(Answer(*self.group.step_one(i, deepcopy(self.one[i].value))))

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """Close the environments on the worker that stepped them."""
        self.group.close()


class Beat(rx.Reactor):
    """Sends out what the caller puts into `next_actions` or `next_order`, and keeps the results.

    `batch` is an array, with `copy` a new one every time, or a list if observations are objects; everything else is new
    at every step. Actions for single environments go into `next_ones`; their answers wait in `ready`. With these, the
    caller schedules `turn`; otherwise, each call is the next microstep.
    """

    listed = rx.Output()
    order = rx.Output()
    rewards = rx.Input(shape="of_rewards", dtype=np.float64, width="groups")
    terminated = rx.Input(shape="of_rewards", dtype=np.bool_, width="groups")
    truncated = rx.Input(shape="of_rewards", dtype=np.bool_, width="groups")
    infos = rx.Input(width="groups")
    reply = rx.Input(width="groups")

    pause: Callable[[], None]  # of the run
    next_actions: Any = None
    next_order: Any = None
    wanted = 0  # the number of answers to wait for
    at_once = False  # whether the caller waits for the answer at once

    def __init__(
        self,
        groups: int,
        room: int,
        num_envs: int,
        forms: Forms,
        *,
        copy: bool,
        asynchronous: bool,
    ) -> None:
        self.groups, self.room, self.num_envs = groups, room, num_envs
        self.copy, self.asynchronous = copy, asynchronous
        self.next_ones: dict[int, Any] = {}
        self.ready: list[Answer] = []
        self.of_rewards, actions = (room, *forms.rewards), forms.actions
        self.batch: Any = rows(forms.observation, num_envs)
        self.turn: Any = rx.PhysicalAction() if asynchronous else rx.LogicalAction()
        sent: tuple[Any, ...] = self.listed, self.order
        if actions:
            self.actions = rx.Output(**actions)
            sent = self.actions, *sent
        form = forms.observations(room)
        self.in_block = bool(form)
        self.observations = rx.Input(**form, width=groups)
        next_turn = () if asynchronous else self.turn
        self.add_reaction(rx.startup, self.begin, effects=next_turn)
        self.add_reaction(self.turn, self.send, effects=sent)
        self.finals = rx.Input(**form, width=groups)
        answers = self.observations, self.terminated, self.truncated
        self.add_reaction(self.infos, self.note)
        self.add_reaction(self.finals, self.note_ends, uses=answers[1:])
        self.add_reaction(self.rewards, self.gather, uses=answers, effects=next_turn)
        self.add_reaction(self.reply, self.listen, uses=self.observations, effects=next_turn)
        if asynchronous:
            self.one = rx.Output(width=groups * room)
            self.answer = rx.Input(Answer, width=groups * room)
            self.add_reaction(self.turn, self.send_ones, effects=self.one)
            self.add_reaction(self.answer, self.queue)

    def begin(self) -> None:
        """Wait for the first call."""
        self.rest()

    def send_ones(self) -> None:
        """Pass each action on to its environment."""
        for i, action in self.next_ones.items():
            self.one[i].set(action)
        self.next_ones = {}

    def queue(self) -> None:
        """Keep answers as they come."""
        before = len(self.ready)
        self.ready += [self.answer[i].value for i in self.answer.present]
        if before < self.wanted <= len(self.ready):
            self.pause()

    def send(self) -> None:
        """Pass the caller's request on."""
        self.noted: Infos = []
        self.refusal: Any = None
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
        """Keep the infos of the environments, or the error of one that refused to be stepped."""
        said = [self.infos[i].value for i in self.infos.present]
        self.refusal = next((each for each in said if each.__class__ is tuple), None)
        self.noted = [info for each in said if each.__class__ is list for info in each]

    def note_ends(self) -> None:
        """Note ends of episodes with no info but the last observation; others have been noted."""
        known = {i for i, _ in self.noted}
        for group in self.finals.present:
            over, last = self.terminated[group].value | self.truncated[group].value, self.finals[group].value
            for row in over.nonzero()[0].tolist():
                i = group * self.room + row
                if i not in known:
                    self.noted.append((i, {"final_info": {}, "final_obs": last[row].copy()}))
        if known:
            self.noted.sort(key=itemgetter(0))

    def gather(self) -> None:
        """Keep the answers to a step."""
        n = self.num_envs
        self.latest = joined(self.rewards.array, n), joined(self.terminated.array, n), joined(self.truncated.array, n)
        self.look()

    def listen(self) -> None:
        """Keep the answers to anything else."""
        self.replies = self.reply.value
        if len(self.observations.present) == self.groups:
            self.look()
        else:
            self.rest()

    def look(self) -> None:
        """Join the observations of all groups, in the order of the environments."""
        if not self.in_block:
            self.batch = [each for group in self.observations.value for each in group]
        elif self.copy:
            self.batch = joined(self.observations.array, self.num_envs)
        else:
            self.batch[...] = joined(self.observations.array, self.num_envs)
        self.rest()

    def rest(self) -> None:
        """Wait for the next call."""
        if not self.asynchronous:
            self.turn.schedule()
        self.pause()


class Lockstep(rx.Reactor):
    """The program behind a vector environment: the beat, and its rows."""

    def __init__(self, beat: Beat, rows: list[Rows], *, in_blocks: bool, asynchronous: bool) -> None:
        self.beat, self.rows = beat, rows
        for name in ("actions", "listed", "order") if in_blocks else ("listed", "order"):
            rx.connect(getattr(beat, name), [getattr(each, name) for each in rows], after=0, broadcast=True)
        if asynchronous:
            rx.connect(beat.one, [each.one for each in rows])
            rx.connect([each.answer for each in rows], beat.answer, physical=True)
        for name in ("observations", "rewards", "terminated", "truncated", "finals", "infos", "reply"):
            rx.connect([getattr(each, name) for each in rows], getattr(beat, name))
