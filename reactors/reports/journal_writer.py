"""Who writes the journal while a program runs?

The workers themselves, a block each time that they have many entries (csrc/journal.c). Here the file begins, and
ends, however the run ends: what a worker that died had not written yet is written here. A journal that cannot be
written, on a full disk for instance, ends there, and the run goes on.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError
from reactors.journals.entries import MAGIC
from reactors.reports.journal_header import header
from reactors.reports.result import final_tag, value_digest
from reactors.tag import Tag
from reactors.tracing.blocks import BlockKind, FileBlock
from reactors_runtime import tables
from reactors_runtime._core import ffi, lib
from reactors_runtime.engine import ReactionFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.graph import Graph
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


def begin(file: str | os.PathLike[str]) -> str:
    """Make an empty file, or empty the one that there is; its absolute path. Raises `ArgumentError`."""
    path = Path(file).absolute()
    try:
        path.write_bytes(b"")
    except OSError as error:
        raise ArgumentError(
            f"journal of rx.run is {os.fspath(file)!r}, which cannot be written: {error.strerror}"
        ) from None
    return str(path)


@contextmanager
def journaled(graph: Graph, image: Image, memory: Memory, seed: int, way: str, problems: list[str]) -> Iterator[None]:
    """Begin and end the journal around a run. Why it is not whole, if it is not, is in `problems` afterwards."""
    file = image.options.journal
    assert file is not None
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    base = ffi.from_buffer("uint8_t[]", memory.map)
    shown = ffi.cast("rx_image *", base)
    failed = ""
    try:
        try:
            FileBlock.of_json(BlockKind.HEADER, header(graph, image, seed, way)).write(descriptor, MAGIC)
        except OSError as error:
            shown.journal_ended = error.errno
        yield
    except BaseException as error:
        failed = f"{type(error).__name__}: {error}"
        if isinstance(error, ReactionFailed):
            failed = f"{type(error.exception).__name__} in {error.name(graph.program)} at {Tag(*error.tag)}"
        raise
    finally:
        for worker in range(image.workers):
            lib.rx_write_journal(base, worker, descriptor)
        if not shown.journal_ended:
            try:
                FileBlock.of_json(BlockKind.END, _end(image, memory, failed)).write(descriptor, MAGIC)
            except OSError as error:
                shown.journal_ended = error.errno
        if shown.journal_ended:
            problems.append(
                f"the journal {file!r} ends before the run does, because it cannot be written "
                f"({os.strerror(shown.journal_ended)})"
            )
        os.close(descriptor)
        del base


def _end(image: Image, memory: Memory, failed: str) -> dict[str, Any]:
    """What is known when the run is over."""
    counts = [tables.view(memory, part.offsets["journal"], 1, tables.JOURNAL)[0]["before"] for part in image.parts]
    return {
        "entries": [int(count) for count in counts],
        "final_tag": [*final_tag(image, memory)],
        "value_digest": value_digest(image, memory),
        "failed": failed,
    }
