"""What type checkers say about users' programs: which mistakes they find, and that they report nothing else."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TYPING = ROOT / "tests" / "typing"
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--show-column-numbers"],
    "pyright": [sys.executable, "-m", "pyright", "-p"],
}
# What users have to say to pyright: everything is strict, but `a >> b` is a statement.
STRICT = "\n# pyright: strict, reportUnusedExpression=false\n"
# In examples/: what pyright in strict mode has against the types of other libraries.
FOREIGN = re.compile(
    r'Type of "(step|plot|legend|grid|savefig|from_numpy|manual_seed|learn|num_timesteps|clip|drawn)" is'
    r'|qlearning.py:.*Argument type is unknown|Stub file not found for "pettingzoo"'
)

pytestmark = [pytest.mark.timeout(600)]  # they read all of NumPy and torch


def marked(checker: str) -> Iterator[tuple[str, int]]:
    """Lines with a mistake: `# error` where both checkers have to find it, `# error: mypy` where only one can."""
    for file in (TYPING / "refused").iterdir():
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if re.search(rf"# error(: {checker})?$", line):
                yield f"refused/{file.name}", number


@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found_and_correct_programs_are_accepted(checker: str, tmp_path: Path) -> None:
    """The files are checked as copies, for the project's own checks leave those with mistakes out."""
    shutil.copytree(TYPING / "refused", tmp_path / "refused")
    for name, folder in (("accepted", TYPING / "accepted"), ("examples", ROOT / "examples")):
        (tmp_path / name).mkdir()
        for file in {*folder.glob("*.py")} - {*folder.glob("from_*.py")}:  # as untyped as what they were before
            (tmp_path / name / file.name).write_text(file.read_text() + STRICT)
    environment = {"venvPath": str(ROOT), "venv": ".venv", "extraPaths": [str(ROOT), str(ROOT / "runtime")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({**environment, "pythonVersion": "3.11"}))
    files = [tmp_path] if checker == "pyright" else sorted(tmp_path.glob("*/*.py"))
    done = subprocess.run([*CHECKERS[checker], *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    reports = [line for line in done.stdout.splitlines() if re.search(r":\d+:\d+(:| -) (error|warning)", line)]
    assert [line for line in reports if "/refused/" not in line and not FOREIGN.search(line)] == []
    found = {(name, int(line)) for name, line in re.findall(r"(refused/\w+\.py):(\d+):", "\n".join(reports))}
    assert found == {*marked(checker)}
