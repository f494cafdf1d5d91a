"""What `make test` leaves to `make test_slow`: the cases of a test beyond its first 0.6 seconds.

`slow.txt` has a line for each test with cases that are left: `path::test n` says that its first n cases run always,
and that the others have the mark `slow`. `make slow` measures and writes it; a test that has no line is new, and runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import pytest

FILE = Path(__file__).with_name("slow.txt")
SECONDS = 0.6
# Random programs find the most mistakes.
MORE_SECONDS = {"tests/oracle/test_oracle.py": 30.0}


class Case(Protocol):
    """What pytest has collected, as far as it matters here."""

    @property
    def nodeid(self) -> str: ...

    def add_marker(self, marker: pytest.MarkDecorator) -> object: ...


def function(case: str) -> str:
    """A case's test: its address without what stands in brackets."""
    return case.split("[", 1)[0]


def read() -> dict[str, int]:
    """How many cases of a test run always."""
    lines = (line.rsplit(" ", 1) for line in FILE.read_text().splitlines())
    return {test: int(cases) for test, cases in lines}


def mark(items: Iterable[Case]) -> None:
    """Give the mark `slow` to the cases that `make test` leaves out."""
    left = read()
    for item in items:
        test = function(item.nodeid)
        if test in left:
            left[test] -= 1
            if left[test] < 0:
                item.add_marker(pytest.mark.slow)


def chosen(seconds: Mapping[str, float]) -> Iterator[tuple[str, int]]:
    """The tests that do not run whole, and how many of their cases do; `seconds` has the cases in their order."""
    tests: dict[str, list[float]] = {}
    for case, took in seconds.items():
        tests.setdefault(function(case), []).append(took)
    for test, each in sorted(tests.items()):
        most = MORE_SECONDS.get(test.split("::")[0], SECONDS)
        within = sum(total <= most for total in accumulate(each))
        if within < len(each):
            yield test, within


class Times:
    """Writes `slow.txt` at the end of a run of all tests in several processes (`--measure`)."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        for case in ids:
            self.seconds.setdefault(case, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        FILE.write_text("".join(f"{test} {cases}\n" for test, cases in chosen(self.seconds)))
