"""What does a journal contain?"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import JournalError
from reactors.journals.entries import MAGIC, NoEntriesError, hash_counts, unpack
from reactors.tag import Tag
from reactors.tracing import blocks
from reactors.tracing.blocks import BlockKind
from reactors_runtime import tables
from reactors_runtime._core import lib

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

FORMAT = "reactors journal 1"
LAST_BIT = 63
"""Of `reads` and `writes`: it stands for all ports from this one on, which have one hash together."""


class Journal:
    """The journal in a file, up to its end or to where it was cut off.

    `header` describes the program: `reactors`, `reactions` and `elements`, into which numbers are indices, `seed`,
    `versions`, `parameters`. `rows` are the executions of reactions, by tag and then in the order of the dataflow:
    `tag`, `reaction`, `flags`, and the bits `reads`, one for each trigger and use, and `writes`, one for each port that
    it may write. The hashes of row i are `hashes[first[i] : first[i + 1]]`: one for each port, then those for the flags
    `RX_DID_SCHEDULE`, `RX_DID_HEAR` and `RX_DID_LAST`. `end` is what was known at the end of the run; None if the file
    was cut off. Then each worker's rows end at some tag, not all at the same one.

    Raises `JournalError` for a file that is no journal.

    >>> import reactors as rx, tempfile, os
    >>> class Counter(rx.Reactor):
    ...     tick, count = rx.Timer(0, "1 ms"), rx.Output(int)
    ...     @rx.reaction(tick, effects=count)
    ...     def step(self):
    ...         self.count.set(self.tag.time // 1_000_000)
    >>> file = os.path.join(tempfile.mkdtemp(), "a.rxj")
    >>> _ = rx.run(Counter(), fast=True, timeout="2 ms", journal=file)
    >>> journal = rx.Journal(file)
    >>> journal
    <journal of Counter: 3 executions up to 2 ms>
    >>> str(journal.tag(1)), journal.name(1), journal.written(1)
    ('1 ms', 'main.step', {'main.count': 15450082813559910668})
    """

    header: dict[str, Any]
    end: dict[str, Any] | None
    rows: NDArray[Any]
    first: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.end = None
        self._workers: list[int] = []
        pieces, hashes = self._read()
        rows = np.concatenate([np.zeros(0, tables.ENTRY), *pieces])
        counts = hash_counts(rows)
        first = np.cumsum(counts) - counts
        order = _order(rows)
        self.hashes = np.concatenate([np.zeros(0, np.uint64), *hashes])
        if order is not None:
            rows, counts = rows[order], counts[order]
            self.hashes = self.hashes[_gathered(first[order], counts)]
        self.rows = rows
        self.first = np.concatenate([[0], np.cumsum(counts)])

    def _read(self) -> tuple[list[NDArray[Any]], list[NDArray[np.uint64]]]:
        rows: list[NDArray[Any]] = []
        hashes: list[NDArray[np.uint64]] = []
        try:
            with self.path.open("rb") as file:
                found = blocks.read(file, MAGIC)
                self.header = self._header(next(found, None))
                seen = [0] * self.workers
                for block in found:
                    if block.kind == BlockKind.END:
                        self.end = block.json
                        break
                    packed = unpack(block.content)
                    if block.worker >= self.workers or (packed.rows["reaction"] >= len(self.reactions)).any():
                        break
                    if packed.before != seen[block.worker]:
                        if packed.before < seen[block.worker]:
                            continue  # written again by who came after one that died
                        break
                    seen[block.worker] += len(packed.rows)
                    rows.append(packed.rows)
                    hashes.append(packed.hashes)
        except OSError as error:
            raise JournalError(f"{self.path}: {error.strerror}") from None
        except (NoEntriesError, ValueError):
            pass
        return rows, hashes

    def _header(self, block: blocks.FileBlock | None) -> dict[str, Any]:
        try:
            said = block.json if block is not None and block.kind == BlockKind.HEADER else {}
        except ValueError as error:
            raise JournalError(f"{self.path} is no journal: its header cannot be read ({error})") from None
        if said.get("format") != FORMAT:
            raise JournalError(
                f"{self.path} is no journal that this version can read; rx.run(..., journal=) writes one"
            )
        try:
            self.reactions: list[dict[str, Any]] = said["reactions"]
            self.elements: list[dict[str, Any]] = said["elements"]
            self.reactors: list[dict[str, Any]] = said["reactors"]
            self.workers = int(said["workers"])
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(f"{self.path} is no journal: its header lacks {error}") from None
        return said

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        until = f" up to {self.tag(len(self) - 1)}" if len(self) else ""
        cut = ", cut off" * (self.end is None)
        return f"<journal of {self.header['program']}: {len(self):,} executions{until}{cut}>"

    def tag(self, row: int) -> Tag:
        """The tag of an execution."""
        time, microstep = self.rows["tag"][row]
        return Tag(int(time), int(microstep))

    def name(self, row: int) -> str:
        """The path of the reaction that was executed."""
        return str(self.reactions[self.rows["reaction"][row]]["path"])

    @cached_property
    def ports(self) -> list[list[str]]:
        """For each reaction, the paths of the ports that it may write, in the order of the bits of `writes`."""
        return [[self.elements[e]["path"] for e in each] for each in self.written_elements]

    @cached_property
    def written_elements(self) -> list[list[int]]:
        """The same as numbers of elements."""
        return [[e for e in reaction["effects"] if self.elements[e]["kind"] == "port"] for reaction in self.reactions]

    def written(self, row: int) -> dict[str, int]:
        """The hashes of what an execution wrote, by the paths of the ports; the 64th and all after it have one."""
        ports = self.ports[self.rows["reaction"][row]]
        writes, at = int(self.rows["writes"][row]), int(self.first[row])
        found = {}
        for bit in range(LAST_BIT + 1):
            if writes >> bit & 1:
                found[ports[bit] if bit < LAST_BIT else "the others"] = int(self.hashes[at])
                at += 1
        return found

    def hash_of(self, row: int, flag: int) -> int | None:
        """Another hash of an execution, by its flag: `lib.RX_DID_SCHEDULE`, `RX_DID_HEAR` or `RX_DID_LAST`."""
        flags = int(self.rows["flags"][row])
        if not flags & flag:
            return None
        before = int(self.rows["writes"][row]).bit_count()
        before += (flags & (flag - 1) & (lib.RX_DID_SCHEDULE | lib.RX_DID_HEAR | lib.RX_DID_LAST)).bit_count()
        return int(self.hashes[self.first[row] + before])

    def states(self, reactor: int) -> list[tuple[Tag, int]]:
        """The hashes of a reactor's state that were asked for, each with the tag after whose reactions it was taken."""
        mine = [n for n, reaction in enumerate(self.reactions) if reaction["reactor"] == reactor]
        chosen = np.isin(self.rows["reaction"], mine) & (self.rows["flags"] & np.uint32(lib.RX_DID_LAST) != 0)
        return [(self.tag(row), self.hash_of(row, lib.RX_DID_LAST) or 0) for row in np.flatnonzero(chosen).tolist()]


def _order(rows: NDArray[Any]) -> NDArray[np.intp] | None:
    """Indices by tag, then in dataflow order, which is that of the numbers of reactions; None if sorted already."""
    time, microstep, reaction = rows["tag"]["time"], rows["tag"]["microstep"], rows["reaction"]
    same = time[1:] == time[:-1]
    later = (time[1:] > time[:-1]) | (same & (microstep[1:] > microstep[:-1]))
    if (later | (same & (microstep[1:] == microstep[:-1]) & (reaction[1:] > reaction[:-1]))).all():
        return None
    return np.lexsort((reaction, microstep, time))


def _gathered(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices of ranges, one range after another."""
    starts = np.cumsum(counts) - counts
    return np.repeat(first - starts, counts) + np.arange(int(counts.sum()))
