"""Whose is what environments are made of, so that they do alike wherever they lie?

Functions that make environments may carry things with them: a space with its generator, a buffer, an environment. Those
on one worker would share them, and those on several have copies. So each environment gets a function with copies of its
own. What cannot be copied is shared, and an environment that two rows then have is refused.

A class that no module has by name, one of a function, a script or a notebook, carries things as a function does: what
its methods close over, its attributes. An environment's is copied with them, and so is any whose methods close over
values. Others stay as they are, so that exceptions, spaces and values are of the classes that the caller knows.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
import threading
import weakref
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import cloudpickle
import gymnasium as gym

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class _Writer(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Copies everything but modules and most classes."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self.kept: list[Any] = []

    def persistent_id(self, part: Any) -> int | None:
        """The number under which something is kept as it is."""
        if isinstance(part, _Original):
            part = part.kind
        elif not isinstance(part, type | ModuleType) or self.carries(part, set()):
            return None
        self.kept.append(part)
        return len(self.kept) - 1

    def carries(self, thing: Any, seen: set[int]) -> bool:
        """Whether a class, or what a method closes over, has something that is each environment's own."""
        if id(thing) in seen or isinstance(thing, ModuleType):
            return False
        seen.add(id(thing))
        if isinstance(thing, FunctionType):
            return any(self.carries(value, seen) for value in _closed_over(thing))
        if not isinstance(thing, type):
            return True
        if not self.has_no_name(thing):
            return False
        return issubclass(thing, gym.Env) or any(
            self.carries(part, seen) for part in (*thing.__bases__, *_methods(thing))
        )

    def has_no_name(self, kind: type) -> bool:
        """Whether a class can be sent only by taking it apart."""
        reduced = super().reducer_override(kind)
        return isinstance(reduced, tuple) and len(reduced) > len(("function", "arguments"))  # then it has a state, too

    def reducer_override(self, obj: Any) -> Any:
        """As cloudpickle does it, but without the number by which it finds a class again that this process has.

        Nor does it take what is in an open file for the file.
        """
        if isinstance(obj, io.TextIOWrapper) and obj not in (sys.stdout, sys.stderr):
            raise TypeError("an open file belongs to one process")
        reduced: Any = super().reducer_override(obj)
        if not isinstance(obj, type) or reduced is NotImplemented:
            return reduced
        make, (*arguments, _number, extra), (attributes, slots), *rest = reduced
        return make, (*arguments, None, extra), (attributes | {"_copy_of": _Original(obj)}, slots), *rest


class _Original(NamedTuple):
    """A class that is not copied, as what its copy comes from."""

    kind: type


def is_a(thing: Any, kind: type) -> bool:
    """Whether something is an instance of a class, or of a copy of it."""
    return any(kind in {each, vars(each).get("_copy_of")} for each in type(thing).__mro__)


def _methods(kind: type) -> Iterator[FunctionType]:
    """The functions of a class that were written beside it; decorators of other modules close over things, too."""
    for value in vars(kind).values():
        found = [value]
        if isinstance(value, property):
            found = [value.fget, value.fset, value.fdel]
        elif isinstance(value, staticmethod | classmethod):
            found = [value.__func__]
        for each in found:
            if isinstance(each, FunctionType) and each.__globals__.get("__name__") == kind.__module__:
                yield each


def _closed_over(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is empty
            yield cell.cell_contents


class _Reader(pickle.Unpickler):
    def __init__(self, file: Any, kept: list[Any]) -> None:
        super().__init__(file)
        self.kept = kept

    def persistent_load(self, number: int) -> Any:
        return self.kept[number]


def copied(make: T) -> T:
    """A function with copies of all that it carries, as it would have in another process.

    Raises what the things raise that cannot be copied.
    """
    file = io.BytesIO()
    writer = _Writer(file)
    writer.dump(make)
    file.seek(0)
    found: T = _Reader(file, writer.kept).load()
    return found


def own(make: T) -> T:
    """What `copied` gives; the function itself, if that cannot be.

    >>> seen = []
    >>> own(lambda: seen.append(1))()
    >>> seen
    []
    """
    try:
        return copied(make)
    except Exception:  # noqa: BLE001 - anything may refuse to be copied
        return make


class Claim:
    """That a row has an environment, for as long as this is kept."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str) -> None:
        self.name = name


_claims: weakref.WeakValueDictionary[int, Claim] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def claim(env: Any, name: str) -> Claim:
    """Take an environment for a row; `ValueError` if another one in this process has it."""
    base = getattr(env, "unwrapped", env)
    with _lock:
        owner = getattr(_claims.get(id(base)), "name", None)  # the claim itself would live on in the error's frames
        if owner is not None:
            raise ValueError(
                f"is the same {type(base).__name__} as {owner}, so a step of one would be a step of the other; let the "
                "function make a new one at each call"
            )
        mine = _claims[id(base)] = Claim(name)
    return mine
