"""How is a run with an outside world run again without it?

A log holds what the program itself does not determine: events of physical actions with their values, arrivals over
physical connections, deadlines that were missed, and the seed. Its first line says, as JSON, of which program and which
versions it is; then follow the records that the workers append (csrc/record.c).
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.errors import ArgumentError, ReactorWarning, ReplayError
from reactors.time import Tag
from reactors_runtime import log
from reactors_runtime.image import Replay
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from reactors.graph import Graph
    from reactors.result import Result

FORMAT = "reactors log 1"


def begin(file: str | os.PathLike[str], graph: Graph, seed: int, *, fast: bool) -> str:
    """Begin a log: what it is, and of what. The absolute path of the file."""
    if fast and any(element.physical for element in graph.program.elements):
        raise ArgumentError(
            "rx.run with fast=True runs ahead of the clock, so when values arrive over physical connections cannot be "
            "recorded; leave fast or record= out"
        )
    head = {
        "format": FORMAT,
        "reactors": version("reactors"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "seed": seed,
        "program": description(graph),
    }
    path = Path(file).absolute()
    path.write_text(json.dumps(head) + "\n", encoding="utf-8")
    return str(path)


def finish(file: str, result: Result) -> None:
    """End the log of a run that came to its end."""
    log.append(file, log.END, result.final_tag, 0)


def description(graph: Graph) -> list[str]:
    """Every element and every reaction of a program in a line, so that two programs can be told apart."""
    program = graph.program
    paths = [element.path for element in program.elements]
    lines = []
    for element in program.elements:
        text = f"{Kind(element.kind).name.lower().replace('_', ' ')} {element.path}"
        if element.kind == Kind.PORT and element.source >= 0 and paths[element.source] != element.path:
            text += f" from {paths[element.source]} after {element.offset}{' physical' if element.physical else ''}"
        if element.dtype is not None:
            text += f" {element.dtype}{list(element.shape or ())}"
        if element.kind == Kind.TIMER:
            text += f" {element.first} {element.period}"
        if element.kind in (Kind.ACTION, Kind.PHYSICAL_ACTION):
            text += f" {element.min_delay} {element.min_spacing} {element.policy.name.lower()}"
        lines.append(text)
    for reaction, name in zip(program.reactions, graph.names, strict=True):
        ends = ([paths[e] for e in group] for group in (reaction.triggers, reaction.uses, reaction.effects))
        lines.append(f"reaction {name} {' | '.join(', '.join(group) for group in ends)} deadline {reaction.deadline}")
    return lines


class Recorded(NamedTuple):
    """A log that has been read, and fits the program."""

    seed: int
    replay: Replay


def read(file: str | os.PathLike[str], graph: Graph) -> Recorded:
    """What a log says. Raises `ReplayError` if it is none, or of another program or version."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise ReplayError(f"the log {os.fspath(file)!r} cannot be read: {error.strerror}") from None
    line, _, records = data.partition(b"\n")
    try:
        head: dict[str, Any] = json.loads(line)
        assert head["format"] == FORMAT
    except (ValueError, KeyError, TypeError, AssertionError):
        raise ReplayError(
            f"{os.fspath(file)!r} is no log of this version; write one with rx.run(..., record=...)"
        ) from None
    now = version("reactors")
    if head["reactors"] != now:
        raise ReplayError(f"the log {os.fspath(file)!r} is of reactors {head['reactors']}, and this is {now}")
    _compare(os.fspath(file), head["program"], description(graph))
    found = log.parse(records)
    events, late = [], []
    arrivals: dict[int, list[tuple[int, int]]] = {}
    stop: Tag | None = None
    for kind, tag, number, value in found:
        if kind == log.END:
            stop = Tag(*tag)
        elif kind == log.ACTION:
            events.append((tag, number, value))
        elif kind == log.ARRIVAL:
            arrivals.setdefault(number, []).append(tag)
        else:
            late.append((tag, number))
    if stop is None:
        stop = max((Tag(*tag) for _, tag, _, _ in found), default=Tag(0, 0))
        warnings.warn(
            f"the log {os.fspath(file)!r} breaks off: the run is replayed up to {stop}, where it ends",
            ReactorWarning,
            stacklevel=4,
        )
    events.sort(key=lambda event: event[0])
    late.sort()
    return Recorded(head["seed"], Replay(events, arrivals, late, stop))


def _compare(file: str, then: list[str], now: list[str]) -> None:
    for old, new in zip([*then, *[""] * len(now)], [*now, *[""] * len(then)], strict=True):
        if old != new:
            said = f"it had {old!r}" if old else "it had nothing"
            raise ReplayError(
                f"the log {file!r} is of another program: where {said}, this one has {new or 'nothing'!r}; replay it "
                "with the program and the parameters that it was recorded with"
            )
