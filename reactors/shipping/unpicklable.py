"""Which part of an object is it that cannot be pickled?"""

from __future__ import annotations

from collections import deque
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from reactors.model.bank import Bank
from reactors.model.declaration import Declared
from reactors.model.native import Native
from reactors.model.reaction import Reaction
from reactors.model.reactor import Reactor
from reactors.names.slots import slots
from reactors.shipping.standins import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

USES_GLOBAL = ", which uses the global "
_DEEPEST = 8
_NOT_THE_USERS = ("__init__", "__dict__", "__weakref__", "_declarations", "_reactions")  # in a class


def culprit(thing: Any, fault: Callable[[Any], Exception | None], depth: int = 0) -> tuple[str, Any, Exception] | None:
    """The innermost part of `thing` with a fault: how to get there from `thing`, the part, and the fault.

    >>> import pickle
    >>> def fault(thing):
    ...     try:
    ...         pickle.dumps(thing)
    ...     except Exception as error:
    ...         return error
    >>> where, part, error = culprit({"sizes": [1, 2], "each": [len, (i for i in range(3))]}, fault)
    >>> where, type(part).__name__
    ("['each'][1]", 'generator')
    """
    error = fault(thing)
    if error is None:
        return None
    if depth < _DEEPEST:
        for where, part in _parts(thing):
            found = culprit(part, fault, depth + 1)
            if found is not None:
                return where + found[0], *found[1:]
    return "", thing, error


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, Reactor | Elsewhere | Declared | Bank | Native):
        return  # they travel in a way of their own
    if isinstance(thing, dict):
        yield from ((f"[{key!r}]", value) for key, value in thing.items())
    elif isinstance(thing, list | tuple):
        yield from ((f"[{i}]", value) for i, value in enumerate(thing))
    elif isinstance(thing, set | frozenset | deque):
        yield from (("", value) for value in thing)
    elif isinstance(thing, type):
        yield from _of_class(thing)
    elif isinstance(thing, MethodType):
        yield from (("", thing.__self__), ("", thing.__func__))
    elif isinstance(thing, staticmethod | classmethod):
        yield "", thing.__func__
    elif isinstance(thing, property):
        yield from (("", function) for function in (thing.fget, thing.fset, thing.fdel))
    elif isinstance(thing, partial):
        yield from (("", part) for part in (thing.func, *thing.args, *thing.keywords.values()))
    elif isinstance(thing, FunctionType):
        yield from _of_function(thing)
    else:
        kept = [name for kind in type(thing).__mro__ for name in slots(kind) if hasattr(thing, name)]
        yield from ((f".{name}", getattr(thing, name)) for name in kept)
        yield from ((f".{name}", value) for name, value in getattr(thing, "__dict__", {}).copy().items())


def _of_class(kind: type) -> Iterator[tuple[str, Any]]:
    """What it has, and its bases."""
    for name, value in list(vars(kind).items()):
        functions = (value.body, value.late) if isinstance(value, Reaction) else (value,)
        if name not in _NOT_THE_USERS and (isinstance(value, Reaction) or not isinstance(value, Declared)):
            yield from ((f".{name}", function) for function in functions)
    yield from ((f", which derives from {base.__name__}", base) for base in kind.__bases__)


def _of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What it closes over, its defaults, and the globals that it and the functions within it use."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    yield from ((f", which uses {name}", _content(cell)) for name, cell in cells)
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    yield from ((", which has a default argument", value) for value in defaults)
    known = function.__globals__
    used = [name for code in _codes(function.__code__) for name in code.co_names if name in known]
    yield from ((f"{USES_GLOBAL}{name}", known[name]) for name in dict.fromkeys(used))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled
        return None
