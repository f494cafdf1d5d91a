"""What does one reactor have?

Read from its attributes, in the order of assignment: ports, timers and actions, modes, states, reactions, and the
reactors that it contains. What `__init__` declared becomes the reactor's own here; what stands where nothing is looked
for, as a port in a list, is refused.
"""

from __future__ import annotations

from inspect import getattr_static
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from reactors.code.bytecode import assignment
from reactors.errors import ArgumentError, ContainmentError, DeclarationError
from reactors.model.actions import Timed
from reactors.model.bank import Bank
from reactors.model.declaration import Declared, article, spelled
from reactors.model.modes import EACH_ITS_OWN, Mode, State, refuse_inside
from reactors.model.port_types import annotated, meant
from reactors.model.ports import Port
from reactors.model.reaction import Reaction
from reactors.model.reactor import Bare, Reactor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.location import Location
    from reactors.model.declaration import Owner

Stray: TypeAlias = tuple[Any, str]  # a reactor where none is looked for, and what to say if it is nowhere else


class Child(NamedTuple):
    """A reactor that another one contains."""

    name: str  # the attribute that holds it, with index or key
    reactor: Reactor
    bank: tuple[str, int, int] | None  # the attribute that holds its bank, its index there, and the width


class Contents(NamedTuple):
    """What a reactor has, each kind in order of assignment, and reactions in the order in which they run."""

    ports: list[Port[Any]]
    timed: list[Timed]
    modes: list[Mode]
    reactions: list[Reaction[Any]]
    children: list[Child]


def check_main(main: object) -> None:
    """Refuse what is no program: no reactor, or part of another one."""
    if isinstance(main, type) and issubclass(main, Reactor):
        raise ContainmentError(f"{spelled(main)} is a class of reactors; make one: {main.__name__}(...)")
    if not isinstance(main, Reactor):
        raise ArgumentError(f"the program is {main!r}, of type {type(main).__name__}; it has to be an rx.Reactor")
    around = main._container or main._made_in
    if around is not None and any(child.reactor is main for child in _contained(around)):
        raise ContainmentError(
            f"{main.path} (made at {main._made_at}) is contained in {_named(around)}; run that, or make another "
            f"{spelled(type(main))}"
        )


def look_into(reactor: Reactor, path: str, classes: dict[type, str], strays: list[Stray]) -> Contents:
    """Bind what a reactor declares itself, and find the reactors that it contains.

    Classes of reactors among its attributes are added to `classes`, with their paths, and what might be a reactor in
    the wrong place to `strays`.
    """
    reactions = reactor._in_order() if reactor._added_reactions else [*reactor._reactions]
    found = Contents([], [], [], reactions, [])
    declared = 0
    containing = False
    states: list[tuple[str, State[Any]]] = []
    for name, value in vars(reactor).items():
        sort = _SORTS.get(type(value)) or _sort(type(value))
        if sort is object:
            continue
        if sort is Port or sort is Timed or sort is Mode:
            if value._owner is None:
                _bind(reactor, name, value)
            if value._owner is not reactor or value.name != name:
                continue  # a reference to what another reactor has, or under another name
            declared += value._declared._class is not None
            (found.ports if sort is Port else found.modes if sort is Mode else found.timed).append(value)
        elif sort is State:
            states.append((name, value))
        elif sort is type:
            _note_class(reactor, name, value, classes)
        elif sort is _ALIAS:
            _refuse_alias(reactor, name, value)
        elif sort is Declared:
            _refuse_reaction(f"{path}.{name}", value)
        else:
            containing = True
    if declared != len(reactor._declarations):
        _refuse_replacement(reactor)
    _refuse_annotations(reactor, path)
    if states:
        _bind_states(reactor, path, states)
    if containing:
        for child in _contained(reactor, strays):
            _check_child(reactor, path, child)
            found.children.append(child)
    return found


def _refuse_annotations(reactor: Reactor, path: str) -> None:
    for name, note in annotated(type(reactor)).items():  # type: ignore[arg-type]  # a class can be hashed
        if name not in vars(reactor) and (written := meant(note)) is not None:
            raise DeclarationError(
                f"{path} (made at {reactor._made_at}): {name}: {written[0]} is an annotation and declares nothing; "
                f"write {name} = {written[1]}"
            )


def _bind_states(reactor: Reactor, path: str, states: list[tuple[str, State[Any]]]) -> None:
    first: dict[State[Any], str] = {}
    for name, state in states:
        if first.setdefault(state, name) != name:
            raise DeclarationError(
                f"{path}.{name} ({state.location}) is the rx.State {first[state]!r} by another name; declare the two "
                "separately"
            )
        reactor._own_states = {**reactor._own_states, name: state.bind(reactor, name)}


def _contained(reactor: Reactor, strays: list[Stray] | None = None) -> Iterator[Child]:
    """The reactors in its attributes."""
    for name, value in vars(reactor).items():
        sort = _SORTS.get(type(value)) or _sort(type(value))
        if sort is Reactor:
            yield Child(name, value, None)
        elif sort is Bank:
            yield from _of_bank(name, value)
        elif sort is list or sort is dict:
            for key, each in value.items() if sort is dict else enumerate(value):
                inner = _SORTS.get(type(each)) or _sort(type(each))
                if inner is Reactor:
                    yield Child(f"{name}[{key}]", each, None)
                elif inner is Bank:
                    yield from _of_bank(f"{name}[{key}]", each)
                elif inner is not object and strays is not None:
                    strays += _inside(reactor, name, f"{name}[{key}]", each)
        elif sort is set and strays is not None:
            strays += _held(reactor, name, name, value, "is a set; reactors have an order: write a list or a dict")


def _inside(reactor: Reactor, name: str, inside: str, thing: Any) -> list[Stray]:
    """Refuse ports that a list holds and no attribute; find reactors in lists within lists."""
    if isinstance(thing, Declared):
        if thing._owner is None and thing._class is None:
            remedy = "" if isinstance(thing, Timed) else "declare a multiport (width=...), or "
            raise DeclarationError(
                f"{reactor.path}.{inside} ({thing.location}) is {article(thing.word)} that no attribute holds; {remedy}"
                "assign each to an attribute of its own"
            )
        return []
    if isinstance(thing, State):
        raise DeclarationError(
            f"{reactor.path}.{inside} ({thing.location}) is an rx.State that no attribute holds; {EACH_ITS_OWN}"
        )
    if isinstance(thing, type):
        if issubclass(thing, Declared):
            raise DeclarationError(
                f"{reactor.path}.{inside} ({_where(reactor, name)}) is the class rx.{thing.__name__} itself; assign "
                f"rx.{thing.__name__}(...) to an attribute of its own"
            )
        return []
    why = "is a list within another; write one list, or a bank or a reactor for each row"
    return _held(reactor, name, inside, thing, why)


def _held(reactor: Reactor, name: str, inside: str, things: Any, why: str) -> list[Stray]:
    """The first of some things, if it is a reactor."""
    first = next(iter(things.values() if isinstance(things, dict) else things), None)
    if isinstance(first, Bank):
        first = next(iter(first), None)
    if not isinstance(first, Reactor):
        return []
    where = f"{reactor.path}.{inside} ({_where(reactor, name)})"
    return [
        (first, f"{where} holds a {spelled(type(first))} (made at {first._made_at}) that nothing contains: it {why}")
    ]


def _where(reactor: Reactor, name: str) -> Location:
    """The line of its `__init__` that assigns to an attribute, or else the one that made the reactor."""
    for kind in type(reactor).__mro__:
        found = assignment(vars(kind).get("__init__"), name)
        if found is not None:
            return found
    return reactor._made_at


def _of_bank(name: str, bank: Bank[Any]) -> Iterator[Child]:
    width = len(bank)
    for i, member in enumerate(bank):
        yield Child(f"{name}[{i}]", member, (name, i, width))


_ALIAS = type(Port[int])  # what rx.Output[int] is
_SORTS: dict[type, type] = {}  # what kind of thing the values of a type are; `object`: nothing that concerns us


def _sort(kind: type) -> type:
    known = (Port, Timed, Mode, State, Declared, Reactor, Bank, list, tuple, dict, set, frozenset, type, _ALIAS)
    sort = next((base for base in known if issubclass(kind, base)), object)
    _SORTS[kind] = list if sort is tuple else set if sort is frozenset else sort
    return _SORTS[kind]


def _note_class(reactor: Reactor, name: str, value: type, classes: dict[type, str]) -> None:
    if issubclass(value, Declared):
        raise DeclarationError(
            f"{reactor.path}.{name} ({_where(reactor, name)}) is the class rx.{value.__name__} itself; write "
            f"self.{name} = rx.{value.__name__}(...)"
        )
    if issubclass(value, Reactor):
        classes.setdefault(value, f"{reactor.path}.{name} ({_where(reactor, name)})")


def _refuse_alias(reactor: Reactor, name: str, value: object) -> None:
    if (written := meant(value)) is not None:
        raise DeclarationError(
            f"{reactor.path}.{name} ({_where(reactor, name)}) is {written[0]}, a type; write self.{name} = {written[1]}"
        )


def _refuse_reaction(path: str, value: Declared) -> None:
    """Refuse a reaction that was decorated in `__init__`: it would never run."""
    if isinstance(value, Reaction) and value._class is None and value._owner is None:
        raise DeclarationError(
            f"{path} ({value.location}) is a reaction decorated outside of the body of a class; in __init__ write "
            "self.add_reaction(triggers, body, ...)"
        )


def _check_child(reactor: Reactor, path: str, child: Child) -> None:
    """Refuse a reactor that another one contains already, as far as can be seen from here."""
    around = child.reactor._container
    if (
        around is not None
        and around is not reactor
        and any(other.reactor is child.reactor for other in _contained(around))
    ):
        raise ContainmentError(
            f"{path}.{child.name} (made at {child.reactor._made_at}) is contained in {_named(around)}, as well; a "
            "reactor is contained once: make two, or refer to it by a property"
        )


def _bind(reactor: Reactor, name: str, declared: Declared) -> None:
    """Make what `__init__` declared the reactor's own."""
    if declared._class is not None:
        raise DeclarationError(
            f"{reactor.path}.{name} is the declaration of the class, {declared.where()}, and no port of this reactor; "
            "do not assign it in __init__"
        )
    meant = getattr_static(type(reactor), name, None)
    if isinstance(meant, FunctionType | Reaction):
        raise DeclarationError(
            f"{reactor.path}.{name} is declared twice: as {article(declared.word)} ({declared.location}), and as a "
            f"{'reaction' if isinstance(meant, Reaction) else 'method'} of {spelled(type(reactor))}; rename one"
        )
    declared._owner = reactor
    declared.name = name
    if declared._inside is not None and not is_around(declared._inside, reactor):
        refuse_inside(declared, declared._inside)
    if isinstance(declared, Port):
        declared._call(name)


def _refuse_replacement(reactor: Reactor) -> None:
    for declaration in reactor._declarations:
        now = vars(reactor).get(declaration.name)
        if not (isinstance(now, Declared) and now._declared is declaration and now._owner is reactor):
            remedy = "give that another name"
            if isinstance(declaration, Port) and not isinstance(now, Declared):
                remedy += f", or send it in a reaction with .{declaration.name}.set(...)"
            raise DeclarationError(
                f"{reactor.path} (made at {reactor._made_at}): its {declaration.word} {declaration.name!r}, declared "
                f"at {declaration.location}, has been replaced by {now!r}; {remedy}"
            )


def _named(container: Reactor) -> str:
    """A container, which may not have been elaborated yet."""
    if isinstance(container, Bare) and container._path is None:
        return f"an rx.Reactor (made at {container._made_at})"
    kind = spelled(type(container))
    return f"a {kind} (made at {container._made_at})" if container._path is None else f"{container.path}, a {kind}"


def is_around(mode: Mode, reactor: Owner | None) -> bool:
    """Whether this reactor, or one around it, was made inside of the `with` of this mode."""
    while reactor is not None:
        if reactor._mode is mode:
            return True
        reactor = reactor._container
    return False
