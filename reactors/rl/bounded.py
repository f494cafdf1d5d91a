"""Which values does a hyperparameter or an option take? Its type says so: `Count` is a whole number, 1 or more.

Beside the bounds these are plain types, to type checkers and to readers.
"""

from __future__ import annotations

import math
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin


@dataclass(frozen=True)
class Range:
    """Numbers from `least` to `most`; `above` and `below` leave the ends out.

    >>> Range(0, 1).words, Range(0, above=True).words, Range(1).words
    ('from 0 to 1', 'above 0', '1 or more')
    """

    least: float
    most: float = math.inf
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        return (value > self.least if self.above else value >= self.least) and (
            value < self.most if self.below else value <= self.most
        )

    @property
    def words(self) -> str:
        """As the end of a sentence."""
        if math.isinf(self.most):
            return f"above {self.least:g}" if self.above else f"{self.least:g} or more"
        if not self.above and not self.below:
            return f"from {self.least:g} to {self.most:g}"
        return f"{'above' if self.above else 'from'} {self.least:g}, {'below' if self.below else 'up to'} {self.most:g}"


Count: TypeAlias = Annotated[int, Range(1)]
Natural: TypeAlias = Annotated[int, Range(0)]
Positive: TypeAlias = Annotated[float, Range(0, above=True)]
NotNegative: TypeAlias = Annotated[float, Range(0)]
Share: TypeAlias = Annotated[float, Range(0, 1)]
Rate: TypeAlias = Annotated[float, Range(0, 1, above=True)]
Decay: TypeAlias = Annotated[float, Range(0, 1, below=True)]
Layers: TypeAlias = tuple[Count, ...]


def bounded(hint: Any) -> bool:
    """Whether a type has bounds, or a part of it."""
    return get_origin(hint) is Annotated or any(bounded(part) for part in get_args(hint))


def accepts(hint: Any, value: Any) -> bool:
    """Whether a value is of this type and within its bounds; what is neither a number nor made of them is.

    >>> accepts(Count, 3), accepts(Count, 0), accepts(Count, True), accepts(Layers, (8, 8)), accepts(Count | None, None)
    (True, False, False, True, True)
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return accepts(parts[0], value) and all(value in bounds for bounds in parts[1:] if isinstance(bounds, Range))
    if origin in {types.UnionType, typing.Union}:
        return any(accepts(part, value) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        return isinstance(value, tuple) and all(accepts(parts[0], part) for part in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is bool:
        return isinstance(value, bool)
    if hint is types.NoneType:
        return value is None
    return True  # it is for those who use it to say


def words(hint: Any) -> str:
    """What to write for a value of this type, after "write".

    >>> words(Count), words(Share | None), words(Literal["raise", "restart"]), words(Literal[2, 4, 8])
    ('a whole number, 1 or more', 'a number from 0 to 1 or None', '"raise" or "restart"', '2, 4 or 8')
    >>> words(Literal["group"] | None)
    '"group" or None'
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = " and ".join(each.words for each in parts[1:] if isinstance(each, Range))
        return f"{words(parts[0])}{',' if parts[0] is int else ''} {bounds}"
    if origin in {types.UnionType, typing.Union}:
        return " or ".join(words(part) for part in parts)
    if origin is Literal:
        *others, last = (f'"{part}"' if isinstance(part, str) else repr(part) for part in parts)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is tuple:
        return f"a tuple, each of it {words(parts[0])}"
    known: dict[Any, str] = {float: "a number", int: "a whole number", bool: "True or False", types.NoneType: "None"}
    return known.get(hint, f"a {getattr(hint, '__name__', hint)}")
