"""What does a recurrent policy remember of those who ask?

Each session has a state of its own, by its name. A session of which nothing was asked for longest is forgotten where
there are too many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from reactors.rl.contract.recurrent import RecurrentPolicy


def check_session(session: object, path: str) -> None:
    """Refuse what is no name of a session."""
    if not isinstance(session, str) or not session:
        raise ArgumentError(
            f"{path} answers by a policy that remembers, and session of its request is {session!r}; name whose "
            'episode the observation is of, as in request(observation, session="robot 7")'
        )


class Sessions:
    """The states of at most `most` sessions, each float32 (width,), and the answers that make them go on.

    Where there are many agents, each has a state of its own in a session, whose name is then that and the agent's.
    """

    def __init__(self, policy: RecurrentPolicy, most: int) -> None:
        self.policy, self.most = policy, most
        self.states: dict[Hashable, NDArray[np.float32]] = {}  # the one that was asked last is the last

    def greedy(self, observations: NDArray[Any], names: Sequence[Hashable], first: NDArray[np.bool_]) -> NDArray[Any]:
        """The actions for a batch. Where a session is in it more than once, each goes on from the one before."""
        actions: Any = None
        left = [*range(len(names))]
        while left:
            turn = {names[i]: i for i in reversed(left)}  # of each session the first that is left
            rows = sorted(turn.values())
            states = self.policy.fresh(len(rows))
            for state, i in zip(states, rows, strict=True):
                known = self.states.pop(names[i], None)
                if known is not None and not first[i]:
                    state[:] = known
            chosen = np.asarray(self.policy.greedy(observations[rows], states))
            if len(rows) == len(names):
                actions = chosen
            else:
                actions = np.empty((len(names), *chosen.shape[1:]), chosen.dtype) if actions is None else actions
                actions[rows] = chosen
            self.states |= {names[i]: state.copy() for state, i in zip(states, rows, strict=True)}
            left = [i for i in left if i not in set(rows)]
        for name in [*self.states][: max(0, len(self.states) - self.most)]:
            del self.states[name]
        found: NDArray[Any] = actions
        return found
