"""What are the advantages of agents that come, wait and go?

Time for an agent consists of its own steps, those in which it acts. After one of them comes its next own step, and
rewards in between belong to the last one. So a turn-based game is no different from one in which all act at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Bools = NDArray[np.bool_]


def last_acted(acted: Bools) -> NDArray[np.int64]:
    """The last own step up to each step, (steps, ...); -1 if there is none.

    >>> last_acted(np.array([[False], [True], [False]]))[:, 0].tolist()
    [-1, 1, 1]
    """
    steps = np.arange(len(acted)).reshape(-1, *(1 for _ in acted.shape[1:]))
    found: NDArray[np.int64] = np.maximum.accumulate(np.where(acted, steps, -1), 0)
    return found


def cut_off(acted: Bools, terminated: Bools, truncated: Bools) -> Bools:
    """Where the value of `next_obs` is needed, (steps, ...): truncations, and last own steps of ongoing episodes.

    An agent without an own step in these steps has nothing to evaluate.

    >>> acted = np.array([[True], [False], [True]])
    >>> cut_off(acted, np.array([[False], [True], [False]]), np.zeros((3, 1), bool))[:, 0].tolist()
    [False, False, True]
    """
    wanted = truncated & (last_acted(acted) >= 0)
    going_on = np.ones(acted.shape[1:], np.bool_)
    for t in range(len(acted) - 1, -1, -1):
        going_on &= ~(terminated[t] | truncated[t])
        wanted[t] |= acted[t] & going_on
        going_on &= ~acted[t]
    return wanted


def own_rows(acted: Bools, over: Bools, length: int) -> tuple[NDArray[np.int64], Floats, Bools]:
    """Each agent's own steps of a round in sequence, (steps, environments * agents), for recurrent networks.

    Returns three arrays: the index of each step among all own steps of the round, in the order of `acted`; 1 where the
    next own step belongs to the same episode, whose ends are in `over` (steps, environments, agents); and where there
    are steps, because an agent that waits has fewer. The number of rows is a multiple of `length`, enough for the agent
    with the most own steps; the number of steps in `acted` is such a multiple, too.

    >>> acted = np.array([[True, True], [False, True], [True, True], [False, True]])[:, None]
    >>> rows, going, there = own_rows(acted, np.zeros_like(acted), 1)
    >>> rows[:, 0].tolist(), rows[:, 1].tolist(), there[:, 0].tolist()
    ([0, 3, 0, 0], [1, 2, 4, 5], [True, True, False, False])
    """
    mine = acted.reshape(len(acted), -1)
    numbers = np.cumsum(mine).reshape(mine.shape) - 1
    before: NDArray[np.int64] = np.cumsum(over.reshape(mine.shape), 0) - over.reshape(mine.shape)  # episodes that ended
    most = -(-int(mine.sum(0).max()) // length) * length
    order = np.argsort(~mine, 0, kind="stable")[:most]
    there, number, ended = (np.take_along_axis(each, order, 0) for each in (mine, numbers, before))
    going: Floats = np.ones(order.shape, np.float32)
    going[:-1] = ended[1:] == ended[:-1]
    rows: NDArray[np.int64] = np.where(there, number, 0)
    return rows, going, there.astype(np.bool_)


def agents_advantages(
    rewards: Floats, values: Floats, following: Floats, acted: Bools, terminated: Bools, truncated: Bools,
    gamma: float, lam: float,
) -> Floats:  # fmt: skip
    """Generalised advantages (Schulman et al., 2016, equation 16) of each agent's own steps, (steps, ...); else zeros.

    `values` are those at own steps, `following` those of the next observations where `cut_off` is true. Discounts count
    own steps.

    >>> one = lambda *x: np.array(x, np.float32)[:, None]
    >>> yes = lambda *x: np.array(x, bool)[:, None]
    >>> found = agents_advantages(
    ...     one(1, 2, 4), one(0, 9, 0), one(0, 0, 0), yes(1, 0, 1), yes(0, 0, 1), yes(0, 0, 0), gamma=0.5, lam=1.0
    ... )
    >>> found[:, 0].tolist()  # it waits in the second step, whose reward is of the first one
    [5.0, 0.0, 4.0]
    """
    found = np.zeros_like(values)
    ahead, trace, credit = (np.zeros(values.shape[1:], np.float32) for _ in range(3))
    known = np.zeros(values.shape[1:], np.bool_)
    for t in range(len(values) - 1, -1, -1):
        ended = terminated[t] | truncated[t]
        credit = np.where(ended, np.float32(0), credit) + rewards[t]
        trace = np.where(ended, np.float32(0), trace)
        ahead = np.where(ended, np.where(terminated[t], np.float32(0), following[t]), ahead)
        known |= ended
        now = acted[t]
        delta = credit + np.float32(gamma) * np.where(known, ahead, following[t]) - values[t]
        here = delta + np.float32(gamma * lam) * trace
        found[t] = np.where(now, here, np.float32(0))
        trace, ahead, credit = np.where(now, here, trace), np.where(now, values[t], ahead), np.where(now, 0, credit)
        known |= now
    return found
