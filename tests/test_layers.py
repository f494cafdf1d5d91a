"""Does what looks at the layers of the core (csrc/tests/layers.py) see a call upwards?"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

UPWARDS = """
#include "peers.h"
void rx__planted(rx_worker *w);
void rx__planted(rx_worker *w) { rx__publish(w, w->tag, w->tag, 0); }
"""
Look = Callable[[str, str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Look:
    """What is said of the core when a file has something more at its end."""
    core = tmp_path_factory.mktemp("tree") / "csrc"
    shutil.copytree(ROOT / "csrc", core, ignore=shutil.ignore_patterns("rl", "python", "model"))
    files = sorted(path.name for path in core.glob("*.c"))

    def compile_again(file: str) -> None:
        subprocess.run(["cc", "-D_GNU_SOURCE", "-c", file, "-o", f"{file}.o"], cwd=core, check=True)

    for file in files:
        compile_again(file)

    def planted(file: str, more: str) -> subprocess.CompletedProcess[str]:
        text = (core / file).read_text()
        try:
            (core / file).write_text(text + more)
            compile_again(file)
            library = core / "libcore.a"
            library.unlink(missing_ok=True)
            subprocess.run(["ar", "rc", library, *(f"{each}.o" for each in files)], cwd=core, check=True)
            checked = [sys.executable, "tests/layers.py", str(library)]
            return subprocess.run(checked, cwd=core, capture_output=True, text=True, check=False)
        finally:
            (core / file).write_text(text)
            compile_again(file)

    return planted


def test_the_core_as_it_is_calls_downwards(look: Look) -> None:
    found = look("queue.c", "")
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("file", ["clocks.c", "bell.c"])
def test_a_call_upwards_is_noticed(look: Look, file: str) -> None:
    found = look(file, UPWARDS)
    assert found.returncode == 1
    assert f"{file} calls rx__publish of line.c, which is above it" in found.stderr


def test_a_file_that_calls_what_stands_below_it_is_not(look: Look) -> None:
    assert look("team.c", UPWARDS).returncode == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("\n#include <stdatomic.h>\n", "queue.c has stdatomic"),
        (
            "\nvoid rx__planted(int *n);\nvoid rx__planted(int *n) { __atomic_store_n(n, 1, 5); }\n",
            "queue.c has __atomic_",
        ),
        (UPWARDS, "queue.c has peers.h"),
    ],
)
def test_a_worker_by_itself_has_nothing_shared(look: Look, more: str, said: str) -> None:
    found = look("queue.c", more)
    assert found.returncode == 1
    assert f"queue.c belongs to a worker by itself, and {said}" in found.stderr
