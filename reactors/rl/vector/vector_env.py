"""A vector environment whose environments are reactors: a drop-in for `gymnasium.vector.AsyncVectorEnv`."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from gymnasium.vector import AutoresetMode
from gymnasium.vector.async_vector_env import AsyncState
from gymnasium.vector.utils import batch_differing_spaces, batch_space, concatenate, create_empty_array, iterate

import reactors as rx
from reactors.lowlevel import CRASHES, STUCK_AFTER_S, apart, ending, in_a_reaction, say, stepwise
from reactors.rl.envs.owned import copied, own
from reactors.rl.envs.simulation import error_text, seed_of
from reactors.rl.envs.sources import checked_seeds, makers
from reactors.rl.envs.spaces import array_type
from reactors.rl.errors import SimulationError
from reactors.rl.public import public, refuse_passed_on
from reactors.rl.vector.group import Group
from reactors.rl.vector.lockstep import Beat, Form, Rows
from reactors.rl.vector.whereabouts import Whereabouts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from reactors.lowlevel import Workers
    from reactors.rl.envs.simulation import OnError
    from reactors.rl.envs.sources import Source
    from reactors.rl.envs.vector_simulation import Autoreset
    from reactors.rl.vector.group import Infos

Step = tuple[Any, "NDArray[np.float64]", "NDArray[np.bool_]", "NDArray[np.bool_]", dict[str, Any]]


class Lockstep(rx.Reactor):
    """The program behind a `VectorEnv`."""

    def __init__(self, beat: Beat, rows: list[Rows], *, in_blocks: bool, asynchronous: bool) -> None:
        self.beat, self.rows = beat, rows
        for name in ("actions", "listed", "order") if in_blocks else ("listed", "order"):
            rx.connect(getattr(beat, name), [getattr(each, name) for each in rows], after=0, broadcast=True)
        if asynchronous:
            rx.connect(beat.one, [each.one for each in rows])
            rx.connect([each.answer for each in rows], beat.answer, physical=True)
        for name in ("observations", "rewards", "ended", "infos", "reply"):
            rx.connect([getattr(each, name) for each in rows], getattr(beat, name))


@public("rl.VectorEnv")
class VectorEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """Environments stepped in lock-step by `workers`, of which the caller is the first.

    A drop-in for `gymnasium.vector.AsyncVectorEnv`: the same arguments, results and infos, all three modes of
    automatic resets, seeding, `call`, `get_attr`, `set_attr`, `render`, and the halves of each call (`step_async`,
    `step_wait`). What differs is that consecutive environments share a worker, of which there are as many as cores if
    nothing else is said; worker 0 is this thread, which steps its share in `step_wait`; and that with
    `on_error="restart"` an environment that raises in `step` is made again and its episode truncated
    (`infos["restarted"]` says why, `restarts` how often). If a process dies in a step, or is still at it when the
    timeout of `step_wait` is over, all environments are made again, and all episodes truncated. `isolate` keeps
    environments out of this process. With `asynchronous=True` environments can also be stepped one by one, by `send`
    and `recv`.

    There are never more workers than cores unless `oversubscribe` asks for it: lock-step gains nothing from them, and
    each costs every step a change of process; only environments that wait, for a device or a server, want them.
    `max_concurrency` is another bound of `workers`; any space has shared memory or needs none, `context` and `daemon`
    mean nothing here, and a `worker` function is refused.

    In a reaction, where nothing nests, the reaction's own worker steps all environments, with the same results.

    `env_fns` is a list of functions, or `num_envs` and a name as in `rl.Env`, a spec or a function; what else is
    named goes to the function. Each environment gets its action as it was given: of a list its entry, of an array
    its row, whatever the dtype. With `copy=False`, observations are valid until the next call. Raises
    `rl.SimulationError` for what an environment raises or answers wrongly, with its index and seed and the
    exception as its cause, and `rx.WorkerDied` where its process dies.

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
        if not isinstance(shared_memory, bool | np.bool_):  # as gymnasium.make_vec's users give it
            raise rx.ArgumentError(
                f"rl.VectorEnv was given {shared_memory!r} for shared_memory, which is its second argument, as it is "
                "that of AsyncVectorEnv; name the number of environments: num_envs=..."
            )
        del context, daemon  # of processes and pipes, which are none of ours
        if worker is not None:
            raise rx.ArgumentError(
                "rl.VectorEnv was given worker=, a function for the processes of AsyncVectorEnv, of which it has none; "
                "write what that does as a wrapper of the environments"
            )
        self.env_fns = makers(env_fns, num_envs, kwargs, "rl.VectorEnv")
        n = self.num_envs = len(self.env_fns)
        self.copy, self.observation_mode, self.autoreset_mode = copy, observation_mode, _checked_mode(autoreset_mode)
        if on_error not in {"raise", "restart"}:
            raise rx.ArgumentError(f'on_error of rl.VectorEnv is {on_error!r}; write "raise" or "restart"')
        if isolate and in_a_reaction():
            raise rx.StructureError(
                "rl.VectorEnv(isolate=True) inside of a reaction: nothing nests in a reaction, so its environments are "
                "stepped by the reaction's own worker; leave isolate out"
            )
        if n > 1 or isolate:
            self._check_belongings()
        self._find_spaces(kwargs)
        self.workers = self._number_of_workers(workers, n, max_concurrency, oversubscribe=oversubscribe)
        self._form = _actions_form(self.action_space)
        self._block = (self._form["dtype"], self.action_space.shape) if self._form else None
        self._seeds: list[int | None] = [None] * n
        self._state = AsyncState.DEFAULT
        self._overdue = False
        self.asynchronous, self.isolate = asynchronous, isolate
        self.on_error: OnError = on_error
        self._pending: set[int] = set()  # environments that are stepped one by one, and have not been received
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._end = ""  # what ended it, if it was no close
        self._lost = 0  # environments that were made again with their process
        self._death: Exception | None = None  # of a process, in a step that has not been waited for yet
        self._start()
        self._check_spaces()

    # ---- how it is made ----

    @staticmethod
    def _number_of_workers(workers: Any, n: int, most: Any, *, oversubscribe: bool) -> int:
        cores = len(os.sched_getaffinity(0))
        if workers is None or workers == "auto":
            workers = cores
        if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
            raise rx.ArgumentError(
                f"workers of rl.VectorEnv is {workers!r}; write a whole number, 1 or more, or workers='auto' "
                "for all cores"
            )
        if most is not None and not isinstance(most, int | np.integer):  # in the words of AsyncVectorEnv
            raise ValueError(f"`max_concurrency` must be an integer or None, got {most!r}")
        if most is not None and most < 1:
            raise ValueError(f"`max_concurrency` must be a positive or None, got {most!r}")
        if in_a_reaction():  # nothing nests in a reaction
            return 1
        return int(min(workers, n, 63 if oversubscribe else cores, most or n))

    def _check_belongings(self) -> None:
        """Whether each environment can have a copy of what its function carries, wherever it will be."""
        seen: set[int] = set()
        for i, make in enumerate(self.env_fns):
            if id(make) in seen:
                continue
            seen.add(id(make))
            try:
                copied(make)
            except Exception as error:
                raise SimulationError(
                    f"rl.VectorEnv: environment {i} cannot have a copy of what its function carries "
                    f"({error_text(error)}), and environments share nothing; let the function make all of it at each "
                    "call",
                    i,
                ) from error

    def _find_spaces(self, kwargs: dict[str, Any]) -> None:
        """From an environment that is made for this alone, and from all where they may differ."""
        n, mode = self.num_envs, self.observation_mode
        try:
            probe = own(self.env_fns[0])()  # which may carry one that is used later
        except TypeError as error:
            refuse_passed_on("rl.VectorEnv", VectorEnv, kwargs, error)
            raise
        self.metadata = {**probe.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = probe.render_mode
        self.single_action_space = probe.action_space
        self.action_space = batch_space(self.single_action_space, n)
        self.single_observation_space = probe.observation_space
        probe.close()
        if isinstance(mode, tuple) and len(mode) == 2:
            for space in mode:
                if not isinstance(space, gym.Space):
                    raise TypeError(f"observation_mode of rl.VectorEnv has {space!r}, which is no gymnasium.Space")
            self.observation_space, self.single_observation_space = mode
        elif mode == "same":
            self.observation_space = batch_space(self.single_observation_space, n)
        elif mode == "different":
            spaces = []
            for make in self.env_fns:
                env = own(make)()
                spaces.append(env.observation_space)
                env.close()
            self.single_observation_space = spaces[0]
            self.observation_space = batch_differing_spaces(spaces)
        else:
            raise ValueError(
                f'observation_mode of rl.VectorEnv is {mode!r}; write "same", "different" or a tuple of the space of '
                "all and the space of one"
            )

    def _check_spaces(self) -> None:
        alike = self.observation_mode == "same"
        self._order("compare", alike)
        same = [pair for reply in self._replies() for pair in reply]
        for what, fits in zip(("observation", "action"), zip(*same, strict=True), strict=True):
            if not all(fits):
                self.close()
                form = "the same" if alike or what == "action" else "of one shape and dtype"
                remedy = '; allow it with observation_mode="different"' if alike and what == "observation" else ""
                raise RuntimeError(
                    f"the {what} spaces of the sub-environments of rl.VectorEnv are not {form}: environment "
                    f"{fits.index(False)} has another one than environment 0{remedy}"
                )

    # ---- the program ----

    def _start(self) -> None:
        """The program, and with it the environments."""
        with apart():
            self._make_program()
        self._beat.pause = self._run.pause
        self._go_on()  # makes the environments

    def _make_program(self) -> None:
        n, space = self.num_envs, self.single_observation_space
        room = -(-n // self.workers)
        firsts = range(0, n, room)
        beat = self._beat = Beat(
            len(firsts), room, n, space, self._form, copy=self.copy, asynchronous=self.asynchronous
        )  # fmt: skip
        self._whereabouts = Whereabouts(len(firsts))
        common = room, (space, self.single_action_space), self.autoreset_mode, self._whereabouts
        groups = [Group(self.env_fns[i : i + room], i, *common, on_error=self.on_error) for i in firsts]
        rows = self._rows = [Rows(group, self._form, asynchronous=self.asynchronous) for group in groups]
        first = 1 if self.isolate else 0
        where = {f"main.rows[{i}]": first + i for i in range(len(rows))}
        try:
            self._run = stepwise.Stepwise(
                Lockstep(beat, rows, in_blocks=bool(self._form), asynchronous=self.asynchronous),
                workers=first + len(rows),
                placement=where,
            )
        except BaseException as error:
            self._gone(error)
            raise

    def _made_anew(self, error: Exception) -> Step:
        """After a process has died, or hung: all environments in new ones, and every episode ends, truncated."""
        self._death, self._end = None, ""
        before, self._state = self._observations(), AsyncState.DEFAULT
        last = list(iterate(self.observation_space, before))
        self._run.close(0.0)
        self._whereabouts.close()
        n, self.closed, self._overdue = self.num_envs, False, False
        self._lost += n
        seeds = [None if seed is None else seed_of(seed, self._lost) for seed in self._seeds]
        self._start()
        self._order("reset", seeds, None, None)
        self._replies()
        why = {"restarted": str(error)}
        infos: Infos = [(i, dict(why)) for i in range(n)]
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            before = self._observations()
            infos = [(i, {"final_info": dict(why), "final_obs": last[i], **why}) for i in range(n)]
        else:
            self._order("finish")
            self._replies()
        ended = np.zeros(n, bool), np.ones(n, bool)
        return before, np.zeros(n), *ended, self._infos(infos)

    def _go_on(self, timeout: float | None = None) -> bool:
        """Run to the next pause; False if that took too long. After an error nothing is left of the program."""
        try:
            return self._advanced(timeout)
        except rx.ReactionError as error:
            self._gone(error.__cause__ or error)
            cause = error.__cause__
            if isinstance(cause, SimulationError):
                raise cause from cause.__cause__
            raise
        except rx.WorkerDied as error:
            died = self._died(error)
            self._gone(died)
            raise died from None
        except (rx.WorkerStartError, KeyboardInterrupt) as error:
            self._gone(error)
            self._run.close(stepwise.PATIENCE_S)  # it is not over if Ctrl-C came just before it went on
            raise

    def _advanced(self, timeout: float | None) -> bool:
        """Run to the next pause; on a terminal, say once whom that waits for if it takes long."""
        long = STUCK_AFTER_S
        if not self._terminal or (timeout is not None and timeout <= long):
            return self._run.advance(timeout)
        if self._run.advance(long) or self._run.over:
            return not self._run.over
        say(f"rl.VectorEnv: no answer for {long:g} s from {self._late() or 'its workers'}; Ctrl-C stops it")
        return self._run.advance(None if timeout is None else timeout - long)

    def _late(self) -> str:
        """The environments that have not answered, as far as they are known."""
        return self._spelled([rows.group for rows in self._rows if self._whereabouts.of(rows.group.number) is not None])

    def _died(self, error: rx.WorkerDied) -> rx.WorkerDied:
        """The death of a process, in terms of environments."""
        named = [rows.group for rows in self._rows if f"{rows.path})" in str(error)]
        what, status = self._spelled(named or [rows.group for rows in self._rows]), error.status
        how = f"died: {error}"
        if status is not None and named:
            how = f"{ending(status)}: {_why(status)}"
            if self.on_error == "raise":
                how += '; to go on, with all environments made again, say on_error="restart"'
        died = rx.WorkerDied(f"rl.VectorEnv: the process of {what}, {how}")
        died.status = status
        for note in getattr(error, "__notes__", ()):
            died.add_note(note)
        return died

    def _gone(self, error: BaseException) -> None:
        self.closed, self._end = True, error_text(error)
        self._whereabouts.close()

    def _call(self) -> None:
        """Send out what the beat has been given."""
        if self.asynchronous:
            self._beat.turn.schedule()
        self._go_on()

    def _spelled(self, groups: list[Group]) -> str:
        """Groups of environments by number, and which of them they are at."""
        texts = []
        for group in groups:
            text, at = f"environments {group.first} to {group.own.stop - 1}", self._whereabouts.of(group.number)
            if group.own.stop - group.first == 1:
                text = f"environment {group.first}"
            if at is not None:
                text += f", in environment {group.first + at} (seed {self._seeds[group.first + at]})"
            texts.append(text)
        return "; ".join(texts)

    def _begin(self, state: AsyncState, name: str) -> None:
        """Refuse a call while another one is pending, or after the end."""
        self._assert_is_running()
        if self._state is not AsyncState.DEFAULT:
            raise AlreadyPendingCallError(*self._pending_call(name))
        if self._pending:
            raise AlreadyPendingCallError(
                f"Calling `{name}` while waiting for {len(self._pending)} environments that `send` has stepped; call "
                "`recv` first",
                "send",
            )
        if self._overdue:  # what timed out is over first, and its results are dropped
            self._go_on()
            self._overdue = False
        self._wanted = state

    def _sent(self) -> None:
        """A call is on its way."""
        self._call()
        self._state = self._wanted

    def _wait(self, state: AsyncState, name: str, timeout: float | None) -> None:
        """Wait for what is pending."""
        self._assert_is_running()
        if self._state is not state:
            pending = self._state is not AsyncState.DEFAULT
            instead = f" What is pending is `{self._state.value}`: call `{self._state.value}_wait`." if pending else ""
            raise NoAsyncCallError(
                f"Calling `{name}_wait` without any prior call to `{name}_async`.{instead}", state.value
            )
        late = None if timeout is None else time.monotonic() + timeout
        done = self._go_on(timeout)
        self._state = AsyncState.DEFAULT
        if not done or (late is not None and time.monotonic() > late):
            self._overdue = not done
            raise self._timed_out(f"{name}_wait", timeout)

    def _timed_out(self, name: str, timeout: float | None) -> multiprocessing.TimeoutError:
        late = self._late()
        still = f" Still at work: {late}." if late else ""
        return multiprocessing.TimeoutError(f"The call to `{name}` has timed out after {timeout} second(s).{still}")

    def _order(self, *order: Any) -> None:
        self._beat.next_order = order
        self._call()
        self._go_on()

    def _replies(self) -> list[Any]:
        replies = self._beat.replies
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def _assert_is_running(self) -> None:
        if not self.closed:
            return
        name = type(self).__name__
        if self._end:
            raise ClosedEnvironmentError(
                f"Trying to operate on `{name}`, which has ended with an error; make another one. It was: {self._end}"
            )
        raise ClosedEnvironmentError(f"Trying to operate on `{name}`, after a call to `close()`.")

    def _pending_call(self, name: str) -> tuple[str, str]:
        """Why a call cannot be made now."""
        pending = str(self._state.value)
        why = f"Calling `{name}` while waiting for a pending call to `{pending}` to complete"
        return f"{why}; call `{pending}_wait` first.", pending

    # ---- what users call ----

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those of `options["reset_mask"]`; an int as the seed means seed + index."""
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
            mask = _checked_mask(options.pop("reset_mask"), n)
        self._beat.next_order = ("reset", seeds, options, mask)
        self._seeds = [old if new is None else new for old, new in zip(self._seeds, seeds, strict=True)]
        self._sent()

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, dict[str, Any]]:
        """What the reset gave: observations and infos. Raises `multiprocessing.TimeoutError`."""
        self._wait(AsyncState.WAITING_RESET, "reset", timeout)
        infos = [each for reply in self._replies() for each in reply]
        return self._observations(), self._infos(infos)

    def step(self, actions: Any) -> Step:
        """One step of all environments: observations, rewards, terminations, truncations, infos."""
        self._begin(AsyncState.WAITING_STEP, "step")
        self._beat.next_actions, self._beat.at_once = self._checked(actions), True
        try:
            self._call()
        except rx.WorkerDied as error:
            if self.on_error == "raise":
                raise
            return self._made_anew(error)
        self._beat.at_once = False
        return self._stepped()

    def step_async(self, actions: Any) -> None:
        """Send out the actions; what other workers have begins at once."""
        self._begin(AsyncState.WAITING_STEP, "step_async")
        self._beat.next_actions = self._checked(actions)
        try:
            self._sent()
        except rx.WorkerDied as error:
            if self.on_error == "raise":
                raise
            self._death, self._state, self.closed = error, self._wanted, False

    def step_wait(self, timeout: float | None = None) -> Step:
        """What the step gave. Raises `multiprocessing.TimeoutError`, late if it is an environment of this thread."""
        try:
            if self._death is not None:
                raise self._death
            self._wait(AsyncState.WAITING_STEP, "step", timeout)
        except (rx.WorkerDied, multiprocessing.TimeoutError) as error:
            if self.on_error == "raise":
                raise
            return self._made_anew(error)
        return self._stepped()

    def _stepped(self) -> Step:
        beat = self._beat
        rewards, terminated, truncated = beat.latest
        return self._observations(), rewards, terminated, truncated, self._infos(beat.noted) if beat.noted else {}

    def send(self, actions: Any, env_ids: Sequence[int] | NDArray[np.integer[Any]] | None = None) -> None:
        """Send an action to each of some environments, or to all, which then step at their own pace.

        Their answers are for `recv`; in which order they come is not reproducible. For `asynchronous=True` only.
        """
        self._assert_is_running()
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
        self._beat.next_ones = dict(zip(ids, given, strict=True))
        self._pending.update(ids)
        self._beat.wanted = 0
        self._call()

    def recv(self, batch_size: int | None = None, timeout: float | None = None) -> Step:
        """The answers of the first `batch_size` environments that are ready, of those sent to; all, if none is said.

        As `step` gives them, in the order in which they came; `infos["env_id"]` says which ones they are. Raises
        `multiprocessing.TimeoutError` after `timeout` seconds, and nothing is lost then.
        """
        self._assert_is_running()
        beat, n = self._beat, len(self._pending) if batch_size is None else batch_size
        if not 0 < n <= len(self._pending):
            raise NoAsyncCallError(
                f"Calling `recv` for {n} answers while {len(self._pending)} are pending; `send` actions first", "send"
            )
        beat.wanted = n
        while len(beat.ready) < n:
            if not self._go_on(timeout):
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
            self._batched(np.concatenate(rows) if isinstance(rows[0], np.ndarray) else [row[0] for row in rows]),
            np.array([answer.reward for answer in answers]),
            np.array([answer.terminated for answer in answers]),
            np.array([answer.truncated for answer in answers]),
            infos,
        )

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute; the results, one for each."""
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Send out a call."""
        self._begin(AsyncState.WAITING_CALL, "call_async")
        self._beat.next_order = ("call", name, args, kwargs)
        self._sent()

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """What the call gave. Raises `multiprocessing.TimeoutError`, and what a method raises."""
        self._wait(AsyncState.WAITING_CALL, "call", timeout)
        return tuple(result for reply in self._replies() for result in reply)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment: to its entry of a list or tuple, or all to the same."""
        if not isinstance(values, list | tuple):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(
                "Values must be a list or tuple with length equal to the number of environments. "
                f"Got `{len(values)}` values for {self.num_envs} environments."
            )
        self._begin(AsyncState.DEFAULT, "set_attr")
        self._order("assign", name, list(values))
        self._replies()

    def _each(self, which: list[int], function: Callable[..., Any], args: tuple[Any, ...]) -> dict[int, Any]:
        """What a function says of the environments with these indices."""
        self._begin(AsyncState.DEFAULT, "each")
        self._order("each", which, function, args)
        return dict(pair for reply in self._replies() for pair in reply)

    def render(self) -> tuple[Any, ...]:
        """A picture of every environment, as its render mode has it."""
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
        """How many environments were made again so far, with `on_error="restart"`."""
        if self._run.over:
            return self._lost + sum(rows.group.restarts for rows in self._rows)
        self._begin(AsyncState.DEFAULT, "restarts")
        self._order("restarted")
        return self._lost + int(sum(self._replies()))

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Close the environments and end the workers; with a warning if a call is pending.

        Processes that have not ended after `timeout` seconds are killed, with `terminate` at once, and a second after
        a call that timed out.
        """
        if self._state is not AsyncState.DEFAULT:
            gym.logger.warn(f"Calling `close` while waiting for a pending call to `{self._state.value}` to complete.")
        self._run.close(0.0 if terminate else 1.0 if timeout is None and self._overdue else timeout)
        self._whereabouts.close()

    # ---- values ----

    def _checked(self, actions: Any) -> Any:
        """The actions as they travel: a block of the space's own dtype, or else as they were given, one by one."""
        if actions.__class__ is np.ndarray and (actions.dtype, actions.shape) == self._block:
            return actions
        return self._listed(self.action_space, self.num_envs, actions)

    def _listed(self, space: gym.Space[Any], n: int, actions: Any) -> list[Any]:
        try:
            given = self._one_by_one(space, None if isinstance(actions, str) else actions)  # its letters are none
        except TypeError as error:
            raise rx.ArgumentError(
                f"rl.VectorEnv takes an action of {self.single_action_space} for each of {n} environments, as in "
                f"action_space.sample(), and was given {actions!r}, of type {type(actions).__name__}"
            ) from error
        if len(given) != n:
            raise ValueError(f"{len(given)} actions for {n} environments; give one to each")
        # Environments of this thread look at them later, when the caller may have changed them.
        return [_native(action) for action in deepcopy(given)]

    @staticmethod
    def _one_by_one(space: gym.Space[Any], actions: Any) -> list[Any]:
        """The actions of a batch."""
        return list(iterate(space, actions))

    def _observations(self) -> Any:
        return self._batched(self._beat.batch)

    def _batched(self, batch: Any) -> Any:
        space = self.single_observation_space
        if isinstance(batch, list):
            room: Any = create_empty_array(space, n=len(batch), fn=np.zeros)
            return concatenate(space, batch, room)
        return batch if batch.dtype.names is None else _unpacked(space, batch)

    def _infos(self, listed: Infos) -> dict[str, Any]:
        """All infos as one, as `_add_info` has it; what most episodes end with, which is a lot, goes in at once."""
        n = self.num_envs
        infos: dict[str, Any] = {}
        for i, info in listed:
            if len(info) != 2 or "final_obs" not in info or info["final_info"]:
                infos = self._add_info(infos, info, i)
                continue
            if "final_obs" not in infos:
                infos |= {"final_info": {}, "_final_info": np.zeros(n, bool)}
                infos |= {"final_obs": np.empty(n, object), "_final_obs": np.zeros(n, bool)}
            infos["final_obs"][i] = info["final_obs"]
            infos["_final_obs"][i] = infos["_final_info"][i] = True
        return infos


def _actions_form(space: gym.Space[Any]) -> Form:
    """As a block where all actions have one dtype."""
    where = array_type(space)
    if where.dtype is None or where.dtype.names is not None or isinstance(space, gym.spaces.Tuple):
        return {}
    return {"shape": where.shape, "dtype": where.dtype}


def _checked_mode(given: Any) -> AutoresetMode:
    try:
        return AutoresetMode(given)
    except ValueError:
        raise ValueError(
            f'autoreset_mode of rl.VectorEnv is {given!r}; write "NextStep", "SameStep" or "Disabled"'
        ) from None


def _why(status: int) -> str:
    """Why a process of environments has ended, as far as its status says."""
    if status >= 0:
        return "an environment ended it (os._exit, sys.exit in native code), and has to raise an exception instead"
    if status == -signal.SIGKILL:
        return "if no one killed it, the system was out of memory (see dmesg), so take fewer or smaller environments"
    if -status in CRASHES:
        return "native code of an environment crashed, which with workers=1 a debugger can follow"
    return "another process sent it this signal"


def _native(action: Any) -> Any:
    """An action whose arrays have the machine's byte order, as those have that came through a pipe."""
    if isinstance(action, np.ndarray):
        return action if action.dtype.isnative else action.astype(action.dtype.newbyteorder("="))
    if action.__class__ is dict:
        return {key: _native(part) for key, part in action.items()}
    if action.__class__ in {list, tuple}:
        return action.__class__(map(_native, action))
    return action


def _unpacked(space: gym.Space[Any], block: Any) -> Any:
    """A block of records as the dicts and tuples of arrays that Gymnasium has."""
    if isinstance(space, gym.spaces.Dict):
        return {key: _unpacked(part, block[str(key)]) for key, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_unpacked(part, block[str(i)]) for i, part in enumerate(space.spaces))
    return block


def _checked_mask(mask: Any, n: int) -> list[bool]:
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"`options['reset_mask']` must be a numpy array, got {type(mask)}")
    if mask.dtype != np.bool_:
        raise TypeError(f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}")
    if mask.shape != (n,):
        raise ValueError(f"`options['reset_mask']` must have shape `({n},)`, got {mask.shape}")
    if not mask.any():
        raise ValueError(f"`options['reset_mask']` must have at least one True, got {mask}")
    found: list[bool] = mask.tolist()
    return found
