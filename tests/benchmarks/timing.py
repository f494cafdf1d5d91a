"""A stopwatch that drops the warm-up."""

from __future__ import annotations

import time


class Stopwatch:
    """Counts the rounds of a measurement: `while watch.running(): ...`."""

    def __init__(self, rounds: int, warm: int = 20) -> None:
        self.left, self.rounds = rounds + warm, rounds
        self.start = self.seconds = 0.0

    def running(self) -> bool:
        """Call before each round. False when all are done, and then `seconds` is what they took but for the warm-up."""
        if self.left == self.rounds:
            self.start = time.monotonic()  # the one clock that all processes share
        if not self.left:
            self.seconds = time.monotonic() - self.start
            return False
        self.left -= 1
        return True
