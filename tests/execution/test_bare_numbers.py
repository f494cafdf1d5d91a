"""Bare numbers, which are nanoseconds, in programs that wait for physical time."""

import warnings
from datetime import timedelta
from typing import Any

import pytest

import reactors as rx
from tests.messages import warned


class Loop(rx.Reactor):
    again = rx.LogicalAction(min_delay="pause")  # @again
    tick = rx.Timer("1 ms", "period")  # @tick

    def __init__(self, pause: Any = "1 ms", period: Any = None, delay: Any = 0) -> None:
        self.pause, self.period, self.delay, self.rounds = pause, period or "1 s", delay, 2

    @rx.reaction(rx.startup, again, effects=again)
    def go(self) -> None:
        self.rounds -= 1
        if self.rounds:
            self.again.schedule(delay=self.delay)  # @schedule

    @rx.reaction(tick, effects=rx.stop)
    def end(self) -> None:
        self.request_stop()


def said(what: str, given: int, of: str) -> str:
    nanoseconds = "1 nanosecond" if given == 1 else f"{given} nanoseconds"
    return (
        f"{what}={given} of {of} is {nanoseconds}, and the program waits for physical time; write "
        f'{what}="{given} s" if it is to be seconds, and {what}="{given} ns" if not'
    )


def test_a_timeout_that_is_a_bare_number_is_reported_with_both_spellings() -> None:
    assert warned(lambda: rx.run(Loop(), timeout=5)) == [said("timeout", 5, "rx.run")]
    assert warned(lambda: rx.run(Loop(), timeout=1)) == [said("timeout", 1, "rx.run")]


@pytest.mark.parametrize("timeout", [0, 1_000_000, "5 ns", timedelta(microseconds=1)])
def test_a_timeout_that_is_spelled_or_long_or_zero_is_not(timeout: Any) -> None:
    assert not warned(lambda: rx.run(Loop(), timeout=timeout))


def test_all_that_a_program_declares_is_reported_in_one_warning() -> None:
    class Sink(rx.Reactor):
        inp = rx.Input(None)

        @rx.reaction(inp, effects=rx.stop.after(7))  # @late
        def take(self) -> None: ...

        @take.deadline(3)
        def too_late(self) -> None: ...

    class Main(rx.Reactor):
        out = rx.Output(None)

        def __init__(self) -> None:
            self.loops = rx.bank(2, Loop, pause=30, period=40)
            self.sinks = rx.bank(2, Sink)
            self.source = Source()
            rx.connect(self.source.out, self.sinks.inp, after=6, broadcast=True)  # @connect

    class Source(rx.Reactor):
        out = rx.Output(None)

        @rx.reaction(rx.startup, effects=out)
        def start(self) -> None: ...

    assert warned(lambda: rx.run(Main(), timeout="2 ms")) == [
        said("self.pause", 30, "main.loops[0].again (@again)")
        + "; the same goes for self.period=40 of main.loops[0].tick (@tick), deadline=3 of main.sinks[0].take (@late), "
        "rx.stop.after(7) of main.sinks[0].take (@late), ..."
    ]


@pytest.mark.parametrize("way", [{"workers": 1}, {"workers": 2, "backend": "thread"}])
def test_a_delay_of_schedule_is_reported_where_it_is_written(way: dict[str, Any]) -> None:
    assert warned(lambda: rx.run(Loop(delay=5), **way)) == [said("delay", 5, "schedule of Loop.again (@again)")]


@pytest.mark.parametrize("way", [{"workers": 1}, {"workers": 2, "backend": "thread"}])
def test_and_once_for_all_members_of_a_bank(way: dict[str, Any]) -> None:
    """By Python's own rule, which shows the same text once a line."""

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.loops = rx.bank(4, Loop, delay=6)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        rx.run(Main(), **way)
    assert len(caught) == 1


def test_a_stop_is_reported_as_the_call_that_it_is() -> None:
    class Once(rx.Reactor):
        @rx.reaction(rx.startup, effects=rx.stop.after(5))  # @once
        def end(self) -> None:
            self.request_stop()

    (words,) = warned(lambda: rx.run(Once()))
    assert words == (
        "rx.stop.after(5) of main.end (@once) is 5 nanoseconds, and the program waits for physical time; write "
        'rx.stop.after("5 s") if it is to be seconds, and rx.stop.after("5 ns") if not'
    )


def test_so_is_one_from_outside() -> None:
    class Button(rx.Reactor):
        pressed = rx.PhysicalAction(int)  # @pressed

        @rx.reaction(pressed, effects=rx.stop)
        def end(self) -> None:
            self.request_stop()

        @rx.reaction(rx.startup)
        def press(self) -> None:
            self.pressed.schedule(1, 5)

    assert warned(lambda: rx.run(Button())) == [said("delay", 5, "schedule of Button.pressed (@pressed)")]


@pytest.mark.parametrize("options", [{"fast": True}, {"clock": rx.VirtualClock()}])
def test_programs_that_do_not_wait_count_in_nanoseconds_as_they_like(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rx.run(Loop(pause=30, period=40, delay=5), timeout=5, **options)


def test_a_replay_does_not_wait_either(tmp_path: Any) -> None:
    assert warned(lambda: rx.run(Loop(delay=5), record=tmp_path / "log"))
    assert not warned(lambda: rx.run(Loop(delay=5), replay=tmp_path / "log"))
