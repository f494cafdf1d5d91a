"""What is legal in a program, but hardly meant?

An input whose reaction waits for values that nobody sends, and a reaction that nothing can ever trigger, are told as
warnings: once for every declaration, however many reactors share it. In debug mode, so are globals that reactions set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from warnings import warn_explicit

from reactors.code.functions import own_code
from reactors.code.global_names import Stored, stored_globals
from reactors.errors import ReactorWarning
from reactors.model.ports import Input, Output, Port
from reactors.names.lacking import listed
from reactors_runtime.program import Kind, Reaction

if TYPE_CHECKING:
    from reactors.elaboration.precedence import Precedence
    from reactors.elaboration.tree import Tree
    from reactors.elaboration.wiring import Wiring
    from reactors.location import Location
    from reactors.model.reaction import Reaction as Declaration

ALIVE = (Kind.TIMER, Kind.PHYSICAL_ACTION, Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)


def warn_of_the_unlikely(
    precedence: Precedence, tree: Tree, wiring: Wiring, declared: list[Declaration[Any]], *, debug: bool
) -> None:
    """Warn of everything in a program that can have no effect.

    `debug` includes outputs that nobody reads, and globals, whose effect depends on who else is in the process.
    """
    _warn_of_inputs(precedence, tree, wiring, declared)
    _warn_of_reactions(precedence, tree, declared)
    if debug:
        _warn_of_outputs(precedence, tree, wiring)
        _warn_of_globals(precedence, tree, declared)


def _warn_of_inputs(precedence: Precedence, tree: Tree, wiring: Wiring, declared: list[Declaration[Any]]) -> None:
    """Ports, and channels of multiports, that are read and have no source."""
    elements = precedence.elements
    silent: dict[tuple[Port[Any], Declaration[Any]], list[str]] = {}
    words: dict[tuple[Port[Any], Declaration[Any]], str] = {}
    for r, reaction in enumerate(precedence.reactions):
        if tree.places[reaction.reactor].is_relay:
            continue
        last = None  # a multiport is told of once, not for each channel
        for e in (*reaction.triggers, *reaction.uses):
            if elements[e].source >= 0 or elements[e].kind != Kind.PORT:
                continue
            handle = tree.handles[e]
            assert isinstance(handle, Port)
            whole = handle._whole
            if whole is last or whole._declared._offered:
                continue
            last = whole
            key = (whole._declared, declared[r])
            silent.setdefault(key, []).append(whole.path)
            if key not in words:
                words[key] = _without_source(tree, wiring, handle, e, reaction, declared[r])
    for which, paths in silent.items():
        _warn(which[0].location, f"{_listed(paths)} {words[which]}")


def _without_source(
    tree: Tree, wiring: Wiring, port: Port[Any], e: int, reaction: Reaction, declared: Declaration[Any]
) -> str:
    verb = "is triggered by" if e in reaction.triggers else "reads"
    lack = "no connection leads there and no reaction sets it; connect it, or remove it there"
    channels = [c for c in port._whole._channels or () if c._element in (*reaction.triggers, *reaction.uses)]
    lacking = [c._at for c in channels if tree.elements[c._element].source < 0]
    if len(lacking) < len(channels):
        which = f"channel{'s' * (len(lacking) > 1)} {listed([*map(str, lacking)])} of its {len(channels)}"
        lack = f"{which} ha{'s' if len(lacking) == 1 else 've'} no source; connect all, or declare a smaller width"
    elif isinstance(port, Output):
        lack = "no reaction sets it; name it in the effects of one"
    elif e in wiring.up:
        lack = f"no reaction sets {tree.elements[wiring.up[e].source].path}, to which it is connected; let one do so"
    return f"({port.location}): the reaction {reaction.name} ({declared.location}) {verb} it, but {lack}"


def _warn_of_reactions(precedence: Precedence, tree: Tree, declared: list[Declaration[Any]]) -> None:
    """Reactions that no chain of events from outside, a timer or the start can reach."""
    reactions, elements = precedence.reactions, precedence.elements
    waiting: dict[int, list[int]] = {}  # source -> the reactions that it would start
    alive = [False] * len(reactions)
    queue: list[int] = []
    for r, reaction in enumerate(reactions):
        for e in reaction.triggers:
            if elements[e].kind in ALIVE:
                alive[r] = True
            elif elements[e].source >= 0 or elements[e].kind == Kind.ACTION:
                waiting.setdefault(_root(precedence, e), []).append(r)
        if alive[r]:
            queue.append(r)
    _spread(reactions, waiting, alive, queue)
    dead = [r for r, lives in enumerate(alive) if not lives and not tree.places[reactions[r].reactor].is_relay]
    if not dead:
        return
    sent = {e for reaction in reactions for e in reaction.effects}
    roots = [r for r in dead if not any(_root(precedence, e) in sent for e in reactions[r].triggers)]
    explained = [False] * len(reactions)
    for r in roots:
        explained[r] = True
        if not reactions[r].triggers:
            _warn_dead(tree, declared, reactions, [r], "it has no triggers; name some")
        elif all(elements[e].kind == Kind.ACTION for e in reactions[r].triggers):
            actions = _listed([elements[e].path for e in reactions[r].triggers])
            _warn_dead(
                tree, declared, reactions, [r], f"no reaction schedules {actions}; name it in the effects of one"
            )
    _spread(reactions, waiting, explained, list(roots))
    circle = [r for r in dead if not explained[r]]
    if circle:
        why = "they trigger only one another; let one of them be triggered by rx.startup or a timer"
        if len(circle) == 1:
            why = "it triggers only itself; let it be triggered by rx.startup or a timer"
        _warn_dead(tree, declared, reactions, circle, why)


def _root(precedence: Precedence, e: int) -> int:
    return precedence.elements[e].source if precedence.elements[e].kind == Kind.PORT else e


def _spread(reactions: list[Reaction], waiting: dict[int, list[int]], reached: list[bool], queue: list[int]) -> None:
    """Mark what the reactions in `queue` can trigger, directly or not."""
    for r in queue:
        for e in reactions[r].effects:
            for after in waiting.get(e, ()):
                if not reached[after]:
                    reached[after] = True
                    queue.append(after)


def _warn_dead(
    tree: Tree, declared: list[Declaration[Any]], reactions: list[Reaction], dead: list[int], why: str
) -> None:
    paths = [f"{tree.places[reactions[r].reactor].path}.{reactions[r].name} ({declared[r].location})" for r in dead]
    _warn(declared[dead[0]].location, f"nothing can trigger {_listed(paths)}: {why}")


def _warn_of_outputs(precedence: Precedence, tree: Tree, wiring: Wiring) -> None:
    read = {e for reaction in precedence.reactions for e in (*reaction.triggers, *reaction.uses)}
    read |= {link.source for link in wiring.up.values()}
    unread: dict[object, list[Port[Any]]] = {}
    for e in precedence.written:
        handle = tree.handles[e]
        if isinstance(handle, Port) and e not in read and not handle._declared._offered:
            unread.setdefault(handle._declared, []).append(handle)
    for ports in unread.values():
        verb = "is" if len(ports) == 1 else "are"
        remedy = "its reactor never reads it" if isinstance(ports[0], Input) else "connect it, or remove it"
        _warn(
            ports[0].location,
            f"{_listed([port.path for port in ports])} ({ports[0].location}) {verb} set, but nobody reads it; {remedy}",
        )


def _warn_of_globals(precedence: Precedence, tree: Tree, declared: list[Declaration[Any]]) -> None:
    storing: dict[Stored, list[str]] = {}
    for r, reaction in enumerate(precedence.reactions):
        place = tree.places[reaction.reactor]
        for body in (declared[r].body, declared[r].late):
            for stored in stored_globals(own_code(body), type(place.reactor)):
                storing.setdefault(stored, []).append(f"{place.path}.{reaction.name}")
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
