"""How is a file of settings written? Python reads TOML, and writes none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def document(settings: Mapping[str, Any]) -> str:
    """A document of plain settings, in which those that are dicts are tables at its end; what is None is left out.

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
    tables = [f"[{_key(name)}]\n{_lines(value)}" for name, value in said.items() if isinstance(value, dict) and value]
    return "\n".join([_lines(plain), *tables])


def _lines(settings: Mapping[str, Any]) -> str:
    return "".join(f"{_key(name)} = {_spelled(value)}\n" for name, value in settings.items() if value is not None)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(name)} = {_spelled(each)}' for name, each in value.items())}}}"
    return json.dumps(str(value))
