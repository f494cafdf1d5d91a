"""Modal reactors that several tests run."""

from typing import Any

import reactors as rx
from tests.oracle.ways import note


def switching(how: str) -> Any:
    """Two modes that take turns at 10, 20, 30 and so on, each with a timer, an action and a delayed connection."""

    def program(rx: Any) -> Any:
        class Part(rx.Reactor):
            inp, out = rx.Input(), rx.Output()
            tick, act = rx.Timer(1, 4), rx.LogicalAction()

            @rx.reaction(rx.startup)
            def begin(self) -> None:
                note(self, "startup")

            @rx.reaction(rx.reset)
            def again(self) -> None:
                note(self, "reset")

            @rx.reaction(tick, effects=(act, out))
            def go(self) -> None:
                note(self, "tick")
                self.act.schedule(self.tag.time, delay=6)
                self.out.set(self.tag.time)

            @rx.reaction(act)
            def done(self) -> None:
                note(self, "act", self.act.value)

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, "heard", self.inp.value)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "shutdown")

        class Main(rx.Reactor):
            one, two, never = rx.Mode(initial=True), rx.Mode(), rx.Mode()
            turn = rx.Timer(10, 10)

            def __init__(self) -> None:
                with self.one:
                    self.first = Part()
                    rx.connect(self.first.out, self.first.inp, after=7)
                with self.two:
                    self.second = Part()
                    rx.connect(self.second.out, self.second.inp, after=7)
                with self.never:
                    self.third = Part()

            @rx.reaction(turn, effects=getattr(two, how), mode=one)
            def to_two(self) -> None:
                note(self, "to two")
                self.two.set()

            @rx.reaction(turn, effects=getattr(one, how), mode=two)
            def to_one(self) -> None:
                note(self, "to one")
                self.one.set()

        return Main()

    return program


class Echo(rx.Reactor):
    inp, out = rx.Input(int), rx.Output(int)

    @rx.reaction(inp, effects=out)
    def echo(self) -> None:
        self.out.set(self.inp.value)


class Talker(rx.Reactor):
    out = rx.Output(int)

    @rx.reaction(rx.startup, effects=out)
    def go(self) -> None:
        self.out.set(1)


class Listener(rx.Reactor):
    inp = rx.Input(int)

    @rx.reaction(inp)
    def hear(self) -> None: ...


class Resetting(rx.Reactor):
    @rx.reaction(rx.reset)
    def go(self) -> None: ...
