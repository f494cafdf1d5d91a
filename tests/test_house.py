"""Is the plan of the house kept?

What may import what is said in pyproject.toml, and checked by `lint-imports`; here it is checked that this notices
mistakes, that no modules import each other, and that every folder says what it is and is not crowded.
"""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import reactors

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "reactors", ROOT / "runtime" / "reactors_runtime"]
ROOMS = sorted({path.parent for package in PACKAGES for path in package.rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_says_what_lives_there_and_is_not_crowded(room: Path) -> None:
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
    assert said
    assert len(said) > 40
    assert len([*room.glob("*.py")]) <= MOST.get(str(room.relative_to(ROOT)), 16)


MOST = {  # more than there should be
    "reactors/rl/algorithms": 27,
}


TWINS = {  # class names that stand for two things, and why
    "Mode", "Reaction", "Reactor",  # what users write, and its row in the runtime's program
    "Output", "Policy", "Replay", "Server",  # public, and a class of the runtime's that no user meets
    "Recorded",  # public in rl.record, and a log that was read
    "Options", "Owner", "Part", "Running", "Sink", "Source", "Wire", "WorkerDied",  # to be told apart by better names
}  # fmt: skip


def test_no_class_name_stands_for_two_things() -> None:
    found: dict[str, list[str]] = {}
    for path in [*(ROOT / "reactors").rglob("*.py"), *(ROOT / "runtime").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in found.items() if len(places) > 1 and name not in TWINS} == {}


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


def test_the_runtime_that_is_loaded_knows_no_reinforcement_learning() -> None:
    from reactors.rl import _core as rl
    from reactors_runtime import _core as runtime

    assert {"rx_replay_open", "rx_sumtree_bytes"} <= set(dir(rl.lib))
    assert not set(dir(rl.lib)) & set(dir(runtime.lib))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Both packages, to plant mistakes in."""
    for each in PACKAGES:
        shutil.copytree(each, tmp_path / each.name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def imports(*packages: Path) -> dict[str, set[str]]:
    """What each module imports of these packages: at its top, in a function, or for type checkers alone."""
    files = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for package in packages
        for path in package.rglob("*.py")
    }

    def named(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            inner = [f"{node.module}.{each.name}" for each in node.names]
            yield from (name if name in files else node.module for name in inner)

    return {
        module: {name for node in ast.walk(ast.parse(path.read_text())) for name in named(node) if name in files}
        for module, path in files.items()
    }


def test_no_modules_import_each_other() -> None:
    TopologicalSorter(imports(*PACKAGES)).prepare()


@pytest.mark.parametrize(
    "late",
    [
        "if TYPE_CHECKING:\n    from reactors.model.ports import Port",
        "def late():\n    from reactors.model import ports",
        "def late():\n    import reactors.model.bank",
    ],
)
def test_a_circle_is_noticed(copy: Path, late: str) -> None:
    wrong = copy / "reactors" / "model" / "layout.py"
    wrong.write_text(f"{wrong.read_text()}\n\n{late}\n")
    with pytest.raises(CycleError, match=r"reactors\.model\.layout"):
        TopologicalSorter(imports(*(copy / each.name for each in PACKAGES))).prepare()


def test_an_import_against_the_law_is_noticed(copy: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", copy)
    wrong = copy / "reactors" / "model" / "layout.py"
    wrong.write_text(wrong.read_text() + "\n\ndef late() -> None:\n    import reactors.run  # noqa: F401\n")
    program = (  # no copy that is installed
        "import sys; sys.meta_path[:] = [each for each in sys.meta_path if isinstance(each, type)]\n"
        "from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "reactors.model is not allowed to import reactors.run" in done.stdout
