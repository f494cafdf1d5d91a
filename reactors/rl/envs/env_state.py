"""Can an environment go on from where another one was?

One that offers `state_dict()` and `load_state_dict(state)` can, and so can one, and its wrappers, whose attributes are
plain: numbers, strings, arrays, generators, Gymnasium's running means, and lists, tuples, dicts and deques of these,
beside what never changes (spaces, functions, classes). Gymnasium's classic control and toy text are of that kind. An
environment with anything else in it, a physics engine or an emulator, is hidden: where it is cannot be known from
outside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers.utils import RunningMeanStd

from reactors.errors import ReactorError
from reactors.rl.encoding.generators import rng_state, rng_with_state
from reactors.rl.encoding.tensors import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

_STATIC = (EnvSpec, type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, partial)
_PLAIN = (type(None), bool, int, float, str)


class HiddenStateError(ReactorError):
    """An environment that does not tell its state: which attribute of which layer is not plain."""


def state_of(env: Any) -> list[Any]:
    """The state of an environment, layer by layer from the outermost wrapper; else `HiddenStateError`.

    >>> env = gym.make("CartPole-v1")
    >>> _ = env.reset(seed=1)
    >>> state = state_of(env)
    >>> first = env.step(1)[0]
    >>> other = gym.make("CartPole-v1")
    >>> restore(other, state)
    >>> bool((other.step(1)[0] == first).all())
    True
    """
    seen: dict[int, int] = {}
    found = []
    for layer in _layers(env):
        name = type(layer).__qualname__
        if _tells(layer):
            found.append({"layer": name, "own": layer.state_dict()})
        else:
            attributes = {
                key: _plain(value, f"{name}.{key}", seen)
                for key, value in vars(layer).items()
                if key != "env" and not isinstance(value, _STATIC)
            }
            found.append({"layer": name, "attributes": attributes})
    return found


def restore(env: Any, state: list[Any]) -> None:
    """Go on where another environment of the same make was; `HiddenStateError` if it was of another."""
    layers = list(_layers(env))
    names, given = [type(layer).__qualname__ for layer in layers], [part["layer"] for part in state]
    if names != given:
        raise HiddenStateError(f"the state is of {' of '.join(given)}, and the environment is {' of '.join(names)}")
    generators: list[np.random.Generator] = []
    for layer, part in zip(layers, state, strict=True):
        if "own" in part:
            layer.load_state_dict(part["own"])
            continue
        for key, value in part["attributes"].items():
            now = vars(layer).get(key)
            if isinstance(now, gym.Space):
                now._np_random = _lively(value, now._np_random, generators)
            else:
                vars(layer)[key] = _lively(value, now, generators)


def _layers(env: Any) -> Iterator[Any]:
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


def _tells(layer: Any) -> bool:
    kind = type(layer)
    return callable(getattr(kind, "state_dict", None)) and callable(getattr(kind, "load_state_dict", None))


def _plain(value: Any, name: str, seen: dict[int, int]) -> Any:
    """A value with its generators taken out: of two attributes that share one, both get the same again."""
    if isinstance(value, _PLAIN) or (isinstance(value, np.generic) and value.dtype.str[1:] in NAMES):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject and value.dtype.names is None:
        return value.copy()
    if isinstance(value, np.random.Generator):
        if id(value) in seen:
            return {"generator": seen[id(value)]}
        seen[id(value)] = len(seen)
        return {"generator": rng_state(value)}
    if isinstance(value, gym.Space):
        return _plain(value._np_random, name, seen)
    if type(value) is list or type(value) is tuple or type(value) is deque:
        parts = [_plain(part, f"{name}[{i}]", seen) for i, part in enumerate(value)]
        return deque(parts, value.maxlen) if type(value) is deque else tuple(parts) if type(value) is tuple else parts
    if isinstance(value, Mapping) and all(isinstance(key, (*_PLAIN, np.integer)) for key in value):
        return {"items": [(key, _plain(part, f"{name}[{key!r}]", seen)) for key, part in value.items()]}
    if type(value) is RunningMeanStd:
        return {"running": {key: _plain(part, f"{name}.{key}", seen) for key, part in vars(value).items()}}
    raise HiddenStateError(f"{name} is a {type(value).__name__}, and there is no known way to save it")


def _lively(value: Any, now: Any, generators: list[np.random.Generator]) -> Any:
    if type(value) in {list, tuple}:
        return type(value)(_lively(part, None, generators) for part in value)
    if type(value) is deque:
        return deque((_lively(part, None, generators) for part in value), value.maxlen)
    if not isinstance(value, dict):
        return value
    if "items" in value:
        return {key: _lively(part, None, generators) for key, part in value["items"]}
    if "running" in value:
        found = RunningMeanStd()  # type: ignore[no-untyped-call]
        vars(found).update({key: _lively(part, None, generators) for key, part in value["running"].items()})
        return found
    known = value["generator"]
    if isinstance(known, int):
        return generators[known]
    fresh = rng_with_state(known)
    if isinstance(now, np.random.Generator) and type(now.bit_generator) is type(fresh.bit_generator):
        now.bit_generator.state = fresh.bit_generator.state  # others may hold it, too
        fresh = now
    generators.append(fresh)
    return fresh
