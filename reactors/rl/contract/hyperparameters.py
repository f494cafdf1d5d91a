"""Which values can the hyperparameters of an algorithm have?

Their types say so: `gamma: Share = 0.99` is a number from 0 to 1. A subclass with another default keeps the bounds,
whether it repeats them or not; fields without bounds are checked for their type.
"""

from __future__ import annotations

import inspect
import typing
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError
from reactors.rl.bounded import accepts, bounded, words
from reactors.rl.options import ARGUMENTS
from reactors.rl.synonyms import no_hyperparameter, spelled

if TYPE_CHECKING:
    from collections.abc import Collection


def check(hyperparameters: object) -> None:
    """Refuse a value that its field does not take; the `ArgumentError` says which one, and what it takes.

    >>> from reactors import rl
    >>> rl.PPO(gamma=2)
    Traceback (most recent call last):
    reactors.errors.ArgumentError: gamma of PPO is 2; write a number from 0 to 1
    """
    kind: type[Any] = type(hyperparameters)
    hints = _hints(kind)  # type: ignore[arg-type]
    for field in fields(kind):
        value, hint = getattr(hyperparameters, field.name), hints[field.name]
        if not accepts(hint, value):
            listed = isinstance(value, list) and accepts(hint, tuple(value))
            wanted = f"a tuple: {tuple(value)!r}" if listed else words(hint)
            raise ArgumentError(f"{field.name} of {kind.__name__} is {value!r}; write {wanted}")


def check_call(kind: type[Any], positional: tuple[Any, ...], named: Collection[str]) -> None:
    """Refuse arguments of `kind(...)` that are no hyperparameters; the `ArgumentError` says what may be meant."""
    _check_class(kind)  # type: ignore[arg-type]
    parameters = _parameters(kind)
    kinds = {each.kind for each in parameters.values()}
    if positional and kinds <= {inspect.Parameter.KEYWORD_ONLY}:
        raise ArgumentError(
            f"{kind.__name__} takes hyperparameters, by name, and was given {', '.join(map(repr, positional))}; the "
            "network follows from the observations, and the environment is given to rl.train: "
            f'rl.train({spelled(kind)}(), "CartPole-v1", total_steps=...)'
        )
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in named:
            if name not in parameters:
                arguments = {each: f"rl.train(..., {each}=...)" for each in ARGUMENTS}
                raise ArgumentError(no_hyperparameter(name, kind.__name__, [*parameters], arguments, kind.without))


class Signature:
    """The signature of a class: the arguments of `__init__`, although the class has a `__new__`."""

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        return inspect.Signature([*_parameters(owner).values()])


def _parameters(kind: type[Any]) -> dict[str, inspect.Parameter]:
    _, *parameters = inspect.signature(kind.__init__).parameters.items()
    return dict(parameters)


@cache
def _check_class(kind: type[Any]) -> None:
    """Refuse a class whose hyperparameters would be ignored, or that lacks its name or kind."""
    known = {field.name for field in fields(kind)}
    for each in kind.__mro__:
        if not is_dataclass(each):
            continue
        own = inspect.get_annotations(each)
        undecorated = "__dataclass_params__" not in vars(each)
        if undecorated and (new := [name for name, hint in own.items() if "ClassVar" not in str(hint)]):
            raise ArgumentError(
                f"{each.__name__} has hyperparameters ({', '.join(new)}), but is no dataclass, so that they would be "
                f"ignored; write @dataclass(frozen=True, kw_only=True) above class {each.__name__}"
            )
        said = {name for base in each.__mro__ for name in inspect.get_annotations(base)}
        for name, value in vars(each).items():
            plain = name not in said and not name.startswith("_") and isinstance(value, int | float | str | tuple)
            if name not in own and (name in known or plain):
                raise ArgumentError(
                    f"{name} of {each.__name__} has no type, so that it would be ignored; write it as in "
                    f"{name}: float = ..., below @dataclass(frozen=True, kw_only=True)"
                )
    for name, example in (("name", f'ClassVar[str] = "{kind.__name__}"'), ("on_policy", "ClassVar[bool] = True")):
        if not hasattr(kind, name) and name not in known and not inspect.isabstract(kind):
            raise ArgumentError(f"{kind.__name__} does not say its {name}; write {name}: {example} in the class")


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """The type of every field, with the nearest bounds that a class or one of its bases declares for it."""
    found: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        own = inspect.get_annotations(each)
        try:
            hints = typing.get_type_hints(each, include_extras=True) if own else {}
        except NameError:  # a type that only type checkers import
            hints = {}
        for name in own:
            if name not in found or bounded(hints.get(name)):
                found[name] = hints.get(name)
    return found
