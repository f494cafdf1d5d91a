"""How is a file of settings written? Python reads TOML, and writes none."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping


def document(settings: Mapping[str, Any]) -> str:
    """A document of plain settings, in which those that are dicts are tables at its end; what is None is left out.

    In a table nothing is: `ArgumentError` for what TOML cannot hold there, which has no null.

    >>> print(document({"env": "CartPole-v1", "hyperparameters": {"hidden": [64, 64], "gamma": 0.9}, "lag": None}))
    env = "CartPole-v1"
    <BLANKLINE>
    [hyperparameters]
    hidden = [64, 64]
    gamma = 0.9
    <BLANKLINE>
    """
    said = {name: value for name, value in settings.items() if value is not None}
    plain = {name: value for name, value in said.items() if not isinstance(value, dict)}
    tables = [
        f"[{_key(name)}]\n{_lines(value, f'{name}.')}"
        for name, value in said.items()
        if isinstance(value, dict) and value
    ]
    return "\n".join([_lines(plain, ""), *tables])


def _lines(settings: Mapping[str, Any], of: str) -> str:
    return "".join(f"{_key(name)} = {_spelled(value, f'{of}{name}')}\n" for name, value in settings.items())


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def _spelled(value: Any, path: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_spelled(each, f'{path}[{i}]') for i, each in enumerate(value))}]"
    if isinstance(value, dict):
        parts = [f"{_key(name)} = {_spelled(each, f'{path}.{name}')}" for name, each in value.items()]
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, str | PurePath):
        return json.dumps(str(value))
    raise ArgumentError(f"{path} is {value!r}, which a TOML file cannot hold; leave it out, or write no file")
