"""What runs at the same time on different workers, at one tag? No reaction waits for what comes later than it needs.

In each program a reaction lasts until another, on another worker, lets it go on: if that one waited for its end, none
ever would.
"""

import threading
from typing import Any

import reactors as rx


class Source(rx.Reactor):
    """Sets `early` at the start at most; at every tick it waits at the `gate`, and sets `late`."""

    tick = rx.Timer(0, "1 ms")
    early, late = rx.Output(int), rx.Output(int)

    def __init__(self, gate: threading.Barrier) -> None:
        self.gate = gate

    @rx.reaction(rx.startup, effects=early)
    def begin(self) -> None:
        self.early.set(1)

    @rx.reaction(tick, effects=late)
    def work(self) -> None:
        self.gate.wait(10)
        self.late.set(1)


class Waits(rx.Reactor):
    """What comes late."""

    late = rx.Input(int)
    count = 0

    @rx.reaction(late)
    def note(self) -> None:
        self.count += 1


class Goes(rx.Reactor):
    """What comes early, before it opens the gate; its last reaction is of a higher level than those of `Waits`."""

    tick = rx.Timer(0, "1 ms")
    early = rx.Input(int)

    def __init__(self, gate: threading.Barrier) -> None:
        self.gate = gate

    @rx.reaction(early)
    def look(self) -> None: ...

    @rx.reaction(tick)
    def more(self) -> None: ...

    @rx.reaction(tick)
    def open(self) -> None:
        self.gate.wait(10)


class Main(rx.Reactor):
    """The source on worker 1, the others on worker 0."""

    def __init__(self, *, waits: bool) -> None:
        gate = threading.Barrier(2)
        self.source, self.goes = Source(gate), Goes(gate)
        rx.connect(self.source.early, self.goes.early)
        if waits:
            self.waits = Waits()
            rx.connect(self.source.late, self.waits.late)


def run(main: Main, **options: Any) -> rx.Result:
    where = {"main.source": 1}
    return rx.run(main, workers=2, backend="thread", placement=where, fast=True, timeout="5 ms", **options)


def test_what_a_reaction_has_left_undone_is_known_before_a_later_one_ends() -> None:
    assert run(Main(waits=False)).tags == 6


def test_what_waits_for_a_late_reaction_of_another_worker_lets_others_go_first() -> None:
    main = Main(waits=True)
    run(main)
    assert main.waits.count == 6
