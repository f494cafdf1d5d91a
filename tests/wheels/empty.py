"""Does a wheel work where there is nothing else? `make try_wheels`.

`python tests/wheels/empty.py DIST PYTHON...`: for each Python an empty environment, with no program in PATH but its
own. It gets the wheel for this machine from the folder DIST, checks the machine, runs an example and tests of the core.
At last the sdist is built, with a compiler in PATH and nothing besides.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("hypothesis", "pytest", "pytest-timeout")  # by the tests below, which want neither torch nor Gymnasium
COMPILING = "tests/semantics/test_deadlines_of_native_reactions.py"  # compiles reactions in C, and there is no compiler
TESTS = ("tests/semantics", "tests/oracle", f"--ignore={COMPILING}", "--programs=30", "-m", "not slow")


class Empty:
    """An environment with the pip of a Python, below a folder that has no source of ours."""

    def __init__(self, python: str, folder: Path) -> None:
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        self.folder = folder
        self.programs = folder / "venv" / "bin"
        self.environ = {
            name: value for name, value in os.environ.items() if name not in {"CC", "PYTHONPATH", "VIRTUAL_ENV"}
        }
        self.environ["PATH"] = str(self.programs)

    def run(self, *words: str | Path) -> str:
        """What a program of the environment prints; it has to end well."""
        command = [self.programs / words[0], *words[1:]]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{' '.join(map(str, words))} under {self.programs}:\n{done.stdout}")
        return done.stdout

    def install(self, *packages: str | Path) -> None:
        self.run("python", "-m", "pip", "install", "-qq", "-c", ROOT / "constraints.txt", *packages)


def try_wheel(wheel: Path, python: str, folder: Path) -> str:
    """What came of it, in a line."""
    empty = Empty(python, folder)
    empty.install("--only-binary=:all:", wheel, *NEEDED)
    found = empty.run("reactors", "doctor")
    assert "note  compiler       missing" in found, found
    for name in ("pyproject.toml", "examples", "tests"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    assert "1 s: 11" in empty.run("python", "examples/hello.py")
    return empty.run("python", "-m", "pytest", "-q", *TESTS).splitlines()[-1]


def try_source(source: Path, python: str, folder: Path) -> None:
    """Builds the sdist and runs the example."""
    empty = Empty(python, folder)
    links = folder / "programs"
    links.mkdir()
    for name in ("cc", "gcc", "as", "ld", "ar", "ranlib"):  # a Python may ask for the compiler that it was made by
        found = shutil.which(name)
        assert found, f"there is no {name}"
        (links / name).symlink_to(found)
    empty.environ["PATH"] += f":{links}"
    empty.install(source)
    shutil.copy(ROOT / "examples" / "hello.py", folder)
    assert "1 s: 11" in empty.run("python", "hello.py")


def main() -> None:
    dist, pythons = Path(sys.argv[1]).resolve(), sys.argv[2:]
    (wheel,) = dist.glob(f"*_{platform.machine()}.whl")
    (source,) = dist.glob("*.tar.gz")
    for python in pythons:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{python}: {try_wheel(wheel, python, Path(folder))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try_source(source, pythons[0], Path(folder))
        print(f"{pythons[0]}: {source.name} builds")


if __name__ == "__main__":
    main()
