"""What becomes of an agent's step whose agent waits when a round is over?

It is held until the agent acts again, or its episode ends: what it is given until then belongs to that step. So what is
learned does not depend on where rounds are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.encoding.state import check_form
from reactors.rl.estimates.agents import Presence
from reactors.rl.replay.own_steps import own_step_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.estimates.agents import Floats


class HeldSteps:
    """At most one own step of each agent in each environment: where they are `there` (environments, agents), `rows`.

    A row has the `packed` inputs of the network, of such a size, those `kept` fields of a joint transition that are
    needed to learn from it, and the `reward` so far.
    """

    def __init__(self, environments: int, joint: np.dtype[Any], packed: int, kept: Sequence[str]) -> None:
        own = own_step_dtype(joint)
        fields: list[Any] = [("packed", np.float32, (packed,)), *((name, own[name]) for name in kept)]
        self.rows = np.zeros(0, np.dtype([*fields, ("reward", np.float32)], align=True))
        self.there = np.zeros((environments, joint["acted"].shape[0]), np.bool_)

    def first(self, presence: Presence, rewards: Floats) -> tuple[Presence, Floats]:
        """A round's presence and rewards, with one step more in front: the held ones.

        Those whose agents act at once are given up: their environment was made again, and what they led to is lost.
        """
        self.rows = self.rows[~presence.acted[0][self.there]]
        self.there &= ~presence.acted[0]
        none, so_far = np.zeros_like(self.there), np.zeros((1, *self.there.shape), np.float32)
        so_far[0, self.there] = self.rows["reward"]
        before = self.there, none, none, none
        longer = (np.concatenate([[row], rows]) for row, rows in zip(before, presence, strict=True))
        return Presence(*longer), np.concatenate([so_far, rewards])

    def hold(self, presence: Presence, rewards: Floats, own: Mapping[str, NDArray[Any]]) -> None:
        """Hold the steps that are unfinished, of a round with those held so far; `own` are fields of all own steps."""
        unfinished = presence.unfinished
        which, (_, *where) = unfinished[presence.acted], unfinished.nonzero()
        order = np.lexsort(where[::-1])
        since = np.arange(len(rewards))[:, None, None] >= presence.last[-1]
        self.there[...] = unfinished.any(0)
        self.rows = np.zeros(len(order), self.rows.dtype)
        self.rows["reward"] = (rewards * since).sum(0)[self.there]
        for name, values in own.items():
            self.rows[name] = values[which][order]

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:
        """Give up what is held of environments whose episodes go on no more; bool (environments,)."""
        self.rows = self.rows[~broken_off[self.there.nonzero()[0]]]
        self.there[broken_off] = False

    def state_dict(self) -> dict[str, Any]:
        """The held steps."""
        return {"there": self.there.copy(), "rows": {name: self.rows[name] for name in self.rows.dtype.names or ()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`. Raises `StateError` for rows that are not of these fields."""
        self.there[...] = state["there"]
        self.rows = np.zeros(int(self.there.sum()), self.rows.dtype)
        for name in self.rows.dtype.names or ():
            if len(self.rows):
                check_form(self.rows[name], state["rows"][name], f"held.{name}")
            self.rows[name] = state["rows"][name]
