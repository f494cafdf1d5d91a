"""Machines in network namespaces of their own, with a cable between them that can be cut."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

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


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def cable() -> Iterator[str]:
    """A cable to a namespace, by the name of both: 10.231.7.1 is here, and 10.231.7.2 there."""
    name = f"rx{os.getpid()}"
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need the command ip, and root")
    try:
        ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    try:
        ip("link", "add", name, "type", "veth", "peer", "name", "far", "netns", name)
        ip("addr", "add", "10.231.7.1/24", "dev", name)
        ip("link", "set", name, "up")
        ip("-n", name, "addr", "add", "10.231.7.2/24", "dev", "far")
        ip("-n", name, "link", "set", "far", "up")
        yield name
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("link", "del", name)
        ip("netns", "del", name)


def both(cable: str, folder: Path, *words: str) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """Who leads, here, and who joins, there."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "token").write_text("a token of enough bytes\n")
    address = "10.231.7.1:7391"
    pipes = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    leads = subprocess.Popen([sys.executable, "program.py", *words, address], **pipes)  # type: ignore[call-overload]
    joins = subprocess.Popen(  # type: ignore[call-overload]
        ["ip", "netns", "exec", cable, sys.executable, "-m", "reactors", "join", address, "--token-file", "token"],
        **pipes,
    )
    return leads, joins


def test_a_program_does_the_same_over_a_cable(cable: str, tmp_path: Path) -> None:
    leads, joins = both(cable, tmp_path, "fast", "100 ms")
    out, errors = leads.communicate(timeout=60)
    joins.communicate(timeout=60)
    assert out.endswith("True True\n"), errors
    assert joins.returncode == 0


def test_a_cable_that_is_cut_ends_both_sides(cable: str, tmp_path: Path) -> None:
    leads, joins = both(cable, tmp_path, "slow", "60 s")
    assert joins.stdout is not None
    assert joins.stdout.readline() == "begun\n"
    ip("link", "set", cable, "down")
    _, errors = leads.communicate(timeout=30)
    _, complaints = joins.communicate(timeout=60)
    assert "MachineLost: machine 1" in errors
    assert "which runs main.adds, is lost: nothing was heard for too long" in errors
    assert joins.returncode == 1
    assert "10.231.7.1:7391 is gone, or cannot be reached" in complaints
