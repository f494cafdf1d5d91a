"""How does a policy answer requests from outside while its program runs?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ValueMismatchError
from reactors.lowlevel import offered
from reactors.rl.contract.agents import Company
from reactors.rl.errors import NotFiniteError
from reactors.rl.serving.agents import ManyAgents
from reactors.rl.serving.requests import Requests
from reactors.rl.serving.sessions import check_session
from reactors.rl.serving.single import SingleAgent

if TYPE_CHECKING:
    from concurrent.futures import Future

    import gymnasium as gym

    from reactors.rl.contract.algorithm import Policy
    from reactors.rl.serving.statistics import ServingStatistics


class Server(rx.Reactor):
    """A policy that answers requests from any thread of the process that runs the program. Made by `rl.serve`.

    The input `weights` takes new weights for the policy from a learner, float32 (size,): later requests are answered
    with them. Requests enter through `batch`: a number, the observations in `asked`, and for a recurrent policy
    sessions.
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
        self.asked: SingleAgent | ManyAgents
        if isinstance(policy, Company):
            self.asked = ManyAgents(policy, max_sessions)
        else:
            self.asked = SingleAgent(policy, observation_space, max_sessions)
        self.requests = Requests(self._send, self.asked.gathered, max_batch, max_wait, remembers=self.asked.remembers)
        if stoppable:
            self.halt = rx.PhysicalAction()
            self.add_reaction(self.halt, self.end, effects=rx.stop)

    def request(
        self, observation: Any, *, agent: Any = None, session: str | None = None, first: bool = False
    ) -> Future[Any]:
        """Ask for the greedy action for one observation; `asyncio.wrap_future` makes the answer awaitable.

        With many agents, `agent` is the name of the agent that sees the observation, and the policy of its group
        answers. The observation may be a dict with an `action_mask`, as in PettingZoo.

        A recurrent policy continues from its state for the `session`, which may have any name. An episode begins if the
        session is new, or if this observation is the `first` of an episode; each agent in a session has its own
        episode. Other policies have no state, and ignore both.

        Raises `ArgumentError` if a recurrent policy is given no session, and for an unknown agent; `ValueMismatchError`
        if the observation's shape or dtype does not match the space, if an integer is outside of a `Discrete`,
        `MultiDiscrete` or `MultiBinary` space, or if a mask allows nothing; `NotFiniteError` for a number that is not
        finite, or too large for the dtype; and `NotServingError` before the program begins and after its end. A request
        that is still unanswered at the end gets a `NotServingError` as its exception.
        """
        self.requests.path = self.path
        try:
            if self.asked.remembers:
                check_session(session, self.path)
            given = self.asked.checked(observation, agent, self.path)
        except (ArgumentError, ValueMismatchError, NotFiniteError):
            self.requests.refuse()
            raise
        return self.requests.put(given, session, first=first)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it serves, for at most `timeout` seconds; False if it does not, or if its program ends meanwhile.

        If its program has ended before, it may be run again: with a `timeout` that is waited for, without one the
        answer is False at once.
        """
        return self.requests.wait(timeout)

    def statistics(self) -> ServingStatistics:
        """Counts, batches and percentiles of latency of this run, or of the last one."""
        return self.requests.statistics()

    def __note__(self) -> str:
        """What `Result.summary()` prints of it."""
        return str(self.statistics())

    def stop(self) -> bool:
        """End the program, if it was made with `stoppable=True`. False if it is not running."""
        if not hasattr(self, "halt"):
            raise ArgumentError(f"{self.path} cannot end its program; say rl.serve(..., stoppable=True)")
        return self.halt.schedule()

    def _send(self, batch: tuple[Any, ...]) -> bool:
        return self.batch.schedule(batch)

    @rx.reaction(rx.startup)
    def open(self) -> None:
        """Take requests from now on."""
        self.requests.opened()

    @rx.reaction(weights)
    def load(self) -> None:
        """Use these weights from now on."""
        self.policy.load(self.weights.value)
        self.updates += 1

    @rx.reaction(batch)
    def answer(self) -> None:
        """Evaluate the policy, or each group's, once per batch of requests; a session's requests go one by one."""
        number, *asked = self.batch.value
        self.requests.answered(number, self.asked.answers(*asked))

    def end(self) -> None:
        """End the program, as `stop` asked."""
        self.request_stop()

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """Take no more requests; refuse those that are waiting."""
        self.requests.closed()
