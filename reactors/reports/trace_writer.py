"""Who writes the trace while a program runs?

A thread in C, which empties the rings of all workers every few milliseconds (csrc/drain.c). Where it does not keep up,
workers leave whole tags out, and count them. Here the file begins, and ends, however the run ends.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from reactors.errors import ArgumentError, TraceError
from reactors.reports.trace_header import header
from reactors.tracing.blocks import BlockKind, FileBlock
from reactors.tracing.trace import Trace
from reactors_runtime import engine, tables
from reactors_runtime._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.graph import Graph
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


@contextmanager
def traced(
    file: str | os.PathLike[str], graph: Graph, image: Image, memory: Memory, seed: int, way: str, problems: list[str]
) -> Iterator[TraceWriter]:
    """Write a trace while a program runs, or a timeline where the file's name ends in .json.

    Why that is not whole, or not there, is in `problems` afterwards. Raises `ArgumentError` if it cannot be begun.
    """
    final = Path(file)
    beside = final.with_name(f".{final.name}.rxt") if final.suffix == ".json" else final
    writer = TraceWriter(beside, os.fspath(file), header(graph, image, seed, way), image, memory)
    try:
        with writer:
            yield writer
    finally:
        problems += [writer.problem] if writer.problem else []
        if beside != final and beside.exists():
            from reactors.tracing.chrome import write

            try:
                write(Trace(beside), final)
            except OSError as error:
                problems.append(f"the trace {os.fspath(file)!r} cannot be written ({error.strerror})")
            except TraceError:  # not even its header could be written, which is among the problems already
                pass
            finally:
                beside.unlink(missing_ok=True)


class TraceWriter:
    """Writes `file`, known as `name`, from the beginning of a run to its end. `ArgumentError` if it cannot be begun."""

    def __init__(self, file: Path, name: str, said: dict[str, Any], image: Image, memory: Memory) -> None:
        self.file, self.name, self.said, self.image, self.memory = file, name, said, image, memory
        self.problem = ""
        """Why it is not whole, if it is not."""

    def __enter__(self) -> Self:
        try:
            self.descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise ArgumentError(
                f"trace of rx.run is {self.name!r}, which cannot be written: {error.strerror}"
            ) from None
        self.put(FileBlock.of_json(BlockKind.HEADER, self.said))
        self.base = ffi.from_buffer("uint8_t[]", self.memory.map)
        self.drain = lib.rx_drain_start(self.base, self.descriptor)
        if self.drain == ffi.NULL:
            os.close(self.descriptor)
            raise ArgumentError(f"trace of rx.run needs a thread, which the system refuses: {os.strerror(ffi.errno)}")
        return self

    def append(self, piece: bytes) -> None:
        """Blocks of another machine, or a part of them; the workers of this one have ended."""
        self.stop()
        try:
            left = memoryview(piece)
            while left and not self.problem:
                left = left[os.write(self.descriptor, left) :]
        except OSError as error:
            self.fails_with(error.errno)

    def stop(self) -> None:
        """All that workers of this machine did is written, unless it was before."""
        if self.drain != ffi.NULL:
            self.fails_with(lib.rx_drain_stop(self.drain))
            self.drain = ffi.NULL

    def __exit__(self, *_: object) -> None:
        self.stop()
        end = self.end()
        self.put(FileBlock.of_json(BlockKind.END, end))
        os.close(self.descriptor)
        lost = sum(end["tags_left_out"])
        if lost and not self.problem:
            self.problem = (
                f"the trace {self.name!r} lacks {lost:,} of {sum(end['tags']):,} tags, which came faster than they "
                "could be written"
            )
        del self.base

    def put(self, block: FileBlock) -> None:
        """Append a block; nothing more after one that could not be."""
        if self.problem:
            return
        try:
            block.write(self.descriptor)
        except OSError as error:
            self.fails_with(error.errno)

    def fails_with(self, error: int | None) -> None:
        """Nothing more can be written, because of this errno, if it is one."""
        if error and not self.problem:
            self.problem = f"the trace {self.name!r} cannot be written ({os.strerror(error)})"

    def end(self) -> dict[str, Any]:
        """What is known when the run is over."""
        bells = engine.bells(self.memory, self.image)
        traces = [tables.view(self.memory, part.offsets["trace"], 1, tables.TRACE)[0] for part in self.image.parts]
        started = engine.start_time(self.image, self.memory) - self.image.options.epoch
        return {
            "started": max(0, started),
            "clocks": [[clock.host, clock.ahead, clock.error] for clock in self.image.options.clocks],
            "finished": [int(each) for each in bells["finished"]],
            "waited": bells["waited_ns"].sum(axis=1).tolist(),
            "tags": [int(each) for each in bells["tags"]],
            "reactions": [int(each) for each in bells["reactions"]],
            "tags_left_out": [int(each["tags_left_out"]) for each in traces],
            "spans_left_out": [int(each["spans_left_out"]) for each in traces],
        }
