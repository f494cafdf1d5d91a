"""A program and the one that it was before, run in turns, and the lines that changed between their files."""

import difflib
import inspect
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Train = Callable[..., Any]


def show(before: Train, after: Train, turns: int, **settings: Any) -> None:
    """Print what changed, and how long both took: medians, after a first turn that is not counted."""
    print(changes(before, after))
    seconds: dict[Train, list[float]] = {before: [], after: []}
    for _ in range(turns + 1):
        for train, its in seconds.items():
            began = time.perf_counter()
            train(**settings)
            its.append(time.perf_counter() - began)
    old, new = (statistics.median(each[1:]) for each in seconds.values())
    print(f"before {old:.2f} s, after {new:.2f} s: {old / new:.2f} times as fast, medians of {turns}")


def changes(before: Train, after: Train) -> str:
    """The lines that changed between the files of two functions, and how many did; docstrings and `main` count not."""
    old, new = (_program(each) for each in (before, after))
    lines = [
        line
        for line in difflib.unified_diff(old, new, "before", "after", n=1, lineterm="")
        if line.strip(" +-")
    ]
    gone, come = (sum(line.startswith(sign) and line[:3] != sign * 3 for line in lines) for sign in "-+")
    kept = len([line for line in new if line.strip()]) - come
    return "\n".join([*lines, "", f"{kept} lines stay, {gone} go, {come} come"])


def _program(train: Train) -> list[str]:
    """From after the docstring to the end of the function."""
    text = Path(inspect.getfile(train)).read_text()
    text = text.split('"""\n', 2)[2] if text.startswith('"""') else text
    end = text.index(function := inspect.getsource(train)) + len(function)
    return text[:end].splitlines()
