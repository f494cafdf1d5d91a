"""Is the plan of the house kept? What may import what is said in pyproject.toml, and checked by `lint-imports`."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reactors

ROOT = Path(__file__).parents[1]
ROOMS = sorted({path.parent for path in (ROOT / "reactors").rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_says_what_lives_there_and_is_not_crowded(room: Path) -> None:
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
    assert said
    assert len(said) > 40
    assert len([*room.glob("*.py")]) <= MOST.get(str(room.relative_to(ROOT)), 16)


MOST = {  # more than there should be
    "reactors/model": 22,
    "reactors/execution": 19,
    "reactors/rl/dataflow": 26,
}


def test_the_map_has_every_room() -> None:
    top = {
        path.stem for path in (ROOT / "reactors").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    said = {
        name
        for line in (reactors.__doc__ or "").splitlines()
        if line.startswith("- ")
        for name in line[2:].split("  ")[0].split(", ")
    }
    assert said == top - {"__init__", "__main__", "py.typed"}


def test_an_import_against_the_law_is_noticed(tmp_path: Path) -> None:
    for each in ("reactors", "runtime/reactors_runtime"):
        shutil.copytree(ROOT / each, tmp_path / Path(each).name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    wrong = tmp_path / "reactors" / "model" / "layout.py"
    wrong.write_text(wrong.read_text() + "\n\ndef late() -> None:\n    import reactors.run  # noqa: F401\n")
    program = (  # no copy that is installed
        "import sys; sys.meta_path[:] = [each for each in sys.meta_path if isinstance(each, type)]\n"
        "from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "reactors.model is not allowed to import reactors.run" in done.stdout
