"""Lists, depth, and what is too large to draw one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors.drawing import folding

if TYPE_CHECKING:
    from reactors.drawing.diagram import Diagram
from tests.drawing.plant import Filter, Sensor, Station, boxes, ends

# Lists, depth, and what is too large


class Hub(rx.Reactor):
    tick = rx.Timer(0, "10 ms")
    go = rx.Output(float)
    found = rx.Input(float, width="n")

    def __init__(self, n: int) -> None:
        self.n = n

    @rx.reaction(tick, effects=go)
    def begin(self) -> None:
        self.go.set(1.0)

    @rx.reaction(found)
    def gather(self) -> None: ...


class Star(rx.Reactor):
    """A list, each of which does the same for the hub."""

    def __init__(self, n: int, *, after: str | None = None) -> None:
        self.hub, self.filters = Hub(n), [Filter() for _ in range(n)]
        for i, each in enumerate(self.filters):
            rx.connect(self.hub.go, each.raw, after=after if i == 1 else None)
            rx.connect(each.smooth, self.hub.found[i])


def inner(diagram: Diagram) -> list[tuple[str, int | None]]:
    return [(box.name, box.count) for box in boxes(diagram)["main"].boxes]


def test_a_list_is_drawn_like_a_bank_where_all_are_connected_alike() -> None:
    diagram = folding.reactors(rx.Graph(Star(300)))
    assert inner(diagram) == [("hub", None), ("filters", 300)]
    assert ends(diagram) == {("main.hub.go", "main.filters.raw", 300), ("main.filters.smooth", "main.hub.found", 300)}
    assert [symbol.name for symbol in boxes(diagram)["main.filters"].symbols] == ["raw", "step", "smooth"]
    assert diagram.note == ""


def test_members_of_a_list_that_are_connected_otherwise_stand_apart() -> None:
    diagram = folding.reactors(rx.Graph(Star(4, after="1 ms")))
    assert inner(diagram) == [("hub", None), ("filters[0, 2, 3]", 3), ("filters[1]", None)]
    assert ends(diagram) == {
        ("main.hub.go", "main.filters[0, 2, 3].raw", 3),
        ("main.hub.go", "main.filters[1].raw", 1),
        ("main.filters[0, 2, 3].smooth", "main.hub.found", 3),
        ("main.filters[1].smooth", "main.hub.found", 1),
    }


def test_a_line_of_a_list_is_drawn_one_by_one() -> None:
    diagram = folding.reactors(rx.Graph(Station(3)))
    assert inner(diagram) == [("sensor", None), ("filters[0]", None), ("filters[1]", None), ("filters[2]", None)]


def test_what_a_container_does_with_each_of_a_list_tells_them_apart() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.filters = [Filter() for _ in range(3)]
            self.add_reaction(rx.startup, self.begin, effects=[each.raw for each in self.filters])
            self.add_reaction(self.filters[1].smooth, self.end)

        def begin(self) -> None: ...
        def end(self) -> None: ...

    assert inner(folding.reactors(rx.Graph(Main()))) == [("filters[0, 2]", 2), ("filters[1]", None)]


def test_at_a_depth_reactors_are_closed(plant: rx.Graph) -> None:
    diagram = folding.reactors(plant, folding.Detail(depth=1))
    found = boxes(diagram)
    assert {name: [symbol.name for symbol in box.symbols] for name, box in found.items()} == {
        "main": ["log"],
        "main.stations": ["smooth"],
        "main.controller": ["readings[4]", "setpoint", "command", "alarm"],
        "main.valve": ["command", "position"],
    }
    assert {name for name, box in found.items() if box.closed} == {"main.stations", "main.controller", "main.valve"}
    assert found["main.stations"].kind == "Station, 2 inside"
    assert {(wire.source, wire.target, wire.kind) for wire in diagram.wires} == {
        ("main.stations.smooth", "main.controller.readings", "connection"),
        ("main.controller.command", "main.valve.command", "connection"),
        ("main.valve.position", "main.controller.setpoint", "connection"),
        ("main.controller.alarm", "main.log", "trigger"),
        ("main.controller.readings", "main.controller.command", "through"),
        ("main.controller.setpoint", "main.controller.alarm", "through"),
        ("main.valve.command", "main.valve.position", "through"),
    }
    assert list(boxes(folding.reactors(plant, folding.Detail(depth=2)))) == list(boxes(folding.reactors(plant)))


def test_depth_is_an_option_of_every_picture(plant: rx.Graph) -> None:
    text = plant.mermaid(depth=1, workers=2)
    assert "sensor" not in text
    assert "main_valve_command ~~~ main_valve_position" in text
    assert "stations \N{MULTIPLICATION SIGN}4: Station, 2 inside (workers 0, 1)" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "depth of a picture is 0; write a whole number, 1 or more"),
        ({"depth": True}, "depth of a picture is True; write a whole number, 1 or more"),
        (
            {"depth": 1, "apg": True},
            "depth= closes reactors, and the precedence graph has none; leave out depth= or apg=True",
        ),
    ],
)
def test_a_depth_that_cannot_be_is_refused(plant: rx.Graph, options: dict[str, Any], message: str) -> None:
    with pytest.raises(rx.ArgumentError) as caught:
        plant.mermaid(**options)
    assert str(caught.value) == message


class Halves(rx.Reactor):
    """Two of its own kind in it, one after the other, down to a filter."""

    raw, smooth = rx.Input(float), rx.Output(float)

    def __init__(self, depth: int) -> None:
        kind = (lambda: Halves(depth - 1)) if depth else Filter
        self.left, self.right = kind(), kind()
        self.raw >> self.left.raw
        self.left.smooth >> self.right.raw
        self.right.smooth >> self.smooth


def test_a_deep_program_is_drawn_as_deep_as_can_be_read() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.sensor, self.halves = Sensor(), Halves(6)
            self.sensor.reading >> self.halves.raw

    graph = rx.Graph(Main())
    said = "reactors at depth 5 are closed; expand=True (--expand) draws all, depth= (--depth) more"
    assert said in graph.dot
    assert said in graph.mermaid()
    assert graph.mermaid().replace(f'  note["{said}"]\n', "") == graph.mermaid(depth=5)
    assert "are closed" not in graph.mermaid(expand=True)
    assert graph.mermaid(expand=True).count(": Filter") == 128


def test_a_long_line_is_drawn_as_one_of_its_members() -> None:
    graph = rx.Graph(Station(300))
    text = graph.mermaid()
    assert "filters \N{MULTIPLICATION SIGN}300: Filter" in text
    assert "what is alike is drawn once; expand=True (--expand) draws all" in text
    assert graph.mermaid(expand=True).count(": Filter") == 300


def test_many_reactors_of_many_classes_are_drawn_by_their_ports() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.hub = Hub(300)
            for i in range(300):
                each = type(f"Filter{i}", (Filter,), {})()
                setattr(self, f"part{i}", each)
                rx.connect(self.hub.go, each.raw)
                rx.connect(each.smooth, self.hub.found[i])

    text = rx.Graph(Main()).mermaid()
    assert "part0 to part299 \N{MULTIPLICATION SIGN}300: Filter0 and others" in text
    assert "what is alike is drawn once, reactors at depth 1 are closed; expand=True (--expand) draws all" in text
