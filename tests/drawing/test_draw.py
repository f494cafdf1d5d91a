"""What pictures show, and that they can be made where `dot` is missing."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors.drawing import folding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reactors.drawing.diagram import Box, Diagram, Wire

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="the program dot is not installed")


class Sensor(rx.Reactor):
    tick = rx.Timer(offset="5 ms", period="10 ms")
    reading = rx.Output(float)

    @rx.reaction(tick, effects=reading)
    def sample(self) -> None:
        self.reading.set(1.0)


class Filter(rx.Reactor):
    raw = rx.Input(float)
    smooth = rx.Output(float)

    @rx.reaction(raw, effects=smooth)
    def step(self) -> None:
        self.smooth.set(self.raw.value)


class Station(rx.Reactor):
    smooth = rx.Output(float)

    def __init__(self, filters: int = 1) -> None:
        self.sensor = Sensor()
        self.filters = [Filter() for _ in range(filters)]
        rx.connect(self.sensor.reading, self.filters[0].raw)
        for one, other in zip(self.filters, self.filters[1:], strict=False):
            rx.connect(one.smooth, other.raw)
        rx.connect(self.filters[-1].smooth, self.smooth)


class Controller(rx.Reactor):
    readings = rx.Input(float, width="n")
    setpoint = rx.Input(float)
    command = rx.Output(float)
    alarm = rx.Output(str)
    retry = rx.LogicalAction(int, min_delay="1 ms")
    button = rx.PhysicalAction(str)

    def __init__(self, n: int) -> None:
        self.n = n

    @rx.reaction(rx.startup)
    def open(self) -> None: ...

    @rx.reaction(readings, effects=(command, retry))
    def control(self) -> None:
        self.command.set(sum(self.readings[i].value for i in self.readings.present))
        self.retry.schedule(1)

    @control.deadline("5 ms")
    def too_late(self) -> None: ...

    @rx.reaction(retry, button, uses=setpoint, effects=(alarm, rx.stop))
    def complain(self) -> None:
        self.alarm.set("stuck")

    @rx.reaction(rx.shutdown)
    def close(self) -> None: ...


class Valve(rx.Reactor):
    command = rx.Input(float)
    position = rx.Output(float)

    @rx.reaction(command, effects=position)
    def move(self) -> None:
        self.position.set(self.command.value)


class Plant(rx.Reactor):
    def __init__(self, n: int = 4) -> None:
        self.stations = rx.bank(n, Station)
        self.controller = Controller(n)
        self.valve = Valve()
        rx.connect(self.stations.smooth, self.controller.readings)
        rx.connect(self.controller.command, self.valve.command, after="2 ms")
        rx.connect(self.valve.position, self.controller.setpoint, physical=True)
        self.add_reaction(self.controller.alarm, self.log)

    def log(self) -> None: ...


class Loop(rx.Reactor):
    """A cycle that one delayed connection closes."""

    def __init__(self) -> None:
        self.sensor, self.head = Sensor(), rx.bank(3, Filter)
        self.joined = Joint()
        rx.connect(self.sensor.reading, self.joined.first)
        rx.connect(self.joined.out, self.head[0].raw)
        rx.connect(self.head[0].smooth, self.head[1].raw)
        rx.connect(self.head[1].smooth, self.head[2].raw)
        rx.connect(self.head[2].smooth, self.joined.second, after=0)


class Joint(rx.Reactor):
    first = rx.Input(float)
    second = rx.Input(float)
    out = rx.Output(float)

    @rx.reaction(first, second, effects=out)
    def join(self) -> None:
        self.out.set(0.0)


@pytest.fixture
def plant() -> rx.Graph:
    return rx.Graph(Plant())


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def boxes(diagram: Diagram) -> dict[str, Box]:
    def walk(some: list[Box]) -> Iterator[Box]:
        for box in some:
            yield box
            yield from walk(box.boxes)

    return {box.id: box for box in walk(diagram.boxes)}


def wires(diagram: Diagram) -> dict[tuple[str, str], Wire]:
    return {(wire.source, wire.target): wire for wire in diagram.wires}


def notes(diagram: Diagram) -> dict[str, list[str]]:
    return {symbol.id: symbol.notes for symbol in diagram.symbols()}


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


def ends(diagram: Diagram) -> set[tuple[str, str, int]]:
    """The connections."""
    return {(wire.source, wire.target, wire.channels) for wire in diagram.wires if wire.kind == "connection"}


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


# Files and notebooks


@needs_dot
@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_dot_makes_pictures(plant: rx.Graph, tmp_path: Path, suffix: str, start: bytes) -> None:
    file = plant.draw(tmp_path / f"plant{suffix}", workers=2)
    assert file.read_bytes().startswith(start)


@needs_dot
@pytest.mark.parametrize("options", [{}, {"apg": True}, {"expand": True}, {"apg": True, "workers": 3}])
def test_dot_understands_every_kind_of_text(plant: rx.Graph, tmp_path: Path, options: dict[str, Any]) -> None:
    text = plant.draw(tmp_path / "plant.svg", **options).read_text()
    assert text.count("<title>") > 10


class OddlyNamed(rx.Reactor):
    def __init__(self) -> None:
        self.parts = {'a "quoted" <b>\\N & \n\x01': Station(), "x;y|z{}:w#`": Station()}


@needs_dot
def test_any_name_can_be_drawn(tmp_path: Path) -> None:
    text = rx.Graph(OddlyNamed()).draw(tmp_path / "odd.svg").read_text()
    assert r"a &quot;quoted&quot; &lt;b&gt;\N &amp;" in text
    assert "x;y|z{}:w#`" in text


def test_any_name_can_be_written() -> None:
    graph = rx.Graph(OddlyNamed())
    assert r"<b>parts[a &quot;quoted&quot; &lt;b&gt;\N &amp;" in graph.dot
    assert "a #34;quoted#34; #60;b#62;#92;N #38;" in graph.mermaid()
    names = re.findall(r"subgraph (\S+)\[", graph.mermaid())
    assert len(names) == len(set(names)) == 7


@needs_dot
def test_a_notebook_gets_an_svg(plant: rx.Graph) -> None:
    assert "<svg" in (plant._repr_svg_() or "")
    assert set(plant._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}


def test_a_notebook_is_spared_what_nobody_could_read() -> None:
    class Crowd(rx.Reactor):
        def __init__(self) -> None:
            for i in range(600):  # of classes with ports that differ, so that none can stand for others
                setattr(self, f"sensor{i}", type("Sensor", (rx.Reactor,), {f"reading{i}": rx.Output()})())

    graph = rx.Graph(Crowd())
    assert graph._repr_svg_() is None
    assert set(graph._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.usefixtures("no_dot")
def test_without_dot_the_error_says_what_to_install(plant: rx.Graph, tmp_path: Path) -> None:
    with pytest.raises(rx.DrawingError, match=r"apt install graphviz.*\.dot or \.mmd"):
        plant.draw(tmp_path / "plant.svg")
    assert not (tmp_path / "plant.svg").exists()


@pytest.mark.usefixtures("no_dot")
def test_without_dot_there_are_texts_and_mermaid_in_notebooks(plant: rx.Graph, tmp_path: Path) -> None:
    assert plant.draw(tmp_path / "plant.dot").read_text() == plant.dot
    assert plant.draw(tmp_path / "plant.mmd", apg=True).read_text() == plant.mermaid(apg=True)
    assert plant._repr_svg_() is None
    assert plant._repr_mimebundle_()["text/vnd.mermaid"] == plant.mermaid()


def test_an_unknown_suffix_is_refused(plant: rx.Graph, tmp_path: Path) -> None:
    with pytest.raises(rx.ArgumentError, match=r"plant\.gif.*\.svg, \.png, \.pdf"):
        plant.draw(tmp_path / "plant.gif")


@pytest.mark.filterwarnings("ignore:main.first.inp:reactors.ReactorWarning")
def test_modes_are_boxes_and_transitions_are_notes() -> None:
    """With what lies in them; a connection of a mode says so."""

    class Part(rx.Reactor):
        inp, out = rx.Input(int), rx.Output(int)
        tick = rx.Timer(0, "1 ms")

        @rx.reaction(tick, effects=out)
        def go(self) -> None: ...

        @rx.reaction(inp, rx.reset)
        def hear(self) -> None: ...

    class Modal(rx.Reactor):
        off, on = rx.Mode(initial=True), rx.Mode()
        wait = rx.Timer("2 ms", mode=off)

        def __init__(self) -> None:
            self.always = Part2()
            with self.on:
                self.first, self.second = Part(), Part()
                rx.connect(self.first.out, self.second.inp, after="3 ms")

        @rx.reaction(wait, mode=off, effects=on.history)
        def leave(self) -> None: ...

    class Part2(rx.Reactor):
        tick = rx.Timer(0, "1 ms")

        @rx.reaction(tick)
        def go(self) -> None: ...

    graph = rx.Graph(Modal())
    (main,) = folding.reactors(graph).boxes
    assert [(box.name, box.kind) for box in main.boxes] == [
        ("always", "Part2"),
        ("off", "initial mode"),
        ("on", "mode"),
    ]
    off, on = main.boxes[1:]
    assert [(symbol.name, symbol.notes) for symbol in off.symbols] == [
        ("wait", ["once at 2 ms"]),
        ("leave", ["\N{RIGHTWARDS ARROW} on by history"]),
    ]
    assert [box.name for box in on.boxes] == ["first", "second"]
    assert [symbol.name for symbol in on.boxes[0].symbols][:2] == ["reset", "inp"]
    notes = [wire.note for wire in folding.reactors(graph).wires if wire.kind == "connection"]
    assert notes == ["after 3 ms, in on"]
    for text in (graph.dot, graph.mermaid(workers=2), graph.mermaid(apg=True)):
        assert "first" in text
    assert list(graph.connections.edges) == [("main.first.out", "main.second.inp")]
