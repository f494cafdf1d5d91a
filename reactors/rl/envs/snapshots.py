"""How is what an environment gave kept, if it goes on writing into it?"""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

T = TypeVar("T")

_IMMUTABLE = {type(None), bool, int, float, str}


def snapshot(value: T) -> T:
    """A copy of an observation or info, which stays as it is now; what cannot be copied is given itself.

    >>> info = {"seen": [1], "of": {"score": 0.5}}
    >>> kept = snapshot(info)
    >>> info["seen"].append(2)
    >>> kept
    {'seen': [1], 'of': {'score': 0.5}}
    """
    if value.__class__ in _IMMUTABLE:  # as most are
        return value
    if value.__class__ is dict:
        return {key: snapshot(each) for key, each in value.items()}  # type: ignore[return-value, attr-defined]
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - anything may refuse to be copied
        return value
