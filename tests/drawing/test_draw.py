"""What pictures show: reactors, wires, levels, placement, modes."""

from __future__ import annotations

import re
from typing import Any

import pytest

import reactors as rx
from reactors.drawing import folding
from tests.drawing.plant import Filter, Loop, Plant, Sensor, Station, boxes, notes, wires

# What is to be seen


def test_reactors_are_boxes_in_boxes_with_name_and_class(plant: rx.Graph) -> None:
    found = boxes(folding.reactors(plant))
    assert list(found) == [
        *("main", "main.stations", "main.stations.sensor", "main.stations.filters[0]", "main.controller", "main.valve")
    ]
    assert (found["main.valve"].name, found["main.valve"].kind) == ("valve", "Valve")
    assert 'subgraph "cluster main.stations.sensor"' in plant.dot


def test_a_bank_is_one_box_with_its_width(plant: rx.Graph) -> None:
    diagram = folding.reactors(plant)
    assert boxes(diagram)["main.stations"].count == 4
    assert wires(diagram)["main.stations.smooth", "main.controller.readings"].channels == 4
    assert "stations \N{MULTIPLICATION SIGN}4" in plant.dot
    assert "stations \N{MULTIPLICATION SIGN}4" in plant.mermaid()


def test_members_of_a_bank_that_differ_get_boxes_of_their_own() -> None:
    class Uneven(rx.Reactor):
        def __init__(self) -> None:
            self.stations = rx.bank(5, Station, lambda i: 1 + (i == 3))

    found = boxes(folding.reactors(rx.Graph(Uneven())))
    assert [(box.name, box.count) for box in found["main"].boxes] == [("stations[0-2, 4]", 4), ("stations[3]", 1)]


def test_members_that_differ_in_their_deadlines_alone_get_boxes_of_their_own() -> None:
    class Hasty(rx.Reactor):
        tick = rx.Timer(0, "1 ms")

        def __init__(self, limit: str) -> None:
            self.limit = limit

        @rx.reaction(tick)
        def hurry(self) -> None: ...
        @hurry.deadline("limit")
        def late(self) -> None: ...

    class Plant(rx.Reactor):
        def __init__(self) -> None:
            self.hasty = rx.bank(3, Hasty, lambda i: ["2 ms", "5 ms", "2 ms"][i])

    text = rx.Graph(Plant()).mermaid()
    assert "hasty[0, 2]" in text
    assert "hasty[1]" in text


class Odd(rx.Reactor):
    """Of a bank: the member that is odd differs from the others in one thing alone."""

    def __init__(self, period: str = "1 ms", least: str = "1 ms", spacing: str = "1 ms", after: str = "1 ms") -> None:
        self.period, self.least, self.spacing = period, least, spacing
        self.tick = rx.Timer(0, "period")
        self.again = rx.LogicalAction(min_delay="least", min_spacing="spacing")
        self.sensor, self.filter = Sensor(), Filter()
        rx.connect(self.sensor.reading, self.filter.raw, after=after)


@pytest.mark.parametrize("difference", ["period", "least", "spacing", "after"])
def test_members_of_a_bank_that_differ_in_times_alone_get_boxes_of_their_own(difference: str) -> None:
    class Bank(rx.Reactor):
        def __init__(self) -> None:
            self.members = rx.bank(3, Odd, **{difference: lambda i: "2 ms" if i == 1 else "1 ms"})

    found = boxes(folding.reactors(rx.Graph(Bank())))
    assert [(box.name, box.count) for box in found["main"].boxes] == [("members[0, 2]", 2), ("members[1]", 1)]


def test_expand_draws_every_member(plant: rx.Graph) -> None:
    diagram = folding.reactors(plant, folding.Detail(expand=True))
    assert [box.name for box in boxes(diagram)["main"].boxes[:4]] == [f"stations[{i}]" for i in range(4)]
    assert wires(diagram)["main.stations[2].smooth", "main.controller.readings"].channels == 1


def test_ten_thousand_reactors_are_a_small_picture() -> None:
    graph = rx.Graph(Plant(3333))
    assert len(graph.reactors) > 10_000
    assert len(graph.dot.splitlines()) < 100
    assert len(graph.mermaid(apg=True).splitlines()) < 100


def test_reactions_are_numbered_in_order_and_marked(plant: rx.Graph) -> None:
    box = boxes(folding.reactors(plant))["main.controller"]
    reactions = [symbol for symbol in box.symbols if symbol.kind == "reaction"]
    assert [(r.number, r.name, r.notes) for r in reactions] == [
        (1, "open", []),
        (2, "control", ["deadline 5 ms"]),
        (3, "complain", ["stop"]),
        (4, "close", []),
    ]
    rows = re.findall(r'<td port="(\d)".*?<b>\1</b>  (\w+)', plant.dot)
    assert rows[-5:-1] == [("1", "open"), ("2", "control"), ("3", "complain"), ("4", "close")]


def test_timers_and_actions_show_their_times(plant: rx.Graph) -> None:
    diagram = folding.reactors(plant)
    assert notes(diagram)["main.stations.sensor.tick"] == ["every 10 ms from 5 ms"]
    assert notes(diagram)["main.controller.retry"] == ["after 1 ms"]
    kinds = {symbol.name: symbol.kind for symbol in boxes(diagram)["main.controller"].symbols}
    assert (kinds["retry"], kinds["button"]) == ("logical action", "physical action")
    assert {kinds["startup"], kinds["shutdown"]} == {"startup", "shutdown"}


def test_multiports_show_their_width(plant: rx.Graph) -> None:
    assert "readings[4]" in plant.dot
    assert "readings[4]" in plant.mermaid()


def test_wires_show_delays_and_physical_connections(plant: rx.Graph) -> None:
    found = wires(folding.reactors(plant))
    assert found["main.controller.command", "main.valve.command"].note == "after 2 ms"
    assert found["main.valve.position", "main.controller.setpoint"].note == "physical"
    assert re.findall(r"style=(\w+).*physical", plant.dot) == ["dotted"]
    assert found["main.controller.setpoint", "main.controller.complain"].kind == "use"
    assert found["main.controller.control", "main.controller.retry"].kind == "effect"
    assert 'main_controller_command -->|"after 2 ms"| main_valve_command' in plant.mermaid()
    assert 'main_valve_position -.->|"physical"| main_controller_setpoint' in plant.mermaid()


def test_what_a_container_does_with_a_bank_is_one_wire() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.filters = rx.bank(3, Filter)
            self.add_reaction(rx.startup, self.begin, effects=self.filters.raw)
            self.add_reaction(self.filters[1].smooth, self.end)

        def begin(self) -> None: ...
        def end(self) -> None: ...

    ends = [(wire.source, wire.target, wire.channels) for wire in folding.reactors(rx.Graph(Main())).wires]
    assert ("main.begin", "main.filters.raw", 3) in ends
    assert ("main.filters.smooth", "main.end", 1) in ends


def test_of_a_cycle_the_delayed_wire_leads_back() -> None:
    turned = [line for line in rx.Graph(Loop()).dot.splitlines() if "dir=back" in line]
    assert any("1 microstep" in line for line in turned)
    assert all('"main.head.smooth"' in line for line in turned)  # the other one: from member to member of the bank


def test_a_reactor_without_anything_is_a_box_all_the_same() -> None:
    class Bare(rx.Reactor): ...

    graph = rx.Graph(Bare())
    assert "no ports, no reactions" in graph.dot
    assert "no ports, no reactions" in graph.mermaid()


def test_the_text_is_the_same_every_time() -> None:
    one, other = rx.Graph(Plant()), rx.Graph(Plant())
    assert one.dot == other.dot
    assert one.mermaid(apg=True, workers=2) == other.mermaid(apg=True, workers=2)


# The precedence graph


def test_the_precedence_graph_has_a_box_for_each_level(plant: rx.Graph) -> None:
    diagram = folding.precedence(plant)
    assert [box.name for box in diagram.boxes] == [f"level {n}" for n in range(len(plant.levels))]
    first = diagram.boxes[0].symbols[0]
    assert (first.name, first.notes) == ("sample", ["main.stations.sensor \N{MULTIPLICATION SIGN}4"])
    kinds = {
        (source.split(",")[0], target.split(",")[0]): wire.kind for (source, target), wire in wires(diagram).items()
    }
    assert kinds["main.stations.sensor.sample", "main.stations.filters[0].step"] == "connection"
    assert kinds["main.controller.control", "main.controller.complain"] == "order"
    assert not any(target == "main.valve.move" for _, target in kinds)  # it is behind a delay


def test_members_of_a_bank_at_different_levels_stand_apart() -> None:
    class Chain(rx.Reactor):
        def __init__(self) -> None:
            self.sensor, self.line = Sensor(), rx.bank(3, Filter)
            rx.connect(self.sensor.reading, self.line[0].raw)
            rx.connect(self.line[0].smooth, self.line[1].raw)
            rx.connect(self.line[1].smooth, self.line[2].raw)

    diagram = folding.precedence(rx.Graph(Chain()))
    assert [[symbol.name for symbol in box.symbols] for box in diagram.boxes] == [
        ["sample"],
        ["step"],
        ["step"],
        ["step"],
    ]


# Where things run


def test_a_placement_is_shown_in_colours_with_a_legend(plant: rx.Graph) -> None:
    assert "worker 0" not in plant.dot
    text = plant.mermaid(workers=2)
    assert "class main_valve worker0" in text
    assert "stations \N{MULTIPLICATION SIGN}4: Station (workers 0, 1)" in text
    assert text.count("classDef worker") == 2


@pytest.mark.parametrize("apg", [False, True])
def test_a_placement_is_a_mapping_a_function_or_a_list(plant: rx.Graph, apg: bool) -> None:
    wanted = {"main.valve": 1}
    listed = [int(row.path == "main.valve") for row in plant.program.reactors]
    texts = {
        plant.mermaid(apg=apg, workers=2, placement={**dict.fromkeys(paths(plant, "main.stations"), 0), **wanted}),
        plant.mermaid(apg=apg, placement=lambda path: wanted.get(path, 0)),
        plant.mermaid(apg=apg, placement=listed),
    }
    assert len(texts) == 1
    assert "worker1" in texts.pop()


def paths(graph: rx.Graph, start: str) -> list[str]:
    return [row.path for row in graph.program.reactors if row.path.startswith(start)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"placement": [0, 1]}, r"a list of 2 workers, and main has \d+ reactors"),
        ({"placement": {"main.nobody": 1}}, r"'main\.nobody'.*no such reactor"),
        ({"workers": 2, "placement": {"main.valve": 2}}, r"main\.valve"),
        ({"workers": 0}, "workers"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(plant: rx.Graph, options: dict[str, Any], message: str) -> None:
    with pytest.raises(rx.ReactorError, match=message):
        plant.mermaid(**options)
