"""How do random numbers go on elsewhere as they would have here?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reactors.errors import ArgumentError

KINDS = {name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")}
WORDS = {"uint32": np.uint32, "uint64": np.uint64}


def rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator in words that JSON has.

    >>> rng_state(np.random.default_rng(0))["bit_generator"]
    'PCG64'
    """
    state: dict[str, Any] = _plain(rng.bit_generator.state)
    return state


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return {"array": value.tolist(), "dtype": str(value.dtype)} if isinstance(value, np.ndarray) else value


def rng_with_state(state: dict[str, Any]) -> np.random.Generator:
    """The generator whose state `rng_state` gave. `ArgumentError` for a state that no generator of NumPy has."""

    def lively(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if set(value) == {"array", "dtype"}:
            return np.array(value["array"], WORDS[value["dtype"]])
        return {name: lively(part) for name, part in value.items()}

    try:
        generator = np.random.Generator(KINDS[state["bit_generator"]]())
        generator.bit_generator.state = lively(state)
        if rng_state(generator) == state and _is_inside(state):
            return generator
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError):
        pass
    raise ArgumentError("a state of random numbers is none that a generator of NumPy has: it is of another version")


def legacy_state(rng: np.random.RandomState) -> dict[str, Any]:
    """Likewise of a generator of the old kind, which keeps every second normal number.

    >>> legacy_state(np.random.RandomState(0))["has_gauss"]
    0
    """
    state: dict[str, Any] = _plain(rng.get_state(legacy=False))
    return state


def legacy_with_state(state: dict[str, Any]) -> np.random.RandomState:
    """The generator whose state `legacy_state` gave. Raises as `rng_with_state`."""
    kept = {name: state.get(name) for name in ("has_gauss", "gauss")}
    drawn = rng_with_state({name: value for name, value in state.items() if name not in kept})
    if kept["has_gauss"] not in {0, 1} or not isinstance(kept["gauss"], float):
        raise ArgumentError("a state of random numbers says nothing of the normal number that is kept")
    found = np.random.RandomState()
    found.set_state({**drawn.bit_generator.state, **kept})
    return found


def _is_inside(state: dict[str, Any]) -> bool:
    """Whether the next number is one of those that are ready: NumPy does not look."""
    place = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}.get(state["bit_generator"])
    if place is None:
        return True
    name, end = place
    at: int = {**state["state"], **state}[name]
    return 0 <= at <= end
