"""What is the whole program, before it runs?

`Graph(main)` elaborates: it finds the reactors, resolves strings that stand for attributes, follows the connections,
orders the reactions, and raises every error that can be known without running. The result is a `Program` of plain
integers for the runtime, and for people the tree of reactors and the graphs of connections and precedence, which can be
drawn.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from reactors.elaboration.advice import warn_of_the_unlikely
from reactors.elaboration.connections import wires
from reactors.elaboration.precedence import Precedence, order
from reactors.elaboration.reactions import enlist
from reactors.elaboration.relays import add_relays
from reactors.elaboration.sources import resolve
from reactors.elaboration.tree import grow
from reactors.elaboration.wiring import wire
from reactors.names.keywords import spelled_out
from reactors_runtime.program import FOREVER, Program
from reactors_runtime.program import Reactor as Row
from reactors_runtime.settings import collector

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import networkx as nx

    from reactors.drawing.draw import Look
    from reactors.drawing.records import ReactorNode
    from reactors.elaboration.tree import Handle
    from reactors.model.native import Native
    from reactors.model.reaction import Reaction
    from reactors.model.reactor import Reactor


class Graph:
    """An elaborated program: checked, numbered, ordered, and ready to be run or drawn.

    >>> import reactors as rx
    >>> class Ping(rx.Reactor):
    ...     out = rx.Output(int)
    ...     @rx.reaction(rx.startup, effects=out)
    ...     def start(self):
    ...         self.out.set(1)
    >>> class Pong(rx.Reactor):
    ...     inp = rx.Input(int)
    ...     @rx.reaction(inp)
    ...     def react(self): ...
    >>> class Main(rx.Reactor):
    ...     def __init__(self):
    ...         self.ping, self.pong = Ping(), Pong()
    ...         self.ping.out >> self.pong.inp
    >>> graph = rx.Graph(Main())
    >>> graph.levels
    [['main.ping.start'], ['main.pong.react']]
    >>> sorted(graph.apg.edges)
    [('main.ping.start', 'main.pong.react')]
    """

    main: Reactor
    program: Program  # what the runtime gets
    elements: Sequence[Handle]  # the ports, timers and actions themselves, parallel to program.elements
    reactors: list[Reactor]  # parallel to program.reactors
    bodies: list[Callable[[], object] | Native]  # parallel to program.reactions
    late: list[Callable[[], object] | Native | None]  # likewise: what runs instead when the deadline is missed

    @spelled_out("rx.Graph")
    def __init__(self, main: Reactor, *, debug: bool = False) -> None:
        with collector.at_rest(afresh=True):
            self._elaborate(main, debug=debug)

    def _elaborate(self, main: Reactor, *, debug: bool) -> None:
        tree = grow(main)
        connected, enlisted = wires(tree), enlist(tree)
        tree, reactions, direct = add_relays(tree, enlisted, connected)
        wiring = wire(tree, reactions, direct)
        elements = resolve(tree, wiring)
        ordered = order(tree, reactions, wiring, elements)
        warn_of_the_unlikely(tree, reactions, wiring, elements, debug=debug)

        self.main = main
        self.reactors = [place.reactor for place in tree.places]
        self.elements = tree.handles
        self.program = Program(
            [Row(place.path, place.bank, place.mode, place.is_relay) for place in tree.places],
            elements,
            [each.row for each in ordered],
            tree.multiports,
            tree.modes,
        )
        self.declarations: list[Reaction[Any]] = [declaration for _, declaration, _ in ordered]
        # Made in the order in which they run, and so beside one another in memory.
        bodies = [declaration.bodies(self.reactors[row.reactor]) for row, declaration, _ in ordered]
        self.bodies, self.late = [each.body for each in bodies], [each.late for each in bodies]
        self._tree, self._wires = tree._replace(elements=elements), connected

    def __repr__(self) -> str:
        program = self.program
        return f"<graph of {len(program.reactors)} reactors and {len(program.reactions)} reactions>"

    @cached_property
    def root(self) -> ReactorNode:
        """The tree of reactors with everything they have, for drawing."""
        from reactors.drawing.records import picture

        return picture(self._tree, self._wires, self.program, self.declarations)

    def bodies_of(self, numbers: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """The bodies of some reactions, and what runs instead after a missed deadline; native bodies are not called."""
        return [self.bodies[n] for n in numbers], [self.late[n] for n in numbers]

    @property
    def names(self) -> list[str]:
        """The path of every reaction, parallel to program.reactions."""
        return [*map(self.program.name, range(len(self.program.reactions)))]

    @property
    def deadlines(self) -> dict[str, int]:
        """The inferred deadlines in ns, by path: the least of a reaction's own and of those that must run after it."""
        rows = zip(self.program.reactions, self.names, strict=True)
        return {name: row.inferred_deadline for row, name in rows if row.inferred_deadline != FOREVER}

    @property
    def levels(self) -> list[list[str]]:
        """The paths of the reactions by level: reactions of one level cannot affect one another at a tag."""
        rows: list[list[str]] = []
        for reaction, name in zip(self.program.reactions, self.names, strict=True):
            rows.extend([] for _ in range(reaction.level + 1 - len(rows)))
            rows[reaction.level].append(name)
        return rows

    @cached_property
    def apg(self) -> nx.DiGraph[str]:
        """The acyclic precedence graph: reactions by path, with an edge from each to those that have to wait for it.

        Nodes have `level` and `reactor`. Edges have `ports`, the paths of the ports that cause the dependency; it is
        empty if only the order within one reactor does.
        """
        import networkx as nx

        program, names = self.program, self.names
        order = sorted(range(len(names)), key=lambda r: (program.reactions[r].reactor, program.reactions[r].number))
        rows = [program.reactions[r] for r in order]
        graph: nx.DiGraph[str] = nx.DiGraph()
        for r, row in zip(order, rows, strict=True):
            graph.add_node(names[r], level=row.level, reactor=program.reactors[row.reactor].path)
        written: dict[int, list[int]] = {}
        for k, row in enumerate(rows):
            for e in row.effects:
                written.setdefault(e, []).append(k)
        for before, after, e in Precedence(rows, program.elements, written, program.modes).edges():
            ends = names[order[before]], names[order[after]]
            ports = graph.edges[ends]["ports"] if graph.has_edge(*ends) else []
            graph.add_edge(*ends, ports=ports + [program.elements[e].path] * (e >= 0))
        return graph

    @cached_property
    def connections(self) -> nx.DiGraph[str]:
        """The connections between ports, channel by channel; edges have `delay` (ns, microsteps) and `physical`."""
        import networkx as nx

        elements = self.program.elements
        graph: nx.DiGraph[str] = nx.DiGraph()
        for handle, element in zip(self.elements, elements, strict=True):
            if handle.word in ("input", "output") and not self.program.reactors[element.reactor].relay:
                graph.add_node(element.path, kind=handle.word, reactor=self.program.reactors[element.reactor].path)
        for each in self._wires:
            ends = elements[each.source].path, elements[each.target].path
            graph.add_edge(*ends, delay=each.delay, physical=each.physical)
        return graph

    def draw(self, file: str | os.PathLike[str], **options: Unpack[Look]) -> Path:
        """Draw the program into a file; its suffix decides the format: .svg, .png, .pdf, .dot or .mmd.

        `apg=True` draws the precedence graph. `expand=True` draws every member of a bank or list. `depth=1` draws
        nothing inside of the reactors that `main` contains. With `workers` or `placement`, as for `rx.run`, colours
        show where each reactor runs. With `profile="run.rxt"`, a trace, they show how long each took.
        """
        from reactors.drawing import draw

        return draw.draw(self, file, **options)

    @property
    def dot(self) -> str:
        """The drawing as DOT text."""
        from reactors.drawing import draw

        return draw.dot(self)

    def mermaid(self, **options: Unpack[Look]) -> str:
        """The drawing as Mermaid text."""
        from reactors.drawing import draw

        return draw.mermaid(self, **options)

    def _repr_svg_(self) -> str | None:
        from reactors.drawing import draw

        return draw.svg(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        from reactors.drawing import draw

        return draw.mimebundle(self)
