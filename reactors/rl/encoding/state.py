"""How is the state of a reactor written without pickle?

As a tree of JSON with arrays beside it. What JSON has no word for (tuples, dicts by number, NumPy numbers, generators,
tensors) is a dict with one key that begins with a dollar sign. Arrays are named by where they lie in the tree, so that
others can read them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.errors import ReactorError
from reactors.rl.encoding.generators import rng_state, rng_with_state
from reactors.rl.encoding.tensors import NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray


class StateError(ReactorError):
    """A state that holds what no checkpoint can."""


class Encoded(NamedTuple):
    """A state: the tree, and its arrays by name."""

    tree: Any
    arrays: dict[str, NDArray[Any]]

    def __content__(self) -> Any:
        """What counts of it where runs are compared: all but what was measured."""
        return (_unmeasured(self.tree), self.arrays)


class Settled(dict[str, Any]):
    """A part of a state whose arrays nobody writes to any more: they may be gigabytes, and are not copied."""


CLOCK = ("seconds", "charts/SPS", "time/", "rate/")
"""Beginnings of the names of figures that a clock has a part in."""
_UNLIKE = (*CLOCK, "checked")  # and a checksum of that


def _unmeasured(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _unmeasured(part) for name, part in tree.items() if not name.startswith(_UNLIKE)}
    return [_unmeasured(part) for part in tree] if isinstance(tree, list) else tree


def encode(state: Any, name: str = "") -> Encoded:
    """Take a state apart. Arrays are copied, for their owners go on writing to them; those in `Settled` are not.

    `StateError` names what cannot be saved.

    >>> encoded = encode({"n": (1, 2.5), "x": np.zeros(2)}, "main")
    >>> encoded.tree, list(encoded.arrays)
    ({'n': {'$tuple': [1, 2.5]}, 'x': {'$array': 'main.x'}}, ['main.x'])
    >>> decode(*encoded)
    {'n': (1, 2.5), 'x': array([0., 0.])}
    """
    arrays: dict[str, NDArray[Any]] = {}
    return Encoded(_encoded(state, name, arrays), arrays)


def _encoded(value: Any, name: str, arrays: dict[str, NDArray[Any]], settled: bool = False) -> Any:
    if value is None or type(value) in {bool, int, str}:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Mapping):
        settled = settled or isinstance(value, Settled)
        if all(type(key) is str and key[:1] != "$" for key in value):
            return {key: _encoded(part, f"{name}.{key}" if name else key, arrays, settled)
                    for key, part in value.items()}  # fmt: skip
        return {"$dict": [[_encoded(key, f"{name}.key", arrays), _encoded(part, f"{name}[{key}]", arrays, settled)]
                          for key, part in value.items()]}  # fmt: skip
    if isinstance(value, list | tuple | deque):
        parts = [_encoded(part, f"{name}[{i}]", arrays, settled) for i, part in enumerate(value)]
        if isinstance(value, deque):
            return {"$deque": parts, "maxlen": value.maxlen}
        return {"$tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        if value.dtype.isnative and value.dtype.str[1:] in NAMES:
            return {"$array": _put(arrays, name, value if settled else value.copy())}
        if value.dtype.names is None:
            raw = np.frombuffer(value.tobytes(), np.uint8)
            return {"$bytes": _put(arrays, name, raw), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.str_) or (isinstance(value, np.generic) and value.dtype.str[1:] in NAMES):
        return {"$number": _encoded(value.item(), name, arrays), "dtype": value.dtype.str}
    if isinstance(value, np.random.Generator):
        return {"$generator": rng_state(value)}
    tensor: Any = value
    if type(tensor).__module__.partition(".")[0] == "torch" and hasattr(tensor, "detach"):
        import torch

        found = tensor.detach().cpu()
        exact = found.float() if found.dtype is torch.bfloat16 else found
        return {"$tensor": _put(arrays, name, exact.numpy().copy()), "dtype": str(found.dtype).removeprefix("torch.")}
    raise StateError(
        f"{name or 'the state'} is a {type(value).__name__}, which no checkpoint can hold; let state_dict() give "
        "numbers, strings, arrays, tensors, generators, and lists, tuples and dicts of these"
    )


def _put(arrays: dict[str, NDArray[Any]], name: str, array: NDArray[Any]) -> str:
    """Keep an array, under a name that no other has: "1" and 1 are two keys, and keys may have dots in them."""
    while name in arrays:
        name += "'"
    arrays[name] = array
    return name


def decode(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Put a state together again. `KeyError` if an array or a word is missing."""
    if isinstance(tree, list):
        return [decode(part, arrays) for part in tree]
    if not isinstance(tree, dict):
        return tree
    word = next(iter(tree), "")
    if word[:1] != "$":
        return {key: decode(part, arrays) for key, part in tree.items()}
    return _WORDS[word](tree[word], tree, arrays)


def check_form(fresh: Any, given: Any, name: str) -> None:
    """Refuse a state that is not of the form of one that a fresh object gives; `StateError` names the first part.

    What is empty or None at the beginning may have become anything, a list longer, and a whole number a fraction.

    >>> check_form({"n": 0, "x": np.zeros(2), "kept": {}}, {"n": 5, "x": np.ones(2), "kept": {"a": 1}}, "main")
    >>> check_form({"n": 0, "x": np.zeros(2)}, {"n": 5, "x": np.ones(3)}, "main")
    Traceback (most recent call last):
    reactors.rl.encoding.state.StateError: main.x has the form float64[3], and not float64[2]
    """
    if fresh is None:
        return
    if isinstance(fresh, Mapping) and isinstance(given, Mapping):
        for key, part in fresh.items():
            if key not in given:
                raise StateError(f"{name} has no {key!r}")
            check_form(part, given[key], f"{name}.{key}")
    elif isinstance(fresh, list | tuple | deque) and type(given) is type(fresh) and len(given) >= len(fresh):
        for i, part in enumerate(given if fresh else ()):
            check_form(fresh[min(i, len(fresh) - 1)], part, f"{name}[{i}]")
    elif _form(given) != _form(fresh) and getattr(fresh, "size", 1) != 0:
        raise StateError(f"{name} has the form {_form(given)}, and not {_form(fresh)}")


def count(given: Any) -> int:
    """What was counted up from 0, if it can be that; else `StateError`."""
    if type(given) is not int or not 0 <= given < 1 << 63:
        raise StateError(f"{given!r} is no count")
    return given


def _form(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | float | np.number):
        return "a number"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, np.random.Generator):
        return type(value.bit_generator).__name__
    return (
        f"{type(value).__name__} of {len(value)}" if isinstance(value, list | tuple | deque) else type(value).__name__
    )


def _tensor(name: Any, tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    import torch

    dtype = getattr(torch, tree["dtype"])
    if not isinstance(dtype, torch.dtype):
        raise StateError(f"{tree['dtype']!r} is no dtype of torch")
    return torch.from_numpy(arrays[name].copy()).to(dtype)


_Arrays = Mapping[str, Any]
_WORDS: dict[str, Callable[[Any, Any, _Arrays], Any]] = {
    "$float": lambda text, _, __: float(text),
    "$tuple": lambda parts, _, arrays: tuple(decode(parts, arrays)),
    "$deque": lambda parts, tree, arrays: deque(decode(parts, arrays), tree["maxlen"]),
    "$dict": lambda pairs, _, arrays: {decode(key, arrays): decode(part, arrays) for key, part in pairs},
    "$array": lambda name, _, arrays: arrays[name],
    "$bytes": lambda name, tree, arrays: (
        np.frombuffer(arrays[name].tobytes(), tree["dtype"]).reshape(tree["shape"]).copy()
    ),
    "$number": lambda part, tree, arrays: np.dtype(tree["dtype"]).type(decode(part, arrays)),
    "$generator": lambda state, _, __: rng_with_state(state),
    "$tensor": _tensor,
}
