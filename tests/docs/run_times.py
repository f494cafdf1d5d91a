"""How long does each example take? `make times` runs them one after another, and writes it into examples/README.md.

For a machine that does nothing else: what is written there is what readers expect on theirs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
GALLERY = EXAMPLES / "README.md"
OPTIONS = {"web.py": ("--port", "0", "--clients", "4")}  # without these it serves until Ctrl-C
SECTION = re.compile(r"^### \[([\w.]+\.(?:py|ipynb))\].*?(?=^##|\Z)", re.DOTALL | re.MULTILINE)


def words(seconds: float) -> str:
    """A time as one says it.

    >>> [words(each) for each in (0.3, 1.4, 8.2, 34, 100)]
    ['a second', 'a second', '8 s', '35 s', '2 min']
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds < 20 else f"{5 * round(seconds / 5)} s"
    return f"{seconds / 60:.0f} min"


def with_time(section: str, said: str) -> str:
    """A section of the gallery with this run time, and without the one that it had.

    >>> print(with_time(with_time("### [a](a)\\n\\n**Change first:** b.\\n", "8 s"), "9 s"), end="")
    ### [a](a)
    <BLANKLINE>
    **Run time:** 9 s.
    <BLANKLINE>
    **Change first:** b.
    """
    without = re.sub(r"^\*\*Run time:\*\*.*\n\n", "", section, flags=re.MULTILINE)
    return without.replace("**Change first:**", f"**Run time:** {said}.\n\n**Change first:**")


def seconds(name: str) -> float:
    """How long an example runs as a reader would run it, imports included."""
    path, notebook = str(EXAMPLES / name), ["-m", "jupyter", "execute", "--kernel_name=python3"]
    command = [sys.executable, *(notebook if name.endswith(".ipynb") else []), path, *OPTIONS.get(name, ())]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began


def measured(section: re.Match[str]) -> str:
    """A section with what its example takes now."""
    name = section[1]
    said = words(seconds(name))
    if name in OPTIONS:
        said += f" with `{' '.join(OPTIONS[name])}`"
    print(f"{name}: {said}", flush=True)
    return with_time(section[0], said)


if __name__ == "__main__":
    GALLERY.write_text(SECTION.sub(measured, GALLERY.read_text()))
