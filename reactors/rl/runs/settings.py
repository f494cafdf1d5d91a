"""Which algorithms are there, and what may be set of one, from a command line or a file?"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from reactors.errors import ArgumentError
from reactors.lowlevel import did_you_mean, script
from reactors.rl.contract.algorithm import Algorithm
from reactors.rl.options import ARGUMENTS
from reactors.rl.synonyms import no_hyperparameter

SCHEDULE = "total_steps"
"""The field of an algorithm that `Algorithm.scheduled` alone sets."""


def algorithms() -> dict[str, type[Algorithm]]:
    """All algorithms that `reactors.rl` exports, by their names in lower case.

    >>> algorithms()["ppo"].__name__
    'PPO'
    """
    rl = import_module("reactors.rl")
    found = {}
    for module, names in rl._ROOMS.items():
        if module.startswith("algorithms."):
            for name in names:
                kind = getattr(rl, name)
                if inspect.isclass(kind) and issubclass(kind, Algorithm) and not inspect.isabstract(kind):
                    found[name.lower()] = kind
    return dict(sorted(found.items()))


def algorithm_named(name: str) -> type[Algorithm]:
    """The algorithm of this name, in any case, or that of FILE:CLASS, which is imported.

    `ArgumentError` names what there is.
    """
    file, of_one_file = script.split(name)
    return _own(file, of_one_file, script.imported(file) or _import(file, of_one_file)) if of_one_file else _ours(name)


def algorithm_without_import(name: str, file: str | None) -> type[Algorithm]:
    """The algorithm of this name, of ours, or in a file if that is imported already.

    What is read from data is looked up by this: it leads to no code that the program does not have. `ArgumentError`
    if it is not there.
    """
    if file is None:
        return _ours(name)
    module = script.imported(Path(file))
    if module is None:
        raise ArgumentError(f"{name} is in {file}, which is not imported, and reading a folder imports nothing")
    return _own(Path(file), name, module)


def _ours(name: str) -> type[Algorithm]:
    known = algorithms()
    if name.lower() not in known:
        meant = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise ArgumentError(f"there is no algorithm {name!r}{meant}")
    return known[name.lower()]


def _import(file: Path, name: str) -> types.ModuleType:
    if not file.is_file():
        raise ArgumentError(f"there is no file {str(file)!r}, in which the algorithm {name} would be")
    return script.load(file)


def _own(file: Path, name: str, module: types.ModuleType) -> type[Algorithm]:
    own: dict[str, type[Algorithm]] = {n: kind for n, kind in vars(module).items() if _is_own(kind)}
    if name not in own:
        meant = did_you_mean(name, own) or f"; it has {', '.join(own) or 'none'}"
        raise ArgumentError(f"{file} has no algorithm {name!r}{meant}")
    return own[name]


def _is_own(thing: object) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Algorithm) and not thing.__module__.startswith("reactors.")


def file_of(kind: type[Algorithm]) -> str | None:
    """The file that has an algorithm which is none of ours; None for ours, and where there is no such file.

    >>> file_of(algorithms()["ppo"])
    """
    if not _is_own(kind) or kind.__name__ != kind.__qualname__:
        return None
    try:
        file = inspect.getsourcefile(kind)
    except (OSError, TypeError):
        return None
    return None if file is None or not Path(file).is_file() else str(Path(file).resolve())


def with_settings(kind: type[Algorithm], given: Mapping[str, Any], source: str = "--set") -> Algorithm:
    """The algorithm with these hyperparameters, given as text or as values; `ArgumentError` for what cannot be.

    >>> with_settings(algorithms()["ppo"], {"epochs": "4", "hidden": "32,32"}).hidden
    (32, 32)
    """
    hints = typing.get_type_hints(kind)
    known = [field.name for field in fields(kind) if field.init and field.name != SCHEDULE]
    values = {}
    for name, value in given.items():
        if name not in known:
            options = {each: option for each, option in ARGUMENTS.items() if option}
            raise ArgumentError(f"{source}: {no_hyperparameter(name, kind.__name__, known, options, kind.without)}")
        try:
            values[name] = coerced(value, hints[name])
        except (ValueError, TypeError):
            raise ArgumentError(
                f"{source}: {name} is {value!r}, but {kind.__name__} takes {spelled(hints[name])} there"
            ) from None
    return kind(**values)


def spelled(hint: Any) -> str:
    """What people write on a command line for a value of this type.

    >>> spelled(int | None), spelled(Literal["batch", "buffer"]), spelled(tuple[int, ...])
    ('a whole number or none', 'batch or buffer', 'whole numbers with commas, such as 64,64,')
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return " or ".join(map(spelled, parts))
    if origin is Literal:
        return " or ".join(map(str, parts))
    if origin is Mapping:
        return """a JSON object in quotes, as '{"good": ["agent_*"]}',"""
    if origin is tuple and parts[0] is int:
        return "whole numbers with commas, such as 64,64,"
    known: dict[Any, str] = {
        int: "a whole number", float: "a number", bool: "true or false", str: "text", types.NoneType: "none",
    }  # fmt: skip
    return known.get(hint, str(hint).replace("typing.", ""))


def coerced(value: Any, hint: Any) -> Any:
    """A value of this type, from text or from what JSON and TOML have. `ValueError` or `TypeError` if it is none.

    >>> coerced("1e-3", float), coerced(1, float), coerced("yes", bool), coerced([3, 4], tuple[int, ...])
    (0.001, 1.0, True, (3, 4))
    >>> coerced('{"good": ["agent_*"]}', Mapping[str, Any])
    {'good': ('agent_*',)}
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        if type(None) in parts and value in (None, "none", "None"):
            return None
        for part in parts:
            if part is not type(None):
                try:
                    return coerced(value, part)
                except (ValueError, TypeError):
                    continue
        raise ValueError(value)
    if origin is Literal:
        if value not in parts:
            raise ValueError(value)
        return value
    if origin is Mapping:
        table = json.loads(value) if isinstance(value, str) else value
        if not isinstance(table, Mapping):
            raise ValueError(value)
        return {name: tuple(part) if isinstance(part, list) else part for name, part in table.items()}
    if origin in {tuple, list}:
        words = (
            [word.strip() for word in value.strip("()[] ").split(",") if word.strip()]
            if isinstance(value, str)
            else value
        )
        each = [coerced(word, parts[0]) for word in words]
        return tuple(each) if origin is tuple else each
    return _single(value, hint)


def _single(value: Any, hint: Any) -> Any:
    if hint is bool:
        words = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        if isinstance(value, bool):
            return value
        if str(value).lower() not in words or not isinstance(value, str):
            raise ValueError(value)
        return words[value.lower()]
    if hint is int:
        if isinstance(value, str):
            return int(value.replace("_", ""))
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(value)
        return value
    if hint is float:
        if isinstance(value, bool):
            raise ValueError(value)
        return float(value)
    if hint is str or hint is Any:
        return value
    raise TypeError(f"{spelled(hint)} cannot be given as text")


def hyperparameters(algorithm: Algorithm) -> dict[str, Any]:
    """All of them, as JSON has them; what it has no word for, by its name."""
    return {field.name: plain(getattr(algorithm, field.name)) for field in fields(algorithm) if field.name != SCHEDULE}


def defaults(algorithm: Algorithm) -> dict[str, Any]:
    """Those of its hyperparameters, likewise."""
    return {field.name: plain(field.default) for field in fields(algorithm) if field.default is not MISSING}


def plain(value: Any) -> Any:
    """A value in words that JSON has."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Callable) and hasattr(value, "__qualname__"):  # type: ignore[arg-type]
        return f"{value.__module__}:{value.__qualname__}"
    return repr(value)
