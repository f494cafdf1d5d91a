"""How do own steps become sequences, which a recurrent network of agents learns from?

As `sequences` has it for environments, of which all have as many steps as others; agents, and groups of them, do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.replay.sequences import MEMORY, sequence_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from reactors.rl.replay.own_steps import OwnSteps


class OwnSequences:
    """Cuts what `own` makes of joint transitions into sequences of `length`, of which one begins every `period` steps.

    Each stream of own steps has sequences of its own, which go on over ends of episodes. Of what an agent remembers, a
    sequence has that of its first step in it, or of the one before that leads to it. What is not yet long enough waits
    in `rows` (length, streams), of which `n` (streams,) steps are there.
    """

    def __init__(self, own: OwnSteps, length: int, period: int) -> None:
        self.own, self.dtype, self.period = own, own.dtype, period
        self.rows = np.zeros((length, own.rows.size), own.dtype)
        self.n = np.zeros(own.rows.size, np.int64)

    def add(self, played: NDArray[Any]) -> tuple[NDArray[Any], None]:
        """Of joint transitions (steps, environments), the sequences that they complete, the oldest first.

        They are whole, and so of no stream in replay.
        """
        kept, streams = self.own.add(played)
        found = [np.empty(0, sequence_dtype(self.dtype, len(self.rows)))]
        for rows in _one_of_each(streams):
            whose = streams[rows]
            self.rows[self.n[whose], whose] = kept[rows]
            self.n[whose] += 1
            full = whose[self.n[whose] == len(self.rows)]
            if len(full):
                found.append(self._cut(full))
                left = len(self.rows) - self.period
                self.rows[:left, full] = self.rows[self.period :, full]
                self.n[full] = left
        return np.concatenate(found), None

    def _cut(self, streams: NDArray[Any]) -> NDArray[Any]:
        made = np.empty(len(streams), sequence_dtype(self.dtype, len(self.rows)))
        rows = self.rows[:, streams].swapaxes(0, 1)
        for name in self.dtype.names or ():
            made[name] = first_memories(rows) if name == MEMORY else rows[name]
        return made

    def break_off(self, broken_off: NDArray[np.bool_]) -> None:
        """Give up what waits in environments whose episodes go on no more; bool (environments,)."""
        self.own.break_off(broken_off)
        self.n.reshape(self.own.rows.shape)[broken_off] = 0

    def state_dict(self) -> dict[str, Any]:
        """What waits, as steps and for them."""
        rows = {name: self.rows[name].copy() for name in self.dtype.names or ()}
        return {"own": self.own.state_dict(), "n": self.n.copy(), "rows": rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.own.load_state_dict(state["own"])
        self.n[...] = state["n"]
        for name, rows in state["rows"].items():
            self.rows[name] = rows


def first_memories(rows: NDArray[Any]) -> NDArray[np.float32]:
    """What agents remembered before the first step of sequences (n, steps) that asks for it.

    There they act, or what follows is judged by what they would do: they may wait until after the last step.
    """
    memories: NDArray[np.float32] = rows[MEMORY]
    if "acted" not in (rows.dtype.names or ()):  # a step is of one agent
        return memories[:, 0]
    first = (rows["acted"] | rows["next_acted"]).argmax(1)  # (n, agents)
    n, agents = first.shape
    found: NDArray[np.float32] = memories[np.arange(n)[:, None], first, np.arange(agents)]
    return found


def _one_of_each(streams: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """The rows of the first step of each stream, then of the second, and so on."""
    order = np.argsort(streams, kind="stable")
    counts = np.bincount(streams) if len(streams) else np.zeros(0, np.int64)
    place = np.arange(len(streams)) - np.repeat(np.cumsum(counts) - counts, counts)
    return [order[place == k] for k in range(int(counts.max(initial=0)))]
