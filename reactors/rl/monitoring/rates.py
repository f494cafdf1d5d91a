"""How many steps, updates and frames are there a second, lately?"""

from __future__ import annotations

from collections import deque

SECONDS = 2.0  # that is "lately"


class Rates:
    """Figures under Spreeze's names (arXiv 2312.06126): sampling, updates, and transitions that updates used, a second.

    >>> rates = Rates()
    >>> rates.after(1.0, 100, 0, 0)
    {'rate/sampling_hz': 100.0}
    >>> rates.after(2.0, 300, 10, 640)
    {'rate/sampling_hz': 150.0, 'rate/update_hz': 5.0, 'rate/update_frame_hz': 320.0}
    """

    def __init__(self) -> None:
        self.begin(0.0, 0)

    def begin(self, seconds: float, steps: float) -> None:
        """Count from this moment on."""
        self.known: deque[tuple[float, float, int, int]] = deque([(seconds, steps, 0, 0)])

    def after(self, seconds: float, steps: float, updates: int, frames: int) -> dict[str, float]:
        """What the rates are after so many seconds, and steps in all, with so many more updates of so many frames."""
        *_, all_updates, all_frames = self.known[-1]
        now = seconds, steps, all_updates + updates, all_frames + frames
        self.known.append(now)
        while len(self.known) > 2 and self.known[1][0] < seconds - SECONDS:
            self.known.popleft()
        first = self.known[0]
        spent = max(seconds - first[0], 1e-9)
        names = ("rate/sampling_hz", "rate/update_hz", "rate/update_frame_hz")
        return {
            name: (after - before) / spent
            for name, before, after in zip(names, first[1:], now[1:], strict=True)
            if name == names[0] or now[2]
        }
