"""What does a trace contain?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import TraceError
from reactors.tracing import blocks
from reactors.tracing.blocks import BlockKind
from reactors.tracing.columns import UnreadableError, unpack
from reactors_runtime import tables
from reactors_runtime._core import lib
from reactors_runtime.program import Element, Kind, Program, Reaction, Reactor

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

FORMAT = "reactors trace 2"


@dataclass(frozen=True)
class Spans:
    """What one worker did and waited for, in the order of the ends; `names` are those of the events that were noted."""

    worker: int
    rows: NDArray[Any]
    names: list[str]

    @property
    def reactions(self) -> NDArray[Any]:
        """The rows of reactions."""
        return self._chosen(self.rows["kind"] <= lib.RX_RAN_LATE)

    @property
    def waits(self) -> NDArray[Any]:
        """The rows of waits."""
        kind = self.rows["kind"]
        return self._chosen((kind >= lib.RX_WAITED_CLOCK) & (kind <= lib.RX_WAITED_END))

    def _chosen(self, there: NDArray[Any]) -> NDArray[Any]:
        """These rows; if that is all of a long trace, nothing is copied."""
        chosen: NDArray[Any] = self.rows if there.all() else self.rows[there]
        return chosen


@dataclass
class Trace:
    """The trace in a file.

    Rows have C's layout: `kind`, `reaction` (an index into `reactions`), `tag`, `start` and `end` in ns since the start
    of the program, `queued` events, and `reads` and `writes`. These have a bit for each trigger and use, and for each
    port among the effects, that was present. Raises `TraceError` for a file that is no trace.
    """

    path: Path
    header: dict[str, Any] = field(init=False, repr=False)
    end: dict[str, Any] | None = field(init=False, default=None, repr=False)
    """What was known when the run was over; None: the file was cut off."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.end = None
        try:
            with self.path.open("rb") as file:
                first = next(blocks.read(file), None)
                self.header = {} if first is None or first.kind != BlockKind.HEADER else first.json
        except OSError as error:
            raise TraceError(f"{self.path}: {error.strerror}") from None
        except ValueError as error:
            raise TraceError(f"{self.path} is no trace: its header cannot be read ({error})") from None
        if self.header.get("format") != FORMAT:
            raise TraceError(f"{self.path} is no trace that this version can read; rx.run(..., trace=) writes one")
        try:
            self.reactions: list[dict[str, Any]] = self.header["reactions"]
            self.elements: list[dict[str, Any]] = self.header["elements"]
            self.reactors: list[dict[str, Any]] = self.header["reactors"]
            self.workers = int(self.header["workers"])
            self.machine_of: list[int] = self.header["machine_of"]
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(f"{self.path} is no trace: its header lacks {error}") from None

    def pieces(self) -> Iterator[Spans]:
        """The spans as they were written, some of one worker at a time, up to the end or to what cannot be read."""
        with self.path.open("rb") as file:
            for block in blocks.read(file):
                try:
                    if block.kind == BlockKind.END:
                        self.end = block.json
                    elif block.kind == BlockKind.SPANS:
                        rows, names = unpack(block.content)
                        if block.worker >= self.workers or not self._known(rows):
                            return
                        yield Spans(block.worker, rows, names)
                except (UnreadableError, ValueError):
                    return

    def _known(self, rows: NDArray[Any]) -> bool:
        """Whether all rows have known kinds and reactions."""
        there = rows["reaction"] != lib.RX_NONE
        return bool((rows["reaction"][there] < len(self.reactions)).all() and (rows["kind"] < lib.RX_TEXT).all())

    def by_worker(self) -> list[Spans]:
        """All spans, by worker."""
        rows: dict[int, list[NDArray[Any]]] = defaultdict(list)
        names: dict[int, list[str]] = defaultdict(list)
        for piece in self.pieces():
            rows[piece.worker].append(piece.rows)
            names[piece.worker] += piece.names
        none = [np.zeros(0, tables.SPAN)]
        return [Spans(i, np.concatenate(rows[i] or none), names[i]) for i in range(self.workers)]

    @cached_property
    def program(self) -> Program:
        """The program that ran, as far as placements need it."""
        return Program(
            [
                Reactor(
                    each["path"], each["bank"] and tuple(each["bank"]), -1 if each["home"] == n else 0, each["relay"]
                )
                for n, each in enumerate(self.reactors)
            ],
            [
                Element(
                    each["path"], Kind[each["kind"].upper()], each["reactor"], each.get("source", -1),
                    tuple(each.get("offset", (0, 0))), each.get("physical", False), period=each.get("period", 0),
                )
                for each in self.elements
            ],
            [
                Reaction(
                    each["reactor"], 0, each["path"].rpartition(".")[2], each["level"], each["triggers"], each["uses"],
                    each["effects"], stop=each["stop"] and tuple(each["stop"]),
                )
                for each in self.reactions
            ],
            (),
        )  # fmt: skip

    def ports_of(self, reaction: int) -> list[int]:
        """The ports that a reaction may write, the elements of the bits of `writes`; those beyond 64 have none."""
        return [each for each in self.reactions[reaction]["effects"] if self.elements[each]["kind"] == "port"]

    def name(self, reaction: int) -> str:
        """The path of a reaction."""
        path: str = self.reactions[reaction]["path"]
        return path
