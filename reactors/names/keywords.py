"""What is said of a keyword argument that there is not?

Python would name a function that the user has not written so (`Timer.__init__`), and up to 3.12 not what was meant.
Functions are checked by the decorator `spelled_out`; declarations and reactors in their `__new__`, which is given the
arguments of `__init__` first.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from reactors.errors import ArgumentError
from reactors.location import Call, Location
from reactors.names.lacking import listed
from reactors_runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

P = ParamSpec("P")
R = TypeVar("R")

_ANY = 0x08  # inspect.CO_VARKEYWORDS


def spelled_out(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function, which users call by `name`, refuse keyword arguments that it has not."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        known = frozenset(_takes(function) or ())

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs.keys() <= known:
                check_keywords(function, kwargs, lambda: Call(name, Location.caller(2)))
            return function(*args, **kwargs)

        return call

    return decorate


def check_keywords(
    function: Callable[..., object], given: Iterable[str], call: Callable[[], object], it: str = "it"
) -> None:
    """Refuse keywords that a function has no parameters for; `call` is asked what the message is to call the call."""
    known = _takes(function)
    if known is None:
        return
    for name in given:
        if name not in known:
            names = [each for each in known if each != "self"]
            takes = f"; {it} takes {listed(names, most=20)}" if names else f"; {it} takes no keyword"
            raise ArgumentError(f"{call()} has no parameter {name!r}{did_you_mean(name, names) or takes}")


def _takes(function: Any) -> tuple[str, ...] | None:
    """The parameters that can be given by keyword, `self` among them; None if that is any."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    if code.co_flags & _ANY:
        if not hasattr(function, "_lets_mode_pass"):
            return None
        taken = _takes(function.__wrapped__)  # by `modes.py`, which takes the mode out
        return None if taken is None else (*taken, "mode")
    names: tuple[str, ...] = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    return names
