"""Through what do values enter and leave a reactor?

`Input` and `Output` are declarations in a class and, bound to a reactor, the handles that its reactions read and write.
A port with a width is a multiport: one object with a channel for every element, each a port of its own. `Ports` is the
same port of every member of a bank. Outside of a reaction, a port knows its name and its layout; what it can do in a
reaction is in `reactors.execution`.
"""

from __future__ import annotations

import sys
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast, overload

import numpy as np

from reactors.errors import ArgumentError, WidthError
from reactors.location import Call, Location
from reactors.model.connect import Connectable
from reactors.model.declaration import Declared, never_assigned, parameter
from reactors.model.layout import (
    MOST_CHANNELS,
    Layout,
    Shape,
    T,
    checked_dtype,
    checked_length,
    checked_shape,
    checked_type,
    refuse_too_large,
    resolved_length,
    resolved_shape,
    space_layout,
)
from reactors.model.modes import note_mode
from reactors_runtime._doors import Door

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from reactors.model.connect import Connection

    S = TypeVar("S", bound=np.generic)
    A = TypeVar("A", bound=NDArray[Any])

    class Block:
        """What `array` is: of a port that carries arrays one of the same dtype, of a multiport of objects any."""

        @overload
        def __get__(self, port: Port[A], kind: object) -> A: ...
        @overload
        def __get__(self, port: Port[Any], kind: object) -> NDArray[Any]: ...
        def __get__(self, port: Port[Any], kind: object) -> NDArray[Any]: ...


@never_assigned("value", "is_present", "array", "tensor", "present")
class Port(Door, Declared, Connectable[T]):
    """The common part of `Input` and `Output`; not to be instantiated itself."""

    offers = ("value", "is_present", "array", "tensor", "set(...)", "loan()")
    _channels: list[Self] | None = None  # of a multiport
    _multiport: Self | None = None  # of a channel: what it is a channel of
    _at: int = 0  # and where in it
    _element: int = -1  # index into the program's elements
    _connections: list[Connection] | tuple[()] = ()  # those it takes part in, on either side
    _offered = False  # on a declaration of a library, to be used or not: it may lack a reader, or a source
    _layout: Layout | None = None  # once known; on the declaration where it is the same for all reactors of the class

    def _describe(
        self,
        type: Any = None,
        *,
        shape: Shape | None = None,
        dtype: DTypeLike | None = None,
        space: object = None,
        width: int | str | None = None,
        mutable: bool = False,
    ) -> None:
        """Store and check the declaration; strings are looked up later, in each reactor."""
        frame = sys._getframe(2)
        call = Call(f"rx.{self.__class__.__name__}", Location.of(frame))
        array = shape is not None or dtype is not None
        if (type is not None) + (space is not None) + array > 1:
            raise ArgumentError(f"{call} is given several of a type, a shape with a dtype, and a space; give one")
        self._type = checked_type(type, call)
        self._shape = checked_shape(() if shape is None else shape, call) if array else None
        self._dtype = checked_dtype(np.float64 if dtype is None else dtype, call) if array else None
        self._space = space
        if mutable is not True and mutable is not False:
            raise ArgumentError(f"mutable of {call} is {mutable!r}; write True or False")
        self._mutable = mutable
        self._width = width if width is None or isinstance(width, str) else checked_length(width, "width", call)
        if (
            space is None
            and not isinstance(self._shape, str)
            and not any(isinstance(n, str) for n in self._shape or ())
        ):
            self._layout = Layout(self._type, cast("tuple[int, ...] | None", self._shape), self._dtype)
        note_mode(self)
        self._declare(frame)

    # At rest: its layout and its channels.

    @property
    def width(self) -> int | None:
        """The number of channels of a multiport; None for a single port."""
        channels = self._open()
        return None if channels is None else len(channels)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the arrays on it; None if it carries objects."""
        return self._carried().shape

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of the arrays on it; None if it carries objects."""
        return self._carried().dtype

    def _carried(self) -> Layout:
        layout = self._layout or self._declared._layout
        if layout is None:
            layout = self._layout = self._resolved()
        return layout

    def _resolved(self) -> Layout:
        declared = self._declared
        if declared._shape is not None:
            return Layout(None, resolved_shape(declared._shape, self, self._owner), declared._dtype)
        space = declared._space
        if isinstance(space, str):
            space = parameter(self._owner, space, "space", self)
        return space_layout(space, self)

    def _length(self) -> int | None:
        """The number of channels of a multiport; None for any other port."""
        if self._declared._width is None or self._multiport is not None:
            return None
        if self._channels is not None:
            return len(self._channels)
        width = resolved_length(self._declared._width, "width", self, self._owner)
        if width > MOST_CHANNELS:
            raise WidthError(
                f"{self.where()} has a width of {width:,}, and a multiport has at most {MOST_CHANNELS:,} channels; "
                "send an array through one port (shape=...)"
            )
        return width

    def _open(self) -> list[Self] | None:
        """The channels of a multiport, created when they are first asked for."""
        if self._channels is None and (width := self._length()) is not None:
            refuse_too_large(width, f"{self.where()} has a width of {width:,}")
            self._channels = [self._channel(i) for i in range(width)]
        return self._channels

    def _channel(self, i: int) -> Self:
        channel = object.__new__(self.__class__)
        channel._owner = self._owner
        channel._declared = self._declared
        channel._multiport, channel._at = self, i
        channel._class = self._class
        channel.name = f"{self.name}[{i}]"
        return channel

    def _named(self, owner: type, name: str) -> None:
        super()._named(owner, name)
        self._call(self.name)

    def _call(self, name: str) -> None:
        """Name the port, and its channels, if they exist already."""
        self.name = name
        for i, channel in enumerate(self._channels or ()):
            channel._class, channel._owner, channel.name = self._class, self._owner, f"{name}[{i}]"

    @property
    def _whole(self) -> Self:
        """The multiport whose channel this is, or the port itself."""
        return self if self._multiport is None else self._multiport

    def _several(self, why: str) -> list[Self]:
        channels = self._open()
        if channels is None:
            raise ArgumentError(f"{self.where()} is a single port: {why}; a multiport is declared with width=...")
        return channels

    def __len__(self) -> int:
        return len(self._several("it has no length"))

    @overload
    def __getitem__(self, i: int) -> Self: ...
    @overload
    def __getitem__(self, i: slice) -> list[Self]: ...
    def __getitem__(self, i: int | slice) -> Self | list[Self]:
        channels = self._several("it has no channels")
        try:
            return channels[i]
        except IndexError:
            raise IndexError(f"{self.where()} has {len(channels)} channels, and no channel {i}") from None

    def __iter__(self) -> Iterator[Self]:
        return iter(self._several("it has no channels to go through"))

    def __setitem__(self, i: object, value: object) -> NoReturn:
        raise ArgumentError(f"{self.where()} is assigned to by index; write {self.name}[i].set(...)")

    def _lacks(self, name: str, seen: Mapping[str, object]) -> str:
        more = super()._lacks(name, seen)
        if self._length() is not None and more.endswith(".value?"):
            it = self._called(seen)
            return f"; did you mean {it}.value, one for each channel, or {it}.array, all as one block?"
        return more

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"{self.path} is neither true nor false; ask for {self.name}.is_present or {self.name}.value"
        )

    def _single_ports(self) -> list[Port[T]]:
        return [self]

    # In a reaction: `execution/live_ports.py` puts a class in the place of this one whose methods do the work. A
    # multiport of no channels is not in the program and never comes alive, so what it holds, nothing, is said here.

    @property
    def value(self) -> T | Any:
        """The value on the port at this tag; None if it is absent.

        For type checkers it is a T that may be compared with None. Arrays are read-only views, valid during the
        reaction; `.value.copy()` keeps one.
        """
        if not self._is_empty:
            self._at_rest("value")
        return []

    @property
    def is_present(self) -> bool:
        """Whether there is a value on the port at this tag; on a multiport, on any of its channels."""
        if not self._is_empty:
            self._at_rest("is_present")
        return False

    if TYPE_CHECKING:
        array = Block()
    else:

        @property
        def array(self) -> NDArray[Any]:
            """The value as an array; of a multiport, all channels as one block."""
            if not self._is_empty:
                self._at_rest("array")
            layout = self._carried()
            return np.zeros((0, *(layout.shape or ())), layout.dtype or layout.type or np.object_)

    @property
    def tensor(self) -> torch.Tensor:
        """The same memory as `array`, as a torch tensor. Do not write to it: torch has no read-only memory."""
        if not self._is_empty:
            self._at_rest("tensor")
        import torch

        return torch.from_numpy(self.array)

    @property
    def present(self) -> Sequence[int]:
        """The indices of the channels of a multiport that are present, ascending."""
        if not self._is_empty:
            self._at_rest("present")
        return ()

    @property
    def _is_read(self) -> bool:
        """Whether any reaction of the program reads what is set here; if not, it need not be computed."""
        self._at_rest("_is_read")

    @overload
    def set(self: Port[NDArray[Any]], value: ArrayLike | torch.Tensor) -> None: ...
    @overload
    def set(self, value: T | Sequence[T]) -> None: ...
    def set(self, value: Any) -> None:
        """Put `value` on the port at this tag, or one for each channel of a multiport; the last set in a tag counts."""
        if self._sets_nothing(value):
            return
        if type(self).set is Port.set:
            self._at_rest("set")
        self.set(value)  # this method was kept from before the run; the live class has its own

    @overload
    def set_all(self: Port[NDArray[Any]], values: ArrayLike | torch.Tensor) -> None: ...
    @overload
    def set_all(self, values: Sequence[T] | NDArray[Any]) -> None: ...
    def set_all(self, values: Any) -> None:
        """Put values on all channels of a multiport, one on each: the same as `set`, with a clearer name."""
        if self._sets_nothing(values):
            return
        if type(self).set_all is Port.set_all:
            self._at_rest("set_all")
        self.set_all(values)

    def loan(self) -> T:
        """The memory of an array port for the next value; after you write into it, `set` of it copies nothing."""
        if type(self).loan is Port.loan:
            self._at_rest("loan")
        return self.loan()  # likewise

    @property
    def _is_empty(self) -> bool:
        """Whether it is a multiport with no channels."""
        return self._channels is not None and not self._channels

    def _sets_nothing(self, values: Any) -> bool:
        """Whether it has no channels, and there are no values for them."""
        return self._is_empty and isinstance(values, Sized) and len(values) == 0

    # What the core leaves to Python of a multiport (csrc/python/doors.c), and of its methods kept beyond the run.

    _picked, _counted, _gone_through = __getitem__, __len__, __iter__

    def _set_each(self, values: Any) -> None:
        self.set(values)

    def _at_rest(self, use: str) -> NoReturn:
        self._refuse_at_rest(use, "ports hold values only while a reaction that declares them runs")


class Input(Port[T]):
    """Declare an input: the reactor reads it, and its container writes or connects it.

    If the input is `mutable`, every reaction gets its own copy (`copy.deepcopy`), which it may change, or replace by
    assigning to `.value`.

    >>> import reactors as rx
    >>> class Sum(rx.Reactor):
    ...     terms = rx.Input(int, width="n")
    ...     scale = rx.Input(shape=(3,), dtype="f4")
    ...     def __init__(self, n):
    ...         self.n = n
    >>> adder = Sum(4)
    >>> len(adder.terms), adder.scale.shape
    (4, (3,))
    """

    word = "input"

    if TYPE_CHECKING:

        @property
        def value(self) -> T | Any:
            """Likewise; of a mutable input it can be replaced."""

        @value.setter
        def value(self, value: T) -> None: ...

    @overload
    def __init__(
        self: Input[NDArray[S]],
        *,
        shape: Shape,
        dtype: type[S] | np.dtype[S],
        width: int | str | None = None,
        mutable: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self: Input[NDArray[Any]],
        *,
        shape: Shape,
        dtype: DTypeLike = ...,
        width: int | str | None = None,
        mutable: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        type: type[T] | None = None,
        *,
        dtype: DTypeLike | None = None,
        space: object = None,
        width: int | str | None = None,
        mutable: bool = False,
    ) -> None: ...
    def __init__(
        self,
        type: Any = None,
        *,
        shape: Any = None,
        dtype: Any = None,
        space: object = None,
        width: Any = None,
        mutable: bool = False,
    ) -> None:
        self._describe(type, shape=shape, dtype=dtype, space=space, width=width, mutable=mutable)


class Output(Port[T]):
    """Declare an output: the reactor writes it, and its container reads or connects it.

    >>> import reactors as rx
    >>> class Counter(rx.Reactor):
    ...     count = rx.Output(int)
    >>> Counter().count.set(1)
    Traceback (most recent call last):
    reactors.errors.OutsideReactionError: Counter.count (...): .set outside of a reaction; ...
    """

    word = "output"

    @overload
    def __init__(
        self: Output[NDArray[S]], *, shape: Shape, dtype: type[S] | np.dtype[S], width: int | str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self: Output[NDArray[Any]], *, shape: Shape, dtype: DTypeLike = ..., width: int | str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self,
        type: type[T] | None = None,
        *,
        dtype: DTypeLike | None = None,
        space: object = None,
        width: int | str | None = None,
    ) -> None: ...
    def __init__(
        self, type: Any = None, *, shape: Any = None, dtype: Any = None, space: object = None, width: Any = None
    ) -> None:
        self._describe(type, shape=shape, dtype=dtype, space=space, width=width)


class Ports(Connectable[T]):
    """The same port of every member of a bank, in order."""

    def __init__(self, ports: Sequence[Port[T]]) -> None:
        self._ports = list(ports)

    def __len__(self) -> int:
        return len(self._ports)

    def __iter__(self) -> Iterator[Port[T]]:
        return iter(self._ports)

    @overload
    def __getitem__(self, i: int) -> Port[T]: ...
    @overload
    def __getitem__(self, i: slice) -> list[Port[T]]: ...
    def __getitem__(self, i: int | slice) -> Port[T] | list[Port[T]]:
        return self._ports[i]

    def _single_ports(self) -> list[Port[T]]:
        return self._ports

    def __repr__(self) -> str:
        if not self._ports:
            return "<no ports, of an empty bank>"
        return f"<{len(self)} ports: {', '.join(port.path for port in self._ports[:3])}{', ...' * (len(self) > 3)}>"
