"""What is read from the code of a reaction: all that is certain, and nothing else."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from reactors.code.bytecode import uses_of_self


def uses(method: Callable[..., Any]) -> list[tuple[str, str]]:
    return [(use.name, use.use) for use in uses_of_self(method.__code__)]


class Code:
    """Methods that do something with attributes of `self`."""

    a: Any
    n: Any
    ask: Any

    def reads(self) -> None:
        print(self.a.value, self.n)

    def calls(self) -> None:
        self.a.set(self.ask())

    def assigns(self) -> None:
        self.n = self.a.value

    def adds(self) -> None:
        self.n += 1

    def deletes_and_unpacks(self) -> None:
        self.n, other = self.a.value, 2
        print(other)

    def indexes(self, i: int = 0) -> None:
        self.a[0].set(self.a[i].value)

    def in_a_closure(self) -> list[Any]:
        return [self.a.value for _ in range(3)] + [lambda: self.n.set(1)]


class Uncertain:
    """Methods from whose code nothing certain can be read."""

    a: Any

    def passes_on(self, send: Any) -> None:
        send(self.a)

    def by_another_name(self) -> None:
        port = self.a
        port.set(1)

    def of_another(self, other: Any) -> None:
        other.a.set(1)

    def shadowed(self, others: Any) -> None:
        for self in others:  # noqa: PLR1704 - that is the point
            self.a.set(1)

    def one_or_the_other(self, other: Any) -> None:
        (self if other.n else other).a.set(1)
        (other if other.n else self).a.set(1)

    def shadowed_in_a_closure(self) -> Any:
        return [lambda self: self.a.set(1)]

    def computed(self) -> None:
        getattr(self, "a").set(1)  # noqa: B009 - that is the point
        self.a[len("x")].set(1)


@pytest.mark.parametrize(
    ("method", "found"),
    [
        (Code.reads, [("a", "value")]),
        (Code.calls, [("a", "set"), ("ask", "()")]),
        (Code.assigns, [("a", "value"), ("n", "=")]),
        (Code.adds, [("n", "=")]),
        (Code.deletes_and_unpacks, [("a", "value"), ("n", "=")]),
        (Code.indexes, [("a", "set"), ("a", "value")]),
        (Code.in_a_closure, [("a", "value"), ("n", "set")]),
    ],
)
def test_uses_that_are_certain(method: Callable[..., Any], found: list[tuple[str, str]]) -> None:
    assert uses(method) == found


@pytest.mark.parametrize("name", [name for name in vars(Uncertain) if not name.startswith("_")])
def test_uses_that_are_not(name: str) -> None:
    assert not [use for use in uses(getattr(Uncertain, name)) if use[1] == "set"]


def test_correct_code_is_accepted() -> None:
    class Child(rx.Reactor):
        inp = rx.Input(int)
        out = rx.Output(int)

    class Fine(rx.Reactor):
        inp = rx.Input(int)
        other = rx.Input(int)
        out = rx.Output(int)
        outs = rx.Output(int, width=2)
        act = rx.LogicalAction(int)
        button = rx.PhysicalAction(int)
        tick = rx.Timer()

        def __init__(self) -> None:
            self.child = Child()
            self.n = 0
            self.add_reaction(self.child.out, self.by_call, effects=(self.child.inp, self.out))

        @rx.reaction(inp, tick, uses=(other, button), effects=(out, outs, act, rx.stop))
        def step(self) -> None:
            self.n += self.inp.value if self.inp.is_present else self.other.value
            self.out.set(self.n)
            print(self.out.value, self.outs[0].is_present, self.tick.is_present, self.button.value, len(self.outs))
            for port in self.outs:
                port.set(1)
            self.act.schedule(1)
            self.help(self.out)
            self.request_stop()

        @rx.reaction(rx.startup)
        def start(self) -> None:
            self.button.schedule(1)  # from anywhere
            stop, port = self.request_stop, self.out  # not used here
            print(stop, port, self.out.name, self.out.path, self.out.shape)

        def help(self, port: rx.Output[int]) -> None:
            port.set(1)

        def by_call(self) -> None:
            self.child.inp.set(self.child.out.value)
            self.out.set(1)

        def unused(self) -> None:
            self.out.set(1)  # the reaction that calls it may have declared it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its inputs have no sources
        rx.Graph(Fine())
