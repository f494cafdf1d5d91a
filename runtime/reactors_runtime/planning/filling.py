"""The tables of the image, row by row, by the names that their fields have in csrc/api.inc.

A field that a row does not name is 0.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors_runtime import tables
from reactors_runtime._core import lib
from reactors_runtime.planning import delays
from reactors_runtime.planning.padding import solid
from reactors_runtime.planning.plan import DEAD
from reactors_runtime.program import FOREVER, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors_runtime.planning.arena import Arena
    from reactors_runtime.planning.plan import Plan, WrittenPort

Rows = list[dict[str, Any]]

_REACTION = (
    "global", "reactor", "number", "flags", "reads", "n_reads", "writes", "n_writes", "n_ports", "waits", "n_waits",
    "deadline",
)  # fmt: skip


class Sub(NamedTuple):
    """A subscription: a source's values going to one worker."""

    source: WrittenPort
    consumer: int
    first_tap: int  # in the consumer's taps


def table(dtype: np.dtype[Any], rows: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
    """Rows of one kind, all of which name the same fields."""
    return columns(dtype, tuple(rows[0]) if rows else (), [tuple(row.values()) for row in rows])


def columns(dtype: np.dtype[Any], names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> NDArray[Any]:
    """The same of what there are many of: each row has a value for each name."""
    made = np.zeros(len(rows), dtype)
    for name, column in zip(names, zip(*rows, strict=True), strict=bool(rows)):
        made[name] = np.array([*column], made.dtype[name])
    return made


def numbered(plan: Plan) -> list[Sub]:
    """All subscriptions in the order of producers, sources, consumers; the taps of each lie side by side."""
    subs: list[Sub] = []
    taps = [0] * plan.workers
    for part in plan.parts:
        for source in part.sources:
            for consumer in sorted(source.ways):
                subs.append(Sub(source, consumer, taps[consumer]))
                taps[consumer] += len(source.ways[consumer])
    return subs


def subscriptions(subs: Sequence[Sub], released: Mapping[int, int]) -> NDArray[Any]:
    """The subscriptions of all workers; of some `released` says where their consumer counts what it needs no more."""
    rows = [
        (
            source.worker, consumer, source.number, first_tap, len(source.ways[consumer]), released.get(number, 0),
            *_values(source),
        )
        for number, (source, consumer, first_tap) in enumerate(subs)
    ]  # fmt: skip
    names = ("producer", "consumer", "source", "taps", "n_taps", "released", *_VALUES)
    return columns(tables.SUB, names, rows)


_VALUES = ("mode", "slots", "data", "stride", "bytes", "refs")  # where values of a source lie, as it and its subs say
_values = attrgetter(*_VALUES)


class Filling:
    """The tables of one worker. What their rows point to, tags and values, is put into the arena on the way."""

    def __init__(self, plan: Plan, worker: int, subs: Sequence[Sub], arena: Arena) -> None:
        self._plan, self._worker, self._subs, self._arena = plan, worker, subs, arena
        self._part = plan.parts[worker]
        self._reactions = [plan.program.reactions[number] for number in self._part.reactions]
        self._lists: list[int] = []
        self._fans: list[tuple[int, int]] = []  # mask, word
        self._waits: Rows = []
        self._visits = np.zeros(len(self._part.first_of_word), np.uint64)
        self._cells = np.zeros(self._part.cells, tables.CELL)
        for name in ("source", "tap", "action", "mode"):
            self._cells[name] = lib.RX_NONE

    def tables(self) -> dict[str, NDArray[Any]]:
        """By the member of rx_tables that says where each lies."""
        replay = self._plan.options.replay
        made = {
            "reactions": self._filled_reactions(),
            "sources": self._filled_sources(),
            "taps": table(tables.TAP, self._filled_taps()),
            "timers": table(tables.TIMER, self._filled_timers()),
            "actions": table(tables.ACTION, self._filled_actions()),
            "stop_waits": table(tables.WAIT, _filled_waits(delays.before_tag(self._plan, self._worker))),
            "injections": table(tables.INJECTION, self._filled_injections()),
            "replayed": table(tables.REPLAYED, self._filled_events() if replay else []),
            "late": table(tables.REPLAYED, self._filled_late() if replay else []),
            "first_of_word": np.array(self._part.first_of_word, np.uint32),
            "visit_words": self._visits,
            "door_cells": np.array(self._part.door_cells, np.uint32),
            "current": np.array([-1], np.int64),
        }
        self._fill_triggers()
        made["modes"], made["modals"] = self._filled_modes()
        made["cells"], made["fans"] = self._cells, columns(tables.FAN, ("mask", "word"), self._fans)
        made["lists"], made["waits"] = np.array(self._lists, np.uint32), table(tables.WAIT, self._waits)
        return made

    def _filled_reactions(self) -> NDArray[Any]:
        rows: list[tuple[int, ...]] = []
        lists, several = self._lists, self._plan.workers > 1
        for local, (reaction, doors) in enumerate(zip(self._reactions, self._plan.touched[self._worker], strict=True)):
            flags = lib.RX_STOPS if reaction.stop is not None else 0
            flags |= lib.RX_ALONE if reaction.deadline is not None else 0
            if reaction.native is not None:
                flags |= lib.RX_NATIVE if reaction.deadline is None else lib.RX_NATIVE_DUE
            waits = _filled_waits(delays.before_reaction(self._plan, self._worker, local)) if several else []
            if waits:
                word, bit = self._plan.bits[self._worker][local]
                self._visits[word] |= np.uint64(bit)
            reads, n_reads, n_ports = len(lists), len(doors.reads), len(doors.ports)
            deadline = FOREVER if reaction.deadline is None else reaction.deadline
            rows.append((
                self._part.reactions[local], self._plan.local_reactor[reaction.reactor], reaction.number, flags, reads,
                n_reads, reads + n_reads, n_ports + len(doors.actions), n_ports, len(self._waits), len(waits), deadline,
            ))  # fmt: skip
            self._waits += waits
            lists += doors.reads
            lists += doors.ports
            lists += doors.actions
        return columns(tables.REACTION, _REACTION, rows)

    def _fill_triggers(self) -> None:
        """What each cell triggers: a row for each word of the ready set in which there is some of it."""
        cell_of = self._plan.cell_of[self._worker]
        bits: dict[int, dict[int, int]] = {}  # cell -> word -> mask
        for (word, bit), reaction in zip(self._plan.bits[self._worker], self._reactions, strict=True):
            for element in reaction.triggers:
                fan = bits.setdefault(cell_of[element], {})
                fan[word] = fan.get(word, 0) | bit
        begins = [self._fan(words) for words in bits.values()]
        self._cells["fan"][[*bits]] = begins
        self._cells["n_fan"][[*bits]] = [len(words) for words in bits.values()]

    def _fan(self, words: Mapping[int, int]) -> int:
        """Where one more fan begins."""
        begin = len(self._fans)
        self._fans += [(mask, word) for word, mask in words.items()]
        return begin

    def _filled_sources(self) -> NDArray[Any]:
        numbers: dict[int, list[int]] = defaultdict(list)
        for number, sub in enumerate(self._subs):
            if sub.source.worker == self._worker:
                numbers[sub.source.number].append(number)
        rows: list[tuple[int, ...]] = []
        travelling: dict[int, int] = {}  # cell -> source
        for source in self._part.sources:
            if source.element < 0 or source.mode != lib.RX_PLAIN or source.bytes:
                travelling[source.cell] = source.number
            subs = numbers.get(source.number, ())
            record, parts = self._hashed(source)
            begin = len(self._lists)
            rows.append((
                source.cell, source.writers[-1], record, begin + len(subs), len(parts), begin, len(subs),
                *_values(source),
            ))  # fmt: skip
            self._lists += subs
            self._lists += chain.from_iterable(parts)
        self._cells["source"][[*travelling]] = [*travelling.values()]
        names = ("cell", "writer", "record", "solid", "n_solid", "subs", "n_subs", *_VALUES)
        return columns(tables.SOURCE, names, rows)

    def _hashed(self, source: WrittenPort) -> tuple[int, list[tuple[int, int]]]:
        """Of records with padding their size, and which parts of them the journal hashes; otherwise 0, and none."""
        dtype = self._plan.program.elements[source.element].dtype if source.bytes else None
        parts = solid(dtype) if dtype is not None and self._plan.options.values else []
        return (0 if dtype is None or not parts else dtype.itemsize), parts

    def _filled_taps(self) -> Rows:
        rows: Rows = []
        replay = self._plan.options.replay
        for number, (source, consumer, _) in enumerate(self._subs):
            if consumer != self._worker:
                continue
            for way, cell in source.ways[consumer].items():
                if cell != lib.RX_STOP:
                    self._cells["tap"][cell] = len(rows)
                tags = np.array(replay.arrivals.get(way.port, []) if replay else [], tables.TAG)
                rows.append({
                    "offset": way.offset, "cell": cell, "physical": way.physical, "sub": number,
                    "element": way.port if way.port >= 0 else lib.RX_NONE,
                    "arrivals": self._arena.place(tags), "n_arrivals": len(tags),
                })  # fmt: skip
        return rows

    def _filled_timers(self) -> Rows:
        rows: Rows = []
        elements = self._plan.program.elements
        for element, door in self._part.doors.items():
            if elements[element].kind == Kind.TIMER:
                cell = self._part.door_cells[door]
                self._cells["period"][cell] = elements[element].period
                rows.append({"first": elements[element].first, "cell": cell})
        return rows

    def _filled_actions(self) -> Rows:
        rows: Rows = []
        for element, number in self._part.actions.items():
            e, door = self._plan.program.elements[element], self._part.doors[element]
            cell = self._part.door_cells[door]
            self._cells["action"][cell] = number
            rows.append({
                "min_delay": e.min_delay, "min_spacing": e.min_spacing, "last": (-1, 0),
                "cell": cell, "door": door, "physical": e.kind == Kind.PHYSICAL_ACTION, "element": element,
                "policy": e.policy,
            })  # fmt: skip
        return rows

    def _filled_injections(self) -> Rows:
        return [
            {"time": time, "data": self._bytes(value), "size": len(value), "action": self._part.actions[element]}
            for time, element, value in self._plan.options.injections
            if element in self._part.actions and time < FOREVER
        ]

    def _filled_events(self) -> Rows:
        assert self._plan.options.replay
        return [
            {"tag": tag, "data": self._bytes(value), "size": len(value), "number": self._part.actions[element]}
            for tag, element, value in self._plan.options.replay.events
            if element in self._part.actions
        ]

    def _filled_late(self) -> Rows:
        assert self._plan.options.replay
        mine = {number: local for local, number in enumerate(self._part.reactions)}
        late = self._plan.options.replay.late
        return [{"tag": tag, "number": mine[number]} for tag, number in late if number in mine]

    def _bytes(self, value: bytes) -> int:
        return self._arena.place(np.frombuffer(value, np.uint8))

    def _filled_modes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """This worker's modes and modal reactors; says of cells and reactions to which mode they belong."""
        program = self._plan.program
        local = {m: k for k, m in enumerate(self._part.modes)}
        for element, cell in self._plan.cell_of[self._worker].items():
            m = program.elements[element].mode
            if m in local and cell != DEAD:
                self._cells["mode"][cell] = local[m]
        members: dict[int, dict[int, int]] = {m: defaultdict(int) for m in local}
        for reaction, (word, bit) in zip(self._reactions, self._plan.bits[self._worker], strict=True):
            if reaction.mode >= 0:
                members[reaction.mode][word] |= bit
        rows: Rows = []
        modals: dict[int, dict[str, Any]] = {}  # by their reactor
        for m, k in local.items():
            mode = program.modes[m]
            modal = modals.setdefault(
                mode.reactor, {"outer": local.get(mode.outer, lib.RX_NONE), "next": lib.RX_NONE, "initial": 0}
            )
            if mode.initial:
                modal["initial"] = k
            fan = self._fan(members[m])
            cells = [self._plan.mode_cells.get((m, kind), lib.RX_NONE) for kind in _AT_MODES]
            rows.append({
                "modal": list(modals).index(mode.reactor), "global": m, "fan": fan, "n_fan": len(members[m]),
                "startup": cells[0], "shutdown": cells[1], "reset": cells[2],
            })  # fmt: skip
        reactors = table(tables.MODAL, list(modals.values()))
        reactors["current"] = reactors["initial"]
        return table(tables.MODE, rows), reactors


_AT_MODES = (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)


def _filled_waits(waits: delays.Wait) -> Rows:
    return [{"offset": offset, "producer": producer, "writer": writer} for (producer, offset), writer in waits.items()]
