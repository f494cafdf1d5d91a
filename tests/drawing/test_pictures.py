"""Pictures in files and notebooks, with `dot` and without."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors.drawing import folding

if TYPE_CHECKING:
    from pathlib import Path

from tests.drawing.plant import Station, needs_dot

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


def test_a_notebook_is_spared_what_no_one_could_read() -> None:
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
