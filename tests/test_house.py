"""Is the plan of the house kept?

What may import what is said in pyproject.toml, and checked by `lint-imports`; here it is checked that this notices
mistakes, that no modules import each other, and that every folder says what it is and is not crowded.
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import reactors
from reactors import lowlevel, rl

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "reactors", ROOT / "runtime" / "reactors_runtime"]
ROOMS = sorted({path.parent for package in PACKAGES for path in package.rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_says_what_lives_there_and_is_not_crowded(room: Path) -> None:
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
    assert said
    assert len(said) > 40
    assert len([*room.glob("*.py")]) <= MOST.get(str(room.relative_to(ROOT)), 16)


MOST = {
    "reactors/command": 17,
    "reactors/execution": 17,
    "runtime/reactors_runtime": 17,
}  # of folders with more than there should be


TWINS = {  # class names that stand for two things, and why
    "Mode", "Reaction", "Reactor",  # what users write, and its row in the runtime's program
    "Journal",  # of the values of a run, and of the rows of a training
    "Past",  # a point of a run to come back to, and earlier policies as opponents
    "Replay",  # of a run, and of experience
    "WorkerDied",  # the runtime's becomes the public one
}  # fmt: skip


def test_no_class_name_stands_for_two_things() -> None:
    found: dict[str, list[str]] = {}
    for path in [*(ROOT / "reactors").rglob("*.py"), *(ROOT / "runtime").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in found.items() if len(places) > 1 and name not in TWINS} == {}


@pytest.mark.parametrize("package", [reactors, rl], ids=lambda package: package.__name__)
def test_the_map_has_every_room(package: ModuleType) -> None:
    top = {
        path.stem
        for path in ROOT.joinpath(*package.__name__.split(".")).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    said = {
        name
        for line in (package.__doc__ or "").splitlines()
        if line.startswith("- ")
        for name in line[2:].split("  ")[0].split(", ")
    }
    assert said == top - {"__init__", "__main__"}


def test_the_runtime_that_is_loaded_knows_no_reinforcement_learning() -> None:
    from reactors.rl import _core as replay
    from reactors_runtime import _core as runtime

    assert {"rx_replay_open", "rx_sumtree_bytes"} <= set(dir(replay.lib))
    assert not set(dir(replay.lib)) & set(dir(runtime.lib))


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


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("model/layout.py", "import reactors.launch", "reactors.model is not allowed to import reactors.launch"),
        (
            "rl/envs/env.py",
            "from reactors.model.ports import Port",
            "reactors.rl is not allowed to import reactors.model",
        ),
        ("rl/envs/env.py", "from reactors import stepwise", "reactors.rl is not allowed to import reactors.stepwise"),
        ("rl/envs/env.py", "import reactors_runtime.engine", "reactors.rl is not allowed to import reactors_runtime"),
    ],
)
def test_an_import_against_the_law_is_noticed(copy: Path, module: str, line: str, said: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", copy)
    wrong = copy / "reactors" / module
    wrong.write_text(f"{wrong.read_text()}\n\ndef late() -> None:\n    {line}  # noqa: F401\n")
    program = (  # no copy that is installed
        "import sys; sys.meta_path[:] = [each for each in sys.meta_path if isinstance(each, type)]\n"
        "from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert said in done.stdout


# ---- what users cannot do, `rl` does not do ----

OPEN_TO_ALL = {"__init__", "errors", "lowlevel", "rl"}


def test_the_law_names_every_room_that_is_closed_to_rl() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (law,) = (each for each in contracts if each["type"] == "forbidden")
    rooms = {
        path.stem for path in (ROOT / "reactors").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert set(law["forbidden_modules"]) == {f"reactors.{room}" for room in rooms - OPEN_TO_ALL} | {"reactors_runtime"}


def borrowed(source: str, hidden: set[str]) -> list[str]:
    """What a module of `rl` touches of other rooms: their names with an underscore, which `hidden` has."""
    attributes = (node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return [f".{name}" for name in attributes if name in hidden]


def underscored(room: Path) -> set[str]:
    """Names with an underscore that are defined in a folder."""
    found = set()
    for path in room.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _of_itself(node.value):
                found.add(node.attr)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def _of_itself(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


def hidden_from_rl() -> set[str]:
    """Names with an underscore that the other rooms define, and `rl` does not."""
    top = ROOT / "reactors"
    others = [each for each in top.iterdir() if each.is_dir() and each.name not in {"rl", "__pycache__"}]
    return set().union(*map(underscored, [*others, ROOT / "runtime"])) - underscored(top / "rl")


def test_rl_takes_only_what_is_open_to_its_users() -> None:
    hidden = hidden_from_rl()
    taken = {str(path): borrowed(path.read_text(), hidden) for path in (ROOT / "reactors" / "rl").rglob("*.py")}
    assert {path: found for path, found in taken.items() if found} == {}


def test_what_rl_may_not_touch_is_noticed() -> None:
    source = "import reactors as rx\n\nport = rx.Input()\nport._declared._offered = True\n"
    assert "._offered" in borrowed(source, hidden_from_rl())


def test_every_name_for_libraries_is_explained() -> None:
    said = re.findall(r"^- `(\w+)`: [A-Z]", lowlevel.__doc__ or "", re.MULTILINE)
    assert sorted(said) == sorted(lowlevel.__all__)
    assert all(hasattr(lowlevel, name) for name in said)
