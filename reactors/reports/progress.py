"""How far is the run?

A line that is drawn again and again on a terminal, lines now and then elsewhere, or a function that is called. On a
terminal, wanted or not, a run in which nothing happens says where it is.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from reactors.errors import ReactorWarning
from reactors.reports.aside import unheard
from reactors.tag import Tag
from reactors_runtime import callers
from reactors_runtime import engine as engines
from reactors_runtime.processes import terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image
    from reactors_runtime.processes.stuck import Stall

_EVERY_S = {True: 0.1, False: 5.0}  # on a terminal, elsewhere


class Progress:
    """Looks at the arena of a running program; `look` is called by the thread that waits for workers, or its own."""

    def __init__(
        self,
        wanted: bool | Callable[[Tag, float, float | None], None] | None,
        image: Image,
        memory: Memory,
        in_thread: bool,
    ) -> None:
        self._image, self._memory, self._in_thread = image, memory, in_thread
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._wanted = bool(wanted)
        self._stall: Stall | None = None
        if self._terminal:
            from reactors_runtime.processes.stuck import Stall

            self._stall = Stall(image, memory)
        self._report: Callable[[Tag, float, float | None], Any] = wanted if callable(wanted) else self._draw
        self._every = 0.1 if callable(wanted) else _EVERY_S[self._terminal]
        self._began = self._last = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None

    @property
    def looks(self) -> bool:
        """Whether there is anything to look for."""
        return self._wanted or self._stall is not None

    def __enter__(self) -> Self:
        if self.looks and self._in_thread:
            thread = threading.Thread(target=self._watch, name="reactors progress", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # a run without progress is as good
                if self._wanted:
                    path = self._image.program.reactors[0].path
                    message = f"{path} runs without progress, for which the system refuses a thread ({error})"
                    callers.warn(message, ReactorWarning)
            else:
                self._thread = thread
        return self

    def __exit__(self, *exc: object) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()
        with unheard(sys.stderr):
            terminal.leave()
        if self._failed is not None:
            raise self._failed

    def look(self) -> None:
        """Report, if it is time to."""
        now = time.monotonic()
        if not self.looks or now - self._last < self._every:
            return
        self._last = now
        if self._stall is not None:
            if terminal.debugged(self._memory):
                self._stall.restart(now)
                return
            if stuck := self._stall.look(now):
                with unheard(sys.stderr):
                    terminal.say(stuck)
        if self._wanted:
            self._tell(now)

    def _tell(self, now: float) -> None:
        tag = max(Tag(*engines.engine_tag(self._memory, self._image, w)) for w in range(self._image.workers))
        timeout = self._image.options.timeout
        self._report(tag, now - self._began, min(1.0, tag.time / timeout) if timeout else None)

    def _watch(self) -> None:
        try:
            while not self._over.wait(self._every / 2):
                self.look()
        except BaseException as error:  # noqa: BLE001 - raised again where the run is over
            self._failed = error
            engines.abort(self._memory, self._image)

    def _draw(self, tag: Tag, seconds: float, part: float | None) -> None:
        reactions = int(engines.bells(self._memory, self._image)["reactions"].sum())
        several = f"{reactions:,} reaction{'s' * (reactions != 1)}"
        text = f"{seconds:6.1f} s  tag {tag}  {several} ({reactions / seconds:,.0f}/s)"
        if part is not None:
            text += f"  {part:4.0%}"
        with unheard(sys.stderr):
            (terminal.draw if self._terminal else terminal.say)(text)
