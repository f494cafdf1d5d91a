"""A writer and a reader, perhaps on another worker, that each do what a test asks of them."""

import os
from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx

APART: dict[str, Any] = {"workers": 2, "placement": {"main": 0, "main.reader": 1}}
WAYS = [{}, {"backend": "thread", **APART}, {"backend": "process", **APART}]
every_way = pytest.mark.parametrize("way", WAYS, ids=["inline", "thread", "process"])
every_backend = pytest.mark.parametrize("backend", ["inline", "thread", "process"])
Deed = Callable[[Any], object]


def nothing(self: Any) -> None: ...


class Writer(rx.Reactor):
    """Does what a test asks of it, with everything it has among its effects."""

    tick = rx.Timer(period="1 ms")
    number = rx.Output(int)  # @number
    thing = rx.Output()  # @thing
    vector = rx.Output(shape=(2,), dtype="f4")  # @vector
    again = rx.LogicalAction()  # @again

    def __init__(self, deed: Deed = nothing) -> None:
        self.deed = deed
        self.closed = False
        self.kept: Any = None

    @rx.reaction(tick, effects=(number, thing, vector, again))
    def write(self) -> None:
        self.deed(self)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.closed = True


class Reader(rx.Reactor):
    number = rx.Input(int)  # @innumber
    thing = rx.Input()  # @inthing
    vector = rx.Input(shape=(2,), dtype="f4")  # @invector

    def __init__(self, deed: Deed = nothing) -> None:
        self.deed = deed

    @rx.reaction(number, thing, vector)
    def read(self) -> None:
        self.deed(self)


class Main(rx.Reactor):
    def __init__(self, write: Deed = nothing, read: Deed = nothing) -> None:
        self.writer, self.reader = Writer(write), Reader(read)
        for port in ("number", "thing", "vector"):
            rx.connect(getattr(self.writer, port), getattr(self.reader, port))


def failed(main: rx.Reactor, **options: Any) -> rx.ReactionError:
    """The error with which a run of three milliseconds ends."""
    with pytest.raises(rx.ReactionError) as caught:
        rx.run(main, fast=True, timeout="3 ms", **options)
    return caught.value


def leave(self: Any) -> None:
    os._exit(3)
