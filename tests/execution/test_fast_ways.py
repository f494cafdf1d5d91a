"""Do numbers, short texts and arrays go from worker to worker in C, with no Python in between, and as what they are?"""

from __future__ import annotations

import enum
from sys import intern
from typing import Any

import numpy as np
import pytest

import reactors as rx
from reactors.execution import live_ports
from reactors_runtime._core import ffi, lib

ROOM = lib.RX_OBJECT_SLOT - ffi.sizeof("rx_record")  # bytes that lie in a slot as they are
PROCESSES = {"workers": 2, "backend": "process", "placement": {"main.sender": 0, "main.receiver": 1}}


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()


def counted(counts: dict[str, int], kind: type, name: str) -> None:
    """From now on, in this process, calls of a method that does in Python what is left to it are counted."""
    before = getattr(kind, name)

    def count(self: Any, *given: Any) -> Any:
        counts[name] = counts.get(name, 0) + 1
        return before(self, *given)

    setattr(kind, name, count)


class Sender(rx.Reactor):
    out = rx.Output()
    again = rx.LogicalAction()

    def __init__(self, values: list[Any]) -> None:
        self.values, self.counts = values, dict[str, int]()

    @rx.reaction(rx.startup, again, effects=(out, again))
    def send(self) -> None:
        if self.tag.microstep == 0:
            counted(self.counts, live_ports.PicklePort, "_put")
        if self.tag.microstep < len(self.values):
            self.out.set(self.values[self.tag.microstep])
            self.again.schedule()


class Receiver(rx.Reactor):
    inp = rx.Input()

    def __init__(self) -> None:
        self.seen, self.counts = list[Any](), dict[str, int]()

    @rx.reaction(rx.startup)
    def count(self) -> None:
        counted(self.counts, live_ports.PicklePort, "_get")

    @rx.reaction(inp)
    def see(self) -> None:
        assert self.inp.is_present
        self.seen.append(self.inp.value)


class Main(rx.Reactor):
    def __init__(self, values: list[Any], after: str | None = None) -> None:
        self.sender, self.receiver = Sender(values), Receiver()
        rx.connect(self.sender.out, self.receiver.inp, after=after)


PLAIN = [
    *(0, 1, -1, 2**63 - 1, -(2**63), True, False, None, 0.0, -0.0, 1e308, float("inf")),
    *("", "text", "ä\0€", b"", b"\0\xff"),
    *(np.int64(-5), np.float64(0.1), np.float32(0.1), np.float32("inf")),
]  # fmt: skip
PICKLED = [
    2**63,
    -(2**63) - 1,
    Colour.RED,
    Text("own"),
    "x" * (ROOM + 1),
    b"x" * (ROOM + 1),
    "\ud800",
    np.int32(3),
    np.bool_(1),
    (1,),
    np.arange(3),
]


def told_apart(values: list[Any]) -> list[tuple[type, str]]:
    return [(type(value), repr(value)) for value in values]


@pytest.mark.parametrize("after", [None, "1 ms"], ids=["now", "later"])
def test_plain_values_arrive_as_they_are_without_a_pickle(after: str | None) -> None:
    main = Main([*PLAIN, "x" * ROOM, b"x" * ROOM], after)
    rx.run(main, fast=True, **PROCESSES)
    assert told_apart(main.receiver.seen) == told_apart(main.sender.values)
    assert main.sender.counts == {}
    assert main.receiver.counts == {}


def test_a_nan_is_one() -> None:
    main = Main([float("nan"), np.float64("nan")])
    rx.run(main, fast=True, **PROCESSES)
    assert [type(value) for value in main.receiver.seen] == [float, np.float64]
    assert all(np.isnan(main.receiver.seen))


@pytest.mark.parametrize("after", [None, "1 ms"], ids=["now", "later"])
def test_all_else_keeps_its_type_by_a_pickle(after: str | None) -> None:
    values = [
        each for pair in zip(PICKLED, range(len(PICKLED)), strict=True) for each in pair
    ]  # slots are used by both
    main = Main(values, after)
    rx.run(main, fast=True, **PROCESSES)
    assert told_apart(main.receiver.seen) == told_apart(values)
    assert main.sender.counts == {"_put": len(PICKLED)}
    assert main.receiver.counts == {"_get": len(PICKLED)}


class Arrays(rx.Reactor):
    """Sets arrays of its own, and a multiport at once."""

    one = rx.Output(shape=(2, 3), dtype=np.float32)
    number = rx.Output(dtype=np.int64)
    several = rx.Output(width=4, shape=(2,), dtype=np.int16)
    each = rx.Output(int, width=4)
    plain = rx.Input(shape=(2,), dtype=np.float64)

    def __init__(self) -> None:
        self.counts = dict[str, int]()
        self.unpickled = np.full((2, 3), 7, np.float32)  # where the reaction runs

    @rx.reaction(rx.startup, effects=(one, number, several, each))
    def go(self) -> None:
        for kind, name in ((live_ports.ArrayPort, "_put"), (live_ports.LiveMultiport, "_set_each")):
            counted(self.counts, kind, name)
        self.one.set(np.zeros((2, 3), np.float32))
        self.one.set(self.unpickled)
        self.number.set(5)
        self.several.set(np.arange(8, dtype=np.int16).reshape(4, 2))
        self.each.set([1, 2, 3, 4])


class Reads(rx.Reactor):
    one = rx.Input(shape=(2, 3), dtype=np.float32)
    number = rx.Input(dtype=np.int64)
    several = rx.Input(width=4, shape=(2,), dtype=np.int16)
    each = rx.Input(int, width=4)

    def __init__(self) -> None:
        self.counts, self.seen = dict[str, int](), list[Any]()

    @rx.reaction(rx.startup)
    def count(self) -> None:
        for kind, name in ((live_ports.ArrayPort, "_get"), (live_ports.LiveMultiport, "_gathered")):
            counted(self.counts, kind, name)

    @rx.reaction(one, number, several, each)
    def see(self) -> None:
        self.seen = [self.one.value.copy(), int(self.number.value), self.several.array.copy(), self.each.value]
        self.array = self.each.array


class Program(rx.Reactor):
    def __init__(self) -> None:
        self.sender, self.receiver = Arrays(), Reads()
        for name in ("one", "number", "several", "each"):
            rx.connect(getattr(self.sender, name), getattr(self.receiver, name))


def test_arrays_and_numbers_with_a_dtype_go_without_python_in_worker_processes() -> None:
    main = Program()
    rx.run(main, fast=True, **PROCESSES)
    one, number, several, each = main.receiver.seen
    assert one.tolist() == [[7.0] * 3] * 2
    assert (number, each) == (5, [1, 2, 3, 4])
    assert (main.receiver.array.tolist(), main.receiver.array.dtype) == (each, np.int64)
    assert several.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert main.sender.counts == {}
    assert main.receiver.counts == {}


class Parts(rx.Reactor):
    """Sets a part of what it was lent, and an array with other strides."""

    out = rx.Output(shape=(3,), dtype=np.int64)
    other = rx.Output(shape=(2, 3), dtype=np.int64)
    inp = rx.Input(shape=(3,), dtype=np.int64)

    def __init__(self) -> None:
        self.seen = list[Any]()
        rx.connect(self.out, self.inp)

    @rx.reaction(rx.startup, effects=(out, other))
    def go(self) -> None:
        lent = self.out.loan()
        lent[:] = 1, 2, 3
        self.out.set(lent[:])
        turned = np.arange(6).reshape(3, 2).T
        self.other.set(turned)
        self.seen = [lent.tolist(), self.other.value.tolist()]


def test_a_view_of_the_loan_and_an_array_that_is_not_contiguous_are_set_as_any_array() -> None:
    main = Parts()
    rx.run(main, fast=True)
    assert main.seen == [[1, 2, 3], [[0, 2, 4], [1, 3, 5]]]


class Keeps(rx.Reactor):
    """Keeps its multiport beyond the run."""

    out = rx.Output(int, width=2)

    @rx.reaction(rx.startup, effects=out)
    def go(self) -> None:
        self.out.set([1, 2])
        self.kept = self.out


def test_a_multiport_that_is_kept_beyond_the_run_refuses() -> None:
    main = Keeps()
    rx.run(main, fast=True)
    assert [main.kept[i].path for i in (0, 1, -1)] == ["main.out[0]", "main.out[1]", "main.out[1]"]
    assert len(main.kept) == 2
    assert [channel.path for channel in main.kept] == ["main.out[0]", "main.out[1]"]
    for use in ("set([1, 2])", "set_all([1, 2])", "array", "value", "is_present", "present"):
        with pytest.raises(rx.OutsideReactionError, match=r"main\.out"):
            eval(f"main.kept.{use}")


class Row(rx.Reactor):
    """Says on each channel what it is told, and how."""

    out = rx.Output(shape=2, dtype=np.float64, width=3)
    single = rx.Output(int)

    def __init__(self, way: str) -> None:
        self.way, self.errors, self.n = way, list[str](), 0

    @rx.reaction(rx.startup, effects=(out, single))
    def go(self) -> None:
        self.n = len(self.out)
        values = np.arange(6.0).reshape(3, 2)
        if self.way == "set_all":
            self.out.set_all(values)
        elif self.way == "loop":
            for port, value in zip(self.out, values, strict=True):
                port.set(value)
        else:
            for i in range(len(self.out)):
                self.out[i].set(values[i])
        for wrong in (lambda: self.single.set_all([1]), lambda: self.out.set_all([1])):
            try:
                wrong()
            except (TypeError, rx.ReactorError) as error:
                self.errors.append(str(error))


class Number(rx.Reactor):
    inp = rx.Input(int)

    @rx.reaction(inp)
    def see(self) -> None:
        pass


class Whole(rx.Reactor):
    inp = rx.Input(shape=2, dtype=np.float64, width="n")

    def __init__(self, n: int) -> None:
        self.n, self.seen = n, list[Any]()

    @rx.reaction(inp)
    def see(self) -> None:
        self.seen.append((self.inp.array.tolist(), [port.value.tolist() for port in self.inp]))


class Rows(rx.Reactor):
    def __init__(self, way: str) -> None:
        self.row, self.whole, self.one, self.number = Row(way), Whole(3), Whole(1), Number()
        rx.connect(self.row.single, self.number.inp)
        rx.connect(self.row.out, self.whole.inp)
        rx.connect(self.row.out[0], self.one.inp[0])


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("settings", [{}, {"workers": 2, "backend": "process"}, {"workers": 2, "backend": "thread"}])
@pytest.mark.parametrize("way", ["set_all", "loop", "index"])
def test_a_multiport_is_set_as_a_whole_or_channel_by_channel(way: str, settings: Any, debug: bool) -> None:
    main = Rows(way)
    rx.run(main, fast=True, debug=debug, placement={"main.row": 0} if settings else "auto", **settings)
    values = [[0, 1], [2, 3], [4, 5]]
    assert main.whole.seen == [(values, values)]
    assert main.one.seen == [(values[:1], values[:1])]
    assert main.row.n == 3
    single, few = main.row.errors
    assert "main.row.single" in single
    assert "a single port" in single
    assert "3 channels" in few


def test_arrays_without_an_entry_are_set() -> None:
    class Empty(rx.Reactor):
        out = rx.Output(shape=(2, 0), dtype=np.float32)

        @rx.reaction(rx.startup, effects=out)
        def go(self) -> None:
            self.out.set(np.empty((2, 0), np.float32))
            self.shape = self.out.value.shape

    main = Empty()
    rx.run(main, fast=True)
    assert main.shape == (2, 0)


# ---- rows of numbers ----


class SetsRows(rx.Reactor):
    """Sets what it is given, and keeps what is in the port then."""

    def __init__(self, dtype: Any, values: list[Any], shape: tuple[int, ...]) -> None:
        self.out = rx.Output(shape=shape, dtype=dtype)
        self.values, self.counts, self.seen = values, dict[str, int](), list[Any]()
        self.add_reaction(rx.startup, self.set_all_of_them, effects=self.out)

    def set_all_of_them(self) -> None:
        counted(self.counts, live_ports.ArrayPort, "_put")
        for value in self.values:
            try:
                self.out.set(value)
            except (rx.ValueMismatchError, TypeError) as error:
                self.seen.append(type(error))
            self.seen.append(self.out.loan().tolist())


def rows_set(dtype: Any, *values: Any, shape: tuple[int, ...] = (3,)) -> tuple[list[Any], int]:
    main = rx.Reactor()
    main.rows, main.reader = SetsRows(dtype, list(values), shape), ReadsRows(dtype, shape)  # type: ignore[attr-defined]
    rx.connect(main.rows.out, main.reader.inp)  # type: ignore[attr-defined]
    before = live_ports.ArrayPort._put
    try:
        rx.run(main)
    finally:
        live_ports.ArrayPort._put = before  # type: ignore[method-assign]
    return main.rows.seen, main.rows.counts.get("_put", 0)  # type: ignore[attr-defined]


class ReadsRows(rx.Reactor):
    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        self.inp = rx.Input(shape=shape, dtype=dtype)
        self.add_reaction(self.inp, self.see)

    def see(self) -> None: ...


@pytest.mark.parametrize(
    ("dtype", "values"),
    [(np.bool_, [True, False]), (np.int64, [5, -(2**63)]), (np.float32, [0.5]), (np.float64, [1e308])],
)
def test_a_number_is_set_in_c_where_its_type_is_the_ports(dtype: Any, values: list[Any]) -> None:
    seen, in_python = rows_set(dtype, *values, shape=())
    assert seen == values
    assert in_python == 0


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (np.int64, [(1, -2, 2**63 - 1), [4, 5, 6]]),
        (np.float64, [(0.5, -0.0, 1e308), [1.5, float("inf"), 2.5]]),
        (np.float32, [(0.5, -0.0, 1.5), [1.5, float("inf"), 3e38]]),
    ],
)
def test_a_short_row_of_numbers_is_set_in_c(dtype: Any, values: list[Any]) -> None:
    seen, in_python = rows_set(dtype, *values)
    assert seen == [np.array(value, dtype).tolist() for value in values]
    assert in_python == 0


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.int64, (1, 2, 2**63)),
        (np.int64, (1, 2, "x")),
        (np.float32, (1.0, 2.0, 1e39)),
        (np.float64, (1.0, 2.0)),
        (np.float64, [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_a_row_that_is_refused_leaves_the_value_as_it_was(dtype: Any, value: Any) -> None:
    first = np.arange(3).astype(dtype).tolist()
    seen, in_python = rows_set(dtype, first, value)
    assert seen[0] == first
    assert issubclass(seen[1], rx.ValueMismatchError | TypeError)
    assert seen[2] == first
    assert in_python == 1


def test_other_rows_are_left_to_python() -> None:
    seen, in_python = rows_set(np.float64, (1, 2.0, True), np.arange(3), [np.float64(1), 2, 3])
    assert seen == [[1.0, 2.0, 1.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    assert in_python == 3


class Looks(rx.Reactor):
    def __init__(self, count: int) -> None:
        self.count_of_what_there_is, self.strangers = count, list[str]()

    @rx.reaction(rx.startup)
    def look(self) -> None:
        self.strangers = [name for name in vars(self) if name is not intern(name)]


def test_code_finds_attributes_by_the_addresses_of_their_names_in_worker_processes_too() -> None:
    """CPython compares names letter by letter where they are not interned, and its fast way does not find them."""
    main = rx.Reactor()
    main.one, main.two = Looks(1), Looks(2)  # type: ignore[attr-defined]
    rx.run(main, workers=2, backend="process", placement={"main.one": 0, "main.two": 1})
    for each in (main.one, main.two):  # type: ignore[attr-defined]
        assert each.strangers == []
        assert each.count_of_what_there_is > 0
