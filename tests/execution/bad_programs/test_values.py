"""Values that ports and actions do not take, or that nothing asked for: refused when they are set or read."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.execution.bad_programs.writer_and_reader import Main, Writer, every_backend, every_way, failed, nothing
from tests.messages import marked, refused, warned

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


def test_reading_without_asking_is_reported_in_debug_mode() -> None:
    """An absent port is None; which may surprise where it is no trigger."""

    def main(*, ask: bool) -> rx.Reactor:
        found = rx.Reactor()
        found.writer, found.reader = Writer(), Peeping(ask=ask)  # type: ignore[attr-defined]
        rx.connect(found.writer.number, found.reader.number)  # type: ignore[attr-defined]
        return found

    def run(*, ask: bool, debug: bool) -> list[str]:
        words = warned(lambda: rx.run(main(ask=ask), timeout=0, debug=debug))
        return [each for each in words if "nothing reads" not in each]

    assert run(ask=False, debug=False) == run(ask=True, debug=True) == []
    assert run(ask=False, debug=True) == [
        (
            "main.reader.look reads main.reader.number (@peeped) without asking for .is_present; it is no trigger of "
            "this reaction, so it may be absent, and its value None"
        )
    ]


def test_channels_that_are_present_were_asked_for() -> None:
    """Also where all of them are, or none, or where only one of them is read by its index."""

    class Looking(rx.Reactor):
        tick = rx.Timer()
        numbers = rx.Input(int, width=2)  # @numbers
        others = rx.Input(int, width=2)  # @others

        @rx.reaction(tick, uses=(numbers, others))
        def look(self) -> None:
            self.seen = [self.numbers[i].value for i in self.numbers.present]
            _ = self.others[1].value

    def write(self: Any) -> None:
        self.number.set(1)

    class Both(rx.Reactor):
        def __init__(self, written: int) -> None:
            self.writers: Any = rx.bank(2, Writer, lambda i: write if i < written else nothing)
            self.looking = Looking()
            rx.connect(self.writers.number, self.looking.numbers)
            rx.connect(self.writers.number, self.looking.others)

    for written in range(3):
        main = Both(written)
        words = warned(partial(rx.run, main, timeout=0, debug=True))
        (word,) = [each for each in words if "nothing reads" not in each]
        assert word.startswith("main.looking.look reads main.looking.others[1] (@others) without asking")
        assert main.looking.seen == [1] * written


# Writing


class Carrying(rx.Reactor):
    """Sets its port to values, one after another, and notes what is said of each."""

    def __init__(self, shape: tuple[int, ...], dtype: str, values: list[Any]) -> None:
        self.port = rx.Output(shape=shape, dtype=dtype)  # @port
        self.values, self.words = values, list[Any]()
        self.add_reaction(rx.startup, self.carry, effects=self.port)

    def carry(self) -> None:
        for value in self.values:
            try:
                self.port.set(value)
            except rx.ValueMismatchError as error:
                self.words.append(marked(error))
            else:
                self.words.append(self.port.value.tolist())


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
    """An error, and what was set before stays; fractions are rounded to the nearest, as by NumPy."""
    for shape, dtype, pairs in LOSSY:
        main: Any = Carrying(shape, dtype, [value for value, _ in pairs])
        rx.run(main, backend=backend)
        assert main.words == [words for _, words in pairs]


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
    """Always checked."""
    error = failed(Main(lambda self: self.vector.set(value)), **way)
    assert isinstance(error.__cause__, rx.ValueMismatchError)
    assert marked(error.__cause__) == (
        f"main.writer.vector (@vector) takes arrays of shape (2,) and dtype float32, and was given {given}; convert it "
        "first"
    )


@every_way
def test_rows_of_unequal_lengths_are_no_array(way: Any) -> None:
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


def test_object_that_does_not_fit_is_reported_in_debug_mode() -> None:
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
def test_object_that_an_action_does_not_take_is_reported_in_debug_mode(backend: Any, name: str) -> None:
    """Of actions."""
    main = Telling(lambda self: getattr(self, name).schedule("one"))
    rx.run(main, backend=backend)
    error = failed(main, debug=True, backend=backend)
    assert isinstance(error.__cause__, rx.ValueMismatchError)
    assert marked(error.__cause__) == (
        f"main.{name} (@telling) takes int and was given 'one', of type str; convert it, or declare that type"
    )


@every_backend
def test_object_from_outside_that_an_action_does_not_take_is_reported_in_debug_mode(backend: Any) -> None:
    """Of actions: the caller of schedule() gets the error."""
    words: list[str] = []

    def press() -> None:
        while not main.heard.schedule(1):
            time.sleep(0.001)
        try:
            main.heard.schedule("one")  # type: ignore[arg-type]
        except rx.ValueMismatchError as error:
            words.append(str(error))

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
    assert len(words) == 1
    assert "takes int and was given 'one'" in words[0]


@every_way
@pytest.mark.parametrize(
    ("delay", "words"),
    [
        (-1, "is negative (-1), but time never goes back; write a duration without a sign"),
        ("-1 ms", "is negative ('-1 ms'), but time never goes back; write a duration without a sign"),
        (0.5, 'is 0.5, of type float; write a string such as "10 ms", a datetime.timedelta, or a whole number of'),
    ],
)
def test_delay_of_schedule_that_is_none(way: Any, delay: Any, words: str) -> None:
    error = failed(Main(lambda self: self.again.schedule(delay=delay)), **way)
    assert isinstance(error.__cause__, ValueError)
    assert marked(error.__cause__).startswith(f"the delay of schedule of main.writer.again (@again) {words}")


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
