"""Programs whose logical time stands still, and timeouts that are none."""

from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.execution.bad_programs.writer_and_reader import Main, Writer, every_way
from tests.messages import refused

# Time that stands still


class Turning(rx.Reactor):
    inp = rx.Input(int)
    out = rx.Output(int)

    @rx.reaction(rx.startup, inp, effects=out)
    def turn(self) -> None:
        self.out.set(1)


class Circle(rx.Reactor):
    """Two reactors in a loop without a positive delay, and one that has nothing to do with it."""

    def __init__(self) -> None:
        self.busy = Writer()
        self.left, self.reader = Turning(), Turning()
        rx.connect(self.left.out, self.reader.inp)
        rx.connect(self.reader.out, self.left.inp, after=0)


@every_way
def test_time_that_stands_still_is_an_error_where_there_is_a_limit(way: Any) -> None:
    """The loop is named, all the way round and nothing else."""
    with pytest.raises(rx.MicrostepLimitError) as caught:
        rx.run(Circle(), max_microsteps=1000, timeout="1 s", **way)
    words = str(caught.value)
    assert words.startswith(
        "time stands still at 0 s: after 1,000 microsteps these reactions still trigger one another: "
    )
    circle, _, remedy = words.partition("another: ")[2].partition("; ")
    assert circle in (
        "main.left.turn -> main.reader.turn -> main.left.turn",
        "main.reader.turn -> main.left.turn -> main.reader.turn",
    )
    assert remedy == "give a delay in this loop a positive value, or raise max_microsteps"


def test_time_that_stands_still_through_an_action() -> None:
    """Found though another reaction ran far more often."""

    class Still(rx.Reactor):
        late = rx.Timer("1 ms")
        often = rx.Timer(0, "1 us")
        again = rx.LogicalAction()

        @rx.reaction(often)
        def innocent(self) -> None: ...

        @rx.reaction(late, again, effects=again)
        def repeat(self) -> None:
            self.again.schedule()

    with pytest.raises(rx.MicrostepLimitError, match=r"at 1 ms: .* another: main\.repeat -> main\.repeat; "):
        rx.run(Still(), max_microsteps=100, fast=True)


@pytest.mark.slow
def test_time_that_stands_still_is_reported_once_where_there_is_no_limit() -> None:
    """A training loop may well pass ten million microsteps."""
    numba = pytest.importorskip("numba")
    pointer, void = numba.types.CPointer, numba.types.voidptr

    @numba.cfunc(numba.types.void(pointer(void), pointer(numba.types.uint8), pointer(numba.types.int64)))  # type: ignore[untyped-decorator]
    def count(data: Any, present: Any, state: Any) -> None:
        state[0] += 1
        if state[0] < 11_000_000:
            present[2] = 1

    class Still(rx.Reactor):
        again = rx.LogicalAction()

        def __init__(self) -> None:
            self.counts = np.zeros(1, np.int64)
            self.add_reaction((rx.startup, self.again), rx.native(count, self.counts), effects=self.again)

    main = Still()
    with pytest.warns(RuntimeWarning) as caught:
        rx.run(main, fast=True)
    assert main.counts[0] == 11_000_000
    (words,) = [str(each.message) for each in caught]
    assert words.startswith(
        "time stands still at 0 s: 10,000,000 microsteps so far; the reactions that run: main.count;"
    )


@every_way
def test_timeout_of_zero(way: Any) -> None:
    """One tag, not none and not for ever."""
    main = Main()
    assert rx.run(main, timeout=0, **way).final_tag == rx.Tag(0, 0)
    assert main.writer.closed


@pytest.mark.parametrize("timeout", [-1, 1.5, "5", "soon", True])
def test_timeout_that_is_none(timeout: Any) -> None:
    assert refused(rx.DurationError, lambda: rx.run(Main(), timeout=timeout)).startswith("the timeout of rx.run is ")
