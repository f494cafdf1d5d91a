"""How many workers are there, and what are they?"""

from __future__ import annotations

import os
from typing import Literal, TypeAlias, get_args

from reactors.errors import ArgumentError
from reactors_runtime._core import lib
from reactors_runtime.suggestions import did_you_mean

MOST: int = lib.RX_MOST_WORKERS

Backend: TypeAlias = Literal["auto", "inline", "thread", "process"]

Workers: TypeAlias = "int | Literal['auto']"

BACKENDS: tuple[Backend, ...] = get_args(Backend)


def counted(given: object, of: str) -> int:
    """How many workers that is; `of` is what was given it. "auto" is one for each core that this process may use.

    >>> counted(3, "rx.run")
    3
    """
    if given == "auto":
        return min(len(os.sched_getaffinity(0)), MOST)
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError(
            f"workers of {of} is {given!r}; write a whole number, 1 or more, or workers='auto' for all cores"
        )
    if given > MOST:
        raise ArgumentError(f"workers of {of} is {given}; there can be {MOST} at most")
    return given


def where_to_run(workers: object, backend: object, of: str) -> int:
    """How many workers; what is no backend is refused, too."""
    if backend not in BACKENDS:
        near = did_you_mean(backend, BACKENDS) if isinstance(backend, str) else ""
        raise ArgumentError(f"backend of {of} is {backend!r}; write one of {', '.join(map(repr, BACKENDS))}{near}")
    return counted(workers, of)
