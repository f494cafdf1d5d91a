"""Parameters, state and methods of reactors (catalogue, section 11)."""

from typing import Any

import reactors as real
from tests.oracle.ways import TOGETHER, note, trace
from tests.semantics.alone import trace_alone


def test_a_class_may_have_another_default_for_a_parameter_of_its_base() -> None:
    """Classes 1, 5: which the reactions of the base go by; and an instance may have yet another value."""

    def program(rx: Any) -> Any:
        class Base(rx.Reactor):
            def __init__(self, step: int = 2, width: int = 1) -> None:
                self.step = step
                self.out = rx.Output(int, width=width)
                self.tick = rx.Timer(0, step)
                self.add_reaction(self.tick, self.send, effects=self.out)

            def send(self) -> None:
                for k, channel in enumerate(self.out):
                    channel.set(self.step * 10 + k)
                note(self, [channel.value for channel in self.out])

        class Derived(Base):
            def __init__(self, step: int = 3, width: int = 2) -> None:
                super().__init__(step, width)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.base, self.derived, self.instance = Base(), Derived(), Derived(width=3, step=4)

        return Main()

    assert trace(program, timeout=4) == {
        "main.base": [(0, 0, [20]), (2, 0, [20]), (4, 0, [20])],
        "main.derived": [(0, 0, [30, 31]), (3, 0, [30, 31])],
        "main.instance": [(0, 0, [40, 41, 42]), (4, 0, [40, 41, 42])],
    }


def test_state_belongs_to_the_instance_and_may_begin_with_a_parameter() -> None:
    """Classes 2, 3: two instances of one class share nothing, not even a list that both were given the same way."""

    def program(rx: Any) -> Any:
        class Counter(rx.Reactor):
            tick = rx.Timer(0, 5)
            seen = rx.State([])
            n = rx.State(lambda self: self.first)

            def __init__(self, first: int) -> None:
                self.first = first

            @rx.reaction(tick)
            def count(self) -> None:
                self.seen.append(self.n)
                self.n *= 2
                note(self, list(self.seen))

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.one, self.two = Counter(1), Counter(5)

        return Main()

    assert trace(program, timeout=10) == {
        "main.one": [(0, 0, [1]), (5, 0, [1, 2]), (10, 0, [1, 2, 4])],
        "main.two": [(0, 0, [5]), (5, 0, [5, 10]), (10, 0, [5, 10, 20])],
    }


def test_parameters_are_handed_down_the_hierarchy() -> None:
    """Classes 1: under other names, computed with, or left at their defaults."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            def __init__(self, value: int = 7) -> None:
                self.value = value
                self.add_reaction(rx.startup, self.show)

            def show(self) -> None:
                note(self, self.value)

        class Middle(rx.Reactor):
            def __init__(self, p: int) -> None:
                self.same, self.more, self.default = Inner(p), Inner(value=p + 1), Inner()

        class Main(rx.Reactor):
            def __init__(self, q: int = 20) -> None:
                self.middle = Middle(q)

        return Main()

    assert trace(program) == {
        "main.middle.same": [(0, 0, 20)],
        "main.middle.more": [(0, 0, 21)],
        "main.middle.default": [(0, 0, 7)],
    }


def test_all_durations_may_be_parameters() -> None:
    """Classes 4, timers 5: of timers, actions, their spacing, and connections.

    A subclass that changes the parameter changes them all.
    """

    def program() -> Any:
        rx: Any = real

        class Base(rx.Reactor):
            tick = rx.Timer("first", "period")
            act = rx.LogicalAction(int, min_delay="wait", min_spacing="apart")

            def __init__(self, first: int = 1, period: int = 6, wait: int = 2, apart: int = 3) -> None:
                self.first, self.period, self.wait, self.apart = first, period, wait, apart

            @rx.reaction(tick, effects=act)
            def ask(self) -> None:
                self.act.schedule(1)
                self.act.schedule(2)

            @rx.reaction(act)
            def answer(self) -> None:
                note(self, self.act.value)

        class Derived(Base):
            def __init__(self) -> None:
                super().__init__(first=0, wait=5, apart=1)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.base, self.derived = Base(), Derived()

        return Main()

    assert trace_alone(program, timeout=12) == {
        "main.base": [(3, 0, 1), (6, 0, 2), (9, 0, 1), (12, 0, 2)],
        "main.derived": [(5, 0, 1), (6, 0, 2), (11, 0, 1), (12, 0, 2)],
    }


def test_methods_may_call_themselves_and_take_ports() -> None:
    """Classes 6: methods are Python's: they may recurse, and take ports as arguments."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            out, again = rx.Output(int), rx.LogicalAction(int)

            def fib(self, n: int) -> int:
                return n if n < 2 else self.fib(n - 1) + self.fib(n - 2)

            def put(self, port: Any, value: int) -> None:
                port.set(value)
                note(self, port.value)

            @rx.reaction(rx.startup, again, effects=(out, again))
            def go(self) -> None:
                n = self.again.value or 5
                self.put(self.out, self.fib(n))
                if n < 7:
                    self.again.schedule(n + 1, 3)

        return Main()

    assert trace(program, ways=TOGETHER) == {"main": [(0, 0, 5), (3, 0, 8), (6, 0, 13)]}
