"""What becomes of an agent's step whose agent waits when a round is over?

It is held until the agent acts again, or its episode ends: what it is given until then belongs to that step. So what is
learned does not depend on where rounds are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.estimates.agents import Presence
from reactors.rl.replay.own_steps import own_step_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors.rl.estimates.agents import Bools, Floats


class HeldSteps:
    """At most one own step of each agent in each environment: in `rows` (environments, agents), where they are `there`.

    A row has the `packed` inputs of the network, of such a size, those `kept` fields of a joint transition that are
    needed to learn from it, and the `reward` so far.
    """

    def __init__(self, environments: int, joint: np.dtype[Any], packed: int, kept: Sequence[str]) -> None:
        own = own_step_dtype(joint)
        fields: list[Any] = [("packed", np.float32, (packed,)), *((name, own[name]) for name in kept)]
        shape = environments, joint["acted"].shape[0]
        self.kept = kept
        self.rows = np.zeros(shape, np.dtype([*fields, ("reward", np.float32)], align=True))
        self.there = np.zeros(shape, np.bool_)

    def first(self, presence: Presence, rewards: Floats) -> tuple[Presence, Floats]:
        """A round's presence and rewards, with one step more in front: the held ones.

        Those whose agents act at once are given up: their environment was made again, and what they led to is lost.
        """
        self.there &= ~presence.acted[0]
        none = np.zeros_like(self.there)
        before = self.there, none, none, none
        longer = (np.concatenate([[row], rows]) for row, rows in zip(before, presence, strict=True))
        return Presence(*longer), np.concatenate([[np.where(self.there, self.rows["reward"], 0)], rewards])

    def of(self, name: str) -> NDArray[Any]:
        """A field of the held steps, in the order of environments and agents."""
        return self.rows[name][self.there]

    def hold(self, presence: Presence, rewards: Floats, own: Mapping[str, NDArray[Any]]) -> None:
        """Hold the steps that are unfinished, of a round with those held so far; `own` are fields of all own steps."""
        unfinished: Bools = presence.unfinished
        which, (_, *where) = unfinished[presence.acted], unfinished.nonzero()
        since = np.arange(len(rewards))[:, None, None] >= presence.last[-1]
        self.there[...] = unfinished.any(0)
        self.rows[...] = np.zeros((), self.rows.dtype)
        self.rows["reward"] = np.where(self.there, (rewards * since).sum(0), 0)
        for name, values in own.items():
            self.rows[name][tuple(where)] = values[which]

    def state_dict(self) -> dict[str, Any]:
        """The held steps."""
        names = self.rows.dtype.names or ()
        return {"there": self.there.copy(), "rows": {name: self.rows[name].copy() for name in names}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        self.there[...] = state["there"]
        for name in self.rows.dtype.names or ():
            self.rows[name] = state["rows"][name]
