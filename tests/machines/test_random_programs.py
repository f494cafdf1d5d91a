"""Do machines with arenas of their own, linked by sockets, do what the reference says? Random programs on two to four.

`--programs N` tries N seeded programs in place of 300.
"""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.time import duration
from tests.machines.in_one_process import run
from tests.oracle.random_programs import random_program
from tests.oracle.test_oracle import InvalidProgramError, Outcome, difference, judged
from tests.oracle.ways import logs_of

if TYPE_CHECKING:
    import pytest

MACHINES = ((2, 1), (2, 2), (3, 1), (4, 1), (2, 3), (3, 2))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Twenty programs in each test."""
    if "first" in metafunc.fixturenames:
        metafunc.parametrize("first", range(0, int(metafunc.config.getoption("--programs") or 0), 20))


def test_programs_do_the_same_on_several_machines(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)


def check(seed: int) -> None:
    program = random_program(seed)
    try:
        expected = judged(program)
    except InvalidProgramError:
        return
    machines, workers = MACHINES[seed % len(MACHINES)]
    dice = random.Random(seed)
    n = machines * workers
    paths = list(expected.logs)
    placement: Any = {path: dice.randrange(n) for path in paths} if dice.random() < 0.8 else "auto"
    if program.sleeps:  # it matters which reactors share a worker
        placement = dict.fromkeys(paths, dice.randrange(n))
    timeout = None if program.timeout is None else duration(program.timeout, "timeout")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # random programs leave inputs open
        main = program.main(rx)
        found = run(
            main, machines, workers, timeout=timeout, keepalive=program.keepalive, placement=placement,
            tcp=seed % 2 == 0, clock=program.clock(rx, main) if program.physical or seed % 5 == 0 else None,
        )  # fmt: skip
    outcome = Outcome(found.digest, found.reactions, logs_of(main, paths))
    assert outcome == expected, f"program {seed} on {machines} x {workers}: {difference(expected, outcome)}"
