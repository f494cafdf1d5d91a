"""Declaring reactors: what a class says, and what every reactor of it has."""

import abc
import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx


class Counter(rx.Reactor):
    tick = rx.Timer(period="100 ms")
    count = rx.Output(int)

    def __init__(self, start: int = 0) -> None:
        self.n = start

    @rx.reaction(tick, effects=count)
    def on_tick(self) -> None:
        self.n += 1
        self.count.set(self.n)


# Ports of classes and of reactors


def test_every_reactor_has_its_own_ports() -> None:
    a, b = Counter(), Counter()
    assert isinstance(a.count, rx.Output)
    assert a.count is not b.count
    assert a.count is vars(a)["count"]
    assert a.count is not Counter.count


def test_init_of_the_base_need_not_be_called() -> None:
    class Plain(rx.Reactor):
        out = rx.Output(int)

        def __init__(self) -> None:
            pass

    assert Plain().out.name == "out"


def test_reactor_without_a_class_of_its_own() -> None:
    main = rx.Reactor()
    main.counter = Counter()  # type: ignore[attr-defined]
    assert [reactor.path for reactor in rx.Graph(main).reactors] == ["main", "main.counter"]


def test_attributes_are_the_users_own() -> None:
    assert list(vars(Counter(3))) == ["tick", "count", "n"]


def test_ports_declared_in_init() -> None:
    class Wide(rx.Reactor):
        def __init__(self, n: int) -> None:
            self.inp = rx.Input(int, width=n)
            self.out = rx.Output(int)
            self.tick = rx.Timer(period="1 ms")
            self.act = rx.LogicalAction()
            self.add_reaction(self.tick, lambda: None, effects=[self.out, self.act])

    program = rx.Graph(Wide(2)).program
    assert [element.path for element in program.elements] == [
        "main.inp[0]",
        "main.inp[1]",
        "main.out",
        "main.tick",
        "main.act",
    ]


def test_ports_of_a_base_and_in_a_class_with_other_bases() -> None:
    class Named:
        label = "x"

    class Sized(abc.ABC):
        @abc.abstractmethod
        def size(self) -> int: ...

    class Double(Named, Counter, Sized):
        doubled = rx.Output(int)

        @rx.reaction(Counter.tick, effects=doubled)
        def double(self) -> None:
            self.doubled.set(2)

        def size(self) -> int:
            return 1

    double = Double()
    assert (double.label, double.n) == ("x", 0)
    program = rx.Graph(double).program
    assert [element.path for element in program.elements] == ["main.count", "main.doubled", "main.tick"]
    assert [reaction.name for reaction in program.reactions] == ["on_tick", "double"]


def test_reactor_that_is_a_dataclass() -> None:
    @dataclasses.dataclass
    class Sized(rx.Reactor):
        n: int
        inp = rx.Input(shape="n", dtype="f4")

    sized = Sized(3)
    assert sized.inp.shape == (3,)
    assert rx.Graph(sized).reactors == [sized]


def test_reaction_is_a_method_too() -> None:
    class Plain(rx.Reactor):
        @rx.reaction(rx.startup)
        def start(self) -> None:
            self.started = True

    plain = Plain()
    plain.start()
    assert plain.started
    assert isinstance(Plain.__dict__["start"], object)


def test_reaction_behind_another_decorator() -> None:
    def doubly(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def twice(*args: Any, **kwargs: Any) -> None:
            method(*args, **kwargs)
            method(*args, **kwargs)

        return twice

    class Plain(rx.Reactor):
        n = 0

        @rx.reaction(rx.startup)
        @doubly
        def start(self) -> None:
            self.n += 1

    plain = Plain()
    (body,) = rx.Graph(plain).bodies
    assert callable(body)
    body()
    assert plain.n == 2


def test_local_and_nested_classes_have_short_names() -> None:
    class Local(rx.Reactor):
        out = rx.Output(int)

    assert repr(Local()) == "<reactor Local>"
    assert repr(Local().out) == "<output Local.out>"


def test_references_to_ports_of_others_are_no_declarations() -> None:
    class Box(rx.Reactor):
        def __init__(self) -> None:
            self.counter = Counter()
            self.count = self.counter.count  # what it contains, by another name
            self.all = [self.counter.count]

    graph = rx.Graph(Box())
    assert [element.path for element in graph.program.elements] == ["main.counter.count", "main.counter.tick"]


def test_reactors_can_be_looked_at_without_being_run() -> None:
    counter = Counter()
    assert counter.path == "Counter"
    assert counter.count.path == "Counter.count"
    assert counter.bank_index == 0
    rx.Graph(counter)
    assert counter.count.path == "main.count"
    assert "test_declare.py" in counter.count.where()


# Layouts


@pytest.mark.parametrize(
    ("description", "shape", "dtype"),
    [
        ({"shape": (3, 4)}, (3, 4), "f8"),
        ({"shape": [3, 4], "dtype": "f4"}, (3, 4), "f4"),
        ({"shape": 3, "dtype": np.int8}, (3,), "i1"),
        ({"shape": np.int64(3), "dtype": np.int8}, (3,), "i1"),
        ({"dtype": np.float32}, (), "f4"),
        ({"shape": (), "dtype": bool}, (), "?"),
        ({"shape": "size"}, (5, 6), "f8"),
        ({"shape": "n", "dtype": "f4"}, (7,), "f4"),
        ({"shape": ("n", 5), "dtype": "f4"}, (7, 5), "f4"),
        ({"shape": (0,), "dtype": "f4"}, (0,), "f4"),
        ({"shape": 2, "dtype": [("x", "f4"), ("n", "i4")]}, (2,), [("x", "f4"), ("n", "i4")]),
        ({"space": "box"}, (2, 2), "f4"),
        ({"space": gym.spaces.Discrete(4)}, (), "i8"),
        ({"space": gym.spaces.MultiDiscrete([2, 3])}, (2,), "i8"),
        ({"space": gym.spaces.MultiBinary(6)}, (6,), "i1"),
        ({}, None, None),
        ({"type": int}, None, None),
        ({"type": list[int]}, None, None),
    ],
)
def test_layout(description: dict[str, Any], shape: tuple[int, ...] | None, dtype: Any) -> None:
    class Laid(rx.Reactor):
        port = rx.Input(**description)

        def __init__(self) -> None:
            self.n, self.size = 7, (5, 6)
            self.box = gym.spaces.Box(0, 1, (2, 2))

    port = Laid().port
    assert port.shape == shape
    assert port.dtype == (None if dtype is None else np.dtype(dtype))


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        (int, int),
        (None, None),
        (Any, None),
        (object, None),
        (list[int], list),
        (int | None, int | None),
        (Callable[[], int], Callable),
        (np.ndarray, np.ndarray),
    ],
)
def test_type_as_the_runtime_sees_it(declared: Any, kind: Any) -> None:
    class Typed(rx.Reactor):
        port = rx.Output(declared)

    assert rx.Graph(Typed()).program.elements[0].type == kind


def test_layouts_may_differ_between_reactors_of_one_class() -> None:
    class Laid(rx.Reactor):
        port = rx.Input(shape="n")
        ports = rx.Input(int, width="n")

        def __init__(self, n: int) -> None:
            self.n = n

    assert [(r.port.shape, len(r.ports)) for r in (Laid(1), Laid(2))] == [((1,), 1), ((2,), 2)]


def test_strings_are_looked_up_no_earlier_than_needed() -> None:
    class Late(rx.Reactor):
        first = rx.Input(int, width="n")
        second = rx.Input(int, width="m")

        def __init__(self) -> None:
            self.n = 2
            self.known = len(self.first)
            self.m = 3

    late = Late()
    assert (late.known, len(late.second)) == (2, 3)


def test_strings_may_name_properties_and_class_attributes() -> None:
    class Computed(rx.Reactor):
        size = 4
        port = rx.Input(shape="double")
        other = rx.Input(shape="size")

        @property
        def double(self) -> int:
            return 2 * self.size

    assert (Computed().port.shape, Computed().other.shape) == ((8,), (4,))


def test_multiport_is_a_row_of_channels() -> None:
    class Wide(rx.Reactor):
        ports = rx.Input(shape=2, width=3)
        one = rx.Input(int)

    wide = Wide()
    assert (len(wide.ports), wide.ports.width, wide.one.width) == (3, 3, None)
    assert [port.name for port in wide.ports] == ["ports[0]", "ports[1]", "ports[2]"]
    assert wide.ports[-1] is wide.ports[2]
    assert wide.ports[1:] == [wide.ports[1], wide.ports[2]]
    assert wide.ports[0].shape == (2,)
    assert wide.ports[0].width is None
    with pytest.raises(IndexError, match=r"Wide.ports \(.*\) has 3 channels, and no channel 3"):
        wide.ports[3]


def test_channels_may_be_named_in_the_class_where_the_width_is_known() -> None:
    class Wide(rx.Reactor):
        outs = rx.Output(int, width=3)

        @rx.reaction(rx.startup, effects=outs[1])
        def start(self) -> None:
            self.outs[1].set(1)

        @rx.reaction(rx.startup, effects=outs[::2])
        def rest(self) -> None: ...

    wide = Wide()
    graph = rx.Graph(wide)
    assert [row.effects for row in graph.program.reactions] == [[1], [0, 2]]
    assert graph.elements[1] is wide.outs[1]
    assert graph.root.reactions[0].effects == ["main.outs[1]"]
    assert Wide.outs[1].path == "Wide.outs[1]"


def test_multiport_of_no_channels() -> None:
    class Empty(rx.Reactor):
        ports = rx.Input(int, width=0)

        @rx.reaction(rx.startup, uses=ports)
        def start(self) -> None: ...

    program = rx.Graph(Empty()).program
    assert program.multiports == [[]]
    assert program.reactions[0].uses == []


def test_a_multiport_of_no_channels_holds_nothing() -> None:
    class Empty(rx.Reactor):
        given = rx.Input(shape=2, dtype=np.float32, width="n")
        sent = rx.Output(int, width="n")

        def __init__(self, n: int) -> None:
            self.n = n

        @rx.reaction(rx.startup, uses=given, effects=sent)
        def start(self) -> None:
            self.found = [self.given.present, self.given.is_present, self.given.value, self.given.array.shape]
            self.sent.set([])
            self.sent.set_all([])

    empty = Empty(0)
    rx.run(empty, fast=True, debug=True)
    assert empty.found == [(), False, [], (0, 2)]


# Timers, actions, deadlines, stops


def test_durations_may_be_parameters() -> None:
    class Timed(rx.Reactor):
        tick = rx.Timer("first", "period")
        once = rx.Timer("1 s")
        act = rx.LogicalAction(min_delay="wait")
        button = rx.PhysicalAction(int, min_delay="2 us")

        def __init__(self) -> None:
            self.first, self.period, self.wait, self.limit, self.slack = "1 ms", 5, "3 us", "7 ms", "4 us"

        @rx.reaction(tick, effects=(act, rx.stop.after("slack")))
        def step(self) -> None: ...

        @step.deadline("limit")
        def late(self) -> None: ...

        @rx.reaction(act, effects=rx.stop)
        def end(self) -> None: ...

        @rx.reaction(act, effects=rx.stop.after(0))
        def again(self) -> None: ...

    timed = Timed()
    graph = rx.Graph(timed)
    tick, once, act, button = graph.program.elements
    assert (tick.first, tick.period) == (1_000_000, 5)
    assert (once.first, once.period) == (1_000_000_000, 0)
    assert (act.min_delay, button.min_delay) == (3_000, 2_000)
    assert [reaction.stop for reaction in graph.program.reactions] == [(4_000, 0), (0, 1), (0, 1)]
    assert graph.program.reactions[0].deadline == 7_000_000
    assert graph.late[0] == timed.late
    assert graph.late[1] is None


def test_deadline_under_the_same_name_leaves_the_reaction_in_place() -> None:
    done = []

    class Timed(rx.Reactor):
        @rx.reaction(rx.startup)
        def step(self) -> None:  # pyright: ignore[reportRedeclaration]  # as with property.setter
            done.append("in time")

        @step.deadline("1 ms")
        def step(self) -> None:  # type: ignore[no-redef]
            done.append("late")

    graph = rx.Graph(Timed())
    for body in (*graph.bodies, *graph.late):
        assert callable(body)
        body()
    assert done == ["in time", "late"]


# Reactions by call


def test_reactions_by_call_follow_those_of_the_class() -> None:
    class Mixed(rx.Reactor):
        out = rx.Output(int)

        def __init__(self) -> None:
            self.counters = rx.bank(2, Counter)
            self.add_reaction(self.counters.count, self.see, uses=[self.counters[0].count], effects=(self.out, rx.stop))
            self.add_reaction([rx.startup, self.counters[1].count], lambda: None, deadline="1 ms", late=self.see)
            self.add_reaction(rx.shutdown, self.see)

        @rx.reaction(rx.startup)
        def start(self) -> None: ...

        def see(self) -> None: ...

    mixed = Mixed()
    graph = rx.Graph(mixed)
    rows = sorted((r for r in graph.program.reactions if r.reactor == 0), key=lambda r: r.number)
    paths = [element.path for element in graph.program.elements]
    assert [row.name for row in rows] == ["start", "see", "reaction3", "see4"]
    assert [paths[e] for e in rows[1].triggers] == ["main.counters[0].count", "main.counters[1].count"]
    assert [paths[e] for e in rows[1].uses] == ["main.counters[0].count"]
    assert [paths[e] for e in rows[1].effects] == ["main.out"]
    assert [paths[e] for e in rows[2].triggers] == ["main.startup", "main.counters[1].count"]
    assert rows[1].stop == (0, 1)
    assert rows[2].deadline == 1_000_000


def test_body_by_call_may_have_defaults_or_be_any_callable() -> None:
    class Many(rx.Reactor):
        def __init__(self) -> None:
            for i in range(3):
                self.add_reaction(rx.startup, lambda i=i: print(i))  # type: ignore[misc]
            self.add_reaction(rx.startup, functools.partial(print, "x"))
            self.add_reaction(rx.startup, print)
            self.add_reaction(rx.startup, Counter.__init__.__get__(Counter()))

    names = [reaction.name for reaction in rx.Graph(Many()).program.reactions]
    assert names == ["reaction1", "reaction2", "reaction3", "reaction4", "print", "__init__"]


# Containing


class Leaf(rx.Reactor):
    def __init__(self, label: str = "") -> None:
        self.label = label


def test_containment_is_read_from_attributes_in_order_and_depth_first() -> None:
    class Box(rx.Reactor):
        def __init__(self, label: str = "") -> None:
            self.label = label
            self.leaf = Leaf()

    class Everything(rx.Reactor):
        def __init__(self) -> None:
            self.z = Leaf()
            self.row = [Leaf(), Box()]
            self.pair = (Leaf(),)
            self.by_name = {"red": Leaf(), 3: Leaf(), "data": 5}
            self.bank = rx.bank(2, Box)
            self.banks = [rx.bank(1, Leaf), rx.bank(1, Leaf)]
            self.a = Leaf()
            self.data = [1, 2, "x"]

    program = rx.Graph(Everything()).program
    assert [reactor.path for reactor in program.reactors] == [
        "main",
        "main.z",
        "main.row[0]",
        "main.row[1]",
        "main.row[1].leaf",
        "main.pair[0]",
        "main.by_name[red]",
        "main.by_name[3]",
        "main.bank[0]",
        "main.bank[0].leaf",
        "main.bank[1]",
        "main.bank[1].leaf",
        "main.banks[0][0]",
        "main.banks[1][0]",
        "main.a",
    ]
    assert program.reactors[8].bank == ("main.bank", 0, 2)
    assert program.reactors[10].bank == ("main.bank", 1, 2)
    assert program.reactors[2].bank is None


def test_reactor_assigned_from_outside_is_contained() -> None:
    main: Any = Leaf()
    main.late = Leaf()
    assert [reactor.path for reactor in rx.Graph(main).reactors] == ["main", "main.late"]


def test_program_can_be_elaborated_again_and_in_part() -> None:
    class Box(rx.Reactor):
        def __init__(self) -> None:
            self.counter = Counter()

    box = Box()
    first, second = rx.Graph(box), rx.Graph(box)
    assert first.program == second.program
    box.counter = Counter()
    assert rx.Graph(box).reactors[1] is box.counter


def test_deep_hierarchy() -> None:
    main: Any = Leaf()
    inner: Any = main
    for _ in range(2_000):
        inner.inner = Leaf()
        inner = inner.inner
    assert len(rx.Graph(main).reactors) == 2_001


# Banks


def test_bank_members_know_their_index() -> None:
    class Member(rx.Reactor):
        def __init__(self) -> None:
            self.double = 2 * self.bank_index

    members = rx.bank(3, Member)
    assert [(member.bank_index, member.double) for member in members] == [(0, 0), (1, 2), (2, 4)]
    assert len(members) == 3
    assert members[-1].bank_index == 2
    assert [member.bank_index for member in members[1:]] == [1, 2]


def test_functions_of_the_index_are_called() -> None:
    class Member(rx.Reactor):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.args, self.kwargs = args, kwargs

    def thunk() -> int:
        return 5

    def of_two(a: int, b: int) -> int:
        return a + b

    def half(i: int, n: int = 2) -> float:
        return i / n

    one, two = rx.bank(
        2, Member, lambda i: 10 * i, thunk, of_two, int, np.tanh, half, k=functools.partial(of_two, 100), p="x"
    )
    assert one.args == (0, thunk, of_two, int, np.tanh, 0.0)
    assert two.args == (10, thunk, of_two, int, np.tanh, 0.5)
    assert (one.kwargs, two.kwargs) == ({"k": 100, "p": "x"}, {"k": 101, "p": "x"})


def test_attribute_of_a_bank_is_the_port_of_all_members() -> None:
    counters = rx.bank(3, Counter)
    assert list(counters.count) == [counter.count for counter in counters]
    assert len(counters.count) == 3
    assert counters.count[1] is counters[1].count
    assert list(rx.bank(0, Counter).count) == []
    assert repr(counters) == "<bank of 3 Counter>"
    assert "count" in dir(counters)


@pytest.mark.parametrize(
    ("n", "name", "words"),
    [
        (3, "n", r"'n' is no port of its members; for what is none write \[member.n for member in bank\]"),
        (3, "m", "have no port 'm'"),
        (0, "m", "is empty, and its class has no port 'm'"),
    ],
)
def test_attribute_of_a_bank_that_is_no_port(n: int, name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(rx.bank(n, Counter), name)


def test_a_member_that_a_bank_does_not_have() -> None:
    with pytest.raises(IndexError, match="<bank of 2 Counter> has no member 2"):
        rx.bank(2, Counter)[2]
    with pytest.raises(IndexError, match="<bank of 0 Counter> has no member 0"):
        rx.bank(0, Counter)[0]
    assert repr(rx.bank(0, Counter).count) == "<no ports, of an empty bank>"


def test_nested_banks_are_wired_outer_index_first() -> None:
    class Row(rx.Reactor):
        def __init__(self) -> None:
            self.cells = rx.bank(2, Counter, lambda i: 10 * self.bank_index + i)
            self.single = Counter()

    class Grid(rx.Reactor):
        def __init__(self) -> None:
            self.rows = rx.bank(3, Row)

    grid = Grid()
    rx.Graph(grid)
    assert [port.path for port in grid.rows.cells.count] == [
        f"main.rows[{i}].cells[{j}].count" for i in range(3) for j in range(2)
    ]
    assert [port.path for port in grid.rows.single.count] == [f"main.rows[{i}].single.count" for i in range(3)]
    assert [member.n for member in grid.rows.cells] == [0, 1, 10, 11, 20, 21]


def test_banks_can_be_copied() -> None:
    assert len(copy.copy(rx.bank(2, Counter))) == 2


# The package


def test_public_names_are_sorted_and_there() -> None:
    assert list(rx.__all__) == sorted(rx.__all__)
    assert all(hasattr(rx, name) for name in rx.__all__)
    assert {name for name in vars(rx) if name[0] != "_"} >= set(rx.__all__)
