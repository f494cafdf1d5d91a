"""What values travel, and who has which object (catalogue, section 6)."""

from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.oracle.ways import WAYS, Way, note, trace
from tests.semantics.sources_and_sinks import sinks, sources


def test_an_array_is_passed_as_it_was_when_it_was_set() -> None:
    """Ports 8: typed or not.

    What the writer does to its own array afterwards is not seen, and no reader can write into it.
    """

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            typed = rx.Output(shape=(2,), dtype="f8")
            loose = rx.Output()

            @rx.reaction(rx.startup, effects=(typed, loose))
            def send(self) -> None:
                for port in (self.typed, self.loose):
                    array = np.array([1.0, 2.0])
                    port.set(array)
                    array[:] = -1.0

        class Sink(rx.Reactor):
            typed = rx.Input(shape=(2,), dtype="f8")
            loose = rx.Input()

            @rx.reaction(typed, loose)
            def see(self) -> None:
                for port in (self.typed, self.loose):
                    note(self, port.value.tolist(), port.value.flags.writeable)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink, self.late = Source(), Sink(), Sink()
                rx.connect(self.source.typed, self.sink.typed)
                rx.connect(self.source.loose, self.sink.loose)
                rx.connect(self.source.typed, self.late.typed, after=3)
                rx.connect(self.source.loose, self.late.loose, after=3)

        return Main()

    assert trace(program) == {
        "main.sink": [(0, 0, [1.0, 2.0], False), (0, 0, [1.0, 2.0], False)],
        "main.late": [(3, 0, [1.0, 2.0], False), (3, 0, [1.0, 2.0], False)],
    }


def test_a_view_that_cannot_be_written_is_passed_as_it_was_if_others_can_write_there() -> None:
    """Ports 8: NumPy's windows are read-only by default, and what they show goes on changing."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick = rx.Timer(0, 1)
            out = rx.Output()

            def __init__(self) -> None:
                self.past = np.zeros(4)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.past[:-1] = self.past[1:]
                self.past[-1] = self.tag.time + 1
                self.out.set(np.lib.stride_tricks.sliding_window_view(self.past, 2)[-1])

        class Sink(rx.Reactor):
            given = rx.Input()

            @rx.reaction(given)
            def see(self) -> None:
                note(self, self.given.value.tolist())

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.given, after=1)

        return Main()

    assert trace(program, timeout=3) == {"main.sink": [(1, 0, [0.0, 1.0]), (2, 0, [1.0, 2.0]), (3, 0, [2.0, 3.0])]}


def test_an_array_of_objects_is_read_only_for_each_reader() -> None:
    """Ports 8: also where it was pickled on the way."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output()

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                self.out.set(np.array([1, None], object))

        class Sink(rx.Reactor):
            given = rx.Input()

            @rx.reaction(given)
            def write(self) -> None:
                try:
                    self.given.value[0] = 99
                except ValueError as error:
                    note(self, str(error))

            @rx.reaction(given)
            def see(self) -> None:
                note(self, self.given.value.tolist())

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.given)

        return Main()

    assert trace(program) == {"main.sink": [(0, 0, "assignment destination is read-only"), (0, 0, [1, None])]}


class Blocks(rx.Reactor):
    tick = rx.Timer(0, "1 ns")
    out = rx.Output(shape=(2,), dtype=np.dtype("(3,)f4"))

    @rx.reaction(tick, effects=out)
    def send(self) -> None:
        self.out.set(np.full((2, 3), self.tag.time, "f4"))


class Sums(rx.Reactor):
    given = rx.Input(shape=(2,), dtype=np.dtype("(3,)f4"))

    def __init__(self) -> None:
        self.seen: list[float] = []

    @rx.reaction(given)
    def see(self) -> None:
        self.seen.append(float(self.given.value.sum()))


class Far(rx.Reactor):
    def __init__(self) -> None:
        self.blocks, self.sums = Blocks(), Sums()
        rx.connect(self.blocks.out, self.sums.given, after="40 ns")


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_values_whose_dtype_is_itself_an_array_travel_far(way: Way) -> None:
    """Ports 4: a typed port keeps its own copy, also of a dtype that is an array; a rule of our own."""
    main = Far()
    way.run(main, ["main.blocks", "main.sums"], timeout="59 ns")
    assert main.sums.seen == [6.0 * k for k in range(20)]


def test_a_loan_counts_only_once_it_is_set() -> None:
    """Ports 4: to write into the memory of a port is not to set it; a rule of our own."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(shape=(2,), dtype="i4")
            tick = rx.Timer(0, 1)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                slot = self.out.loan()
                slot[:] = self.tag.time
                if self.tag.time % 2:
                    self.out.set(slot)

        class Sink(rx.Reactor):
            value = rx.Input(shape=(2,), dtype="i4")

            @rx.reaction(value)
            def see(self) -> None:
                note(self, self.value.value.tolist())

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.value)

        return Main()

    assert trace(program, timeout=4) == {"main.sink": [(1, 0, [1, 1]), (3, 0, [3, 3])]}


def test_a_reader_of_a_mutable_input_has_a_copy_of_its_own() -> None:
    """Ports 8: no other reaction sees what it does to the value.

    The writer, another reader, a later reaction, who gets it later.
    """

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out, tick = rx.Output(list), rx.Timer(0, 5)

            def __init__(self) -> None:
                self.kept = [[0]]

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                note(self, repr(self.kept))
                self.out.set(self.kept)

        class Scribbler(rx.Reactor):
            value = rx.Input(list, mutable=True)
            other = rx.Input(list)

            @rx.reaction(value)
            def scribble(self) -> None:
                self.value.value.append(1)
                self.value.value[0].append(2)
                note(self, repr(self.value.value))

            @rx.reaction(value, uses=other)
            def look(self) -> None:
                note(self, repr(self.value.value), repr(self.other.value))
                self.value.value.clear()

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.one, self.two = Source(), Scribbler(), Scribbler()
                self.sink, self.late = sinks(rx)(), sinks(rx)()
                for scribbler in (self.one, self.two):
                    rx.connect(self.source.out, scribbler.value)
                    rx.connect(self.source.out, scribbler.other)
                rx.connect(self.source.out, self.sink.value)
                rx.connect(self.source.out, self.late.value, after=1)

        return Main()

    scribbled = [(t, 0, *seen) for t in (0, 5) for seen in (("[[0, 2], 1]",), ("[[0]]", "[[0]]"))]
    assert trace(program, timeout=6) == {
        "main.source": [(0, 0, "[[0]]"), (5, 0, "[[0]]")],
        "main.one": scribbled,
        "main.two": scribbled,
        "main.sink": [(0, 0, [[0]]), (5, 0, [[0]])],
        "main.late": [(1, 0, [[0]]), (6, 0, [[0]])],
    }


def test_the_channels_of_a_mutable_multiport_are_copies_too() -> None:
    """Ports 8: of arrays as well, which can be written only there."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(shape=(2,), dtype="i4")
            tick = rx.Timer(0, 3)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set([self.tag.time, 1])

        class Scribbler(rx.Reactor):
            value = rx.Input(shape=(2,), dtype="i4", width=2, mutable=True)

            @rx.reaction(value)
            def scribble(self) -> None:
                for k in self.value.present:
                    self.value[k].value[1] += 10 + k
                note(self, [self.value[k].value.tolist() for k in self.value.present])

            @rx.reaction(value)
            def look(self) -> None:
                note(self, [channel.value.tolist() for channel in self.value if channel.is_present])

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.scribbler = Source(), Scribbler()
                rx.connect(self.source.out, self.scribbler.value[0])
                rx.connect(self.source.out, self.scribbler.value[1], after=3)

        return Main()

    assert trace(program, timeout=3) == {
        "main.scribbler": [
            (0, 0, [[0, 11]]),
            (0, 0, [[0, 1]]),
            (3, 0, [[3, 11], [0, 12]]),
            (3, 0, [[3, 1], [0, 1]]),
        ]
    }


class Numbers(rx.Reactor):
    out = rx.Output(shape=(), dtype="f8", width=2)

    @rx.reaction(rx.startup, effects=out)
    def send(self) -> None:
        self.out.set([1.0, 2.0])


class Scribbler(rx.Reactor):
    given = rx.Input(shape=(), dtype="f8", width=2, mutable=True)

    def __init__(self) -> None:
        self.seen: list[list[float]] = []

    @rx.reaction(given)
    def scribble(self) -> None:
        self.given.array[0] = 7
        self.seen = [[float(each.value) for each in self.given], self.given.array.tolist()]


class Scribbled(rx.Reactor):
    def __init__(self) -> None:
        self.numbers, self.scribbler = Numbers(), Scribbler()
        rx.connect(self.numbers.out, self.scribbler.given)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_rows_of_a_block_of_copies_are_the_copies_also_of_single_numbers(way: Way) -> None:
    """Ports 1, 11: a value that travels is what was set, though it is read a row at a time; a rule of our own."""
    main = Scribbled()
    way.run(main, ["main.numbers", "main.scribbler"])
    assert main.scribbler.seen == [[7.0, 2.0]] * 2


def test_a_mutable_input_may_be_assigned_to() -> None:
    """Ports 8: for the reaction that does it only: a later one, and another reactor, see what was sent."""

    def program(rx: Any) -> Any:
        class Writer(rx.Reactor):
            value, out = rx.Input(mutable=True), rx.Output()

            @rx.reaction(value, effects=out)
            def assign(self) -> None:
                self.value.value = [*self.value.value, "mine"]
                self.out.set(self.value.value)

            @rx.reaction(value)
            def look(self) -> None:
                note(self, self.value.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.writer, self.one, self.two = sources(rx)(["sent"]), Writer(), sinks(rx)(), sinks(rx)()
                rx.connect(self.source.out, self.writer.value)
                rx.connect(self.source.out, self.one.value)
                rx.connect(self.writer.out, self.two.value)

        return Main()

    assert trace(program, timeout=0) == {
        "main.writer": [(0, 0, ["sent"])],
        "main.one": [(0, 0, ["sent"])],
        "main.two": [(0, 0, ["sent", "mine"])],
    }


def test_objects_that_are_on_their_way_when_more_than_ever_are_arrive_in_order() -> None:
    """Ports 4: first a few at a time, then a burst, while earlier ones have been taken already."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            slow, fast, out = rx.Timer(0, 40), rx.Timer(205, 1), rx.Output()

            @rx.reaction(slow, fast, effects=out)
            def go(self) -> None:
                self.out.set(f"at {self.tag.time}")

        class Sink(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def see(self) -> None:
                note(self, self.inp.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.inp, after=100)

        return Main()

    sent = [0, 40, 80, 120, 160, 200, *range(205, 501)]
    assert trace(program, timeout=600)["main.sink"] == [(t + 100, 0, f"at {t}") for t in sent]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**200])
def test_a_number_that_no_port_of_its_type_holds_is_refused(number: int) -> None:
    """Ports 7: integers stay what they are."""

    class Source(rx.Reactor):
        out = rx.Output(dtype=np.int64)

        @rx.reaction(rx.startup, effects=out)
        def go(self) -> None:
            self.out.set(number)

    class Sink(rx.Reactor):
        inp = rx.Input(dtype=np.int64)

        def __init__(self) -> None:
            self.seen: list[int] = []

        @rx.reaction(inp)
        def see(self) -> None:
            self.seen.append(int(self.inp.value))

    class Both(rx.Reactor):
        def __init__(self) -> None:
            self.source, self.sink = Source(), Sink()
            rx.connect(self.source.out, self.sink.inp)

    both = Both()
    with pytest.raises(rx.ReactionError, match=r"main\.source\.go"):
        rx.run(both)
    assert both.sink.seen == []


def test_objects_grow_from_one_value_to_the_next_and_scalars_have_any_byte_order() -> None:
    """Ports 7: over processes too."""
    sizes = [10, 6_000, 100_000, 50, 2_000_000, 3]

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out, number = rx.Timer(0, 10), rx.Output(), rx.Output(dtype=">i8")

            def __init__(self) -> None:
                self.sizes = list(sizes)

            @rx.reaction(tick, effects=(out, number))
            def go(self) -> None:
                if self.sizes:
                    size = self.sizes.pop(0)
                    self.out.set(bytes([size % 251]) * size)
                    self.number.set(size)

        class Sink(rx.Reactor):
            inp, number = rx.Input(), rx.Input(dtype=">i8")

            @rx.reaction(inp, number)
            def see(self) -> None:
                value = self.inp.value
                note(self, len(value), value == value[:1] * len(value), int(self.number.value))

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.inp)
                rx.connect(self.source.number, self.sink.number)

        return Main()

    seen = trace(program, timeout=100)["main.sink"]
    assert seen == [(10 * k, 0, size, True, size) for k, size in enumerate(sizes)]
