"""Which elements does each reaction of each reactor read and write, and is it allowed to?

A reaction may read inputs of its reactor and outputs of the reactors it contains, and write the other way round.
Reactions of a class are checked when the class is made; those declared by call can name ports of contained reactors,
and are checked here.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn

from reactors.code.bytecode import ASSIGNED, deep_assignments
from reactors.code.functions import own_code
from reactors.errors import DeclarationError, UndeclaredAccessError, WiringError
from reactors.location import Location
from reactors.model.actions import Action, Timed, resolved_duration
from reactors.model.bank import Bank
from reactors.model.code_check import check_code
from reactors.model.declaration import Declared
from reactors.model.modes import bound
from reactors.model.native import Native
from reactors.model.ports import Input, Port
from reactors.model.reactor import Reactor
from reactors.model.triggers import BuiltinTrigger, Stop
from reactors_runtime.program import NativeFunction
from reactors_runtime.program import Reaction as Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.elaboration.tree import Place, Tree
    from reactors.elaboration.wiring import Wiring
    from reactors.model.reaction import Reaction


def enlist(tree: Tree) -> tuple[list[Row], list[Reaction[Any]]]:
    """All reactions in order of elaboration, levels still 0, and their declarations."""
    rows: list[Row] = []
    declared: list[Reaction[Any]] = []
    for index, place in enumerate(tree.places):
        for number, reaction in enumerate(place.reactions):
            if reaction._owner is not None and not place.is_relay:
                _check_reach(tree, place, reaction)
            triggers, uses, effects = (
                _elements(place, reaction, ends) if ends else []
                for ends in (reaction.triggers, reaction.uses, reaction.effects)
            )
            row = Row(index, number, reaction.name, 0, triggers, uses, effects, mode=place.mode_of(reaction))
            for transition in reaction.transitions:
                mode = bound(transition.mode, place.reactor, f"{place.path}.{reaction.name} ({reaction.location})")
                row.transitions[mode._index] = transition.by_reset
            if reaction.limit is not None:
                row.deadline = resolved_duration(reaction.limit, "deadline", _of(reaction, place), place.reactor)
            if reaction.stop is not None:
                row.stop = _stop_offset(reaction, reaction.stop, place)
            _check_assignments(place, reaction)
            if isinstance(reaction.body, Native):
                row.native = _native(tree, place, reaction, reaction.body, row)
            elif reaction._owner is not None and not place.is_relay:
                _check_method(place, reaction)
            rows.append(row)
            declared.append(reaction)
    return rows, declared


def body_of(reaction: Reaction[Any], place: Place) -> Callable[[], object] | Native:
    """What runs when the reaction does."""
    if reaction._owner is not None or isinstance(reaction.body, Native):
        return reaction.body
    return MethodType(reaction.body, place.reactor)


def late_of(reaction: Reaction[Any], place: Place) -> Callable[[], object] | None:
    """What runs instead if its deadline is missed."""
    if reaction._owner is not None or reaction.late is None:
        return reaction.late
    return MethodType(reaction.late, place.reactor)


def written_by(
    tree: Tree, wiring: Wiring, rows: Sequence[Row], declared: Sequence[Reaction[Any]]
) -> dict[int, list[int]]:
    """The reactions that write each port; no port may have a connection besides."""
    written: dict[int, list[int]] = {}
    ports = tree.handles
    for r, row in enumerate(rows):
        for e in row.effects:
            if isinstance(ports[e], Port):
                written.setdefault(e, []).append(r)
    for e in sorted(written.keys() & wiring.up.keys()):
        target, link = ports[e], wiring.up[e]
        reaction, place = declared[written[e][0]], tree.places[rows[written[e][0]].reactor]
        raise WiringError(
            f"{target.where()} has two sources: the reaction {place.path}.{reaction.name} ({reaction.location}) and "
            f"{ports[link.source].where()}, connected at {link.connection.location}; a port has one: remove either"
        )
    for e, writers in written.items():
        if len({rows[r].reactor for r in writers}) > 1:
            _check_relays(tree, rows, declared, e, writers)
    return written


def _check_relays(
    tree: Tree, rows: Sequence[Row], declared: Sequence[Reaction[Any]], e: int, writers: Sequence[int]
) -> None:
    """Connections and reactions may lead to one port from different modes of one reactor only."""
    relays = [r for r in writers if tree.places[rows[r].reactor].is_relay]
    taken: dict[int, int] = {}
    for r in (*relays, *(r for r in writers if r not in relays)):
        mode = rows[r].mode
        other = taken.get(mode, next(iter(taken.values()), r) if mode < 0 else r)
        if other != r and (r in relays or other in relays):
            both = f"{_source(tree, rows, declared, other)} and {_source(tree, rows, declared, r)}"
            raise WiringError(
                f"{tree.handles[e].where()} has two sources that can be active at one tag: {both}; put them into "
                "different modes of one reactor, or remove one"
            )
        taken.setdefault(mode, r)
    if len({tree.modes[m].reactor for m in taken if m >= 0}) > 1:
        raise WiringError(
            f"{tree.handles[e].where()} has sources in modes of different reactors; it can have one for each mode of "
            "one reactor"
        )


def _source(tree: Tree, rows: Sequence[Row], declared: Sequence[Reaction[Any]], r: int) -> str:
    place = tree.places[rows[r].reactor]
    return f"the connection {place.path}" if place.is_relay else f"the reaction {place.path}.{declared[r].name}"


def _elements(place: Place, reaction: Reaction[Any], ends: tuple[Any, ...]) -> list[int]:
    """The elements of what a reaction names, multiports channel by channel."""
    found: list[int] = []
    handles = vars(place.reactor) if reaction._owner is None else None
    for end in ends:
        if isinstance(end, BuiltinTrigger):
            found.append(place.builtins[end.name, place.mode_of(reaction)])
            continue
        handle = end if handles is None else _bound(end, handles)
        if isinstance(handle, Port) and handle._declared._width is not None and handle._multiport is None:
            found.extend(channel._element for channel in handle)
        else:
            found.append(handle._element)
    return found


def _bound(end: Declared, handles: dict[str, Any]) -> Any:
    """What a reactor has for what its class declares."""
    if isinstance(end, Port) and end._multiport is not None:
        return handles[end._multiport.name][end._at]
    return handles[end.name]


def _check_reach(tree: Tree, place: Place, reaction: Reaction[Any]) -> None:
    """Whether a reaction declared by call may name what it names."""
    reactor = place.reactor
    for group in ("triggers", "uses", "effects"):
        for end in getattr(reaction, group):
            if not isinstance(end, Declared):
                continue
            owner = end._owner
            own, inside = owner is reactor, owner is not None and owner._container is reactor
            outward = isinstance(end, Input) == (group == "effects")  # an input to set, an output to read
            if end._class is not None:
                _refuse(place, reaction, group, end, "it is the declaration in a class; name the port of a reactor")
            if owner is None:
                _refuse(
                    place, reaction, group, end, "it belongs to no reactor; assign it to an attribute: self.x = ..."
                )
            if not tree.holds(owner):
                _refuse(place, reaction, group, end, "its reactor is not contained in the program")
            if isinstance(end, Timed) and not own:
                _refuse(place, reaction, group, end, "timers and actions are those of its own reactor")
            if isinstance(end, Port) and not (inside if outward else own):
                can = "set its own outputs and inputs" if group == "effects" else "read its own inputs and outputs"
                _refuse(place, reaction, group, end, f"a reaction can {can} of reactors that its own contains")


def _refuse(place: Place, reaction: Reaction[Any], group: str, end: Declared, why: str) -> NoReturn:
    raise UndeclaredAccessError(
        f"{place.path}.{reaction.name} ({reaction.location}): {group} has the {end.word} {end.where()}, but {why}"
    )


def _check_method(place: Place, reaction: Reaction[Any]) -> None:
    """Read the code of a reaction declared by call, where its body is a method of the reactor."""
    own = {name: value for name, value in vars(place.reactor).items() if isinstance(value, Declared)}
    for body in (reaction.body, reaction.late):
        if isinstance(body, MethodType) and body.__self__ is place.reactor:
            check_code(reaction, own, own_code(body), f"{place.path}.{body.__name__}")


def _check_assignments(place: Place, reaction: Reaction[Any]) -> None:
    """Refuse a reaction that would replace a port of a reactor that its own contains."""
    for body in (reaction.body, reaction.late):
        if (function := own_code(body)) is None:
            continue
        for use in deep_assignments(function.__code__):
            inner = vars(place.reactor).get(use.name)
            inner = inner[0] if isinstance(inner, Bank | list | tuple) and inner else inner
            end = vars(inner).get(use.use.removeprefix(ASSIGNED)) if isinstance(inner, Reactor) else None
            if isinstance(end, Declared):
                at = Location(function.__code__.co_filename, use.line)
                raise DeclarationError(
                    f"{place.path}.{reaction.name} ({at}): .{end.name} of self.{use.name} is assigned to, which would "
                    f"replace the {end.word} {end.where()}; "
                    + (f"to send a value write .{end.name}.set(...)" if isinstance(end, Input) else "leave it alone")
                )


def _of(reaction: Reaction[Any], place: Place) -> Reaction[Any]:
    """The reaction of this reactor, for messages."""
    return reaction if reaction._owner is not None else reaction._bind(place.reactor)


def _stop_offset(reaction: Reaction[Any], stop: Stop, place: Place) -> tuple[int, int]:
    if stop.delay is None:
        return 0, 1
    ns = resolved_duration(stop.delay, "rx.stop.after", _of(reaction, place), place.reactor)
    return (ns, 0) if ns else (0, 1)


def _native(tree: Tree, place: Place, reaction: Reaction[Any], native: Native, row: Row) -> NativeFunction:
    for e in (*row.triggers, *row.uses, *row.effects):
        handle, element = tree.handles[e], tree.elements[e]
        if isinstance(handle, Port) and element.dtype is None:
            raise DeclarationError(
                f"{place.path}.{reaction.name} ({reaction.location}) is a C function, which cannot use "
                f"{handle.where()}, for it carries {handle._carried()}; declare it with shape and dtype (a single "
                "number: dtype alone)"
            )
        if element.mutable and e not in row.effects:
            raise DeclarationError(
                f"{place.path}.{reaction.name} ({reaction.location}) is a C function, which gets no copy of the "
                f"mutable {handle.where()}; declare that without mutable=True, and copy in the function what it changes"
            )
        if isinstance(handle, Action) and element.type is not None:
            raise DeclarationError(
                f"{place.path}.{reaction.name} ({reaction.location}) is a C function, which cannot use "
                f"{handle.where()}, for it carries values; declare the action without a type"
            )
    return native.function
