"""How does a policy answer requests from outside while its program runs?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ValueMismatchError
from reactors.lowlevel import offered
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.envs.observed import Observed
from reactors.rl.errors import NotFiniteError
from reactors.rl.serving.requests import Requests
from reactors.rl.serving.sessions import Sessions, check_session

if TYPE_CHECKING:
    from concurrent.futures import Future

    import gymnasium as gym

    from reactors.rl.contract.algorithm import Policy
    from reactors.rl.serving.statistics import ServingStatistics


class Server(rx.Reactor):
    """A policy that answers requests from any thread of the process that runs the program. Made by `rl.serve`.

    `weights` takes new weights for the policy, float32 (size,), from a learner: what is asked later is answered by
    them. `batch` is how requests enter: a number and observations (n, ...), and of a recurrent policy sessions, whose
    states are in `sessions`.
    """

    weights = rx.Input(shape="size", dtype=np.float32)
    batch = rx.PhysicalAction(tuple)

    offered(weights)

    def __init__(
        self,
        policy: Policy,
        observation_space: gym.Space[Any],
        max_batch: int,
        max_wait: float,
        *,
        stoppable: bool,
        max_sessions: int,
    ) -> None:
        self.policy, self.size, self.updates = policy, policy.size, 0
        self.observed = Observed(observation_space)
        remembers = isinstance(policy, RecurrentPolicy)
        self.sessions = Sessions(policy, max_sessions) if isinstance(policy, RecurrentPolicy) else None
        self.requests = Requests(self._send, max_batch, max_wait, remembers=remembers)
        if stoppable:
            self.halt = rx.PhysicalAction()
            self.add_reaction(self.halt, self.end, effects=rx.stop)

    def request(self, observation: Any, *, session: str | None = None, first: bool = False) -> Future[Any]:
        """Ask for the greedy action for one observation; `asyncio.wrap_future` makes the answer awaitable.

        A recurrent policy goes on from what it remembers of the `session`, any name, with which an episode begins if it
        is new, or if this observation is the `first` of one. Other policies remember nothing, and take no notice.

        Raises `ArgumentError` where a recurrent policy is given no session; `ValueMismatchError` where the shape or
        dtype of the observation is not the space's, or an integer none of a `Discrete`, `MultiDiscrete` or
        `MultiBinary` space; `NotFiniteError` where a number is none, or too large for the dtype; and `NotServingError`
        before the program begins and after its end. A request that is not answered by then has that for its exception.
        """
        self.requests.path = self.path
        try:
            if self.sessions is not None:
                check_session(session, self.path)
            given = self.observed.checked(observation, self.path)
        except (ArgumentError, ValueMismatchError, NotFiniteError):
            self.requests.refuse()
            raise
        return self.requests.put(given, session, first=first)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it serves, so many seconds at most. False if it does not by then, or if its program has ended."""
        return self.requests.wait(timeout)

    def statistics(self) -> ServingStatistics:
        """Counts, batches and percentiles of latency, of this run, or of the last one."""
        return self.requests.statistics()

    def __note__(self) -> str:
        """What `Result.summary()` prints of it."""
        return str(self.statistics())

    def stop(self) -> bool:
        """End the program, if it was made with `stoppable=True`. False if it does not run."""
        if not hasattr(self, "halt"):
            raise ArgumentError(f"{self.path} cannot end its program; say rl.serve(..., stoppable=True)")
        return self.halt.schedule()

    def _send(self, batch: tuple[Any, ...]) -> bool:
        return self.batch.schedule(batch)

    @rx.reaction(rx.startup)
    def open(self) -> None:
        """Requests are taken from now on."""
        self.requests.opened()

    @rx.reaction(weights)
    def load(self) -> None:
        """Answer with these weights from now on."""
        self.policy.load(self.weights.value)
        self.updates += 1

    @rx.reaction(batch)
    def answer(self) -> None:
        """Evaluate the policy once, for all requests of a batch; a session's that are in it one after another."""
        number, observations, *sessions = self.batch.value
        greedy = self.policy.greedy if self.sessions is None else self.sessions.greedy
        actions = np.asarray(greedy(observations, *sessions))
        if actions.shape[:1] != (len(observations),):
            raise ValueMismatchError(
                f"{type(self.policy).__name__}.greedy gave actions of shape {actions.shape} for {len(observations)} "
                "observations; give one for each"
            )
        self.requests.answered(number, actions)

    def end(self) -> None:
        """End the program, as `stop` asked."""
        self.request_stop()

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """Take no more requests; those that wait are refused."""
        self.requests.closed()
