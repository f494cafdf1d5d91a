"""Draws the rooms of the source, from the import law in pyproject.toml and the imports that there are.

`make pictures` writes docs/pictures/architecture.svg; tests hold it against the code.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import graphviz  # pyright: ignore[reportMissingTypeStubs]
import grimp
import networkx as nx

HERE = Path(__file__).parent
PICTURE = HERE / "architecture.svg"
PACKAGES = ("reactors", "reactors.rl", "reactors_runtime")  # each with a law of its own, drawn as a box


def laws() -> dict[str, list[list[str]]]:
    """The rooms of each package, the highest first; rooms of one layer stand side by side."""
    text = (HERE.parents[1] / "pyproject.toml").read_text()
    contracts: list[dict[str, Any]] = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return {
        package: [layer.replace("|", ":").replace(" ", "").split(":") for layer in contract["layers"]]
        for contract in contracts
        for package in contract.get("containers", ())
        if package in PACKAGES
    }


def arrows(rooms: set[str]) -> list[tuple[str, str]]:
    """Who imports whom, without what follows from other arrows."""

    def room_of(module: str) -> str | None:
        while module not in rooms and "." in module:
            module = module.rpartition(".")[0]
        return module if module in rooms else None

    imports = grimp.build_graph("reactors", "reactors_runtime", cache_dir=None)
    graph = nx.DiGraph()
    for module in imports.modules:
        here = room_of(module)
        for other in imports.find_modules_directly_imported_by(module):
            there = room_of(other)
            if here and there and here != there:
                graph.add_edge(here, there)
    return sorted(nx.transitive_reduction(graph).edges)


def drawn() -> graphviz.Digraph:
    """The picture: a box for each package, its rooms in the order of the law, and the arrows."""
    dot = graphviz.Digraph("architecture", graph_attr={"rankdir": "TB", "compound": "true", "fontname": "Helvetica"})
    dot.attr("node", shape="box", style="rounded,filled", fillcolor="white", fontname="Helvetica")
    dot.attr("edge", color="#00000080", arrowsize="0.6")
    rooms: set[str] = set()
    for package, layers in laws().items():
        with dot.subgraph(name=f"cluster_{package}") as box:
            box.attr(label=package, style="filled", fillcolor="#f4f4f4", color="#c0c0c0")
            for room in (room for layer in layers for room in layer):
                if f"{package}.{room}" not in PACKAGES and not room.startswith("_"):
                    rooms.add(f"{package}.{room}")
                    box.node(f"{package}.{room}", room)
    for here, there in arrows(rooms):
        dot.edge(here, there)
    return dot


if __name__ == "__main__":
    PICTURE.write_bytes(drawn().pipe("svg"))
