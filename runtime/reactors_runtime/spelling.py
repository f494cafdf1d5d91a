"""How are times and tags written?"""

from __future__ import annotations

from decimal import Context, Decimal

EXACT = Context(prec=50)  # whatever the user's own is


def spell(ns: int) -> str:
    """A number of nanoseconds as people write it.

    >>> spell(100_000_000), spell(-1_500), spell(0)
    ('100 ms', '-1.5 us', '0 s')
    """
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if abs(ns) >= size or ns == 0:
            return f"{EXACT.divide(Decimal(ns), size).normalize(EXACT):f} {unit}"
    return f"{ns} ns"


def spell_tag(time: int, microstep: int) -> str:
    """A tag, its time in ns, as people write it.

    >>> spell_tag(1_500_000_000, 0), spell_tag(4_000, 2)
    ('1.5 s', '4 us + 2 microsteps')
    """
    if not microstep:
        return spell(time)
    return f"{spell(time)} + {microstep} microstep{'s' * (microstep > 1)}"
