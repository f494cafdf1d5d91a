"""Reactions that raise: the same error on every backend, and what follows a failure is a note on it."""

import _thread
import re
from typing import Any

import pytest

import reactors as rx
from tests.execution.bad_programs.writer_and_reader import APART, Deed, Main, every_way, failed, leave, nothing

# Exceptions


@every_way
def test_exception_in_a_reaction(way: Any) -> None:
    """Its path, tag and cause; the shutdown reactions run."""

    def fail(self: Any) -> None:
        if self.tag.time == 2_000_000:
            raise LookupError("nothing there")

    main = Main(fail)
    error = failed(main, **way)
    assert str(error) == "main.writer.write at 2 ms raised LookupError: nothing there"
    assert (error.reaction, error.tag) == ("main.writer.write", rx.Tag(2_000_000, 0))
    assert isinstance(error.__cause__, LookupError)
    assert main.writer.closed


@every_way
def test_exception_while_shutting_down_after_another(way: Any) -> None:
    """The first comes out, with a note of the second."""

    class Failing(rx.Reactor):
        @rx.reaction(rx.startup, rx.shutdown)
        def fail(self) -> None:
            raise LookupError(f"at {self.tag}")

    error = failed(Failing(), **{**way, "placement": "auto"})
    assert str(error) == "main.fail at 0 s raised LookupError: at 0 s"
    assert "then, while shutting down: main.fail raised LookupError: at 0 s + 1 microstep" in error.__notes__


class Cause(rx.Reactor):
    """Fails at 2 ms; what it might have sent before keeps its reader at 0 s."""

    tick = rx.Timer("2 ms")
    number = rx.Output(int)

    def __init__(self, at_the_end: Deed = nothing) -> None:
        self.at_the_end = at_the_end

    @rx.reaction(tick, effects=number)
    def fail(self) -> None:
        raise LookupError("the cause")

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        self.at_the_end(self)


class Behind(rx.Reactor):
    """Does something at the end, which for it is at an earlier tag than the failure that led to it."""

    number = rx.Input(int)

    def __init__(self, at_the_end: Deed) -> None:
        self.at_the_end = at_the_end

    @rx.reaction(number)
    def never(self) -> None: ...

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        self.at_the_end(self)


class Chain(rx.Reactor):
    def __init__(self, behind: Deed, ahead: Deed = nothing) -> None:
        self.ahead, self.reader = Cause(ahead), Behind(behind)
        rx.connect(self.ahead.number, self.reader.number)


def close_what_was_never_opened(self: Any) -> None:
    self.env.close()


@every_way
def test_what_follows_a_failure_elsewhere_is_a_note_on_it(way: Any) -> None:
    """The cause comes out, however far behind the worker is on which it makes a shutdown reaction fail."""
    error = failed(Chain(close_what_was_never_opened), **way)
    assert str(error) == "main.ahead.fail at 2 ms raised LookupError: the cause"
    assert error.__notes__ == [
        (
            "then, while shutting down: main.reader.end raised AttributeError: 'Behind' object has no attribute 'env'; "
            "did you mean 'end'?"
        )
    ]


@pytest.mark.parametrize("deeds", [{"behind": leave}, {"behind": nothing, "ahead": leave}], ids=["another", "its own"])
def test_a_worker_that_dies_of_a_failure_does_not_hide_it(deeds: dict[str, Deed]) -> None:
    """Whether another worker or the one on which the reaction failed."""
    error = failed(Chain(**deeds), backend="process", **APART)
    assert str(error) == "main.ahead.fail at 2 ms raised LookupError: the cause"
    (note,) = error.__notes__
    assert re.match(r"then, while shutting down: worker \d .* ended with exit status 3 in main\.\w+\.end", note)


def test_what_follows_ctrl_c_on_a_thread_is_a_note_on_it() -> None:
    class Pressing(rx.Reactor):
        @rx.reaction(rx.startup)
        def press(self) -> None:
            _thread.interrupt_main()

        @rx.reaction(rx.shutdown)
        def end(self) -> None:
            raise LookupError("at the end")

    with pytest.raises(KeyboardInterrupt) as caught:
        rx.run(Pressing(), workers=2, backend="thread", keepalive=True)
    assert caught.value.__notes__ == ["then, while shutting down: main.end raised LookupError: at the end"]
