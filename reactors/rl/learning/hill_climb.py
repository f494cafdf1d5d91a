"""At which value is a rate greatest, if it can only be measured by working with a value for a while?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Decision:
    """A value is left for another one, and why."""

    before: int
    after: int
    reason: str


class Climb:
    """Goes up and down a ladder of values, one rung at a time, and stays where the measured rate is greatest.

    A neighbour is kept if its rate is `gain` times the rate of the rung from which it was tried; else it goes back.
    When both neighbours are worse it rests for `rest` measurements, and then tries again, as the load may have changed.

    >>> climb = Climb([64, 128, 256, 512], 128, unit="frames/s")
    >>> rates = {64: 10_000, 128: 15_000, 256: 22_000, 512: 22_100}
    >>> for _ in range(4):
    ...     print(climb.tell(rates[climb.value]))
    Decision(before=128, after=256, reason='15,000 frames/s; is more better?')
    Decision(before=256, after=512, reason='22,000 frames/s, up from 15,000; is more better still?')
    Decision(before=512, after=256, reason='22,100 frames/s, not enough above 22,000')
    None
    >>> climb.value
    256
    """

    def __init__(self, values: Sequence[int], start: int, *, unit: str, gain: float = 1.03, rest: int = 20) -> None:
        self.values, self.unit, self.gain, self.rest = sorted(values), unit, gain, rest
        self.at = self.home = self.values.index(start)
        self.rate = 0.0  # at home
        self.step = 1
        self.turned = False  # the other side was tried from here, or is known
        self.resting = 0

    @property
    def value(self) -> int:
        """What to work with now."""
        return self.values[self.at]

    def tell(self, rate: float) -> Decision | None:
        """What the rate is with `value`; another value, if that is to be taken now."""
        if self.at == self.home:
            self.rate = rate
            if self.resting:
                self.resting -= 1
                return None
            return self._try(f"{rate:,.0f} {self.unit}; is {self._word()} better?")
        if rate >= self.gain * self.rate:
            before, self.rate, self.home, self.turned = self.rate, rate, self.at, True  # below it is known
            reason = f"{rate:,.0f} {self.unit}, up from {before:,.0f}"
            return self._try(f"{reason}; is {self._word()} better still?")
        reason = f"{rate:,.0f} {self.unit}, not enough above {self.rate:,.0f}"
        left, self.at = self.value, self.home
        self._turn()
        return Decision(left, self.value, reason)

    def _word(self) -> str:
        return "more" if self.step > 0 else "less"

    def _turn(self) -> None:
        """The other side is next; if there was one already, rest."""
        self.step = -self.step
        if self.turned:
            self.turned, self.resting = False, self.rest
        else:
            self.turned = True

    def _try(self, reason: str) -> Decision | None:
        """One rung on, if there is one."""
        for _ in range(2):
            if 0 <= self.home + self.step < len(self.values):
                self.at = self.home + self.step
                return Decision(self.values[self.home], self.value, reason)
            self._turn()
            if self.resting:
                break
            reason = reason.replace("more", "less") if self.step < 0 else reason.replace("less", "more")
        return None
