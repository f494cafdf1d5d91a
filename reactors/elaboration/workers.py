"""How many workers are there, what are they, and where are they?"""

from __future__ import annotations

import os
from typing import Literal, Protocol, TypeAlias, get_args

from reactors.errors import ArgumentError
from reactors_runtime._core import lib
from reactors_runtime.suggestions import did_you_mean

MOST: int = lib.RX_MOST_WORKERS

Backend: TypeAlias = Literal["auto", "inline", "thread", "process"]

Workers: TypeAlias = "int | Literal['auto']"

Pin: TypeAlias = "bool | Literal['auto']"

BACKENDS: tuple[Backend, ...] = get_args(Backend)


class Spread(Protocol):
    """`rx.Machines`: says how many of the workers run on this machine."""

    def here(self, workers: int) -> int:
        """Of so many."""
        ...


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


def check_pin(pin: object, workers: int, of: str, machines: Spread | None = None) -> None:
    """Refuse what says nothing about cores, and workers on this machine that cannot have one each."""
    if not isinstance(pin, bool) and pin != "auto":
        raise ArgumentError(f"pin of {of} is {pin!r}; write True, False or 'auto'")
    cores = len(os.sched_getaffinity(0))
    workers = workers if machines is None else machines.here(workers)
    if pin is True and workers > cores:
        raise ArgumentError(
            f"pin=True of {of} gives each worker a core of its own, and there are {workers} workers and "
            f"{cores} core{'s' * (cores != 1)} that this process may use; take fewer workers, or leave pin out"
        )


def where_to_run(workers: object, backend: object, of: str) -> int:
    """How many workers; what is no backend is refused, too."""
    if backend not in BACKENDS:
        near = did_you_mean(backend, BACKENDS) if isinstance(backend, str) else ""
        raise ArgumentError(f"backend of {of} is {backend!r}; write one of {', '.join(map(repr, BACKENDS))}{near}")
    return counted(workers, of)
