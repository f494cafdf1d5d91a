"""A vector environment whose environments are reactors: a drop-in for `gymnasium.vector.AsyncVectorEnv`."""

from __future__ import annotations

import multiprocessing
import time
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError
from gymnasium.vector import AutoresetMode
from gymnasium.vector.async_vector_env import AsyncState
from gymnasium.vector.utils import batch_space, iterate

import reactors as rx
from reactors.lowlevel import in_words
from reactors.rl.envs.agents.mistaken import check_single
from reactors.rl.envs.env import checked_on_error
from reactors.rl.envs.owned import own
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.sources import checked_seeds, makers
from reactors.rl.envs.spaces import array_type
from reactors.rl.public import public, refuse_passed_on
from reactors.rl.vector import arguments, batches
from reactors.rl.vector.group import Group
from reactors.rl.vector.lockstep import Forms
from reactors.rl.vector.lockstep_run import LockstepRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from reactors.lowlevel import Workers
    from reactors.rl.envs.simulation import OnError
    from reactors.rl.envs.sources import Source
    from reactors.rl.envs.vector_simulation import Autoreset
    from reactors.rl.vector.share import Infos
    from reactors.rl.vector.whereabouts import Whereabouts

Step = tuple[Any, "NDArray[np.float64]", "NDArray[np.bool_]", "NDArray[np.bool_]", dict[str, Any]]


@public("rl.VectorEnv")
class VectorEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """Environments stepped in lock-step by `workers`; the caller is the first worker.

    A drop-in for `gymnasium.vector.AsyncVectorEnv`: the same arguments, results and infos, all three autoreset modes,
    seeding, `call`, `get_attr`, `set_attr`, `render`, and the halves of each call (`step_async`, `step_wait`). These
    things differ:

    - Consecutive environments share a worker. By default there are as many workers as cores. Worker 0 is this thread,
      which steps its share in `step_wait`.
    - With `on_error="restart"`, an environment that raises an exception in `step` is made again, and its episode is
      truncated (`infos["restarted"]` says why, `restarts` how often). If a process dies in a step, or is still busy
      after the timeout of `step_wait`, all environments are made again, and all episodes truncated.
    - `isolate` keeps environments out of this process.
    - With `asynchronous=True`, environments can also be stepped one by one, by `send` and `recv`.

    There are never more workers than cores unless `oversubscribe` asks for it. Lock-step gains nothing from more, and
    each costs a context switch at every step; only environments that wait, for a device or a server, need them.
    `max_concurrency` is another bound of `workers`. Every space is in shared memory, or does not need it; `context` and
    `daemon` have no effect here, and a `worker` function is refused.

    In a reaction, where parallel runs do not nest, the reaction's own worker steps all environments, with the same
    results.

    `env_fns` is a list of functions, or `num_envs` and a name as in `rl.Env`, a spec or a function; other keyword
    arguments go to the function. Each environment gets its action as it was given: its entry of a list, or its row of
    an array of any dtype. With `copy=False`, observations are valid until the next call.

    Raises `rl.SimulationError` if an environment raises an exception or returns an invalid result, with its index and
    seed and with the exception as its cause, and `rx.WorkerDied` if its process dies.

    >>> from reactors import rl
    >>> envs = rl.VectorEnv("CartPole-v1", num_envs=4, workers=1)
    >>> obs, infos = envs.reset(seed=1)
    >>> obs.shape, infos
    ((4, 4), {})
    >>> obs, rewards, terminated, truncated, infos = envs.step([0, 1, 0, 1])
    >>> rewards
    array([1., 1., 1., 1.])
    >>> envs.close()
    """

    def __init__(
        self,
        env_fns: Source | Sequence[Source],
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        worker: Any = None,
        observation_mode: Literal["same", "different"] | tuple[gym.Space[Any], gym.Space[Any]] = "same",
        autoreset_mode: Autoreset = AutoresetMode.NEXT_STEP,
        max_concurrency: int | None = None,
        *,
        num_envs: int | None = None,
        workers: Workers | None = None,
        on_error: OnError = "raise",
        oversubscribe: bool = False,
        isolate: bool = False,
        asynchronous: bool = False,
        **kwargs: Any,
    ) -> None:
        del context, daemon  # they are about processes and pipes, which we do not use
        arguments.check_of_others(shared_memory, worker)
        arguments.check_isolate(isolate, "rl.VectorEnv")
        self.on_error: OnError = checked_on_error(on_error, "rl.VectorEnv")
        self.env_fns = makers(env_fns, num_envs, kwargs, "rl.VectorEnv")
        n = self.num_envs = len(self.env_fns)
        self.copy, self.observation_mode = copy, observation_mode
        self.autoreset_mode = arguments.checked_mode(autoreset_mode)
        if n > 1 or isolate:
            arguments.check_belongings(self.env_fns, "rl.VectorEnv")
        self._find_spaces(kwargs)
        self.workers = arguments.number_of_workers(workers, n, max_concurrency, oversubscribe=oversubscribe)
        self._in_block = batches.is_array(self.single_observation_space)
        self._form = batches.actions_form(self.action_space)
        self._block = (self._form["dtype"], self.action_space.shape) if self._form else None
        self.asynchronous, self.isolate = asynchronous, isolate
        self._closed = False
        self._state = AsyncState.DEFAULT
        self._pending: set[int] = set()  # environments stepped one by one, with results not yet received
        self._lost = 0  # restarts of environments with their process
        self._death: Exception | None = None  # a process died in a step that was not waited for yet
        self._run = self._started([None] * n)
        self._check_spaces()

    # ---- how it is made ----

    def _find_spaces(self, kwargs: dict[str, Any]) -> None:
        """Get the spaces from an environment made only for this, and from all environments if they may differ."""
        try:
            probe = own(self.env_fns[0])()  # a copy: it may carry an environment that is used later
        except TypeError as error:
            refuse_passed_on("rl.VectorEnv", VectorEnv, kwargs, error)
            raise
        check_single(probe, "rl.VectorEnv")
        self.metadata = {**probe.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = probe.render_mode
        self.single_action_space = probe.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        probe.close()
        self.observation_space, self.single_observation_space = arguments.observation_spaces(
            self.observation_mode, probe.observation_space, self.env_fns
        )

    def _started(self, seeds: list[int | None]) -> LockstepRun:
        spaces = self.single_observation_space, self.single_action_space

        def group(first: int, room: int, where: Whereabouts) -> Group:
            makers = self.env_fns[first : first + room]
            return Group(makers, first, room, spaces, self.autoreset_mode, where, on_error=self.on_error)

        return LockstepRun(
            group,
            Forms(array_type(spaces[0]), self._form),
            seeds,
            path="rl.VectorEnv",
            workers=self.workers,
            copy=self.copy,
            on_error=self.on_error,
            isolate=self.isolate,
            asynchronous=self.asynchronous,
        )

    def _check_spaces(self) -> None:
        alike = self.observation_mode == "same"
        same = [pair for reply in self._run.order("compare", alike) for pair in reply]
        for what, fits in zip(("observation", "action"), zip(*same, strict=True), strict=True):
            if not all(fits):
                self.close()
                form = "the same" if alike or what == "action" else "of one shape and dtype"
                remedy = '; allow it with observation_mode="different"' if alike and what == "observation" else ""
                raise RuntimeError(
                    f"the {what} spaces of the sub-environments of rl.VectorEnv are not {form}: environment "
                    f"{fits.index(False)} has another one than environment 0{remedy}"
                )

    def _made_again(self, error: Exception) -> Step:
        """After a process died or hung: make all environments again in new processes, and truncate every episode."""
        self._death, self._state = None, AsyncState.DEFAULT
        before, seeds = self._observations(), self._run.seeds
        last = list(iterate(self.observation_space, before))
        self._run.end = in_words(error)  # in case the new one cannot be made
        self._run.close(0.0)
        n = self.num_envs
        self._lost += n
        self._run = run = self._started(seeds)
        again = [None if seed is None else seed_of(seed, self._lost) for seed in seeds]
        told = dict(each for reply in run.order("reset", again, None, None) for each in reply)
        why = {"restarted": str(error)}
        infos: Infos = [(i, dict(why)) for i in range(n)]
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            before = self._observations()
            infos = [(i, {"final_info": dict(why), "final_obs": last[i], **told.get(i, {}), **why}) for i in range(n)]
        else:
            run.order("finish")
        ended = np.zeros(n, bool), np.ones(n, bool)
        return before, np.zeros(n), *ended, self._infos(infos)

    # ---- whether it can be called, and waiting ----

    @property
    def closed(self) -> bool:
        """Whether the environments are gone: closed, or ended by an error."""
        return self._closed or bool(self._run.end)

    @closed.setter
    def closed(self, value: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]  # both read and set
        self._closed = value

    def _begin(self, state: AsyncState, name: str) -> None:
        """Refuse a call while another one is pending, or after the end."""
        if self._closed or self._run.end:
            self._refuse_ended()
        if self._state is not AsyncState.DEFAULT:
            raise AlreadyPendingCallError(*self._pending_call(name))
        if self._pending:
            raise AlreadyPendingCallError(
                f"Calling `{name}` while waiting for {len(self._pending)} environments that `send` has stepped; call "
                "`recv` first",
                "send",
            )
        if self._run.overdue:  # first finish the call that timed out, and drop its results
            self._run.go_on()
            self._run.overdue = False
        self._wanted = state

    def _sent(self) -> None:
        """Send the call out."""
        self._run.call()
        self._state = self._wanted

    def _wait(self, state: AsyncState, name: str, timeout: float | None) -> None:
        """Wait for the pending call."""
        if self.closed:
            self._refuse_ended()
        if self._state is not state:
            pending = self._state is not AsyncState.DEFAULT
            instead = f" What is pending is `{self._state.value}`: call `{self._state.value}_wait`." if pending else ""
            raise NoAsyncCallError(
                f"Calling `{name}_wait` without any prior call to `{name}_async`.{instead}", state.value
            )
        late = None if timeout is None else time.monotonic() + timeout
        done = self._run.go_on(timeout)
        self._state = AsyncState.DEFAULT
        if not done or (late is not None and time.monotonic() > late):
            self._run.overdue = not done
            raise self._timed_out(f"{name}_wait", timeout)

    def _timed_out(self, name: str, timeout: float | None) -> multiprocessing.TimeoutError:
        late = self._run.late()
        still = f" Still at work: {late}." if late else ""
        return multiprocessing.TimeoutError(f"The call to `{name}` has timed out after {timeout} second(s).{still}")

    def _refuse_ended(self) -> NoReturn:
        self._run.refuse_ended(type(self).__name__)

    def _pending_call(self, name: str) -> tuple[str, str]:
        """Why a call cannot be made now."""
        pending = str(self._state.value)
        why = f"Calling `{name}` while waiting for a pending call to `{pending}` to complete"
        return f"{why}; call `{pending}_wait` first.", pending

    # ---- what users call ----

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those in `options["reset_mask"]`; an int as the seed means seed + index."""
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def reset_async(
        self, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> None:
        """Send out a reset."""
        self._begin(AsyncState.WAITING_RESET, "reset_async")
        n = self.num_envs
        seeds = checked_seeds(seed, n, "rl.VectorEnv")
        mask = None
        if options is not None and not isinstance(options, dict):
            raise rx.ArgumentError(f"options of rl.VectorEnv.reset is {options!r}; write a dict, or leave it out")
        if options is not None and "reset_mask" in options:
            options = dict(options)
            mask = batches.checked_mask(options.pop("reset_mask"), n)
        self._run.beat.next_order = ("reset", seeds, self._passed_on(options), mask)
        self._run.seeds = [old if new is None else new for old, new in zip(self._run.seeds, seeds, strict=True)]
        self._sent()

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, dict[str, Any]]:
        """The result of the reset: observations and infos. Raises `multiprocessing.TimeoutError`."""
        self._wait(AsyncState.WAITING_RESET, "reset", timeout)
        infos = [each for reply in self._run.replies() for each in reply]
        return self._observations(), self._infos(infos)

    def step(self, actions: Any) -> Step:
        """One step of all environments: observations, rewards, terminations, truncations, infos."""
        self._begin(AsyncState.WAITING_STEP, "step")
        run = self._run
        beat = run.beat
        beat.next_actions, beat.at_once = self._checked(actions), True
        try:
            run.call()
        except rx.WorkerDied as error:
            if self.on_error == "raise":
                raise
            return self._made_again(error)
        beat.at_once = False
        return self._stepped()

    def step_async(self, actions: Any) -> None:
        """Send out the actions; other workers begin at once."""
        self._begin(AsyncState.WAITING_STEP, "step_async")
        self._run.beat.next_actions = self._checked(actions)
        try:
            self._sent()
        except rx.WorkerDied as error:
            if self.on_error == "raise":
                raise
            self._death, self._state, self._run.end = error, self._wanted, ""

    def step_wait(self, timeout: float | None = None) -> Step:
        """The result of the step. Raises `multiprocessing.TimeoutError`, late if this thread's environment is slow."""
        try:
            if self._death is not None:
                raise self._death
            self._wait(AsyncState.WAITING_STEP, "step", timeout)
        except (rx.WorkerDied, multiprocessing.TimeoutError) as error:
            if self.on_error == "raise":
                raise
            return self._made_again(error)
        return self._stepped()

    def _stepped(self) -> Step:
        beat = self._run.beat
        if beat.refusal is not None:
            error, cause = beat.refusal
            raise error from cause
        rewards, terminated, truncated = beat.latest
        return self._observations(), rewards, terminated, truncated, self._infos(beat.noted) if beat.noted else {}

    def send(self, actions: Any, env_ids: Sequence[int] | NDArray[np.integer[Any]] | None = None) -> None:
        """Send an action to each of some environments, or to all; each then steps at its own pace.

        `recv` returns the results; their order is not reproducible. For `asynchronous=True` only.
        """
        if self.closed:
            self._refuse_ended()
        if self._state is not AsyncState.DEFAULT:
            raise AlreadyPendingCallError(*self._pending_call("send"))
        if not self.asynchronous:
            raise rx.ArgumentError("send of rl.VectorEnv: it is made for lock-step; make it with asynchronous=True")
        ids = list(range(self.num_envs)) if env_ids is None else [int(i) for i in env_ids]
        for i in ids:
            if not 0 <= i < self.num_envs:
                raise ValueError(f"send to environment {i}; they are numbered from 0 to {self.num_envs - 1}")
            if i in self._pending:
                raise ValueError(f"send to environment {i}, which has not answered yet; receive its answer first")
        if len(set(ids)) < len(ids):
            raise ValueError(f"send names an environment twice: {ids}")
        given = self._listed(batch_space(self.single_action_space, len(ids)), len(ids), actions)
        self._run.beat.next_ones = dict(zip(ids, given, strict=True))
        self._pending.update(ids)
        self._run.beat.wanted = 0
        self._run.call()

    def recv(self, batch_size: int | None = None, timeout: float | None = None) -> Step:
        """The results of the first `batch_size` environments that are ready; by default of all that were sent to.

        They have the form of `step`, in the order of their arrival; `infos["env_id"]` has the indices of the
        environments. Raises `multiprocessing.TimeoutError` after `timeout` seconds; then nothing is lost.
        """
        if self.closed:
            self._refuse_ended()
        beat, n = self._run.beat, len(self._pending) if batch_size is None else batch_size
        if not 0 < n <= len(self._pending):
            raise NoAsyncCallError(
                f"Calling `recv` for {n} answers while {len(self._pending)} are pending; `send` actions first", "send"
            )
        beat.wanted = n
        while len(beat.ready) < n:
            if not self._run.go_on(timeout):
                raise self._timed_out("recv", timeout)
        answers, beat.ready = beat.ready[:n], beat.ready[n:]
        self._pending -= {answer.env_id for answer in answers}
        infos: dict[str, Any] = {}
        for at, answer in enumerate(answers):
            for _, info in answer.infos:
                infos = self._add_info(infos, info, at)
        infos["env_id"] = np.array([answer.env_id for answer in answers])
        rows = [answer.observations for answer in answers]
        return (
            batches.batched(
                self.single_observation_space,
                np.concatenate(rows) if isinstance(rows[0], np.ndarray) else [row[0] for row in rows],
            ),
            np.array([answer.reward for answer in answers]),
            np.array([answer.terminated for answer in answers]),
            np.array([answer.truncated for answer in answers]),
            infos,
        )

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute; returns one result for each."""
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Send out a call."""
        self._begin(AsyncState.WAITING_CALL, "call_async")
        self._run.beat.next_order = ("call", name, args, kwargs)
        self._sent()

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """The results of the call. Raises `multiprocessing.TimeoutError`, and the exception of a method."""
        self._wait(AsyncState.WAITING_CALL, "call", timeout)
        return tuple(result for reply in self._run.replies() for result in reply)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment: each to its entry of a list or tuple, or all to the same value."""
        if not isinstance(values, list | tuple):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(
                "Values must be a list or tuple with length equal to the number of environments. "
                f"Got `{len(values)}` values for {self.num_envs} environments."
            )
        self._begin(AsyncState.DEFAULT, "set_attr")
        self._run.order("assign", name, list(values))

    def _each(self, which: list[int], function: Callable[..., Any], args: tuple[Any, ...]) -> dict[int, Any]:
        """The results of a function of the environments with these indices."""
        self._begin(AsyncState.DEFAULT, "each")
        return dict(pair for reply in self._run.order("each", which, function, args) for pair in reply)

    def render(self) -> tuple[Any, ...]:
        """A rendered frame of every environment, in its render mode."""
        return self.call("render")

    @property  # type: ignore[misc]  # as AsyncVectorEnv has it
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the environments."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the environments."""
        return self.get_attr("np_random_seed")

    @property
    def restarts(self) -> int:
        """The number of restarts of environments so far, with `on_error="restart"`."""
        if not self.closed:
            self._begin(AsyncState.DEFAULT, "restarts")
        return self._lost + self._run.restarts

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Close the environments and end the workers; warns if a call is pending.

        Kills processes that have not ended after `timeout` seconds; with `terminate` at once, and after a call that
        timed out, after one second.
        """
        if self._state is not AsyncState.DEFAULT:
            gym.logger.warn(f"Calling `close` while waiting for a pending call to `{self._state.value}` to complete.")
        self._run.close(0.0 if terminate else 1.0 if timeout is None and self._run.overdue else timeout)

    # ---- values ----

    def _checked(self, actions: Any) -> Any:
        """The actions in the form in which they travel: a block of the space's own dtype, or else one by one."""
        if actions.__class__ is np.ndarray and (actions.dtype, actions.shape) == self._block:
            return actions
        return self._listed(self.action_space, self.num_envs, actions)

    def _listed(self, space: gym.Space[Any], n: int, actions: Any) -> list[Any]:
        return batches.listed(self._one_by_one, space, self.single_action_space, n, actions)

    @staticmethod
    def _passed_on(options: dict[str, Any] | None) -> dict[str, Any] | None:
        """The options with which environments are reset."""
        return options

    @staticmethod
    def _one_by_one(space: gym.Space[Any], actions: Any) -> list[Any]:
        """The actions of a batch."""
        return list(iterate(space, actions))

    def _observations(self) -> Any:
        found = self._run.beat.batch
        return found if self._in_block else batches.batched(self.single_observation_space, found)

    def _infos(self, listed: Infos) -> dict[str, Any]:
        """All infos as one dict, as `_add_info` makes it; the usual, large infos at ends are added at once."""
        n = self.num_envs
        infos: dict[str, Any] = {}
        for i, info in listed:
            if (
                info.keys() != {"final_obs", "final_info"}
                or info["final_info"].__class__ is not dict
                or info["final_info"]
            ):
                infos = self._add_info(infos, info, i)
                continue
            if "final_obs" not in infos or "final_info" not in infos:  # an environment may have said one by itself
                none = {"final_info": {}, "_final_info": np.zeros(n, bool)}
                infos = {**none, "final_obs": np.empty(n, object), "_final_obs": np.zeros(n, bool), **infos}
            infos["final_obs"][i] = info["final_obs"]
            infos["_final_obs"][i] = infos["_final_info"][i] = True
        return infos
