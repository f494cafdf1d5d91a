"""Where does a picture show what a traced run had to do?

Reactions get the colour of their load and say it, and wires say how many messages and bytes a second went over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors.errors import TraceError
from reactors.tracing.load import Load
from reactors.tracing.profile import another
from reactors.tracing.trace import Trace

if TYPE_CHECKING:
    import os

    from reactors.drawing.diagram import Diagram
    from reactors.tracing.load import Flow
    from reactors_runtime.program import Program

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def show_load(diagram: Diagram, profile: Trace | str | os.PathLike[str], program: Program) -> None:
    """Put the load of a trace of this program into a diagram. Raises `TraceError`."""
    trace = profile if isinstance(profile, Trace) else Trace(profile)
    if first := another(trace, program):
        raise TraceError(
            f"{trace.path} is of another program, {trace.header['program']}, or of other parameters: {first}; trace "
            "this one"
        )
    show(diagram, Load.of(trace))


def show(diagram: Diagram, load: Load) -> None:
    """Put this load into a diagram."""
    for symbol in diagram.symbols():
        part = load.of_reaction.get(symbol.id.partition(", level ")[0]) if symbol.kind == "reaction" else None
        if part is not None:
            symbol.load = part
            symbol.notes.append(f"{part:.1%}")
    for wire in diagram.wires:
        flow = load.of_port.get(wire.source) if wire.kind == "connection" else None
        if flow is not None and flow.messages:
            wire.note = ", ".join(filter(None, [wire.note, said(flow)]))


def said(flow: Flow) -> str:
    """Messages and bytes a second.

    >>> from reactors.tracing.load import Flow
    >>> said(Flow(1250.0, 5e6)), said(Flow(0.5, 0))
    ('1.25k/s, 5 MB/s', '0.5/s')
    """
    return f"{_short(flow.messages)}/s" + (f", {_short(flow.bytes, ' ')}B/s" if flow.bytes else "")


def _short(number: float, space: str = "") -> str:
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.3g}{space}{unit}"
    return f"{number:.3g}{space}"
