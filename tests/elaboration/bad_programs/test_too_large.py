"""Programs of more ports, reactors and channels than the core tells apart, or than there is memory for.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `messages.py`.
"""

from typing import Any

import pytest

import reactors as rx
from tests.messages import Main, Source, graph_of, refused


def test_more_than_the_core_tells_apart() -> None:
    """Before they are made: memory would end first."""

    class Wide(rx.Reactor):
        inp = rx.Input(int, width=2**20 + 1)  # @wide

    assert refused(rx.WidthError, lambda: rx.Graph(Wide())) == (
        "main.inp (@wide) has a width of 1,048,577, and a multiport has at most 1,048,576 channels; send an array "
        "through one port (shape=...)"
    )
    assert refused(rx.WidthError, lambda: rx.bank(2**18 + 1, Source)) == (  # @manybank
        "rx.bank (@manybank) makes 262,145 reactors, and a bank has at most 262,144; let each do the work of several, "
        "as with arrays of several rows"
    )
    with pytest.raises(rx.ArgumentError, match="more than 64 bits hold; write less"):
        rx.Input(shape=(2**70,))


def test_more_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they are made, too."""
    monkeypatch.setattr("reactors.model.layout.available", lambda: 2**28)
    monkeypatch.setattr("reactors.model.ports.Port._channel", None)

    class Wide(rx.Reactor):
        inp = rx.Input(int, width=2**18)  # @wide

    few = "they need at least 0.5 GiB, and 0.2 GiB are free; send an array through one port (shape=...), or take fewer"
    assert refused(rx.MemoryTooSmall, lambda: rx.Graph(Wide())) == f"main.inp (@wide) has a width of 262,144: {few}"
    assert refused(rx.MemoryTooSmall, lambda: rx.bank(2**18, Source)) == (  # @manybank
        f"rx.bank (@manybank) makes 262,144 reactors: {few}"
    )


def test_no_channel_is_made_of_more_than_the_core_tells_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.model.layout.MOST_CELLS", 10)
    monkeypatch.setattr("reactors.model.ports.Port._channel", None)

    class Wide(rx.Reactor):
        inp = rx.Input(int, width=11)  # @wide

    assert refused(rx.WidthError, lambda: rx.Graph(Wide())) == (
        "main.inp (@wide) is one of 11 ports, timers and actions so far, and a program has at most 10 ports, timers, "
        "actions and reactions"
    )


def test_more_together_than_the_core_tells_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.model.layout.MOST_CELLS", 10)
    many = "and a program has at most 10 ports, timers, actions and reactions"

    def build(self: Any, members: int) -> None:
        self.members = rx.bank(members, Source)

    assert rx.Graph(Main(lambda self: build(self, 3))).program.reactions
    assert refused(rx.WidthError, graph_of(lambda self: build(self, 4))) == (
        f"main has 12 ports, timers, actions and reactions, {many}"
    )
    assert refused(rx.WidthError, graph_of(lambda self: build(self, 6))) == (
        f"main.members[5].out (@out) is one of 11 ports, timers and actions so far, {many}"
    )
