"""What `make test` leaves out is what takes longer, and is there."""

import re
from pathlib import Path

import pytest

from tests import slow

ROOT = Path(__file__).parents[1]


def test_a_test_runs_the_cases_within_its_first_moments() -> None:
    seconds = {"a::quick": 0.5, "a::long": 0.7, "a::many[x]": 0.3, "a::many[y]": 0.2, "a::many[z]": 0.2}
    assert dict(slow.chosen(seconds)) == {"a::long": 0, "a::many": 2}


def test_random_programs_have_longer() -> None:
    seconds = {f"tests/oracle/test_oracle.py::test_program[{k}]": 0.5 for k in range(300)}
    assert dict(slow.chosen(seconds)) == {"tests/oracle/test_oracle.py::test_program": 60}


def test_what_is_left_out_is_there() -> None:
    gone = []
    for test in slow.read():
        path, name = test.split("::", 1)
        last = re.split("::|[.]", name)[-1]
        found = re.search(rf"^ *(async )?(def|class) {last}\b", _source(path), re.MULTILINE)
        if not found:
            gone.append(test)
    assert not gone, "make slow"


def _source(path: str) -> str:
    file = ROOT / path
    return file.read_text() if file.exists() else ""


def test_a_test_without_a_line_runs_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slow, "FILE", tmp_path / "slow.txt")
    slow.FILE.write_text("a::test 1\n")

    class Case:
        def __init__(self, nodeid: str) -> None:
            self.nodeid, self.marks = nodeid, list[str]()

        def add_marker(self, marker: pytest.MarkDecorator) -> None:
            self.marks.append(marker.name)

    cases = [Case(f"a::{name}[{k}]") for name in ("test", "new") for k in range(2)]
    slow.mark(cases)
    assert [case.nodeid for case in cases if case.marks] == ["a::test[1]"]
