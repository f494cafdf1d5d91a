"""How does a program become the tables that the C core runs from?

The graph is flattened into one region of shared memory, the arena. What each worker does is planned in plan.py and
delays.py, its tables are filled in filling.py, and here is decided what lies where. Offsets, never pointers: every
process maps the arena where it likes. An image is plain data and travels to worker processes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from reactors_runtime import tables
from reactors_runtime._core import ffi, lib
from reactors_runtime.planning import delays, filling
from reactors_runtime.planning.arena import LINE, Arena
from reactors_runtime.planning.plan import SHUTDOWN, STARTUP, Plan, Worker, WrittenPort
from reactors_runtime.program import FOREVER, Kind
from reactors_runtime.settings import collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.options import RunOptions
    from reactors_runtime.program import Program

MOST_CELLS = 1 << 24  # of one worker, which has at most one for each element and each reaction: gigabytes of tables
LONGEST_SLEEP_NS = 50_000_000  # that a worker sleeps on end, whatever it waits for
_PAIR = 2 * LINE  # processors fetch cache lines in pairs
_PAGE = 4096
_INBOX = 1024  # events
_RING = 1024  # messages, at least
T = TypeVar("T")


def _by(items: Iterable[T], key: Callable[[T], int]) -> Iterator[tuple[T, bool]]:
    """In the order of their keys; with each, whether the one before it has the same."""
    last: int | None = None
    for item in sorted(items, key=key):
        yield item, key(item) == last
        last = key(item)


class Image(Plan):
    """The plan of one run, and what lies where in the arena; `write` fills the memory.

    `placement` gives the worker of each reactor. `size` is the number of bytes of the arena; `shares` names its largest
    parts, for the message when memory does not suffice.
    """

    @collector.at_rest()
    def __init__(self, program: Program, placement: Sequence[int], workers: int, options: RunOptions) -> None:
        super().__init__(program, placement, workers, options)
        self.shares: list[tuple[str, int]] = []
        self._arena = arena = Arena()
        arena.take(tables.IMAGE.itemsize)
        self.at = {  # members of rx_image
            "tables": arena.take(workers * tables.TABLES.itemsize),
            "lines": arena.place(filling.table(tables.LINE, [{"passed": (-1, 0)}] * workers)),
            "bells": arena.take(workers * tables.BELL.itemsize),
            "rings": arena.take(8 * workers**2),
            "delays": arena.place(delays.between(self).ravel()),
        }
        if options.machines > 1:
            self.at["far"] = arena.take(workers * tables.FAR.itemsize)
            self.at["passages"] = arena.take(workers**2 * tables.PASSAGE.itemsize)
            self.at["quiets"] = arena.take(options.machines * tables.QUIET.itemsize)
            self.at["traffic"] = arena.take(options.machines**2 * tables.TRAFFIC.itemsize)
        self._lay_out_values()
        subs = filling.numbered(self)
        counting = [n for n, sub in enumerate(subs) if sub.source.mode == lib.RX_SEQUENCE]
        released = {n: arena.take(8, 8 if same else _PAIR) for n, same in _by(counting, lambda n: subs[n].consumer)}
        self.at["subs"] = arena.place(filling.subscriptions(subs, released))
        self._n_subs = len(subs)
        rows = [self._lay_out_worker(worker, part, subs) for worker, part in enumerate(self.parts)]
        arena.put(self.at["tables"], filling.table(tables.TABLES, rows))
        self._lay_out_rings(subs)
        self.size = arena.take(0, _PAGE)

    def _lay_out_values(self) -> None:
        blocks: dict[int, list[WrittenPort]] = defaultdict(list)
        for multiport in range(len(self.program.multiports)):
            rows = self.sources_of(multiport)
            if rows and rows[0].block == multiport:
                blocks[multiport] = rows
        for rows in blocks.values():
            size = sum(row.bytes for row in rows)
            start = self._take_values(rows[0], size * rows[0].places)
            for i, row in enumerate(rows):
                row.data, row.stride = start + i * row.bytes, size
        for source in self.sources.values():
            if source.block < 0 and (source.bytes or source.mode == lib.RX_SLOTS):
                source.stride = -(-source.room // LINE) * LINE
                source.data = self._take_values(source, source.stride * source.places)
        counted = [source for source in self.sources.values() if source.mode == lib.RX_SLOTS]
        for source, same in _by(counted, lambda source: source.worker):  # the counts of one worker's share lines
            source.refs = self._arena.take(4 * source.slots, 4 if same else LINE)

    def _take_values(self, source: WrittenPort, size: int) -> int:
        if size > 1 << 20:
            self.shares.append((self.program.elements[source.element].path, size))
        return self._arena.take(size)

    def _lay_out_worker(self, worker: int, part: Worker, subs: Sequence[filling.Sub]) -> dict[str, int]:
        """The worker's row of rx_tables."""
        arena, trace = self._arena, self.options.trace
        arena.take(0, _PAIR)  # nothing of two workers on one line
        filled = filling.Filling(self, worker, subs, arena).tables()
        at = part.offsets = {name: arena.place(each) for name, each in filled.items()}
        counts = {f"n_{name}": len(each) for name, each in filled.items() if f"n_{name}" in (tables.TABLES.names or ())}
        doors = len(part.door_cells)
        at["doors"] = arena.take(doors)
        at["where"], at["low"] = arena.take(8 * doors), arena.take(8 * doors)
        at["stats"] = arena.take(tables.STATS.itemsize * len(part.reactions))
        at["digests"] = arena.take(8 * len(part.reactors))
        at["now"] = arena.take(tables.TAG.itemsize)
        at |= self._lay_out_journal(part)
        at["trace"] = arena.take(lib.RX_TRACE_BYTES + trace * tables.SPAN.itemsize, _PAIR) if trace else 0
        has_inbox = any(self.program.elements[e].kind == Kind.PHYSICAL_ACTION for e in part.actions)
        at["inbox"] = arena.take(lib.rx_inbox_bytes(_INBOX)) if has_inbox else 0
        return {
            "n_words": len(part.first_of_word), "n_doors": doors, "n_trace": trace,
            "startup": STARTUP, "shutdown": SHUTDOWN, "physical": part.physical,
            **at, **counts,
        }  # fmt: skip

    def _lay_out_journal(self, part: Worker) -> dict[str, int]:
        """Where what a worker writes is hashed, and its journal is kept."""
        arena, options = self._arena, self.options
        if not options.values:
            return {}
        at = {
            "values": arena.take(8 * max(1, len(part.reactors))),
            "hashes": arena.take(8 * max(1, len(part.door_cells))),
            "noted": arena.take(tables.NOTED.itemsize * max(1, len(part.reactions))),
        }
        if options.journal is not None:
            entries = lib.RX_JOURNAL_ENTRIES * tables.ENTRY.itemsize
            at["journal"] = arena.take(lib.RX_JOURNAL_BYTES + entries + 8 * lib.RX_JOURNAL_HASHES, _PAIR)
        return at

    def _lay_out_rings(self, subs: Sequence[filling.Sub]) -> None:
        pairs = Counter((sub.source.worker, sub.consumer) for sub in subs if sub.source.worker != sub.consumer)
        self._rings: list[tuple[int, int]] = []  # offset, messages
        offsets = np.zeros((self.workers, self.workers), np.uint64)
        for pair, count in pairs.items():
            capacity = max(_RING, 1 << (4 * count - 1).bit_length())
            offsets[pair] = at = self._arena.take(lib.rx_ring_bytes(capacity), _PAIR)
            self._rings.append((at, capacity))
        self._arena.put(self.at["rings"], offsets.ravel())

    def write(self, memory: Memory, machine: int = 0) -> None:
        """Fill a fresh arena of `size` bytes, all zero, on one of the machines."""
        base = ffi.from_buffer("uint8_t[]", memory.map)
        image = ffi.cast("rx_image *", base)
        options = self.options
        image.size, image.workers, image.n_subs = self.size, self.workers, self._n_subs
        image.fast, image.keepalive = options.fast, options.keepalive
        image.virtual_time, image.changes = options.virtual_time, 1
        image.replaying = options.replay is not None
        image.spin_ns, image.longest_sleep_ns = options.spin, LONGEST_SLEEP_NS
        image.moves_off, image.steady = options.moves_off, options.steady
        image.max_microsteps = options.max_microsteps
        image.timeout.time = FOREVER if options.timeout is None else options.timeout
        if options.replay is not None:
            image.timeout.time, image.timeout.microstep = options.replay.stop
        for name, offset in self.at.items():
            setattr(image, name, offset)
        image.machines, image.machine = options.machines, machine
        image.here = len(options.workers_of(machine, self.workers))
        for worker, its in enumerate(options.machine_of):
            image.machine_of[worker] = its
        image.spill, image.limit = self.size, memory.limit
        self._arena.write(memory)
        for offset, capacity in self._rings:
            lib.rx_ring_init(base, offset, capacity)
        for part in self.parts:
            if part.offsets["inbox"]:
                lib.rx_inbox_init(base, part.offsets["inbox"], _INBOX)

    def __getstate__(self) -> dict[str, Any]:
        """A worker needs the plan, not the notes that were made for writing it down."""
        notes = ("_arena", "_rings", "cell_of", "mode_cells", "touched", "bits", "stops")
        return {name: value for name, value in self.__dict__.items() if name not in notes}
