"""What a machine keeps of a run until that is over: its part of the trace, and of the log.

Both lie in files without a name, so nothing is left of them, whatever ends this process.
"""

from __future__ import annotations

import os
import tempfile
from typing import IO, TYPE_CHECKING, Protocol, Self

from reactors_runtime._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

_PIECE = 1 << 20  # bytes that go home at once


class RunFiles(Protocol):
    """The files of a run on the machine that leads, "trace" and "record"; its own workers have ended."""

    def append(self, file: str, piece: bytes) -> None:
        """What another machine has kept."""
        ...

    def lacks(self, file: str, error: int) -> None:
        """Not all of that is there, because of this errno."""
        ...


class Keeping:
    """The files of a run on another machine: workers fill them until `stop`, and then there are `pieces` of them."""

    def __init__(self, image: Image, memory: Memory) -> None:
        self.image, self.memory = image, memory
        self.trace_error = 0  # errno of what could not be written
        self._files: dict[str, IO[bytes]] = {}
        self._drain = ffi.NULL

    def __enter__(self) -> Self:
        options = self.image.options
        if options.record is not None:
            options.record_at = f"/proc/{os.getpid()}/fd/{self._new('record').fileno()}"
        if options.trace:
            self._base = ffi.from_buffer("uint8_t[]", self.memory.map)
            self._drain = lib.rx_drain_start(self._base, self._new("trace").fileno())
            self.trace_error = ffi.errno if self._drain == ffi.NULL else 0
        return self

    def _new(self, file: str) -> IO[bytes]:
        self._files[file] = tempfile.TemporaryFile()  # noqa: SIM115 - until it has gone home
        return self._files[file]

    def stop(self) -> None:
        """The workers have ended."""
        if self._drain != ffi.NULL:
            self.trace_error = lib.rx_drain_stop(self._drain)
            self._drain, self._base = ffi.NULL, None

    def pieces(self) -> Iterator[tuple[str, bytes]]:
        """The name of a file, and some of it, until that was all."""
        for name, file in self._files.items():
            file.seek(0)
            while piece := file.read(_PIECE):
                yield name, piece

    def __exit__(self, *_: object) -> None:
        self.stop()
        for file in self._files.values():
            file.close()
