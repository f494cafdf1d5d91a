"""How are numbers written that JSON has no word for? As null: NaN and infinities would not be JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def json_line(value: Any) -> str:
    """One line of JSON, which every reader of JSON takes.

    >>> json_line({"mean": float("nan"), "each": (1, float("-inf"))})
    '{"mean": null, "each": [1, null]}'
    """
    return json.dumps(finite(value), allow_nan=False)


def finite(value: Any) -> Any:
    """The same with None for every float that is no finite number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(part) for name, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list | tuple) else value
