"""What does a journal say of the program that ran, so that two of them can be held against each other?"""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from types import CodeType
from typing import TYPE_CHECKING, Any

from reactors.code.chains import named, within
from reactors.code.functions import own_code
from reactors.journals.journal import FORMAT
from reactors.reports.trace_header import header as of_trace
from reactors_runtime.settings.numeric_environment import given

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reactors.graph import Graph
    from reactors.model.reactor import Reactor
    from reactors_runtime.planning.image import Image

_PACKAGES = ("reactors", "numpy", "torch", "gymnasium")
_PLAIN = (bool, int, float, str, type(None))
_LONGEST = 200  # letters of a parameter


def header(graph: Graph, image: Image, seed: int, backend: str) -> dict[str, Any]:
    """What a trace says, and of each reaction its code, of each reactor its plain attributes, and versions."""
    said = of_trace(graph, image, seed, backend)
    for reaction, declared, row in zip(said["reactions"], graph.declarations, graph.program.reactions, strict=True):
        reaction["number"], reaction["name"] = row.number, row.name
        function = own_code(declared.body)
        if function is not None:
            code = function.__code__
            reaction |= {"file": code.co_filename, "line": code.co_firstlineno, "code": _fingerprint(code)}
            reaction["names"] = named(function, type(graph.reactors[row.reactor]))
    return {
        **said,
        "format": FORMAT,
        "states": image.options.states,
        "versions": {
            "python": platform.python_version(),
            **_versions(),
            "processor": _processor(),
            "OMP_NUM_THREADS": given().get("OMP_NUM_THREADS"),
            "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED"),
        },
        "parameters": {reactor.path: parameters(reactor) for reactor in graph.reactors},
    }


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def parameters(reactor: Reactor) -> dict[str, str]:
    """The attributes that a reactor begins with, as far as they are numbers and texts, tuples or dataclasses of them.

    >>> from dataclasses import dataclass
    >>> import reactors as rx
    >>> @dataclass
    ... class Settings:
    ...     rate: float = 0.1
    >>> class Learner(rx.Reactor):
    ...     def __init__(self):
    ...         self.settings, self.steps = Settings(), 5
    >>> parameters(Learner())
    {'settings.rate': '0.1', 'steps': '5'}
    """
    return dict(_plain(sorted(vars(reactor).items()), ""))


def _plain(attributes: Iterable[tuple[str, Any]], of: str) -> Iterator[tuple[str, str]]:
    for name, value in attributes:
        if name.startswith("_"):
            continue
        if isinstance(value, _PLAIN) or (type(value) is tuple and all(isinstance(each, _PLAIN) for each in value)):
            yield of + name, repr(value)[:_LONGEST]
        elif is_dataclass(value) and not isinstance(value, type):
            yield from _plain(((field.name, getattr(value, field.name)) for field in fields(value)), f"{of}{name}.")


def _fingerprint(code: CodeType) -> str:
    """The same for the same code, on whatever lines of whatever file it stands."""
    found = hashlib.blake2b(digest_size=8)
    for each in within(code):
        constants = [repr(constant) for constant in each.co_consts if not isinstance(constant, CodeType | frozenset)]
        found.update(repr((each.co_code, constants, each.co_names, each.co_varnames, each.co_freevars)).encode())
    return found.hexdigest()
