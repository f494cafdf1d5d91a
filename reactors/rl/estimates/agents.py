"""What are the advantages of agents that come, wait and go?

Time for an agent consists of its own steps, those in which it acts. After one of them comes its next own step, and
rewards in between belong to the last one. So a turn-based game is no different from one in which all act at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Bools = NDArray[np.bool_]


class Presence(NamedTuple):
    """When agents act, whether they act in the next step, and when their episodes end; each bool (steps, ...).

    >>> acts = np.array([[True], [False], [True], [False]])
    >>> never = np.zeros((4, 1), bool)
    >>> Presence(acts, never, never, never).unfinished[:, 0].tolist()  # it waits for what comes in the next round
    [False, False, True, False]
    >>> Presence(acts, acts[::-1], never, never).beyond[:, 0].tolist()  # here it acts next
    [False, False, False, True]
    """

    acted: Bools
    next_acted: Bools
    """Also true where an episode is truncated and the last observation is known."""
    terminated: Bools
    truncated: Bools

    @property
    def ended(self) -> Bools:
        """Where episodes end."""
        return self.terminated | self.truncated

    @property
    def last(self) -> NDArray[np.int64]:
        """The last own step up to each step, (steps, ...); -1 if there is none."""
        steps = np.arange(len(self.acted)).reshape(-1, *(1 for _ in self.acted.shape[1:]))
        found: NDArray[np.int64] = np.maximum.accumulate(np.where(self.acted, steps, -1), 0)
        return found

    @property
    def unfinished(self) -> Bools:
        """The last own steps of agents that still wait after the last step: not all of their rewards are known."""
        last = self.last[-1]
        steps = np.arange(len(self.acted)).reshape(-1, *(1 for _ in last.shape))
        over = (self.ended & (steps >= last)).any(0)
        found: Bools = (steps == last) & ~over & ~self.next_acted[-1]
        return found

    @property
    def beyond(self) -> Bools:
        """Where the value of the next observation is needed: at truncations, and in the last step."""
        found = self.truncated & self.next_acted
        found[-1] |= self.next_acted[-1] & ~self.terminated[-1]
        return found & (self.last >= 0)


def own_rows(acted: Bools, ended: Bools, length: int) -> tuple[NDArray[np.int64], Floats, Bools]:
    """Each agent's own steps of a round in sequence, (steps, environments * agents), for recurrent networks.

    Returns three arrays: the index of each step among all own steps of the round, in the order of `acted`; 1 where the
    next own step belongs to the same episode, given where episodes have `ended`; and where there are steps, because an
    agent that waits has fewer. The number of rows is a multiple of `length`, enough for the agent with the most own
    steps, which may have as many as the greatest multiple in `acted`.

    >>> acted = np.array([[True, True], [False, True], [True, True], [False, True]])[:, None]
    >>> rows, going, there = own_rows(acted, np.zeros_like(acted), 1)
    >>> rows[:, 0].tolist(), rows[:, 1].tolist(), there[:, 0].tolist()
    ([0, 3, 0, 0], [1, 2, 4, 5], [True, True, False, False])
    """
    mine = acted.reshape(len(acted), -1)
    numbers = np.cumsum(mine).reshape(mine.shape) - 1
    before: NDArray[np.int64] = np.cumsum(ended.reshape(mine.shape), 0) - ended.reshape(mine.shape)
    most = -(-int(mine.sum(0).max()) // length) * length
    order = np.argsort(~mine, 0, kind="stable")[:most]
    there, number, past = (np.take_along_axis(each, order, 0) for each in (mine, numbers, before))
    going: Floats = np.ones(order.shape, np.float32)
    going[:-1] = past[1:] == past[:-1]
    rows: NDArray[np.int64] = np.where(there, number, 0)
    return rows, going, there.astype(np.bool_)


def agents_advantages(
    rewards: Floats, values: Floats, following: Floats, presence: Presence, gamma: float, lam: float
) -> Floats:
    """Generalised advantages (Schulman et al., 2016, equation 16) of own steps that are finished, (steps, ...); else 0.

    `values` are those at own steps, `following` those of the next observations `beyond`. Where an episode is truncated
    while an agent waits, so that what it would see is not known, its last own step's value takes that place. Discounts
    count own steps.

    >>> one = lambda *x: np.array(x, np.float32)[:, None]
    >>> yes = lambda *x: np.array(x, bool)[:, None]
    >>> presence = Presence(yes(1, 0, 1), yes(0, 1, 0), yes(0, 0, 1), yes(0, 0, 0))
    >>> agents_advantages(one(1, 2, 4), one(0, 9, 0), one(0, 0, 0), presence, gamma=0.5, lam=1.0)[:, 0].tolist()
    [5.0, 0.0, 4.0]
    """
    acted, next_acted, terminated, truncated = presence
    ended, unfinished = presence.ended, presence.unfinished
    stood = np.take_along_axis(values, np.maximum(presence.last, 0), 0)
    following = np.where(truncated & ~next_acted, stood, following)
    found = np.zeros_like(values)
    ahead, trace, credit = following[-1], *(np.zeros(values.shape[1:], np.float32) for _ in range(2))
    for t in range(len(values) - 1, -1, -1):
        credit = np.where(ended[t], np.float32(0), credit) + rewards[t]
        trace = np.where(ended[t], np.float32(0), trace)
        ahead = np.where(ended[t], np.where(terminated[t], np.float32(0), following[t]), ahead)
        delta = credit + np.float32(gamma) * ahead - values[t]
        here = np.where(unfinished[t], np.float32(0), delta + np.float32(gamma * lam) * trace)
        now = acted[t]
        found[t] = np.where(now, here, np.float32(0))
        trace, ahead, credit = np.where(now, here, trace), np.where(now, values[t], ahead), np.where(now, 0, credit)
    return found
