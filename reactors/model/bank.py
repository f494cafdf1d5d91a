"""How are n reactors of a class created, and connected all at once?

A bank is a fixed row of reactors that know their index. A port's name, as an attribute of the bank, gives that port of
every member. The name of a contained reactor or bank gives those of all members, so nested banks are connected in the
same way, outer index first. A bank has no attributes of its own: all are those of its members.
"""

from __future__ import annotations

import inspect
import sys
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar, overload

from reactors.errors import ArgumentError, ContainmentError, OutsideReactionError, WidthError
from reactors.location import Call, Location
from reactors.model.connect import alternating, single_ports
from reactors.model.declaration import HasPorts, spelled
from reactors.model.layout import MOST_MEMBERS, checked_length, refuse_too_large
from reactors.model.modes import of_reactor
from reactors.model.ports import Port, Ports
from reactors.model.reactor import Reactor, maker_in
from reactors_runtime.settings import collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reactors.model.modes import Mode

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R", bound=Reactor)

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    OfIndex: TypeAlias = Callable[[int], Any]

    # What `rx.bank` and `rx.Bank[R]` are to type checkers: an R. No type has "the attributes of R, each that of all
    # members", but an R has them, with the same types; `Reactor` declares what a row has besides. The alias is a union
    # of R with itself, for pyright takes none of R alone in `self.x: rx.Bank[R]`.
    Same = TypeVarWithDefault("Same", bound=Reactor, default=R)
    BankOf: TypeAlias = R | Same


class Bank(HasPorts, Generic[R]):
    """A row of reactors; made by `rx.bank`."""

    def __init__(self, members: Sequence[R], kind: type[R] | None = None) -> None:
        self._members = list(members)
        self._kind = kind

    def __content__(self) -> list[R]:
        """What a hash of it includes."""
        return self._members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[R]:
        return iter(self._members)

    @overload
    def __getitem__(self, i: int) -> R: ...
    @overload
    def __getitem__(self, i: slice) -> list[R]: ...
    def __getitem__(self, i: int | slice) -> R | list[R]:
        try:
            return self._members[i]
        except IndexError:
            raise IndexError(f"{self!r} has no member {i}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = [_of_member(member, name, self) for member in self._members]
        if all(isinstance(each, Port) for each in found):
            if not found and not hasattr(self._kind, name):
                raise AttributeError(f"{self!r} is empty, and its class has no port {name!r}", name=name, obj=self)
            return Ports(found)
        rows = [each if isinstance(each, Bank) else [each] for each in found]
        members = [member for row in rows for member in row]
        if all(isinstance(member, Reactor) for member in members):
            return Bank(members)
        raise AttributeError(
            f"{self!r}: {name!r} is no port of its members; for what is none write [member.{name} for member in bank]",
            name=name,
            obj=self,
        )

    def __dir__(self) -> list[str]:
        return sorted({name for member in self._members[:1] for name in vars(member)})

    def __repr__(self) -> str:
        kind = self._kind or (type(self._members[0]) if self._members else None)
        return f"<bank of {len(self)} {spelled(kind) if kind else 'reactors'}>"


# The arguments are those of the class. That a function of the index may stand for any of them, and that there may be a
# `mode`, no type can say: a call that has one of these passes unchecked.
@overload
def bank(n: int, cls: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
@overload
def bank(n: int, cls: type[R], /, **kwargs: OfIndex) -> R: ...
@overload
def bank(n: int, cls: type[R], /, *args: OfIndex | Any, mode: Mode | OfIndex | None, **kwargs: OfIndex | Any) -> R: ...
@overload
def bank(n: int, cls: type[R], a: OfIndex, /, *args: OfIndex | Any, **kwargs: OfIndex | Any) -> R: ...
@overload
def bank(n: int, cls: type[R], a: Any, b: OfIndex, /, *args: OfIndex | Any, **kwargs: OfIndex | Any) -> R: ...
@overload
def bank(n: int, cls: type[R], a: Any, b: Any, c: OfIndex, /, *args: OfIndex | Any, **kwargs: OfIndex | Any) -> R: ...
def bank(n: int, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`n` reactors of a class, with `bank_index` 0 to n - 1.

    They are created with the given arguments; an argument that is a function of one argument is called with the index.
    With `mode`, they belong to that mode of the reactor that contains them, unless the class has a parameter `mode` of
    its own.

    >>> import reactors as rx
    >>> class Source(rx.Reactor):
    ...     out = rx.Output(int)
    ...     def __init__(self, start):
    ...         self.start = start
    >>> sources = rx.bank(3, Source, lambda i: 10 * i)
    >>> [source.start for source in sources], sources.out
    ([0, 10, 20], <3 ports: Source.out, Source.out, Source.out>)
    """
    made = Location.caller()
    call = Call("rx.bank", made)
    width = checked_length(n, "size", call)
    if width > MOST_MEMBERS:
        raise WidthError(
            f"{call} makes {width:,} reactors, and a bank has at most {MOST_MEMBERS:,}; let each do the work of "
            "several, as with arrays of several rows"
        )
    refuse_too_large(width, f"{call} makes {width:,} reactors")
    if isinstance(cls, Reactor):
        raise ContainmentError(
            f"{call} makes its reactors itself: write rx.bank({n}, {spelled(type(cls))}, ...) with the class and its "
            f"arguments, instead of the reactor made at {cls._made_at}"
        )
    if not (isinstance(cls, type) and issubclass(cls, Reactor)):
        raise ArgumentError(f"{call} takes a number and a class of reactors, and is given {cls!r} for the class")
    arguments = [(arg, _takes_index(arg)) for arg in args]
    keywords = {key: (arg, _takes_index(arg)) for key, arg in kwargs.items()}
    members = []
    maker = maker_in(sys._getframe(1))
    with collector.at_rest(ages=False):  # a bank may be dropped again, and no program made of it
        for i in range(width):
            positional = [arg(i) if called else arg for arg, called in arguments]
            named = {key: arg(i) if called else arg for key, (arg, called) in keywords.items()}
            if "mode" in named:
                of_reactor(cls, named, call)  # what is no mode is refused with the line of the bank
            member = cls.__new__(cls, *positional, **named)
            # Known before __init__, which may use them.
            member._bank_index, member._made_at, member._made_in = i, made, maker
            try:
                member.__init__(*positional, **named)  # type: ignore[misc]  # the second half of cls(...)
            except TypeError as error:
                within = error.__traceback__ is not None and error.__traceback__.tb_next is not None
                if within or "missing" not in str(error):
                    raise
                raise ArgumentError(
                    f"{call}: {error}; what is different for each is a function of its index, as in "
                    f"rx.bank({n}, {spelled(cls)}, lambda i: i)"
                ) from None
            members.append(member)
    return Bank(members, cls)


def interleaved(ports: Port[T] | Ports[T] | Sequence[Port[T]]) -> list[Port[T]]:
    """The channels of a bank's multiports in the order of `connect(..., interleaved=True)`, for either side.

    >>> import reactors as rx
    >>> class Two(rx.Reactor):
    ...     out = rx.Output(width=2)
    >>> class Main(rx.Reactor):
    ...     def __init__(self):
    ...         self.bank = rx.bank(3, Two)
    >>> main = Main()
    >>> _ = rx.Graph(main)
    >>> [port.path for port in rx.interleaved(main.bank.out)][:4]
    ['main.bank[0].out[0]', 'main.bank[1].out[0]', 'main.bank[2].out[0]', 'main.bank[0].out[1]']
    """
    return alternating(single_ports(ports, "side", Location.caller()))


def _takes_index(argument: object) -> bool:
    """Whether it is a function with exactly one required argument."""
    if not isinstance(argument, FunctionType | MethodType | partial):
        return False
    required = [
        parameter
        for parameter in inspect.signature(argument).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) == 1


def _of_member(member: Reactor, name: str, whole: Bank[Any]) -> Any:
    try:
        return getattr(member, name)
    except OutsideReactionError:  # it has one, which is known only while the program runs
        raise
    except AttributeError:
        lacks = f"the members of {whole!r} have no port {name!r}{member._lacks(name, {}).replace('; it', '; each')}"
        raise AttributeError(lacks, name=name) from None
