"""What goes from worker to worker, and on to another machine, is not overtaken by events that are there."""

from __future__ import annotations

import reactors as rx
from tests.machines.in_one_process import run

TAGS = 4000


class Source(rx.Reactor):
    tick = rx.Timer(0, "1 us")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def go(self) -> None:
        self.out.set(self.tag.time)


class Relay(rx.Reactor):
    """It has no event but what comes to it."""

    given, out = rx.Input(int), rx.Output(int)

    @rx.reaction(given, effects=out)
    def go_on(self) -> None:
        self.out.set(self.given.value)


class Sink(rx.Reactor):
    """At each tag it is there already."""

    tick = rx.Timer(0, "1 us")
    given = rx.Input(int)

    def __init__(self) -> None:
        self.missed = 0

    @rx.reaction(tick, uses=given)
    def look(self) -> None:
        self.missed += not self.given.is_present


class Relayed(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.relay, self.sink = Source(), Relay(), Sink()
        self.source.out >> self.relay.given
        self.relay.out >> self.sink.given


def test_an_unread_message_is_an_event_of_who_is_to_read_it() -> None:
    main = Relayed()
    placement = {"main.source": 0, "main.relay": 1, "main.sink": 2}
    run(main, 2, 2, timeout=(TAGS - 1) * 1000, placement=placement)
    assert main.sink.missed == 0
