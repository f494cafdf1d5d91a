"""Who holds a run up, and where?

One worker in a reaction that never returns is enough: the others wait for it, while the program runs and when it is to
stop. Both are seen from outside, in the counts that the workers keep in the arena anyway.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from reactors_runtime import engine
from reactors_runtime.processes import faults, terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

AFTER_S = 30.0  # how long no reaction has to end before a run counts as stuck
_NOTICE_S = 1.0  # after which the user hears for whom a stopped program waits


class Stall:
    """Whether a run makes no progress.

    A worker that waits, for others, for its time or for an event from outside, sleeps some milliseconds at a time and
    counts that. So one that has not slept for long, while no reaction has ended on any worker, is busy with something
    that does not return.
    """

    def __init__(self, image: Image, memory: Memory) -> None:
        self._image, self._memory = image, memory
        self._bells = engine.bells(memory, image)
        self._said: set[str] = set()
        self.restart(time.monotonic())

    def restart(self, now: float) -> None:
        """Whatever there was, it begins now."""
        self._signs, self._since = self._alive(), [now] * self._image.workers

    def look(self, now: float) -> str | None:
        """What to say to the user if nothing happens; it is said once."""
        for worker, (sign, before) in enumerate(zip(signs := self._alive(), self._signs, strict=True)):
            if sign != before:
                self._since[worker] = now
        self._signs = signs
        stuck = [
            worker
            for worker, (since, finished) in enumerate(zip(self._since, self._bells["finished"].tolist(), strict=True))
            if now - since >= AFTER_S and not finished
        ]
        what = "no reaction has ended for" if engine.begun(self._memory) else "not all workers have started after"
        if what in self._said or not stuck:
            return None
        self._said.add(what)
        places = (f"{faults.who(self._image, w)} is {faults.where(self._image, self._memory, w)}" for w in stuck)
        return f"{what} {AFTER_S:g} s: {', '.join(places)}; Ctrl-C stops the run"

    def _alive(self) -> list[tuple[int, int]]:
        """What changes, for each worker, while something happens or it waits."""
        reactions = int(self._bells["reactions"].sum())
        return [(reactions, sleeps) for sleeps in self._bells["sleeps"].tolist()]


class Stopping:
    """Tells the user, once, for whom a program waits that is to stop, and what the next Ctrl-C does about it."""

    def __init__(self, image: Image, memory: Memory, remedy: str) -> None:
        self._image, self._memory, self._remedy = image, memory, remedy
        self._due: float | None = None

    def begin(self) -> None:
        """The program has been asked to stop."""
        if self._due is None:
            self._due = time.monotonic() + _NOTICE_S

    def look(self, workers: Mapping[int, int | None]) -> None:
        """Tell it, if it is time to; the workers that still run, and their processes."""
        if self._due is None or time.monotonic() <= self._due:
            return
        self._due = math.inf
        # The prompt of a debugger stays a line of its own, and who is at it can also end it there.
        at_prompt = terminal.debugged(self._memory)
        line, remedy = ("\n", f"c or q leaves the debugger, {self._remedy}") if at_prompt else ("", self._remedy)
        for worker, pid in workers.items():
            name, place = faults.who(self._image, worker, pid), faults.where(self._image, self._memory, worker)
            terminal.say(f"{line}stopping; waiting for {name}, {place}; {remedy}")
            line = ""
