"""Environments with many agents, stepped in lock-step by several workers, for your own training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import ResetNeeded

import reactors as rx
from reactors.lowlevel import in_words
from reactors.rl.envs.agents.sources import agents_maker, cast_of
from reactors.rl.envs.env import checked_on_error
from reactors.rl.envs.simulation import seed_of
from reactors.rl.envs.sources import checked_seeds, makers
from reactors.rl.envs.spaces import ArrayType
from reactors.rl.public import public, refuse_passed_on
from reactors.rl.vector import arguments
from reactors.rl.vector.agents_group import AgentsGroup
from reactors.rl.vector.agents_layout import AgentsLayout
from reactors.rl.vector.lockstep import Forms
from reactors.rl.vector.lockstep_run import LockstepRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from reactors.lowlevel import Workers
    from reactors.rl.envs.simulation import OnError
    from reactors.rl.envs.spaces import Space
    from reactors.rl.vector.share import Infos
    from reactors.rl.vector.whereabouts import Whereabouts

    Step = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]

PATH = "rl.MultiAgentVectorEnv"


@public(PATH)
class MultiAgentVectorEnv:
    """PettingZoo environments stepped in lock-step by `workers`; the caller is the first worker.

    The counterpart of `rl.VectorEnv` for many agents, acting at once (parallel) or in turn (AEC). `env` is a name as in
    `rl.MultiAgentEnv`, a function, or a list of functions, one for each environment; `kwargs` go to it. All
    environments have the same possible `agents`; their order is that of the axis of agents.

    ========================= ========================================================================================
    observations              what to act on next, (num_envs, agents, ...), zeros for agents that are absent. A dict
                              of arrays (num_envs, ...) by agent if their spaces differ
    rewards                   of each agent in this step, also of one that waits its turn: float64 (num_envs, agents)
    terminated, truncated     whether and how an agent's episode ended with this step, bool (num_envs, agents)
    `infos` ["present"]       which agents have to act next, bool (num_envs, agents)
    ["action_mask"]           which actions are allowed, bool (num_envs, agents, actions) or a dict, if there are masks;
                              all True for agents that are absent
    ["next_observations"]     what the step led to, in the form of observations, for agents that got a new one: at an
                              end, the last observation of that episode
    ["ended"]                 whether the environment's episode is over for all, and another one has begun, bool
                              (num_envs,); agents that were waiting see the end only here
    ["episodes"]              an `rl.Episode` for each of these; none for those that were lost with a process
    ["state"], ["next_state"] with `with_state`: the `state()` that belongs to observations, and to next_observations,
                              float32 (num_envs, size)
    ["info"]                  the infos that belong to observations, {environment: {agent: info}}, without masks
    ["final_info"]            the same for the last observations of agents that are gone
    ["restarted"]             {environment: why}, with `on_error="restart"`
    ========================= ========================================================================================

    `reset` returns observations and infos, `step` all five. An episode is over when no agent is left; the next one
    begins in the same step. Every array is new, and is never overwritten. Actions of absent agents are ignored. The
    environments behave the same on any number of workers. `isolate` keeps them out of this process, and `oversubscribe`
    allows more workers than cores.

    Raises `rl.SimulationError` if an environment raises an exception or returns an invalid result, with its index and
    seed and with the exception as its cause, and `rx.WorkerDied` if its process dies. With `on_error="restart"` it is
    made again instead, and the agents that were present are truncated.

    >>> from reactors import rl
    >>> envs = rl.MultiAgentVectorEnv("classic/rps_v2", num_envs=3, workers=1, max_cycles=2)
    >>> observations, infos = envs.reset(seed=1)
    >>> envs.agents, observations.shape, infos["present"].all()
    (('player_0', 'player_1'), (3, 2), np.True_)
    >>> observations, rewards, terminated, truncated, infos = envs.step([[0, 1], [1, 1], [1, 0]])
    >>> rewards.tolist()
    [[-1.0, 1.0], [0.0, 0.0], [1.0, -1.0]]
    >>> envs.close()
    """

    def __init__(
        self,
        env: str | Callable[..., Any] | Sequence[Callable[..., Any]],
        num_envs: int | None = None,
        *,
        workers: Workers | None = None,
        with_state: bool = False,
        on_error: OnError = "raise",
        oversubscribe: bool = False,
        isolate: bool = False,
        **kwargs: Any,
    ) -> None:
        arguments.check_isolate(isolate, PATH)
        self.on_error: OnError = checked_on_error(on_error, PATH)
        self._makers = makers(env, num_envs, kwargs, PATH, agents_maker)
        n = self.num_envs = len(self._makers)
        if n > 1 or isolate:
            arguments.check_belongings(self._makers, PATH)
        try:
            cast = cast_of(self._makers[0], PATH)
        except rx.ParameterError as error:
            refuse_passed_on(PATH, MultiAgentVectorEnv, kwargs, error.__cause__)
            raise
        self.agents = cast.agents
        self.workers = arguments.number_of_workers(workers, n, oversubscribe=oversubscribe, path=PATH)
        self.isolate = isolate
        self._cast, self._layout = cast, AgentsLayout(cast, n, with_state=with_state, path=PATH)
        self._closed, self._lost = False, 0
        self._latest: Any = None  # the records of all environments, once they have been reset
        self._run = self._started([None] * n)
        self._check_alike()

    def _started(self, seeds: list[int | None]) -> LockstepRun:
        layout = self._layout

        def group(first: int, room: int, where: Whereabouts) -> AgentsGroup:
            return AgentsGroup(self._makers[first : first + room], first, room, layout, where, on_error=self.on_error)

        actions = layout.actions.dtype
        form = {"shape": (self.num_envs, *actions.shape), "dtype": actions.base}
        return LockstepRun(
            group,
            Forms(ArrayType(layout.dtype, ()), form, (len(self.agents),)),
            seeds,
            path=PATH,
            workers=self.workers,
            on_error=self.on_error,
            isolate=self.isolate,
        )

    def _check_alike(self) -> None:
        fits = [each for reply in self._run.order("compare") for each in reply]
        if not all(fits):
            self.close()
            raise rx.ParameterError(
                f"{PATH}: environment {fits.index(False)} has other agents, or spaces of theirs, than environment 0; "
                "give environments that differ in neither"
            )

    # ---- what users call ----

    def observation_space(self, agent: Any) -> Space:
        """The observation space of an agent, without its action mask."""
        return self._layout.observations.spaces[self._place(agent)]

    def action_space(self, agent: Any) -> Space:
        """The action space of an agent."""
        return self._layout.actions.spaces[self._place(agent)]

    def reset(self, *, seed: int | Sequence[int | None] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every environment; an int as the seed means seed + index."""
        self._check_open()
        run, seeds = self._run, checked_seeds(seed, self.num_envs, PATH)
        run.seeds = [old if new is None else new for old, new in zip(run.seeds, seeds, strict=True)]
        infos = [each for reply in run.order("reset", seeds) for each in reply]
        self._latest = run.beat.batch
        return self._observations("observations"), self._infos(infos, of_step=False)

    def step(self, actions: Any) -> Step:
        """Step all environments, with an array (num_envs, agents, ...) or a dict of arrays by agent.

        Raises `reactors.ArgumentError` for invalid actions; then nothing is stepped.
        """
        self._check_begun("step")
        run = self._run
        run.beat.next_actions = self._layout.block(actions, self._latest["present"])
        run.beat.at_once = True
        try:
            run.call()
        except rx.WorkerDied as error:
            if self.on_error == "raise":
                raise
            return self._made_again(error)
        finally:
            run.beat.at_once = False
        self._latest = run.beat.batch
        return self._observations("observations"), *run.beat.latest, self._infos(run.beat.noted)

    def state(self) -> NDArray[np.float32]:
        """The current `state()` of every environment, float32 (num_envs, size); after an end, that of the next episode.

        States that are frames, uint8 with three axes, keep their shape and dtype.
        """
        self._check_begun("state")
        if self._cast.state is None:
            raise rx.ArgumentError(f"{PATH}: its environments have no state(); join the observations of all agents")
        return np.stack([each for reply in self._run.order("states") for each in reply])

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute; returns one result for each."""
        self._check_open()
        if name in {"reset", "step", "close"}:
            raise rx.ArgumentError(f"{PATH}: {name} of environments cannot be called by name; use {name}() itself")
        return tuple(result for reply in self._run.order("call", name, args, kwargs) for result in reply)

    @property
    def closed(self) -> bool:
        """Whether the environments are gone: closed, or ended by an error."""
        return self._closed or bool(self._run.end)

    @property
    def restarts(self) -> int:
        """The number of restarts of environments so far, with `on_error="restart"`."""
        return self._lost + self._run.restarts

    def close(self, timeout: float | None = None) -> None:
        """Close the environments and end the workers; kill those that take more than `timeout` seconds."""
        if not self._closed:
            self._closed = True
            self._run.close(timeout)

    def __del__(self) -> None:
        if hasattr(self, "_run"):  # `__init__` has succeeded
            self.close()

    # ---- parts ----

    def _place(self, agent: Any) -> int:
        if agent not in self.agents:
            raise rx.ArgumentError(f"{PATH} has no agent {agent!r}; there are {', '.join(map(repr, self.agents))}")
        return self.agents.index(agent)

    def _check_open(self) -> None:
        if self.closed:
            self._run.refuse_ended(type(self).__name__)

    def _check_begun(self, what: str) -> None:
        self._check_open()
        if self._latest is None:
            raise ResetNeeded(f"{PATH}: {what} before the first reset; call reset first")

    def _made_again(self, error: Exception) -> Step:
        """After a process died: make all environments again in new processes, and truncate every episode."""
        before, seeds, n = self._latest, self._run.seeds, self.num_envs
        self._run.end = in_words(error)  # in case the new one cannot be made
        self._run.close(0.0)
        self._lost += n
        self._run = run = self._started(seeds)
        replies = run.order("reset", [None if seed is None else seed_of(seed, self._lost) for seed in seeds])
        told = dict(each for reply in replies for each in reply)  # with the episodes that begin
        latest = self._latest = run.beat.batch
        latest["next_observations"], latest["ended"] = before["observations"], True
        if self._layout.with_state:
            latest["next_state"] = before["state"]
        infos: Infos = [(i, {**told.get(i, {}), "restarted": str(error)}) for i in range(n)]
        shape = before["present"].shape
        ends = np.zeros(shape, bool), before["present"].copy()
        return self._observations("observations"), np.zeros(shape), *ends, self._infos(infos)

    def _observations(self, name: str) -> Any:
        return self._layout.observations.given(self.agents, self._latest[name])

    def _infos(self, listed: Infos, *, of_step: bool = True) -> dict[str, Any]:
        """Everything except observations, in one dict."""
        latest, layout = self._latest, self._layout
        infos: dict[str, Any] = {"present": np.ascontiguousarray(latest["present"])}
        if layout.cast.masked:
            infos["action_mask"] = layout.masks.given(self.agents, latest["action_mask"])
        if layout.with_state:
            infos["state"] = np.ascontiguousarray(latest["state"])
        if of_step:
            infos |= {"next_observations": self._observations("next_observations"), "ended": latest["ended"].copy()}
            if layout.with_state:
                infos["next_state"] = np.ascontiguousarray(latest["next_state"])
            infos["episodes"] = [said["episodes"] for _, said in listed if "episodes" in said]
        for name in ("info", "final_info", "restarted") if of_step else ("info",):
            infos[name] = {i: said[name] for i, said in listed if name in said}
        return infos
