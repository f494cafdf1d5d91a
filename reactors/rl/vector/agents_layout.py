"""How are the observations and actions of all agents of an environment laid out in memory?

All outputs of an environment at one step are a record, so that a row of environments is a block, as for a single agent.
If all agents have the same space, a field has an axis of agents; if not, it has a field of its own for each agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space, iterate

from reactors.errors import ArgumentError, ParameterError
from reactors.rl.envs.agents.cast import n_actions
from reactors.rl.envs.spaces import WrongValueError, array_type, writer
from reactors.rl.vector import batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.envs.spaces import Space


class ByAgent:
    """Values of a space for each agent: of type (agents, ...) if all spaces are equal, otherwise a record.

    >>> box, two = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2)
    >>> ByAgent((box, box)).dtype, ByAgent((box, two)).dtype.names
    (dtype(('<f4', (2, 2))), ('0', '1'))
    """

    def __init__(self, spaces: Sequence[Space], dtype: Any = None) -> None:
        self.spaces = tuple(spaces)
        self.alike = all(space == spaces[0] for space in spaces)
        kinds = [np.dtype((dtype or where.dtype, where.shape or ())) for where in map(array_type, spaces)]
        self.dtype: np.dtype[Any] = (
            np.dtype((kinds[0].base, (len(kinds), *kinds[0].shape)))
            if self.alike
            else np.dtype([(str(i), kind) for i, kind in enumerate(kinds)], align=True)
        )

    def column(self, block: Any, i: int) -> Any:
        """A view of the values of agent i in all environments."""
        return block[:, i] if self.alike else block[str(i)]

    def given(self, agents: Sequence[Any], block: NDArray[Any]) -> Any:
        """As returned to the caller: an array (environments, agents, ...), or a dict of arrays by agent."""
        if self.alike:
            return batches.batched(self.spaces[0], np.ascontiguousarray(block))
        return {
            agent: batches.batched(space, np.ascontiguousarray(block[str(i)]))
            for i, (agent, space) in enumerate(zip(agents, self.spaces, strict=True))
        }


class AgentsLayout:
    """The record of an environment of a `cast`, and the block of the actions of `n` of them.

    ====================================== =========================================================================
    `observations`, `next_observations`    what to act on next, and what the last actions led to; `ByAgent`
    `present`                              who is there, and acts next, bool (agents,)
    `action_mask`                          `ByAgent`, all True of those that have none; only if the cast is masked
    `ended`                                the episode is over for all, and another one has begun, bool
    `state`, `next_state`                  float32 (size,), with_state
    ====================================== =========================================================================
    """

    def __init__(self, cast: Cast, n: int, *, with_state: bool, path: str) -> None:
        self.cast, self.n, self.with_state, self.path = cast, n, with_state, path
        for what, spaces in (("observations", cast.observations), ("actions", cast.actions)):
            for agent, space in zip(cast.agents, spaces, strict=True):
                if array_type(space).dtype is None:
                    raise ParameterError(
                        f"{path}: {what} of {agent!r} are {space}, which have no fixed size, and lie in no array; wrap "
                        "the environment so that they do"
                    )
        self.observations, self.actions = ByAgent(cast.observations), ByAgent(cast.actions)
        self.masks = ByAgent([gym.spaces.MultiBinary(n_actions(space)) for space in cast.actions], np.bool_)
        fields: list[Any] = [(name, self.observations.dtype) for name in ("observations", "next_observations")]
        fields += [("present", np.bool_, (len(cast.agents),)), ("ended", np.bool_)]
        if cast.masked:
            fields.append(("action_mask", self.masks.dtype))
        if with_state:
            if cast.state is None:
                raise ParameterError(
                    f"{path}: with_state=True, and the environment has no state(); join the observations of all "
                    "agents instead"
                )
            fields += [(name, cast.state.dtype, cast.state.shape) for name in ("state", "next_state")]
        self.dtype = np.dtype(fields, align=True)

    def block(self, actions: Any, present: NDArray[np.bool_]) -> NDArray[Any]:
        """Actions from the caller, (environments, agents, ...) or a dict by agent, as one block.

        Raises `ArgumentError` for other shapes and types, and if the action of a `present` agent is missing.
        """
        block = np.zeros((self.n, *self.actions.dtype.shape), self.actions.dtype.base)
        if isinstance(actions, Mapping):
            names = {str(agent): i for i, agent in enumerate(self.cast.agents)}
            for agent, values in actions.items():
                if str(agent) not in names:
                    raise ArgumentError(f"{self.path} has no agent {agent!r}; there are {', '.join(map(repr, names))}")
                self._take(values, names.pop(str(agent)), block)
            for agent, i in names.items():
                if present[:, i].any():
                    raise ArgumentError(
                        f"{self.path}: step has no actions of {agent!r}, who is there in environment "
                        f"{int(present[:, i].argmax())}; give an array of {self.n}, with any action for absent agents"
                    )
            return block
        if not self.actions.alike:
            raise ArgumentError(
                f"{self.path}: actions of agents differ, and step was given {type(actions).__name__}; give a dict of "
                "arrays by agent"
            )
        array = self._array(actions)
        if block.dtype.names is None and array.shape == block.shape and _fits(array, block):
            block[...] = array
            return block
        for i in range(len(self.cast.agents)):
            self._take(array[:, i], i, block)
        return block

    def _array(self, actions: Any) -> NDArray[Any]:
        try:
            array = np.asarray(actions)
            if array.shape[:2] != (self.n, len(self.cast.agents)):
                raise ValueError(f"is of shape {array.shape}")  # noqa: TRY301 - likewise
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"{self.path}: actions are of shape ({self.n}, {len(self.cast.agents)}, ...), a row for each "
                f"environment and in it one for each agent; what step was given is none ({error})"
            ) from error
        return array

    def _take(self, values: Any, i: int, block: NDArray[Any]) -> None:
        """Copy the actions of agent i in all environments into the block."""
        column, space = self.actions.column(block, i), self.actions.spaces[i]
        who = f"{self.path}: actions of {self.cast.agents[i]!r}"
        try:
            if column.dtype.names is None:
                array = np.asarray(values)
                if array.shape != column.shape:
                    raise ArgumentError(f"{who} are of shape {column.shape}, and step was given {array.shape}")
                if not _fits(array, column):
                    raise ArgumentError(f"{who} are of {column.dtype}, and step was given {array.dtype}; convert them")
                column[...] = array
                return
            put = writer(space)
            for e, each in enumerate(iterate(batch_space(space, self.n), values)):
                put(column, e, each)
        except (TypeError, ValueError, WrongValueError) as error:
            raise ArgumentError(
                f"{who} are those of {space}, one for each of {self.n} environments: {error}"
            ) from error


def _fits(array: NDArray[Any], block: NDArray[Any]) -> bool:
    """Whether the block can take values of the array's type."""
    return np.can_cast(array.dtype, block.dtype, "same_kind")
