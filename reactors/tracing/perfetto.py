"""A trace in Perfetto's own format: packets of TrackEvents (perfetto.dev, protos/perfetto/trace).

A track for each worker has reactions and waits, others show the event queue and how late tags began, and arrows lead
from who wrote a value to who read it. Numbers have a fixed width in the file, so that packets are rows of an array.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from reactors.tracing.executions import Executions
from reactors_runtime._core import lib
from reactors_runtime.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from reactors.tracing.trace import Spans, Trace

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_SOME = 1 << 13  # spans


# ---- numbers and messages, one at a time -----------------------------------------------------------------------


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))


def number(field: int, value: int) -> bytes:
    """A field that is a number."""
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    """A field that is a message, or text."""
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def packet(*parts: bytes) -> bytes:
    """Of a trace."""
    return message(1, *parts)


def track(uuid: int, name: str, parent: int | None = None, *more: bytes) -> bytes:
    """A TrackDescriptor."""
    above = () if parent is None else (number(5, parent),)
    return packet(message(60, number(1, uuid), message(2, name.encode()), *above, *more))


# ---- many at a time ----------------------------------------------------------------------------------------------


def wide(values: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """Varints of so many bytes each, a row each."""
    left = values.astype(np.uint64)
    found = np.empty((len(left), width), np.uint8)
    for i in range(width):
        found[:, i] = left & np.uint64(0x7F)
        if i + 1 < width:
            found[:, i] |= 0x80
        left >>= np.uint64(7)
    return found


def width_of(most: int) -> int:
    """Bytes of a varint for numbers up to this one."""
    return max(1, -(-int(most).bit_length() // 7))


def constant(content: bytes, n: int) -> NDArray[np.uint8]:
    """The same bytes in each row."""
    return np.broadcast_to(np.frombuffer(content, np.uint8), (n, len(content)))


def rows(*columns: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Side by side."""
    return np.concatenate(columns, axis=1)


def within(field: int, content: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each row as a message in a field."""
    n, size = content.shape
    return rows(constant(varint(field << 3 | 2) + varint(size), n), content)


@dataclass(frozen=True)
class Tracks:
    """Which track is whose, and how wide numbers are."""

    trace: Trace
    wide_time: int
    wide_name: int
    wide_tag: int

    @classmethod
    def of(cls, trace: Trace, pieces: Sequence[Spans]) -> Tracks:
        """Of all that is to be written."""
        last = max((int(piece.rows["end"].max(initial=0)) for piece in pieces), default=0)
        tag = max((int(piece.rows["tag"]["time"].max(initial=0)) for piece in pieces), default=0)
        return cls(trace, width_of(last), width_of(len(trace.reactions) + lib.RX_TEXT), width_of(tag))

    def uuid(self, worker: int, what: int = 0) -> int:
        """Of a worker's spans, or of what is counted: 1, what is pending; 2, how late tags are."""
        return 2 + 4 * worker + what

    def packets(self, worker: int, times: NDArray[Any], event: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """One for each row of events, at these times."""
        n = len(times)
        head = constant(varint(8 << 3), n), wide(np.maximum(times, 0), self.wide_time)
        return within(1, rows(*head, constant(number(10, worker + 1) + number(13, 2), n), within(11, event)))


def write(trace: Trace, file: Path) -> int:
    """Write all of a trace; how many reactions there were. Raises `OSError`."""
    pieces = trace.by_worker()
    tracks = Tracks.of(trace, pieces)
    arrows = Arrows(trace, pieces)
    reactions = 0
    with file.open("wb") as out:
        out.write(track(1, trace.header["program"]))
        for piece in pieces:
            out.write(described(tracks, piece.worker))
            reactions += len(piece.reactions)
            _write_spans(out, tracks, piece, arrows)
            _write_counts(out, tracks, piece)
            _write_notes(out, tracks, piece)
    return reactions


def described(tracks: Tracks, worker: int) -> bytes:
    """A worker's tracks, and the names that its packets refer to by number."""
    trace = tracks.trace
    names = [
        *(message(2, number(1, n + 1), message(2, each["path"].encode())) for n, each in enumerate(trace.reactions)),
        *(
            message(2, number(1, len(trace.reactions) + 1 + kind), message(2, f"waits for {what}".encode()))
            for kind, what in WAITS.items()
        ),
        message(3, number(1, 1), message(2, b"time")),
        message(3, number(1, 2), message(2, b"microstep")),
    ]
    return b"".join((
        track(tracks.uuid(worker), f"worker {worker}", 1),
        track(tracks.uuid(worker, 1), f"worker {worker}: event queue", 1, message(8)),
        track(tracks.uuid(worker, 2), f"worker {worker}: late", 1, message(8, number(3, 1))),
        packet(
            number(10, worker + 1), number(13, 1),
            message(59, message(11, number(11, tracks.uuid(worker)))), message(12, *names),
        ),
    ))  # fmt: skip


class Arrows:
    """From writers to readers: numbers of flows, for each execution that has any."""

    def __init__(self, trace: Trace, by_worker: Sequence[Spans]) -> None:
        executions = Executions(trace, by_worker)
        edges = executions.messages
        ids = np.arange(1, len(edges.source) + 1, dtype=np.uint64)
        ends = np.concatenate((edges.source, edges.target))
        order = np.argsort(ends, kind="stable")
        self.flows = np.concatenate((ids, ids))[order]
        self.count = np.bincount(ends, minlength=len(executions)).astype(np.int64)
        self.first = np.cumsum(self.count) - self.count
        self.place = []  # of each worker's reactions, as they were over
        for worker in range(trace.workers):
            there = np.flatnonzero(executions.worker == worker)
            place = np.empty_like(there)
            place[executions.position[there]] = there
            self.place.append(place)


def _write_spans(out: IO[bytes], tracks: Tracks, piece: Spans, arrows: Arrows) -> None:
    """Beginnings and ends of reactions and waits, some at a time, as caches hold them."""
    ran, there, waited = piece.reactions, arrows.place[piece.worker], piece.waits
    for at in range(0, len(ran), _SOME):
        _write_reactions(out, tracks, piece.worker, ran[at : at + _SOME], there[at : at + _SOME], arrows)
    for at in range(0, len(waited), _SOME):
        some = waited[at : at + _SOME]
        names = some["kind"] + np.uint32(len(tracks.trace.reactions) + 1)
        _write_begins(out, tracks, piece.worker, some, names, np.zeros((len(some), 0), np.uint64))
        _write_ends(out, tracks, piece.worker, some)


def _write_reactions(
    out: IO[bytes], tracks: Tracks, worker: int, ran: NDArray[Any], there: NDArray[np.int64], arrows: Arrows
) -> None:
    """Those with equally many arrows are alike."""
    counts, names = arrows.count[there], ran["reaction"] + np.uint32(1)
    for count in np.flatnonzero(np.bincount(counts)).tolist():
        alike = counts == count
        flows = arrows.flows[arrows.first[there[alike]][:, None] + np.arange(count)[None]]
        _write_begins(out, tracks, worker, ran[alike], names[alike], flows)
    _write_ends(out, tracks, worker, ran)


def _write_ends(out: IO[bytes], tracks: Tracks, worker: int, spans: NDArray[Any]) -> None:
    event = constant(number(9, END), len(spans))
    out.write(tracks.packets(worker, spans["end"], event).tobytes())


def _write_begins(
    out: IO[bytes], tracks: Tracks, worker: int, spans: NDArray[Any], names: NDArray[Any], flows: NDArray[np.uint64]
) -> None:
    for later in (False, True):
        some = (spans["tag"]["microstep"] > 0) == later
        n = int(some.sum())
        if not n:
            continue
        chosen, columns = spans[some], [constant(number(9, BEGIN), n)]
        columns += [constant(varint(10 << 3), n), wide(names[some], tracks.wide_name)]
        columns.append(_annotation(1, wide(np.maximum(chosen["tag"]["time"], 0), tracks.wide_tag)))
        if later:
            columns.append(_annotation(2, wide(chosen["tag"]["microstep"], 5)))
        for flow in flows[some].T:
            columns += [constant(varint(47 << 3 | 1), n), np.ascontiguousarray(flow).view(np.uint8).reshape(n, 8)]
        out.write(tracks.packets(worker, chosen["start"], rows(*columns)).tobytes())


def _annotation(name: int, value: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return within(4, rows(constant(number(1, name) + varint(4 << 3), len(value)), value))


def _write_counts(out: IO[bytes], tracks: Tracks, piece: Spans) -> None:
    """What is pending, where that has changed, and how late tags began."""
    ran = piece.reactions
    if not len(ran):
        return
    changed = np.flatnonzero(np.diff(ran["queued"], prepend=ran["queued"][0] + np.uint64(1)))
    _write_counter(out, tracks, piece.worker, 1, ran["end"][changed], ran["queued"][changed])
    if not tracks.trace.header["fast"]:
        first = np.flatnonzero(np.diff(ran["tag"]["time"], prepend=-1))
        late = np.maximum(ran["start"][first] - ran["tag"]["time"][first], 0)
        _write_counter(out, tracks, piece.worker, 2, ran["start"][first], late)


def _write_counter(
    out: IO[bytes], tracks: Tracks, worker: int, what: int, times: NDArray[Any], values: NDArray[Any]
) -> None:
    fixed = number(9, COUNTER) + number(11, tracks.uuid(worker, what)) + varint(30 << 3)
    event = rows(constant(fixed, len(times)), wide(values, width_of(values.max(initial=0))))
    out.write(tracks.packets(worker, times, event).tobytes())


def _write_notes(out: IO[bytes], tracks: Tracks, piece: Spans) -> None:
    """What reactions noted: instants, and counters with values."""
    trace = tracks.trace
    noted = piece.rows[piece.rows["kind"] >= lib.RX_NOTED]
    values = noted["reads"].view(np.float64).tolist()
    uuids: dict[str, int] = {}
    for row, name, value in zip(noted, piece.names, values, strict=False):
        path = f"{trace.reactors[trace.reactions[row['reaction']]['reactor']]['path']}.{name}"
        if row["kind"] == lib.RX_VALUED:
            if path not in uuids:
                uuids[path] = (piece.worker + 1 << 32) + len(uuids)
                out.write(track(uuids[path], path, 1, message(8)))
            event = number(9, COUNTER) + number(11, uuids[path]) + varint(44 << 3 | 1) + struct.pack("<d", value)
        else:
            event = number(9, INSTANT) + message(23, path.encode())
        head = number(8, max(0, int(row["start"]))) + number(10, piece.worker + 1) + number(13, 2)
        out.write(packet(head, message(11, event)))
