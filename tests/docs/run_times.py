"""How long does each example take? `make times` runs them one after another, and writes it into examples/README.md.

On a machine that does nothing else: what is written there is what readers expect on theirs.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
GALLERY = EXAMPLES / "README.md"
SECTION = re.compile(r"^### \[(?P<name>[\w/.]+)\].*?(?=^##|\Z)", re.DOTALL | re.MULTILINE)
TIME = re.compile(r"^\*\*Run time:\*\* (?P<words>[^,.]*)(?:, with `(?P<options>[^`]*)`)?\.$", re.MULTILINE)


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


def command(name: str, options: str) -> list[str]:
    """What runs an example as a reader would."""
    path = str(EXAMPLES / name)
    if name.endswith(".ipynb"):
        return [sys.executable, "-m", "jupyter", "execute", "--kernel_name=python3", path]
    return [sys.executable, path, *shlex.split(options)]


def measured(section: re.Match[str]) -> str:
    """A section of the gallery with the time that its example takes now."""
    text = section[0]
    found = TIME.search(text)
    if not found:
        return text
    options = found["options"] or ""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        subprocess.run(command(section["name"], options), cwd=folder, stdout=subprocess.DEVNULL, check=True)
        said = words(time.perf_counter() - began)
    print(f"{section['name']}: {said}", flush=True)
    return text[: found.start("words")] + said + text[found.end("words") :]


if __name__ == "__main__":
    GALLERY.write_text(SECTION.sub(measured, GALLERY.read_text()))
