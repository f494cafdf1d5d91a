"""The same as `tests.oracle.ways.trace`, but without the reference, for what the reference lacks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import reactors as rx
from tests.oracle.ways import WAYS, Trace, logs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def trace_alone(program: Callable[[], Any], *, ways: Sequence[Any] = WAYS, **options: Any) -> Trace:
    """What each reactor of a program noted, those that noted nothing left out: the same wherever it runs."""
    found: list[tuple[Trace, str]] = []
    for way in ways:
        main = program()
        paths = [reactor.path for reactor in rx.Graph(main).reactors]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rx.ReactorWarning)
            result = way.run(main, paths, **options)
        logs = {path: log for path, log in logs_of(main, paths).items() if log}
        found.append((logs, result.digest))
        assert found[-1] == found[0], f"{way} differs from {ways[0]}"
    return found[0][0]
