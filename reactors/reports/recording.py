"""How is a run with an outside world run again without it?

A log holds what the program itself does not determine: events of physical actions with their values, arrivals over
physical connections, deadlines that were missed, and the seed. Its first line says, as JSON, of which program and which
versions it is, with a checksum; then follow the records that the workers append (csrc/record.c).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.errors import ArgumentError, ReactorWarning, ReplayError
from reactors.reports.result import final_tag
from reactors.tag import Tag
from reactors_runtime import callers, engine, log
from reactors_runtime.encoding import decode, encode
from reactors_runtime.planning.options import Replayed
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from reactors.graph import Graph
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

FORMAT = "reactors log 2"
OLDER = ("0.1.0",)
"""Versions whose logs this one replays with the same digest, as tests/old shows."""
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"  # a patch changes nothing that a program may go by


def _version() -> str:
    """The version of this package, which takes long to find: not when it is imported."""
    from importlib.metadata import version

    return version("reactors")


def begin(file: str | os.PathLike[str], graph: Graph, seed: int, *, fast: bool) -> str:
    """Begin a log: what it is, and of what. The absolute path of the file."""
    if fast and any(element.physical for element in graph.program.elements):
        raise ArgumentError(
            "rx.run with fast=True runs ahead of the clock, so when values arrive over physical connections cannot be "
            "recorded; leave fast or record= out"
        )
    head = {
        "format": FORMAT,
        "reactors": _version(),
        "python": PYTHON,
        "seed": seed,
        "program": description(graph),
    }
    path = Path(file).absolute()
    try:
        path.write_text(json.dumps({**head, "check": _check(head)}) + "\n", encoding="utf-8")
    except OSError as error:
        raise ArgumentError(
            f"record of rx.run is {os.fspath(file)!r}, which cannot be written: {error.strerror}"
        ) from None
    return str(path)


def _check(head: dict[str, Any]) -> str:
    """A checksum of what the first line says, however it is spelled."""
    return hashlib.blake2b(json.dumps(head, sort_keys=True).encode(), digest_size=16).hexdigest()


def finished(image: Image, memory: Memory) -> str:
    """End the log of a run that is over, if it has one. Why that cannot be done, if it cannot.

    A log that lacks something gets no end, so that it is not taken for a whole one.
    """
    file = image.options.record
    if file is None:
        return ""
    if lacking := engine.unrecorded(memory, image):
        return lacking
    try:
        log.append(file, log.END, final_tag(image, memory), 0)
    except OSError as error:
        return engine.cut_short(file, error.errno or 0)
    return ""


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
        if element.type is not None:
            text += f" {getattr(element.type, '__qualname__', element.type)}"
        if element.mode >= 0:
            text += f" in {program.modes[element.mode].path}"
        if element.kind == Kind.TIMER:
            text += f" {element.first} {element.period}"
        if element.kind in (Kind.ACTION, Kind.PHYSICAL_ACTION):
            text += f" {element.min_delay} {element.min_spacing} {element.policy.name.lower()}"
        lines.append(text)
    for reaction, name in zip(program.reactions, graph.names, strict=True):
        ends = ([paths[e] for e in group] for group in (reaction.triggers, reaction.uses, reaction.effects))
        text = f"reaction {name} {' | '.join(', '.join(group) for group in ends)} deadline {reaction.deadline}"
        if reaction.stop is not None:
            text += f" stops after {reaction.stop}"
        if reaction.mode >= 0:
            text += f" in {program.modes[reaction.mode].path}"
        for mode, by_reset in reaction.transitions.items():
            text += f" enters {program.modes[mode].path} by {'reset' if by_reset else 'history'}"
        lines.append(text)
    lines += [f"mode {mode.path}{' initial' if mode.initial else ''}" for mode in program.modes]
    return lines


class RecordedRun(NamedTuple):
    """A log that has been read, and fits the program."""

    seed: int
    replay: Replayed


def read(file: str | os.PathLike[str], graph: Graph) -> RecordedRun:
    """What a log says. Raises `ReplayError` if it is none, or of another program or version."""
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise ReplayError(f"the log {os.fspath(file)!r} cannot be read: {error.strerror}") from None
    line, _, records = data.partition(b"\n")
    try:
        head: dict[str, Any] = json.loads(line)
        check = head.pop("check")
        kinds = type(head["reactors"]), type(head["python"]), type(head["seed"]), type(head["program"])
        assert (head["format"], *kinds) == (FORMAT, str, str, int, list)
        assert head["seed"] >= 0
    except (ValueError, KeyError, TypeError, AssertionError):
        raise ReplayError(
            f"{os.fspath(file)!r} is no log of this version; write one with rx.run(..., record=...)"
        ) from None
    if check != _check(head):
        raise ReplayError(
            f"the first line of the log {os.fspath(file)!r} is not as it was written, because its checksum differs: it "
            "was damaged or changed; take the file as it was recorded, or record the run again"
        )
    for name, then, now, older in (
        ("reactors", head["reactors"], _version(), OLDER),
        ("Python", ".".join(head["python"].split(".")[:2]), PYTHON, ()),
    ):
        if then not in (now, *older):
            raise ReplayError(
                f"the log {os.fspath(file)!r} is of {name} {then}, and this is {now}; replay it with what recorded it"
            )
    _compare(os.fspath(file), head["program"], description(graph))
    found = log.parse(records)
    for record in found:
        wrong = _impossible(record, graph)
        if wrong:
            raise ReplayError(
                f"the log {os.fspath(file)!r} has a record that no run of {graph.main.path} can have written: {wrong}; "
                "take the file as it was recorded, or record the run again"
            )
    events, late = [], []
    arrivals: dict[int, list[tuple[int, int]]] = {}
    checks: set[tuple[tuple[int, int], int, int]] = set()
    stop: Tag | None = None
    for kind, tag, number, value in found:
        if stop is not None:
            raise ReplayError(f"the log {os.fspath(file)!r} goes on after its end: something was appended to it")
        if kind == log.END:
            stop = Tag(*tag)
        elif kind == log.CHECK:
            checks.add((tag, number, int.from_bytes(value, "little")))
        elif kind == log.ACTION:
            events.append((tag, number, value))
        elif kind == log.ARRIVAL:
            arrivals.setdefault(number, []).append(tag)
        else:
            late.append((tag, number))
    if stop is None:
        # An arrival is noted before its time, so what was cut off may have happened before it.
        happened = [Tag(*tag) for kind, tag, _, _ in found if kind != log.ARRIVAL]
        stop = max(happened, default=min((Tag(*tags[-1]) for tags in arrivals.values()), default=Tag(0, 0)))
        callers.warn(
            f"the log {os.fspath(file)!r} breaks off: the run is replayed up to {stop}, where it ends",
            ReactorWarning,
        )
    events.sort(key=lambda event: event[0])
    late.sort()
    return RecordedRun(head["seed"], Replayed(events, arrivals, late, checks, stop))


def _impossible(record: log.Record, graph: Graph) -> str | None:
    """What a record says of this program that cannot be, though its checksum is right; None if there is nothing."""
    kind, tag, number, value = record
    program = graph.program
    if tag[0] < 0:
        return f"its time is {tag[0]} ns"
    if kind in (log.ACTION, log.ARRIVAL):
        element = program.elements[number] if number < len(program.elements) else None
        meant = "physical action" if kind == log.ACTION else "port behind a physical connection"
        if element is None or not (element.kind == Kind.PHYSICAL_ACTION if kind == log.ACTION else element.physical):
            return f"{f'no. {number}' if element is None else element.path} is no {meant}"
        return _undecodable(value, element.path) if kind == log.ACTION else None
    if kind in (log.LATE, log.CHECK):
        if number >= len(program.reactions):
            return f"there is no reaction no. {number}"
        if program.reactions[number].deadline is None:
            return f"{graph.names[number]} has no deadline that it could miss"
        return None
    return None if kind == log.END else f"there is no kind {kind} of records"


def _undecodable(value: bytes, path: str) -> str | None:
    try:
        decode(value or encode(None))
    except (ValueError, RecursionError) as error:
        return f"the value of {path} cannot be read ({error})"
    return None


def _compare(file: str, then: list[str], now: list[str]) -> None:
    for old, new in zip([*then, *[""] * len(now)], [*now, *[""] * len(then)], strict=True):
        if old != new:
            said = f"it had {old!r}" if old else "it had nothing"
            raise ReplayError(
                f"the log {file!r} is of another program: where {said}, this one has {new or 'nothing'!r}; replay it "
                "with the program and the parameters that it was recorded with"
            )
