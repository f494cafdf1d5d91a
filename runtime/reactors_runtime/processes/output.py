"""Where do the workers' prints go? Where the caller's go: to a terminal, a file, a notebook, a test's capture."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable


class WorkerOutput:
    """The workers' standard output and error while a run lasts.

    A stream of the caller that writes to a file lends its descriptor. One that does not, as in a notebook, gets what
    the workers print through a pipe; call `forward` whenever poll finds one of `sources()` readable.
    """

    def __init__(self) -> None:
        self._pipes: dict[int, tuple[TextIO, codecs.IncrementalDecoder]] = {}
        self._ours: list[int] = []  # descriptors for the workers that we have opened
        try:
            self.descriptors = [self._opened(sys.stdout), self._opened(sys.stderr)]
        except OSError:
            self._close()
            raise

    def _opened(self, stream: TextIO | None) -> int:
        if stream is None or stream.closed:  # no terminal, as for a service
            self._ours.append(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
            return self._ours[-1]
        stream.flush()
        if isinstance(stream, io.TextIOWrapper):  # others have descriptors too, but not of where they show things
            try:
                return stream.fileno()
            except OSError:
                pass
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reader, False)
        self._pipes[reader] = stream, codecs.getincrementaldecoder("utf-8")("replace")
        self._ours.append(writer)
        return writer

    @property
    def encoding(self) -> tuple[str, str]:
        """How workers encode what they print, and what they do with what cannot be encoded."""
        if self._pipes or sys.stdout is None:
            return "utf-8", "backslashreplace"
        return sys.stdout.encoding or "utf-8", sys.stdout.errors or "backslashreplace"

    def sources(self) -> Iterable[int]:
        """The descriptors to poll."""
        return self._pipes

    def forward(self) -> None:
        """Print what the workers have printed since."""
        for reader, (stream, decoder) in list(self._pipes.items()):
            while piece := self._read(reader):
                stream.write(decoder.decode(piece))
            stream.flush()

    def _read(self, reader: int) -> bytes:
        try:
            return os.read(reader, 1 << 16)
        except BlockingIOError:
            return b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.forward()
        finally:
            self._close()

    def _close(self) -> None:
        for descriptor in (*self._pipes, *self._ours):
            os.close(descriptor)
