"""Stage 1, growing: which elements does each reaction read and write, and is it allowed to?

A reaction may read inputs of its reactor and outputs of the reactors it contains, and write the other way round.
Reactions of a class are checked when the class is made; those declared by call can name ports of contained reactors,
and are checked here. Deadlines, and the modes that a reaction enters, are looked up in its reactor, and it is decided
which code runs.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from reactors.code.bytecode import ASSIGNED, deep_assignments
from reactors.code.functions import own_code
from reactors.errors import DeclarationError, UndeclaredAccessError
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
from reactors.time import LONGEST_DEADLINE
from reactors_runtime.program import NativeFunction
from reactors_runtime.program import Reaction as Row

if TYPE_CHECKING:
    from reactors.code.bytecode import Use
    from reactors.elaboration.tree import Place, Tree
    from reactors.model.reaction import Reaction
    from reactors.time import Duration


class Enlisted(NamedTuple):
    """A reaction of one reactor."""

    row: Row  # for the runtime
    declaration: Reaction[Any]
    path: str


def enlist(tree: Tree) -> list[Enlisted]:
    """All reactions in order of elaboration. Their levels are not known yet."""
    found: list[Enlisted] = []
    assigned: dict[Reaction[Any], list[tuple[str, Use]]] = {}
    for index, place in enumerate(tree.places):
        for number, (reaction, mode) in enumerate(place.reactions):
            if reaction._owner is not None:
                _check_reach(tree, place, reaction)
            triggers = _elements(place, reaction, mode, reaction.triggers)
            uses = _elements(place, reaction, mode, reaction.uses) if reaction.uses else []
            effects = _elements(place, reaction, mode, reaction.effects) if reaction.effects else []
            if (deep := assigned.get(reaction)) is None:
                deep = assigned[reaction] = _deep_assignments(reaction)
            for file, use in deep:
                _check_assignment(place, reaction, Location(file, use.line), use)
            if reaction._owner is not None and not isinstance(reaction.body, Native):
                _check_method(place, reaction)
            row = Row(
                index,
                number,
                reaction.name,
                0,
                triggers,
                uses,
                effects,
                deadline=None if reaction.limit is None else _deadline(place, reaction, reaction.limit),
                stop=None if reaction.stop is None else _stop_offset(place, reaction, reaction.stop),
                native=_native(tree, place, reaction, [*triggers, *uses], effects),
                native_late=reaction.late.function if isinstance(reaction.late, Native) else None,
                mode=mode,
                transitions=_transitions(place, reaction),
            )
            found.append(Enlisted(row, reaction, f"{place.path}.{reaction.name}"))
    return found


def _elements(place: Place, reaction: Reaction[Any], mode: int, ends: tuple[Any, ...]) -> list[int]:
    """The elements of what a reaction names, multiports channel by channel."""
    found: list[int] = []
    handles = vars(place.reactor) if reaction._owner is None else None
    for end in ends:
        if isinstance(end, BuiltinTrigger):
            found.append(place.builtins[end, mode])
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


def _deep_assignments(reaction: Reaction[Any]) -> list[tuple[str, Use]]:
    """Where its code assigns to attributes of attributes of its reactor: file and use."""
    functions = [function for body in (reaction.body, reaction.late) if (function := own_code(body)) is not None]
    return [(each.__code__.co_filename, use) for each in functions for use in deep_assignments(each.__code__)]


def _check_assignment(place: Place, reaction: Reaction[Any], at: Location, use: Use) -> None:
    """Refuse a reaction that would replace a port of a reactor that its own contains."""
    inner = vars(place.reactor).get(use.name)
    inner = inner[0] if isinstance(inner, Bank | list | tuple) and inner else inner
    end = vars(inner).get(use.use.removeprefix(ASSIGNED)) if isinstance(inner, Reactor) else None
    if isinstance(end, Declared):
        raise DeclarationError(
            f"{place.path}.{reaction.name} ({at}): .{end.name} of self.{use.name} is assigned to, which would "
            f"replace the {end.word} {end.where()}; "
            + (f"to send a value write .{end.name}.set(...)" if isinstance(end, Input) else "leave it alone")
        )


def _deadline(place: Place, reaction: Reaction[Any], limit: Duration) -> int:
    return min(resolved_duration(limit, "deadline", _of(reaction, place), place.reactor), LONGEST_DEADLINE)


def _stop_offset(place: Place, reaction: Reaction[Any], stop: Stop) -> tuple[int, int]:
    if stop.delay is None:
        return 0, 1
    ns = resolved_duration(stop.delay, "rx.stop.after", _of(reaction, place), place.reactor)
    return (ns, 0) if ns else (0, 1)


def _of(reaction: Reaction[Any], place: Place) -> Reaction[Any]:
    """The reaction of this reactor, for messages."""
    return reaction if reaction._owner is not None else reaction._bind(place.reactor)


def _transitions(place: Place, reaction: Reaction[Any]) -> dict[int, bool]:
    """The modes that a reaction may enter, and whether by reset."""
    entered: dict[int, bool] = {}
    for transition in reaction.transitions:
        what = f"{place.path}.{reaction.name} ({reaction.location})"
        entered[bound(transition.mode, place.reactor, what)._index] = transition.by_reset
    return entered


def _native(
    tree: Tree, place: Place, reaction: Reaction[Any], reads: list[int], effects: list[int]
) -> NativeFunction | None:
    """The C function that a reaction is; None if it is Python."""
    if not isinstance(reaction.body, Native):
        if isinstance(reaction.late, Native):
            raise DeclarationError(
                f"{place.path}.{reaction.name} ({reaction.location}) is written in Python, but what runs when its "
                f"deadline is missed is a C function ({reaction.late!r}); give a method, or make both C functions"
            )
        return None
    for e in (*reads, *effects):
        handle, element = tree.handles[e], tree.elements[e]
        if isinstance(handle, Port) and element.dtype is None:
            raise DeclarationError(
                f"{place.path}.{reaction.name} ({reaction.location}) is a C function, which cannot use "
                f"{handle.where()}, because it carries {handle._carried()}; declare it with shape and dtype (a single "
                "number: dtype alone)"
            )
        if element.mutable and e not in effects:
            raise DeclarationError(
                f"{place.path}.{reaction.name} ({reaction.location}) is a C function, which gets no copy of the "
                f"mutable {handle.where()}; declare that without mutable=True, and copy in the function what it changes"
            )
        if isinstance(handle, Action) and element.type is not None:
            raise DeclarationError(
                f"{place.path}.{reaction.name} ({reaction.location}) is a C function, which cannot use "
                f"{handle.where()}, because it carries values; declare the action without a type"
            )
    return reaction.body.function
