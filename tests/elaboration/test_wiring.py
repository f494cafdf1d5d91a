"""Connections: where the value on each port comes from, and how much later."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reactors as rx
from reactors.elaboration.sources import compose
from reactors_runtime.program import Element


class Source(rx.Reactor):
    out = rx.Output(int)
    outs = rx.Output(int, width=2)

    @rx.reaction(rx.startup, effects=(out, outs))
    def start(self) -> None: ...


class Sink(rx.Reactor):
    inp = rx.Input(int)
    inps = rx.Input(int, width=2)


class Through(rx.Reactor):
    """Passes its input on, through `depth` levels of hierarchy and back, each way with a delay at every level."""

    inp = rx.Input(int)
    out = rx.Output(int)

    def __init__(self, depth: int, delay: Any = None) -> None:
        if depth:
            self.inner = Through(depth - 1, delay)
            rx.connect(self.inp, self.inner.inp, after=delay)
            rx.connect(self.inner.out, self.out, after=delay)
        else:
            self.inp >> self.out


def elements(build: Callable[[Any], object]) -> dict[str, Element]:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            build(self)

    return {element.path: element for element in rx.Graph(Main()).program.elements}


def sources(found: dict[str, Element]) -> dict[str, str]:
    """The inputs that have a source, and which."""
    paths = list(found)
    return {path: paths[e.source] for path, e in found.items() if e.source >= 0 and paths[e.source] != path}


def test_plain_connection() -> None:
    def build(self: Any) -> None:
        self.a, self.b = Source(), Sink()
        self.a.out >> self.b.inp

    found = elements(build)
    assert sources(found) == {"main.b.inp": "main.a.out"}
    assert found["main.b.inp"].offset == (0, 0)
    assert found["main.a.out"].source == list(found).index("main.a.out")
    assert found["main.b.inps[0]"].source == -1


def test_one_output_feeds_many_inputs() -> None:
    def build(self: Any) -> None:
        self.a, self.b, self.c = Source(), Sink(), Sink()
        self.a.out >> self.b.inp
        self.a.out >> self.c.inp
        rx.connect(self.a.out, self.c.inps, broadcast=True)

    assert sources(elements(build)) == {
        "main.b.inp": "main.a.out",
        "main.c.inp": "main.a.out",
        "main.c.inps[0]": "main.a.out",
        "main.c.inps[1]": "main.a.out",
    }


def test_reactor_connected_to_itself() -> None:
    class Loop(rx.Reactor):
        inp = rx.Input(int)
        out = rx.Output(int)

        @rx.reaction(rx.startup, effects=out)
        def write(self) -> None: ...

        @rx.reaction(inp)
        def read(self) -> None: ...

    def build(self: Any) -> None:
        self.loop = Loop()
        self.loop.out >> self.loop.inp

    assert sources(elements(build)) == {"main.loop.inp": "main.loop.out"}


def test_connections_through_the_hierarchy_are_followed_to_the_writer() -> None:
    def build(self: Any) -> None:
        self.a, self.through, self.b = Source(), Through(3), Sink()
        self.a.out >> self.through.inp
        self.through.out >> self.b.inp

    found = elements(build)
    assert set(sources(found).values()) == {"main.a.out"}
    assert len(sources(found)) == 9
    assert found["main.b.inp"].offset == (0, 0)


def test_order_of_connections_does_not_matter() -> None:
    def build(self: Any) -> None:
        self.b, self.through, self.a = Sink(), Through(2, "1 ms"), Source()
        self.through.out >> self.b.inp
        self.a.out >> self.through.inp

    found = elements(build)
    assert sources(found)["main.b.inp"] == "main.a.out"
    assert found["main.b.inp"].offset == (4_000_000, 0)


def test_container_writes_the_input_of_what_it_contains() -> None:
    def build(self: Any) -> None:
        self.b = Sink()
        self.add_reaction(rx.startup, lambda: None, effects=self.b.inps)

    found = elements(build)
    assert sources(found) == {}
    paths = list(found)
    assert [paths[found[f"main.b.inps[{i}]"].source] for i in range(2)] == ["main.b.inps[0]", "main.b.inps[1]"]


def test_pass_through_of_an_unwritten_port_has_no_source() -> None:
    def build(self: Any) -> None:
        self.through, self.b = Through(1), Sink()
        self.through.out >> self.b.inp

    assert sources(elements(build)) == {}


@pytest.mark.parametrize(
    ("delay", "offset"),
    [(None, (0, 0)), (0, (0, 4)), ("0 s", (0, 4)), (5, (20, 0)), ("5 us", (20_000, 0))],
)
def test_delays_on_a_way_add_up(delay: Any, offset: tuple[int, int]) -> None:
    def build(self: Any) -> None:
        self.a, self.through, self.b = Source(), Through(2, delay), Sink()
        self.a.out >> self.through.inp
        self.through.out >> self.b.inp

    assert elements(build)["main.b.inp"].offset == offset


@pytest.mark.parametrize(
    ("delays", "offset"),
    [
        ((0, 5), (5, 0)),
        ((5, 0), (5, 1)),
        ((0, 5, 0), (5, 1)),
        ((5, 0, 7), (12, 0)),
        ((0, 0, None), (0, 2)),
        ((None, 0, 5, 0, 0), (5, 2)),
    ],
)
def test_the_order_of_delays_on_a_way_counts(delays: tuple[int | None, ...], offset: tuple[int, int]) -> None:
    """A positive one drops the microsteps before it, and those behind it stay."""

    class Chain(rx.Reactor):
        inp = rx.Input(int)

        def __init__(self, left: tuple[int | None, ...]) -> None:
            if left:
                self.inner = Chain(left[1:])
                rx.connect(self.inp, self.inner.inp, after=left[0])

    def build(self: Any) -> None:
        self.a, self.chain = Source(), Chain(delays[1:])
        rx.connect(self.a.out, self.chain.inp, after=delays[0])

    found = elements(build)
    assert found["main.chain" + ".inner" * (len(delays) - 1) + ".inp"].offset == offset


def test_a_delay_may_be_an_attribute_of_the_reactor_that_contains_the_connection() -> None:
    class Inner(rx.Reactor):
        def __init__(self, slack: object) -> None:
            self.a, self.b = Source(), Sink()
            rx.connect(self.a.out, self.b.inp, after="slack")
            self.slack = slack

    def build(self: Any) -> None:
        self.slack = "1 h"
        self.inner, self.other = Inner("2 ms"), Inner(0)

    found = elements(build)
    assert found["main.inner.b.inp"].offset == (2_000_000, 0)
    assert found["main.other.b.inp"].offset == (0, 1)


def test_positive_delay_drops_the_microsteps_before_it_and_keeps_those_after_it() -> None:
    assert compose((0, 3), (7, 0)) == (7, 0)
    assert compose((7, 0), (0, 3)) == (7, 3)
    assert compose((7, 3), (7, 0)) == (14, 0)


def apply(tag: tuple[int, int], offset: tuple[int, int]) -> tuple[int, int]:
    return (tag[0] + offset[0], offset[1]) if offset[0] else (tag[0], tag[1] + offset[1])


def test_composed_offset_is_one_offset_after_the_other() -> None:
    offsets = [(0, 0), (0, 1), (0, 2), (5, 0), (5, 1), (9, 4)]
    for a in offsets:
        for b in offsets:
            for tag in ((0, 0), (3, 2)):
                assert apply(tag, compose(a, b)) == apply(apply(tag, a), b)


def test_physical_connection_marks_everything_behind_it() -> None:
    def build(self: Any) -> None:
        self.a, self.through, self.b, self.c = Source(), Through(1), Sink(), Sink()
        rx.connect(self.a.out, self.through.inp, physical=True, after="1 ms")
        self.through.out >> self.b.inp
        self.a.out >> self.c.inp

    found = elements(build)
    assert (found["main.b.inp"].physical, found["main.b.inp"].offset) == (True, (1_000_000, 0))
    assert not found["main.c.inp"].physical


def test_physical_connection_cuts_a_cycle() -> None:
    class Loop(rx.Reactor):
        inp = rx.Input(int)
        out = rx.Output(int)

        @rx.reaction(rx.startup, inp, effects=out)
        def step(self) -> None: ...

    def build(self: Any) -> None:
        self.loop = Loop()
        rx.connect(self.loop.out, self.loop.inp, physical=True)

    assert elements(build)["main.loop.inp"].physical


# Widths


def pairs(build: Callable[[Any], object]) -> list[str]:
    found = sources(elements(build))
    return [f"{source.removeprefix('main.')} {target.removeprefix('main.')}" for target, source in found.items()]


def test_lists_are_concatenated_and_paired_in_order() -> None:
    def build(self: Any) -> None:
        self.a, self.b, self.c = Source(), Sink(), Sink()
        rx.connect([self.a.outs, self.a.out], [self.b.inp, self.c.inps])

    assert pairs(build) == ["a.outs[0] b.inp", "a.outs[1] c.inps[0]", "a.out c.inps[1]"]


def test_lists_on_either_side_of_the_operator() -> None:
    def build(self: Any) -> None:
        self.a, self.b, self.c = Source(), Sink(), Sink()
        [self.a.out, self.a.out] >> self.b.inps
        self.a.outs >> [self.b.inp, self.c.inp]

    assert pairs(build) == ["a.outs[0] b.inp", "a.out b.inps[0]", "a.out b.inps[1]", "a.outs[1] c.inp"]


def test_ports_of_banks_are_bank_major() -> None:
    def build(self: Any) -> None:
        self.a, self.b = rx.bank(2, Source), rx.bank(4, Sink)
        rx.connect(self.a.outs, self.b.inp)
        self.a.out >> [self.b[0].inps[1], self.b[1].inps[0]]

    assert pairs(build) == [
        "a[0].outs[0] b[0].inp",
        "a[0].out b[0].inps[1]",
        "a[0].outs[1] b[1].inp",
        "a[1].out b[1].inps[0]",
        "a[1].outs[0] b[2].inp",
        "a[1].outs[1] b[3].inp",
    ]


def test_broadcast_repeats_the_whole_left_side() -> None:
    def build(self: Any) -> None:
        self.a, self.b = Source(), rx.bank(2, Sink)
        rx.connect(self.a.outs, self.b.inps, broadcast=True)

    assert pairs(build) == [
        "a.outs[0] b[0].inps[0]",
        "a.outs[1] b[0].inps[1]",
        "a.outs[0] b[1].inps[0]",
        "a.outs[1] b[1].inps[1]",
    ]


def test_channels_and_slices_of_multiports() -> None:
    def build(self: Any) -> None:
        self.a, self.b = Source(), Sink()
        rx.connect(self.a.outs[::-1], self.b.inps)

    assert pairs(build) == ["a.outs[1] b.inps[0]", "a.outs[0] b.inps[1]"]


def test_empty_banks_connect_to_each_other() -> None:
    def build(self: Any) -> None:
        self.a, self.b = rx.bank(0, Source), rx.bank(0, Sink)
        rx.connect(self.a.out, self.b.inp)

    assert pairs(build) == []


def test_widths_may_be_set_after_the_connection() -> None:
    class Late(rx.Reactor):
        inp = rx.Input(int, width="n")

        def __init__(self) -> None:
            self.sinks = rx.bank(3, Sink)
            self.inp >> self.sinks.inp
            self.n = 3

    def build(self: Any) -> None:
        self.a, self.late = rx.bank(3, Source), Late()
        self.a.out >> self.late.inp

    assert pairs(build)[-1] == "a[2].out late.sinks[2].inp"


# What flows


def flow(given: dict[str, Any], taken: dict[str, Any]) -> Element:
    def build(self: Any) -> None:
        class Given(rx.Reactor):
            out = rx.Output(**given)

            @rx.reaction(rx.startup, effects=out)
            def start(self) -> None: ...

        class Taken(rx.Reactor):
            inp = rx.Input(**taken)

        self.a, self.b = Given(), Taken()
        rx.connect(self.a.out, self.b.inp)

    return elements(build)["main.b.inp"]


class Animal: ...


class Dog(Animal): ...


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"type": int}, {"type": int}),
        ({"type": bool}, {"type": int}),
        ({"type": Dog}, {"type": Animal}),
        ({"type": int}, {"type": float}),
        ({"type": int}, {"type": int | str}),
        ({"type": int | bool}, {"type": int}),
        ({"type": int}, {}),
        ({}, {"type": int}),
        ({"type": list[int]}, {"type": list}),
        ({"shape": 3, "dtype": "f4"}, {"shape": (3,), "dtype": np.float32}),
        ({"shape": 3, "dtype": "f4"}, {}),
        ({"shape": 3, "dtype": "f4"}, {"type": np.ndarray}),
    ],
)
def test_types_that_fit(given: dict[str, Any], taken: dict[str, Any]) -> None:
    assert flow(given, taken).source == 0


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"type": Animal}, {"type": Dog}),
        ({"type": float}, {"type": int}),
        ({"type": int | str}, {"type": int}),
        ({"type": np.ndarray}, {"shape": 3}),
        ({"shape": ()}, {"shape": (1,)}),
        ({"dtype": "i4"}, {"dtype": "i8"}),
        ({"dtype": "i8"}, {"type": int}),
    ],
)
def test_types_that_do_not(given: dict[str, Any], taken: dict[str, Any]) -> None:
    with pytest.raises(rx.MismatchError):
        flow(given, taken)


def test_reader_of_anything_takes_arrays_where_they_lie() -> None:
    taken = flow({"shape": 3, "dtype": "f4"}, {})
    assert (taken.shape, taken.dtype) == ((3,), np.dtype("f4"))


def test_an_arrow_within_the_with_of_a_mode_is_a_connection_of_that_mode() -> None:
    class Source(rx.Reactor):
        tick, out = rx.Timer(period=1), rx.Output(int)

        @rx.reaction(tick, effects=out)
        def go(self) -> None:
            self.out.set(self.tag.time)

    class Sink(rx.Reactor):
        inp = rx.Input(int)

        def __init__(self) -> None:
            self.seen: list[int] = []

        @rx.reaction(inp)
        def hear(self) -> None:
            self.seen.append(self.inp.value)

    class Main(rx.Reactor):
        off, on, turn = rx.Mode(initial=True), rx.Mode(), rx.Timer(2)

        def __init__(self) -> None:
            self.source, self.port, self.list = Source(), Sink(), Sink()
            with self.on:
                self.source.out >> self.port.inp
                [self.source.out] >> self.list.inp

        @rx.reaction(turn, effects=on)
        def switch(self) -> None:
            self.on.set()

    main = Main()
    rx.run(main, fast=True, timeout=4)
    assert main.port.seen == main.list.seen == [3, 4]
