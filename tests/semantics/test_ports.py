"""Ports and connections: what is seen where (catalogue, section 6)."""

from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.oracle.ways import note, trace


def sources(rx: Any) -> Any:
    """A reactor that sends what it is given, one value a tag; None sends nothing."""

    class Source(rx.Reactor):
        out = rx.Output()

        def __init__(self, *values: Any, period: int = 10) -> None:
            self.values = list(values)
            self.tick = rx.Timer(0, period)
            self.add_reaction(self.tick, self.send, effects=self.out)

        def send(self) -> None:
            value = self.values.pop(0) if self.values else None
            if value is not None:
                self.out.set(value)

    return Source


def sinks(rx: Any) -> Any:
    class Sink(rx.Reactor):
        value = rx.Input()

        @rx.reaction(value)
        def see(self) -> None:
            note(self, self.value.value)

    return Sink


def test_a_value_crosses_any_depth_of_hierarchy_within_its_tag() -> None:
    """Ports 1: what is set is present downstream at the same tag, through any number of reactors."""

    def program(rx: Any) -> Any:
        class Box(rx.Reactor):
            out = rx.Output()

            def __init__(self, inner: Any) -> None:
                self.inner = inner
                rx.connect(self.inner.out, self.out)

        class Tray(rx.Reactor):
            value = rx.Input()

            def __init__(self, inner: Any) -> None:
                self.inner = inner
                rx.connect(self.value, self.inner.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.box = Box(Box(sources(rx)(1, 2)))
                self.tray = Tray(Tray(sinks(rx)()))
                rx.connect(self.box.out, self.tray.value)

        return Main()

    assert trace(program, timeout=10) == {"main.tray.inner.inner": [(0, 0, 1), (10, 0, 2)]}


def test_one_output_feeds_any_number_of_inputs() -> None:
    """Ports 1: a source may have many targets, and all have its value at its tag."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.one, self.two = sources(rx)("x"), sinks(rx)(), sinks(rx)()
                rx.connect(self.source.out, self.one.value)
                rx.connect(self.source.out, self.two.value)

        return Main()

    assert trace(program, timeout=0) == {"main.one": [(0, 0, "x")], "main.two": [(0, 0, "x")]}


def test_a_port_set_more_than_once_carries_the_last_value() -> None:
    """Ports 2: from one reaction or several: who reads it sees one event, here or later."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(int)

            @rx.reaction(rx.startup, effects=out)
            def first(self) -> None:
                self.out.set(1)
                self.out.set(2)

            @rx.reaction(rx.startup, effects=out)
            def second(self) -> None:
                self.out.set(3)

            @rx.reaction(rx.startup, effects=out)
            def silent(self) -> None:
                pass

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.now, self.soon, self.late = Source(), sinks(rx)(), sinks(rx)(), sinks(rx)()
                rx.connect(self.source.out, self.now.value)
                rx.connect(self.source.out, self.soon.value, after=0)
                rx.connect(self.source.out, self.late.value, after=9)

        return Main()

    assert trace(program) == {"main.now": [(0, 0, 3)], "main.soon": [(0, 1, 3)], "main.late": [(9, 0, 3)]}


def test_a_reaction_sees_what_was_set_on_its_own_output_before() -> None:
    """Ports 3: by an earlier reaction or by itself, at this tag."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            out = rx.Output(int)
            tick = rx.Timer(0, 1)

            @rx.reaction(rx.startup, effects=out)
            def first(self) -> None:
                note(self, "first", self.out.is_present, self.out.value)
                self.out.set(1)
                note(self, "first", self.out.is_present, self.out.value)

            @rx.reaction(tick, effects=out)
            def second(self) -> None:
                note(self, "second", self.out.is_present, self.out.value)

        return Main()

    assert trace(program, timeout=1) == {
        "main": [
            (0, 0, "first", False, None),
            (0, 0, "first", True, 1),
            (0, 0, "second", True, 1),
            (1, 0, "second", False, None),
        ]
    }


def test_nobody_is_triggered_by_what_is_not_set() -> None:
    """Ports 4: an output that is not set at a tag is absent downstream."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = sources(rx)("a", None, "b"), sinks(rx)()
                rx.connect(self.source.out, self.sink.value)

        return Main()

    assert trace(program, timeout=50) == {"main.sink": [(0, 0, "a"), (20, 0, "b")]}


def test_falsy_values_are_values() -> None:
    """Ports 7: 0, an empty string and False are present."""
    values: list[Any] = [0, "", False, (), 0.0, {}]

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = sources(rx)(*values), sinks(rx)()
                rx.connect(self.source.out, self.sink.value)

        return Main()

    assert trace(program, timeout=50) == {"main.sink": [(10 * k, 0, value) for k, value in enumerate(values)]}


def test_none_is_a_value_that_is_present() -> None:
    """Ports 7: None that was set is present, although the value of an absent port is None as well."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output()

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                self.out.set(None)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.now, self.late = Source(), sinks(rx)(), sinks(rx)()
                rx.connect(self.source.out, self.now.value)
                rx.connect(self.source.out, self.late.value, after=5)

        return Main()

    assert trace(program) == {"main.now": [(0, 0, None)], "main.late": [(5, 0, None)]}


def test_an_input_without_a_source_is_absent_and_an_output_without_a_reader_does_no_harm() -> None:
    """Ports 6: an unconnected port is legal."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.lonely, self.deaf = Lonely(), sources(rx)(1)

        class Lonely(rx.Reactor):
            value = rx.Input(int)
            tick = rx.Timer()

            @rx.reaction(tick, value)
            def look(self) -> None:
                note(self, self.value.is_present, self.value.value)

        return Main()

    assert trace(program, timeout=0) == {"main.lonely": [(0, 0, False, None)]}


def test_an_input_may_go_to_a_contained_reactor_and_to_a_reaction() -> None:
    """Ports 10: both see the event; and an input may lead straight to an output."""

    def program(rx: Any) -> Any:
        class Both(rx.Reactor):
            value = rx.Input()
            out = rx.Output()

            def __init__(self) -> None:
                self.inner = sinks(rx)()
                rx.connect(self.value, self.inner.value)
                rx.connect(self.value, self.out)

            @rx.reaction(value)
            def see(self) -> None:
                note(self, self.value.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.both, self.sink = sources(rx)("x"), Both(), sinks(rx)()
                rx.connect(self.source.out, self.both.value)
                rx.connect(self.both.out, self.sink.value)

        return Main()

    assert trace(program, timeout=0) == {
        "main.both": [(0, 0, "x")],
        "main.both.inner": [(0, 0, "x")],
        "main.sink": [(0, 0, "x")],
    }


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


def test_a_delayed_connection_delivers_so_much_later() -> None:
    """Ports 11: any number of messages may be on their way."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = sources(rx)("a", "b", "c", "d"), sinks(rx)()
                rx.connect(self.source.out, self.sink.value, after=25)

        return Main()

    assert trace(program, timeout=60) == {
        "main.sink": [(25, 0, "a"), (35, 0, "b"), (45, 0, "c"), (55, 0, "d")],
    }


def test_delays_along_the_hierarchy_add_up() -> None:
    """Ports 12: 10 + 30 + 15 = 55; and a delay of zero behind others is one more microstep."""

    def program(rx: Any) -> Any:
        class Box(rx.Reactor):
            out = rx.Output()

            def __init__(self) -> None:
                self.source = sources(rx)("x", period=1000)
                rx.connect(self.source.out, self.out, after=10)

        class Tray(rx.Reactor):
            value = rx.Input()

            def __init__(self, after: int) -> None:
                self.sink = sinks(rx)()
                rx.connect(self.value, self.sink.value, after=after)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.box, self.tray, self.step = Box(), Tray(15), Tray(0)
                rx.connect(self.box.out, self.tray.value, after=30)
                rx.connect(self.box.out, self.step.value, after=0)

        return Main()

    assert trace(program, timeout=100) == {"main.tray.sink": [(55, 0, "x")], "main.step.sink": [(10, 2, "x")]}


def test_a_delay_drops_the_microsteps_and_keeps_what_was_sent_in_them() -> None:
    """Ports 11, tags 2: (t, m) and a delay d make (t + d, 0).

    Values of one connection that would arrive at the same tag arrive a microstep apart, in the order of sending.
    """

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(int)
            again = rx.LogicalAction()

            @rx.reaction(rx.startup, again, effects=(out, again))
            def send(self) -> None:
                self.out.set(self.tag.microstep)
                if self.tag.microstep < 3:
                    self.again.schedule()

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.late, self.soon = Source(), sinks(rx)(), sinks(rx)()
                rx.connect(self.source.out, self.late.value, after=7)
                rx.connect(self.source.out, self.soon.value, after=0)

        return Main()

    assert trace(program) == {
        "main.late": [(7, 0, 0), (7, 1, 1), (7, 2, 2), (7, 3, 3)],
        "main.soon": [(0, 1, 0), (0, 2, 1), (0, 3, 2), (0, 4, 3)],
    }


def test_a_delay_makes_a_cycle_legal() -> None:
    """Ports 11, precedence 6: also a delay of zero: a ball goes round in microsteps, and another in time."""

    def program(rx: Any) -> Any:
        class Player(rx.Reactor):
            ball = rx.Input(int)
            out = rx.Output(int)

            @rx.reaction(ball, effects=out)
            def hit(self) -> None:
                note(self, self.ball.value)
                if self.ball.value:
                    self.out.set(self.ball.value - 1)

        class Server(Player):
            @rx.reaction(rx.startup, effects=Player.out)
            def serve(self) -> None:
                self.out.set(3)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.ping, self.pong = Server(), Player()
                rx.connect(self.ping.out, self.pong.ball)
                rx.connect(self.pong.out, self.ping.ball, after=0)
                self.slow, self.quick = Server(), Player()
                rx.connect(self.slow.out, self.quick.ball)
                rx.connect(self.quick.out, self.slow.ball, after=8)

        return Main()

    assert trace(program) == {
        "main.pong": [(0, 0, 3), (0, 1, 1)],
        "main.ping": [(0, 1, 2), (0, 2, 0)],
        "main.quick": [(0, 0, 3), (8, 0, 1)],
        "main.slow": [(8, 0, 2), (16, 0, 0)],
    }


def test_what_would_arrive_beyond_the_end_is_lost() -> None:
    """The end 3: a message whose tag lies behind the stop tag never comes."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = sources(rx)("a", "b", "c"), sinks(rx)()
                rx.connect(self.source.out, self.sink.value, after=5)

        return Main()

    assert trace(program, timeout=15) == {"main.sink": [(5, 0, "a"), (15, 0, "b")]}


def test_a_reader_of_a_mutable_input_has_a_copy_of_its_own() -> None:
    """Ports 8: what it does to the value, nobody else sees.

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


def test_a_source_is_read_without_a_trigger_through_hierarchy_and_delays() -> None:
    """Precedence 1: it starts nothing; absent it is None, and what was there before is not kept."""

    def program(rx: Any) -> Any:
        class Watch(rx.Reactor):
            tick, now, late = rx.Timer(0, 5), rx.Input(), rx.Input()

            @rx.reaction(tick, uses=(now, late))
            def look(self) -> None:
                note(self, self.now.is_present, self.now.value, self.late.is_present, self.late.value)

        class Box(rx.Reactor):
            value = rx.Input()

            def __init__(self) -> None:
                self.watch = Watch()
                rx.connect(self.value, self.watch.now)
                rx.connect(self.value, self.watch.late, after=5)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.box = sources(rx)("a", "b", None, "c", period=5), Box()
                rx.connect(self.source.out, self.box.value)

        return Main()

    assert trace(program, timeout=20) == {
        "main.box.watch": [
            (0, 0, True, "a", False, None),
            (5, 0, True, "b", True, "a"),
            (10, 0, False, None, True, "b"),
            (15, 0, True, "c", False, None),
            (20, 0, False, None, True, "c"),
        ]
    }


def test_the_last_of_several_reactions_of_a_container_counts() -> None:
    """Ports 2: also where one of them sets the port and the other does not at this tag."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            two, three = rx.Timer(0, 2), rx.Timer(0, 3)

            def __init__(self) -> None:
                self.sink = sinks(rx)()
                self.add_reaction(self.two, self.first, effects=self.sink.value)
                self.add_reaction(self.three, self.second, effects=self.sink.value)

            def first(self) -> None:
                self.sink.value.set("two")

            def second(self) -> None:
                if self.tag.time != 6:
                    self.sink.value.set("three")

        return Main()

    assert trace(program, timeout=6) == {
        "main.sink": [(0, 0, "three"), (2, 0, "two"), (3, 0, "three"), (4, 0, "two"), (6, 0, "two")]
    }


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
