"""Where does the policy of a server come from?"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError
from reactors.lowlevel import duration
from reactors.rl.contract.agents import Company
from reactors.rl.contract.algorithm import Algorithm, Policy
from reactors.rl.public import public
from reactors.rl.runs.environments import environment_of
from reactors.rl.runs.run_folder import RunFolder
from reactors.rl.runs.trained_policy import TrainedPolicy
from reactors.rl.serving.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping

    import gymnasium as gym
    import numpy as np
    from numpy.typing import NDArray

    from reactors.lowlevel import Duration
    from reactors.rl.envs.sources import Source


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
    max_sessions: int = 10_000,
) -> Server:
    """Make a reactor that answers requests with a policy: one from a folder, a checkpoint or `rl.train`, or any other.

    For an algorithm, which `rl.train(..., serve=)` trains meanwhile, give `env`, as there. For a policy by itself, give
    `observation_space`, and `weights` if none are loaded and none come through the input of that name at the start. A
    batch is sent when `max_batch` requests are waiting, or when the first of them has waited for `max_wait` of physical
    time and no other batch is in progress. With `stoppable`, `stop()` of the server ends the program. A recurrent
    policy keeps the state of `max_sessions` sessions, those with the most recent requests. With many agents, a request
    names the agent whose observation it sends.

    Raises `ArgumentError`, and `RunFolderError` for a folder without a policy.

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
    counts: dict[str, object] = {"max_batch": max_batch, "max_sessions": max_sessions}
    for name, given in counts.items():
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise ArgumentError(f"{name} of rl.serve is {given!r}; write a whole number, 1 or more")
    seconds = duration(max_wait, "max_wait of rl.serve") / 1e9
    if isinstance(source, Algorithm):
        if env is None:
            raise ArgumentError(
                f'rl.serve({source.name}(...)) is to know the environment; say env=, as in env="CartPole-v1"'
            )
        _, spaces = environment_of(source, env, env_kwargs or {}, "rl.serve")
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
        policy, known = source, source.cast if isinstance(source, Company) else None
    else:
        raise ArgumentError(
            f"rl.serve is given {source!r}; give the folder of a run, what rl.train returned, an rl.Policy, "
            "or an algorithm"
        )
    if observation_space is not None and isinstance(policy, Company):
        raise ArgumentError("observation_space of rl.serve is of a single agent, and these are many; leave it out")
    space: Any = known if observation_space is None else observation_space
    if space is None:
        raise ArgumentError("rl.serve does not know what observations a policy takes; say observation_space=")
    policy = copy.deepcopy(policy)  # its weights may change, and the caller may still use it
    if weights is not None:
        policy.load(weights)
    return Server(policy, space, max_batch, seconds, stoppable=stoppable, max_sessions=max_sessions)
