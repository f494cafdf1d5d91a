"""The core calls downwards only: `python layers.py LIBRARY`, a static library whose objects hold machine code.

Its files have an order, the lowest first: what a file refers to is defined in itself or in one before it. Those of a
worker by itself (engine.h) have nothing to do with what is shared with others: no such header, no atomic operation.
"""

import re
import subprocess
import sys
from pathlib import Path

ORDER = [
    *(
        "lock",
        "work",
        "makespan",
        "arena",
        "queue",
        "ring",
        "clocks",
        "spans",
        "drain",
        "values",
        "record",
        "journal",
        "pending",
        "modes",
        "tags",
        "cores",
        "bell",
        "line",
        "inbox",
        "frontier",
    ),
    *("frames", "linked", "quiet", "tell", "hear", "across", "park"),
    *("channel", "reaction", "solo", "team", "worker", "link"),
]
ALONE = ["queue", "record", "pending", "modes", "tags", "reaction", "solo"]
CORE = Path(__file__).parents[1]


def symbols(library: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Where each function or variable is defined, and which file refers to which."""
    home: dict[str, str] = {}
    uses: list[tuple[str, str]] = []
    for line in subprocess.check_output(["nm", "-A", library], text=True).splitlines():
        found = re.match(r".*?:(\w+)\.c\.o:\s*[0-9a-f]*\s+(\w) (\S+)", line)
        assert found, f"nm says something else than it used to: {line}"
        place, kind, name = found.groups()
        if kind in "TDBRC":
            home[name] = place
        elif kind == "U":
            uses.append((place, name))
    return home, uses


def text(file: str) -> str:
    """A file of the core, without its comments."""
    return re.sub(r"/\*.*?\*/", "", (CORE / file).read_text(), flags=re.DOTALL)


def included(file: str) -> set[str]:
    """A file and all of ours that it includes, by whatever way."""
    found = {file}
    for name in re.findall(r'#include "(.*)"', text(file)):
        found |= included(name)
    return found


def main() -> None:
    """Fail with what is wrong, if anything is."""
    files = sorted(path.stem for path in CORE.glob("*.c"))
    assert files == sorted(ORDER), f"files of the core that have no place in the order: {set(files) ^ set(ORDER)}"
    home, uses = symbols(sys.argv[1])
    wrong = [
        f"{place}.c calls {name} of {home[name]}.c, which is above it"
        for place, name in uses
        if place in ORDER and name in home and (home[name] not in ORDER or ORDER.index(home[name]) > ORDER.index(place))
    ]
    for name in ALONE:
        for file in included(f"{name}.c"):
            found = re.search(r"stdatomic|_Atomic|__atomic_|__sync_|\b(?:peers|ring|shared)\.h", text(file))
            if found:
                wrong.append(f"{name}.c belongs to a worker by itself, and {file} has {found[0]}")
    assert len(uses) > 100, "there is nothing to see in that library"
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    main()
