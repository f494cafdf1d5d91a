"""What type checkers say about programs: mypy and pyright find the same mistakes, and no others."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TYPING = Path(__file__).parent / "typing"
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--show-column-numbers"],
    "pyright": [sys.executable, "-m", "pyright"],
}


def errors(checker: str, file: Path) -> set[int]:
    """The lines of `file` with errors."""
    done = subprocess.run(
        [*CHECKERS[checker], str(file)], cwd=TYPING.parent.parent, capture_output=True, text=True, check=False
    )
    found = re.findall(rf"{file.name}:(\d+):\d+(?::| -) error", done.stdout)
    assert done.returncode == (1 if found else 0), done.stdout + done.stderr
    return {int(line) for line in found}


@pytest.mark.parametrize("checker", CHECKERS)
def test_correct_programs_are_accepted(checker: str) -> None:
    assert errors(checker, TYPING / "accepted.py") == set()


@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found(checker: str) -> None:
    lines = (TYPING / "refused.py").read_text().splitlines()
    assert errors(checker, TYPING / "refused.py") == {n for n, line in enumerate(lines, 1) if line.endswith("# error")}
