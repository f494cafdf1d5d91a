"""How long does something take?

A duration is written as "10 ms", a `timedelta`, or a whole number of nanoseconds. Floats are refused, because 0.1
seconds is not a whole number of nanoseconds; so are bools and negative durations, because time never goes back.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from operator import index
from typing import NamedTuple, TypeAlias, TypeGuard

from reactors.errors import DurationError
from reactors_runtime._core import lib
from reactors_runtime.spelling import EXACT

Duration: TypeAlias = str | timedelta | int

LONGEST: int = lib.RX_FOREVER_NS  # what fits the core's 64 bits: 292 years
LONGEST_DEADLINE: int = LONGEST - 1  # for the core takes the longest duration for none

_UNITS = {
    name: ns
    for names, ns in (
        ("ns nsec nsecs nanosecond nanoseconds", 1),
        ("us usec usecs µs μs microsecond microseconds", 1_000),
        ("ms msec msecs millisecond milliseconds", 1_000_000),
        ("s sec secs second seconds", 1_000_000_000),
        ("min mins minute minutes", 60_000_000_000),
        ("h hour hours", 3_600_000_000_000),
        ("d day days", 86_400_000_000_000),
        ("week weeks", 604_800_000_000_000),
    )
    for name in names.split()
}
_PATTERN = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+))\s*([^\W\d_]+)\s*")


class Measured(float):
    """A measured number, for example of seconds, which is different in each run.

    On a port it behaves like any float, but it is ignored when runs are compared: in a journal, and in
    `Result.value_digest`.

    >>> import reactors as rx
    >>> rx.Measured(0.25) + 1
    1.25
    """

    __slots__ = ()

    def __content__(self) -> None:
        """What a hash of it includes: nothing."""


class _Subject(NamedTuple):
    """What a duration is, and of what; put into words only when an error needs it."""

    what: str
    of: object

    def __str__(self) -> str:
        return f"the {self.what}" if self.of is None else f"the {self.what} of {self.of}"


def duration(value: object, what: str = "duration", of: object = None, *, or_else: str = "") -> int:
    """The nanoseconds in `value`; for errors, `what` is its name and `of` its owner, if known.

    `or_else` says what else could have been written there.

    >>> duration("10 ms"), duration(timedelta(seconds=1)), duration(250)
    (10000000, 1000000000, 250)
    >>> duration("-4 us", "delay")
    Traceback (most recent call last):
    reactors.errors.DurationError: the delay is negative ('-4 us'), but time never goes back; ...
    """
    if type(value) is int and 0 <= value <= LONGEST:
        return value
    subject = _Subject(what, of)
    ns = _nanoseconds(value, subject, or_else)
    if ns < 0:
        raise DurationError(
            f"{subject} is negative ({value!r}), but time never goes back; write a duration without a sign"
        )
    if ns > LONGEST:
        raise DurationError(f"{subject} is longer than 292 years ({value!r}), the most that 64 bits hold; write less")
    return ns


def names_attribute(given: object) -> TypeGuard[str]:
    """Whether a given duration is a name: that of a reactor's attribute that holds the duration."""
    return isinstance(given, str) and given.isidentifier()


def _nanoseconds(value: object, subject: _Subject, or_else: str) -> int:
    forms = 'a string such as "10 ms", a datetime.timedelta, or a whole number of nanoseconds'
    if isinstance(value, str):
        return _parse(value, subject, or_else)
    if isinstance(value, timedelta):
        return (value.days * 86_400_000_000 + value.seconds * 1_000_000 + value.microseconds) * 1_000
    if not isinstance(value, bool | float):
        try:
            return index(value)  # type: ignore[arg-type]  # whatever counts as an integer, NumPy's included
        except TypeError:
            pass
    raise DurationError(f"{subject} is {value!r}, of type {type(value).__name__}; write {forms}")


def _parse(text: str, subject: _Subject, or_else: str) -> int:
    found = _PATTERN.fullmatch(text)
    if found is None:
        if re.fullmatch(r"\s*[+-]?[\d._]+\s*", text):
            raise DurationError(f'{subject} is {text!r}, without a unit; write, say, "{text.strip()} ms"')
        raise DurationError(
            f'{subject} is {text!r}, which is no duration; write a number and a unit, as in "10 ms"{or_else}'
        )
    number, unit = found.groups()
    if unit not in _UNITS:
        raise DurationError(f"{subject} is {text!r}: {unit!r} is no unit; there are ns, us, ms, s, min, h, d, week")
    ns = EXACT.multiply(Decimal(number.replace("_", "")), _UNITS[unit])
    if ns != int(ns):
        raise DurationError(f"{subject} is {text!r}, finer than a nanosecond, the resolution of time; round it")
    return int(ns)


_MEASURED = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def measured(seconds: float) -> str:
    """A measured time with three or four digits, and its unit.

    >>> measured(0.00247), measured(5.2e-8), measured(1234.5), measured(0)
    ('2.47 ms', '52.0 ns', '1,234 s', '0 s')
    """
    for unit, size in _MEASURED:
        if seconds >= size:
            n = seconds / size
            return f"{n:,.{2 if n < 10 else 1 if n < 100 else 0}f} {unit}"
    return "0 s"
