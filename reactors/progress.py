"""How far is the run?

A line that is drawn again and again on a terminal, lines now and then elsewhere, or a function that is called.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from reactors.time import Tag
from reactors_runtime import engine as engines
from reactors_runtime import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors_runtime.image import Image
    from reactors_runtime.memory import Memory

_EVERY_S = {True: 0.1, False: 5.0}  # on a terminal, elsewhere


class Progress:
    """Looks at the arena of a running program; `look` is called by whoever waits, or by a thread of its own."""

    def __init__(
        self,
        wanted: bool | Callable[[Tag, float, float | None], None] | None,
        image: Image,
        memory: Memory,
        *,
        in_thread: bool,
    ) -> None:
        self.wanted = bool(wanted)
        self._image, self._memory, self._in_thread = image, memory, in_thread
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._report: Callable[[Tag, float, float | None], Any] = wanted if callable(wanted) else self._draw
        self._every = 0.1 if callable(wanted) else _EVERY_S[self._terminal]
        self._began = self._last = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._drawn = False

    def __enter__(self) -> Self:
        if self.wanted and self._in_thread:
            self._thread = threading.Thread(target=self._watch, name="reactors progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()
        if self._drawn and self._terminal:
            print(file=sys.stderr)

    def look(self) -> None:
        """Report, if it is time to."""
        now = time.monotonic()
        if not self.wanted or now - self._last < self._every:
            return
        self._last = now
        tag = max(Tag(*engines.engine_tag(self._memory, self._image, w)) for w in range(self._image.workers))
        timeout = self._image.options.timeout
        self._report(tag, now - self._began, min(1.0, tag.time / timeout) if timeout else None)

    def _watch(self) -> None:
        while not self._over.wait(self._every / 2):
            self.look()

    def _draw(self, tag: Tag, seconds: float, part: float | None) -> None:
        bells = tables.view(self._memory, self._image.at["bells"], self._image.workers, tables.BELL)
        reactions = int(bells["reactions"].sum())
        text = f"{seconds:6.1f} s  tag {tag}  {reactions:,} reactions ({reactions / seconds:,.0f}/s)"
        if part is not None:
            text += f"  {part:4.0%}"
        self._drawn = True
        if self._terminal:
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)
