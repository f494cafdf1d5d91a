"""How does a declaration in the body of a reactor class become part of every instance?

Ports, timers, actions and reactions are declared as class attributes. The declaration knows its class, name and line.
Each reactor gets its own *bound* copy under the same name, in its `__dict__`, so that `self.count` is a plain lookup.
An object declared in `__init__` instead is its own declaration, and is bound when the program is elaborated.

A class body is watched without a metaclass (which would clash with those of other bases): the first declaration leaves
a `Body` in the namespace. So duplicates, and declarations in a class that is no reactor, are found when the class is
created.
"""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, Self, TypeVar, cast

from reactors.errors import DeclarationError, OutsideReactionError, ParameterError, UndeclaredAccessError
from reactors.location import Call, Location
from reactors.names.keywords import check_keywords
from reactors.names.lacking import explains, listed, meant
from reactors_runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from types import CodeType, FrameType

K = TypeVar("K")

BODY = "__reactor_body__"  # where a class body keeps its `Body` while it is executed


class HasPorts:
    """A reactor, or a bank: where a port is wanted, one of its ports has to be named."""

    __slots__ = ()


class Owner(HasPorts):
    """A reactor, as seen by its declarations. `Reactor` consists of these declarations, so it is defined above."""

    __slots__ = ()

    _declarations: ClassVar[tuple[Declared, ...]]
    _reactions: ClassVar[tuple[Any, ...]]
    _states: ClassVar[tuple[Any, ...]]

    _container: Any  # the reactor around it
    _engine: Any
    _index: int
    _made_at: Location
    _mode: Any  # of its container, in which it lies
    _own_states: Mapping[str, Any]
    _path: str | None

    def __content__(self) -> str | None:
        """What a hash of it includes: its identity."""
        return self._path

    if TYPE_CHECKING:

        @property
        def path(self) -> str:
            """Where it is in the program."""
            ...


class Body:
    """The declarations of one class body, in order."""

    def __init__(self, namespace: Mapping[str, Any], code: CodeType) -> None:
        self.namespace = namespace
        self.name = namespace["__qualname__"].rpartition("<locals>.")[2]
        self.code = code
        self.declared: list[tuple[Declared, int]] = []  # with the place in the code that made it
        self.decorating: list[Decorating] = []  # what has been called, and has decorated nothing yet
        self.owner: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        # Called before any declaration's own, for it stands first in the namespace.
        self.owner = owner

    def name_of(self, declaration: Declared) -> str:
        """The name to which the body assigns it, whatever happens to it later; "" if there is none."""
        at = next(at for declared, at in self.declared if declared is declaration)
        steps = [step for step in dis.get_instructions(self.code) if step.offset > at]
        return str(steps[0].argval) if steps and steps[0].opname == "STORE_NAME" else ""

    @staticmethod
    def of(frame: FrameType) -> Body | None:
        """The body that `frame` executes, if it executes the body of a class."""
        if frame.f_code.co_flags & 1 or frame.f_locals is frame.f_globals:  # 1: a function, which has fast locals
            return None
        namespace = cast("MutableMapping[str, Any]", frame.f_locals)
        if BODY not in namespace:
            if "__qualname__" not in namespace:
                return None
            namespace[BODY] = Body(namespace, frame.f_code)
        return cast("Body", namespace[BODY])


class Decorating:
    """A decorator that was called, and has to be applied before the class whose body `frame` executes is created."""

    def __init__(self, frame: FrameType, call: Call, form: str) -> None:
        self.call, self.form = call, form
        self._body = Body.of(frame)
        if self._body is not None:
            self._body.decorating.append(self)

    def done(self) -> None:
        """Note that it was applied."""
        if self._body is not None and self in self._body.decorating:
            self._body.decorating.remove(self)


def _class_by_name(declaration: Declared) -> Callable[[type, str], None]:
    # Python wraps what `__set_name__` raises into a RuntimeError (before 3.12), but not what looking it up raises.
    body = declaration._body
    if body is not None and body.owner is not None and not issubclass(body.owner, Owner):
        name = f"{body.name}.{body.name_of(declaration) or declaration.word} ({declaration.location})"
        raise DeclarationError(
            f"{name} is declared in {body.name}, which is no reactor; write class {body.name}(rx.Reactor)"
        )
    return declaration._named


def spelled(kind: type) -> str:
    """The name of a class, without the function in which it may be local."""
    return kind.__qualname__.rpartition("<locals>.")[2]


def article(word: str) -> str:
    """A word with its indefinite article."""
    return f"an {word}" if word[0] in "aeiouAEIOU" else f"a {word}"


class Declared:
    """Anything declared in a class body or in `__init__`: ports, timers, actions, reactions."""

    word = "declaration"
    offers: ClassVar[tuple[str, ...]] = ()  # what a reaction can do with it
    name = ""
    _owner: Owner | None = None  # the reactor that has it; None for the declaration in the class
    _class: type | None = None  # the class whose body declares it
    _body: Body | None = None  # that body, until the class is made
    _inside: Any = None  # of what lies in no mode: the one in whose `with` it was declared all the same
    _declared: Self  # the declaration, of which this is a bound copy or itself

    __set_name__ = property(_class_by_name)

    if not TYPE_CHECKING:  # which knows the parameters of each `__init__`

        def __new__(cls, *_args: Any, **kwargs: Any) -> Self:
            """With the arguments of `__init__`, whose names are checked."""
            if kwargs:
                check_keywords(cls.__init__, kwargs, lambda: Call(f"rx.{cls.__name__}", Location.caller()))
            return object.__new__(cls)

    def __content__(self) -> str:
        """What a hash of it includes: its identity."""
        return self.path

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)  # and nothing of what a door leads to

    def _declare(self: Self, frame: FrameType) -> None:
        """Note the location of the declaration: `frame` is executing it."""
        self._declared = self
        self._location = Location.of(frame)
        body = Body.of(frame)
        if body is not None:
            self._body = body
            body.declared.append((self, frame.f_lasti))

    def _named(self, owner: type, name: str) -> None:
        if self._class is None:
            self._class = owner
            self.name = name
        self._body = None

    def _bind(self, owner: Owner) -> Self:
        """A copy for one reactor."""
        bound = object.__new__(self.__class__)
        bound._owner = owner
        bound._declared = self
        bound.name = self.name
        return bound

    @property
    def location(self) -> Location:
        """File and line of the declaration."""
        return self._declared._location

    @property
    def path(self) -> str:
        """Its place in the program: "main.rollouts[3].table"; before elaboration, it begins with the class."""
        if self._owner is not None:
            return f"{self._owner.path}.{self.name}"
        if self._class is not None:
            return f"{spelled(self._class)}.{self.name}"
        if self._body is not None:  # the class is not made yet, but may have given it its name
            names = [name for name, value in self._body.namespace.items() if value is self]
            return f"{self._body.name}.{names[0]}" if names else f"<{self.word}>"
        return self.name or f"<{self.word}>"

    def where(self) -> str:
        """Path, file and line, for errors."""
        return f"{self.path} ({self.location})"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]

    def _lacks(self, name: str, seen: Mapping[str, object]) -> str:
        """What to add to the message when there is no attribute of this name."""
        if not self.offers:
            return ""
        near = meant(name, [form.partition("(")[0] for form in self.offers])
        if near:
            return f"; did you mean {self._called(seen)}.{near}?"
        return f"; the {self.word} {self.where()} has {listed([f'.{form}' for form in self.offers])}"

    def _called(self, seen: Mapping[str, object]) -> str:
        """What code with these variables can call it; its path if none of them leads to it."""
        value: Any
        for name, value in seen.items():
            if value is self:
                return name
            around = value.path if isinstance(value, Owner) else ""
            if around and self._owner is not None and f"{self._owner.path}.".startswith(f"{around}."):
                return f"{name}{self._owner.path.removeprefix(around)}.{self.name}"
        return self.path

    def _refuse_at_rest(self, use: str, rule: str) -> NoReturn:
        """Refuse what only a reaction that declares this can do; `rule` says so to callers outside of reactions."""
        if self._owner is not None and self._owner._engine is not None:
            group = "effects" if use in ("set", "set_all", "loan", "schedule") else "triggers or uses"
            raise UndeclaredAccessError(
                f"{self.where()}: .{use} while the program runs, but no reaction declares it; name it in the {group} "
                "of the reaction that uses it"
            )
        raise OutsideReactionError(f"{self.where()}: .{use} outside of a reaction; {rule}")

    def _at_rest(self, use: str) -> NoReturn:
        """The same, with the rule for such things."""
        raise NotImplementedError

    # What the core calls on top of a door (csrc/python/doors.c), for methods that were kept beyond the run.

    def _refuse(self, use: str, kind: str) -> NoReturn:  # noqa: ARG002 - the groups in which a reaction may name it
        self._at_rest(use)

    def _miscalled(self, form: str, given: int, name: str | None) -> NoReturn:  # noqa: ARG002 - it is too late anyway
        self._at_rest(form.partition("(")[0])

    def _assigned(self, use: str) -> None:
        """Refuse an assignment outside of a reaction, as `_refuse_at_rest` does."""
        getattr(self, use)

    def __repr__(self) -> str:
        path = self.path
        return f"<{self.word} {path}>" if path != f"<{self.word}>" else f"<{self.word} ({self.location})>"


explains(Declared)


def never_assigned(*names: str) -> Callable[[type[K]], type[K]]:
    """Let properties of a class say what is wrong when they are assigned to."""

    def guard(kind: type[K]) -> type[K]:
        for name in names:
            setattr(kind, name, vars(kind)[name].setter(lambda thing, _, name=name: thing._assigned(name)))
        return kind

    return guard


class Placed(Protocol):
    """Has a location in the user's source, and may take a parameter from a reactor."""

    word: str

    def where(self) -> str:
        """Path, file and line, for errors."""
        ...


def parameter(owner: Owner | None, attribute: str, what: str, declared: Placed) -> Any:
    """The value that the reactor's `__init__` stored under `attribute`, given as a string in a declaration."""
    if owner is None:
        raise ParameterError(
            f"{declared.where()}: {what}={attribute!r} stands for an attribute of a reactor, and this is no reactor's "
            f"yet; assign the {declared.word} to an attribute first, or give the value itself"
        )
    try:
        return getattr(owner, attribute)
    except AttributeError:
        known = sorted(name for name in vars(owner) if not isinstance(vars(owner)[name], Declared))
        near = did_you_mean(attribute, known)
        has = f"it sets {', '.join(known)}" if known else "it sets none"
        raise ParameterError(
            f"{declared.where()}: {what}={attribute!r}, but __init__ of {spelled(type(owner))} sets no attribute "
            f"{attribute!r}" + (near or f" ({has}); set self.{attribute}, or give the value itself")
        ) from None
