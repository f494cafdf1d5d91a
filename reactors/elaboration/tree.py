"""Stage 1, growing: what contains what, and which number has each thing?

The tree of reactors is walked from `main`, depth first and in the order of assignment. This gives every reactor its
path, every port, timer and action its elements, and every mode its number. Modes and durations are looked up here, in
the reactor that has them, and are numbers from here on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from warnings import warn_explicit

from reactors.elaboration.claim import contain
from reactors.elaboration.contents import Child, Contents, check_main, is_around, look_into
from reactors.errors import ContainmentError, DeclarationError, ReactorWarning
from reactors.model.actions import Action, PhysicalAction, Timed, Timer
from reactors.model.declaration import spelled
from reactors.model.layout import refuse_too_many
from reactors.model.modes import Mode, bound
from reactors.model.ports import Port
from reactors.model.triggers import BuiltinTrigger, Reset, Shutdown, Startup, reset, shutdown, startup
from reactors_runtime.program import Element, Kind
from reactors_runtime.program import Mode as ModeRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.elaboration.contents import Stray
    from reactors.model.declaration import Owner
    from reactors.model.reaction import Reaction
    from reactors.model.reactor import Reactor

Handle: TypeAlias = Port[Any] | Timed | Startup


class Place(NamedTuple):
    """A reactor in the tree; its number is its place in `Tree.places`."""

    reactor: Reactor
    name: str  # the attribute that holds it, with index or key
    path: str
    bank: tuple[str, int, int] | None  # path of the bank, index in it, its width
    container: int  # -1: it is main, or a relay
    mode: int  # the mode that it lies in, of whatever reactor around it; -1: none
    ports: Sequence[Port[Any]] = ()
    timed: Sequence[Timed] = ()
    reactions: Sequence[tuple[Reaction[Any], int]] = ()  # as they run at a tag, each with its mode
    builtins: Mapping[tuple[BuiltinTrigger, int], int] = {}  # rx.startup and the like, by mode -> element
    is_relay: bool = False  # it stands for a connection of that mode


class Tree(NamedTuple):
    """All reactors, elements and modes of a program, each in order of elaboration.

    The elements of one reactor are its ports, then its timers and actions, then its startup and shutdown if it has use
    for these. Elements have no sources yet.
    """

    places: Sequence[Place]
    elements: Sequence[Element]
    handles: Sequence[Handle]  # the ports, timers and actions themselves, parallel to elements
    multiports: Sequence[Sequence[int]]
    modes: Sequence[ModeRow]

    def holds(self, reactor: Owner | None) -> bool:
        """Whether `reactor` is part of this program."""
        if reactor is None or reactor._path is None:
            return False
        return reactor._index < len(self.places) and self.places[reactor._index].reactor is reactor


def grow(main: Reactor) -> Tree:
    """The tree under `main`, with all elements numbered."""
    check_main(main)
    main._container = main._path = None
    growing = _Growing()
    classes: dict[type, str] = {}
    strays: list[Stray] = []
    stack: list[tuple[Child, int]] = [(Child("main", main, None), -1)]
    seen: dict[int, str] = {}
    while stack:
        child, container = stack.pop()
        around = growing.places[container] if container >= 0 else None
        reactor, path, bank, outer = child.reactor, child.name, child.bank, -1
        if around is not None:
            path = f"{around.path}.{child.name}"
            bank = bank and (f"{around.path}.{bank[0]}", bank[1], bank[2])
        if id(reactor) in seen:
            raise ContainmentError(
                f"{path} and {seen[id(reactor)]} are the same {spelled(type(reactor))} (made at "
                f"{reactor._made_at}); a reactor is contained once: make two, or refer to it by a property"
            )
        seen[id(reactor)] = path
        if around is not None:
            contain(reactor, around.reactor, path)
            outer = _mode_around(reactor, path, around)
        reactor._path, reactor._index = path, len(growing.places)
        contents = look_into(reactor, path, classes, strays)
        stack.extend((each, reactor._index) for each in reversed(contents.children))
        growing.add(Place(reactor, child.name, path, bank, container, outer, contents.ports, contents.timed), contents)
    tree = Tree(growing.places, growing.elements, growing.handles, growing.multiports, growing.modes)
    for stray, said in strays:
        if not tree.holds(stray):
            raise ContainmentError(said)
    kinds = {type(place.reactor) for place in tree.places}
    for kind, path in classes.items():
        if kind not in kinds:
            said = f"{path} is the class {spelled(kind)}, no reactor; to contain one, make it: {kind.__name__}(...)"
            warn_explicit(said, ReactorWarning, main._made_at.file, main._made_at.line)
    return tree


class _Growing:
    """The rows of a tree that is not complete."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.elements: list[Element] = []
        self.handles: list[Handle] = []
        self.multiports: list[list[int]] = []
        self.modes: list[ModeRow] = []

    def add(self, place: Place, contents: Contents) -> None:
        """The rows of one reactor."""
        prefix, index = f"{place.path}.", len(self.places)
        for port in contents.ports:
            self._add_port(port, prefix, index)
        self._add_modes(place, contents.modes, index)
        reactor = place.reactor
        for state in reactor._own_states.values():
            state._index = _mode_of(state, state, place)
        for timed in contents.timed:
            timed._element = len(self.elements)
            mode = _mode_of(timed._declared, timed, place)
            self._add(timed, _of_timed(timed, prefix + timed.name, index, mode))
        reactions = [(each, _mode_of(each._declared, each, place)) for each in contents.reactions]
        builtins: dict[tuple[BuiltinTrigger, int], int] = {}
        named = [(end, mode) for reaction, mode in reactions for end in reaction.builtins]
        for end, handle in ((startup, Startup), (shutdown, Shutdown), (reset, Reset)) if named else ():
            for mode in sorted({mode for name, mode in named if name is end}):
                if end is reset and mode < 0:
                    raise DeclarationError(
                        f"{place.path} has a reaction to rx.reset, and neither that nor the reactor lies in a mode; "
                        "give the reaction a mode (mode=...)"
                    )
                e = builtins[end, mode] = len(self.elements)
                self._add(handle(reactor, e), Element(prefix + end.name, Kind[end.name.upper()], index, mode=mode))
        self.places.append(Place(*place[:8], reactions, builtins))

    def _add(self, handle: Handle, element: Element) -> None:
        self.handles.append(handle)
        self.elements.append(element)

    def _add_port(self, port: Port[Any], prefix: str, index: int) -> None:
        declared = port._declared
        layout = declared._layout or port._carried()
        first = len(self.elements)
        width = None if declared._width is None else port._length()
        several = first + (1 if width is None else width)
        refuse_too_many(several, lambda: f"{port.where()} is one of {several:,} ports, timers and actions so far")
        channels: Sequence[Port[Any]] = (port,)
        if width is not None:
            channels = port._open() or ()
            self.multiports.append([*range(several - width, several)])
        for e, each in enumerate(channels, first):
            each._element = e
            element = Element(
                prefix + each.name,
                Kind.PORT,
                index,
                dtype=layout.dtype,
                shape=layout.shape,
                type=layout.type,
                mutable=declared._mutable,
            )
            self._add(each, element)

    def _add_modes(self, place: Place, modes: Sequence[Mode], index: int) -> None:
        """Give the reactor's modes their numbers; one of them has to be the initial one."""
        for mode in modes:
            mode._index = len(self.modes)
            self.modes.append(ModeRow(mode.path, index, mode._declared._initial, place.mode))
        initial = [mode for mode in modes if mode._declared._initial]
        if modes and len(initial) != 1:
            fact = "none of them is the initial one" if not initial else f"{len(initial)} of them are the initial one"
            names = ", ".join(f"{mode.name} ({mode.location})" for mode in modes)
            raise DeclarationError(
                f"{place.path} has the modes {names}, and {fact}; declare one with rx.Mode(initial=True)"
            )


def _mode_of(declaration: Any, own: Any, place: Place) -> int:
    """The mode of something that a reactor has: a mode of the reactor, or the one that the reactor lies in."""
    mode = declaration._mode
    if mode is None or is_around(mode, place.reactor):
        return place.mode
    return bound(mode, place.reactor, f"{place.path}.{own.name} ({own.location})")._index


def _mode_around(reactor: Reactor, path: str, container: Place) -> int:
    """The innermost mode that a contained reactor lies in."""
    mode = reactor._mode
    if mode is None or is_around(mode, container.reactor):
        return container.mode
    return bound(mode, container.reactor, f"{path} (made at {reactor._made_at})")._index


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
