"""The elaborated program: numbers for the runtime, names for people."""

import itertools
import random
import warnings
from typing import Any

import networkx as nx
import pytest

import reactors as rx
from reactors_runtime.program import Kind


class Source(rx.Reactor):
    out = rx.Output(int)

    @rx.reaction(rx.startup, effects=out)
    def start(self) -> None:
        self.out.set(1)


class Relay(rx.Reactor):
    inp = rx.Input(int)
    out = rx.Output(int)

    @rx.reaction(inp, effects=out)
    def relay(self) -> None: ...


class Join(rx.Reactor):
    terms = rx.Input(int, width="n")

    def __init__(self, n: int) -> None:
        self.n = n

    @rx.reaction(terms)
    def add(self) -> None: ...

    @rx.reaction(rx.startup, rx.shutdown, uses=terms)
    def show(self) -> None: ...


class Diamond(rx.Reactor):
    def __init__(self, n: int = 3) -> None:
        self.source = Source()
        self.relays = rx.bank(n, Relay)
        self.join = Join(n)
        rx.connect(self.source.out, self.relays.inp, broadcast=True)
        rx.connect(self.relays.out, self.join.terms)


def test_program_of_a_diamond() -> None:
    main = Diamond(2)
    graph = rx.Graph(main)
    program = graph.program
    assert [element.path for element in program.elements] == [
        "main.source.out",
        "main.source.startup",
        "main.relays[0].inp",
        "main.relays[0].out",
        "main.relays[1].inp",
        "main.relays[1].out",
        "main.join.terms[0]",
        "main.join.terms[1]",
        "main.join.startup",
        "main.join.shutdown",
    ]
    assert [element.source for element in program.elements] == [0, -1, 0, 3, 0, 5, 3, 5, -1, -1]
    assert [element.kind for element in program.elements[-2:]] == [Kind.STARTUP, Kind.SHUTDOWN]
    assert program.multiports == [[6, 7]]
    assert [(r.name, r.level, r.triggers, r.uses, r.effects) for r in program.reactions] == [
        ("start", 0, [1], [], [0]),
        ("relay", 1, [2], [], [3]),
        ("relay", 1, [4], [], [5]),
        ("add", 2, [6, 7], [], []),
        ("show", 3, [8, 9], [6, 7], []),
    ]
    assert [(reactor.path, reactor.bank) for reactor in program.reactors] == [
        ("main", None),
        ("main.source", None),
        ("main.relays[0]", ("main.relays", 0, 2)),
        ("main.relays[1]", ("main.relays", 1, 2)),
        ("main.join", None),
    ]


def test_graph_gives_the_objects_behind_the_numbers() -> None:
    main = Diamond(2)
    graph = rx.Graph(main)
    assert graph.main is main
    assert graph.reactors == [main, main.source, *main.relays, main.join]
    assert graph.elements[0] is main.source.out
    assert graph.elements[7] is main.join.terms[1]
    assert [handle._element for handle in graph.elements] == list(range(10))
    assert [handle.path for handle in graph.elements] == [element.path for element in graph.program.elements]
    assert graph.bodies[1] == main.relays[0].relay
    assert graph.late == [None] * 5


def test_levels_and_precedence_by_name() -> None:
    graph = rx.Graph(Diamond(2))
    assert graph.levels == [
        ["main.source.start"],
        ["main.relays[0].relay", "main.relays[1].relay"],
        ["main.join.add"],
        ["main.join.show"],
    ]
    assert dict(graph.apg.edges) == {
        ("main.source.start", "main.relays[0].relay"): {"ports": ["main.relays[0].inp"]},
        ("main.source.start", "main.relays[1].relay"): {"ports": ["main.relays[1].inp"]},
        ("main.relays[0].relay", "main.join.add"): {"ports": ["main.join.terms[0]"]},
        ("main.relays[1].relay", "main.join.add"): {"ports": ["main.join.terms[1]"]},
        ("main.relays[0].relay", "main.join.show"): {"ports": ["main.join.terms[0]"]},
        ("main.relays[1].relay", "main.join.show"): {"ports": ["main.join.terms[1]"]},
        ("main.join.add", "main.join.show"): {"ports": []},
    }
    assert graph.apg.nodes["main.join.add"] == {"level": 2, "reactor": "main.join"}
    assert graph.connections.edges["main.relays[1].out", "main.join.terms[1]"] == {"delay": (0, 0), "physical": False}
    assert repr(graph) == "<graph of 5 reactors and 5 reactions>"


def test_delayed_connections_do_not_order_reactions() -> None:
    class Delayed(rx.Reactor):
        def __init__(self) -> None:
            self.source, self.relay = Source(), Relay()
            rx.connect(self.source.out, self.relay.inp, after=0)

    graph = rx.Graph(Delayed())
    assert [len(row) for row in graph.levels] == [2]
    assert not graph.apg.edges
    assert graph.connections.edges["main.source.out", "main.relay.inp"]["delay"] == (0, 1)


def test_container_and_contained_are_ordered_by_ports_alone() -> None:
    class Box(rx.Reactor):
        def __init__(self) -> None:
            self.relay = Relay()
            self.add_reaction(self.relay.out, self.take)
            self.add_reaction(rx.startup, self.give)

        def take(self) -> None: ...

        def give(self) -> None: ...

    class Feeding(rx.Reactor):
        def __init__(self) -> None:
            self.relay = Relay()
            self.add_reaction(rx.startup, self.give, effects=self.relay.inp)
            self.add_reaction(rx.startup, self.free)
            self.add_reaction(self.relay.out, self.take)

        def take(self) -> None: ...

        def give(self) -> None: ...

        def free(self) -> None: ...

    assert rx.Graph(Feeding()).levels == [["main.give"], ["main.free", "main.relay.relay"], ["main.take"]]
    with pytest.warns(rx.ReactorWarning):
        graph = rx.Graph(Box())
    assert graph.levels == [["main.relay.relay"], ["main.take"], ["main.give"]]


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_longest_chains_and_the_static_order_is_topological(seed: int) -> None:
    rng = random.Random(seed)

    class Node(rx.Reactor):
        def __init__(self, reactions: int) -> None:
            self.inp = rx.Input(int, width=3)
            self.out = rx.Output(int)
            for _ in range(reactions):
                self.add_reaction(
                    [rx.startup, self.inp[rng.randrange(3)]], lambda: None, uses=self.inp[1], effects=self.out
                )

    class Net(rx.Reactor):
        def __init__(self) -> None:
            self.nodes = [Node(rng.randint(1, 3)) for _ in range(12)]
            for a, b in itertools.combinations(range(12), 2):
                channel = b, rng.randrange(3)
                if rng.random() < 0.2 and channel not in taken:
                    taken.add(channel)
                    after = rng.choice([None, None, 0])
                    rx.connect(self.nodes[a].out, self.nodes[b].inp[channel[1]], after=after)

    taken: set[tuple[int, int]] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some inputs have no source
        graph = rx.Graph(Net())
    apg, names = graph.apg, graph.names
    place = {name: i for i, name in enumerate(names)}
    assert all(place[a] < place[b] for a, b in apg.edges)
    for rank, row in enumerate(nx.topological_generations(apg)):
        for name in row:
            before = [apg.nodes[other]["level"] for other in apg.predecessors(name)]
            assert apg.nodes[name]["level"] == 1 + max(before, default=-1)
            assert apg.nodes[name]["level"] == rank


def test_nodes_for_drawing() -> None:
    class Timed(rx.Reactor):
        tick = rx.Timer("1 ms", "2 ms")
        once = rx.Timer()
        act = rx.LogicalAction(min_delay="3 ms")
        button = rx.PhysicalAction()
        inp = rx.Input(shape=(2, 3), dtype="f4", width=2)
        out = rx.Output(dtype="i8")

        @rx.reaction(tick, rx.startup, uses=(inp, button), effects=(act, out, rx.stop))
        def step(self) -> None: ...

        @step.deadline("5 ms")
        def late(self) -> None: ...

        @rx.reaction(act)
        def react(self) -> None: ...

    class Box(rx.Reactor):
        def __init__(self) -> None:
            self.timed = rx.bank(1, Timed)

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.diamond = Diamond(2)
            self.box = Box()

    with pytest.warns(rx.ReactorWarning):
        root = rx.Graph(Main()).root
    diamond, box = root.children
    assert (root.name, root.path, root.class_name) == ("main", "main", "Main")
    assert [child.path for child in diamond.children] == [
        "main.diamond.source",
        "main.diamond.relays[0]",
        "main.diamond.relays[1]",
        "main.diamond.join",
    ]
    assert [(c.source, c.target) for c in diamond.connections][:1] == [
        ("main.diamond.source.out", "main.diamond.relays[0].inp")
    ]
    assert len(diamond.connections) == 4
    timed: Any = box.children[0]
    assert (timed.name, timed.bank) == ("timed[0]", ("main.box.timed", 0, 1))
    assert [(p.name, p.width, p.type, p.direction) for p in timed.inputs + timed.outputs] == [
        ("inp", 2, "float32[2, 3]", "input"),
        ("out", None, "int64", "output"),
    ]
    assert [(t.name, t.offset, t.period) for t in timed.timers] == [("tick", 1_000_000, 2_000_000), ("once", 0, None)]
    assert [(a.name, a.physical, a.min_delay) for a in timed.actions] == [
        ("act", False, 3_000_000),
        ("button", True, 0),
    ]
    step = timed.reactions[0]
    assert (step.number, step.level, step.stops, step.deadline, step.native) == (1, 0, True, 5_000_000, False)
    assert step.triggers == ["main.box.timed[0].tick", "startup"]
    assert step.uses == ["main.box.timed[0].inp", "main.box.timed[0].button"]
    assert step.effects == ["main.box.timed[0].act", "main.box.timed[0].out"]
    assert str(step.location).endswith(f":{step.location.line}")


def test_connections_are_drawn_in_the_reactor_that_has_both_ends() -> None:
    class Inner(rx.Reactor):
        inp = rx.Input(int)
        out = rx.Output(int)

        def __init__(self) -> None:
            self.relay = Relay()
            self.inp >> self.relay.inp
            self.relay.out >> self.out

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.source, self.inner, self.relay = Source(), Inner(), Relay()
            self.source.out >> self.inner.inp
            self.inner.out >> self.relay.inp

    root = rx.Graph(Main()).root
    assert [(c.source, c.target) for c in root.connections] == [
        ("main.source.out", "main.inner.inp"),
        ("main.inner.out", "main.relay.inp"),
    ]
    assert [(c.source, c.target) for c in root.children[1].connections] == [
        ("main.inner.inp", "main.inner.relay.inp"),
        ("main.inner.relay.out", "main.inner.out"),
    ]


def test_elaboration_is_deterministic() -> None:
    assert rx.Graph(Diamond(5)).program == rx.Graph(Diamond(5)).program


def test_elaboration_grows_with_the_program_and_not_faster() -> None:
    """A chain of 2,000 reactors and a fan of 2,000 readers: linear work, no recursion."""

    class Chain(rx.Reactor):
        def __init__(self, n: int) -> None:
            self.source = Source()
            self.relays = rx.bank(n, Relay)
            rx.connect([self.source.out, *self.relays.out[:-1]], self.relays.inp)

    class Fan(rx.Reactor):
        def __init__(self, n: int) -> None:
            self.source = Source()
            self.relays = rx.bank(n, Relay)
            rx.connect(self.source.out, self.relays.inp, broadcast=True)

    assert len(rx.Graph(Chain(2_000)).levels) == 2_001
    assert len(rx.Graph(Fan(2_000)).levels) == 2
