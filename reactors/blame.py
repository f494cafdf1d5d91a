"""Which part of an object is it that cannot be pickled?"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from reactors.bank import Bank
from reactors.declared import Declared
from reactors.native import Native
from reactors.reaction import Reaction
from reactors.reactor import Reactor
from reactors.standins import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DEEPEST = 8


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
    elif isinstance(thing, set | frozenset):
        yield from (("", value) for value in thing)
    elif isinstance(thing, type):
        for name, value in list(vars(thing).items()):
            functions = (value.body, value.late) if isinstance(value, Reaction) else (value,)
            yield from ((f".{name}", function) for function in functions if name != "__init__")
    elif isinstance(thing, MethodType):
        yield from (("", thing.__self__), ("", thing.__func__))
    elif isinstance(thing, FunctionType):
        cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
        yield from ((f", which uses {name}", _content(cell)) for name, cell in cells)
        used = (name for name in thing.__code__.co_names if name in thing.__globals__)
        yield from ((f", which uses {name}", thing.__globals__[name]) for name in used)
    else:
        try:
            yield from ((f".{name}", value) for name, value in list(vars(thing).items()))
        except TypeError:  # it has none
            return


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled
        return None
