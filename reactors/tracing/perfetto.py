"""A trace in Perfetto's own format: packets of TrackEvents (perfetto.dev, protos/perfetto/trace).

A track for each worker has reactions and waits, others show the event queue and how late tags began, and arrows lead
from who wrote a value to who read it. Numbers have a fixed width in the file, so that packets are rows of an array.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from reactors.tracing.executions import Executions
from reactors_runtime._core import lib
from reactors_runtime.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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

_SPREAD = (
    (28, 0x000000000FFFFFFF, 0x00FFFFFFF0000000, 4),
    (14, 0x00003FFF00003FFF, 0x0FFFC0000FFFC000, 2),
    (7, 0x007F007F007F007F, 0x3F803F803F803F80, 1),
)  # groups of so many bits move apart, so that in the end each byte has seven


def wide(values: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """Varints of so many bytes each, eight at most, a row of eight each."""
    left = values.astype(np.uint64)
    for _, low, high, places in _SPREAD:
        left = (left & np.uint64(low)) | ((left & np.uint64(high)) << np.uint64(places))
    left |= np.uint64(int.from_bytes(b"\x80" * (width - 1), "little"))
    return left.view(np.uint8).reshape(-1, 8)


def width_of(most: int) -> int:
    """Bytes of a varint for numbers up to this one."""
    return max(1, -(-int(most).bit_length() // 7))


class Hole(NamedTuple):
    """Where a number stands that differs from packet to packet: a varint of this width, or eight bytes as they are."""

    name: str
    width: int


Part: TypeAlias = "bytes | Hole"


def nested(field: int, *parts: Part) -> tuple[Part, ...]:
    """A field that is a message, some of whose numbers are yet to come."""
    size = sum(part.width if isinstance(part, Hole) else len(part) for part in parts)
    return varint(field << 3 | 2) + varint(size), *parts


class PacketForm:
    """Packets that are alike but for some numbers; all have the same length, so many of them are an array."""

    def __init__(self, *parts: Part) -> None:
        self.holes: dict[str, slice] = {}
        content = b""
        for part in parts:
            if isinstance(part, Hole):
                self.holes[part.name] = slice(len(content), len(content) + part.width)
                content += bytes(part.width)
            else:
                content += part
        self.content = np.frombuffer(content, np.uint8)

    def filled(self, n: int, **numbers: NDArray[Any]) -> NDArray[np.uint8]:
        """So many of them, with these numbers; those that are bytes already stand as they are."""
        rows = np.empty((n, len(self.content)), np.uint8)
        rows[:] = self.content
        for name, at in self.holes.items():
            values, width = numbers[name], at.stop - at.start
            put = values if values.dtype == np.uint8 else wide(values, width)
            rows[:, at] = put[:, :width]
        return rows


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

    def form(self, worker: int, *event: Part) -> PacketForm:
        """Packets of a worker's events, at some `time` each.

        They do not say that they need what came before, as packets do that may be lost: none is, in a file.
        """
        head = varint(8 << 3), Hole("time", self.wide_time), number(10, worker + 1)
        return PacketForm(*nested(1, *head, *nested(11, *event)))


def write(trace: Trace, file: Path) -> int:
    """Write all of a trace; how many reactions there were. Raises `OSError`."""
    pieces = trace.by_worker()
    tracks = Tracks.of(trace, pieces)
    arrows = Arrows(trace, pieces)
    reactions = 0
    with file.open("wb") as out:
        out.write(b"".join(machines(trace)))
        for piece in pieces:
            out.write(described(tracks, piece.worker))
            reactions += len(piece.reactions)
            _write_spans(out, tracks, piece, arrows)
            _write_counts(out, tracks, piece)
            _write_notes(out, tracks, piece)
    return reactions


def machines(trace: Trace) -> Iterator[bytes]:
    """What the tracks of workers are below: the program, or a process for each of several machines."""
    several = sorted({*trace.machine_of})
    for machine in several:
        name = f"{trace.header['program']} on machine {machine}".encode()
        process = (message(3, number(1, machine + 1), message(6, name)),) if len(several) > 1 else ()
        yield track(home(machine), trace.header["program"], None, *process)


def home(machine: int) -> int:
    """The uuid of a machine's track."""
    return 1 if machine == 0 else 1 << 48 | machine


def described(tracks: Tracks, worker: int) -> bytes:
    """A worker's tracks, and the names that its packets refer to by number."""
    trace = tracks.trace
    above = home(trace.machine_of[worker])
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
        track(tracks.uuid(worker), f"worker {worker}", above),
        track(tracks.uuid(worker, 1), f"worker {worker}: event queue", above, message(8)),
        track(tracks.uuid(worker, 2), f"worker {worker}: late", above, message(8, number(3, 1))),
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
    form = tracks.form(worker, number(9, END))
    out.write(form.filled(len(spans), time=np.maximum(spans["end"], 0)).data)


def _write_begins(
    out: IO[bytes], tracks: Tracks, worker: int, spans: NDArray[Any], names: NDArray[Any], flows: NDArray[np.uint64]
) -> None:
    later = spans["tag"]["microstep"] > 0
    for chosen in (~later, later):
        n = int(chosen.sum())
        if not n:
            continue
        some = chosen if n < len(spans) else slice(None)
        tags = spans["tag"][some]
        numbers = {"time": np.maximum(spans["start"][some], 0), "name": names[some], "tag": np.maximum(tags["time"], 0)}
        event: list[Part] = [number(9, BEGIN) + varint(10 << 3), Hole("name", tracks.wide_name)]
        event += nested(4, number(1, 1) + varint(4 << 3), Hole("tag", tracks.wide_tag))
        if chosen is later:
            event += nested(4, number(1, 2) + varint(4 << 3), Hole("microstep", 5))
            numbers["microstep"] = tags["microstep"]
        for k, flow in enumerate(flows[some].T):
            event += [varint(47 << 3 | 1), Hole(f"flow {k}", 8)]
            numbers[f"flow {k}"] = np.ascontiguousarray(flow).view(np.uint8).reshape(n, 8)
        out.write(tracks.form(worker, *event).filled(n, **numbers).data)


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
    form = tracks.form(worker, fixed, Hole("value", width_of(values.max(initial=0))))
    out.write(form.filled(len(times), time=np.maximum(times, 0), value=values).data)


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
                out.write(track(uuids[path], path, home(trace.machine_of[piece.worker]), message(8)))
            event = number(9, COUNTER) + number(11, uuids[path]) + varint(44 << 3 | 1) + struct.pack("<d", value)
        else:
            event = number(9, INSTANT) + message(23, path.encode())
        head = number(8, max(0, int(row["start"]))) + number(10, piece.worker + 1)
        out.write(packet(head, message(11, event)))
