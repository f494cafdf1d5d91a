"""Durations that are none: negative, zero, misspelt."""

from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from tests.messages import Relay, Source, refused

# Durations

SIGN = "but time never goes back; write a duration without a sign"
ONCE = "a timer that fires once has no period at all, and one that fires as fast as it can is an action"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rx.Timer(period=0), f"the period of rx.Timer (@p0) is zero (0): {ONCE}"),  # @p0
        (lambda: rx.Timer(period="0 s"), f"the period of rx.Timer (@p1) is zero ('0 s'): {ONCE}"),  # @p1
        (lambda: rx.Timer(period="-1 ms"), f"the period of rx.Timer (@p2) is negative ('-1 ms'), {SIGN}"),  # @p2
        (lambda: rx.Timer(-5), f"the offset of rx.Timer (@p3) is negative (-5), {SIGN}"),  # @p3
        (
            lambda: rx.LogicalAction(min_delay=-5),  # @p4
            f"the min_delay of rx.LogicalAction (@p4) is negative (-5), {SIGN}",
        ),
        (lambda: rx.stop.after("-1 s"), f"the delay of rx.stop.after (@p5) is negative ('-1 s'), {SIGN}"),  # @p5
        (
            lambda: Source().add_reaction(rx.startup, print, deadline=-1, late=print),  # @p6
            f"the deadline of Source.add_reaction (@p6) is negative (-1), {SIGN}",
        ),
        (
            lambda: rx.connect(Source().out, Relay().inp, after="-4 us"),  # @p7
            f"the delay (after) of rx.connect (@p7) is negative ('-4 us'), {SIGN}",
        ),
    ],
)
def test_zero_or_negative_duration(call: Callable[[], object], words: str) -> None:
    """The right word for each."""
    assert refused(rx.DurationError, call) == words


NAMED = 'as in "10 ms", or the name of an attribute that holds a duration, as in "lag"'


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: rx.connect(Source().out, Relay().inp, after="s.lag"),  # @dotted
            "the delay (after) of rx.connect (@dotted) is 's.lag', which is no duration; write a number and a unit, ",
        ),
        (
            lambda: rx.Timer(""),  # @nothing
            "the offset of rx.Timer (@nothing) is '', which is no duration; write a number and a unit, ",
        ),
        (
            lambda: rx.stop.after("lag "),  # @blank
            "the delay of rx.stop.after (@blank) is 'lag ', which is no duration; write a number and a unit, ",
        ),
    ],
)
def test_duration_that_is_no_name_either(call: Callable[[], object], words: str) -> None:
    assert refused(rx.DurationError, call) == words + NAMED


def test_zero_or_negative_duration_in_a_parameter() -> None:
    class Clock(rx.Reactor):
        tick = rx.Timer("first", "period")  # @clock
        act = rx.LogicalAction(min_delay="wait")  # @act

        def __init__(self, first: Any = 0, period: Any = 1, wait: Any = 0) -> None:
            self.first, self.period, self.wait = first, period, wait

    assert refused(rx.ParameterError, lambda: rx.Graph(Clock(period="0 s"))) == (
        f"main.tick (@clock): period='period' stands for a period of zero: {ONCE}"
    )
    assert refused(rx.ParameterError, lambda: rx.Graph(Clock(first=-1))) == (
        f"main.tick (@clock): offset='first' stands for self.first: the offset is negative (-1), {SIGN}"
    )
    assert refused(rx.ParameterError, lambda: rx.Graph(Clock(wait="1 eon"))) == (
        "main.act (@act): min_delay='wait' stands for self.wait: the min_delay is '1 eon': 'eon' is no unit; there "
        "are ns, us, ms, s, min, h, d, week"
    )


def test_policies_of_an_action() -> None:
    assert refused(rx.ArgumentError, lambda: rx.LogicalAction(policy="drop")) == (  # @alone
        "rx.LogicalAction (@alone) has the policy 'drop' and no min_spacing to apply it to; give one"
    )
    wrong: Any = "later"
    assert refused(rx.ArgumentError, lambda: rx.PhysicalAction(min_spacing=1, policy=wrong)) == (  # @wrong
        "the policy of rx.PhysicalAction (@wrong) is 'later'; write 'defer', 'drop', 'replace' or 'update'"
    )


def test_delay_of_a_connection_in_a_parameter() -> None:
    def program(slack: object) -> rx.Graph:
        main: Any = rx.Reactor()
        main.a, main.b = Source(), Relay()
        rx.connect(main.a.out, main.b.inp, after="slack")  # @later
        if slack is not None:
            main.slack = slack
        return rx.Graph(main)

    connection = "connection main.a.out -> main.b.inp (@later): after='slack'"
    assert refused(rx.ParameterError, lambda: program(None)) == (
        f"{connection}, but __init__ of Bare sets no attribute 'slack' (it sets a, b); set self.slack, or give the "
        "value itself"
    )
    assert refused(rx.ParameterError, lambda: program("-1 s")) == (
        f"{connection} stands for self.slack: the delay (after) is negative ('-1 s'), {SIGN}"
    )
