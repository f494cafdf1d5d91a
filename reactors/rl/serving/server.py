"""How does a policy answer requests from outside while its program runs?"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ValueMismatchError
from reactors.rl.algorithms.algorithm import Algorithm, Policy
from reactors.rl.envs.observed import Observed
from reactors.rl.envs.sources import maker, spaces_of
from reactors.rl.errors import NotFiniteError
from reactors.rl.public import public
from reactors.rl.runs.run_folder import RunFolder
from reactors.rl.runs.trained_policy import TrainedPolicy
from reactors.rl.serving.requests import Requests
from reactors.time import duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    import gymnasium as gym
    from numpy.typing import NDArray

    from reactors.rl.envs.sources import Source
    from reactors.rl.serving.statistics import ServingStatistics
    from reactors.time import Duration


class Server(rx.Reactor):
    """A policy that answers requests from any thread of the process that runs the program. Made by `rl.serve`.

    `weights` takes new weights for the policy, float32 (size,), from a learner: what is asked later is answered by
    them. `batch` is how requests enter: a number and observations (n, ...).
    """

    weights = rx.Input(shape="size", dtype=np.float32)
    batch = rx.PhysicalAction(tuple)

    weights._offered = True

    def __init__(
        self, policy: Policy, observation_space: gym.Space[Any], max_batch: int, max_wait: float, *, stoppable: bool
    ) -> None:
        self.policy, self.size, self.updates = policy, policy.size, 0
        self.observed = Observed(observation_space)
        self.requests = Requests(self._send, max_batch, max_wait)
        if stoppable:
            self.halt = rx.PhysicalAction()
            self.add_reaction(self.halt, self.end, effects=rx.stop)

    def request(self, observation: Any) -> Future[Any]:
        """Ask for the greedy action for one observation; `asyncio.wrap_future` makes the answer awaitable.

        Raises `ValueMismatchError` where its shape or dtype is not the space's, or an integer none of a `Discrete`,
        `MultiDiscrete` or `MultiBinary` space; `NotFiniteError` where a number is none, or too large for the dtype; and
        `NotServingError` before the program begins and after its end. A request that is not answered by then has that
        for its exception.
        """
        self.requests.path = self.path
        try:
            given = self.observed.checked(observation, self.path)
        except (ValueMismatchError, NotFiniteError):
            self.requests.refuse()
            raise
        return self.requests.put(given)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it serves, so many seconds at most. False if it does not by then, or if its program has ended."""
        return self.requests.wait(timeout)

    def statistics(self) -> ServingStatistics:
        """Counts, batches and percentiles of latency, of this run, or of the last one."""
        return self.requests.statistics()

    def __note__(self) -> str:
        """For `Result.summary()`."""
        return str(self.statistics())

    def stop(self) -> bool:
        """End the program, if it was made with `stoppable=True`. False if it does not run."""
        if not hasattr(self, "halt"):
            raise ArgumentError(f"{self.path} cannot end its program; say rl.serve(..., stoppable=True)")
        return self.halt.schedule()

    def _send(self, batch: tuple[int, NDArray[Any]]) -> bool:
        return self.batch.schedule(batch)

    @rx.reaction(rx.startup)
    def open(self) -> None:
        """Requests are taken from now on."""
        self.requests.opened()

    @rx.reaction(weights)
    def load(self) -> None:
        """New weights."""
        self.policy.load(self.weights.value)
        self.updates += 1

    @rx.reaction(batch)
    def answer(self) -> None:
        """One evaluation."""
        number, observations = self.batch.value
        actions = np.asarray(self.policy.greedy(observations))
        if actions.shape[:1] != (len(observations),):
            raise ValueMismatchError(
                f"{type(self.policy).__name__}.greedy gave actions of shape {actions.shape} for {len(observations)} "
                "observations; give one for each"
            )
        self.requests.answered(number, actions)

    def end(self) -> None:
        """As was asked."""
        self.request_stop()

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        """No more."""
        self.requests.closed()


@public("rl.serve")
def serve(
    source: str | Path | TrainedPolicy | Policy | Algorithm,
    *,
    env: Source | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    observation_space: gym.Space[Any] | None = None,
    weights: NDArray[np.float32] | None = None,
    max_batch: int = 32,
    max_wait: Duration = "1 ms",
    stoppable: bool = False,
) -> Server:
    """A reactor that answers requests by a policy: that of a run's folder, of what `rl.train` returned, or any.

    Of an algorithm, which `rl.train(..., serve=)` is to train meanwhile, `env` has to be said, as there. Of a policy by
    itself, `observation_space`, and `weights` if none are loaded and none come through the input of that name at the
    start. A batch is sent when `max_batch` requests are there, or when the first of them
    has waited for `max_wait` of physical time and no other batch is on its way. With `stoppable`, `stop()` of the
    server ends the program.

    Raises `ArgumentError`, and `RunFolderError` for a folder that has no policy.

    >>> import threading
    >>> import reactors as rx
    >>> from reactors import rl
    >>> done = rl.train(rl.PPO(num_envs=4, horizon=16, epochs=2), "CartPole-v1", total_steps=256)
    >>> server = rl.serve(done, max_batch=8, max_wait="2 ms", stoppable=True)
    >>> thread = threading.Thread(target=rx.run, args=(server,))
    >>> thread.start()
    >>> server.wait()
    True
    >>> server.request([0.0, 0.1, 0.0, -0.1]).result() in (0, 1)
    True
    >>> server.stop()
    True
    >>> thread.join()
    >>> server.statistics().answered
    1
    """
    given: object = max_batch
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError(f"max_batch of rl.serve is {max_batch!r}; write a whole number, 1 or more")
    seconds = duration(max_wait, "max_wait of rl.serve") / 1e9
    if isinstance(source, Algorithm):
        if env is None:
            raise ArgumentError(
                f'rl.serve({source.name}(...)) is to know the environment; say env=, as in env="CartPole-v1"'
            )
        spaces = spaces_of(maker(env, env_kwargs or {}, "rl.serve"), "rl.serve")
        source.check(*spaces)
        policy, known = source.policy(*spaces), spaces[0]
    elif env is not None or env_kwargs is not None:
        raise ArgumentError("env of rl.serve is for algorithms; leave it out")
    elif isinstance(source, TrainedPolicy):
        policy, known = source.policy, source.spaces[0]
    elif isinstance(source, str | Path):
        folder = RunFolder(source)
        policy, known = folder.policy(), folder.spaces[0]
    elif isinstance(source, Policy):
        policy, known = source, None
    else:
        raise ArgumentError(
            f"rl.serve is given {source!r}; give the folder of a run, what rl.train returned, an rl.Policy, "
            "or an algorithm"
        )
    space = known if observation_space is None else observation_space
    if space is None:
        raise ArgumentError("rl.serve does not know what observations a policy takes; say observation_space=")
    policy = copy.deepcopy(policy)  # its weights may change, and the caller may go on with it
    if weights is not None:
        policy.load(weights)
    return Server(policy, space, max_batch, seconds, stoppable=stoppable)
