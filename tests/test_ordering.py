"""Does what the core keeps in order suffice on processors that keep less than x86 does, and is all of it needed?

Each test is what csrc does, step by step; the file is named. With one order taken away, what must not be seen is seen.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = runpy.run_path(str(Path(__file__).parents[1] / "csrc" / "model" / "ordering.py"))
load, store, swap, seen, FENCE = (MODEL[name] for name in ("load", "store", "swap", "seen", "FENCE"))

Threads = list[tuple[Any, ...]]
Registers = dict[str, int]


def happens(threads: Threads, wrong: Callable[[Registers], bool], *, rcpc: bool = False) -> bool:
    ends = [dict(registers) for registers in seen(threads, rcpc=rcpc)]
    assert ends
    return any(map(wrong, ends))


def message(tail: str = "release", look: str = "acquire") -> Threads:
    """ring.c, channel.c: a message is written, then the tail moves; who takes it looks at the tail, then at it."""
    return [store("message", 1) + store("tail", 1, tail), load("tail", "tail", look) + load("message", "message")]


@pytest.mark.parametrize(("weaker", "wrong"), [({}, False), ({"tail": "plain"}, True), ({"look": "plain"}, True)])
def test_a_message_is_whole_when_the_tail_shows_it(weaker: dict[str, str], wrong: bool) -> None:
    assert happens(message(**weaker), lambda r: r["tail"] == 1 and r["message"] == 0) == wrong
    assert happens(message(**weaker), lambda r: r["tail"] == 1 and r["message"] == 0, rcpc=True) == wrong


def line(words: str = "release", look: str = "acquire") -> Threads:
    """line.c: an odd version, the words, an even version; who reads looks at the version before and after."""
    return [
        store("version", 1, "release")
        + store("head", 1, words)
        + store("passed", 1, words)
        + store("version", 2, "sequential"),
        load("first", "version", "acquire")
        + load("head", "head", look)
        + load("passed", "passed", look)
        + load("second", "version", "acquire"),
    ]


def torn(r: Registers) -> bool:
    return r["first"] == r["second"] != 1 and {r["head"], r["passed"]} != {r["first"] // 2}


@pytest.mark.parametrize(("weaker", "wrong"), [({}, False), ({"words": "plain"}, True), ({"look": "plain"}, True)])
def test_what_a_worker_publishes_is_never_torn(weaker: dict[str, str], wrong: bool) -> None:
    assert happens(line(**weaker), torn) == wrong
    assert happens(line(**weaker), torn, rcpc=True) == wrong


def overtaken(write: str = "release", look: str = "acquire") -> Threads:
    """ring.c, rx__ring_first: the producer writes over a message that was taken while a third worker looks at it."""
    return [
        store("head", 1, "release"),
        load("room", "head", "acquire") + store("message", 2, write, ("room", 1)),
        load("first", "head", "acquire") + load("message", "message", look) + load("second", "head", "acquire"),
    ]


@pytest.mark.parametrize(("weaker", "wrong"), [({}, False), ({"look": "plain"}, True)])
def test_an_onlooker_notices_that_a_message_was_written_over(weaker: dict[str, str], wrong: bool) -> None:
    def unnoticed(r: Registers) -> bool:
        return r["first"] == r["second"] == 0 and r["message"] == 2

    assert happens(overtaken(**weaker), unnoticed) == wrong
    assert happens(overtaken(**weaker), unnoticed, rcpc=True) == wrong


def taken(gone: str = "release", look: str = "acquire") -> Threads:
    """channel.c, rx__drain; frontier.c, collect: the lower head is published, then the message is gone."""
    return [
        store("version", 1, "release")
        + store("head", 1, "release")
        + store("version", 2, "sequential")
        + store("ring", 1, gone),
        load("first", "version", "sequential")
        + load("head", "head", look)
        + load("ring", "ring", look)
        + load("second", "version", "acquire"),
    ]


@pytest.mark.parametrize(("weaker", "wrong"), [({}, False), ({"gone": "plain"}, True), ({"look": "plain"}, True)])
def test_a_message_is_seen_in_the_ring_or_in_the_head_of_who_took_it(weaker: dict[str, str], wrong: bool) -> None:
    def lost(r: Registers) -> bool:
        return r["first"] == r["second"] and r["head"] == 0 and r["ring"] == 1

    assert happens(taken(**weaker), lost) == wrong
    assert happens(taken(**weaker), lost, rcpc=True) == wrong


def wake(fence: Any = FENCE) -> Threads:
    """bell.c, park.c: a publisher stores, then looks for sleepers; a waiter says that it sleeps, and looks once more.

    What the waiter looks at is a version or, where it waits for room, the count of those who need a slot (values.c),
    which is lowered before the version moves.
    """
    return [
        swap("needed", "refs", 1) + store("version", 2, "sequential") + load("sleepers", "sleepers", "sequential"),
        swap("awake", "sleepers", 1) + fence + load("refs", "refs", "acquire") + load("version", "version", "acquire"),
    ]


@pytest.mark.parametrize("rcpc", [False, True])
@pytest.mark.parametrize("missed", ["refs", "version"])
def test_one_of_a_sleeper_and_who_wakes_it_sees_the_other(missed: str, rcpc: bool) -> None:
    def sleeps_on(r: Registers) -> bool:
        return r["sleepers"] == 0 and r[missed] == 0

    assert not happens(wake(), sleeps_on, rcpc=rcpc)
    assert happens(wake(fence=()), sleeps_on, rcpc=rcpc) == rcpc


def inbox(sent: tuple[Any, ...] = FENCE) -> Threads:
    """inbox.c: a sender locks, then reads the clock; others read the clock, then look whether it is locked.

    The clock is a place that a third thread moves on. Reading it is no access to memory: no order of one keeps it in
    place for the sender. What follows a reading stays behind it, which clock_gettime sees to.
    """
    return [
        store("clock", 1),
        swap("lock", "lock", 1) + sent + load("sent", "clock"),
        load("read", "clock", "acquire") + load("locked", "lock", "acquire"),
    ]


def test_what_comes_from_outside_is_later_than_the_clock_of_who_saw_no_lock() -> None:
    def too_early(r: Registers) -> bool:
        return r["locked"] == 0 and r["sent"] < r["read"]

    assert not happens(inbox(), too_early)
    assert happens(inbox(sent=()), too_early)
