"""When does something happen?

A tag is a time and a microstep, in lexicographic order; times are nanoseconds since the start of the program.
"""

from __future__ import annotations

from typing import NamedTuple

from reactors_runtime.spelling import spell_tag


class Tag(NamedTuple):
    """A point in logical time: nanoseconds since the start, and a microstep within them.

    >>> Tag(5, 0) < Tag(5, 1) < Tag(6, 0)
    True
    >>> print(Tag(1_500_000_000, 0), "|", Tag(4_000, 2))
    1.5 s | 4 us + 2 microsteps
    """

    time: int
    microstep: int

    def __str__(self) -> str:
        return spell_tag(self.time, self.microstep)
