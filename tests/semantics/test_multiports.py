"""Multiports and banks: which channel goes where (catalogue, section 7)."""

from typing import Any

import numpy as np

from tests.oracle.ways import note, trace


def fans(rx: Any) -> Any:
    """A reactor with `width` outputs that sends a name and the channel on those asked for."""

    class Fan(rx.Reactor):
        def __init__(self, name: str, width: int, on: tuple[int, ...] | None = None) -> None:
            self.label, self.on = name, range(width) if on is None else on
            self.out = rx.Output(str, width=width)
            self.add_reaction(rx.startup, self.send, effects=self.out)

        def send(self) -> None:
            for k in self.on:
                self.out[k].set(f"{self.label}{k}")

    return Fan


def rows(rx: Any) -> Any:
    """A reactor with `width` inputs that notes what it finds on them."""

    class Row(rx.Reactor):
        def __init__(self, width: int) -> None:
            self.value = rx.Input(str, width=width)
            self.add_reaction(self.value, self.see)

        def see(self) -> None:
            note(self, " ".join(channel.value or "-" for channel in self.value))

    return Row


def cells(rx: Any) -> Any:
    class Cell(rx.Reactor):
        value = rx.Input(str)

        @rx.reaction(value)
        def see(self) -> None:
            note(self, self.value.value)

    return Cell


def test_any_channel_triggers_once_and_the_others_are_absent() -> None:
    """Wiring 1, 11: `present` lists those that are there, ascending, whatever the order in which they were set."""

    def program(rx: Any) -> Any:
        class Row(rx.Reactor):
            value = rx.Input(str, width=5)

            @rx.reaction(value)
            def see(self) -> None:
                note(
                    self,
                    len(self.value),
                    list(self.value.present),
                    [c.is_present for c in self.value],
                    self.value[3].value,
                )

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.fan, self.row = fans(rx)("a", 5, (3, 1)), Row()
                rx.connect(self.fan.out, self.row.value)

        return Main()

    assert trace(program) == {"main.row": [(0, 0, 5, [1, 3], [False, True, False, True, False], "a3")]}


def test_the_block_of_a_typed_multiport_holds_all_channels_and_zeros_for_the_absent() -> None:
    """Wiring 1: all channels are one array; a rule of our own."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(shape=(2,), dtype="i4")
            tick = rx.Timer(0, 1)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                if self.tag.time == 0 or self.tag.time % 3 == self.bank_index:
                    self.out.set([self.tag.time + self.bank_index + 1] * 2)

        class Row(rx.Reactor):
            value = rx.Input(shape=(2,), dtype="i4", width=3)

            @rx.reaction(value)
            def see(self) -> None:
                note(self, self.value.array.tolist(), list(self.value.present), self.value.array.flags.writeable)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.sources, self.row = rx.bank(3, Source), Row()
                rx.connect(self.sources.out, self.row.value)

        return Main()

    assert trace(program, timeout=3) == {
        "main.row": [
            (0, 0, [[1, 1], [2, 2], [3, 3]], [0, 1, 2], False),
            (1, 0, [[0, 0], [3, 3], [0, 0]], [1], False),
            (2, 0, [[0, 0], [0, 0], [5, 5]], [2], False),
            (3, 0, [[4, 4], [0, 0], [0, 0]], [0], False),
        ]
    }


def test_the_array_of_channels_that_carry_objects_is_what_numpy_makes_of_them() -> None:
    """Wiring 1; a rule of our own. Numbers of one type are put together in C, all else by NumPy."""
    rounds = [
        [1.5, -0.0, float("inf")], [True, False, True], [1, -(2**63), 2**63 - 1], [1, 2.5, True], [2**63, 1, 2],
        [np.float64(0.1), 2.0, np.float64(3)], [np.float32(0.1)] * 3, ["a", "bc", ""],
        [np.int64(4), 5, 6], [np.bool_(1), True, False],
    ]  # fmt: skip

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output()
            tick = rx.Timer(0, 1)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                self.out.set(rounds[self.tag.time][self.bank_index])

        class Row(rx.Reactor):
            value = rx.Input(width=3)

            @rx.reaction(value)
            def see(self) -> None:
                array = self.value.array
                note(self, array.tolist(), array.dtype.str, array.flags.writeable)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.sources, self.row = rx.bank(3, Source), Row()
                rx.connect(self.sources.out, self.row.value)

        return Main()

    made = [np.array(values) for values in rounds]
    assert trace(program, timeout=len(rounds) - 1) == {
        "main.row": [(t, 0, each.tolist(), each.dtype.str, False) for t, each in enumerate(made)]
    }


def test_the_array_of_channels_of_numbers_has_zeros_for_the_absent() -> None:
    """Wiring 1; a rule of our own."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(float)
            tick = rx.Timer(0, 1)

            @rx.reaction(tick, effects=out)
            def send(self) -> None:
                if self.tag.time == 0 or self.tag.time % 3 == self.bank_index:
                    self.out.set(1.0 + self.bank_index)

        class Row(rx.Reactor):
            value = rx.Input(float, width=3)

            @rx.reaction(value)
            def see(self) -> None:
                note(self, self.value.array.tolist(), self.value.array.dtype.str)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.sources, self.row = rx.bank(3, Source), Row()
                rx.connect(self.sources.out, self.row.value)

        return Main()

    assert trace(program, timeout=1) == {"main.row": [(0, 0, [1.0, 2.0, 3.0], "<f8"), (1, 0, [0.0, 2.0, 0.0], "<f8")]}


def test_the_members_of_a_bank_know_their_index() -> None:
    """Wiring 2: 0 to n - 1; and a reactor outside of banks has index 0."""

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            @rx.reaction(rx.startup)
            def begin(self) -> None:
                note(self, self.bank_index, self.path)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members, self.other = rx.bank(3, Member), Member()

        return Main()

    assert trace(program) == {
        "main.members[0]": [(0, 0, 0, "main.members[0]")],
        "main.members[1]": [(0, 0, 1, "main.members[1]")],
        "main.members[2]": [(0, 0, 2, "main.members[2]")],
        "main.other": [(0, 0, 0, "main.other")],
    }


def test_the_ports_of_a_bank_come_member_by_member() -> None:
    """Wiring 4: bank-major: all channels of the first member, then those of the second."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.fans, self.row = rx.bank(2, fans(rx), "a", 2), rows(rx)(4)
                rx.connect(self.fans.out, self.row.value)
                self.fan, self.rows = fans(rx)("b", 6), rx.bank(3, rows(rx), 2)
                rx.connect(self.fan.out, self.rows.value)

        return Main()

    assert trace(program) == {
        "main.row": [(0, 0, "a0 a1 a0 a1")],
        "main.rows[0]": [(0, 0, "b0 b1")],
        "main.rows[1]": [(0, 0, "b2 b3")],
        "main.rows[2]": [(0, 0, "b4 b5")],
    }


def test_each_side_of_a_connection_is_one_row_of_channels() -> None:
    """Wiring 5: the boundaries of ports on the two sides need not lie at the same places."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.one, self.three, self.two = fans(rx)("a", 1), fans(rx)("b", 3), fans(rx)("c", 2)
                self.first, self.second, self.cell = rows(rx)(2), rows(rx)(3), cells(rx)()
                rx.connect(
                    [self.one.out, self.three.out, self.two.out], [self.first.value, self.second.value, self.cell.value]
                )

        return Main()

    assert trace(program) == {
        "main.first": [(0, 0, "a0 b0")],
        "main.second": [(0, 0, "b1 b2 c0")],
        "main.cell": [(0, 0, "c1")],
    }


def test_a_broadcast_repeats_the_whole_left_side() -> None:
    """Wiring 6: a, b, a, b - not a, a, b, b; and with a delay on every channel, if there is one."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.a, self.b = fans(rx)("a", 1), fans(rx)("b", 2)
                self.row, self.cells = rows(rx)(6), rx.bank(3, cells(rx))
                rx.connect([self.a.out, self.b.out], self.row.value, broadcast=True)
                rx.connect(self.a.out, self.cells.value, broadcast=True, after=4)

        return Main()

    assert trace(program) == {
        "main.row": [(0, 0, "a0 b0 b1 a0 b0 b1")],
        "main.cells[0]": [(4, 0, "a0")],
        "main.cells[1]": [(4, 0, "a0")],
        "main.cells[2]": [(4, 0, "a0")],
    }


def test_the_members_of_a_bank_may_all_hear_each_other_and_themselves() -> None:
    """Wiring 8: the ports of a bank may be on both sides of a connection."""

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            out = rx.Output(int)
            heard = rx.Input(int, width=3)

            @rx.reaction(rx.startup, effects=out)
            def speak(self) -> None:
                self.out.set(self.bank_index)

            @rx.reaction(heard)
            def listen(self) -> None:
                note(self, [channel.value for channel in self.heard])

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members = rx.bank(3, Member)
                rx.connect(self.members.out, self.members.heard, broadcast=True)

        return Main()

    assert trace(program) == {f"main.members[{k}]": [(0, 0, [0, 1, 2])] for k in range(3)}


def test_a_container_addresses_members_and_channels() -> None:
    """Wiring 9: its reactions write inputs of the one and read outputs of the other.

    Several may write channels of one port.
    """

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            value = rx.Input(int, width=2)
            out = rx.Output(int, width=2)

            @rx.reaction(value, effects=out)
            def double(self) -> None:
                for k in self.value.present:
                    self.out[k].set(2 * self.value[k].value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.members = rx.bank(3, Member)
                first, second = self.members[0].value, self.members[2].value
                self.add_reaction(rx.startup, self.write, effects=(first[1], second))
                self.add_reaction(rx.startup, self.also_write, effects=first[0])
                self.add_reaction(self.members[0].out, self.read, uses=self.members[2].out[1])

            def write(self) -> None:
                self.members[0].value[1].set(10)
                for k, channel in enumerate(self.members[2].value):
                    channel.set(30 + k)

            def also_write(self) -> None:
                self.members[0].value[0].set(9)

            def read(self) -> None:
                note(self, [channel.value for channel in self.members[0].out], self.members[2].out[1].value)

        return Main()

    assert trace(program) == {"main": [(0, 0, [18, 20], 62)]}


def test_banks_in_banks_multiply() -> None:
    """Wiring 10: the ports of the inner ones come outer member by outer member."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            out = rx.Output(str)

            def __init__(self, outer: int) -> None:
                self.outer = outer

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                self.out.set(f"{self.outer}.{self.bank_index}")

        class Outer(rx.Reactor):
            out = rx.Output(str, width=3)

            def __init__(self) -> None:
                self.inner = rx.bank(3, Inner, self.bank_index)
                rx.connect(self.inner.out, self.out)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.outer, self.row = rx.bank(2, Outer), rows(rx)(6)
                rx.connect(self.outer.out, self.row.value)

        return Main()

    assert trace(program) == {"main.row": [(0, 0, "0.0 0.1 0.2 1.0 1.1 1.2")]}


def test_a_multiport_takes_a_value_for_each_channel() -> None:
    """Wiring 1: a list goes to the channels in their order."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(str, width=3)

            @rx.reaction(rx.startup, effects=out)
            def send(self) -> None:
                self.out.set(["a", "b", "c"])

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.row = Source(), rows(rx)(3)
                rx.connect(self.source.out, self.row.value)

        return Main()

    assert trace(program) == {"main.row": [(0, 0, "a b c")]}
