"""A program and the one that it was before, run in turns, and the lines that changed between them."""

import difflib
import inspect
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Train = Callable[..., Any]


def show(before: Train, after: Train, turns: int, kept: Train | None = None, **settings: Any) -> None:
    """Print what changed, and how long both take: each turn as it comes, and the medians of all but the first.

    `kept` is the last of what the program after imports from the one before.
    """
    print("\n".join(changes(before, after, kept)))
    seconds: dict[Train, list[float]] = {before: [], after: []}
    print(f"each runs {turns + 1} times, in turns; before and after take:", file=sys.stderr)
    for turn in range(turns + 1):
        for train, its in seconds.items():
            began = time.perf_counter()
            train(**settings)
            its.append(time.perf_counter() - began)
        which = f"turn {turn} of {turns}" if turn else "a first turn, which does not count"
        print(f"{which}: {', '.join(f'{each[-1]:.2f} s' for each in seconds.values())}", file=sys.stderr)
    old, new = (statistics.median(each[1:]) for each in seconds.values())
    print(f"before {old:.2f} s, after {new:.2f} s: {old / new:.2f} times as fast, medians of {turns}")


def changes(before: Train, after: Train, kept: Train | None = None) -> list[str]:
    """The lines that changed from one file to the other, and last how many."""
    old, new = _program(before, kept), _program(after, None)
    lines = [*difflib.unified_diff(old, new, "before", "after", n=0, lineterm="")][2:]
    gone, come = (sum(line.startswith(sign) for line in lines) for sign in "-+")
    return [*lines, f"{len(old) - gone} lines stay, {gone} go, {come} come"]


def _program(train: Train, kept: Train | None) -> list[str]:
    """The lines of a file that are the program: after its docstring, or after `kept`, up to the end of the function."""
    text = Path(inspect.getfile(train)).read_text()
    first = inspect.getsource(kept) if kept else '"""\n'
    last = inspect.getsource(train)
    program = text[text.index(first) + len(first) : text.index(last) + len(last)]
    return [line for line in program.splitlines() if line.strip()]
