"""Which agents may be in an environment, and which of them form a group?

A `Team` is for the learner of a group what an observation space is for the learner of a single agent: it describes the
inputs. Absent agents (not yet there, gone, or waiting for their turn) have rows that nothing reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from reactors.errors import ArgumentError, ParameterError
from reactors.lowlevel import did_you_mean
from reactors.rl.envs.spaces import Space, array_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    Groups = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Cast:
    """All possible agents of an environment, in its order, with their observation and action spaces.

    `observations` do not include action masks; `masked` says whether there are any. `state` is the space of the
    environment's `state()`, frames or a vector; None if it has none.
    """

    agents: tuple[Any, ...]
    observations: tuple[Space, ...]
    actions: tuple[Space, ...]
    state: gym.spaces.Box | None = None
    masked: bool = False
    turns: bool = False
    """Whether they act one at a time, as in PettingZoo's AEC environments."""

    def __str__(self) -> str:
        """As stored in a run's folder, which compares it."""
        return "; ".join(f"{agent}: {space}" for agent, space in zip(self.agents, self.observations, strict=True))

    def whole(self, state: Any) -> NDArray[Any]:
        """The result of the environment's `state()`, as a value of the space `state` if it has as many numbers."""
        assert self.state is not None
        found: NDArray[Any] = np.asarray(state, self.state.dtype)
        return found.ravel() if len(self.state.shape) == 1 else found

    def joined(self) -> gym.spaces.Box:
        """The observations of all agents, concatenated, with zeros for absent agents: float32 (n,)."""
        size = sum(width(space) for space in self.observations)
        return gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def teams(self, groups: Groups | None, *, apart: bool, own: bool, central: bool, path: str) -> tuple[Team, ...]:
        """Its groups, by patterns of names; by default all agents are one group, or with `apart` each agent is one.

        `own` says whether the algorithm can be asked for that.

        Raises `ParameterError` for agents of a group with different spaces, and for agents in two groups or in none.
        """
        found = self._grouped(groups, path)
        if apart:
            found = {str(self.agents[i]): (i,) for members in found.values() for i in members}
        state = (self.joined() if self.state is None else self.state) if central else None
        return tuple(self._team(name, members, state, path, own=own) for name, members in found.items())

    def _grouped(self, groups: Groups | None, path: str) -> dict[str, tuple[int, ...]]:
        if groups is None:
            return {"agents": tuple(range(len(self.agents)))}
        names = [str(agent) for agent in self.agents]
        found: dict[str, tuple[int, ...]] = {}
        whose: dict[int, str] = {}
        for group, patterns in groups.items():
            members = [i for i, name in enumerate(names) if any(fnmatchcase(name, each) for each in patterns)]
            if not members:
                near = next((said for each in patterns if (said := did_you_mean(each, names))), "")
                raise ParameterError(
                    f"group {group!r} of {path} is {', '.join(map(repr, patterns))}, which is the name of no agent"
                    f"{near or f'; there are {some(names)}'}"
                )
            for i in members:
                if i in whose:
                    raise ParameterError(
                        f"agent {names[i]!r} is in two groups of {path}, {whose[i]!r} and {group!r}; let patterns be "
                        "narrower"
                    )
                whose[i] = group
            found[group] = tuple(members)
        if left := [name for i, name in enumerate(names) if i not in whose]:
            verb = "is" if len(left) == 1 else "are"
            raise ParameterError(f"{some(left)} {verb} in no group of {path}; add a group, or a pattern")
        return found

    def _team(self, name: str, members: tuple[int, ...], state: gym.spaces.Box | None, path: str, *, own: bool) -> Team:
        first = members[0]
        apart = "or share=None for a network of its own for each, " if own else ""
        for what, spaces in (("observations", self.observations), ("actions", self.actions)):
            for i in members[1:]:
                if spaces[i] != spaces[first]:
                    raise ParameterError(
                        f"group {name!r} of {path}: {what} of {self.agents[i]!r} are {spaces[i]}, and of "
                        f"{self.agents[first]!r} {spaces[first]}; agents that share a network have the same spaces: "
                        f"write groups={{...}} by pattern, {apart}or pad them with supersuit or a wrapper of yours"
                    )
        return Team(
            name, members, tuple(str(self.agents[i]) for i in members), self.observations[first], state, self.masked
        )


@dataclass(frozen=True)
class Team:
    """A group of agents with the same spaces that act by one network; `members` are their places in the `Cast`.

    `state` is the input of a central critic, if the algorithm has one.
    """

    name: str
    members: tuple[int, ...]
    agents: tuple[str, ...]
    observation_space: Space
    state: gym.spaces.Box | None = None
    masked: bool = False

    def seen(self, action_space: Space) -> np.dtype[Any]:
        """The record dtype of an agent that has to act: `obs`, `agent` (its place in the group), `env` and `mask`."""
        fields: list[Any] = [("obs", _kind(self.observation_space)), ("agent", np.int32), ("env", np.int32)]
        if self.masked:
            fields.append(("mask", np.bool_, (n_actions(action_space),)))
        return np.dtype(fields, align=True)

    def experience(self, action_space: Space, remembered: Mapping[str, Any]) -> np.dtype[Any]:
        """The record dtype of a step of n agents together: a *joint transition*.

        ==================================== ======================================================================
        `obs`, `action`, `next_obs`          of each agent, (n, ...)
        `acted`                              whether it was present and acted, bool (n,); else its rows are unused
        `rewards`                            of each agent, float32 (n,), also of one that waits
        `terminations`, `truncations`        how its episode ended, bool (n,), at the latest with its last action
        `next_acted`                         whether it acts in the next step, on `next_obs`, or would act, if
                                             its episode had not been truncated, bool (n,)
        `masks`, `next_masks`                the allowed actions, bool (n, actions), if there are masks
        `state`, `next_state`                of the environment, for central critics
        `reward`, `terminated`, `truncated`  of the team: the sum of its rewards, and how the episode ended
        ==================================== ======================================================================

        What the policy remembers of each choice is a field (n, ...), too. `next_obs` is what an agent saw after this
        step, if it acted, acts next, or its episode ended.
        """
        n, obs = len(self.members), _kind(self.observation_space)
        each: list[Any] = [("obs", obs), ("action", _kind(action_space)), ("next_obs", obs), ("rewards", np.float32)]
        each += [(name, np.bool_) for name in ("acted", "next_acted", "terminations", "truncations")]
        if self.masked:
            each += [(name, np.dtype((np.bool_, (n_actions(action_space),)))) for name in ("masks", "next_masks")]
        each += remembered.items()
        kinds = [(name, np.dtype(kind)) for name, kind in each]
        fields: list[Any] = [(name, kind.base, (n, *kind.shape)) for name, kind in kinds]
        fields += [("reward", np.float32), ("terminated", np.bool_), ("truncated", np.bool_)]
        if self.state is not None:
            fields += [(name, _kind(self.state)) for name in ("state", "next_state")]
        return np.dtype(fields, align=True)


def width(space: Space) -> int:
    """The size of a network's input for an observation: for a Discrete space, one number for each value.

    Raises `ArgumentError` for spaces that a network cannot take.
    """
    if isinstance(space, gym.spaces.Discrete):
        return int(space.n)
    if not isinstance(space, gym.spaces.Box):
        raise ArgumentError(f"observations are {space}, and networks see those of a Box or a Discrete space")
    return int(np.prod(space.shape))


def n_actions(space: Space) -> int:
    """The number of actions in a mask; 1 for a space without such a number."""
    return int(space.n) if isinstance(space, gym.spaces.Discrete) else 1


def _kind(space: Space) -> DTypeLike:
    where: Any = array_type(space)
    return np.dtype((where.dtype, where.shape))


SOME = 8  # names in a message, which has not room for all of many


def some(names: Sequence[str]) -> str:
    """Names in words; of many, only the first.

    >>> some(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(map(repr, names[:SOME])) + (f" and {len(names) - SOME} others" if len(names) > SOME else "")
