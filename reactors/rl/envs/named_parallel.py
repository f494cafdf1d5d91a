"""Which PettingZoo environment does a name mean?

An id of its registry, or one that a module registers; a module that has `parallel_env`, by any of the names that such
packages give it; or a class or function of a module or file.
"""

from __future__ import annotations

import pkgutil
import re
from functools import partial
from importlib.machinery import FileFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from reactors.errors import ParameterError
from reactors.lowlevel import closest, did_you_mean
from reactors.rl.envs.named import Registry, attribute, imported, module_of, named, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _entries() -> Mapping[str, Any]:
    import pettingzoo

    found: Mapping[str, Any] = {**pettingzoo.aec_registry, **pettingzoo.parallel_registry}
    return found


_PETTINGZOO = Registry(
    _entries, "pettingzoo.parallel_registry and pettingzoo.aec_registry have all that are registered"
)


def named_parallel(name: str, path: str) -> Callable[..., Any]:
    """A function that makes the parallel environment of this name; `ParameterError` says why there is none.

    >>> named_parallel("pettingzoo.classic.rps_v2", "main.env").args
    ('parallel', 'classic/rps_v2')
    """
    for each in (name, name.replace(".", "/").removeprefix("pettingzoo/")):  # whose modules only warn of being old
        if _unregistered(each) is None:
            return _by_id(each)
    place, colon, what = name.rpartition(":")
    if colon and not (place and what):
        named(name, path)  # which refuses it
    if colon:
        module = module_of(place, name, path)
        if _unregistered(what) is None:
            return _by_id(what)
    else:
        place, _, what = name.replace("/", ".").rpartition(".")
        if not place or spec_of(place) is None:
            raise ParameterError(f"{path}: PettingZoo has no environment {name!r}; {_meant(name, _unregistered(name))}")
        module = imported(place, None, f"{path}: the environment {name!r} cannot be looked up")
    if spec_of(f"{module.__name__}.{what}") is not None:
        inner = f"{module.__name__}.{what}"
        return _of_module(imported(inner, None, f"{path}: the environment {name!r} cannot be looked up"), path)
    found = attribute(module, what) if colon else None
    if isinstance(found, ModuleType):
        return _of_module(found, path)
    if colon and found is not None:
        made: Callable[..., Any] = named(name, path, _PETTINGZOO)
        return made
    inside = [each.name for each in pkgutil.iter_modules(getattr(module, "__path__", ())) if "_v" in each.name]
    if not inside and colon:
        named(name, path, _PETTINGZOO)  # which says what there is
    raise ParameterError(f"{path}: {place} has no environment {what!r}{did_you_mean(what, inside)}")


def _by_id(name: str) -> Callable[..., Any]:
    import pettingzoo

    return partial(pettingzoo.make, "parallel", name)


def _unregistered(name: str) -> Exception | None:
    """What PettingZoo says of an id that it has not; None, if it has it."""
    import pettingzoo

    try:
        pettingzoo.spec("parallel", name)
    except Exception as error:  # noqa: BLE001 - it has an error of its own for each part of an id
        return error
    return None


def _of_module(module: ModuleType, path: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = getattr(module, "parallel_env", None)
    if found is None:
        raise ParameterError(f"{path}: {module.__name__} has no parallel_env")
    return found


def _meant(name: str, error: Exception | None) -> str:
    """What may be meant by an id that there is not; agents may also take turns in what is meant."""
    said = str(error)
    if "Available version" in said:
        return said
    ids = {each.replace("-v", "_v"): each for each in _entries()}
    package = name.replace("/", ".").partition(".")[0]
    if package == name:
        ids = {each.partition("/")[2]: full for each, full in ids.items()} | _modules()
    if near := closest(name.replace("-v", "_v"), ids):
        return f"did you mean {ids[near]!r}?"
    if package == name or any(each.startswith(f"{package}/") for each in ids):
        return _PETTINGZOO.remedy
    modules = [each.name for each in pkgutil.iter_modules()]
    remedy = did_you_mean(package, modules) or "; install the package that has it"
    return f"Python finds no module {package!r}{remedy}"


def _modules() -> dict[str, str]:
    """Modules named as those with environments are, directly in packages that Python finds, none of them imported."""
    return {
        inner.name: f"{outer.name}:{inner.name}"
        for outer in pkgutil.iter_modules()
        if outer.ispkg and isinstance(outer.module_finder, FileFinder)
        for inner in pkgutil.iter_modules([str(Path(outer.module_finder.path) / outer.name)])
        if re.search(r"_v\d+$", inner.name)
    }
