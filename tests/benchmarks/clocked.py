"""The main reactor of a program that is timed."""

from __future__ import annotations

import time

import reactors as rx


class Clocked(rx.Reactor):
    """Notes when the program starts and ends, so that building it does not count."""

    began = ended = 0.0

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        self.began = time.perf_counter()

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        self.ended = time.perf_counter()
