"""Programs that go wrong while they run: the same error wherever that is, and never a wrong result instead.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `told.py`. Workers that die,
programs that are interrupted and reactors that cannot be sent are in `faults/`.
"""

import _thread
import os
import random
import re
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import PlacementError, SharedValueError
from reactors.stepwise import Stepwise
from tests.messages import marked, refused, warned

APART: dict[str, Any] = {"workers": 2, "placement": {"main": 0, "main.reader": 1}}
WAYS = [{}, {"backend": "thread", **APART}, {"backend": "process", **APART}]
every_way = pytest.mark.parametrize("way", WAYS, ids=["inline", "thread", "process"])
every_backend = pytest.mark.parametrize("backend", ["inline", "thread", "process"])
Deed = Callable[[Any], object]


def nothing(self: Any) -> None: ...


class Writer(rx.Reactor):
    """Does what it is told, with everything it has among its effects."""

    tick = rx.Timer(period="1 ms")
    number = rx.Output(int)  # @number
    thing = rx.Output()  # @thing
    vector = rx.Output(shape=(2,), dtype="f4")  # @vector
    again = rx.LogicalAction()  # @again

    def __init__(self, deed: Deed = nothing) -> None:
        self.deed = deed
        self.closed = False
        self.kept: Any = None

    @rx.reaction(tick, effects=(number, thing, vector, again))
    def write(self) -> None:
        self.deed(self)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.closed = True


class Reader(rx.Reactor):
    number = rx.Input(int)  # @innumber
    thing = rx.Input()  # @inthing
    vector = rx.Input(shape=(2,), dtype="f4")  # @invector

    def __init__(self, deed: Deed = nothing) -> None:
        self.deed = deed

    @rx.reaction(number, thing, vector)
    def read(self) -> None:
        self.deed(self)


class Main(rx.Reactor):
    def __init__(self, write: Deed = nothing, read: Deed = nothing) -> None:
        self.writer, self.reader = Writer(write), Reader(read)
        for port in ("number", "thing", "vector"):
            rx.connect(getattr(self.writer, port), getattr(self.reader, port))


def failed(main: rx.Reactor, **options: Any) -> rx.ReactionError:
    """The error with which a run of three milliseconds ends."""
    with pytest.raises(rx.ReactionError) as caught:
        rx.run(main, fast=True, timeout="3 ms", **options)
    return caught.value


# Exceptions


@every_way
def test_exception_in_a_reaction(way: Any) -> None:
    """Row 17: its path, tag and cause; the shutdown reactions run."""

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
    """Row 17: the first comes out, with a note of the second."""

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


def leave(self: Any) -> None:
    os._exit(3)


@every_way
def test_what_follows_a_failure_elsewhere_is_a_note_on_it(way: Any) -> None:
    """Row 17: the cause comes out, however far behind the worker is on which it makes a shutdown reaction fail."""
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
    """Rows 17 and 31: be it another worker, or the one on which the reaction failed."""
    error = failed(Chain(**deeds), backend="process", **APART)
    assert str(error) == "main.ahead.fail at 2 ms raised LookupError: the cause"
    (note,) = error.__notes__
    assert re.match(
        r"then, while shutting down: WorkerDied: worker \d .* ended with exit status 3 in main\.\w+\.end", note
    )


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


# Reading


class Peeping(rx.Reactor):
    tick = rx.Timer()
    number = rx.Input(int)  # @peeped

    def __init__(self, *, ask: bool) -> None:
        self.ask = ask

    @rx.reaction(tick, uses=number)
    def look(self) -> None:
        if not self.ask or self.number.is_present:
            _ = self.number.value  # @peep


def test_reading_without_asking_is_told_in_debug_mode() -> None:
    """Row 18: an absent port is None; which may surprise where it is no trigger."""

    def main(*, ask: bool) -> rx.Reactor:
        found = rx.Reactor()
        found.writer, found.reader = Writer(), Peeping(ask=ask)  # type: ignore[attr-defined]
        rx.connect(found.writer.number, found.reader.number)  # type: ignore[attr-defined]
        return found

    def run(*, ask: bool, debug: bool) -> list[str]:
        told = warned(lambda: rx.run(main(ask=ask), timeout=0, debug=debug))
        return [each for each in told if "nobody reads" not in each]

    assert run(ask=False, debug=False) == run(ask=True, debug=True) == []
    assert run(ask=False, debug=True) == [
        (
            "main.reader.look reads main.reader.number (@peeped) without asking for .is_present; it is no trigger of "
            "this reaction, so it may be absent, and its value None"
        )
    ]


# Writing


class Carrying(rx.Reactor):
    """Sets its port to values, one after another, and notes what it is told of each."""

    def __init__(self, shape: tuple[int, ...], dtype: str, values: list[Any]) -> None:
        self.port = rx.Output(shape=shape, dtype=dtype)  # @port
        self.values, self.told = values, list[Any]()
        self.add_reaction(rx.startup, self.carry, effects=self.port)

    def carry(self) -> None:
        for value in self.values:
            try:
                self.port.set(value)
            except rx.ValueMismatchError as error:
                self.told.append(marked(error))
            else:
                self.told.append(self.port.value.tolist())


def would(become: str) -> str:
    return f"main.port (@port): {become}; clip or round it first, or declare a dtype that holds it"


LOSSY: list[tuple[tuple[int, ...], str, list[tuple[Any, Any]]]] = [
    ((), "int8", [(300, would("300 would become 44 in int8")), (np.int64(-129), would("-129 would become 127 in int8")),
                  (1.5, would("1.5 would become 1 in int8")), (2.0, 2), (True, 1)]),
    ((), "uint8", [(-1, would("-1 would become 255 in uint8")), (255, 255)]),
    ((), "int64", [(2**63, would("9223372036854775808 would become -9223372036854775808 in int64")), (2**62, 2**62)]),
    ((), "float64", [(2**53 + 1, would("9007199254740993 would become 9007199254740992.0 in float64")),
                     (2**70, 2.0**70), (1 + 2j, would("(1+2j) would become 1.0 in float64"))]),
    ((), "float32", [(1e300, would("1e+300 would become inf in float32")), (0.5, 0.5), (float("inf"), float("inf")),
                     (2**40 + 1, would("1099511627777 would become 1099511627776.0 in float32")),
                     (0.1, float(np.float32(0.1)))]),
    ((2,), "float32", [([0.5, 2], [0.5, 2]), (np.array([1, 1e300]), would("1e+300 at [1] would become inf in float32")),
                       (np.array([2**24 + 1, 0]), would("16777217 at [0] would become 16777216.0 in float32"))]),
    ((2,), "int16", [([7, 8], [7, 8]), ([1, 70000], would("70000 at [1] would become 4464 in int16"))]),
    ((), "U3", [("abc", "abc"), ("abcdef", would("'abcdef' would become 'abc' in <U3"))]),
]  # fmt: skip


@every_backend
def test_values_that_do_not_survive_the_dtype_of_a_port(backend: Any) -> None:
    """Row 21: an error, and what was set before stays; fractions are rounded to the nearest, as by NumPy."""
    for shape, dtype, pairs in LOSSY:
        main: Any = Carrying(shape, dtype, [value for value, _ in pairs])
        rx.run(main, backend=backend)
        assert main.told == [told for _, told in pairs]


def test_what_was_set_before_a_value_that_does_not_survive_stays() -> None:
    def write(self: Any) -> None:
        self.vector.set([1, 2])
        with pytest.raises(rx.ValueMismatchError):
            self.vector.set(np.array([1e300, 3.0]))

    def read(self: Any) -> None:
        self.seen = self.vector.value.tolist()

    main: Any = Main(write, read)
    rx.run(main, timeout=0)
    assert main.reader.seen == [1, 2]


@every_way
@pytest.mark.parametrize(
    ("value", "given"),
    [
        (np.zeros(3, "f4"), "ndarray of shape (3,) and dtype float32"),
        (np.array([1j, 2]), "ndarray of shape (2,) and dtype complex128"),
        ("ab", "str of shape () and dtype <U2"),
        (None, "NoneType of shape () and dtype object"),
    ],
    ids=["shape", "dtype", "string", "none"],
)
def test_array_that_does_not_fit(way: Any, value: Any, given: str) -> None:
    """Row 21: always checked."""
    error = failed(Main(lambda self: self.vector.set(value)), **way)
    assert isinstance(error.__cause__, rx.ValueMismatchError)
    assert marked(error.__cause__) == (
        f"main.writer.vector (@vector) takes arrays of shape (2,) and dtype float32, and was given {given}; convert it "
        "first"
    )


@every_way
def test_rows_of_unequal_lengths_are_no_array(way: Any) -> None:
    """Row 21."""
    error = failed(Main(lambda self: self.vector.set([[1, 2], [3]])), **way)
    assert isinstance(error.__cause__, rx.ValueMismatchError)
    assert marked(error.__cause__).startswith(
        "main.writer.vector (@vector) takes arrays of shape (2,) and dtype float32, and was given a list that makes no"
    )


@pytest.mark.parametrize(
    ("value", "given"), [(7, "one int"), ([1], "1 values"), (np.array(3), "one ndarray")], ids=["int", "list", "array"]
)
def test_what_has_not_one_value_for_each_channel(value: Any, given: str) -> None:
    class Fan(rx.Reactor):
        many = rx.Output(width=2)

        @rx.reaction(rx.startup, effects=many)
        def go(self) -> None:
            self.many.set(value)

    error = failed(Fan())
    assert isinstance(error.__cause__, rx.ValueMismatchError)
    assert f"has 2 channels and was given {given}; set one for each, or set single channels by index" in str(
        error.__cause__
    )


def test_object_that_does_not_fit_is_told_in_debug_mode() -> None:
    """Row 21."""
    main = Main(lambda self: self.number.set("one"))
    rx.run(main, fast=True, timeout=0)
    error = failed(main, debug=True)
    assert isinstance(error.__cause__, rx.ValueMismatchError)
    assert marked(error.__cause__) == (
        "main.writer.number (@number) takes int and was given 'one', of type str; convert it, or declare that type"
    )


class Telling(rx.Reactor):
    said, heard = rx.LogicalAction(int), rx.PhysicalAction(int)  # @telling
    rate = rx.LogicalAction(float)

    def __init__(self, tell: Callable[[Any], object]) -> None:
        self.tell = tell

    @rx.reaction(rx.startup, effects=(said, heard, rate, rx.stop))
    def go(self) -> None:
        self.said.schedule()
        self.rate.schedule(1)
        self.tell(self)
        self.request_stop()


@every_backend
@pytest.mark.parametrize("name", ["said", "heard"])
def test_object_that_an_action_does_not_take_is_told_in_debug_mode(backend: Any, name: str) -> None:
    """Row 21, for actions."""
    main = Telling(lambda self: getattr(self, name).schedule("one"))
    rx.run(main, backend=backend)
    error = failed(main, debug=True, backend=backend)
    assert isinstance(error.__cause__, rx.ValueMismatchError)
    assert marked(error.__cause__) == (
        f"main.{name} (@telling) takes int and was given 'one', of type str; convert it, or declare that type"
    )


@every_backend
def test_object_from_outside_that_an_action_does_not_take_is_told_in_debug_mode(backend: Any) -> None:
    """Row 21, for actions: whoever schedules it is told."""
    told: list[str] = []

    def press() -> None:
        while not main.heard.schedule(1):
            time.sleep(0.001)
        try:
            main.heard.schedule("one")  # type: ignore[arg-type]
        except rx.ValueMismatchError as error:
            told.append(str(error))

    class Pressed(rx.Reactor):
        heard = rx.PhysicalAction(int)

        @rx.reaction(heard, effects=rx.stop.after("50 ms"))
        def hear(self) -> None:
            self.request_stop()

    main = Pressed()
    thread = threading.Thread(target=press)
    thread.start()
    rx.run(main, debug=True, timeout="20 s", backend=backend)
    thread.join()
    assert len(told) == 1
    assert "takes int and was given 'one'" in told[0]


@every_way
@pytest.mark.parametrize(
    ("delay", "told"),
    [
        (-1, "is negative (-1), but time never goes back; write a duration without a sign"),
        ("-1 ms", "is negative ('-1 ms'), but time never goes back; write a duration without a sign"),
        (0.5, 'is 0.5, of type float; write a string such as "10 ms", a datetime.timedelta, or a whole number of'),
    ],
)
def test_delay_of_schedule_that_is_none(way: Any, delay: Any, told: str) -> None:
    """Row 22."""
    error = failed(Main(lambda self: self.again.schedule(delay=delay)), **way)
    assert isinstance(error.__cause__, ValueError)
    assert marked(error.__cause__).startswith(f"the delay of schedule of main.writer.again (@again) {told}")


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
    """Row 23: the loop is named, all the way round and nothing else."""
    with pytest.raises(rx.MicrostepLimitError) as caught:
        rx.run(Circle(), max_microsteps=1000, timeout="1 s", **way)
    told = str(caught.value)
    assert told.startswith(
        "time stands still at 0 s: after 1,000 microsteps these reactions still trigger one another: "
    )
    circle, _, remedy = told.partition("another: ")[2].partition("; ")
    assert circle in (
        "main.left.turn -> main.reader.turn -> main.left.turn",
        "main.reader.turn -> main.left.turn -> main.reader.turn",
    )
    assert remedy == "give a delay in this loop a positive value, or raise max_microsteps"


def test_time_that_stands_still_through_an_action() -> None:
    """Row 23: found though another reaction ran far more often."""

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
def test_time_that_stands_still_is_told_once_where_there_is_no_limit() -> None:
    """Row 23: a training loop may well pass ten million microsteps."""
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
    (told,) = [str(each.message) for each in caught]
    assert told.startswith(
        "time stands still at 0 s: 10,000,000 microsteps so far; the reactions that run: main.count;"
    )


@every_way
def test_timeout_of_zero(way: Any) -> None:
    """Row 24: one tag, not none and not for ever."""
    main = Main()
    assert rx.run(main, timeout=0, **way).final_tag == rx.Tag(0, 0)
    assert main.writer.closed


@pytest.mark.parametrize("timeout", [-1, 1.5, "5", "soon", True])
def test_timeout_that_is_none(timeout: Any) -> None:
    """Row 24."""
    assert refused(rx.DurationError, lambda: rx.run(Main(), timeout=timeout)).startswith("the timeout of rx.run is ")


# Effects in the wrong hands


class Thief(rx.Reactor):
    """Two reactions of which only the first declares the effects; the second does what it is told."""

    tick = rx.Timer()
    out = rx.Output(int)  # @loot
    act = rx.LogicalAction()  # @lootact
    spare = rx.LogicalAction()  # @spare

    def __init__(self, deed: Deed) -> None:
        self.deed = deed

    @rx.reaction(tick, effects=(out, act, rx.stop))
    def own(self) -> None: ...

    @rx.reaction(tick)
    def steal(self) -> None:
        self.deed(self)


def on_a_thread(deed: Deed, self: Any) -> None:
    errors: list[Exception] = []

    def work() -> None:
        try:
            deed(self)
        except rx.ReactorError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    for error in errors:
        raise error


@every_way
@pytest.mark.parametrize("by", [lambda deed: deed, lambda deed: partial(on_a_thread, deed)], ids=["reaction", "thread"])
@pytest.mark.parametrize(
    ("deed", "told"),
    [
        (
            lambda self: self.out.set(1),
            (
                "main.out (@loot): .set while the reaction main.steal runs, which does not declare it; name it in the "
                "effects of the reaction that uses it"
            ),
        ),
        (
            lambda self: self.act.schedule(),
            (
                "main.act (@lootact): .schedule while the reaction main.steal runs, which does not declare it; name it "
                "in the effects of the reaction that uses it"
            ),
        ),
        (
            lambda self: self.spare.schedule(),
            (
                "main.spare (@spare): .schedule while the program runs, but no reaction declares it; name it in the "
                "effects of the reaction that uses it"
            ),
        ),
        (lambda self: self.request_stop(), "main.steal: request_stop() needs effects=rx.stop"),
        (
            lambda self: self.update_deadline(5),
            "main.steal: update_deadline() needs a reaction that declares a deadline",
        ),
    ],
    ids=["set", "schedule", "nobody's", "stop", "deadline"],
)
def test_effect_used_by_who_did_not_declare_it(way: Any, by: Any, deed: Deed, told: str) -> None:
    """Row 25: the port and the reaction that runs."""
    error = failed(Thief(by(deed)), **{**way, "placement": "auto"})
    assert error.reaction == "main.steal"
    assert isinstance(error.__cause__, rx.UndeclaredAccessError)
    assert marked(error.__cause__).startswith(told)


@pytest.mark.parametrize(
    "port_of",
    [
        lambda self: lambda: self.number,
        lambda self: lambda port=self.number: port,
    ],
    ids=["through its reactor", "itself"],
)
def test_effect_used_by_a_thread_that_outlives_its_reaction(port_of: Any) -> None:
    """Row 25."""
    told: list[str] = []

    def leave(self: Any) -> None:
        if self.kept is not None:
            return
        late, port = threading.Event(), port_of(self)

        def work() -> None:
            late.wait()
            told.append(refused(rx.OutsideReactionError, lambda: port().set(1)))

        self.kept = late, threading.Thread(target=work)
        self.kept[1].start()

    main = Main(leave)
    rx.run(main, fast=True, timeout=0)
    late, thread = main.writer.kept
    late.set()
    thread.join()
    assert told[0].startswith("main.writer.number (@number): .set outside of a reaction; ")


def test_method_of_a_port_that_was_kept_before_the_run() -> None:
    """Row 25: does what it does in the reaction that declares it."""

    def keep(self: Any) -> None:
        self.kept(5)

    main = Main(keep, lambda self: setattr(self, "seen", self.number.value))
    main.writer.kept = main.writer.number.set
    rx.run(main, timeout=0)
    assert main.reader.seen == 5  # type: ignore[attr-defined]


# Values that are shared


@every_way
@pytest.mark.parametrize("port", ["vector", "thing"])
def test_reader_that_changes_an_array(way: Any, port: str) -> None:
    """Row 26: cannot."""

    def write(self: Any) -> None:
        getattr(self, port).set(np.zeros(2, "f4"))

    def read(self: Any) -> None:
        getattr(self, port).value[0] = 5

    error = failed(Main(write, read), **way)
    assert str(error) == (
        "main.reader.read at 0 s raised ValueError: assignment destination is read-only; arrays that come from a port "
        "are read-only: change a copy (port.value.copy())"
    )


def set_and_change(self: Any) -> None:
    self.thing.set(thing := {"sizes": [1]})
    thing["sizes"][0] = 9


def change_what_was_kept(self: Any) -> None:
    self.kept = [1] if self.kept is None else self.kept
    self.kept += [2] * (self.tag.time > 0)
    self.thing.set(self.kept)


def write_a_loan_after_set(self: Any) -> None:
    loan = self.vector.loan()
    loan[:] = 1
    self.vector.set(loan)
    loan[1] = 2


def write_a_loan_that_was_kept(self: Any) -> None:
    if self.kept is None:
        loan = self.vector.loan()
        loan[:] = 1
        self.vector.set(loan)
        self.kept = loan[1:]
    else:
        self.kept[:] = 7
        self.vector.set(np.array([3, 3], "f4"))


def write_a_loan_without_set(self: Any) -> None:
    self.vector.set(np.array([3, 3], "f4"))
    self.vector.loan()[0] = 4


def write_a_loan_that_was_never_set(self: Any) -> None:
    if self.kept is None:
        self.kept = self.vector.loan()
        self.kept[:] = 1
    else:
        self.kept[1] = 7


def change(self: Any) -> None:
    if self.thing.is_present:
        self.thing.value.append(5)


def write_a_tensor(self: Any) -> None:
    self.vector.tensor[1] = 9


def set_things(self: Any) -> None:
    self.thing.set([1, 2])


def set_ones(self: Any) -> None:
    self.vector.set(np.ones(2, "f4"))


OBJECT_SET = "its readers have the same object: set a copy, or leave it alone from then on"
OBJECT_READ = "others have the same object: change a copy, or declare the input with mutable=True"
LOAN = "its readers have the same memory: write into a loan before set(), and call loan() for each value"
SHARED = [
    (
        set_and_change,
        nothing,
        (
            f"main.writer.thing (@thing): ['sizes'][0] of the value of 0 s was 1, and after "
            f"main.writer.write it is 9; {OBJECT_SET}"
        ),
    ),
    (
        change_what_was_kept,
        nothing,
        (
            "main.writer.thing (@thing): the value of 0 s was [1], and after "
            f"main.writer.write it is [1, 2]; {OBJECT_SET}"
        ),
    ),
    (
        set_things,
        change,
        (
            "main.reader.thing (@inthing): the value of 0 s was [1, 2], and after main.reader.read it is "
            f"[1, 2, 5]; {OBJECT_READ}"
        ),
    ),
    (
        write_a_loan_after_set,
        nothing,
        (
            "main.writer.vector (@vector): [1] of the value of 0 s was 1.0, and after "
            f"main.writer.write it is 2.0; {LOAN}"
        ),
    ),
    (
        write_a_loan_that_was_kept,
        nothing,
        (
            "main.writer.vector (@vector): [1] of the value of 0 s was 1.0, and after "
            f"main.writer.write it is 7.0; {LOAN}"
        ),
    ),
    (
        write_a_loan_without_set,
        nothing,
        (
            "main.writer.vector (@vector): [0] of the value of 0 s was 3.0, and after "
            f"main.writer.write it is 4.0; {LOAN}"
        ),
    ),
    (
        write_a_loan_that_was_never_set,
        nothing,
        (
            "main.writer.vector (@vector): [1] of the loan of 0 s, which was not set, was 1.0, and after "
            "main.writer.write it is 7.0; it is lent for that reaction alone: write and set it there, and call loan() "
            "for each value"
        ),
    ),
    (
        set_ones,
        write_a_tensor,
        (
            "main.reader.vector (@invector): [1] of the value of 0 s was 1.0, and after "
            "main.reader.read it is 9.0; others read the same memory: change a copy (port.tensor.clone())"
        ),
    ),
]


@every_way
def test_shared_values_that_are_changed_are_told_in_debug_mode(way: Any) -> None:
    """Row 26: by the end of the reaction that does it, in the same words wherever the others are."""
    for write, read, told in SHARED:
        main = Main(write, read)
        main.near = Reader()  # type: ignore[attr-defined]
        for port in ("number", "thing", "vector"):
            rx.connect(getattr(main.writer, port), getattr(main.near, port))  # type: ignore[attr-defined]
        error = failed(main, debug=True, **way)
        assert isinstance(error.__cause__, SharedValueError)
        assert marked(error.__cause__) == told


@every_way
def test_what_reactions_may_do_with_shared_values_is_not_told(way: Any) -> None:
    """Row 26: fill a loan in two reactions or take another value instead, set twice, keep what nobody changes."""

    def write(self: Any) -> None:
        self.kept = (self.kept or []) + [[1]]
        self.thing.set(self.kept[-1])
        self.kept[-1].append(2)
        self.thing.set(self.kept[-1])  # the last value counts
        self.vector.loan()[0] = 1
        loan = self.vector.loan()
        loan[1] = 2
        self.vector.set(loan * 3)
        loan = self.vector.loan()
        loan[0] += 1
        self.vector.set(loan)

    def read(self: Any) -> None:
        self.seen = self.vector.value.tolist(), self.thing.value

    main: Any = Main(write, read)
    told = warned(lambda: rx.run(main, fast=True, timeout="3 ms", debug=True, **way))
    assert all("no connection leads there" in each or "reads it" in each or "set twice" in each for each in told)
    assert main.reader.seen == ([4, 6], [1, 2])


def set_again(self: Any) -> None:
    self.number.set(1)  # @first
    for _ in range(2):
        self.number.set(2)  # @second


@every_way
def test_a_port_that_is_set_twice_is_told_in_debug_mode(way: Any) -> None:
    """Once for each two lines, at the second of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rx.run(Main(set_again, nothing), fast=True, timeout="3 ms", debug=True, **way)
    told = [marked(each.message) for each in caught if "set twice" in str(each.message)]
    assert told == [
        f"main.writer.number (@number) is set twice at 0 s, at {places}; the last value counts: set it once, or let "
        "its readers have each value by way of an action"
        for places in ("@first and then at @second", "@second and then at @second")
    ]


def keep_views(self: Any) -> None:
    self.views = [*getattr(self, "views", ()), self.vector.value[:1], self.vector.value]


@every_way
def test_views_that_are_kept_are_told_in_debug_mode(way: Any) -> None:
    told = warned(lambda: rx.run(Main(set_ones, keep_views), fast=True, timeout="1 ms", debug=True, **way))
    (found,) = (each for each in told if "nobody reads" not in each)
    assert found == (
        "main.reader.vector (@invector): somebody still has the value of 0 s at 1 ms; it is a view of memory that is "
        "written again, and valid during the reaction: keep a copy (value.copy())"
    )


# Draws


def draw(self: Any) -> None:
    import torch

    random.random(), np.random.rand(), torch.rand(1)  # noqa: NPY002
    self.number.set(1)


def draw_its_own(self: Any) -> None:
    import torch

    self.rng.random(), random.Random(self.seed).random()
    with rl.Seeded(self.seed):
        torch.rand(1)
    self.number.set(1)


def shared(generator: str, instead: str) -> str:
    return (
        f"while main.writer.write ran, the generator of {generator} was used, which all reactors of a process share, "
        f"so what it gives depends on the placement; take {instead}"
    )


DRAWN = [
    shared("the module random", "random.Random(self.seed)"),
    shared("numpy.random", "self.rng"),
    shared("torch", "with rl.Seeded(self.seed):, or generator=torch.Generator().manual_seed(self.seed)"),
]


@every_way
def test_draws_from_global_generators_are_told_in_debug_mode(way: Any) -> None:
    def run(write: Deed, **options: Any) -> list[str]:
        told = warned(lambda: rx.run(Main(write), fast=True, timeout="2 ms", **options, **way))
        return [each for each in told if "nobody reads" not in each]

    assert run(draw, debug=True) == DRAWN
    assert run(draw_its_own, debug=True) == run(draw) == []


@every_way
def test_tensors_with_a_graph_are_told_in_debug_mode(way: Any) -> None:
    def write(self: Any) -> None:
        import torch

        weight = torch.ones(2, requires_grad=True)
        self.thing.set({"weights": [weight * 2], "detached": weight.detach()})
        self.vector.set(weight)
        self.number.set(1)

    told = warned(lambda: rx.run(Main(write), fast=True, timeout="1 ms", debug=True, **way))
    assert [each for each in told if "nobody reads" not in each] == [
        f"main.writer.write sets main.writer.{port} to a tensor with requires_grad; its graph stays on the worker, so "
        "no gradient comes back: send tensor.detach()"
        for port in ("thing (@thing)", "vector (@vector)")
    ]


@every_way
def test_debug_mode_changes_no_value(way: Any) -> None:
    """Row 26: also where a port has readers on this worker and on another."""
    seen: dict[str, Any] = {}
    for debug in (False, True):
        main: Any = Main(lambda self: self.thing.set([7]), lambda self: setattr(self, "seen", self.thing.value))
        main.near = Reader(lambda self: setattr(self, "seen", self.thing.value))
        rx.connect(main.writer.thing, main.near.thing)
        told = warned(lambda main=main, debug=debug: rx.run(main, timeout=0, debug=debug, **way))  # type: ignore[misc]
        assert all("no connection leads there" in each or "nobody reads it" in each for each in told)
        seen[str(debug)] = vars(main.near)["seen"], vars(main.reader)["seen"]
    assert seen == {"False": ([7], [7]), "True": ([7], [7])}


# What runs besides, or afterwards


async def fetch() -> int:  # @fetch
    return 1


def steps() -> Any:  # @steps
    yield 1


class Unfinished(rx.Reactor):
    def __init__(self, start: Callable[[], object]) -> None:
        self.start = start

    @rx.reaction(rx.startup)  # @begin
    def begin(self) -> Any:
        return self.start()


class TooLate(rx.Reactor):
    def __init__(self, start: Callable[[], object]) -> None:
        self.start = start

    @rx.reaction(rx.startup)
    def begin(self) -> None: ...

    @begin.deadline(0)  # @late
    def late(self) -> Any:
        return self.start()


UNFINISHED = (
    ", and nothing would run it: a reaction runs to its end at one tag; call what returns its result, or bring results "
    "from outside in through a physical action"
)


def raise_lookup_error() -> None:
    raise LookupError("nothing there")


@every_backend
def test_what_reactions_return_that_would_have_to_go_on(backend: Any) -> None:
    for main, told in (
        (Unfinished(fetch), "main.begin at 0 s raised TypeError: begin (@begin) returns a coroutine of fetch (@fetch)"),
        (Unfinished(steps), "main.begin at 0 s raised TypeError: begin (@begin) returns a generator of steps (@steps)"),
        (
            TooLate(fetch),
            "the deadline of main.begin at 0 s raised TypeError: late (@late) returns a coroutine of fetch (@fetch)",
        ),
    ):
        assert marked(failed(main, backend=backend)) == told + UNFINISHED
    rx.run(Unfinished(lambda: [1]), backend=backend)  # which is over


@every_backend
def test_exception_in_what_is_for_a_missed_deadline(backend: Any) -> None:
    """Row 17."""
    error = failed(TooLate(raise_lookup_error), backend=backend)
    assert str(error) == "the deadline of main.begin at 0 s raised LookupError: nothing there"
    assert error.reaction == "main.begin"


@every_backend
def test_reactor_made_in_a_thread_that_a_reaction_started(backend: Any) -> None:
    """Row 28."""

    class Making(rx.Reactor):
        def __init__(self) -> None:
            self.told: list[str] = []

        def make(self) -> None:
            try:
                Writer()  # @apart
            except rx.StructureError as error:
                self.told.append(str(error))

        @rx.reaction(rx.startup)
        def begin(self) -> None:
            thread = threading.Thread(target=self.make)
            thread.start()
            thread.join()
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self.make).result()

    main = Making()
    rx.run(main, backend=backend)
    told = (
        "a Writer is made at @apart inside of a reaction, where nothing nests: the graph of the program is fixed by "
        "then, and no other program runs in it; make it in __init__ and let it wait for its first input, or before or "
        "after this program"
    )
    assert [marked(each) for each in main.told] == [told, told]
    thread = threading.Thread(target=Writer)  # no reaction started this one
    thread.start()
    thread.join()


# Deadlines


def test_deadline_without_a_method_for_those_who_miss_it() -> None:
    """Row 29."""
    for given in ({"deadline": "1 ms"}, {"late": print}):
        told = refused(rx.DeclarationError, lambda given=given: Writer().add_reaction(rx.startup, print, **given))  # type: ignore[misc]
        assert told.endswith("deadline and late go together: how long, and what to run instead")
    told = refused(rx.ArgumentError, lambda: rx.reaction(rx.startup, deadline="1 ms"))  # type: ignore[arg-type]  # @late
    assert told == (
        "rx.reaction (@late) has no parameter 'deadline'; below the method, declare what runs instead when it is late: "
        '@NAME.deadline("5 ms")'
    )


class Unreadable:
    """Is pickled well, and is not unpickled."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def test_a_value_that_cannot_be_sent_to_a_process_names_the_action() -> None:
    class Bell(rx.Reactor):
        rung = rx.PhysicalAction()  # @rung

        @rx.reaction(rung, effects=rx.stop)
        def ring(self) -> None:
            _ = self.rung.value
            self.request_stop()

    def ring(value: object) -> None:
        main = Bell()
        failed: list[BaseException] = []

        def send(*_: object) -> None:
            try:
                main.rung.schedule(value)
            except rx.ReactorError as error:
                failed.append(error)
                main.rung.schedule(None)

        rx.run(main, backend="process", progress=send)
        raise failed[0]

    unsendable: Any = Future()
    unsendable.lock = threading.Lock()
    assert refused(rx.ValueMismatchError, lambda: ring(unsendable)) == (
        "main.rung (@rung): a Future cannot be sent to another process (cannot pickle '_thread.RLock' object); send "
        "plain data"
    )
    with pytest.raises(rx.ReactionError) as caught:
        ring(Unreadable())
    assert marked(caught.value.__cause__) == (
        "main.rung (@rung): what was sent there cannot be unpickled here (ValueError: invalid literal for int() with "
        "base 10: 'no number'); send plain data"
    )


def test_a_value_that_cannot_be_unpickled_names_the_port_that_it_was_sent_to() -> None:
    class Talker(rx.Reactor):
        out = rx.Output()

        @rx.reaction(rx.startup, effects=out)
        def talk(self) -> None:
            self.out.set(Unreadable())

    class Hearer(rx.Reactor):
        inp = rx.Input()  # @hears

        @rx.reaction(inp)
        def hear(self) -> None:
            _ = self.inp.value

    class Both(rx.Reactor):
        def __init__(self) -> None:
            self.talker, self.hearer = Talker(), Hearer()
            rx.connect(self.talker.out, self.hearer.inp)

    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Both(), workers=2, backend="process", placement={"main.hearer": 1})
    assert marked(caught.value.__cause__) == (
        "main.hearer.inp (@hears): what was sent there cannot be unpickled here (ValueError: invalid literal for int() "
        "with base 10: 'no number'); send plain data"
    )


@pytest.mark.parametrize(("backend", "workers"), [("inline", 1), ("thread", 2), ("process", 1)])
@pytest.mark.parametrize("whole", [lambda main: main, rx.Graph], ids=["reactor", "graph"])
def test_a_program_that_runs_is_refused_to_a_second_thread(
    backend: Any, workers: int, whole: Callable[[rx.Reactor], Any]
) -> None:
    """Whatever the backend, and the first run does not notice."""

    class Waiting(rx.Reactor):
        done = rx.PhysicalAction(int)

        def __init__(self) -> None:
            self.got: list[int] = []

        @rx.reaction(done, effects=rx.stop)
        def end(self) -> None:
            self.got.append(self.done.value)
            self.request_stop()

    main = Waiting()  # @waiting
    program, begun = whole(main), threading.Event()
    options: Any = {"backend": backend, "workers": workers, "progress": lambda *_: begun.set()}
    first = threading.Thread(target=lambda: rx.run(program, **options))
    first.start()
    try:
        begun.wait()
        told = refused(rx.StructureError, lambda: rx.run(program, timeout=0))
    finally:
        while not main.done.schedule(7):
            time.sleep(0.001)
        first.join()
    assert told == (
        "main (made at @waiting) is running already, in this thread or another; wait for the end of that run, or make "
        "another one"
    )
    assert main.got == [7]
    rx.run(program, timeout=0)


class Part(rx.Reactor):
    tick = rx.Timer(0, "1 ms")

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()

    @rx.reaction(tick, effects=rx.stop)
    def wait(self) -> None:
        self.begun.set()
        self.end.wait()
        self.request_stop()


class Parts(rx.Reactor):
    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts


@pytest.mark.parametrize(("backend", "workers"), [("inline", 1), ("thread", 2), ("process", 2)])
@pytest.mark.parametrize("start", [rx.run, lambda main: Stepwise(main).advance()], ids=["run", "stepwise"])
def test_a_program_of_which_a_part_runs_by_itself_is_refused(
    backend: Any, workers: int, start: Callable[[rx.Reactor], object]
) -> None:
    part = Part()  # @part
    main = Parts([Part(), part])
    first = threading.Thread(target=lambda: start(part))
    first.start()
    try:
        part.begun.wait()
        told = refused(rx.StructureError, lambda: rx.run(main, backend=backend, workers=workers, timeout=0))
    finally:
        part.end.set()
        first.join()
    assert told == (
        "main.parts[1] (made at @part) is running already by itself, in this thread or another; wait for the end of "
        "that run, or make another one"
    )


def test_a_graph_of_what_has_become_a_part_of_another_program_is_not_run() -> None:
    part = Part()  # @part
    graph = rx.Graph(part)
    rx.Graph(Parts([Part(), part]))
    assert refused(rx.ContainmentError, lambda: rx.run(graph, timeout=0)) == (
        "main.parts[1] (made at @part) is contained in main, a Parts; run that, or make another Part"
    )


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_a_reactor_is_refused_to_threads_of_its_own_reactions(backend: Any) -> None:
    class Again(rx.Reactor):
        @rx.reaction(rx.startup)
        def begin(self) -> None:
            thread = threading.Thread(target=self.run_again)
            thread.start()
            thread.join()

        def run_again(self) -> None:
            try:
                rx.run(self)
            except rx.ReactorError as error:
                self.told = type(error).__name__, "or of a thread that one started" in str(error)

    main = Again()
    rx.run(main, backend=backend)
    assert main.told == ("StructureError", True)


def test_one_reaction_at_one_tag_is_so_in_the_summary() -> None:
    class Once(rx.Reactor):
        @rx.reaction(rx.startup)
        def begin(self) -> None: ...

    result = rx.run(Once(), timeout=0)
    assert result.summary().startswith("1 reaction at 1 tag in ")


def test_missed_deadlines_are_counted_in_the_summary() -> None:
    """Row 29."""

    class Hasty(rx.Reactor):
        tick = rx.Timer(0, "1 ns")

        @rx.reaction(tick)
        def slow(self) -> None:
            time.sleep(0.001)

        @rx.reaction(tick)
        def hurry(self) -> None: ...
        @hurry.deadline("1 us")
        def late(self) -> None: ...

    result = rx.run(Hasty(), timeout="2 ns")
    assert {each.path: each.late for each in result.statistics} == {"main.slow": 0, "main.hurry": 3}
    assert "  3 late" in next(line for line in result.summary().splitlines() if "main.hurry" in line)


# Physical actions


class Button(rx.Reactor):
    tick = rx.Timer(0, "100 ms")
    pressed = rx.PhysicalAction(int)

    def __init__(self) -> None:
        self.answers: list[bool] = []
        self.seen: list[Any] = []

    @rx.reaction(tick, effects=pressed)
    def press(self) -> None:
        self.answers.append(self.pressed.schedule(self.tag.time))

    @rx.reaction(pressed)
    def see(self) -> None:
        self.seen.append((self.pressed.value, self.tag > rx.Tag(self.pressed.value, 0)))


@every_way
def test_physical_action_in_fast_mode(way: Any) -> None:
    """Row 30: gets the physical time since the start, or the next microstep if logical time is ahead of that."""
    button = Button()
    rx.run(button, fast=True, timeout="200 ms", keepalive=True, **{**way, "placement": "auto"})
    assert button.answers[:2] == [True, True]
    assert button.seen[:2] == [(0, True), (100_000_000, True)]


@every_way
def test_physical_action_before_and_after_the_run(way: Any) -> None:
    """Row 33: is refused, and says so."""
    button = Button()
    assert button.pressed.schedule(1) is False
    rx.run(button, fast=True, timeout=0, **{**way, "placement": "auto"})
    assert button.pressed.schedule(1) is False
    assert not [value for value, _ in button.seen if value == 1]


@every_way
def test_physical_action_as_a_callback_that_was_registered_before_the_run(way: Any) -> None:
    """Row 33: is taken while the program runs."""

    class Waiting(rx.Reactor):
        pressed = rx.PhysicalAction(int)

        def __init__(self) -> None:
            self.seen = 0

        @rx.reaction(pressed, effects=rx.stop)
        def see(self) -> None:
            self.seen = self.pressed.value
            self.request_stop()

    waiting = Waiting()
    callback, over = waiting.pressed.schedule, threading.Event()

    def press() -> None:
        while not callback(5) and not over.wait(0.001):
            pass

    thread = threading.Thread(target=press)
    thread.start()
    try:
        rx.run(waiting, timeout="60 s", **{**way, "placement": "auto"})
    finally:
        over.set()
        thread.join()
    assert waiting.seen == 5


# What rx.run is given


@every_way
def test_more_memory_than_there_is(way: Any) -> None:
    """Row 36: nothing starts, and the largest ports are named with what each takes."""

    class Huge(rx.Reactor):
        picture = rx.Output(shape=(1 << 20, 1 << 20), dtype="f8")
        label = rx.Output(shape=(1 << 20, 4), dtype="f8")

        @rx.reaction(rx.startup, effects=(picture, label))
        def start(self) -> None:
            raise AssertionError("it has started")

    with pytest.raises(rx.MemoryTooSmall) as caught:
        rx.run(Huge(), **{**way, "placement": "auto"})
    told = str(caught.value)
    assert told.startswith("main: the program's ports need 8.0 TiB of shared memory, but ")
    assert "are free; the largest: main.picture 8.0 TiB, main.label 32.0 MiB" in told
    assert told.endswith("; make their shapes or widths smaller, or use fewer workers")


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        *(
            (
                {"workers": workers},
                rx.ArgumentError,
                f"workers of rx.run is {workers!r}; write a whole number, 1 or more, or workers='auto' for all cores",
            )
            for workers in (0, -1, None, True, "all")
        ),
        ({"workers": 65}, rx.ArgumentError, "workers of rx.run is 65; there can be 64 at most"),
        ({"seed": -1}, rx.ArgumentError, "seed of rx.run is -1; write a whole number, 0 or more"),
        (
            {"max_microsteps": 2**70},
            rx.ArgumentError,
            f"max_microsteps of rx.run is {2**70}, more than 64 bits hold; leave it out for no limit",
        ),
        ({"max_microsteps": 0}, rx.ArgumentError, "max_microsteps of rx.run is 0; write a whole number, 1 or more"),
        ({"fast": "no"}, rx.ArgumentError, "fast of rx.run is 'no', of type str; write True or False"),
        ({"keepalive": 3}, rx.ArgumentError, "keepalive of rx.run is 3, of type int; write True or False"),
        ({"debug": None}, rx.ArgumentError, "debug of rx.run is None, of type NoneType; write True or False"),
        (
            {"trace": Path("/nowhere/trace.json")},
            rx.ArgumentError,
            "trace of rx.run is '/nowhere/trace.json', but there is no folder '/nowhere'; make it",
        ),
        (
            {"placement": 3},
            PlacementError,
            'placement of rx.run is 3; write "auto", a dict or a function of path -> worker',
        ),
        (
            {"placement": {"main.nobody": 0}},
            PlacementError,
            "placement names 'main.nobody', and there is no such reactor; paths look like 'main.reader'",
        ),
    ],
)
def test_wrong_argument_of_run(options: Any, error: type[rx.ReactorError], told: str) -> None:
    """Row 8."""
    assert refused(error, lambda: rx.run(Main(), **options)) == told
