"""Which values can a port carry, and how large are they?

A port carries any objects, objects of one type, or arrays of one shape and dtype, which lie in shared memory. Shapes
and widths may be strings, the names of attributes that the reactor's `__init__` sets. A Gymnasium space has a shape and
a dtype, too; it is asked for these, and gymnasium is never imported here.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from reactors.errors import ArgumentError, MemoryTooSmall, MismatchError, ParameterError, WidthError
from reactors.model.declaration import parameter
from reactors.time import LONGEST
from reactors_runtime.memory import available
from reactors_runtime.planning.image import MOST_CELLS

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable

    from reactors.location import Call
    from reactors.model.declaration import Declared, Owner

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)  # Input() is an Input[Any]
else:
    T = typing.TypeVar("T")

Shape: TypeAlias = int | str | Sequence[int | str]
MOST_CHANNELS = 1 << 20  # of a multiport: with as many, a program takes half a minute to start
BYTES = 2048  # that each port takes, at the least, until a program runs
MOST_MEMBERS = 1 << 18  # of a bank: likewise
_MODEST = 1 << 14  # ports that are made without asking for the free memory, which takes a millisecond


class Layout(NamedTuple):
    """The values of one port: their class, and shape and dtype if these are fixed."""

    type: builtins.type | types.UnionType | None = None
    shape: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None

    def __str__(self) -> str:
        if self.dtype is not None:
            return f"arrays of shape {self.shape} and dtype {self.dtype}"
        if self.type is not None:
            return f"{getattr(self.type, '__name__', None) or self.type} objects"
        return "any object"

    def accepts(self, other: Layout) -> bool:
        """Whether a port with this layout can read one with the other."""
        if self.dtype is not None:
            return self.dtype == other.dtype and self.shape == other.shape
        if self.type is None:
            return True
        if other.dtype is not None:
            return issubclass(np.ndarray, self.type)
        return other.type is None or _is_a(other.type, self.type)


_NUMBERS = {np.dtype(code).type for code in "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]}  # NumPy's own
_PROMOTED = {(int, float), (int, complex), (float, complex), (bool, float), (bool, complex)}  # as type checkers allow


def _is_a(given: type | types.UnionType, wanted: type | types.UnionType) -> bool:
    if isinstance(given, types.UnionType):
        return all(_is_a(member, wanted) for member in typing.get_args(given))
    members = typing.get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
    return issubclass(given, wanted) or any((given, member) in _PROMOTED for member in members)


def checked_type(given: object, call: Call) -> type | types.UnionType | None:
    """`given` in a form for `isinstance`; generic aliases lose their parameters."""
    if given is None or given is Any or given is object:
        return None
    if isinstance(given, type) and not isinstance(given, types.GenericAlias):
        if "Action" not in call.name and given in _NUMBERS:
            raise ArgumentError(
                f"{call} is given the type np.{given.__name__}, to which nothing would convert what is set; write "
                f"{call.name}(dtype=np.{given.__name__})"
            )
        return given
    if isinstance(given, types.UnionType):
        plain: Any = checked_type(typing.get_args(given)[0], call)
        for member in typing.get_args(given)[1:]:
            plain = plain | checked_type(member, call)
        return typing.cast("types.UnionType", plain)
    origin = typing.get_origin(given)
    if isinstance(origin, type):
        return origin
    arrays = "" if "Action" in call.name else f"; for arrays write {call.name}(shape=..., dtype=...)"
    raise ArgumentError(
        f"{call} is given {given!r}, of type {type(given).__name__}, and takes a type, as in {call.name}(int){arrays}"
    )


def checked_dtype(given: object, call: Call) -> np.dtype[Any]:
    """`given` as a dtype whose values have a fixed size and hold no objects."""
    try:
        dtype = np.dtype(given)  # type: ignore[call-overload]  # NumPy is asked whether it is one
    except TypeError:
        raise ArgumentError(
            f"the dtype of {call} is {given!r}, which NumPy does not know; write, say, np.float32"
        ) from None
    if dtype.hasobject or not dtype.itemsize:
        raise ArgumentError(
            f"the dtype of {call} is {given!r}, which has no fixed size; leave it out, and the port carries any object"
        )
    return typing.cast("np.dtype[Any]", dtype)


def checked_shape(given: Shape, of: object) -> str | tuple[int | str, ...]:
    """`given` as the name of an attribute, or a tuple of lengths and such names."""
    if isinstance(given, str):
        return given
    lengths = given if isinstance(given, Sequence) else (given,)
    return tuple(n if isinstance(n, str) else checked_length(n, "shape", of) for n in lengths)


def checked_length(given: object, what: str, of: object) -> int:
    """`given` as a count: a whole number, 0 or more."""
    if not isinstance(given, bool | np.bool_):
        try:
            n = index(given)  # type: ignore[arg-type]  # whatever counts as an integer
        except TypeError:
            pass
        else:
            if n < 0:
                raise ArgumentError(f"the {what} of {of} is negative ({n}); write 0 or more")
            if n > LONGEST:
                raise ArgumentError(f"the {what} of {of} is {n}, more than 64 bits hold; write less")
            return n
    raise ArgumentError(
        f"the {what} of {of} is {given!r}, of type {type(given).__name__}; write a whole number, 0 or more, or the "
        "name of an attribute that holds one"
    )


def refuse_too_many(n: int, what: Callable[[], str]) -> None:
    """Refuse more things than the core can number, before they are created: `what` says of what there are `n`."""
    if n > MOST_CELLS:
        raise WidthError(f"{what()}, and a program has at most {MOST_CELLS:,} ports, timers, actions and reactions")


def refuse_too_large(n: int, what: str) -> None:
    """Refuse more ports or reactors than fit into memory, before they are created: `what` says which `n`."""
    if n > _MODEST and (needed := n * BYTES) > (free := available()):
        raise MemoryTooSmall(
            f"{what}: they need at least {needed / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free; "
            "send an array through one port (shape=...), or take fewer"
        )


def resolved_length(given: int | str, what: str, declared: Declared, owner: Owner | None) -> int:
    """A width or one length of a shape; if it is a name, it is read from the reactor."""
    if not isinstance(given, str):
        return given
    found = parameter(owner, given, what, declared)
    try:
        return checked_length(found, what, declared.path)
    except ArgumentError:
        raise ParameterError(
            f"{declared.where()}: {what}={given!r} stands for self.{given}, which is {found!r}, of type "
            f"{type(found).__name__}; it has to be a whole number, 0 or more"
        ) from None


def resolved_shape(given: str | tuple[int | str, ...], declared: Declared, owner: Owner | None) -> tuple[int, ...]:
    """A shape; if it is a name or contains names, they are read from the reactor."""
    if isinstance(given, tuple):
        return tuple(resolved_length(n, "shape", declared, owner) for n in given)
    found = parameter(owner, given, "shape", declared)
    try:
        shape = checked_shape(found, declared.path)
    except ArgumentError:
        shape = ""
    if not isinstance(shape, tuple) or any(isinstance(n, str) for n in shape):
        raise ParameterError(
            f"{declared.where()}: shape={given!r} stands for self.{given}, which is {found!r}, of type "
            f"{type(found).__name__}; it has to be a tuple of whole numbers, each 0 or more"
        )
    return typing.cast("tuple[int, ...]", shape)


def space_layout(space: object, declared: Declared) -> Layout:
    """Shape and dtype of a Gymnasium space that has them: Box, Discrete, MultiDiscrete, MultiBinary."""
    shape, dtype = getattr(space, "shape", None), getattr(space, "dtype", None)
    kind = type(space).__name__
    if not hasattr(space, "sample"):
        raise ParameterError(f"{declared.where()}: space is {space!r}, of type {kind}, which is no Gymnasium space")
    if shape is None or dtype is None or np.dtype(dtype).hasobject or not np.dtype(dtype).itemsize:
        raise ParameterError(
            f"{declared.where()}: a {kind} space has no fixed shape and dtype; Box, Discrete, MultiDiscrete and "
            "MultiBinary have; leave space out, and the port carries any object"
        )
    return Layout(None, tuple(shape), np.dtype(dtype))


def check_flow(source: Declared, target: Declared, given: Layout, wanted: Layout, via: str) -> None:
    """Refuse a connection whose target cannot take what its source gives."""
    if wanted.accepts(given):
        return
    if wanted.dtype is not None and given.dtype is None:
        remedy = "declare the same shape and dtype on both, or neither on both"
    elif wanted.dtype is not None:
        remedy = "give both ports the same shape and dtype"
    else:
        remedy = "give both ports the same type, or leave it out where the values are read"
    raise MismatchError(f"{via}: {source.where()} carries {given}, but {target.where()} takes {wanted}; {remedy}")
