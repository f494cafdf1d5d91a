"""When does which code run, and what may it touch?

A reaction is a method with a declaration of what triggers it, what else it reads and what it may write. `rx.reaction`
declares one in the class, `Reactor.add_reaction` in `__init__`. Both are checked here, as far as one reaction can be
checked alone.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Never, NoReturn, TypeAlias, TypeVar, overload

from reactors.code.functions import in_source, own_code
from reactors.errors import ArgumentError, DeclarationError
from reactors.location import Call, Location
from reactors.model.actions import Action, Timed, Timer, checked_duration
from reactors.model.declaration import Declared, Decorating, HasPorts, Owner
from reactors.model.modes import Mode, Transition, current
from reactors.model.native import Native
from reactors.model.ports import Port, Ports
from reactors.model.triggers import BuiltinTrigger, Stop
from reactors_runtime.suggestions import closest, did_you_mean

if TYPE_CHECKING:
    from reactors.time import Duration

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)  # a reaction may override one of a base
Late = TypeVar("Late", bound="Callable[..., None] | Native")  # what runs when a deadline is missed

Trigger: TypeAlias = Port[Any] | Timer | Action[Any] | BuiltinTrigger
Effect: TypeAlias = Port[Any] | Action[Any] | Stop | Mode | Transition
Body: TypeAlias = Callable[[], object]
Triggers: TypeAlias = Trigger | Ports[Any] | Iterable[Trigger | Ports[Any]]
Uses: TypeAlias = Port[Any] | Timed | Ports[Any] | Iterable[Port[Any] | Timed | Ports[Any]]
Effects: TypeAlias = Effect | Ports[Any] | Iterable[Effect | Ports[Any]]

_FORMS = {
    "triggers": "a port, a timer, an action, rx.startup, rx.shutdown or rx.reset",
    "uses": "a port, a timer or an action",
    "effects": "a port, an action, a mode or rx.stop",
}
_KINDS: dict[str, tuple[type, ...]] = {
    "triggers": (Port, Timed, BuiltinTrigger),
    "uses": (Port, Timed),
    "effects": (Port, Action, Stop, Mode, Transition),
}


class Ends(NamedTuple):
    """What a reaction names: triggers, what else it reads, what it may write, and whether it may stop the program."""

    triggers: tuple[Any, ...]
    uses: tuple[Any, ...]
    effects: tuple[Any, ...]
    stop: Stop | None
    transitions: tuple[Transition, ...]

    @classmethod
    def of(cls, triggers: object, uses: object, effects: object, where: object) -> Ends:
        """The single ports, timers and actions in arguments that may be nested; refuses anything else."""
        written = list(flattened(effects, "effects", where))
        stops = [effect for effect in written if isinstance(effect, Stop)]
        if len(stops) > 1:
            raise ArgumentError(
                f"{where}: effects has {stops[0]!r} and {stops[1]!r}; a reaction has one way to stop the program"
            )
        return cls(
            tuple(flattened(triggers, "triggers", where)),
            tuple(flattened(uses, "uses", where)),
            tuple(effect for effect in written if not isinstance(effect, Stop | Mode | Transition)),
            stops[0] if stops else None,
            _transitions(written, where),
        )


def _transitions(effects: list[Any], where: object) -> tuple[Transition, ...]:
    """The modes among some effects; a plain mode is entered by reset."""
    found = [effect if isinstance(effect, Transition) else effect.reset for effect in effects
             if isinstance(effect, Mode | Transition)]  # fmt: skip
    ways: dict[int, Transition] = {}
    for one in found:
        other = ways.setdefault(id(one.mode), one)
        if other.by_reset != one.by_reset:
            raise ArgumentError(f"{where}: effects has {one!r} and {other!r}; a reaction enters a mode in one way")
    return tuple(ways.values())


class Bodies(NamedTuple):
    """What runs when a reaction does, and what runs instead after a missed deadline."""

    body: Callable[[], object] | Native
    late: Callable[[], object] | Native | None


class Reaction(Declared, Generic[R_co]):
    """A declared reaction; on an instance, `reactor.name` is the method itself."""

    word = "reaction"
    _mode: Mode | None = None
    _among: type  # the class with whose reactions it runs: the one that declares it, or the one it overrides

    def __init__(self, body: Callable[..., object] | Native, ends: Ends) -> None:
        self.body = body
        self.triggers, self.uses, self.effects, self.stop, self.transitions = ends
        self.builtins = {end for end in (*self.triggers, *self.uses) if isinstance(end, BuiltinTrigger)}
        self.limit: Duration | None = None  # the deadline
        self.late: Callable[..., object] | Native | None = None

    def _named(self, owner: type, name: str) -> None:
        super()._named(owner, name)
        self._among = owner if self._class is owner else self._among

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Reaction[R_co]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[[], None]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Reaction[R_co] | Callable[[], Any]:
        if instance is None:
            return self
        if isinstance(self.body, Native):
            raise DeclarationError(f"{self.where()} is a C function; it runs when it is triggered and cannot be called")
        return MethodType(self.body, instance)

    def bodies(self, reactor: Owner) -> Bodies:
        """What runs on a reactor: its methods if a class declares the reaction, or what was given to `add_reaction`."""
        if self._owner is not None:
            return Bodies(self.body, self.late)
        body = self.body if isinstance(self.body, Native) else self.__get__(reactor)
        late = self.late if self.late is None or isinstance(self.late, Native) else MethodType(self.late, reactor)
        return Bodies(body, late)

    def __call__(self, reactor: object, /) -> None:
        """Run it as a method of `reactor`, as in a reaction that overrides it: `Base.step(self)`."""
        self.__get__(reactor)()

    def deadline(self, limit: Duration) -> Callable[[Late], Late]:
        """Declare the method that runs instead if the reaction would start more than `limit` after the time of its tag.

        For a reaction that is a C function, this may be a C function, too: `late = brake.deadline("5
        ms")(rx.native(...))`.

        >>> import reactors as rx
        >>> class Brake(rx.Reactor):
        ...     pedal = rx.PhysicalAction(float)
        ...     @rx.reaction(pedal)
        ...     def brake(self): ...
        ...     @brake.deadline("5 ms")
        ...     def too_late(self): ...
        >>> rx.Graph(Brake()).program.reactions[0].deadline
        5000000
        """
        given = checked_duration(limit, "deadline", f"the reaction {self.where()}")
        name = getattr(self.body, "__name__", "name")
        call = Call(f"{name}.deadline", Location.caller())
        decorating = Decorating(sys._getframe(1), call, f"@{name}.deadline(...) above the one that runs instead")

        def declare(method: Late) -> Late:
            if not isinstance(method, Native):
                checked_method(method, f"{Call('deadline', Location.caller())} decorates")
            if self._class is not None:
                raise DeclarationError(
                    f"{self.where()} belongs to a class that is complete; declare its deadline in the same class, "
                    "below it"
                )
            if self.late is not None:
                raise DeclarationError(f"{self.where()} has a deadline already; it can have one")
            self.limit, self.late = given, method
            same_name = getattr(method, "__name__", "") == getattr(self.body, "__name__", None)
            decorating.done()
            return self if same_name else method  # type: ignore[return-value]  # as with property.setter

        return declare


def reaction(
    *triggers: Trigger, uses: Uses = (), effects: Effects = (), mode: Mode | None = None, **others: Never
) -> Callable[[Callable[[R], None] | Native], Reaction[R]]:
    """Declare the method below as a reaction.

    It runs at every tag at which one of `triggers` is present, at most once. It may read these and `uses`, and write
    `effects`. The reactions of a class run in the order of their declaration. One with a `mode` runs only while its
    reactor is in that mode. `@name.deadline(...)` below it declares what runs instead if it would start too late.

    >>> import reactors as rx
    >>> class Double(rx.Reactor):
    ...     number = rx.Input(int)
    ...     doubled = rx.Output(int)
    ...     @rx.reaction(number, effects=doubled)
    ...     def double(self):
    ...         self.doubled.set(2 * self.number.value)
    >>> Double.double
    <reaction Double.double>
    """
    if len(triggers) == 1 and isinstance(triggers[0], FunctionType):
        raise DeclarationError(
            f"{in_source(triggers[0])}: @rx.reaction without triggers; write @rx.reaction(trigger, ...)"
        )
    call = Call("rx.reaction", Location.caller())
    for name in others:
        raise ArgumentError(f"{call} has no parameter {name!r}{_meant_by(name)}")
    ends = Ends.of(triggers, uses, effects, call)
    inside = current(mode, call)
    decorating = Decorating(sys._getframe(1), call, "@rx.reaction(...) directly above the one that runs")

    def declare(method: Callable[[R], None] | Native) -> Reaction[R]:
        if not isinstance(method, Native):
            checked_method(method, f"{call} decorates")
        declared: Reaction[R] = Reaction(method, ends)
        declared._mode = inside
        declared._declare(sys._getframe(1))
        decorating.done()
        return declared

    return declare


def _meant_by(name: str) -> str:
    """What to write instead of an unknown argument of `rx.reaction`."""
    if name in ("deadline", "late"):
        return '; below the method, declare what runs instead when it is late: @NAME.deadline("5 ms")'
    if closest(name, ["triggers", "trigger"]):
        return "; name the triggers first: @rx.reaction(a, b, effects=...)"
    return did_you_mean(name, ["uses", "effects", "mode"]) or "; there are triggers, uses=, effects= and mode="


def flattened(given: object, what: str, where: object) -> Iterator[Any]:
    """The items in an argument, however nested."""
    if isinstance(given, _KINDS[what]):
        yield given
    elif isinstance(given, Ports | list | tuple):
        for each in given:
            yield from flattened(each, what, where)
    else:
        _refuse(given, what, where)


def _refuse(given: object, what: str, where: object) -> NoReturn:
    if isinstance(given, type) and issubclass(given, Declared):
        wrong = f"rx.{given.__name__} itself; declare one, name = rx.{given.__name__}(...), and name that"
    elif isinstance(given, Reaction):
        wrong = f"the reaction {given.path}, but reactions start others through ports and actions"
    elif isinstance(given, HasPorts) and not isinstance(given, Owner):  # a bank
        wrong = f"{given!r}, of which it can name a port (bank.port)"
    elif isinstance(given, Stop):
        wrong = f"{given!r}, which belongs in effects"
    elif isinstance(given, str):
        wrong = f"the string {given!r}; write the name without quotes, because it takes the thing itself"
    elif isinstance(given, BuiltinTrigger | Timed):
        wrong = f"{given!r}, which cannot be {'read' if what == 'uses' else 'written'}"
    else:
        wrong = f"{given!r}, of type {type(given).__name__}"
    raise ArgumentError(f"{where}: {what} has {wrong}; there can be {_FORMS[what]}")


def checked_method(method: object, subject: str) -> None:
    """Refuse what cannot be called with only `self`, or is not done when it returns; `subject` begins the message."""
    if (written := _DECORATED.get(type(method))) is not None:
        function = own_code(method.fget if isinstance(method, property) else getattr(method, "__func__", None))
        where = in_source(function) if function else subject
        raise DeclarationError(f"{where}: {not_a_method(written, function.__name__ if function else 'reaction')}")
    plain = inspect.unwrap(method) if callable(method) else method
    if isinstance(plain, Reaction):
        raise DeclarationError(f"{plain.where()} is a reaction already; name all its triggers in one @rx.reaction")
    if not isinstance(plain, FunctionType):
        refuse_method_of_port(plain, subject)
        raise DeclarationError(f"{subject} {plain!r}, of type {type(plain).__name__}; it has to be a method")
    where = in_source(plain)
    check_synchronous(plain, where)
    code = plain.__code__
    extra = [*code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]]
    variable = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if variable and plain is method:
        extra += [*code.co_varnames[code.co_argcount + code.co_kwonlyargcount :]][:1]
    if code.co_argcount == 0 and not variable:
        raise DeclarationError(f"{where} takes no self; write def {plain.__name__}(self)")
    if extra:
        raise DeclarationError(
            f"{where} takes {', '.join(extra)} besides self; write def {plain.__name__}(self) and read ports as "
            "self.<port>"
        )


_DECORATED: dict[type, str] = {staticmethod: "staticmethod", classmethod: "classmethod", property: "property"}


def not_a_method(decorator: str, name: str) -> str:
    """The message for a reaction that is decorated as something other than a method of its reactor."""
    return f"a reaction is a plain method of its reactor; write def {name}(self), without @{decorator}"


def reaction_within(thing: object) -> tuple[Reaction[Any], str] | None:
    """The reaction that was decorated as something else, and by what."""
    inner = getattr(thing, "fget" if isinstance(thing, property) else "__func__", None)
    decorator = _DECORATED.get(type(thing))
    return (inner, decorator) if decorator and isinstance(inner, Reaction) else None


def check_synchronous(function: FunctionType, where: str) -> None:
    """Refuse coroutine and generator functions: a reaction is done when it returns."""
    flags, name = function.__code__.co_flags, function.__name__
    if flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise DeclarationError(
            f"{where} is a coroutine function, and a reaction runs to its end at one tag; write def {name}(self), and "
            "bring results from outside in through a physical action"
        )
    if flags & inspect.CO_GENERATOR:
        raise DeclarationError(
            f"{where} is a generator function, and a reaction runs to its end at one tag; write it without yield, and "
            "let an action start the next step"
        )


def refuse_method_of_port(body: object, subject: str) -> None:
    """Refuse a method of a port or action as the body of a reaction: in a run, another object takes its place."""
    while isinstance(body, partial):
        body = body.func
    if isinstance(body, MethodType) and isinstance(port := body.__self__, Declared):
        call = f" (self.{port.name}.{body.__name__}(...))" if port.name else ""
        raise DeclarationError(
            f"{subject} {body.__name__} of the {port.word} {port.where()}, which another object stands for while the "
            f"program runs; write a method or a function that calls it{call}, and give that"
        )


def checked_body(body: Any, where: object, argument: str) -> Any:
    """Refuse what cannot be called without arguments, or is not done when it returns."""
    if isinstance(body, Native):
        return body
    if not callable(body):
        remedy = "; name the method without calling it" if body is None else ""
        raise ArgumentError(
            f"{where}: {argument} is {body!r}, of type {type(body).__name__}, and has to be callable{remedy}"
        )
    refuse_method_of_port(body, f"{where}: {argument} is")
    function = own_code(body)
    if function is not None:
        check_synchronous(function, f"{where}: {argument} {in_source(function)}")
        code, given = function.__code__, isinstance(body, MethodType)
        if function in (body, getattr(body, "__func__", None)) and code.co_argcount + code.co_kwonlyargcount == given:
            return body
    try:
        inspect.signature(body).bind()
    except TypeError as error:
        raise DeclarationError(
            f"{where}: {argument} {body!r} is called without arguments ({error}); give a bound method, or a function "
            "that closes over what it needs"
        ) from None
    except ValueError:
        pass  # a builtin without a signature
    return body
