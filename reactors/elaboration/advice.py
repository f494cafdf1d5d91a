"""Stage 6, checking: what is legal in a program, but hardly meant?

An input whose reaction waits for values that nothing sends, and a reaction that nothing can ever trigger, are reported
as warnings: once for every declaration, however many reactors share it. In debug mode, so are globals that reactions
set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import warn_explicit

from reactors.code.functions import own_code
from reactors.code.global_names import Stored, stored_globals
from reactors.errors import ReactorWarning
from reactors.model.ports import Input, Output, Port
from reactors.names.lacking import listed
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.elaboration.reactions import Enlisted
    from reactors.elaboration.tree import Tree
    from reactors.elaboration.wiring import Wiring
    from reactors.location import Location
    from reactors.model.reaction import Reaction as Declaration
    from reactors_runtime.program import Element
    from reactors_runtime.program import Reaction as Row

ALIVE = (Kind.TIMER, Kind.PHYSICAL_ACTION, Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)


class _Program(NamedTuple):
    """All that is known of a program, reactions in order of elaboration."""

    tree: Tree
    reactions: Sequence[Enlisted]
    wiring: Wiring
    elements: Sequence[Element]


def warn_of_the_unlikely(
    tree: Tree, reactions: Sequence[Enlisted], wiring: Wiring, elements: Sequence[Element], *, debug: bool
) -> None:
    """Warn of everything in a program that can have no effect; `reactions` are in order of elaboration.

    `debug` includes outputs that nothing reads, and globals, whose effect depends on what else is in the process.
    """
    program = _Program(tree, reactions, wiring, elements)
    _warn_of_inputs(program)
    _warn_of_reactions(program)
    if debug:
        _warn_of_outputs(program)
        _warn_of_globals(program)


def _warn_of_inputs(program: _Program) -> None:
    """Ports, and channels of multiports, that are read and have no source."""
    tree, reactions, _, elements = program
    silent: dict[tuple[Port[Any], Declaration[Any]], list[str]] = {}
    words: dict[tuple[Port[Any], Declaration[Any]], str] = {}
    for row, declaration, _ in reactions:
        if tree.places[row.reactor].is_relay:
            continue
        last = None  # a multiport is reported once, not for each channel
        for e in (*row.triggers, *row.uses):
            if elements[e].source >= 0 or elements[e].kind != Kind.PORT:
                continue
            handle = tree.handles[e]
            assert isinstance(handle, Port)
            whole = handle._whole
            if whole is last or whole._declared._offered:
                continue
            last = whole
            key = (whole._declared, declaration)
            silent.setdefault(key, []).append(whole.path)
            if key not in words:
                words[key] = _without_source(program, handle, e, row, declaration)
    for which, paths in silent.items():
        _warn(which[0].location, f"{_listed(paths)} {words[which]}")


def _without_source(program: _Program, port: Port[Any], e: int, row: Row, declaration: Declaration[Any]) -> str:
    elements, up = program.elements, program.wiring.up
    verb = "is triggered by" if e in row.triggers else "reads"
    lack = "no connection leads there and no reaction sets it; connect it, or remove it there"
    channels = [c for c in port._whole._channels or () if c._element in (*row.triggers, *row.uses)]
    lacking = [c._at for c in channels if elements[c._element].source < 0]
    if len(lacking) < len(channels):
        which = f"channel{'s' * (len(lacking) > 1)} {listed([*map(str, lacking)])} of its {len(channels)}"
        lack = f"{which} ha{'s' if len(lacking) == 1 else 've'} no source; connect all, or declare a smaller width"
    elif isinstance(port, Output):
        lack = "no reaction sets it; name it in the effects of one"
    elif e in up:
        lack = f"no reaction sets {elements[up[e].source].path}, to which it is connected; let one do so"
    return f"({port.location}): the reaction {row.name} ({declaration.location}) {verb} it, but {lack}"


def _warn_of_reactions(program: _Program) -> None:
    """Reactions that no chain of events from outside, a timer or the start can reach."""
    elements, places = program.elements, program.tree.places
    reactions = [each.row for each in program.reactions]
    waiting: dict[int, list[int]] = {}  # source -> the reactions that it would start
    alive = [False] * len(reactions)
    queue: list[int] = []
    for r, reaction in enumerate(reactions):
        for e in reaction.triggers:
            if elements[e].kind in ALIVE:
                alive[r] = True
            elif elements[e].source >= 0 or elements[e].kind == Kind.ACTION:
                waiting.setdefault(_root(elements, e), []).append(r)
        if alive[r]:
            queue.append(r)
    _spread(reactions, waiting, alive, queue)
    dead = [r for r, lives in enumerate(alive) if not lives and not places[reactions[r].reactor].is_relay]
    if not dead:
        return
    sent = {e for reaction in reactions for e in reaction.effects}
    roots = [r for r in dead if not any(_root(elements, e) in sent for e in reactions[r].triggers)]
    explained = [False] * len(reactions)
    for r in roots:
        explained[r] = True
        if not reactions[r].triggers:
            _warn_dead(program, [r], "it has no triggers; name some")
        elif all(elements[e].kind == Kind.ACTION for e in reactions[r].triggers):
            actions = _listed([elements[e].path for e in reactions[r].triggers])
            _warn_dead(program, [r], f"no reaction schedules {actions}; name it in the effects of one")
    _spread(reactions, waiting, explained, list(roots))
    circle = [r for r in dead if not explained[r]]
    if circle:
        why = "they trigger only one another; let one of them be triggered by rx.startup or a timer"
        if len(circle) == 1:
            why = "it triggers only itself; let it be triggered by rx.startup or a timer"
        _warn_dead(program, circle, why)


def _root(elements: Sequence[Element], e: int) -> int:
    return elements[e].source if elements[e].kind == Kind.PORT else e


def _spread(reactions: Sequence[Row], waiting: dict[int, list[int]], reached: list[bool], queue: list[int]) -> None:
    """Mark what the reactions in `queue` can trigger, directly or not."""
    for r in queue:
        for e in reactions[r].effects:
            for after in waiting.get(e, ()):
                if not reached[after]:
                    reached[after] = True
                    queue.append(after)


def _warn_dead(program: _Program, dead: list[int], why: str) -> None:
    (_, first, _), *_ = found = [program.reactions[r] for r in dead]
    paths = [f"{path} ({declaration.location})" for _, declaration, path in found]
    _warn(first.location, f"nothing can trigger {_listed(paths)}: {why}")


def _warn_of_outputs(program: _Program) -> None:
    read = {e for each in program.reactions for e in (*each.row.triggers, *each.row.uses)}
    read |= {wire.source for wire in program.wiring.up.values()}
    unread: dict[object, list[Port[Any]]] = {}
    for e in program.wiring.written:
        handle = program.tree.handles[e]
        if isinstance(handle, Port) and e not in read and not handle._declared._offered:
            unread.setdefault(handle._declared, []).append(handle)
    for ports in unread.values():
        verb = "is" if len(ports) == 1 else "are"
        remedy = "its reactor never reads it" if isinstance(ports[0], Input) else "connect it, or remove it"
        _warn(
            ports[0].location,
            f"{_listed([port.path for port in ports])} ({ports[0].location}) {verb} set, but nothing reads "
            f"{'it' if len(ports) == 1 else 'them'}; {remedy}",
        )


def _warn_of_globals(program: _Program) -> None:
    storing: dict[Stored, list[str]] = {}
    for row, declaration, path in program.reactions:
        reactor = program.tree.places[row.reactor].reactor
        for body in (declaration.body, declaration.late):
            for stored in stored_globals(own_code(body), type(reactor)):
                storing.setdefault(stored, []).append(path)
    for stored, paths in storing.items():
        _warn(
            stored.location,
            f"{_listed(paths)} ({stored.location}) {'sets' if len(paths) == 1 else 'set'} the global {stored.name}, of "
            "which every worker process has its own, and the caller another; keep it in an attribute of self, or send "
            "it through an output",
        )


def _listed(paths: list[str]) -> str:
    if len(paths) <= 4:
        return ", ".join(paths)
    return f"{', '.join(paths[:3])} and {len(paths) - 3} more"


def _warn(location: Location, message: str) -> None:
    warn_explicit(message, ReactorWarning, location.file, location.line)
