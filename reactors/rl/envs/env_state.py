"""Can an environment go on from where another one was?

One that offers `state_dict()` and `load_state_dict(state)` can, and so can one, and its wrappers, whose attributes are
plain: numbers, strings, arrays, generators, members of enumerations, Gymnasium's running means, and lists, tuples,
dicts and deques of these, beside methods of all that and what never changes (spaces, functions, classes). So are
objects of classes written in Python that have such attributes alone: they go on in the objects that the new environment
has in their places, or in new ones, if their class is in the module of the environment. Gymnasium's classic control and
toy text are of that kind, and PettingZoo's wrappers and games without an engine. An environment with anything else in
it, a physics engine or an emulator, is hidden: where it is cannot be known from outside. Functions and methods may hold
objects, too (what a method belongs to, cells of a closure, defaults). Where these are saved as attributes, they go on.
Numbers, arrays, lists and dicts that nothing else has are compared: an environment with others there is hidden, and so
is one whose functions hold anything else.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from enum import Enum
from functools import reduce
from types import BuiltinFunctionType, MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers.utils import RunningMeanStd

from reactors.errors import ReactorError
from reactors.rl.encoding.generators import legacy_state, legacy_with_state, rng_state, rng_with_state
from reactors.rl.encoding.state import StateError
from reactors.rl.encoding.tensors import NAMES
from reactors.rl.encoding.unchanging import UNCHANGING, content, described, held

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_PLAIN = (type(None), bool, int, float, str)
_Random: TypeAlias = np.random.Generator | np.random.RandomState
_DRAWN = {"Clock", "Font", "Surface"}  # of pygame: what is drawn with, from a state that is elsewhere
_MAPS = {kind.__name__: kind for kind in (Counter, OrderedDict)}
_ITEMS = {dict, MappingProxyType, defaultdict, *_MAPS.values()}
_METHODS = (MethodType, BuiltinFunctionType)
_DEFAULTS = {described(kind): kind for kind in (None, bool, int, float, str, list, dict)}


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
    seen, layers = _Seen(), list(_layers(env))
    seen.layers = {id(layer): i for i, layer in enumerate(layers)}
    found = []
    for layer in layers:
        name = type(layer).__qualname__
        if _tells(layer):
            found.append({"layer": name, "own": layer.state_dict()})
        else:
            attributes = {
                key: _attribute(value._np_random if isinstance(value, gym.Space) else value, f"{name}.{key}", seen)
                for key, value in vars(layer).items()
                if not _stays(value) and not _is_inner(layer, key)
            }
            found.append({"layer": name, "attributes": attributes, "kept": _kept(layer)})
    _tell_held(seen)
    return found


def restore(env: Any, state: list[Any]) -> None:
    """Go on where another environment of the same make was; `HiddenStateError` if it was of another."""
    layers = list(_layers(env))
    names, given = [type(layer).__qualname__ for layer in layers], [part["layer"] for part in state]
    if names != given:
        raise HiddenStateError(f"the state is of {' of '.join(given)}, and the environment is {' of '.join(names)}")
    made = _Made(layers)
    for layer, part in zip(layers, state, strict=True):
        if "own" in part:
            layer.load_state_dict(part["own"])
            continue
        _forget(layer, part)
        for key, value in part["attributes"].items():
            now = vars(layer).get(key)
            if isinstance(now, gym.Space):
                now._np_random = _lively(value, now._np_random, made)
            else:
                _take_on(layer, key, value, now, made)
    _put_unchanging(made)


def plain(value: Any, name: str) -> Any:
    """A value as `state_of` has those of attributes; `HiddenStateError` names it if it cannot be saved."""
    seen = _Seen()
    found = _plain(value, name, seen)
    _tell_held(seen)
    return found


def lively(value: Any) -> Any:
    """What `plain` was given."""
    made = _Made([])
    found = _lively(value, None, made)
    _put_unchanging(made)
    return found


class _Seen:
    """Numbers of what was met already: generators, and of all else that may be shared and changed."""

    def __init__(self) -> None:
        self.layers: dict[int, int] = {}
        self.generators: dict[int, int] = {}
        self.things: dict[int, int] = {}
        self.arrays: dict[int, list[NDArray[Any]]] = {}  # by whose memory they lie in
        self.unchanging: list[tuple[dict[str, Any], Any, str]] = []  # what is said of each, and its name

    def number(self, value: Any) -> dict[str, int] | None:
        """What a value is in the state, if it is there by a number."""
        for word, numbers in (("layer", self.layers), ("again", self.things), ("generator", self.generators)):
            if id(value) in numbers:
                return {word: numbers[id(value)]}
        return None


class _Made:
    """What has these numbers where a state is taken on."""

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = layers
        self.generators: list[_Random] = []
        self.things: list[Any] = []
        self.taken: dict[int, Any] = {}
        self.unchanging: list[tuple[Any, str, Mapping[str, Any], Any]] = []  # whose, its key, the state, what was there

    def take(self, now: Any) -> bool:
        """Whether nothing else goes on in it yet: one object of the new environment may lie where there were two."""
        if id(now) in self.taken:
            return False
        self.taken[id(now)] = now
        return True

    def place(self, fresh: Any, now: Any) -> Any:
        """Where a list, deque or dict goes on: in what is there already, for others may hold it, too, or in `fresh`."""
        alike = type(now) is type(fresh) and all(
            getattr(now, name, None) == getattr(fresh, name, None) for name in ("maxlen", "default_factory")
        )
        found = now if alike and self.take(now) else fresh
        self.things.append(found)
        return found

    def kind(self, name: str, now: Any) -> Any:
        """The class of this name: that of what is there now, or one in the module of the environment."""
        if type(now).__qualname__ == name:
            return type(now)
        for layer in self.layers:
            found: Any = reduce(
                lambda of, part: getattr(of, part, None), name.split("."), sys.modules.get(type(layer).__module__)
            )
            if isinstance(found, type):
                return found
        raise HiddenStateError(f"the state has a {name} where the environment has a {type(now).__name__}")


def _layers(env: Any) -> Iterator[Any]:
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


def _tells(layer: Any) -> bool:
    kind = type(layer)
    return callable(getattr(kind, "state_dict", None)) and callable(getattr(kind, "load_state_dict", None))


def _stays(value: Any) -> bool:
    """Whether it is what the new environment has, or draws with."""
    kind = type(value)
    return isinstance(value, EnvSpec) or (kind.__name__ in _DRAWN and kind.__module__.partition(".")[0] == "pygame")


def _kept(thing: Any) -> list[str]:
    return [key for key, value in vars(thing).items() if _stays(value)]


def _is_inner(thing: Any, key: str) -> bool:
    return key == "env" and isinstance(thing, gym.Wrapper)


def _forget(thing: Any, part: Mapping[str, Any]) -> None:
    """Remove attributes that there were no more."""
    kept = part.get("kept")
    if kept is None:  # of 0.1.0, which did not say all that there was
        return
    for key in [key for key, value in vars(thing).items() if not _stays(value) and not _is_inner(thing, key)]:
        if key not in part["attributes"] and key not in kept:
            del vars(thing)[key]


def _attribute(value: Any, name: str, seen: _Seen) -> Any:
    """A value as `_plain` has it, or how it is described, if it is none."""
    if not isinstance(value, UNCHANGING):
        return _plain(value, name, seen)
    found: dict[str, Any] = {"unchanging": described(value)}
    seen.unchanging.append((found, value, name))
    return found


def _tell_held(seen: _Seen) -> None:
    """Of functions and methods: what they hold, of which more is known when all else has been met."""
    for found, value, name in seen.unchanging:
        if isinstance(value, _METHODS) and (of := seen.number(value.__self__)) is not None:
            found |= {"method": value.__name__, "of": of}
        if holds := [_held(each, name, seen) for each in _changing(value)]:
            found["holds"] = holds


def _changing(value: Any) -> list[Any]:
    """What a function or method holds that may change; of a space, what it draws with."""
    parts = [part._np_random if isinstance(part, gym.Space) else part for part in held(value)]
    return [part for part in parts if part is not None and not _stays(part)]


def _held(part: Any, name: str, seen: _Seen) -> Any:
    """By which number it is known, or its content, if that can be compared."""
    if (number := seen.number(part)) is not None:
        return number
    try:
        if not isinstance(part, _Random):
            return content(part)
    except StateError:
        pass
    raise HiddenStateError(
        f"{name} holds a {type(part).__name__}, which is saved nowhere else; let it be an attribute, too, or offer "
        "state_dict() and load_state_dict(state)"
    )


def _is_bare(value: Any) -> bool:
    """Whether a value is its attributes, and nothing beside them that Python does not see."""
    return hasattr(value, "__dict__") and _has_attributes_alone(type(value))


def _has_attributes_alone(kind: type) -> bool:
    return (kind.__basicsize__, kind.__itemsize__) == (_Bare.__basicsize__, 0)


def _plain(value: Any, name: str, seen: _Seen) -> Any:
    """A value with its generators taken out: what two attributes share, both get again as one."""
    if isinstance(value, Enum):
        return {"member": value.name, "kind": type(value).__qualname__}
    if id(value) in seen.layers:
        return {"layer": seen.layers[id(value)]}
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
    if type(value) is np.ndarray and not value.dtype.hasobject and value.dtype.names is None:
        return _alone(value, name, seen).copy()
    if type(value) is list or type(value) is deque:
        parts = [_plain(part, f"{name}[{i}]", seen) for i, part in enumerate(value)]
        return deque(parts, value.maxlen) if type(value) is deque else parts
    if _is_map(value):
        return _items(value, name, seen)
    if _tells(value):
        telling: Any = value
        return {"told": telling.state_dict(), "kind": type(value).__qualname__}
    if _is_bare(value):
        found = {key: _attribute(part, f"{name}.{key}", seen) for key, part in vars(value).items() if not _stays(part)}
        return {"attributes": found, "kind": type(value).__qualname__, "kept": _kept(value)}
    raise HiddenStateError(f"{name} is a {type(value).__name__}, and there is no known way to save it")


def _is_map(value: Any) -> bool:
    return type(value) in _ITEMS and all(isinstance(key, (*_PLAIN, np.integer)) for key in value)


def _items(value: Any, name: str, seen: _Seen) -> dict[str, Any]:
    """Of a dict, and which kind of one it is."""
    items = {"items": [(key, _plain(part, f"{name}[{key!r}]", seen)) for key, part in value.items()]}
    if type(value) is defaultdict:
        return items | {"default": described(value.default_factory)}
    return items if type(value).__name__ not in _MAPS else items | {"map": type(value).__name__}


def _alone(value: NDArray[Any], name: str, seen: _Seen) -> NDArray[Any]:
    """An array that shares its memory with none before: two that do would no longer."""
    whose: Any = value
    while isinstance(whose, np.ndarray) and whose.base is not None:
        whose = whose.base
    others = seen.arrays.setdefault(id(whose), [])
    if any(np.may_share_memory(value, other) for other in others):
        raise HiddenStateError(
            f"{name} is a view of an array that is saved, too, and there is no known way to save that"
        )
    others.append(value)
    return value


def _lively(value: Any, now: Any, made: _Made) -> Any:
    """What a plain value stands for; `now` is what lies in its place."""
    if type(value) is tuple:
        return tuple(_lively(part, before, made) for part, before in zip(value, _places(now, len(value)), strict=True))
    if type(value) in {list, deque}:
        found = made.place([] if type(value) is list else deque(maxlen=value.maxlen), now)
        parts = [_lively(part, before, made) for part, before in zip(value, _places(now, len(value)), strict=True)]
        if not _is_same(parts, [*found]):
            found.clear()
            found.extend(parts)
        return found
    if isinstance(value, np.ndarray):
        made.things.append(value)
    if not isinstance(value, dict):
        return value
    if "again" in value:
        return made.things[value["again"]]
    if "layer" in value:
        return made.layers[value["layer"]]
    if "member" in value:
        return made.kind(value["kind"], now)[value["member"]]
    if "items" in value:
        items = made.place(_map(value, now), now)
        before = now if isinstance(now, (dict, MappingProxyType)) else {}
        entries = {key: _lively(part, before.get(key), made) for key, part in value["items"]}
        if not _is_same([*entries, *entries.values()], [*items, *items.values()]):
            items.clear()
            items.update(entries)
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


def _is_same(found: list[Any], now: list[Any]) -> bool:
    """Whether two lists have the same objects, or equal plain values: what all environments share is not written."""
    return len(found) == len(now) and all(
        one is other or (type(one) is type(other) and isinstance(one, _PLAIN) and one == other)
        for one, other in zip(found, now, strict=True)
    )


def _map(value: Mapping[str, Any], now: Any) -> dict[Any, Any]:
    """An empty one of the same kind."""
    if "default" not in value:
        return _MAPS.get(value.get("map", ""), dict)()
    factory = getattr(now, "default_factory", None)
    if described(factory) != value["default"]:
        _expect(value["default"] in _DEFAULTS, now, f"a defaultdict of {value['default']}")
        factory = _DEFAULTS[value["default"]]
    return defaultdict(factory)


def _take_on(thing: Any, key: str, value: Any, now: Any, made: _Made) -> None:
    if isinstance(value, dict) and "unchanging" in value:
        made.unchanging.append((thing, key, value, now))  # what it holds may not be made yet
    else:
        vars(thing)[key] = _lively(value, now, made)


def _put_unchanging(made: _Made) -> None:
    """Functions and methods: what was there, if it is described alike, or the method of what has been made."""
    for thing, key, value, now in made.unchanging:
        found = getattr(_lively(value["of"], None, made), value["method"], None) if "of" in value else now
        is_like = isinstance(found, _METHODS) if "of" in value else described(now) == value["unchanging"]
        _expect(is_like, now, value["unchanging"])
        if "holds" in value and not _holds(found, value["holds"], made):  # 0.1.0 did not say it
            raise HiddenStateError(
                f"{type(thing).__qualname__}.{key} of the environment holds something else than in the state"
            )
        vars(thing)[key] = found


def _holds(value: Any, parts: Sequence[Any], made: _Made) -> bool:
    """Whether a function or method holds just what it held."""
    there = _changing(value)
    try:
        return len(there) == len(parts) and all(
            content(now) == part if isinstance(part, str) else _lively(part, None, made) is now
            for part, now in zip(parts, there, strict=True)
        )
    except StateError:
        return False


def _object(value: Mapping[str, Any], now: Any, made: _Made) -> Any:
    kind = made.kind(value["kind"], now)
    fresh = type(now) is kind and made.take(now)
    thing = now
    if not fresh:
        _expect("told" not in value and _has_attributes_alone(kind), now, f"a {value['kind']} of its own")
        thing = object.__new__(kind)
    made.things.append(thing)
    if "told" in value:
        thing.load_state_dict(value["told"])
        return thing
    there = vars(now) if type(now) is kind else {}
    if fresh:
        _forget(thing, value)
    for key, part in value["attributes"].items():
        _take_on(thing, key, part, there.get(key), made)
    return thing


def _expect(is_there: bool, now: Any, wanted: str) -> None:
    if not is_there:
        raise HiddenStateError(f"the state has {wanted} where the environment has a {type(now).__name__}")


def _places(now: Any, n: int) -> Sequence[Any]:
    return now if isinstance(now, list | tuple | deque) and len(now) == n else [None] * n


def _legacy(known: Any, now: Any, made: _Made) -> np.random.RandomState:
    fresh = legacy_with_state(known)
    if isinstance(now, np.random.RandomState) and made.take(now):
        now.set_state(fresh.get_state(legacy=False))  # others may hold it, too
        fresh = now
    made.generators.append(fresh)
    return fresh


def _generator(known: Any, now: Any, made: _Made) -> _Random:
    if isinstance(known, int):
        return made.generators[known]
    fresh = rng_with_state(known)
    if isinstance(now, np.random.Generator) and type(now.bit_generator) is type(fresh.bit_generator) and made.take(now):
        now.bit_generator.state = fresh.bit_generator.state  # others may hold it, too
        fresh = now
    made.generators.append(fresh)
    return fresh
