"""Ports and connections: what is seen where (catalogue, section 6)."""

from typing import Any

from tests.oracle.ways import note, trace
from tests.semantics.sources_and_sinks import sinks, sources


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


def test_nothing_is_triggered_by_what_is_not_set() -> None:
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
