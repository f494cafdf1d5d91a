"""What is said beside a run, and who still reads it?

The reader of a pipe may have gone, as `head` and a `tee` that Ctrl-C has ended, and a disk may be full: nobody misses
the progress then, and the run is worth more than what is said of it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


class Aside:
    """A stream, on which what cannot be written is lost.

    >>> import io
    >>> closed = io.StringIO()
    >>> closed.close()
    >>> print("nobody reads this", file=Aside(closed), flush=True)
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it, if that is possible."""
        if self._stream is not None:
            with unheard(self._stream):
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Have it arrive, if that is possible."""
        if self._stream is not None:
            with unheard(self._stream):
                self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def unheard(stream: TextIO) -> Iterator[None]:
    """Take it that what is written to the stream may not arrive, whatever the reason."""
    # of a closed stream a ValueError; of a signal handler that prints, where it has interrupted a print, a RuntimeError
    with suppress(OSError, ValueError, RuntimeError), unread(stream):
        yield


@contextmanager
def unread(stream: TextIO) -> Iterator[None]:
    """Take it that the reader of the stream, a pipe, may have gone."""
    try:
        yield
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # of a stream that is none of the system's
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:  # what is in its buffer would be written again at exit, and make the exit status 120
                os.dup2(nowhere, stream.fileno())
            finally:
                os.close(nowhere)
