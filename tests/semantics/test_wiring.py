"""Which value comes where, and how much later: banks, nested banks, multiports and delays (catalogue, 6 and 7)."""

from typing import Any

import reactors as real
from tests.oracle.ways import TOGETHER, note, trace
from tests.semantics.alone import trace_alone


def members(rx: Any) -> Any:
    """A reactor for banks, with `width` outputs; it sends "ik" on channel k, if it is number i of its bank."""

    class Member(rx.Reactor):
        def __init__(self, width: int = 2, name: str = "") -> None:
            self.label = name
            self.out = rx.Output(str, width=width)
            self.add_reaction(rx.startup, self.send, effects=self.out)

        def send(self) -> None:
            for k, channel in enumerate(self.out):
                channel.set(f"{self.label}{self.bank_index}{k}")

    return Member


def rows(rx: Any) -> Any:
    """A reactor with `width` inputs that notes what it finds on them."""

    class Row(rx.Reactor):
        def __init__(self, width: int) -> None:
            self.value = rx.Input(width=width)
            self.add_reaction(self.value, self.see)

        def see(self) -> None:
            note(self, " ".join("-" if not c.is_present else str(c.value) for c in self.value))

    return Row


def test_interleaved_takes_channel_by_channel_of_all_members() -> None:
    """Wiring 4: port-major: the first channels of all members, then the second ones."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members, self.plain, self.mixed = rx.bank(3, members(rx), 2), rows(rx)(6), rows(rx)(6)
                rx.connect(self.members.out, self.plain.value)
                rx.connect(self.members.out, self.mixed.value, interleaved=True)

        return Main()

    assert trace(program) == {
        "main.plain": [(0, 0, "00 01 10 11 20 21")],
        "main.mixed": [(0, 0, "00 10 20 01 11 21")],
    }


def test_interleaved_goes_on_with_those_that_have_channels_left() -> None:
    """Wiring 4: members of different widths; a rule of our own."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.a, self.b, self.c = members(rx)(2, "a"), members(rx)(1, "b"), members(rx)(4, "c")
                self.row = rows(rx)(7)
                rx.connect([self.a.out, self.b.out, self.c.out], self.row.value, interleaved=True)

        return Main()

    assert trace(program) == {"main.row": [(0, 0, "a00 b00 c00 a01 c01 c02 c03")]}


def test_a_bank_in_a_bank_is_interleaved_on_its_own_level_only() -> None:
    """Wiring 4, 10: the inner ones channel by channel, the outer ones member by member: 1 3 2 4, then 5 7 6 8."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            out = rx.Output(int, width=2)

            def __init__(self, outer: int) -> None:
                self.outer = outer

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                for k in range(2):
                    self.out[k].set(4 * self.outer + 2 * self.bank_index + k + 1)

        class Outer(rx.Reactor):
            out = rx.Output(int, width=4)

            def __init__(self) -> None:
                self.inner = rx.bank(2, Inner, self.bank_index)
                rx.connect(self.inner.out, self.out, interleaved=True)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.outer, self.row, self.mixed = rx.bank(2, Outer), rows(rx)(8), rows(rx)(8)
                rx.connect(self.outer.out, self.row.value)
                rx.connect(self.outer.out, self.mixed.value, interleaved=True)

        return Main()

    assert trace(program) == {"main.row": [(0, 0, "1 3 2 4 5 7 6 8")], "main.mixed": [(0, 0, "1 5 3 7 2 6 4 8")]}


def test_interleaved_connects_every_member_to_every_other() -> None:
    """Wiring 4: channel k of member i leads to channel i of member k: a bank whose members can address each other."""

    def program(rx: Any) -> Any:
        class Node(rx.Reactor):
            out, value = rx.Output(str, width=3), rx.Input(str, width=3)

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                right = (self.bank_index + 1) % 3
                self.out[right].set(f"{self.bank_index} to {right}")

            @rx.reaction(value)
            def see(self) -> None:
                note(self, list(self.value.present), [c.value for c in self.value])

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.nodes = rx.bank(3, Node)
                rx.connect(self.nodes.out, self.nodes.value, interleaved=True)

        return Main()

    assert trace(program) == {
        "main.nodes[0]": [(0, 0, [2], [None, None, "2 to 0"])],
        "main.nodes[1]": [(0, 0, [0], ["0 to 1", None, None])],
        "main.nodes[2]": [(0, 0, [1], [None, "1 to 2", None])],
    }


def test_interleaved_on_the_right_side_and_on_both() -> None:
    """Wiring 4: on the right it deals channels out to the members in turn; on both, nothing moves."""

    def program() -> Any:
        rx = real

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.dealt = members(rx)(6), rx.bank(3, rows(rx), 2)
                rx.connect(self.source.out, rx.interleaved(self.dealt.value))
                self.sources, self.same = rx.bank(3, members(rx), 2), rx.bank(3, rows(rx), 2)
                rx.connect(rx.interleaved(self.sources.out), rx.interleaved(self.same.value))

        return Main()

    assert trace_alone(program) == {
        "main.dealt[0]": [(0, 0, "00 03")],
        "main.dealt[1]": [(0, 0, "01 04")],
        "main.dealt[2]": [(0, 0, "02 05")],
        "main.same[0]": [(0, 0, "00 01")],
        "main.same[1]": [(0, 0, "10 11")],
        "main.same[2]": [(0, 0, "20 21")],
    }


def test_banks_in_banks_each_have_their_own_index_and_may_share_a_broadcast() -> None:
    """Wiring 6, 10: the members of inner banks come outer member by outer member, whatever the other side is."""

    def program(rx: Any) -> Any:
        class Leaf(rx.Reactor):
            value = rx.Input(str, width=2)
            out = rx.Output(str)

            def __init__(self, middle: int, outer: int) -> None:
                self.around = f"{outer}{middle}"

            @rx.reaction(value, effects=out)
            def see(self) -> None:
                self.out.set(f"{self.around}{self.bank_index}:{self.value[0].value}{self.value[1].value}")

        class Middle(rx.Reactor):
            value, out = rx.Input(str, width=4), rx.Output(str, width=2)

            def __init__(self, outer: int) -> None:
                self.leaves = rx.bank(2, Leaf, self.bank_index, outer)
                rx.connect(self.value, self.leaves.value)
                rx.connect(self.leaves.out, self.out)

        class Outer(rx.Reactor):
            value, out = rx.Input(str, width=8), rx.Output(str, width=4)

            def __init__(self) -> None:
                self.middles = rx.bank(2, Middle, self.bank_index)
                rx.connect(self.value, self.middles.value)
                rx.connect(self.middles.out, self.out)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.outers, self.rows = Letters(), rx.bank(2, Outer), rx.bank(4, rows(rx), 2)
                rx.connect(self.source.out, self.outers.value, broadcast=True)
                rx.connect(self.outers.out, self.rows.value)

        class Letters(rx.Reactor):
            out = rx.Output(str, width=4)

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                for k in range(4):
                    self.out[k].set("abcd"[k])

        return Main()

    assert trace(program) == {
        "main.rows[0]": [(0, 0, "000:ab 001:cd")],
        "main.rows[1]": [(0, 0, "010:ab 011:cd")],
        "main.rows[2]": [(0, 0, "100:ab 101:cd")],
        "main.rows[3]": [(0, 0, "110:ab 111:cd")],
    }


def test_a_delay_on_wide_connections_delays_every_channel_by_itself() -> None:
    """Ports 13: channels that were not set do not arrive, and two messages of one channel may be on their way."""

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            out = rx.Output(str, width=2)

            def __init__(self) -> None:
                self.tick = rx.Timer(self.bank_index, 3)
                self.add_reaction(self.tick, self.send, effects=self.out)

            def send(self) -> None:
                self.out[self.tag.time % 2].set(f"{self.bank_index}@{self.tag.time}")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members, self.rows = rx.bank(2, Member), rx.bank(2, rows(rx), 2)
                rx.connect(self.members.out, self.rows.value, interleaved=True, after=7)

        return Main()

    assert trace(program, timeout=11) == {
        "main.rows[0]": [(7, 0, "0@0 -"), (11, 0, "- 1@4")],
        "main.rows[1]": [(8, 0, "- 1@1"), (10, 0, "0@3 -")],
    }


def test_a_broadcast_with_a_delay_repeats_all_of_the_left_side() -> None:
    """Ports 13, wiring 6: each source keeps its own tag; what they send together arrives together."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(str)

            def __init__(self, name: str, period: int) -> None:
                self.label, self.tick = name, rx.Timer(0, period)
                self.add_reaction(self.tick, self.send, effects=self.out)

            def send(self) -> None:
                self.out.set(self.label)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.a, self.b, self.rows = Source("a", 2), Source("b", 3), rx.bank(2, rows(rx), 3)
                rx.connect([self.a.out, self.b.out], self.rows.value, broadcast=True, after=0)

        return Main()

    assert trace(program, timeout=4) == {
        "main.rows[0]": [(0, 1, "a b a"), (2, 1, "a - a"), (3, 1, "- b -")],
        "main.rows[1]": [(0, 1, "b a b"), (2, 1, "- a -"), (3, 1, "b - b")],
    }


def test_a_bank_that_hears_itself_a_microstep_later() -> None:
    """Wiring 8: a broadcast back to the members with a delay of zero is no cycle."""

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            value, out = rx.Input(int, width=2), rx.Output(int)

            @rx.reaction(rx.startup, value, effects=out)
            def add(self) -> None:
                heard = sum(self.value[k].value for k in self.value.present)
                note(self, heard)
                if heard < 10:
                    self.out.set(heard + self.bank_index + 1)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members = rx.bank(2, Member)
                rx.connect(self.members.out, self.members.value, broadcast=True, after=0)

        return Main()

    seen = [(0, 0, 0), (0, 1, 3), (0, 2, 9), (0, 3, 21)]
    assert trace(program) == {"main.members[0]": seen, "main.members[1]": seen}


def test_the_channels_of_one_port_may_come_on_different_ways() -> None:
    """Wiring 5, ports 6: straight, with a delay, with a longer one, and one that is not connected at all."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(0, 4), rx.Output(int)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set(self.tag.time)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.row = Source(), rows(rx)(5)
                rx.connect(self.source.out, self.row.value[0])
                rx.connect(self.source.out, self.row.value[1], after=0)
                rx.connect(self.source.out, self.row.value[2], after=2)
                rx.connect(self.source.out, self.row.value[4], after=4)

        return Main()

    assert trace(program, timeout=8) == {
        "main.row": [
            (0, 0, "0 - - - -"),
            (0, 1, "- 0 - - -"),
            (2, 0, "- - 0 - -"),
            (4, 0, "4 - - - 0"),
            (4, 1, "- 4 - - -"),
            (6, 0, "- - 4 - -"),
            (8, 0, "8 - - - 4"),
        ]
    }


def test_a_pipeline_in_a_bank_delays_at_every_stage() -> None:
    """Wiring 5, ports 13: the outputs of all but the last lead to the inputs of all but the first."""

    def program(rx: Any) -> Any:
        class Stage(rx.Reactor):
            value, out = rx.Input(int), rx.Output(int)

            @rx.reaction(value, effects=out)
            def work(self) -> None:
                note(self, self.value.value)
                self.out.set(self.value.value + 1)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.stages = rx.bank(4, Stage)
                self.tick = rx.Timer(0, 3)
                self.add_reaction(self.tick, self.send, effects=self.stages[0].value)
                outs, values = self.stages.out, self.stages.value
                rx.connect([outs[k] for k in range(3)], [values[k + 1] for k in range(3)], after=2)

            def send(self) -> None:
                self.stages[0].value.set(100 * self.tag.time)

        return Main()

    assert trace(program, timeout=7) == {
        "main.stages[0]": [(0, 0, 0), (3, 0, 300), (6, 0, 600)],
        "main.stages[1]": [(2, 0, 1), (5, 0, 301)],
        "main.stages[2]": [(4, 0, 2), (7, 0, 302)],
        "main.stages[3]": [(6, 0, 3)],
    }


def test_channels_may_pass_straight_through_a_reactor() -> None:
    """Ports 10: from input to output, crossed, with a delay on one of them, and through two such reactors in a row."""

    def program(rx: Any) -> Any:
        class Cross(rx.Reactor):
            value, out = rx.Input(str, width=3), rx.Output(str, width=3)

            def __init__(self) -> None:
                rx.connect(self.value[0], self.out[2])
                rx.connect(self.value[1], self.out[0])
                rx.connect(self.value[2], self.out[1], after=5)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.one, self.two, self.row = members(rx)(3), Cross(), Cross(), rows(rx)(3)
                rx.connect(self.source.out, self.one.value)
                rx.connect(self.one.out, self.two.value)
                rx.connect(self.two.out, self.row.value)

        return Main()

    # 0 goes to 2 and, 5 later, to 1; 1 to 0 to 2; 2, 5 later, to 1 and to 0.
    assert trace(program) == {"main.row": [(0, 0, "- - 01"), (5, 0, "02 00 -")]}


def test_a_container_reaction_is_triggered_by_the_channel_that_it_names() -> None:
    """Wiring 9: one channel of one member starts it; others it may read; a third starts nothing."""

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            out = rx.Output(int, width=2)

            def __init__(self) -> None:
                self.tick = rx.Timer(0, self.bank_index + 1)
                self.add_reaction(self.tick, self.send, effects=self.out)

            def send(self) -> None:
                self.out[self.tag.time % 2].set(10 * self.tag.time + self.bank_index)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members = rx.bank(3, Member)
                self.add_reaction(self.members[1].out[0], self.one, uses=self.members[0].out)
                self.add_reaction(self.members.out, self.any)

            def one(self) -> None:
                note(self, "one", self.members[1].out[0].value, [c.value for c in self.members[0].out])

            def any(self) -> None:
                note(self, "any", [list(member.out.present) for member in self.members])

        return Main()

    assert trace(program, timeout=3) == {
        "main": [
            (0, 0, "one", 1, [0, None]),
            (0, 0, "any", [[0], [0], [0]]),
            (1, 0, "any", [[1], [], []]),
            (2, 0, "one", 21, [20, None]),
            (2, 0, "any", [[0], [0], []]),
            (3, 0, "any", [[1], [], [1]]),
        ]
    }


def test_container_reactions_write_channels_of_members_and_the_last_value_counts() -> None:
    """Wiring 9, ports 2: also where two reactions of the container write the same channel of a contained bank."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            tick = rx.Timer(0, 2)

            def __init__(self) -> None:
                self.rows = rx.bank(2, rows(rx), 2)
                self.add_reaction(rx.startup, self.first, effects=self.rows.value)
                self.add_reaction(self.tick, self.second, effects=(self.rows[0].value[1], self.rows[1].value[0]))

            def first(self) -> None:
                for row in self.rows:
                    for k, channel in enumerate(row.value):
                        channel.set(k)

            def second(self) -> None:
                self.rows[0].value[1].set("x")
                self.rows[1].value[0].set("y")

        return Main()

    assert trace(program, timeout=2) == {
        "main.rows[0]": [(0, 0, "0 x"), (2, 0, "- x")],
        "main.rows[1]": [(0, 0, "y 1"), (2, 0, "y -")],
    }


def test_a_reaction_writes_what_leads_deeper_than_what_it_contains() -> None:
    """Wiring 9: the input of a contained reactor leads on to banks inside, within the tag, and back out."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            value, out = rx.Input(int), rx.Output(int)

            @rx.reaction(value, effects=out)
            def square(self) -> None:
                self.out.set(self.value.value**2)

        class Box(rx.Reactor):
            value, out = rx.Input(int, width=3), rx.Output(int, width=3)

            def __init__(self) -> None:
                self.inner = rx.bank(3, Inner)
                rx.connect(self.value, self.inner.value)
                rx.connect(self.inner.out, self.out)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.box = Box()
                self.add_reaction(rx.startup, self.write, effects=(self.box.value[0], self.box.value[2]))
                self.add_reaction(rx.startup, self.look, uses=self.box.out)
                self.add_reaction(self.box.out, self.read)

            def write(self) -> None:
                self.box.value[0].set(3)
                self.box.value[2].set(5)

            def look(self) -> None:
                note(self, "startup", self.box.out[2].value)

            def read(self) -> None:
                note(self, [c.value for c in self.box.out])

        return Main()

    assert trace(program) == {"main": [(0, 0, "startup", 25), (0, 0, [9, None, 25])]}


def test_a_reaction_reads_what_is_on_the_channels_of_its_own_output() -> None:
    """Ports 3: what earlier reactions and itself have set at this tag, channel by channel."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            out = rx.Output(int, width=3)

            @rx.reaction(rx.startup, effects=out)
            def first(self) -> None:
                self.out[1].set(10)

            @rx.reaction(rx.startup, effects=out)
            def second(self) -> None:
                self.out[0].set(self.out[1].value + 1)
                note(self, [c.is_present for c in self.out], [c.value for c in self.out])

        return Main()

    assert trace(program) == {"main": [(0, 0, [True, True, False], [11, 10, None])]}


def test_a_physical_connection_of_many_channels() -> None:
    """Ports 14: each arrives at the physical time plus the delay; those that were not set do not."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, out = rx.Timer(10, 10), rx.Output(int, width=3)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                for k in range(3):
                    if k != self.tag.time // 10:
                        self.out[k].set(self.tag.time + k)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.row, self.late = Source(), rows(rx)(3), rows(rx)(3)
                rx.connect(self.source.out, self.row.value, physical=True)
                rx.connect(self.source.out, self.late.value, physical=True, after=4)

        return Main()

    assert trace(program, clock=lambda rx, _: rx.VirtualClock(), ways=TOGETHER, timeout=25) == {
        "main.row": [(10, 1, "10 - 12"), (20, 1, "20 21 -")],
        "main.late": [(14, 0, "10 - 12"), (24, 0, "20 21 -")],
    }


def test_a_bank_takes_functions_of_the_index_and_times_by_name() -> None:
    """Wiring 3: parameters of members depend on the index, and may set timers, widths and delays inside."""

    def program() -> Any:
        rx = real

        class Member(rx.Reactor):
            tick = rx.Timer("first", "period")
            value = rx.Input(int, width="width")
            out = rx.Output(int, width="width")

            def __init__(self, first: int, period: int, width: int) -> None:
                self.first, self.period, self.width = first, period, width
                rx.connect(self.out, self.value, after=10 * width)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                for channel in self.out:
                    channel.set(self.tag.time)

            @rx.reaction(value)
            def see(self) -> None:
                note(self, [c.value for c in self.value])

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members = rx.bank(3, Member, lambda i: i, lambda i: 10 * (i + 1), width=lambda i: 3 - i)

        return Main()

    assert trace_alone(program, timeout=40) == {
        "main.members[0]": [(30, 0, [0] * 3), (40, 0, [10] * 3)],
        "main.members[1]": [(21, 0, [1] * 2)],
        "main.members[2]": [(12, 0, [2])],
    }
