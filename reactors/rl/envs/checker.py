"""Does a reactor follow the rules of environments, so that learners can be connected to it?

You can bring your own simulator: any reactor with the ports of `rl.Env` will do. This module runs one with random
actions and reports the rule that it breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import reactors as rx
from reactors.rl.public import public

if TYPE_CHECKING:
    from collections.abc import Callable


_FLAGS = ("terminated", "truncated")
_PORTS = ("observation", "reward", "terminated", "truncated", "next_observation")


class Driver(rx.Reactor):
    """Answers every observation with a random action, and records all outputs."""

    def __init__(self, env: Any, steps: int) -> None:
        self.steps, self.asked, self.lines = steps, 0, list[dict[str, Any]]()
        self.actions: list[Any] = []
        self.action_space = env.action_space
        for name in _PORTS:
            port = getattr(env, name)
            layout = {} if port.dtype is None else {"shape": port.shape, "dtype": port.dtype}
            setattr(self, name, rx.Input(**layout))
        layout = {} if env.action.dtype is None else {"shape": env.action.shape, "dtype": env.action.dtype}
        self.num = getattr(env, "num_envs", None)
        self.action = rx.Output(**layout)
        self.add_reaction([getattr(self, name) for name in _PORTS], self.answer, effects=(self.action, rx.stop))

    def answer(self) -> None:
        """Record the outputs, and act."""
        values = {name: getattr(self, name).value for name in _PORTS}
        kept = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}
        self.lines.append({"tag": self.tag, **kept})
        if self.asked == 0:
            self.action_space.seed(self.seed % 2**31)
        if self.asked == self.steps:
            self.request_stop()
            return
        self.asked += 1
        self.actions.append(self.drawn())
        self.action.set(self.actions[-1])

    def drawn(self) -> Any:
        """A random action, in the port's form."""
        from reactors.rl.envs.spaces import array_type, rows, writer

        where = array_type(self.action_space)
        samples = [self.action_space.sample() for _ in range(self.num or 1)]
        if where.dtype is None:
            return samples[0] if self.num is None else tuple(samples)
        block = rows(where, len(samples))
        put = writer(self.action_space)
        for i, sample in enumerate(samples):
            put(block, i, sample)
        return block[0] if self.num is None else block


class Check(rx.Reactor):
    """An environment and its driver."""

    def __init__(self, env: Any, steps: int) -> None:
        self.env, self.driver = env, Driver(env, steps)
        for name in _PORTS:
            rx.connect(getattr(env, name), getattr(self.driver, name))
        rx.connect(self.driver.action, env.action, after="1 us")


@public("rl.check_env")
def check_env(make: Callable[[], rx.Reactor], *, steps: int = 500, seed: int = 0) -> None:
    """Raise `AssertionError` with the rule that a user's reactor breaks, if it cannot be used like an `rl.Env`.

    `make` makes the reactor; it is called twice, and each reactor is run for `steps` actions. The rules:

    - It has the attributes `observation_space` and `action_space` (of a single environment), an input `action`, and the
      outputs `observation`, `reward`, `terminated`, `truncated` and `next_observation`, with the shapes and dtypes of
      the spaces; if its attribute `num_envs` is not None, all have a leading axis of that length.
    - At startup it sets `observation`, and none of the other outputs.
    - At the tag of every action, and at no other tag, it sets all of them.
    - Observations are in the space.
    - `next_observation` is what the action led to: where no episode ends, it equals `observation`; where one ends, it
      is the final one, and `observation` is the first of the next episode. At least one episode has to end within
      `steps`, and not every episode may begin with the observation with which the last one ended.
    - The same seed gives the same values.

    >>> import reactors.rl as rl
    >>> check_env(lambda: rl.Env("CartPole-v1"), steps=60)
    """
    first = _played(make, steps, seed)
    _check_lines(first)
    _check_equal(first, _played(make, steps, seed))


def broken(rule: str) -> NoReturn:
    """Raise an error for a broken rule."""
    raise AssertionError(rule)


def _played(make: Callable[[], rx.Reactor], steps: int, seed: int) -> Check:
    if not callable(make):
        broken(f"check_env is given {make!r}; give a function that makes the reactor, because it is made twice")
    env = make()
    _check_ports(env)
    main = Check(env, steps)
    rx.run(main, fast=True, seed=seed, timeout=f"{4 * steps + 10} us")
    return main


# ---- ports ----


def _check_ports(made: object) -> None:
    from gymnasium.spaces import Space

    from reactors.rl.envs.spaces import ArrayType, array_type

    env: Any = made
    if not isinstance(made, rx.Reactor):
        own = type(made).__name__
        if callable(getattr(made, "step", None)):
            broken(
                f"{own} is an environment, and this checks reactors; check it with gymnasium.utils.env_checker, or "
                "of many agents with pettingzoo.test.parallel_api_test"
            )
        broken(f"{made!r}, of type {own}, is no reactor; derive its class from rx.Reactor")
    name = type(env).__name__
    for attribute in ("observation_space", "action_space"):
        if not isinstance(getattr(env, attribute, None), Space):
            broken(f"{name} has no {attribute}; set self.{attribute} to a Gymnasium space in __init__")
    obs, act = array_type(env.observation_space), array_type(env.action_space)
    flag, number = ArrayType(np.dtype(bool), ()), ArrayType(np.dtype(np.float64), ())
    wanted = {"action": act, "observation": obs, "next_observation": obs, "reward": number} | dict.fromkeys(
        _FLAGS, flag
    )
    lead = () if getattr(env, "num_envs", None) is None else (env.num_envs,)
    for port_name, where in wanted.items():
        kind: type[rx.Input[Any] | rx.Output[Any]] = rx.Input if port_name == "action" else rx.Output
        port = getattr(env, port_name, None)
        if not isinstance(port, kind):
            broken(f"{name} has no {kind.word} {port_name!r}; declare {port_name} = rx.{kind.__name__}(...)")
        if where.dtype is None:
            continue
        shape = (*lead, *(where.shape or ()))
        if port.dtype != where.dtype or port.shape != shape:
            carries = "objects" if port.dtype is None else f"arrays of shape {port.shape} and dtype {port.dtype}"
            broken(
                f"{port.where()} carries {carries}, and has to carry arrays of shape {shape} and dtype {where.dtype}"
            )


# ---- what came out ----


def _check_lines(main: Check) -> None:
    _check_presence(main)
    name, ended, unchanged = type(main.env).__name__, 0, list[tuple[int, Any]]()
    for n, line in enumerate(main.driver.lines):
        for end, same, following in _checked_step(main, n, line):
            ended += end
            if end and same:
                unchanged.append((n, following))
    if not ended:
        broken(f"{name} ends no episode in {main.driver.steps} random actions; give check_env more steps")
    if len(unchanged) == ended:  # now and then an episode may begin as the last one ended, but not always
        n, following = unchanged[0]
        broken(
            f"{name} gives after action {n}, with which an episode ended, {following!r} as next_observation and as "
            "observation, and so at every end; the first has to be the terminal one (copy it before the reset, if the "
            "simulator reuses its memory), the second that of the reset"
        )


def _check_presence(main: Check) -> None:
    """Check which ports are set at which tags."""
    driver, name = main.driver, type(main.env).__name__
    if not driver.lines or driver.lines[0]["tag"] != (0, 0):
        broken(f"{name} sets no observation at startup; set one in a reaction to rx.startup")
    early = [port for port in _PORTS[1:] if driver.lines[0][port] is not None]
    if early:
        broken(f"{name} sets {', '.join(early)} at startup, when nothing was done yet; set observation alone")
    for n, line in enumerate(driver.lines[1:], 1):
        if line["tag"] != (1000 * n, 0):
            broken(f"{name} sets ports at {line['tag']}, when no action came; set them at the tag of an action")
        missing = [port for port in _PORTS if line[port] is None]
        if missing:
            broken(f"{name} does not set {', '.join(missing)} at the tag of action {n}; set all, at every action")
    if len(driver.lines) != driver.steps + 1:
        broken(f"{name} has no answer to action {len(driver.lines)}; set all at the tag of every action")


def _checked_step(main: Check, n: int, line: dict[str, Any]) -> list[tuple[bool, bool, Any]]:
    """For each environment: whether an episode ended, whether both observations are equal, and the next observation."""
    name, space = type(main.env).__name__, main.env.observation_space
    observations = _single(main, line["observation"])
    for each in observations:
        if not space.contains(each):
            broken(f"{name} gives after action {n} the observation {each!r}, which is not in {space}")
    if not n:
        return []
    over = np.atleast_1d(np.logical_or(line["terminated"], line["truncated"]))
    found = []
    for end, observation, following in zip(over, observations, _single(main, line["next_observation"]), strict=True):
        if not space.contains(following):
            broken(f"{name} gives after action {n} the next_observation {following!r}, which is not in {space}")
        same = _same(following, observation)
        if not end and not same:
            broken(
                f"{name} gives after action {n} the next_observation {following!r} and the observation "
                f"{observation!r}, though no episode ended; both are what the action led to"
            )
        found.append((bool(end), same, following))
    return found


def _single(main: Check, value: Any) -> list[Any]:
    """The values of single environments from a value on a port, in the form of the space."""
    from reactors.rl.envs.spaces import reader

    rows = [value] if main.driver.num is None else list(value)
    rows = [each[()] if isinstance(each, np.ndarray) and each.ndim == 0 else each for each in rows]
    read = reader(main.env.observation_space)
    return rows if read is None else [read(each) for each in rows]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))


def _check_equal(first: Check, second: Check) -> None:
    name = type(first.env).__name__
    for n, (one, other) in enumerate(zip(first.driver.lines, second.driver.lines, strict=False)):
        for port in _PORTS:
            if not (_same(one[port], other[port]) if one[port] is not None else other[port] is None):
                broken(
                    f"{name} gives after action {n} of one run the {port} {one[port]!r} and of another with the same "
                    f"seed {other[port]!r}; draw all random numbers from self.rng, or seed the simulator from self.seed"
                )
