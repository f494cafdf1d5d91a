"""Can an environment go on from where another one was?

One that offers `state_dict()` and `load_state_dict(state)` can, and so can one, and its wrappers, whose attributes are
plain: numbers, strings, arrays, generators, Gymnasium's running means, and lists, tuples, dicts and deques of these,
beside what never changes (spaces, functions, classes). So are objects of classes written in Python that have such
attributes alone: they go on in the objects that the new environment has in their places. Gymnasium's classic control
and toy text are of that kind, and PettingZoo's wrappers and games without an engine. An environment with anything else
in it, a physics engine or an emulator, is hidden: where it is cannot be known from outside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers.utils import RunningMeanStd

from reactors.errors import ReactorError
from reactors.rl.encoding.generators import legacy_state, legacy_with_state, rng_state, rng_with_state
from reactors.rl.encoding.tensors import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STATIC = (EnvSpec, type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, partial)
_PLAIN = (type(None), bool, int, float, str)
_Random: TypeAlias = np.random.Generator | np.random.RandomState
_DRAWN = {"Clock", "Font", "Surface"}  # of pygame: what is drawn with, from a state that is elsewhere


class _Bare:
    """Its instances have attributes, and nothing in C."""


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
    seen = _Seen()
    found = []
    for layer in _layers(env):
        name = type(layer).__qualname__
        if _tells(layer):
            found.append({"layer": name, "own": layer.state_dict()})
        else:
            attributes = {
                key: _plain(value._np_random if isinstance(value, gym.Space) else value, f"{name}.{key}", seen)
                for key, value in _changing(layer).items()
                if not (key == "env" and isinstance(layer, gym.Wrapper))
            }
            found.append({"layer": name, "attributes": attributes})
    return found


def restore(env: Any, state: list[Any]) -> None:
    """Go on where another environment of the same make was; `HiddenStateError` if it was of another."""
    layers = list(_layers(env))
    names, given = [type(layer).__qualname__ for layer in layers], [part["layer"] for part in state]
    if names != given:
        raise HiddenStateError(f"the state is of {' of '.join(given)}, and the environment is {' of '.join(names)}")
    made = _Made()
    for layer, part in zip(layers, state, strict=True):
        if "own" in part:
            layer.load_state_dict(part["own"])
            continue
        for key, value in part["attributes"].items():
            now = vars(layer).get(key)
            if isinstance(now, gym.Space):
                now._np_random = _lively(value, now._np_random, made)
            else:
                vars(layer)[key] = _lively(value, now, made)


def plain(value: Any, name: str) -> Any:
    """A value as `state_of` has those of attributes; `HiddenStateError` names it if it cannot be saved."""
    return _plain(value, name, _Seen())


def lively(value: Any) -> Any:
    """What `plain` was given."""
    return _lively(value, None, _Made())


class _Seen:
    """Numbers of what was met already: generators, and of all else that may be shared and changed."""

    def __init__(self) -> None:
        self.generators: dict[int, int] = {}
        self.things: dict[int, int] = {}


class _Made:
    """What has these numbers where a state is taken on."""

    def __init__(self) -> None:
        self.generators: list[_Random] = []
        self.things: list[Any] = []


def _layers(env: Any) -> Iterator[Any]:
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


def _tells(layer: Any) -> bool:
    kind = type(layer)
    return callable(getattr(kind, "state_dict", None)) and callable(getattr(kind, "load_state_dict", None))


def _changing(thing: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(thing).items() if not isinstance(value, _STATIC) and not _is_drawn(value)}


def _is_drawn(value: Any) -> bool:
    kind = type(value)
    return kind.__name__ in _DRAWN and kind.__module__.partition(".")[0] == "pygame"


def _is_bare(value: Any) -> bool:
    """Whether a value is its attributes, and nothing beside them that Python does not see."""
    kind = type(value)
    return hasattr(value, "__dict__") and (kind.__basicsize__, kind.__itemsize__) == (_Bare.__basicsize__, 0)


def _plain(value: Any, name: str, seen: _Seen) -> Any:
    """A value with its generators taken out: what two attributes share, both get again as one."""
    if isinstance(value, _PLAIN) or (isinstance(value, np.generic) and value.dtype.str[1:] in NAMES):
        return value
    if isinstance(value, _Random):
        if id(value) in seen.generators:
            return {"generator": seen.generators[id(value)]}
        seen.generators[id(value)] = len(seen.generators)
        if isinstance(value, np.random.RandomState):
            return {"legacy": legacy_state(value)}
        return {"generator": rng_state(value)}
    if isinstance(value, gym.Space):
        return {"space": _plain(value._np_random, name, seen)}
    if type(value) is tuple:
        return tuple(_plain(part, f"{name}[{i}]", seen) for i, part in enumerate(value))
    if type(value) is RunningMeanStd:
        return {"running": {key: _plain(part, f"{name}.{key}", seen) for key, part in vars(value).items()}}
    if id(value) in seen.things:
        return {"again": seen.things[id(value)]}
    seen.things[id(value)] = len(seen.things)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject and value.dtype.names is None:
        return value.copy()
    if type(value) is list or type(value) is deque:
        parts = [_plain(part, f"{name}[{i}]", seen) for i, part in enumerate(value)]
        return deque(parts, value.maxlen) if type(value) is deque else parts
    if isinstance(value, Mapping) and all(isinstance(key, (*_PLAIN, np.integer)) for key in value):
        return {"items": [(key, _plain(part, f"{name}[{key!r}]", seen)) for key, part in value.items()]}
    if _tells(value):
        telling: Any = value
        return {"told": telling.state_dict(), "kind": type(value).__qualname__}
    if _is_bare(value):
        found = {key: _plain(part, f"{name}.{key}", seen) for key, part in _changing(value).items()}
        return {"attributes": found, "kind": type(value).__qualname__}
    raise HiddenStateError(f"{name} is a {type(value).__name__}, and there is no known way to save it")


def _lively(value: Any, now: Any, made: _Made) -> Any:
    """What a plain value stands for; `now` is what lies in its place."""
    if type(value) is tuple:
        return tuple(_lively(part, before, made) for part, before in zip(value, _places(now, len(value)), strict=True))
    if type(value) in {list, deque}:
        found: Any = [] if type(value) is list else deque(maxlen=value.maxlen)
        made.things.append(found)
        found.extend(_lively(part, before, made) for part, before in zip(value, _places(now, len(value)), strict=True))
        return found
    if isinstance(value, np.ndarray):
        made.things.append(value)
    if not isinstance(value, dict):
        return value
    if "again" in value:
        return made.things[value["again"]]
    if "items" in value:
        items: dict[Any, Any] = {}
        made.things.append(items)
        before = now if isinstance(now, Mapping) else {}
        for key, part in value["items"]:
            items[key] = _lively(part, before.get(key), made)
        return items
    if "running" in value:
        found = RunningMeanStd()  # type: ignore[no-untyped-call]
        vars(found).update({key: _lively(part, None, made) for key, part in value["running"].items()})
        return found
    if "space" in value:
        _expect(isinstance(now, gym.Space), now, "a space")
        now._np_random = _lively(value["space"], now._np_random, made)
        return now
    if "kind" in value:
        return _object(value, now, made)
    return _legacy(value["legacy"], now, made) if "legacy" in value else _generator(value["generator"], now, made)


def _object(value: Mapping[str, Any], now: Any, made: _Made) -> Any:
    _expect(type(now).__qualname__ == value["kind"], now, f"a {value['kind']}")
    made.things.append(now)
    if "told" in value:
        now.load_state_dict(value["told"])
    else:
        for key, part in value["attributes"].items():
            vars(now)[key] = _lively(part, vars(now).get(key), made)
    return now


def _expect(is_there: bool, now: Any, wanted: str) -> None:
    if not is_there:
        raise HiddenStateError(f"the state has {wanted} where the environment has a {type(now).__name__}")


def _places(now: Any, n: int) -> Sequence[Any]:
    return now if isinstance(now, list | tuple | deque) and len(now) == n else [None] * n


def _legacy(known: Any, now: Any, made: _Made) -> np.random.RandomState:
    fresh = legacy_with_state(known)
    if isinstance(now, np.random.RandomState):
        now.set_state(fresh.get_state(legacy=False))  # others may hold it, too
        fresh = now
    made.generators.append(fresh)
    return fresh


def _generator(known: Any, now: Any, made: _Made) -> _Random:
    if isinstance(known, int):
        return made.generators[known]
    fresh = rng_with_state(known)
    if isinstance(now, np.random.Generator) and type(now.bit_generator) is type(fresh.bit_generator):
        now.bit_generator.state = fresh.bit_generator.state  # others may hold it, too
        fresh = now
    made.generators.append(fresh)
    return fresh
