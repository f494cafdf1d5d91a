"""Which method of an algorithm breaks the contract?

Most mistakes show before anything runs: a policy acts once on some observations, as an actor would use it. What only
learning can show is checked when the learner receives it. An `ArgumentError` names class and method, fact and remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch

from reactors.errors import ArgumentError, ValueMismatchError
from reactors.rl.contract.algorithm import Learning, Policy
from reactors.rl.contract.chosen import Chosen
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.contract.signatures import check_signatures
from reactors.rl.envs.agents.cast import Team
from reactors.rl.envs.spaces import array_type, rows, writer
from reactors.rl.networks.layers import Flat
from reactors.rl.replay.transition import transition_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.networks.layers import Descent


def check_learning(algorithm: Algorithm, learning: Any) -> NDArray[np.float32]:
    """Refuse what `learning()` should not have returned; returns its initial weights."""
    if not isinstance(learning, Learning):
        raise ArgumentError(
            f"{type(algorithm).__name__}.learning() returned {_kind(learning)}; let it return an rl.Learning"
        )
    check_signatures(learning, Learning, algorithm.name)
    where = f"{type(learning).__name__}.weights() of {algorithm.name}"
    weights: Any = learning.weights()
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float32 or weights.ndim != 1:
        raise ArgumentError(
            f"{where} returned {_kind(weights)}; let it return a float32 array with one axis, as networks.Flat.fetch "
            "does"
        )
    for each in learning.flats:
        if not isinstance(each, Flat):
            raise ArgumentError(
                f"{type(learning).__name__}.flats of {algorithm.name} has {_kind(each)}; let each be a networks.Flat"
            )
    found: NDArray[np.float32] = weights
    return found


def check_policy(
    algorithm: Algorithm,
    observation_space: gym.Space[Any] | Team,
    action_space: gym.Space[Any],
    learning: Learning,
    weights: NDArray[np.float32],
    n: int,
) -> None:
    """Refuse a policy that does not take `learning`'s weights, or does not act on `n` observations as it should."""
    policy: Any = algorithm.policy(observation_space, action_space)  # type: ignore[arg-type]  # a Team, if it is of many
    kind = f"{type(policy).__name__}"
    if not isinstance(policy, Policy):
        raise ArgumentError(f"{type(algorithm).__name__}.policy() returned {_kind(policy)}; let it return an rl.Policy")
    check_signatures(policy, Policy, algorithm.name)
    size: Any = getattr(policy, "size", None)
    if isinstance(size, bool) or not isinstance(size, int | np.integer):
        has = "has no size" if size is None else f"has a size that is {size!r}"
        raise ArgumentError(f"{kind} of {algorithm.name} {has}; let self.size be how many weights load() takes")
    if size != len(weights):
        raise ArgumentError(
            f"{type(learning).__name__}.weights() of {algorithm.name} returned {len(weights)} numbers, and the size of "
            f"{kind} is {size}; let both be of what acts, and nothing else"
        )
    policy.load(weights)
    observations = _seen(observation_space, action_space, n)
    states = (policy.fresh(n),) if isinstance(policy, RecurrentPolicy) else ()
    given: Any = policy.act(observations, np.random.default_rng(0), 0, *states)
    where = f"{kind}.act() of {algorithm.name}"
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], Mapping):
        raise ArgumentError(
            f"{where} returned {_kind(given)}; let it return actions, and a dict of what is remembered of each: "
            "return actions, {}"
        )
    chosen = Chosen(policy, action_space)
    _check_actions(chosen, given[0], n, "act")
    _check_remembered(where, algorithm, given[1], observation_space, action_space, n)
    _check_actions(chosen, policy.greedy(observations, *states), n, "greedy")


def _seen(space: gym.Space[Any] | Team, action_space: gym.Space[Any], n: int) -> NDArray[Any]:
    """What a policy gets for n observations: the observations, or records for a team."""
    if not isinstance(space, Team):
        return _observations(space, n)
    seen = np.zeros(n, space.seen(action_space))
    seen["obs"], seen["agent"] = _observations(space.observation_space, n), np.arange(n) % len(space.members)
    if space.masked:
        seen["mask"] = True
    return seen


def _observations(space: gym.Space[Any], n: int) -> NDArray[Any]:
    """Some observations of a space, always the same ones."""
    space = deepcopy(space)
    space.seed(0)
    block: NDArray[Any] = rows(array_type(space), n)
    put = writer(space)
    for i in range(n):
        put(block, i, space.sample())
    return block


def _check_actions(chosen: Chosen, actions: Any, n: int, method: str) -> None:
    try:
        found = chosen.checked(actions, n, method)
    except ValueMismatchError as error:
        raise ArgumentError(str(error)) from None
    if isinstance(chosen.space, gym.spaces.Discrete):
        wrong = [each for each in found.tolist() if not chosen.space.contains(each)]
        if wrong:
            raise ArgumentError(f"{chosen.name}.{method} gave the action {wrong[0]}, which is not in {chosen.space}")


def _check_remembered(
    where: str, algorithm: Algorithm, given: Mapping[str, Any], observation_space: Any, action_space: Any, n: int
) -> None:
    declared: Any = algorithm.remembered(action_space)
    says = f"{type(algorithm).__name__}.remembered()"
    if not isinstance(declared, Mapping):
        raise ArgumentError(f"{says} returned {_kind(declared)}; let it return a dict of dtypes, or leave it out")
    team = isinstance(observation_space, Team)
    kept = observation_space.experience(action_space, {}) if team else transition_dtype(observation_space, action_space)
    for name in declared:
        if name in (kept.names or ()):
            raise ArgumentError(f"{says} declares {name!r}, which every transition has; choose another name")
        if name not in given:
            raise ArgumentError(f"{says} declares {name!r}, and {where} does not return it; return it, or leave it out")
    for name, value in given.items():
        found = np.asarray(value)
        if name not in declared:
            raise ArgumentError(
                f"{where} returned {name!r}, which {says} does not declare; let it return {{{name!r}: "
                f"np.{found.dtype}}}"
            )
        wanted = np.dtype(declared[name])
        if found.shape != (n, *wanted.shape) or not np.can_cast(found.dtype, wanted.base, "same_kind"):
            raise ArgumentError(
                f"{where} returned {name!r} of shape {found.shape} and dtype {found.dtype} for {n} observations, and "
                f"{says} declares shape {(n, *wanted.shape)} and dtype {wanted.base}"
            )


def descent(algorithm: Algorithm, learning: Learning, batch: Mapping[str, torch.Tensor]) -> Descent:
    """The generator that `learn` returns for a batch, checked to return figures."""
    running: Any = learning.learn(batch)
    where = f"{type(learning).__name__}.learn() of {algorithm.name}"
    if not isinstance(running, GeneratorType):
        raise ArgumentError(
            f"{where} returned {_kind(running)}, and is no generator; let it yield from networks.descend(...), and "
            "then return its figures"
        )
    figures = yield from running
    if not isinstance(figures, dict):
        raise ArgumentError(f"{where} returned {_kind(figures)}; let it end with return {{...}}, its figures by name")
    return figures


def numbers(algorithm: Algorithm, learning: Learning, figures: Mapping[str, Any]) -> dict[str, float]:
    """Figures as they are logged."""
    found = {}
    for name, figure in figures.items():
        value: Any = figure() if callable(figure) else figure
        try:
            found[name] = float(value.mean() if isinstance(value, torch.Tensor) and value.ndim else value)
        except (TypeError, ValueError, RuntimeError):
            raise ArgumentError(
                f"{type(learning).__name__}.learn() of {algorithm.name} returned {_kind(value)} as {name!r}; let it be "
                "a number, or a tensor of float, which stands for its mean"
            ) from None
    return found


def errors(algorithm: Algorithm, learning: Learning, figures: dict[str, Any], n: int) -> torch.Tensor:
    """The errors for prioritized replay of n transitions; they are removed from the figures."""
    found: Any = figures.pop("errors", None)
    if not isinstance(found, torch.Tensor) or found.shape != (n,):
        what = "no 'errors'" if found is None else f"{_kind(found)} as 'errors'"
        raise ArgumentError(
            f"{type(learning).__name__}.learn() of {algorithm.name} returned {what}, and replay is prioritized; let "
            f"them be a tensor of shape ({n},), an error of each transition, or set prioritized=False"
        )
    return found


def _kind(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, np.ndarray | torch.Tensor):
        return f"{type(value).__name__} of shape {tuple(value.shape)} and dtype {value.dtype}"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    return f"a {type(value).__name__}"
