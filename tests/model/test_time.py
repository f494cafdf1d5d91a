"""Tags and durations."""

from datetime import timedelta

import numpy as np
import pytest

import reactors as rx
from reactors.time import duration
from reactors_runtime.spelling import spell


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ("10 ms", 10_000_000),
        ("10ms", 10_000_000),
        (" 1.5 us ", 1_500),
        ("0.000000001 s", 1),
        (".5 us", 500),
        ("1_000 ns", 1_000),
        ("+3 seconds", 3_000_000_000),
        ("2 min", 120_000_000_000),
        ("1 h", 3_600_000_000_000),
        ("1 day", 86_400_000_000_000),
        ("1 week", 604_800_000_000_000),
        ("4 µs", 4_000),
        (timedelta(days=1, microseconds=1), 86_400_000_001_000),
        (0, 0),
        (250, 250),
        (np.int64(7), 7),
        (2**63 - 1, 2**63 - 1),
    ],
)
def test_duration_as_written(written: object, ns: int) -> None:
    assert duration(written) == ns


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("-1 ms", "is negative"),
        (-1, "is negative"),
        (timedelta(seconds=-1), "is negative"),
        (2**63, "is longer than 292 years"),
        ("300 000 days", "which is no duration"),
        ("200000 days", "is longer than 292 years"),
        ("0.5 ns", "finer than a nanosecond"),
        ("10", "without a unit"),
        ("ms", "which is no duration"),
        ("", "which is no duration"),
        ("1e3 ms", "which is no duration"),
        ("10 lightyears", "'lightyears' is no unit"),
        ("nan s", "which is no duration"),
        (True, "of type bool"),
        (1.5, "of type float"),
        (np.float64(1), "of type float64"),
        (np.True_, "of type bool"),
        (None, "of type NoneType"),
        ([1], "of type list"),
    ],
)
def test_duration_refused(written: object, words: str) -> None:
    with pytest.raises(rx.DurationError, match=words) as caught:
        duration(written, "delay", "main.a")
    assert str(caught.value).startswith("the delay of main.a is ")


def test_tags_are_ordered_by_time_and_then_by_microstep() -> None:
    assert sorted([rx.Tag(1, 0), rx.Tag(0, 5), rx.Tag(0, 0)]) == [rx.Tag(0, 0), rx.Tag(0, 5), rx.Tag(1, 0)]
    assert rx.Tag(3, 1) == (3, 1)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        (rx.Tag(0, 0), "0 s"),
        (rx.Tag(100_000_000, 0), "100 ms"),
        (rx.Tag(1_000, 1), "1 us + 1 microstep"),
        (rx.Tag(90_000_000_000, 12), "90 s + 12 microsteps"),
        (rx.Tag(1_000_000_001, 0), "1.000000001 s"),
        (rx.Tag(999, 0), "999 ns"),
    ],
)
def test_tag_is_printed_as_people_write_time(tag: rx.Tag, text: str) -> None:
    assert str(tag) == text
    assert repr(tag) == f"Tag(time={tag.time}, microstep={tag.microstep})"


def test_spelt_times_are_read_back() -> None:
    for ns in (0, 1, 999, 1_000, 1_001, 123_456_789, 10**12 + 1):
        assert duration(spell(ns)) == ns
