"""How does a program become the tables that the C core runs from?

The graph is flattened into one region of shared memory, the arena: for every worker its reactions in rank order, the
cells in which it sees things appear, the doors through which its reactions look at cells, and, between workers, rings,
slots for values, and the delays. Offsets, never pointers: every process maps the arena where it likes.

`Image(...)` does the planning, `write` fills the memory. An image is plain data and travels to worker processes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors_runtime import tables
from reactors_runtime._core import ffi, lib
from reactors_runtime.order import ranks
from reactors_runtime.program import Kind, Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors_runtime.memory import Memory

Offset = tuple[int, int]

FOREVER = 2**63 - 1
MOST_CELLS = 1 << lib.RX_CELL_BITS  # of one worker, which has at most one for each element and each reaction
NONE = 0xFFFFFFFF
STOP = NONE - 1
LONGEST_SLEEP_NS = 50_000_000  # that a worker sleeps on end, whatever it waits for
_STARTUP, _SHUTDOWN, _DEAD = 0, 1, 2  # every worker's first cells; nothing ever appears in the third
_RECORD = 512  # bytes of the slot of an object on its way to another process, header included


@dataclass(slots=True)
class Replay:
    """What came from outside in the run that is replayed: numbers are those of the program, tags (ns, microstep)."""

    events: list[tuple[tuple[int, int], int, bytes]]  # tag, physical action, value or nothing; by tag
    arrivals: dict[int, list[tuple[int, int]]]  # port -> the tags at which values arrived over physical connections
    late: list[tuple[tuple[int, int], int]]  # tag, reaction that missed its deadline; by tag
    checks: set[tuple[tuple[int, int], int, int]]  # tag, reaction, which of its looks at its deadline found it missed
    stop: tuple[int, int]  # the last tag, for whatever reason it was that


@dataclass(slots=True)
class Options:
    """What `rx.run` was asked for, as far as the core needs to know."""

    fast: bool = False
    keepalive: bool = False
    timeout: int | None = None  # ns
    spin: int = 100_000  # ns a worker looks on before it sleeps; 0 when there are more workers than cores
    processes: bool = False  # workers share no Python objects
    max_microsteps: int = 0
    trace: int = 0  # spans to keep for each worker, a power of two
    epoch: int = 0  # what the monotonic clock lacks of the time since 1970, in ns
    virtual_time: bool = False  # the clock stands still while anybody works
    virtual_sleep: bool = False  # then: time.sleep in a reaction makes it later for its worker
    record: str | None = None  # the file to which what comes from outside is appended
    replay: Replay | None = None
    injections: Sequence[tuple[int, int, bytes]] = ()  # then: (ns, physical action, pickled value or nothing), by time

    @property
    def waits(self) -> bool:
        """Whether no tag begins before its physical time."""
        return not self.fast and not self.virtual_time and self.replay is None

    @property
    def plain(self) -> bool:
        """Whether values of physical actions are such that can be recorded."""
        return self.record is not None or self.replay is not None


@dataclass(slots=True)
class Source:
    """A port that some reaction writes: who writes it, where its values lie, and who gets them."""

    element: int  # -1: a request to stop
    worker: int
    number: int  # among the worker's sources
    cell: int
    writers: list[int] = field(default_factory=list)  # local reactions
    # worker -> (offset, physical, mode, port if it has a tap of its own) -> cell
    taps: dict[int, dict[tuple[Offset, bool, int, int], int]] = field(default_factory=dict)
    mode: int = lib.RX_PLAIN
    slots: int = 1
    data: int = 0
    stride: int = 0
    bytes: int = 0
    refs: int = 0
    block: int = -1  # the multiport in whose block its slots are rows


@dataclass(slots=True)
class Worker:
    """What one worker runs: numbers of the program on the left, its own on the right."""

    reactions: list[int] = field(default_factory=list)  # local -> program
    doors: dict[int, int] = field(default_factory=dict)  # element -> door
    stop_doors: dict[int, int] = field(default_factory=dict)  # local reaction -> door
    actions: dict[int, int] = field(default_factory=dict)  # element -> action
    cells: int = 3
    door_cells: list[int] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    physical: bool = False
    modes: list[int] = field(default_factory=list)  # local -> program
    injections: list[tuple[int, int, bytes, int]] = field(
        default_factory=list
    )  # time, where the value lies, it, action
    offsets: dict[str, int] = field(default_factory=dict)
    marks: int = 0  # where what its reactions note in the timeline lies: a count, then rows


class Image:
    """The plan of one run: which worker does what, and what lies where in the arena.

    `placement` gives the worker of each reactor. `size` is the number of bytes of the arena; `shares` names its largest
    parts, for the message when memory does not suffice.
    """

    def __init__(self, program: Program, placement: Sequence[int], workers: int, options: Options) -> None:
        self.program, self.placement, self.workers, self.options = program, list(placement), workers, options
        self.local = [-1] * len(program.reactions)  # program reaction -> its number on its worker
        self.ranks = ranks(program, self.placement)
        self.parts = [Worker() for _ in range(workers)]
        self.sources: dict[int, Source] = {}  # element -> source
        self.stops: list[tuple[Source, Offset]] = []
        self.shares: list[tuple[str, int]] = []
        self._top = 0
        self._cell_of: list[dict[int, int]] = [{} for _ in range(workers)]
        self._mode_cells: dict[tuple[int, Kind], int] = {}
        self._stop_cells: dict[tuple[int, int], int] = {}  # worker, local reaction
        self._rows: list[dict[str, Any]] = [defaultdict(list) for _ in range(workers)]
        self._share_out()
        self._find_sources()
        self._open_doors()
        self._tap_the_unread()
        self._plan_values()
        self._plan_delays()
        self._lay_out()
        self.size = self._top

    @cached_property
    def read(self) -> frozenset[int]:
        """The elements whose values some reaction reads."""
        elements, reactions = self.program.elements, self.program.reactions
        return frozenset(elements[e].source for r in reactions for e in (*r.triggers, *r.uses))

    # ---- who does what ----

    def _share_out(self) -> None:
        reactions = self.program.reactions
        for number in sorted(range(len(reactions)), key=self.ranks.__getitem__):  # it is stable
            part = self.parts[self.placement[reactions[number].reactor]]
            self.local[number] = len(part.reactions)
            part.reactions.append(number)

    def _find_sources(self) -> None:
        elements, reactions = self.program.elements, self.program.reactions
        for worker, part in enumerate(self.parts):
            for local, number in enumerate(part.reactions):
                for element in reactions[number].effects:
                    if elements[element].kind == Kind.PORT:
                        source = self.sources.get(element)
                        if source is None:
                            source = self.sources[element] = Source(
                                element, worker, len(part.sources), self._new_cell(worker)
                            )
                            part.sources.append(source)
                            self._cell_of[worker][element] = source.cell
                        source.writers.append(local)
                offset = reactions[number].stop
                if offset is not None:
                    stop = Source(-1, worker, len(part.sources), self._new_cell(worker), [local])
                    part.sources.append(stop)
                    for other in range(self.workers):
                        stop.taps[other] = {(offset, False, -1, -1): STOP}
                    self.stops.append((stop, offset))
                    self._stop_cells[worker, local] = stop.cell

    def _new_cell(self, worker: int) -> int:
        part = self.parts[worker]
        part.cells += 1
        return part.cells - 1

    def _cell(self, worker: int, element: int) -> int:
        """The cell in which this worker sees the element."""
        known = self._cell_of[worker].get(element)
        if known is not None:
            return known
        e = self.program.elements[element]
        if e.mode >= 0 and e.kind in (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET):  # one cell for all of the mode
            known = self._mode_cells.get((e.mode, e.kind))
            cell = self._mode_cells[e.mode, e.kind] = self._new_cell(worker) if known is None else known
        elif e.kind == Kind.STARTUP:
            cell = _STARTUP
        elif e.kind == Kind.SHUTDOWN:
            cell = _SHUTDOWN
        elif e.kind != Kind.PORT:
            cell = self._new_cell(worker)
        elif (source := self.sources.get(e.source)) is None:
            cell = _DEAD
        elif source.worker == worker and e.offset == (0, 0) and not e.physical:
            cell = source.cell
        else:
            taps = source.taps.setdefault(worker, {})
            key = e.offset, e.physical, e.mode, element if e.physical and self.options.plain else -1
            cell = taps.get(key, -1)
            if cell < 0:
                cell = taps[key] = self._new_cell(worker)
            self.parts[worker].physical |= e.physical and not self.options.virtual_time
        self._cell_of[worker][element] = cell
        return cell

    def _door(self, worker: int, element: int) -> int:
        part = self.parts[worker]
        door = part.doors.get(element)
        if door is None:
            door = part.doors[element] = len(part.door_cells)
            part.door_cells.append(self._cell(worker, element))
            kind = self.program.elements[element].kind
            if kind in (Kind.ACTION, Kind.PHYSICAL_ACTION):
                part.actions[element] = len(part.actions)
                part.physical |= kind == Kind.PHYSICAL_ACTION and not self.options.virtual_time
        return door

    def _open_doors(self) -> None:
        for element, e in enumerate(self.program.elements):  # they happen even if no reaction names them
            if e.kind in (Kind.PHYSICAL_ACTION, Kind.TIMER):
                self._door(self.placement[e.reactor], element)
        for worker, part in enumerate(self.parts):
            rows = self._rows[worker]
            fans: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
            lists: list[int] = []
            word, bit, group = -1, 64, (-1, -1, -1)
            for local, number in enumerate(part.reactions):
                reaction = self.program.reactions[number]
                if self.ranks[number] != group or bit == 64:
                    word, bit, group = word + 1, 0, self.ranks[number]
                    rows["first_of_word"].append(local)
                at = len(lists)
                reads = [*reaction.triggers, *reaction.uses]
                lists += [self._door(worker, element) for element in reads]
                writes = len(lists)
                ports = [e for e in reaction.effects if self.program.elements[e].kind == Kind.PORT]
                actions = [e for e in reaction.effects if self.program.elements[e].kind != Kind.PORT]
                lists += [self._door(worker, element) for element in ports]
                flags = 0
                if reaction.stop is not None:
                    part.stop_doors[local] = len(part.door_cells)
                    lists.append(len(part.door_cells))
                    part.door_cells.append(self._stop_cells[worker, local])
                    flags |= lib.RX_STOPS
                n_ports = len(lists) - writes
                lists += [self._door(worker, element) for element in actions]
                flags |= lib.RX_ALONE if reaction.deadline is not None else 0
                flags |= lib.RX_NATIVE if reaction.native is not None else 0
                for element in reaction.triggers:
                    fans[self._cell(worker, element)][word] |= 1 << bit
                rows["reactions"].append([
                    number, reaction.reactor, reaction.number, flags,
                    at, len(reads), writes, len(lists) - writes, n_ports, 0, 0, 0,
                    FOREVER if reaction.deadline is None else reaction.deadline,
                ])  # fmt: skip
                bit += 1
            rows["lists"] = lists
            rows["words"] = word + 1
            rows["fans_of"] = fans

    def _tap_the_unread(self) -> None:
        """Let what travels with a delay to where no reaction reads it be an event all the same: it is yet to come.

        All that it does is to put off the end, so the last arrival of each source is enough, on the source's worker.
        """
        elements = self.program.elements
        latest: dict[tuple[int, bool], tuple[Offset, bool, int]] = {}
        read = {e for reaction in self.program.reactions for e in (*reaction.triggers, *reaction.uses)}
        for element, e in enumerate(elements):
            if e.kind == Kind.PORT and e.source in self.sources and (e.offset > (0, 0) or e.physical):
                key, arrival = (e.source, e.physical), (e.offset, element in read, element)
                latest[key] = max(latest.get(key, arrival), arrival)
        for (source, _), (_, is_read, element) in latest.items():
            if not is_read:
                self._cell(self.sources[source].worker, element)

    # ---- where values lie ----

    def _plan_values(self) -> None:
        elements, options = self.program.elements, self.options
        for source in self.sources.values():
            e = elements[source.element]
            crosses = any(worker != source.worker for worker in source.taps)
            if e.dtype is not None:
                source.bytes = e.dtype.itemsize * math.prod(e.shape or ())
                source.mode = lib.RX_SLOTS if source.taps else lib.RX_PLAIN
            elif source.taps:
                source.mode = lib.RX_SLOTS if crosses and options.processes else lib.RX_SEQUENCE
            if source.mode == lib.RX_SLOTS:
                source.slots = self._slots(source, source.bytes or _RECORD)
        inputs_first = sorted(
            range(len(self.program.multiports)),
            key=lambda m: all(elements[e].source == e for e in self.program.multiports[m]),
        )
        for multiport in inputs_first:
            channels = self.program.multiports[multiport]
            rows = [self.sources[at] for c in channels if (at := elements[c].source) in self.sources]
            if len(channels) > 1 and len(rows) == len(channels) and self._may_share_block(rows):
                slots = max(row.slots for row in rows)
                for row in rows:
                    row.block = multiport
                    if slots > 1:
                        row.mode, row.slots = lib.RX_SLOTS, slots

    def _may_share_block(self, rows: list[Source]) -> bool:
        like = self.program.elements[rows[0].element]
        if rows[0].bytes == 0 or len({row.element for row in rows}) < len(rows):
            return False
        for row in rows:
            e = self.program.elements[row.element]
            if row.block >= 0 or e.dtype != like.dtype or e.shape != like.shape:
                return False
        return True

    @staticmethod
    def _slots(source: Source, size: int) -> int:
        """Enough for producers to run ahead; receivers hold back at most half of them for long."""
        soon = all(
            not physical and offset[0] == 0 and offset[1] <= 1
            for taps in source.taps.values()
            for offset, physical, *_ in taps
        )
        if soon:
            return 8 if size <= 1 << 16 else 4 if size <= 1 << 20 else 2
        return 16 if size <= 1 << 12 else 8 if size <= 1 << 20 else 4

    # ---- what waits for what ----

    def _plan_delays(self) -> None:
        n = self.workers
        times = np.full((n, n), FOREVER, np.int64)
        microsteps = np.zeros((n, n), np.uint64)
        everything = [*self.sources.values(), *(source for source, _ in self.stops)]
        for source in everything:
            for worker, taps in source.taps.items():
                i, j = source.worker, worker
                for tap in taps:
                    least = self._least(*tap)
                    if i != j and least is not None and least < (times[i, j], microsteps[i, j]):
                        times[i, j], microsteps[i, j] = least
        self.direct = (times.copy(), microsteps.copy())
        np.fill_diagonal(times, 0)
        for k in range(n):
            through, more = times[:, k, None], times[None, k, :]
            possible = (through < FOREVER) & (more < FOREVER)
            added = np.where(possible, np.minimum(through, FOREVER - 1 - more) + more, FOREVER)
            steps = np.where(more > 0, microsteps[None, k, :], microsteps[:, k, None] + microsteps[None, k, :])
            better = possible & ((added < times) | ((added == times) & (steps < microsteps)))
            times, microsteps = np.where(better, added, times), np.where(better, steps, microsteps)
        self.delays = (times, microsteps)
        for worker, part in enumerate(self.parts):
            self._plan_waits(worker, part)

    def _least(self, offset: Offset, physical: bool, *_: int) -> Offset | None:
        """The least that a value is late on its way; None where only the clock of the receiver says."""
        known = self.options.virtual_time or self.options.replay is not None
        return offset if known or not physical else None

    def _plan_waits(self, worker: int, part: Worker) -> None:
        rows = self._rows[worker]
        elements = self.program.elements
        waits: list[list[int]] = []
        for local, number in enumerate(part.reactions):
            reaction = self.program.reactions[number]
            least: dict[tuple[int, Offset], int] = {}
            for element in (*reaction.triggers, *reaction.uses):
                e = elements[element]
                source = self.sources.get(e.source) if e.kind == Kind.PORT else None
                if source is None or source.worker == worker:
                    continue
                offset = self._least(e.offset, e.physical)
                if offset is not None:
                    least[source.worker, offset] = max(least.get((source.worker, offset), -1), source.writers[-1])
            rows["reactions"][local][9:11] = len(waits), len(least)
            waits += [[*offset, producer, writer] for (producer, offset), writer in least.items()]
        rows["waits"] = waits
        stops: dict[tuple[int, Offset], int] = {}
        for source, offset in self.stops:
            if source.worker != worker:
                stops[source.worker, offset] = max(stops.get((source.worker, offset), -1), source.writers[-1])
        rows["stop_waits"] = [[*offset, producer, writer] for (producer, offset), writer in stops.items()]

    # ---- what lies where ----

    def _take(self, size: int, align: int = 64) -> int:
        at = -(-self._top // align) * align
        self._top = at + size
        return at

    def _lay_out(self) -> None:
        n, program = self.workers, self.program
        self._take(ffi.sizeof("rx_image"))
        self.at = {
            "tables": self._take(n * tables.TABLES.itemsize),
            "lines": self._take(n * ffi.sizeof("rx_line")),
            "bells": self._take(n * max(ffi.sizeof("rx_bell"), 64)),
            "rings": self._take(8 * n * n),
            "digests": self._take(8 * len(program.reactors)),
            "delays": self._take(2 * n * n * tables.TAG.itemsize),
        }
        self._number_subs()
        self.at["subs"] = self._take(len(self.subs) * tables.SUB.itemsize)
        for worker, part in enumerate(self.parts):
            self._lay_out_worker(worker, part)
        self._lay_out_values()
        per_pair: dict[tuple[int, int], int] = defaultdict(int)
        for source, consumer, _ in self.subs:
            if consumer != source.worker:
                per_pair[source.worker, consumer] += 1
        self.ring_capacity = {pair: max(1024, 1 << (4 * count - 1).bit_length()) for pair, count in per_pair.items()}
        self.rings = {pair: self._take(lib.rx_ring_bytes(size), 128) for pair, size in self.ring_capacity.items()}
        self._take(0, 4096)

    def _number_subs(self) -> None:
        """Subscriptions get numbers, and every worker the list of its taps."""
        self.subs: list[tuple[Source, int, list[int]]] = []
        taps: list[list[list[int]]] = [[] for _ in range(self.workers)]
        self.sub_lists: dict[int, tuple[int, int]] = {}
        for worker, part in enumerate(self.parts):
            rows = self._rows[worker]
            for source in part.sources:
                at = len(rows["lists"])
                for consumer in sorted(source.taps):
                    first = len(taps[consumer])
                    for (offset, physical, _, element), cell in source.taps[consumer].items():
                        row = [*offset, 0, cell, int(physical), len(self.subs), element if element >= 0 else NONE]
                        taps[consumer].append([*row, 0, 0, 0])
                    rows["lists"].append(len(self.subs))
                    self.subs.append((source, consumer, [first, len(source.taps[consumer])]))
                self.sub_lists[id(source)] = at, len(source.taps)
        for worker in range(self.workers):
            self._rows[worker]["taps"] = taps[worker]

    def _lay_out_worker(self, worker: int, part: Worker) -> None:
        rows, at = self._rows[worker], part.offsets
        self._take(0, 128)  # nothing of two workers on one cache line
        in_modes = sum(self.program.reactions[number].mode >= 0 for number in part.reactions)
        at["fans"] = self._take(tables.FAN.itemsize * (sum(map(len, rows["fans_of"].values())) + in_modes))
        at["reactions"] = self._take(tables.REACTION.itemsize * len(part.reactions))
        at["cells"] = self._take(tables.CELL.itemsize * part.cells)
        at["lists"] = self._take(4 * len(rows["lists"]))
        at["sources"] = self._take(tables.SOURCE.itemsize * len(part.sources))
        at["taps"] = self._take(tables.TAP.itemsize * len(rows["taps"]))
        at["waits"] = self._take(tables.WAIT.itemsize * len(rows["waits"]))
        at["stop_waits"] = self._take(tables.WAIT.itemsize * len(rows["stop_waits"]))
        part.modes = [m for m, mode in enumerate(self.program.modes) if self.placement[mode.reactor] == worker]
        at["modes"] = self._take(tables.MODE.itemsize * len(part.modes))
        machines = {self.program.modes[m].reactor for m in part.modes}
        at["machines"] = self._take(tables.MACHINE.itemsize * len(machines))
        timers = [e for e in part.doors if self.program.elements[e].kind == Kind.TIMER]
        rows["timers"] = [[self.program.elements[e].first, self._cell(worker, e), 0] for e in timers]
        at["timers"] = self._take(tables.TIMER.itemsize * len(timers))
        at["actions"] = self._take(tables.ACTION.itemsize * len(part.actions))
        at["first_of_word"] = self._take(4 * rows["words"])
        at["visit_words"] = self._take(8 * rows["words"])
        doors = len(part.door_cells)
        at["door_cells"] = self._take(4 * doors)
        at["doors"] = self._take(doors)
        at["where"] = self._take(8 * doors)
        at["low"] = self._take(8 * doors)
        at["batch"] = self._take(4 * len(part.reactions))
        at["stats"] = self._take(tables.STATS.itemsize * len(part.reactions))
        at["now"] = self._take(tables.TAG.itemsize)
        at["current"] = self._take(8)
        events = [
            (time, part.actions[e], value)
            for time, e, value in self.options.injections
            if e in part.actions and time < FOREVER
        ]
        at["injections"] = self._take(tables.INJECTION.itemsize * len(events))
        part.injections = [(time, self._take(len(value)), value, action) for time, action, value in events]
        replay = self.options.replay
        if replay is not None:
            for tap in rows["taps"]:
                tags = replay.arrivals.get(tap[6], [])
                tap[7:9] = self._take(tables.TAG.itemsize * len(tags)), len(tags)
            happened = [(tag, value, part.actions[e]) for tag, e, value in replay.events if e in part.actions]
            rows["replayed"] = [(tag, self._take(len(value)), value, action) for tag, value, action in happened]
            mine = {number: local for local, number in enumerate(part.reactions)}
            rows["late"] = [(tag, mine[number]) for tag, number in replay.late if number in mine]
        at["replayed"] = self._take(tables.REPLAYED.itemsize * len(rows["replayed"]))
        at["late"] = self._take(tables.REPLAYED.itemsize * len(rows["late"]))
        at["trace"] = self._take(64 + self.options.trace * tables.SPAN.itemsize) if self.options.trace else 0
        part.marks = self._take(64 + self.options.trace * tables.MARK.itemsize) if self.options.trace else 0
        self._inbox = 1024
        has_inbox = any(self.program.elements[e].kind == Kind.PHYSICAL_ACTION for e in part.actions)
        at["inbox"] = self._take(lib.rx_inbox_bytes(self._inbox)) if has_inbox else 0

    def _lay_out_values(self) -> None:
        blocks: dict[int, list[Source]] = defaultdict(list)
        elements = self.program.elements
        for multiport, channels in enumerate(self.program.multiports):
            rows = [self.sources[at] for c in channels if (at := elements[c].source) in self.sources]
            if rows and rows[0].block == multiport:
                blocks[multiport] = rows
        for rows in blocks.values():
            size = sum(row.bytes for row in rows)
            start = self._take(size * rows[0].slots)
            for i, row in enumerate(rows):
                row.data, row.stride = start + i * row.bytes, size
            self._note(rows[0], size * rows[0].slots)
        for source in self.sources.values():
            if source.mode == lib.RX_SLOTS:
                source.refs = self._take(4 * source.slots, 4 if source.block >= 0 else 64)
            if source.block < 0 and (source.bytes or source.mode == lib.RX_SLOTS):
                source.stride = -(-(source.bytes or _RECORD) // 64) * 64
                source.data = self._take(source.stride * source.slots)
                self._note(source, source.stride * source.slots)
        self.released = {
            number: self._take(8, 8)
            for number, (source, _, _) in enumerate(self.subs)
            if source.mode == lib.RX_SEQUENCE
        }

    def _note(self, source: Source, size: int) -> None:
        if size > 1 << 20:
            self.shares.append((self.program.elements[source.element].path, size))

    # ---- filling the arena ----

    def write(self, memory: Memory) -> None:
        """Fill a fresh arena of `size` bytes, all zero."""
        base = ffi.from_buffer("uint8_t[]", memory.map)
        image = ffi.cast("rx_image *", base)
        options = self.options
        image.magic, image.size = 0x7278696D616765, self.size
        image.workers, image.fast, image.keepalive = self.workers, options.fast, options.keepalive
        image.traced = bool(options.trace)
        image.virtual_time, image.changes = options.virtual_time, 1
        image.replaying = options.replay is not None
        image.spin_ns, image.longest_sleep_ns = options.spin, LONGEST_SLEEP_NS
        image.max_microsteps = options.max_microsteps
        image.timeout.time = FOREVER if options.timeout is None else options.timeout
        if options.replay is not None:
            image.timeout.time, image.timeout.microstep = options.replay.stop
        for name, offset in self.at.items():
            setattr(image, name, offset)
        image.n_subs, image.n_reactors = len(self.subs), len(self.program.reactors)
        image.spill, image.limit = self.size, memory.limit
        for worker in range(self.workers):
            lines = ffi.cast("rx_line *", base + self.at["lines"])
            lines[worker].passed.time = -1
        delays = tables.view(memory, self.at["delays"], 2 * self.workers**2, tables.TAG)
        delays["time"] = np.concatenate([self.delays[0].ravel(), self.direct[0].ravel()])
        delays["microstep"] = np.concatenate([self.delays[1].ravel(), self.direct[1].ravel()])
        rings = tables.view(memory, self.at["rings"], self.workers**2, np.dtype(np.uint64))
        for (i, j), offset in self.rings.items():
            rings[i * self.workers + j] = offset
            lib.rx_ring_init(base, offset, self.ring_capacity[i, j])
        self._write_subs(memory)
        for worker, part in enumerate(self.parts):
            self._write_worker(memory, worker, part)
            if part.offsets["inbox"]:
                lib.rx_inbox_init(base, part.offsets["inbox"], self._inbox)

    def _write_subs(self, memory: Memory) -> None:
        rows = []
        for number, (s, consumer, taps) in enumerate(self.subs):
            keeping = [least for tap in s.taps[consumer] if (least := self._least(*tap)) is not None]
            least = min(keeping, default=(FOREVER, 0))
            rows.append((
                s.worker, consumer, s.number, *taps, s.mode, s.slots, 0,
                s.data, s.stride, s.bytes, s.refs, self.released.get(number, 0), least,
            ))  # fmt: skip
        tables.fill(memory, self.at["subs"], rows, tables.SUB)

    def _write_worker(self, memory: Memory, worker: int, part: Worker) -> None:
        rows, at, elements = self._rows[worker], part.offsets, self.program.elements
        cells = [[0, 0, 0, 0, NONE, NONE, NONE, NONE, 0] for _ in range(part.cells)]
        fans: list[tuple[int, int, int]] = []
        for cell, words in rows["fans_of"].items():
            cells[cell][2:4] = len(fans), len(words)
            fans += [(mask, word, 0) for word, mask in words.items()]
        sources = []
        for source in part.sources:
            subs = self.sub_lists[id(source)]
            kept = source.element < 0 or source.mode != lib.RX_PLAIN or source.bytes
            if kept:
                cells[source.cell][4] = source.number
            sources.append((
                source.cell, source.mode, source.writers[-1], len(source.writers), *subs, source.slots, 0,
                source.data, source.stride, source.bytes, source.refs, 0, 0, 0,
            ))  # fmt: skip
        for number, tap in enumerate(rows["taps"]):
            if tap[3] != STOP:
                cells[tap[3]][5] = number
        actions = []
        for element, number in part.actions.items():
            door = part.doors[element]
            cells[part.door_cells[door]][6] = number
            e = elements[element]
            physical = int(e.kind == Kind.PHYSICAL_ACTION)
            spacing = e.min_delay, e.min_spacing, (-1, 0)
            actions.append((*spacing, part.door_cells[door], door, physical, element, int(e.policy), 0))
        for element, door in part.doors.items():
            cells[part.door_cells[door]][8] = elements[element].period or cells[part.door_cells[door]][8]
        modes, machines = self._modes(worker, part, cells, fans)
        visits = np.zeros(rows["words"], np.uint64)
        for local, reaction in enumerate(rows["reactions"]):
            if reaction[10]:
                word = int(np.searchsorted(rows["first_of_word"], local, "right")) - 1
                visits[word] |= np.uint64(1 << (local - rows["first_of_word"][word]))
        fill = tables.fill
        fill(memory, at["reactions"], list(map(tuple, rows["reactions"])), tables.REACTION)
        fill(memory, at["cells"], list(map(tuple, cells)), tables.CELL)
        fill(memory, at["fans"], fans, tables.FAN)
        fill(memory, at["lists"], rows["lists"], np.dtype(np.uint32))
        fill(memory, at["sources"], sources, tables.SOURCE)
        fill(memory, at["taps"], [((t[0], t[1]), *t[2:], (0, 0)) for t in rows["taps"]], tables.TAP)
        for name in ("waits", "stop_waits"):
            fill(memory, at[name], [((w[0], w[1]), w[2], w[3]) for w in rows[name]], tables.WAIT)
        fill(memory, at["timers"], list(map(tuple, rows["timers"])), tables.TIMER)
        fill(memory, at["actions"], actions, tables.ACTION)
        self._write_replay(memory, rows, at)
        injections = [(time, where, len(value), action, 0) for time, where, value, action in part.injections]
        fill(memory, at["modes"], modes, tables.MODE)
        fill(memory, at["machines"], machines, tables.MACHINE)
        fill(memory, at["injections"], injections, tables.INJECTION)
        for _, where, value, _ in part.injections:
            memory.map[where : where + len(value)] = value
        fill(memory, at["first_of_word"], rows["first_of_word"], np.dtype(np.uint32))
        fill(memory, at["visit_words"], visits, np.dtype(np.uint64))
        fill(memory, at["door_cells"], part.door_cells, np.dtype(np.uint32))
        fill(memory, at["current"], [-1], np.dtype(np.int64))
        row = np.zeros(1, tables.TABLES)
        row["n_reactions"], row["n_words"] = len(part.reactions), rows["words"]
        row["n_cells"], row["n_doors"], row["n_sources"] = part.cells, len(part.door_cells), len(part.sources)
        row["n_timers"], row["n_actions"] = len(rows["timers"]), len(actions)
        row["n_stop_waits"], row["n_injections"] = len(rows["stop_waits"]), len(injections)
        row["n_modes"], row["n_machines"] = len(modes), len(machines)
        row["n_replayed"], row["n_late"] = len(rows["replayed"]), len(rows["late"])
        for name, offset in at.items():
            row[name] = offset
        row["n_trace"], row["startup"], row["shutdown"] = self.options.trace, _STARTUP, _SHUTDOWN
        row["physical"], row["inbox_capacity"] = part.physical, self._inbox
        tables.view(memory, self.at["tables"], self.workers, tables.TABLES)[worker] = row[0]

    def _write_replay(self, memory: Memory, rows: dict[str, Any], at: dict[str, int]) -> None:
        if self.options.replay is not None:
            for tap in rows["taps"]:
                tables.fill(memory, tap[7], self.options.replay.arrivals.get(tap[6], []), tables.TAG)
            for _, where, value, _ in rows["replayed"]:
                memory.map[where : where + len(value)] = value
        replayed = [(tag, where, len(value), action, 0) for tag, where, value, action in rows["replayed"]]
        tables.fill(memory, at["replayed"], replayed, tables.REPLAYED)
        tables.fill(memory, at["late"], [(tag, 0, 0, local, 0) for tag, local in rows["late"]], tables.REPLAYED)

    def _modes(
        self, worker: int, part: Worker, cells: list[list[int]], fans: list[tuple[int, int, int]]
    ) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """This worker's modes and modal reactors; says of cells and reactions to which mode they belong."""
        program, first = self.program, self._rows[worker]["first_of_word"]
        if not part.modes:
            return [], []
        local = {m: k for k, m in enumerate(part.modes)}
        for element, e in enumerate(program.elements):
            cell = self._cell_of[worker].get(element)
            if cell is not None and e.mode >= 0 and cell != _DEAD and e.mode in local:
                cells[cell][7] = local[e.mode]
        members: dict[int, dict[int, int]] = {m: defaultdict(int) for m in local}
        for number, reaction in enumerate(part.reactions):
            if program.reactions[reaction].mode >= 0:
                word = int(np.searchsorted(first, number, "right")) - 1
                members[program.reactions[reaction].mode][word] |= 1 << (number - first[word])
        modes: list[tuple[int, ...]] = []
        machines: list[tuple[int, ...]] = []
        of_reactor: dict[int, int] = {}
        for m, k in local.items():
            mode = program.modes[m]
            if mode.reactor not in of_reactor:
                of_reactor[mode.reactor] = len(machines)
                machines.append((local.get(mode.outer, NONE), 0, 0, NONE, 0, 0))
            machine = of_reactor[mode.reactor]
            if mode.initial:
                machines[machine] = (machines[machine][0], k, k, NONE, 0, 0)
            mine = [self._mode_cells.get((m, kind), NONE) for kind in (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)]
            modes.append((machine, m, len(fans), len(members[m]), *mine, 0, 0, 0))
            fans += [(mask, word, 0) for word, mask in members[m].items()]
        return modes, machines

    def __getstate__(self) -> dict[str, Any]:
        """A worker needs the plan, not the notes that were made for writing it down."""
        return {
            k: v for k, v in self.__dict__.items() if k not in ("_rows", "_cell_of", "_stop_cells", "sub_lists", "subs")
        }
