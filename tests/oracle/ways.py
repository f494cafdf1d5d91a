"""Where does a test program run? On the reference, in this thread, on threads and in processes; and all agree.

`trace(program)` is for programs written by hand: functions that take `rx` (the reference, or the real thing) and return
the reactor to run. Their bodies write down what is to be compared with `note`.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import reactors as rx
from tests import reference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Trace = dict[str, list[Any]]


@dataclass(frozen=True)
class Way:
    """A way to run a program: where, and its reactors placed by rule ("auto"), in turn, or by throwing dice."""

    backend: Literal["inline", "thread", "process"] = "inline"
    workers: int = 1
    fast: bool = True
    placed: int | Literal["auto", "in turn", "together"] = "auto"
    debug: bool = False

    def placement(self, paths: list[str]) -> dict[str, int] | Literal["auto"]:
        if self.placed == "auto":
            return "auto"
        if self.placed == "together":
            return dict.fromkeys(paths, self.workers - 1)
        if self.placed == "in turn":
            return {path: k % self.workers for k, path in enumerate(paths)}
        dice = random.Random(self.placed)
        return {path: dice.randrange(self.workers) for path in paths}

    def run(self, main: Any, paths: list[str], **options: Any) -> Any:
        fast = self.fast and options.get("clock") is None
        return rx.run(
            main, workers=self.workers, backend=self.backend, fast=fast, debug=self.debug,
            placement=self.placement(paths), **options,
        )  # fmt: skip


def paths_of(main: Any) -> list[str]:
    """The paths of all reactors of a program that the reference made."""
    return [reactor.path for reactor in reference.reactors(main)]


def logs_of(main: Any, paths: list[str]) -> Trace:
    """What the reactors of a program wrote down."""
    return {path: getattr(eval(path, {"main": main}), "log", []) for path in paths}


def note(reactor: Any, *what: Any) -> None:
    """Append the tag and this to what the reactor has written down."""
    if "log" not in vars(reactor):
        reactor.log = []
    reactor.log.append((*reactor.tag, *what))


WAYS = [
    Way(),
    Way("thread", 2, placed="in turn"),
    Way("thread", 3, fast=False, placed="in turn"),
    Way("process", 2, placed="in turn"),
]


TOGETHER = [Way(), Way("thread", 2, placed="together"), Way("process", 2, placed="together")]


def trace(
    program: Callable[[Any], Any],
    *,
    clock: Callable[[Any, Any], Any] | None = None,
    ways: Sequence[Way] = WAYS,
    **options: Any,
) -> Trace:
    """What each reactor of a program noted, those that noted nothing left out: the same wherever it runs.

    `clock` makes a virtual clock for a program: it is given `rx` and what `program` returned. Where reactions sleep, it
    matters with whom a reactor shares a worker; then the ways are `TOGETHER`.
    """
    main = program(reference)
    expected = reference.run(main, clock=clock and clock(reference, main), **options)
    paths = paths_of(main)
    logs = logs_of(main, paths)
    for way in ways:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rx.ReactorWarning)
            real = program(rx)
            result = way.run(real, paths, clock=clock and clock(rx, real), **options)
        found = logs_of(real, paths)
        assert found == logs, f"{way}:\n  {found}\nand on the reference\n  {logs}"
        assert result.digest == expected.digest, f"{way}: the digest differs, though the logs agree"
    return {path: log for path, log in logs.items() if log}
