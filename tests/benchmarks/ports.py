"""What a look through a port costs, beside the bare attribute access, list access or copy that it contains."""

from __future__ import annotations

from timeit import Timer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from row import ONE, Bar, Measure, Row, Sample

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

N = 16
PLAIN = "plain"
STATEMENTS = {  # ours, and what it contains, both with these names: see `Looking.look`
    "value of a number": ("port.value", "thing.value"),
    "value of an array": ("rows[3].value", "things[3].value"),
    "set(number)": ("out.set(7)", "thing.value = 7"),
    "set(array of 4)": ("row.set(array)", "copyto(memory, array)"),
    "set(array of 1 MB)": ("large.set(megabyte)", "copyto(other, megabyte)"),
    "is_present": ("port.is_present", "thing.value"),
    "len(multiport)": ("len(outs)", "len(things)"),
    "multiport[i]": ("outs[3]", "things[3]"),
    f"{N} times multiport[i].set": ("for i in r: outs[i].set(i)", "for i in r: things[i].value = i"),
    f"{N} times set in a loop over it": (
        "for p, a in zip(outs, values): p.set(a)",
        "for p, a in zip(things, values): p.value = a",
    ),
    f"multiport.set_all, {N} numbers": ("outs.set_all(values)", "for p, a in zip(things, values): p.value = a"),
    f"multiport.set_all, {N} rows of 4": ("blocks.set_all(block)", "copyto(copied, block)"),
    "multiport.array": ("rows.array", "thing.value"),
    "bank[i]": ("bank[3]", "things[3]"),
}

row = Row(
    title="looks through ports, one worker",
    unit="ns",
    variants=tuple(STATEMENTS),
    work=lambda _: 1,
    bars=(Bar(ONE, PLAIN, 0.66),),
    check_rounds=100,
)


def seconds(statement: str, names: dict[str, Any], rounds: int) -> float:
    """How long it takes so many times, from the inside of a function."""
    return Timer(statement, globals=names).timeit(rounds)


def plain_names() -> dict[str, Any]:
    things = [SimpleNamespace(value=i) for i in range(N)]
    names = {"thing": things[0], "things": things, "copyto": np.copyto, "r": range(N), "values": list(range(N))}
    names |= {"array": np.ones(4), "memory": np.zeros(4), "block": np.ones((N, 4)), "copied": np.zeros((N, 4))}
    return names | {"megabyte": np.ones(1 << 17), "other": np.zeros(1 << 17)}


class Source(rx.Reactor):
    number = rx.Output(int)
    row = rx.Output(shape=4, dtype=np.float64)

    @rx.reaction(rx.startup, effects=(number, row))
    def send(self) -> None:
        self.number.set(3)
        self.row.set(np.ones(4))


class Sink(rx.Reactor):
    """Reads what is set, as otherwise nothing would be kept of it."""

    number = rx.Input(int)
    row = rx.Input(shape=4, dtype=np.float64)

    @rx.reaction(number, row)
    def receive(self) -> None:
        pass


class Large(rx.Reactor):
    array = rx.Input(shape=1 << 17, dtype=np.float64)

    @rx.reaction(array)
    def receive(self) -> None:
        pass


class Looking(rx.Reactor):
    """Executes a statement often, in a reaction."""

    port = rx.Input(int)
    rows = rx.Input(shape=4, dtype=np.float64, width=N)
    out = rx.Output(int)
    row = rx.Output(shape=4, dtype=np.float64)
    outs = rx.Output(int, width=N)
    blocks = rx.Output(shape=4, dtype=np.float64, width=N)
    large = rx.Output(shape=1 << 17, dtype=np.float64)

    def __init__(self, statement: str, rounds: int) -> None:
        self.statement, self.rounds, self.seconds = statement, rounds, 0.0
        self.bank = rx.bank(N, Source)

    @rx.reaction(port, rows, effects=(out, row, outs, blocks, large))
    def look(self) -> None:
        names = {
            name: getattr(self, name) for name in ("port", "rows", "out", "row", "outs", "blocks", "large", "bank")
        }
        self.seconds = seconds(self.statement, plain_names() | names, self.rounds)


class Ports(rx.Reactor):
    def __init__(self, statement: str, rounds: int) -> None:
        self.looking = Looking(statement, rounds)
        self.source, self.sources = Source(), rx.bank(N, Source)
        self.sink, self.sinks, self.last = Sink(), rx.bank(N, Sink), Large()
        rx.connect(self.source.number, self.looking.port)
        rx.connect(self.sources.row, self.looking.rows)
        rx.connect(self.looking.out, self.sink.number)
        rx.connect(self.looking.row, self.sink.row)
        rx.connect(self.looking.outs, self.sinks.number)
        rx.connect(self.looking.blocks, self.sinks.row)
        rx.connect(self.looking.large, self.last.array)


@row.peer(ONE)
def ours(variant: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        main = Ports(STATEMENTS[variant][0], rounds)
        rx.run(main, fast=True)
        return Sample(main.looking.seconds)

    yield measure


@row.peer(PLAIN)
def plain(variant: str) -> Iterator[Measure]:
    names = plain_names()
    yield lambda rounds: Sample(seconds(STATEMENTS[variant][1], names, rounds))
