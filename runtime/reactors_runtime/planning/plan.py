"""Who does what, and which values need what room?

Each worker gets the reactions of its reactors in rank order, the cells in which it sees things appear, the doors
through which its reactions look at cells, and the sources that they write, with the ways from there to other cells.
These are numbers only: where all of it lies is decided in image.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from reactors_runtime._core import lib
from reactors_runtime.planning.ranks import ranks
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors_runtime.planning.options import RunOptions
    from reactors_runtime.program import Element, Program

Offset = tuple[int, int]
T = TypeVar("T")

STARTUP, SHUTDOWN, DEAD = 0, 1, 2  # every worker's first cells; nothing ever appears in the third
_WORD = 64  # bits of a word of the ready set
_NUMBERS = (int, float, bool)


class Way(NamedTuple):
    """How the values of a source reach a cell."""

    offset: Offset
    physical: bool = False
    mode: int = -1  # of the delayed connection
    port: int = -1  # the port that it is for alone, where arrivals are recorded


class Touched(NamedTuple):
    """The doors of one reaction."""

    reads: list[int]  # of its triggers and uses
    ports: list[int]  # of its effects, then of its request to stop
    actions: list[int]


@dataclass(slots=True)
class WrittenPort:
    """A port that some reaction writes: who writes it, where its values lie, and who gets them."""

    element: int  # -1: a request to stop
    worker: int
    number: int  # among the worker's sources
    cell: int
    writers: list[int] = field(default_factory=list)  # local reactions
    ways: dict[int, dict[Way, int]] = field(default_factory=dict)  # worker -> way -> cell
    mode: int = lib.RX_PLAIN
    slots: int = 1
    data: int = 0
    stride: int = 0
    bytes: int = 0  # of a value; 0: they differ
    room: int = 0  # bytes of a slot
    refs: int = 0
    block: int = -1  # the multiport in whose block its slots are rows

    @property
    def places(self) -> int:
        """How many values there is memory for: one more than slots, as what is set after a failure goes nowhere."""
        return self.slots + 1 if self.mode == lib.RX_SLOTS else self.slots

    def by_slot(self, make: Callable[[int], T]) -> list[T]:
        """What is made of the offset of each place, by number of the slot: a power of two, the last one again."""
        made = [make(self.data + place * self.stride) for place in range(self.places)]
        return made + made[-1:] * (self.slots - 1)


@dataclass(slots=True)
class Worker:
    """What one worker runs: numbers of the program on the left, its own on the right."""

    reactors: list[int] = field(default_factory=list)  # local -> program
    reactions: list[int] = field(default_factory=list)  # likewise
    first_of_word: list[int] = field(default_factory=list)  # word of the ready set -> local reaction
    doors: dict[int, int] = field(default_factory=dict)  # element -> door
    stop_doors: dict[int, int] = field(default_factory=dict)  # local reaction -> door
    actions: dict[int, int] = field(default_factory=dict)  # element -> action
    cells: int = 3
    door_cells: list[int] = field(default_factory=list)
    sources: list[WrittenPort] = field(default_factory=list)
    physical: bool = False
    modes: list[int] = field(default_factory=list)  # local -> program
    offsets: dict[str, int] = field(default_factory=dict)  # its tables in the arena

    def new_cell(self) -> int:
        """The number of one more cell."""
        self.cells += 1
        return self.cells - 1

    def new_source(self, element: int, worker: int) -> WrittenPort:
        """One more source, with a cell of its own."""
        self.sources.append(WrittenPort(element, worker, len(self.sources), self.new_cell()))
        return self.sources[-1]


class Plan:
    """What each of `workers` workers does; `placement` gives the worker of each reactor."""

    def __init__(self, program: Program, placement: Sequence[int], workers: int, options: RunOptions) -> None:
        self.program, self.placement, self.workers, self.options = program, list(placement), workers, options
        self.local = [-1] * len(program.reactions)  # program reaction -> its number on its worker
        self.parts = [Worker() for _ in range(workers)]
        self.sources: dict[int, WrittenPort] = {}  # element -> source
        self.local_reactor: list[int] = []  # program reactor -> its number on its worker
        self.stops: list[tuple[WrittenPort, Offset]] = []
        self.cell_of: list[dict[int, int]] = [{} for _ in range(workers)]  # by worker: element -> cell
        self.mode_cells: dict[tuple[int, Kind], int] = {}
        self.touched: list[list[Touched]] = [[] for _ in range(workers)]  # by worker and local reaction
        self.bits: list[list[tuple[int, int]]] = [[] for _ in range(workers)]  # likewise: word of the ready set, mask
        self._share_out()
        self._find_sources()
        self._open_doors()
        self._tap_the_unread()
        self._size_values()
        self._share_blocks()
        for m, mode in enumerate(program.modes):
            self.parts[self.placement[mode.reactor]].modes.append(m)

    @cached_property
    def read(self) -> frozenset[int]:
        """The elements whose values some reaction reads."""
        elements, reactions = self.program.elements, self.program.reactions
        return frozenset(elements[e].source for r in reactions for e in (*r.triggers, *r.uses))

    def _share_out(self) -> None:
        """Each reaction has a place in the order of its worker, and a bit; a group of equals begins a word."""
        for reactor, worker in enumerate(self.placement):
            self.local_reactor.append(len(self.parts[worker].reactors))
            self.parts[worker].reactors.append(reactor)
        reactions, of = self.program.reactions, ranks(self.program, self.placement)
        groups = [(-1, -1, -1)] * self.workers
        for number in sorted(range(len(reactions)), key=of.__getitem__):  # it is stable
            worker = self.placement[reactions[number].reactor]
            part = self.parts[worker]
            local = self.local[number] = len(part.reactions)
            if of[number] != groups[worker] or local - part.first_of_word[-1] == _WORD:
                part.first_of_word.append(local)
                groups[worker] = of[number]
            self.bits[worker].append((len(part.first_of_word) - 1, 1 << (local - part.first_of_word[-1])))
            part.reactions.append(number)

    def _find_sources(self) -> None:
        elements, reactions = self.program.elements, self.program.reactions
        for worker, part in enumerate(self.parts):
            for local, number in enumerate(part.reactions):
                for element in reactions[number].effects:
                    if elements[element].kind == Kind.PORT:
                        source = self.sources.get(element)
                        if source is None:
                            source = self.sources[element] = part.new_source(element, worker)
                            self.cell_of[worker][element] = source.cell
                        source.writers.append(local)
                offset = reactions[number].stop
                if offset is not None:
                    stop = part.new_source(-1, worker)
                    stop.writers.append(local)
                    stop.ways = {other: {Way(offset): lib.RX_STOP} for other in range(self.workers)}
                    self.stops.append((stop, offset))

    def cell(self, worker: int, element: int) -> int:
        """The cell in which this worker sees the element."""
        cell = self.cell_of[worker].get(element)
        if cell is None:
            cell = self.cell_of[worker][element] = self._new_cell(worker, element, self.program.elements[element])
        return cell

    def _new_cell(self, worker: int, element: int, e: Element) -> int:
        part = self.parts[worker]
        if e.mode >= 0 and e.kind in (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET):  # one cell for all of the mode
            known = self.mode_cells.get((e.mode, e.kind))
            if known is None:
                known = self.mode_cells[e.mode, e.kind] = part.new_cell()
            return known
        if e.kind == Kind.STARTUP:
            return STARTUP
        if e.kind == Kind.SHUTDOWN:
            return SHUTDOWN
        if e.kind != Kind.PORT:
            return part.new_cell()
        source = self.sources.get(e.source)
        if source is None:
            return DEAD
        if source.worker == worker and e.undelayed:
            return source.cell
        part.physical |= e.physical and not self.options.virtual_time
        way = Way(e.offset, e.physical, e.mode, element if e.physical and self.options.plain else -1)
        cells = source.ways.setdefault(worker, {})
        if way not in cells:
            cells[way] = part.new_cell()
        return cells[way]

    def _door(self, worker: int, element: int) -> int:
        part = self.parts[worker]
        door = part.doors.get(element)
        if door is None:
            door = part.doors[element] = len(part.door_cells)
            part.door_cells.append(self.cell(worker, element))
            kind = self.program.elements[element].kind
            if kind in (Kind.ACTION, Kind.PHYSICAL_ACTION):
                part.actions[element] = len(part.actions)
                part.physical |= kind == Kind.PHYSICAL_ACTION and not self.options.virtual_time
        return door

    def _open_doors(self) -> None:
        elements = self.program.elements
        happening = Kind.PHYSICAL_ACTION, Kind.TIMER
        for element, e in enumerate(elements):  # they happen even if no reaction names them
            if e.kind in happening:
                self._door(self.placement[e.reactor], element)
        for worker, part in enumerate(self.parts):
            stops = {stop.writers[0]: stop for stop in part.sources if stop.element < 0}
            for local, number in enumerate(part.reactions):
                reaction = self.program.reactions[number]
                doors = Touched([self._door(worker, read) for read in (*reaction.triggers, *reaction.uses)], [], [])
                for effect in reaction.effects:
                    is_port = elements[effect].kind is Kind.PORT
                    (doors.ports if is_port else doors.actions).append(self._door(worker, effect))
                if local in stops:
                    part.stop_doors[local] = len(part.door_cells)
                    doors.ports.append(len(part.door_cells))
                    part.door_cells.append(stops[local].cell)
                self.touched[worker].append(doors)

    def _tap_the_unread(self) -> None:
        """Let what travels with a delay to where no reaction reads it be an event all the same: it is yet to come.

        All that it does is to put off the end, so the last arrival of each source is enough, on the source's worker.
        """
        elements = self.program.elements
        latest: dict[tuple[int, bool], tuple[Offset, bool, int]] = {}
        late = [(element, e) for element, e in enumerate(elements) if e.offset != (0, 0) or e.physical]
        if not late:
            return
        read = {e for reaction in self.program.reactions for e in (*reaction.triggers, *reaction.uses)}
        for element, e in late:
            if e.source in self.sources:
                key, arrival = (e.source, e.physical), (e.offset, element in read, element)
                latest[key] = max(latest.get(key, arrival), arrival)
        for (source, _), (_, is_read, element) in latest.items():
            if not is_read:
                self.cell(self.sources[source].worker, element)

    # ---- values ----

    def _size_values(self) -> None:
        for source in self.sources.values():
            e = self.program.elements[source.element]
            crosses = any(worker != source.worker for worker in source.ways)
            if e.dtype is not None:
                source.bytes = e.dtype.itemsize * math.prod(e.shape or ())
                source.mode = lib.RX_SLOTS if source.ways else lib.RX_PLAIN
            elif source.ways:
                source.mode = lib.RX_SLOTS if crosses and self.options.processes else lib.RX_SEQUENCE
            source.room = source.bytes or (lib.RX_NUMBER_SLOT if e.type in _NUMBERS else lib.RX_OBJECT_SLOT)
            if source.mode == lib.RX_SLOTS:
                source.slots = _slots(source, source.room)

    def _share_blocks(self) -> None:
        """The slots of a multiport's sources are rows of one block, where their values are alike."""
        multiports = self.program.multiports
        inputs_first = sorted(  # and last those of one channel, whose row may be one of others
            range(len(multiports)),
            key=lambda m: (len(multiports[m]) == 1, all(self.program.elements[e].source == e for e in multiports[m])),
        )
        for multiport in inputs_first:
            rows = self.sources_of(multiport)
            if 0 < len(rows) == len(multiports[multiport]) and self._may_share_block(rows):
                slots = max(row.slots for row in rows)
                for row in rows:
                    row.block = multiport
                    if slots > 1:
                        row.mode, row.slots = lib.RX_SLOTS, slots

    def sources_of(self, multiport: int) -> list[WrittenPort]:
        """Those of its channels that have one."""
        ends = (self.program.elements[channel].source for channel in self.program.multiports[multiport])
        return [self.sources[end] for end in ends if end in self.sources]

    def _may_share_block(self, rows: list[WrittenPort]) -> bool:
        like = self.program.elements[rows[0].element]
        if rows[0].bytes == 0 or len({row.element for row in rows}) < len(rows):
            return False
        for row in rows:
            e = self.program.elements[row.element]
            if row.block >= 0 or e.dtype != like.dtype or e.shape != like.shape:
                return False
        return True


def _slots(source: WrittenPort, size: int) -> int:
    """Enough for producers to run ahead; receivers hold back at most half of them for long."""
    ways = [way for cells in source.ways.values() for way in cells]
    if all(not way.physical and way.offset[0] == 0 and way.offset[1] <= 1 for way in ways):
        return 8 if size <= 1 << 16 else 4 if size <= 1 << 20 else 2
    return 16 if size <= 1 << 12 else 8 if size <= 1 << 20 else 4
