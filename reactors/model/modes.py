"""Which parts of a reactor are active only at times?

A mode groups timers, actions, reactions, connections and contained reactors of one reactor; exactly one of a reactor's
modes is current. `with self.dive:` (in a class body: `with dive:`) puts everything that is declared, created or
connected within it into the mode. `mode=` does so for a single thing, also for a contained reactor: `Child(...,
mode=self.dive)`. In a mode that is not current, time stands still: see `Mode`.
"""

from __future__ import annotations

import copy
import sys
import threading
from contextlib import nullcontext
from functools import wraps
from inspect import CO_OPTIMIZED, CO_VARKEYWORDS, signature, unwrap
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from reactors.errors import ArgumentError, DeclarationError, StructureError
from reactors.location import Call, Location
from reactors.model.declaration import Declared, spelled
from reactors.model.thread_state import executing
from reactors.names.keywords import check_keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from reactors.model.declaration import Owner
    from reactors_runtime.engine import Engine

T = TypeVar("T")

# What to do about `rx.State`s in a list.
EACH_ITS_OWN = "assign each to an attribute of its own, or write one for the whole, rx.State([...])"


class Mode(Declared):
    """Declare a mode of a reactor; one of them is the `initial` one.

    A reaction with a mode among its effects may call the mode's `set()`: the reactor is in that mode from the next
    microstep on. A mode entered by `reset`, which is what the plain mode in effects means, starts again: timers begin
    at their offsets, pending actions and messages are discarded, each `State` gets its first value, contained reactors
    are in their initial modes, and reactions to `rx.reset` run. If it is entered by `history`, time continues where it
    stood when the mode was left.

    >>> import reactors as rx
    >>> class Blinker(rx.Reactor):
    ...     dark, light = rx.Mode(initial=True), rx.Mode()
    ...     with dark:
    ...         wait = rx.Timer("3 ms")
    ...         @rx.reaction(wait, effects=light)
    ...         def up(self):
    ...             self.light.set()
    ...     with light:
    ...         burn = rx.Timer("1 ms")
    ...         @rx.reaction(burn, effects=dark.reset)
    ...         def down(self):
    ...             print("dark from", self.tag)
    ...             self.dark.set()
    >>> _ = rx.run(Blinker(), fast=True, timeout="10 ms")
    dark from 4 ms
    dark from 8 ms
    """

    word = "mode"
    _index: int = -1  # in the program's modes

    def __init__(self, *, initial: bool = False) -> None:
        frame = sys._getframe(1)
        if not isinstance(initial, bool):
            raise ArgumentError(f"initial of {Call('rx.Mode', Location.of(frame))} is {initial!r}; write True or False")
        self._initial = initial
        note_mode(self)
        self._declare(frame)

    @property
    def reset(self) -> Transition:
        """The effect of entering the mode at its beginning."""
        return Transition(self, by_reset=True)

    @property
    def history(self) -> Transition:
        """The effect of entering the mode as it was left."""
        return Transition(self, by_reset=False)

    def set(self) -> None:
        """Enter the mode when everything at this tag is done; of several modes set at one tag, the last one counts."""
        context = None if self._owner is None else self._owner._engine
        if context is None:
            self._refuse_at_rest("set", "modes are entered by reactions that declare it in their effects")
        context.set_mode(self)

    def __enter__(self) -> Self:
        _within.modes = (*_within.modes, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        _within.modes = _within.modes[:-1]


class _Within(threading.local):
    """The modes in whose `with` this thread is, the innermost last."""

    modes: tuple[Mode, ...] = ()


_within = _Within()


class Transition:
    """The effect of entering a mode, by reset or with its history."""

    def __init__(self, mode: Mode, *, by_reset: bool) -> None:
        self.mode, self.by_reset = mode, by_reset

    def __repr__(self) -> str:
        return f"<{'reset' if self.by_reset else 'history'} of {self.mode!r}>"


class State(Generic[T]):
    """Declare an attribute that gets its first value again when its mode, or the one around its reactor, is reset.

    The value is copied (`copy.deepcopy`) for each reactor; a function is called with the reactor instead. In generated
    programs, a `State` may also be assigned to an attribute of a reactor; it then belongs to that reactor, and is
    replaced by its first value when the program is elaborated.

    >>> import reactors as rx
    >>> class Counter(rx.Reactor):
    ...     n = rx.State(0)
    ...     seen = rx.State(lambda self: [self.n])
    >>> Counter().n, Counter().seen
    (0, [0])
    """

    name = ""
    _index: int | None = None  # of what one reactor has: the mode with which it is renewed; -1: none

    if not TYPE_CHECKING:  # which knows the parameters of `__init__`

        def __new__(cls, *_args: Any, **kwargs: Any) -> Self:
            """With the arguments of `__init__`, whose names are checked."""
            if kwargs:
                check_keywords(cls.__init__, kwargs, lambda: Call("rx.State", Location.caller()))
            return object.__new__(cls)

    def __init__(self, initial: T | Callable[[Any], T], *, mode: Mode | None = None) -> None:
        self.location = Location.caller()
        call = Call("rx.State", self.location)
        # In a function: a reaction may import a file that declares some in its classes.
        if executing.program and sys._getframe(1).f_code.co_flags & CO_OPTIMIZED:
            raise StructureError(
                f"{call} is made while the program runs, but which attributes are renewed is fixed by then; declare it "
                "in the class or in __init__, and here assign the value itself"
            )
        if callable(initial):
            _check_initial(initial, call)
        self._initial = initial
        self._mode = current(mode, call)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> State[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: Any, owner: type | None = None) -> State[T] | T:
        if instance is None:
            return self
        value: T = self.renew(instance)  # later it is an attribute like any other
        return value

    if TYPE_CHECKING:  # it may be assigned a T, as any attribute

        def __set__(self, instance: object, value: T) -> None: ...

    def bind(self, reactor: Any, name: str) -> Self:
        """A copy for one reactor, which has it under this name."""
        bound = copy.copy(self)
        bound.name = name
        bound.renew(reactor)
        return bound

    def __getstate__(self) -> dict[str, Any]:
        known = {**vars(self)}
        if self._index is not None:  # the mode is known by its number
            known["_mode"] = None
        return known

    def renew(self, reactor: Any) -> Any:
        """Set the attribute to its first value."""
        value = self._initial(reactor) if callable(self._initial) else copy.deepcopy(self._initial)
        vars(reactor)[self.name] = value
        return value


def _check_initial(initial: Callable[..., object], call: Call) -> None:
    """Refuse a function that cannot be called with the reactor, and the classes of plain values."""
    why = "it is the class of a value" if isinstance(initial, type) and initial.__module__ == "builtins" else ""
    if not why:
        try:
            signature(initial).bind(None)
        except TypeError as error:
            why = str(error)
        except ValueError:  # a builtin without a signature
            return
    if why:
        raise DeclarationError(
            f"{call} is given {initial!r}, to be called with the reactor, which it cannot be ({why}); give the first "
            "value itself, which is copied for each reactor, or write lambda self: ..."
        )


def innermost() -> Mode | None:
    """The mode of the innermost `with`."""
    return _within.modes[-1] if _within.modes else None


def current(given: Mode | None, where: object, why: str = "") -> Mode | None:
    """The mode that something belongs to: the given one, or that of the innermost `with`."""
    if given is not None and not isinstance(given, Mode):
        raise ArgumentError(f"{where}: mode is {given!r}, of type {type(given).__name__}; it has to be an rx.Mode{why}")
    return innermost() if given is None else given


def of_reactor(kind: type, kwargs: dict[str, Any], where: object) -> Mode | None:
    """The mode of a reactor that is created with `mode=`, unless its class has a parameter `mode` of its own."""
    if _names_mode(kind):
        return current(None, where)
    _let_mode_pass(kind)
    return current(kwargs["mode"], where, f", for __init__ of {spelled(kind)} has no parameter of that name")


def _names_mode(kind: type) -> bool:
    """Whether `mode` is a parameter of a class's `__init__`, or of one to which that passes keyword arguments on."""
    for base in kind.__mro__:
        init = unwrap(vars(base).get("__init__"))  # type: ignore[arg-type]  # what cannot be called, has no wrapper
        if isinstance(init, FunctionType):
            code = init.__code__
            if "mode" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
                return True
            if not code.co_flags & CO_VARKEYWORDS:
                return False
    return False


def _let_mode_pass(kind: type) -> None:
    """Let the `__init__` of a class be called with `mode=`, for which it has no parameter.

    This is done when the first such reactor is created. A metaclass would not need it, but would clash with those of
    other bases.
    """
    init: Any = kind.__init__  # type: ignore[misc]  # it is the class that is asked
    if init is object.__init__ or hasattr(init, "_lets_mode_pass"):
        return

    @wraps(init)
    def in_mode(self: Any, /, *args: Any, mode: Mode | None = None, **kwargs: Any) -> None:
        with nullcontext() if mode is None else mode:
            init(self, *args, **kwargs)

    in_mode._lets_mode_pass = True  # type: ignore[attr-defined]
    kind.__init__ = in_mode  # type: ignore[misc]


def note_mode(declared: Declared) -> None:
    """Remember the `with` around a port or a mode; only later is it known whether the mode is of its own reactor."""
    if (mode := innermost()) is not None:
        declared._inside = mode


def refuse_inside(declared: Declared, mode: Mode) -> None:
    """Refuse a port or a mode that is declared in a mode of its own reactor."""
    raise DeclarationError(
        f"{declared.where()} is declared in the `with` of the mode {mode.where()}, but {declared.word}s belong to the "
        "whole reactor; declare it outside of that"
    )


def bound(mode: Mode, reactor: Owner, what: str) -> Mode:
    """A reactor's own copy of a mode that its class declares; or the mode itself, which must be the reactor's own."""
    found = mode if mode._class is None and mode._owner is not None else vars(reactor).get(mode.name)
    if not isinstance(found, Mode) or found._owner is not reactor:
        raise DeclarationError(
            f"{what} is put into {mode.where()}, which is no mode of {reactor.path}; a mode holds what belongs to its "
            "own reactor"
        )
    return found


def note_states(engine: Engine, reactors: Iterable[Owner]) -> None:
    """Tell an engine which attributes are reset with which mode."""
    rows = engine.image.program.reactors
    for reactor in reactors:
        found: list[tuple[State[Any], int | None]] = [(state, state._index) for state in reactor._own_states.values()]
        for state in type(reactor)._states:
            mode = rows[reactor._index].mode if state._mode is None else vars(reactor)[state._mode.name]._index
            found.append((state, mode))
        for state, mode in found:
            if mode is not None and mode >= 0:
                engine.renewals.setdefault(mode, []).append(_Renewal(state, reactor))


class _Renewal:
    def __init__(self, state: State[Any], reactor: Owner) -> None:
        self.state, self.reactor = state, reactor

    def __call__(self) -> None:
        try:
            self.state.renew(self.reactor)
        except Exception as error:
            error.add_note(
                f"this is the first value of {self.reactor.path}.{self.state.name}, an rx.State that is reset"
            )
            raise
