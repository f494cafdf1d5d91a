"""How is each part of one reactor shown?

A symbol for every port, timer, action and reaction, with the few words that stand on it, and for startup and shutdown
where a reaction names them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from reactors.drawing.diagram import Symbol
from reactors_runtime.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reactors.drawing.diagram import SymbolKind
    from reactors.drawing.records import ActionNode, PortNode, ReactionNode, ReactorNode, TimerNode

    Part: TypeAlias = PortNode | TimerNode | ActionNode | ReactionNode

ENDS = ("triggers", "uses", "effects")  # of a reaction
_BUILTIN = ("startup", "shutdown", "reset")


def ends(node: ReactorNode, reaction: ReactionNode, group: str) -> list[str]:
    """The paths of what a reaction names; startup and shutdown have none in the program, and get one here."""
    paths: list[str] = getattr(reaction, group)
    return [f"{node.path}|{path}" if path in _BUILTIN else path for path in paths]


def parts(node: ReactorNode) -> Iterator[Part]:
    """All that a reactor has of its own."""
    groups: tuple[Iterable[Part], ...] = node.inputs, node.timers, node.actions, node.reactions, node.outputs
    for group in groups:
        yield from group


def symbols(node: ReactorNode, identity: str) -> Iterator[tuple[str, Symbol]]:
    """The symbols of one reactor by path, in the order in which values go through it."""
    named = {end for reaction in node.reactions for end in reaction.triggers}

    def symbol(part: Part, kind: SymbolKind, *notes: str) -> tuple[str, Symbol]:
        made = Symbol(f"{identity}.{part.name}", kind, part.name, [note for note in notes if note])
        made.detail = made.id
        return part.path, made

    def builtin(kind: SymbolKind) -> tuple[str, Symbol]:
        return f"{node.path}|{kind}", Symbol(f"{identity}|{kind}", kind, kind, detail=f"{kind} of {identity}")

    def port(part: PortNode, kind: SymbolKind) -> tuple[str, Symbol]:
        path, made = symbol(part, kind)
        made.name = part.name if part.width is None else f"{part.name}[{part.width}]"
        made.detail += f": {part.type}" if part.type else ""
        return path, made

    if "startup" in named:
        yield builtin("startup")
    if "reset" in named:
        yield builtin("reset")
    for port_node in node.inputs:
        yield port(port_node, "input")
    for timer in node.timers:
        yield symbol(timer, "timer", _when(timer))
    for action in node.actions:
        kind: SymbolKind = "physical action" if action.physical else "logical action"
        after = f"after {spell(action.min_delay)}" if action.min_delay else ""
        spacing = "" if action.min_spacing is None else f"spacing {spell(action.min_spacing)}, {action.policy}"
        yield symbol(action, kind, after, spacing)
    for reaction in node.reactions:
        deadline = "" if reaction.deadline is None else f"deadline {spell(reaction.deadline)}"
        stop, native = "stop" if reaction.stops else "", "C" if reaction.native else ""
        enters = [f"\N{RIGHTWARDS ARROW} {mode}" for mode in reaction.transitions]
        path, made = symbol(reaction, "reaction", deadline, stop, native, *enters)
        made.number = reaction.number
        yield path, made
    if "shutdown" in named:
        yield builtin("shutdown")
    for port_node in node.outputs:
        yield port(port_node, "output")


def _when(timer: TimerNode) -> str:
    if timer.period is None:
        return f"once at {spell(timer.offset)}"
    every = f"every {spell(timer.period)}"
    return f"{every} from {spell(timer.offset)}" if timer.offset else every


def after(delay: tuple[int, int]) -> str:
    """A delay as a wire shows it.

    >>> after((2_000_000, 0)), after((0, 1)), after((0, 0))
    ('after 2 ms', '1 microstep', '')
    """
    ns, microsteps = delay
    if ns:
        return f"after {spell(ns)}"
    return f"{microsteps} microstep{'s' * (microsteps > 1)}" if microsteps else ""
