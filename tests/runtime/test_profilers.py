"""Do profilers, tracers and tracebacks see reactions as they see any function, though C calls them?"""

from __future__ import annotations

import cProfile
import pstats
import re
import subprocess
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx

if TYPE_CHECKING:
    from types import FrameType


class Ticks(rx.Reactor):
    tick = rx.Timer(0, "1 ms")

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick)
    def count(self) -> None:
        self.n += 1
        if self.n == 50:
            self.fail()

    def fail(self) -> None:
        raise ValueError("fifty")


def run() -> rx.ReactionError:
    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Ticks(), fast=True)
    return caught.value


def test_cprofile_counts_reactions() -> None:
    profile = cProfile.Profile()
    profile.runcall(run)
    calls = {name: found[1] for (_, _, name), found in pstats.Stats(profile).stats.items()}  # type: ignore[attr-defined]
    assert calls["count"] == 50
    assert calls["fail"] == 1


def test_a_tracer_sees_each_line_of_a_reaction() -> None:
    seen: list[tuple[str, str]] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != __file__:
            return None
        seen.append((frame.f_code.co_name, event))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    assert seen.count(("count", "call")) == 50
    assert ("fail", "exception") in seen


def test_a_traceback_has_the_lines_of_the_user() -> None:
    cause = run().__cause__
    assert cause is not None
    names = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert names[-2:] == ["count", "fail"]


BUSY = """
import reactors as rx

class Busy(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    @rx.reaction(tick)
    def spin(self):
        sum(i * i for i in range(100_000))

class Two(rx.Reactor):
    def __init__(self):
        self.busy = rx.bank(2, Busy)

if __name__ == "__main__":
    rx.run(Two(), fast=True, timeout="150 ms", workers={workers})
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_py_spy_sees_reactions_in_all_processes(workers: int, tmp_path: Path) -> None:
    """It starts the program itself, for only who did may look into it everywhere."""
    program, found = tmp_path / "busy.py", tmp_path / "found.txt"
    program.write_text(BUSY.replace("{workers}", str(workers)))
    spy = Path(sysconfig.get_path("scripts"), "py-spy")
    options = ["--format", "raw", "--rate", "50", "--subprocesses", "--nonblocking"]
    subprocess.run([spy, "record", *options, "-o", found, "--", sys.executable, program], check=True, timeout=120)
    stacks = [line for line in found.read_text().splitlines() if "spin (" in line]
    assert sum(int(line.rpartition(" ")[2]) for line in stacks) >= 20
    assert len({tuple(re.findall(r"process (\d+):", line)) for line in stacks}) == workers
