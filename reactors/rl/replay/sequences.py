"""How are steps cut into sequences for recurrent networks?

A sequence is one row of a replay buffer, just as a transition is one row for other networks: it is drawn as a whole,
with one priority (Kapturowski et al., "Recurrent Experience Replay in Distributed Reinforcement Learning", R2D2, ICLR
2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.encoding.state import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

STATE, MEMORY = "state", "memory"
"""What the state of a recurrent policy is called in experience: of a single agent, and of many."""


def sequence_dtype(step: np.dtype[Any], length: int) -> np.dtype[Any]:
    """The record dtype of a sequence of `length` steps: fields (length, ...), and the first step's recurrent state.

    The recurrent state is the field `state`; with many agents, where `state` is the environment's, it is `memory`.

    >>> sequence_dtype(np.dtype([("reward", "f4"), ("state", "f4", (2,))]), 3)
    dtype([('reward', '<f4', (3,)), ('state', '<f4', (2,))], align=True)
    """
    fields: list[Any] = []
    names = step.names or ()
    first = MEMORY if MEMORY in names else STATE
    for name in names:
        dtype = step[name]
        fields.append((name, dtype.base, dtype.shape if name == first else (length, *dtype.shape)))
    return np.dtype(fields, align=True)


class Sequences:
    """Cuts the steps of several environments into sequences of `length`, of which one begins every `period` steps.

    Sequences overlap if `period` is less than `length`, and continue across the ends of episodes. Steps that do not yet
    make up a sequence wait for the next round, in `rows` (length, environments), of which the first `n` are filled.

    >>> step = np.dtype([("reward", "f4"), ("state", "f4", (1,))], align=True)
    >>> cut, played = Sequences(step, 1, length=3, period=2), np.zeros((4, 1), step)
    >>> played["reward"][:, 0] = played["state"][:, 0, 0] = [0, 1, 2, 3]
    >>> cut.add(played)["reward"].tolist()
    [[0.0, 1.0, 2.0]]
    >>> again = cut.add(played)
    >>> again["reward"].tolist(), again["state"].tolist()
    ([[2.0, 3.0, 0.0], [0.0, 1.0, 2.0]], [[2.0], [0.0]])
    """

    def __init__(self, step: np.dtype[Any], environments: int, length: int, period: int) -> None:
        self.period, self.dtype = period, sequence_dtype(step, length)
        self.rows, self.n = np.zeros((length, environments), step), 0

    def add(self, played: NDArray[Any]) -> NDArray[Any]:
        """Add steps (steps, environments); returns complete sequences, the oldest of all environments first."""
        found, at, length = [], 0, len(self.rows)
        while at < len(played):
            some = min(length - self.n, len(played) - at)
            self.rows[self.n : self.n + some] = played[at : at + some]
            self.n, at = self.n + some, at + some
            if self.n == length:
                found.append(self._cut())
                self.n = length - self.period
                self.rows[: self.n] = self.rows[self.period :].copy()
        return np.concatenate(found) if found else np.empty(0, self.dtype)

    def _cut(self) -> NDArray[Any]:
        made = np.empty(self.rows.shape[1], self.dtype)
        for name in self.dtype.names or ():
            made[name] = self.rows[name][0] if name == STATE else self.rows[name].swapaxes(0, 1)
        return made

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:
        """Let the last waiting steps of environments be the last of their episodes; bool (environments,)."""
        if self.n:
            last = self.rows[self.n - 1]
            last["truncated"] |= broken_off & ~last["terminated"]

    def state_dict(self) -> dict[str, Any]:
        """The waiting steps."""
        return {"n": self.n, "rows": {name: self.rows[name].copy() for name in self.rows.dtype.names or ()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        self.n = count(state["n"])
        for name, rows in state["rows"].items():
            self.rows[name] = rows
