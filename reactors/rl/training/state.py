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
from reactors.rl.saving import NAMES, rng_state, rng_with_state

if TYPE_CHECKING:
    from numpy.typing import NDArray


class StateError(ReactorError):
    """A state that holds what no checkpoint can."""


class Encoded(NamedTuple):
    """A state: the tree, and its arrays by name."""

    tree: Any
    arrays: dict[str, NDArray[Any]]


def encode(state: Any, name: str = "") -> Encoded:
    """Take a state apart. Arrays are not copied, tensors are. `StateError` names what cannot be saved.

    >>> encoded = encode({"n": (1, 2.5), "x": np.zeros(2)}, "main")
    >>> encoded.tree, list(encoded.arrays)
    ({'n': {'$tuple': [1, 2.5]}, 'x': {'$array': 'main.x'}}, ['main.x'])
    >>> decode(*encoded)
    {'n': (1, 2.5), 'x': array([0., 0.])}
    """
    arrays: dict[str, NDArray[Any]] = {}
    return Encoded(_encoded(state, name, arrays), arrays)


def _encoded(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if value is None or type(value) in {bool, int, str}:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Mapping):
        if all(type(key) is str and key[:1] != "$" for key in value):
            return {key: _encoded(part, f"{name}.{key}" if name else key, arrays) for key, part in value.items()}
        return {"$dict": [[_encoded(key, f"{name}.key", arrays), _encoded(part, f"{name}[{key}]", arrays)]
                          for key, part in value.items()]}  # fmt: skip
    if isinstance(value, list | tuple | deque):
        parts = [_encoded(part, f"{name}[{i}]", arrays) for i, part in enumerate(value)]
        if isinstance(value, deque):
            return {"$deque": parts, "maxlen": value.maxlen}
        return {"$tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        if value.dtype.str[1:] in NAMES:
            arrays[name] = value
            return {"$array": name}
        if value.dtype.names is None:
            arrays[name] = np.frombuffer(value.tobytes(), np.uint8)
            return {"$bytes": name, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.str_) or (isinstance(value, np.generic) and value.dtype.str[1:] in NAMES):
        return {"$number": _encoded(value.item(), name, arrays), "dtype": value.dtype.str}
    if isinstance(value, np.random.Generator):
        return {"$generator": rng_state(value)}
    tensor: Any = value
    if type(tensor).__module__.partition(".")[0] == "torch" and hasattr(tensor, "detach"):
        import torch

        found = tensor.detach().cpu()
        exact = found.float() if found.dtype is torch.bfloat16 else found
        arrays[name] = exact.numpy().copy()
        return {"$tensor": name, "dtype": str(found.dtype).removeprefix("torch.")}
    raise StateError(
        f"{name or 'the state'} is a {type(value).__name__}, which no checkpoint can hold; let state_dict() give "
        "numbers, strings, arrays, tensors, generators, and lists, tuples and dicts of these"
    )


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


def _tensor(name: Any, tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    import torch

    return torch.from_numpy(arrays[name].copy()).to(getattr(torch, tree["dtype"]))


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
