"""Reactions that raise: the same error on every backend, and what follows a failure is a note on it."""

import _thread
import re
from pathlib import Path
from typing import Any

import pytest

import reactors as rx
from tests.execution.bad_programs import writer_and_reader
from tests.execution.bad_programs.writer_and_reader import (
    APART,
    Deed,
    Main,
    Writer,
    every_way,
    failed,
    leave,
    nothing,
)
from tests.messages import marked

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
def test_an_assertion_has_its_line(way: Any) -> None:
    def check(self: Any) -> None:
        if self.tag.time == 2_000_000:
            raise AssertionError  # @bare

    def explain(self: Any) -> None:
        assert self.tag.time < 2_000_000, "it is late"  # @explained

    start = "main.writer.write at 2 ms raised AssertionError"
    assert marked(failed(Main(check), **way)) == f"{start} (@bare): raise AssertionError  # @bare"
    assert marked(failed(Main(explain), **way)).startswith(f"{start} (@explained): it is late")


@every_way
def test_what_says_nothing_has_its_line(way: Any) -> None:
    def fail(self: Any) -> None:
        raise LookupError  # @lookup

    assert marked(failed(Main(fail), **way)) == (
        "main.writer.write at 0 s raised LookupError (@lookup): raise LookupError  # @lookup"
    )


@every_way
def test_the_trail_is_of_the_users_lines(way: Any) -> None:
    """As Python shows them, with what the exception was raised from, and without its own words."""

    def fail(self: Any) -> None:
        try:
            self.number.set("one")
        except rx.ReactorError as error:
            raise LookupError("nothing there") from error

    trail = failed(Main(fail), debug=True, **way).trail
    assert "ValueMismatchError: " in trail
    assert trail.count("Traceback (most recent call last):") == 2
    assert trail.count('raise LookupError("nothing there") from error') == 1
    assert "LookupError: " not in trail
    assert {Path(file) for file in re.findall('File "(.*)", line', trail)} == {
        Path(__file__), Path(writer_and_reader.__file__)
    }  # fmt: skip


@every_way
def test_what_was_absent_is_named_where_none_is_to_blame(way: Any) -> None:
    def write(self: Any) -> None:
        if self.tag.time == 2_000_000:
            self.number.set(1)

    def read(self: Any) -> None:
        self.sum = self.number.value + self.thing.value

    def read_more(self: Any) -> None:
        self.sum = self.number.value + self.vector.value.mean()

    def fail(self: Any) -> None:
        raise TypeError("no 'NoneType' of mine") if self.number.is_present else KeyError("NoneType")

    absent = (
        "main.reader.thing and main.reader.vector were absent at 2 ms, so their value is None; "
        "look at .is_present first"
    )
    for deed in (read, read_more, fail):
        assert failed(Main(write, deed), **way).__notes__ == [absent]

    def unrelated(self: Any) -> None:
        raise ValueError("NoneType")

    assert not hasattr(failed(Main(write, unrelated), **way), "__notes__")


@every_way
def test_a_channel_that_was_absent_is_named(way: Any) -> None:
    class Sum(rx.Reactor):
        numbers = rx.Input(int, width=2)

        @rx.reaction(numbers)
        def add(self) -> None:
            self.sum = sum(each.value for each in self.numbers)

    class Several(rx.Reactor):
        def __init__(self) -> None:
            self.writer, self.reader = Writer(lambda self: self.number.set(1)), Sum()
            self.silent = Writer()
            rx.connect([self.silent.number, self.writer.number], self.reader.numbers)

    assert failed(Several(), **way).__notes__ == [
        "main.reader.numbers[0] was absent at 0 s, so its value is None; look at .is_present first"
    ]


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
