"""The tables of the image, row by row, by the names that their fields have in csrc/api.inc.

A field that a row does not name is 0.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors_runtime import tables
from reactors_runtime._core import lib
from reactors_runtime.planning import delays
from reactors_runtime.planning.plan import DEAD
from reactors_runtime.program import FOREVER, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reactors_runtime.planning.arena import Arena
    from reactors_runtime.planning.plan import Plan, WrittenPort

Rows = list[dict[str, Any]]


class Sub(NamedTuple):
    """A subscription: a source's values going to one worker."""

    source: WrittenPort
    consumer: int
    first_tap: int  # in the consumer's taps


def table(dtype: np.dtype[Any], rows: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
    """Rows of one kind, all of which name the same fields."""
    made = np.zeros(len(rows), dtype)
    for name in rows[0] if rows else ():
        made[name] = np.array([row[name] for row in rows], made.dtype[name])
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
    rows: Rows = []
    for number, (source, consumer, first_tap) in enumerate(subs):
        rows.append({
            "producer": source.worker, "consumer": consumer, "source": source.number,
            "taps": first_tap, "n_taps": len(source.ways[consumer]), "released": released.get(number, 0),
            **_values(source),
        })  # fmt: skip
    return table(tables.SUB, rows)


def _values(source: WrittenPort) -> dict[str, int]:
    """Where values of a source lie, as it says itself, and its subscriptions."""
    return {name: getattr(source, name) for name in ("mode", "slots", "data", "stride", "bytes", "refs")}


class Filling:
    """The tables of one worker. What their rows point to, tags and values, is put into the arena on the way."""

    def __init__(self, plan: Plan, worker: int, subs: Sequence[Sub], arena: Arena) -> None:
        self._plan, self._worker, self._subs, self._arena = plan, worker, subs, arena
        self._part = plan.parts[worker]
        self._reactions = [plan.program.reactions[number] for number in self._part.reactions]
        self._lists: list[int] = []
        self._fans: Rows = []
        self._waits: Rows = []
        self._visits = np.zeros(len(self._part.first_of_word), np.uint64)
        self._cells = np.zeros(self._part.cells, tables.CELL)
        for name in ("source", "tap", "action", "mode"):
            self._cells[name] = lib.RX_NONE

    def tables(self) -> dict[str, NDArray[Any]]:
        """By the member of rx_tables that says where each lies."""
        replay = self._plan.options.replay
        made = {
            "reactions": table(tables.REACTION, self._filled_reactions()),
            "sources": table(tables.SOURCE, self._filled_sources()),
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
        made["modes"], made["machines"] = self._filled_modes()
        made["cells"], made["fans"] = self._cells, table(tables.FAN, self._fans)
        made["lists"], made["waits"] = np.array(self._lists, np.uint32), table(tables.WAIT, self._waits)
        return made

    def _filled_reactions(self) -> Rows:
        rows: Rows = []
        for local, (reaction, doors) in enumerate(zip(self._reactions, self._plan.touched[self._worker], strict=True)):
            flags = lib.RX_STOPS if reaction.stop is not None else 0
            flags |= lib.RX_ALONE if reaction.deadline is not None else 0
            if reaction.native is not None:
                flags |= lib.RX_NATIVE if reaction.deadline is None else lib.RX_NATIVE_DUE
            waits = _filled_waits(delays.before_reaction(self._plan, self._worker, local))
            if waits:
                word, bit = self._plan.bits[self._worker][local]
                self._visits[word] |= np.uint64(bit)
            reads = len(self._lists)
            rows.append({
                "global": self._part.reactions[local], "reactor": reaction.reactor, "number": reaction.number,
                "flags": flags,
                "reads": reads, "n_reads": len(doors.reads),
                "writes": reads + len(doors.reads), "n_writes": len(doors.ports) + len(doors.actions),
                "n_ports": len(doors.ports),
                "waits": len(self._waits), "n_waits": len(waits),
                "deadline": FOREVER if reaction.deadline is None else reaction.deadline,
            })  # fmt: skip
            self._waits += waits
            self._lists += (*doors.reads, *doors.ports, *doors.actions)
        return rows

    def _fill_triggers(self) -> None:
        bits: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for local, reaction in enumerate(self._reactions):
            word, bit = self._plan.bits[self._worker][local]
            for element in reaction.triggers:
                bits[self._plan.cell(self._worker, element)][word] |= bit
        for cell, words in bits.items():
            self._cells["fan"][cell], self._cells["n_fan"][cell] = self._fan(words)

    def _fan(self, words: Mapping[int, int]) -> tuple[int, int]:
        """Where one more fan begins, and its length."""
        begin = len(self._fans)
        self._fans += [{"mask": mask, "word": word} for word, mask in words.items()]
        return begin, len(words)

    def _filled_sources(self) -> Rows:
        numbers: dict[int, list[int]] = defaultdict(list)
        for number, sub in enumerate(self._subs):
            if sub.source.worker == self._worker:
                numbers[sub.source.number].append(number)
        rows: Rows = []
        for source in self._part.sources:
            if source.element < 0 or source.mode != lib.RX_PLAIN or source.bytes:
                self._cells["source"][source.cell] = source.number
            subs = numbers[source.number]
            rows.append({
                "cell": source.cell, "writer": source.writers[-1], "subs": len(self._lists), "n_subs": len(subs),
                **_values(source),
            })  # fmt: skip
            self._lists += subs
        return rows

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
        machines: dict[int, dict[str, Any]] = {}  # by their reactor
        for m, k in local.items():
            mode = program.modes[m]
            machine = machines.setdefault(
                mode.reactor, {"outer": local.get(mode.outer, lib.RX_NONE), "next": lib.RX_NONE, "initial": 0}
            )
            if mode.initial:
                machine["initial"] = k
            fan, n_fan = self._fan(members[m])
            cells = [self._plan.mode_cells.get((m, kind), lib.RX_NONE) for kind in _AT_MODES]
            rows.append({
                "machine": list(machines).index(mode.reactor), "global": m, "fan": fan, "n_fan": n_fan,
                "startup": cells[0], "shutdown": cells[1], "reset": cells[2],
            })  # fmt: skip
        modal = table(tables.MACHINE, list(machines.values()))
        modal["current"] = modal["initial"]
        return table(tables.MODE, rows), modal


_AT_MODES = (Kind.STARTUP, Kind.SHUTDOWN, Kind.RESET)


def _filled_waits(waits: delays.Wait) -> Rows:
    return [{"offset": offset, "producer": producer, "writer": writer} for (producer, offset), writer in waits.items()]
