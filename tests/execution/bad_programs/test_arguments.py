"""Wrong arguments of rx.run and of deadlines."""

from pathlib import Path
from typing import Any

import pytest

import reactors as rx
from reactors.errors import PlacementError
from tests.execution.bad_programs.writer_and_reader import Main, Writer, every_way
from tests.messages import refused

# Deadlines


def test_deadline_without_a_method_for_those_who_miss_it() -> None:
    for given in ({"deadline": "1 ms"}, {"late": print}):
        words = refused(rx.DeclarationError, lambda given=given: Writer().add_reaction(rx.startup, print, **given))  # type: ignore[misc]
        assert words.endswith("deadline and late go together: how long, and what to run instead")
    words = refused(rx.ArgumentError, lambda: rx.reaction(rx.startup, deadline="1 ms"))  # type: ignore[arg-type]  # @late
    assert words == (
        "rx.reaction (@late) has no parameter 'deadline'; below the method, declare what runs instead when it is late: "
        '@NAME.deadline("5 ms")'
    )


# What rx.run is given


@every_way
def test_more_memory_than_there_is(way: Any) -> None:
    """Nothing starts, and the largest ports are named with what each takes."""

    class Huge(rx.Reactor):
        picture = rx.Output(shape=(1 << 20, 1 << 20), dtype="f8")
        label = rx.Output(shape=(1 << 20, 4), dtype="f8")

        @rx.reaction(rx.startup, effects=(picture, label))
        def start(self) -> None:
            raise AssertionError("it has started")

    with pytest.raises(rx.MemoryTooSmall) as caught:
        rx.run(Huge(), **{**way, "placement": "auto"})
    words = str(caught.value)
    assert words.startswith("main: the program's ports need 8.0 TiB of shared memory, but ")
    assert "are free; the largest: main.picture 8.0 TiB, main.label 32.0 MiB" in words
    assert words.endswith("; make their shapes or widths smaller, or use fewer workers")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        *(
            (
                {"workers": workers},
                rx.ArgumentError,
                f"workers of rx.run is {workers!r}; write a whole number, 1 or more, or workers='auto' for all cores",
            )
            for workers in (0, -1, None, True, "all")
        ),
        ({"workers": 65}, rx.ArgumentError, "workers of rx.run is 65; there can be 64 at most"),
        ({"seed": -1}, rx.ArgumentError, "seed of rx.run is -1; write a whole number, 0 or more"),
        (
            {"max_microsteps": 2**70},
            rx.ArgumentError,
            f"max_microsteps of rx.run is {2**70}, more than 64 bits hold; leave it out for no limit",
        ),
        ({"max_microsteps": 0}, rx.ArgumentError, "max_microsteps of rx.run is 0; write a whole number, 1 or more"),
        ({"fast": "no"}, rx.ArgumentError, "fast of rx.run is 'no', of type str; write True or False"),
        ({"keepalive": 3}, rx.ArgumentError, "keepalive of rx.run is 3, of type int; write True or False"),
        ({"debug": None}, rx.ArgumentError, "debug of rx.run is None, of type NoneType; write True or False"),
        (
            {"trace": Path("/nowhere/trace.json")},
            rx.ArgumentError,
            "trace of rx.run is '/nowhere/trace.json', but there is no folder '/nowhere'; make it",
        ),
        (
            {"placement": 3},
            PlacementError,
            'placement of rx.run is 3; write "auto", a dict or a function of path -> worker',
        ),
        (
            {"placement": {"main.nobody": 0}},
            PlacementError,
            "placement names 'main.nobody', and there is no such reactor; paths look like 'main.reader'",
        ),
    ],
)
def test_wrong_argument_of_run(options: Any, error: type[rx.ReactorError], words: str) -> None:
    assert refused(error, lambda: rx.run(Main(), **options)) == words
