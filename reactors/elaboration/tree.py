"""What contains what?

Read from the attributes of `main`, then of what it contains, and so on, in the order of assignment and depth first.
This gives every reactor its path and every port, timer and action its elements; connections and reactions come later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import getattr_static
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias
from warnings import warn_explicit

from reactors.code.bytecode import assignment
from reactors.elaboration.claim import contain
from reactors.errors import ArgumentError, ContainmentError, DeclarationError, ReactorWarning
from reactors.model.actions import Action, PhysicalAction, Timed, Timer
from reactors.model.bank import Bank
from reactors.model.declaration import Declared, article, spelled
from reactors.model.layout import refuse_too_many
from reactors.model.modes import EACH_ITS_OWN, Mode, State, bound, refuse_inside
from reactors.model.port_types import annotated, meant
from reactors.model.ports import Port
from reactors.model.reaction import Reaction
from reactors.model.reactor import Bare, Reactor
from reactors.model.triggers import Reset, Shutdown, Startup, reset, shutdown, startup
from reactors_runtime.program import Element, Kind
from reactors_runtime.program import Mode as ModeRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.location import Location
    from reactors.model.declaration import Owner

Handle: TypeAlias = Port[Any] | Timed | Startup


@dataclass(slots=True, eq=False)
class Place:
    """A reactor in the tree."""

    reactor: Reactor
    name: str  # the attribute that holds it, with index or key
    path: str
    bank: tuple[str, int, int] | None
    children: list[Place] = field(default_factory=list)
    ports: list[Port[Any]] = field(default_factory=list)
    timed: list[Timed] = field(default_factory=list)
    reactions: list[Reaction[Any]] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)
    mode: int = -1  # the mode that it lies in, of whatever reactor around it
    is_relay: bool = False  # it stands for a connection of that mode
    builtins: dict[tuple[str, int], int] = field(default_factory=dict)  # "startup" and the like, mode -> element

    def mode_of(self, declared: Timed | Reaction[Any]) -> int:
        """The mode that a timer, an action or a reaction belongs to: its own, or the one that the reactor lies in."""
        declaration: Any = declared._declared
        return self._mode_in(declaration._mode, declared)

    def mode_of_state(self, state: State[Any]) -> int:
        """The mode with which an attribute of the reactor is renewed."""
        return self._mode_in(state._mode, state)

    def _mode_in(self, mode: Mode | None, what: Any) -> int:
        if mode is None or is_around(mode, self.reactor):
            return self.mode
        return bound(mode, self.reactor, f"{self.path}.{what.name} ({what.location})")._index


@dataclass(slots=True, eq=False)
class Tree:
    """All reactors and all elements of a program, each in order of elaboration.

    The elements of one reactor are its ports, then its timers and actions, then its startup and shutdown if it has use
    for these.
    """

    places: list[Place] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    handles: list[Handle] = field(default_factory=list)  # parallel to elements
    multiports: list[list[int]] = field(default_factory=list)
    modes: list[ModeRow] = field(default_factory=list)

    def holds(self, reactor: Owner | None) -> bool:
        """Whether `reactor` is part of this program."""
        if reactor is None or reactor._path is None:
            return False
        return reactor._index < len(self.places) and self.places[reactor._index].reactor is reactor


def grow(main: Reactor) -> Tree:
    """The tree under `main`, with all elements numbered."""
    check_main(main)
    tree = Tree()
    main._container = main._path = None
    classes: dict[type, str] = {}
    strays: list[Stray] = []
    stack: list[tuple[Place, Place | None]] = [(Place(main, "main", "main", None), None)]
    seen: dict[int, Place] = {}
    while stack:
        place, container = stack.pop()
        reactor = place.reactor
        if id(reactor) in seen:
            raise ContainmentError(
                f"{place.path} and {seen[id(reactor)].path} are the same {spelled(type(reactor))} (made at "
                f"{reactor._made_at}); a reactor is contained once: make two, or refer to it by a property"
            )
        seen[id(reactor)] = place
        if container is not None:
            contain(reactor, container.reactor, place.path)
            container.children.append(place)
            place.mode = _mode_around(place, container)
        reactor._path, reactor._index = place.path, len(tree.places)
        tree.places.append(place)
        stack.extend((child, place) for child in reversed(_look_into(place, classes, strays)))
        _number(place, tree)
    for stray, told in strays:
        if not tree.holds(stray):
            raise ContainmentError(told)
    kinds = {type(place.reactor) for place in tree.places}
    for kind, path in classes.items():
        if kind not in kinds:
            told = f"{path} is the class {spelled(kind)}, no reactor; to contain one, make it: {kind.__name__}(...)"
            warn_explicit(told, ReactorWarning, main._made_at.file, main._made_at.line)
    return tree


def add_relay(tree: Tree, relay: Reactor, path: str, mode: int) -> Place:
    """A place for a reactor that stands for a connection of a mode."""
    place = Place(relay, path, path, None, mode=mode, is_relay=True)
    relay._path, relay._index = path, len(tree.places)
    tree.places.append(place)
    _look_into(place, {}, [])
    _number(place, tree)
    return place


def check_main(main: object) -> None:
    """Refuse what is no program: no reactor, or part of another one."""
    if isinstance(main, type) and issubclass(main, Reactor):
        raise ContainmentError(f"{spelled(main)} is a class of reactors; make one: {main.__name__}(...)")
    if not isinstance(main, Reactor):
        raise ArgumentError(f"the program is {main!r}, of type {type(main).__name__}; it has to be an rx.Reactor")
    around = main._container or main._made_in
    if around is not None and any(thing is main for _, thing, _ in _contained(around)):
        raise ContainmentError(
            f"{main.path} (made at {main._made_at}) is contained in {_named(around)}; run that, or make another "
            f"{spelled(type(main))}"
        )


def _named(container: Reactor) -> str:
    """A container, which may not have been elaborated yet."""
    if isinstance(container, Bare) and container._path is None:
        return f"an rx.Reactor (made at {container._made_at})"
    kind = spelled(type(container))
    return f"a {kind} (made at {container._made_at})" if container._path is None else f"{container.path}, a {kind}"


def _contained(
    reactor: Reactor, strays: list[Stray] | None = None
) -> Iterator[tuple[str, Reactor, tuple[str, int, int] | None]]:
    """The reactors in its attributes: name, reactor, and bank, index and width for members of a bank."""
    for name, value in vars(reactor).items():
        sort = _SORTS.get(type(value)) or _sort(type(value))
        if sort is Reactor:
            yield name, value, None
        elif sort is Bank:
            yield from _of_bank(name, value)
        elif sort is list or sort is dict:
            for key, each in value.items() if sort is dict else enumerate(value):
                inner = _SORTS.get(type(each)) or _sort(type(each))
                if inner is Reactor:
                    yield f"{name}[{key}]", each, None
                elif inner is Bank:
                    yield from _of_bank(f"{name}[{key}]", each)
                elif inner is not object and strays is not None:
                    strays += _inside(reactor, name, f"{name}[{key}]", each)
        elif sort is set and strays is not None:
            strays += _held(reactor, name, name, value, "is a set; reactors have an order: write a list or a dict")


Stray: TypeAlias = tuple[Any, str]  # a reactor where none is looked for, and what to say if it is nowhere else


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


def _of_bank(name: str, bank: Bank[Any]) -> Iterator[tuple[str, Reactor, tuple[str, int, int]]]:
    width = len(bank)
    for i, member in enumerate(bank):
        yield f"{name}[{i}]", member, (name, i, width)


_ALIAS = type(Port[int])  # what rx.Output[int] is
_SORTS: dict[type, type] = {}  # what kind of thing the values of a type are; `object`: nothing that concerns us


def _sort(kind: type) -> type:
    known = (Port, Timed, Mode, State, Declared, Reactor, Bank, list, tuple, dict, set, frozenset, type, _ALIAS)
    sort = next((base for base in known if issubclass(kind, base)), object)
    _SORTS[kind] = list if sort is tuple else set if sort is frozenset else sort
    return _SORTS[kind]


def _look_into(place: Place, classes: dict[type, str], strays: list[Stray]) -> list[Place]:
    """Bind what the reactor declares itself, and find the reactors it contains."""
    reactor, path = place.reactor, place.path
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
            (place.ports if sort is Port else place.modes if sort is Mode else place.timed).append(value)
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
    for name, note in annotated(type(reactor)).items():  # type: ignore[arg-type]  # a class can be hashed
        if name not in vars(reactor) and (written := meant(note)) is not None:
            raise DeclarationError(
                f"{path} (made at {reactor._made_at}): {name}: {written[0]} is an annotation and declares nothing; "
                f"write {name} = {written[1]}"
            )
    first: dict[State[Any], str] = {}
    for name, state in states:
        if first.setdefault(state, name) != name:
            raise DeclarationError(
                f"{path}.{name} ({state.location}) is the rx.State {first[state]!r} by another name; declare the two "
                "separately"
            )
        reactor._own_states[name] = state.bind(reactor, name)
    place.reactions = reactor._in_order() if reactor._added_reactions else [*reactor._reactions]
    return [_child(place, *found) for found in _contained(reactor, strays)] if containing else []


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
    """A reaction that somebody decorated in `__init__`: it would never run."""
    if isinstance(value, Reaction) and value._class is None and value._owner is None:
        raise DeclarationError(
            f"{path} ({value.location}) is a reaction decorated outside of the body of a class; in __init__ write "
            "self.add_reaction(triggers, body, ...)"
        )


def _child(place: Place, name: str, child: Reactor, bank: tuple[str, int, int] | None) -> Place:
    path, around = f"{place.path}.{name}", child._container
    if around is not None and around is not place.reactor and any(thing is child for _, thing, _ in _contained(around)):
        raise ContainmentError(
            f"{path} (made at {child._made_at}) is contained in {_named(around)}, as well; a reactor is contained "
            "once: make two, or refer to it by a property"
        )
    return Place(child, name, path, None if bank is None else (f"{place.path}.{bank[0]}", bank[1], bank[2]))


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


def _number(place: Place, tree: Tree) -> None:
    """Give the reactor's ports, timers and actions their elements."""
    elements, handles = tree.elements, tree.handles
    prefix, index = f"{place.path}.", place.reactor._index
    for port in place.ports:
        layout = port._declared._layout or port._carried()
        width = port._length()
        several = len(elements) + (1 if width is None else width)
        refuse_too_many(several, f"{port.where()} is one of {several:,} ports, timers and actions so far")
        channels = port._open()
        if channels is not None:
            tree.multiports.append([*range(len(elements), len(elements) + len(channels))])
        for each in (port,) if channels is None else channels:
            each._element = len(elements)
            handles.append(each)
            elements.append(
                Element(
                    prefix + each.name,
                    Kind.PORT,
                    index,
                    dtype=layout.dtype,
                    shape=layout.shape,
                    type=layout.type,
                    mutable=port._declared._mutable,
                )
            )
    _number_modes(place, tree)
    for state in place.reactor._own_states.values():
        state._index = place.mode_of_state(state)
    for timed in place.timed:
        timed._element = len(elements)
        handles.append(timed)
        elements.append(_of_timed(timed, prefix + timed.name, index, place.mode_of(timed)))
    named = [(end, place.mode_of(reaction)) for reaction in place.reactions for end in reaction.builtins]
    for end, handle in (startup, Startup), (shutdown, Shutdown), (reset, Reset):
        for mode in sorted({mode for name, mode in named if name is end}):
            if end is reset and mode < 0:
                raise DeclarationError(
                    f"{place.path} has a reaction to rx.reset, and neither that nor the reactor lies in a mode; give "
                    "the reaction a mode (mode=...)"
                )
            place.builtins[end.name, mode] = len(elements)
            handles.append(handle(place.reactor, len(elements)))
            elements.append(Element(prefix + end.name, Kind[end.name.upper()], index, mode=mode))


def _number_modes(place: Place, tree: Tree) -> None:
    """Give the reactor's modes their numbers; one of them has to be the initial one."""
    for mode in place.modes:
        mode._index = len(tree.modes)
        tree.modes.append(ModeRow(mode.path, place.reactor._index, mode._declared._initial, place.mode))
    initial = [mode for mode in place.modes if mode._declared._initial]
    if place.modes and len(initial) != 1:
        fact = "none of them is the initial one" if not initial else f"{len(initial)} of them are the initial one"
        names = ", ".join(f"{mode.name} ({mode.location})" for mode in place.modes)
        raise DeclarationError(
            f"{place.path} has the modes {names}, and {fact}; declare one with rx.Mode(initial=True)"
        )


def _mode_around(place: Place, container: Place) -> int:
    """The innermost mode that a contained reactor lies in."""
    mode = place.reactor._mode
    if mode is None or is_around(mode, container.reactor):
        return container.mode
    return bound(mode, container.reactor, f"{place.path} (made at {place.reactor._made_at})")._index


def is_around(mode: Mode, reactor: Owner | None) -> bool:
    """Whether this reactor, or one around it, was made inside of the `with` of this mode."""
    while reactor is not None:
        if reactor._mode is mode:
            return True
        reactor = reactor._container
    return False


def _of_timed(timed: Timed, path: str, index: int, mode: int) -> Element:
    if isinstance(timed, Timer):
        first, period = timed._times()
        return Element(path, Kind.TIMER, index, first=first, period=period, mode=mode)
    assert isinstance(timed, Action)
    kind = Kind.PHYSICAL_ACTION if isinstance(timed, PhysicalAction) else Kind.ACTION
    declared = timed._declared
    return Element(
        path,
        kind,
        index,
        type=declared._type,
        min_delay=timed._min_delay_ns(),
        min_spacing=timed._min_spacing_ns(),
        policy=declared._policy,
        mode=mode,
    )
