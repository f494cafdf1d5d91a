"""How are the parameters of a reactor class given on the command line?

Each parameter of `__init__` becomes an option of the same name. Its type is the annotation or else that of the default;
where neither says anything that click knows, the text is read as a Python literal, or taken as it is.
"""

from __future__ import annotations

import ast
import enum
import inspect
import types
import typing
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.command.values import WHOLE, OneOf

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from reactors.model.reactor import Reactor

_PLAIN: dict[Any, Any] = {int: WHOLE, float: float, str: str, Path: click.Path(path_type=Path)}


def options_of(kind: type[Reactor], taken: Collection[str]) -> list[click.Option]:
    """An option for each parameter; one in `taken` gets the name of the class before it.

    >>> import reactors as rx
    >>> class Train(rx.Reactor):
    ...     def __init__(self, actors: int, seed=0, env_id="Taxi-v4"): ...
    >>> [option.opts[0] for option in options_of(Train, ["--seed"])]
    ['--actors', '--train-seed', '--env-id']
    """
    hints = _hints(kind)
    found = []
    for parameter in _parameters(kind):
        flag = parameter.name.strip("_").replace("_", "-").lower()
        if f"--{flag}" in taken:
            flag = f"{kind.__name__.lower()}-{flag}"
        found.append(_option(parameter, flag, hints.get(parameter.name, parameter.empty)))
    return found


def arguments(kind: type[Reactor], values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """What to call the class with, given the values of those options that were given."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in _parameters(kind):
        if _PREFIX + parameter.name in values:
            value = values[_PREFIX + parameter.name]
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[parameter.name] = value
    return positional, named


_PREFIX = "parameter_"  # which sets them apart from options of a command


def _parameters(kind: type[Reactor]) -> list[Parameter]:
    if kind.__init__ is object.__init__:
        return []
    _, *parameters = inspect.signature(kind.__init__).parameters.values()
    return [p for p in parameters if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]


def _hints(kind: type[Reactor]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind.__init__)
    except Exception:  # noqa: BLE001 - annotations may name anything
        return {}


def _option(parameter: Parameter, flag: str, hint: Any) -> click.Option:
    name, default = _PREFIX + parameter.name, parameter.default
    required = default is parameter.empty
    if hint in (parameter.empty, Any) and not required:
        hint = type(default)
    hint = _without_none(hint)
    if hint is bool:
        flag = f"{flag}/--no-{flag}"
    if required:
        return click.Option([f"--{flag}", name], required=True, **reading(hint))
    shown = default.name if isinstance(default, enum.Enum) else default
    return click.Option([f"--{flag}", name], default=None, help=f"default: {shown}", **reading(hint))


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    some = [item for item in typing.get_args(hint) if item is not type(None)]
    return some[0] if len(some) == 1 else hint


def reading(hint: Any) -> dict[str, Any]:
    """What tells click how to read a value of this type."""
    items = typing.get_args(hint)
    if hint is bool:
        return {}
    if isinstance(hint, type) and hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if typing.get_origin(hint) is tuple and items and all(item in _PLAIN for item in items):
        return {"type": tuple(_PLAIN[item] for item in items)}
    if typing.get_origin(hint) is typing.Literal and all(isinstance(item, str) for item in items):
        return {"type": OneOf(items)}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        members = dict(hint.__members__)
        return {"type": OneOf([*members]), "callback": lambda _ctx, _option, value: members.get(value)}
    return {"type": _literal, "metavar": "VALUE"}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
