"""What has changed between two states of a value?"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np


def difference(before: Any, after: Any, place: str = "") -> tuple[str, str, str]:
    """The innermost place at which two values differ, what was there, and what is there now.

    >>> difference({"sizes": [1, 2]}, {"sizes": [1, 3]})
    ("['sizes'][1]", '2', '3')
    >>> difference([1], [1, 5])
    ('', '[1]', '[1, 5]')
    """
    if type(before) is type(after):
        for where, a, b in _parts(before, after):
            if not _same(a, b):
                return difference(a, b, place + where)
    return place, _spelled(before), _spelled(after)


def _parts(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    """What two values of one kind have in common, with the way to it; of arrays, the first element that differs."""
    if hasattr(before, "detach"):  # tensors
        before, after = before.detach().cpu().numpy(), after.detach().cpu().numpy()
    if isinstance(before, np.ndarray):
        differs = np.argwhere(before != after)[:1].tolist() if before.shape == after.shape else []
        return [(f"[{', '.join(map(str, i))}]", before[*i].item(), after[*i].item()) for i in differs if i]
    if isinstance(before, dict):
        return [(f"[{key!r}]", before[key], after[key]) for key in before] if list(before) == list(after) else []
    if isinstance(before, list | tuple):
        pairs = enumerate(zip(before, after, strict=True)) if len(before) == len(after) else ()
        return [(f"[{i}]", a, b) for i, (a, b) in pairs]
    a, b = getattr(before, "__dict__", {}), getattr(after, "__dict__", {})
    return [(f".{name}", a[name], b[name]) for name in a] if list(a) == list(b) else []


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    parts = _parts(a, b)
    if isinstance(a, np.ndarray) or hasattr(a, "detach"):
        return bool(a.shape == b.shape) and not parts
    if parts:
        return all(_same(x, y) for _, x, y in parts)
    return bool(a == b) or repr(a) == repr(b) == "nan"


def _spelled(value: Any) -> str:
    return " ".join(reprlib.repr(value).split())
