"""How do joint transitions become steps that lead to the next choice of those who made them?

An agent, or a group of them, may wait while others act. What it is given meanwhile belongs to its last step, and what
it sees when it acts next is what that step has led to. So there are no rows of those that are absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.replay.n_step import LAST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

OF_ONE = {"reward": "rewards", "terminated": "terminations", "truncated": "truncations"}
"""Names that fields of a joint transition have where the step is one agent's."""


def own_step_dtype(joint: np.dtype[Any]) -> np.dtype[Any]:
    """Of a joint transition, the record of one agent's step: its fields, and `agent`, its place in the group.

    >>> joint = np.dtype([("obs", "f4", (2, 3)), ("acted", "?", (2,)), ("rewards", "f4", (2,)), ("reward", "f4")])
    >>> own_step_dtype(joint)
    dtype([('obs', '<f4', (3,)), ('reward', '<f4'), ('agent', '<i4')], align=True)
    """
    fields: list[Any] = []
    for name in joint.names or ():
        dtype = joint[name]
        if name in OF_ONE:
            fields.append((name, dtype))
        elif name not in ("acted", "next_acted", *OF_ONE.values()):
            fields.append((name, dtype.base, dtype.shape[1:]))
    return np.dtype([*fields, ("agent", np.int32)], align=True)


class OwnSteps:
    """Makes own steps of joint transitions in so many environments: of each agent `apart`, or of all together.

    An own step is complete when its agent, or one of the group, acts next, or the episode ends. Rewards until then are
    added up, and what follows is of the last. Where an episode is broken off while they wait, so that what they would
    see is not known, it is what they saw last. In `rows` (environments, agents), or (environments, 1), are those that
    `waiting` says are not complete. Each of these places is a stream of its own.

    >>> joint = np.dtype([("acted", "?", (1,)), ("next_acted", "?", (1,)), ("rewards", "f4", (1,)), ("reward", "f4"),
    ...                   ("terminated", "?"), ("truncated", "?")], align=True)
    >>> steps, played = OwnSteps(joint, 1, apart=False), np.zeros((3, 1), joint)
    >>> played["acted"][0], played["reward"][:, 0], played["next_acted"][1] = True, [1, 2, 4], True
    >>> rows, streams = steps.add(played)
    >>> rows["reward"].tolist(), streams.tolist()
    ([3.0], [0])
    """

    def __init__(self, joint: np.dtype[Any], environments: int, *, apart: bool) -> None:
        self.apart, self.dtype = apart, own_step_dtype(joint) if apart else joint
        shape = environments, joint["acted"].shape[0] if apart else 1
        self.rows, self.waiting = np.zeros(shape, self.dtype), np.zeros(shape, np.bool_)
        self.last = [name for name in LAST if name in (self.dtype.names or ())]
        self.ends = [name for name in ("terminations", "truncations") if name in (self.dtype.names or ())]
        self.seen = [name for name in self.last if name in ("next_obs", "next_acted", "next_masks")]

    def add(self, played: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Of joint transitions (steps, environments): those that they complete, and the stream of each, int32 (n,)."""
        steps, flags = played[..., None], [played[name] for name in ("acted", "next_acted")]
        if self.apart:
            steps = self._of_each(played)
        else:
            flags = [np.logical_or.reduce(each, axis=2, keepdims=True) for each in flags]
        found, streams, rows = [], [], self.rows
        for step, acts, acts_next in zip(steps, *flags, strict=True):
            held = self.waiting & ~acts
            rows[acts] = step[acts]
            rows["reward"][held] += step["reward"][held]
            for name in self.last:
                rows[name][held] = step[name][held]
            for name in self.ends:
                rows[name][held] |= step[name][held]
            self.waiting |= acts
            unknown = self.waiting & step["truncated"] & ~acts_next
            for name in self.seen:
                rows[name][unknown] = rows[name.removeprefix("next_")][unknown]
            if "next_acted" in self.seen and "terminations" in self.ends:  # of those whose own end is known, none
                rows["next_acted"][unknown] &= ~rows["terminations"][unknown]
            complete = self.waiting & (acts_next | step["terminated"] | step["truncated"])
            self.waiting &= ~complete
            found.append(rows[complete])
            streams.append(np.flatnonzero(complete))
        return np.concatenate(found), np.concatenate(streams).astype(np.int32)

    def _of_each(self, played: NDArray[Any]) -> NDArray[Any]:
        """What each agent did: (steps, environments, agents)."""
        agents = self.rows.shape[1]
        steps = np.zeros((*played.shape, agents), self.dtype)
        for name in self.dtype.names or ():
            if name != "agent":
                steps[name] = played[OF_ONE.get(name, name)]
        steps["agent"] = np.arange(agents)
        return steps

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:
        """Give up what waits in environments whose episodes go on no more; bool (environments,)."""
        self.waiting[broken_off] = False

    def state_dict(self) -> dict[str, Any]:
        """What waits."""
        names = self.dtype.names or ()
        return {"waiting": self.waiting.copy(), "rows": {name: self.rows[name].copy() for name in names}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.waiting[...] = state["waiting"]
        for name, rows in state["rows"].items():
            self.rows[name] = rows
