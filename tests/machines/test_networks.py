"""Machines in network namespaces of their own, with a cable between them that can be cut."""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.machines.namespaces import Cable, NoNamespacesError, cables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
import sys

import reactors as rx


class Source(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def go(self):
        self.out.set(self.tag.time)


class Adds(rx.Reactor):
    given = rx.Input(int)

    def __init__(self):
        self.n = 0

    @rx.reaction(given)
    def take(self):
        self.n += self.given.value
        if self.n == 0:
            print("begun", flush=True)


class Main(rx.Reactor):
    def __init__(self):
        self.source, self.adds = Source(), Adds()
        self.source.out >> self.adds.given


fast, timeout, listen, count = sys.argv[1] == "fast", *sys.argv[2:4], int(sys.argv[4])
alone, main = Main(), Main()
expected = rx.run(alone, fast=True, timeout="100 ms")
machines = rx.Machines(count=count, listen=listen, token_file="token")
placement = {"main.adds": count - 1}
found = rx.run(main, fast=fast, timeout=timeout, workers=count, machines=machines, placement=placement)
print(found.digest == expected.digest, main.adds.n == alone.adds.n)
"""


@pytest.fixture
def two_cables() -> Iterator[list[Cable]]:
    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(cables(2))
        except NoNamespacesError as error:
            pytest.skip(str(error))
        yield found


@contextlib.contextmanager
def machines(ends: list[Cable], folder: Path, *words: str) -> Iterator[list[subprocess.Popen[str]]]:
    """The machine that leads, here, and those that join, at the ends of the cables."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "token").write_text("a token of enough bytes\n")
    address = f"{ends[0].here}:7391"
    joins = [sys.executable, "-m", "reactors", "join", address, "--token-file", "token"]
    with contextlib.ExitStack() as stack:
        found = []
        for command in (
            [sys.executable, "program.py", *words, address, str(1 + len(ends))],
            *([*cable.inside(), *joins] for cable in ends),
        ):
            machine = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            stack.enter_context(machine)
            stack.callback(machine.kill)
            found.append(machine)
        yield found


def wait_until_begun(*joined: subprocess.Popen[str]) -> None:
    """One of them has the reactor that says so."""
    streams = [machine.stdout for machine in joined if machine.stdout is not None]
    ready, _, _ = select.select(streams, [], [], 60)
    assert [stream.readline() for stream in ready] == ["begun\n"]


def test_a_program_does_the_same_over_a_cable(two_cables: list[Cable], tmp_path: Path) -> None:
    with machines(two_cables[:1], tmp_path, "fast", "100 ms") as (leads, joins):
        out, errors = leads.communicate(timeout=60)
        joins.communicate(timeout=60)
    assert out.endswith("True True\n"), errors
    assert joins.returncode == 0


def test_a_cable_that_is_cut_ends_both_sides(two_cables: list[Cable], tmp_path: Path) -> None:
    cable = two_cables[0]
    with machines([cable], tmp_path, "slow", "60 s") as (leads, joins):
        wait_until_begun(joins)
        cable.cut()
        _, errors = leads.communicate(timeout=30)
        _, complaints = joins.communicate(timeout=60)
    assert "MachineLost: machine 1" in errors
    assert "which runs main.adds, is lost: nothing was heard for too long" in errors
    assert joins.returncode == 1
    assert f"{cable.here}:7391 is gone, or cannot be reached" in complaints


def test_two_that_cannot_reach_each_other_are_named(two_cables: list[Cable], tmp_path: Path) -> None:
    one, other = two_cables
    with machines(two_cables, tmp_path, "slow", "60 s") as (leads, *joined):
        wait_until_begun(*joined)
        one.lose_what_goes_to(other)
        _, errors = leads.communicate(timeout=30)
        for machine in joined:
            machine.kill()  # they wait for the leading one to begin again
    assert "MachineLost: machine 2" in errors
    assert "which runs main.adds, is lost: machine 1" in errors
    assert "and it cannot reach each other; nothing was heard for too long" in errors
