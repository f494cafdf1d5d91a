"""Machines in network namespaces of their own, with a cable between them that can be cut."""

from __future__ import annotations

import contextlib
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


fast, timeout, listen = sys.argv[1] == "fast", *sys.argv[2:]
alone, main = Main(), Main()
expected = rx.run(alone, fast=True, timeout="100 ms")
machines = rx.Machines(count=2, listen=listen, token_file="token")
found = rx.run(main, fast=fast, timeout=timeout, workers=2, machines=machines, placement={"main.adds": 1})
print(found.digest == expected.digest, main.adds.n == alone.adds.n)
"""


@pytest.fixture
def cable() -> Iterator[Cable]:
    with contextlib.ExitStack() as stack:
        try:
            (found,) = stack.enter_context(cables(1))
        except NoNamespacesError as error:
            pytest.skip(str(error))
        yield found


@contextlib.contextmanager
def both(cable: Cable, folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], subprocess.Popen[str]]]:
    """The machine that leads, here, and the one that joins, there."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "token").write_text("a token of enough bytes\n")
    address = f"{cable.here}:7391"
    commands = (
        [sys.executable, "program.py", *words, address],
        [*cable.inside(), sys.executable, "-m", "reactors", "join", address, "--token-file", "token"],
    )
    leads, joins = (
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    )
    with leads, joins:
        try:
            yield leads, joins
        finally:
            leads.kill()
            joins.kill()


def test_a_program_does_the_same_over_a_cable(cable: Cable, tmp_path: Path) -> None:
    with both(cable, tmp_path, "fast", "100 ms") as (leads, joins):
        out, errors = leads.communicate(timeout=60)
        joins.communicate(timeout=60)
    assert out.endswith("True True\n"), errors
    assert joins.returncode == 0


def test_a_cable_that_is_cut_ends_both_sides(cable: Cable, tmp_path: Path) -> None:
    with both(cable, tmp_path, "slow", "60 s") as (leads, joins):
        assert joins.stdout is not None
        assert joins.stdout.readline() == "begun\n"
        cable.cut()
        _, errors = leads.communicate(timeout=30)
        _, complaints = joins.communicate(timeout=60)
    assert "MachineLost: machine 1" in errors
    assert "which runs main.adds, is lost: nothing was heard for too long" in errors
    assert joins.returncode == 1
    assert f"{cable.here}:7391 is gone, or cannot be reached" in complaints
