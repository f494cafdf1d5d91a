"""Do journals of one program ever differ by where it runs? Two hundred random programs, each on two backends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import reactors as rx
from reactors.journals.comparison import Comparison
from tests.oracle.random_programs import random_program
from tests.oracle.test_oracle import done, judged, ways
from tests.oracle.ways import Way

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = range(200)
AT_ONCE = 20  # programs of one test


@pytest.mark.parametrize("first", SEEDS[::AT_ONCE])
def test_two_runs_of_a_program_have_no_difference(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + AT_ONCE):
        program = random_program(seed)
        paths = [*judged(program).logs]
        other = ways(seed)[1 + seed % 3]
        if program.sleeps:
            other = replace(other, placed="together")
        for name, way in (("a.rxj", Way()), ("b.rxj", other)):
            done(program, way, paths, journal=tmp_path / name, journal_states=1)
        comparison = Comparison(rx.Journal(tmp_path / "a.rxj"), rx.Journal(tmp_path / "b.rxj"))
        assert (comparison.divergence, comparison.longer) == (None, ""), f"seed {seed}: {program!r}\n{other}"
        assert comparison.compared == len(comparison.one)
