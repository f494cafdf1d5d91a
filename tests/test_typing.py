"""What type checkers say about programs: mypy and pyright find the same mistakes, and no others."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TYPING = Path(__file__).parent / "typing"
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--show-column-numbers"],
    "pyright": [sys.executable, "-m", "pyright"],
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # they read all of NumPy


@pytest.mark.parametrize("checker", CHECKERS)
def test_correct_programs_are_accepted_and_mistakes_found(checker: str, tmp_path: Path) -> None:
    """The files are checked as copies, for the project's own checks leave the one with mistakes out."""
    files = [shutil.copy(TYPING / name, tmp_path) for name in ("accepted.py", "refused.py")]
    done = subprocess.run(
        [*CHECKERS[checker], *files], cwd=TYPING.parent.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = {(name, int(line)) for name, line in re.findall(r"(\w+\.py):(\d+):\d+(?::| -) error", done.stdout)}
    lines = (TYPING / "refused.py").read_text().splitlines()
    assert found == {("refused.py", n) for n, line in enumerate(lines, 1) if line.endswith("# error")}
