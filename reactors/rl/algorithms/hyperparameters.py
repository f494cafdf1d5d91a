"""What may the hyperparameters of an algorithm be?

Their types say so: `gamma: Share = 0.99` is a number from 0 to 1. A subclass that has another default keeps the bounds,
whether it says them again or not; what has no bounds is checked for its type.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin

from reactors.errors import ArgumentError
from reactors.rl.synonyms import ARGUMENTS_OF_TRAIN, no_hyperparameter, spelled

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True)
class Range:
    """Numbers from `least` to `most`; `above` and `below` leave the ends out.

    >>> Range(0, 1).words, Range(0, above=True).words, Range(1).words
    ('from 0 to 1', 'above 0', '1 or more')
    """

    least: float
    most: float = math.inf
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        return (value > self.least if self.above else value >= self.least) and (
            value < self.most if self.below else value <= self.most
        )

    @property
    def words(self) -> str:
        """As the end of a sentence."""
        if math.isinf(self.most):
            return f"above {self.least:g}" if self.above else f"{self.least:g} or more"
        if not self.above and not self.below:
            return f"from {self.least:g} to {self.most:g}"
        return f"{'above' if self.above else 'from'} {self.least:g}, {'below' if self.below else 'up to'} {self.most:g}"


Count: TypeAlias = Annotated[int, Range(1)]
Natural: TypeAlias = Annotated[int, Range(0)]
Positive: TypeAlias = Annotated[float, Range(0, above=True)]
NotNegative: TypeAlias = Annotated[float, Range(0)]
Share: TypeAlias = Annotated[float, Range(0, 1)]
Rate: TypeAlias = Annotated[float, Range(0, 1, above=True)]
Decay: TypeAlias = Annotated[float, Range(0, 1, below=True)]
Layers: TypeAlias = tuple[Count, ...]


def check(hyperparameters: object) -> None:
    """Refuse a value that its field does not take; `ArgumentError` says which, and what it takes.

    >>> from reactors import rl
    >>> rl.PPO(gamma=2)
    Traceback (most recent call last):
    reactors.errors.ArgumentError: gamma of PPO is 2; write a number from 0 to 1
    """
    kind: type[Any] = type(hyperparameters)
    hints = _hints(kind)  # type: ignore[arg-type]
    for field in fields(kind):
        value, hint = getattr(hyperparameters, field.name), hints[field.name]
        if not _takes(hint, value):
            listed = isinstance(value, list) and _takes(hint, tuple(value))
            wanted = f"a tuple: {tuple(value)!r}" if listed else _words(hint)
            raise ArgumentError(f"{field.name} of {kind.__name__} is {value!r}; write {wanted}")


def check_call(kind: type[Any], positional: tuple[Any, ...], named: Collection[str]) -> None:
    """Refuse what `kind(*positional, **named)` has no hyperparameters for; `ArgumentError` says what is meant."""
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
                raise ArgumentError(no_hyperparameter(name, kind.__name__, [*parameters], ARGUMENTS_OF_TRAIN))


class Signature:
    """What a class says that it is called with: the arguments of `__init__`, although it has a `__new__`."""

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        return inspect.Signature([*_parameters(owner).values()])


def _parameters(kind: type[Any]) -> dict[str, inspect.Parameter]:
    _, *parameters = inspect.signature(kind.__init__).parameters.items()
    return dict(parameters)


@cache
def _check_class(kind: type[Any]) -> None:
    """Refuse a class whose hyperparameters would be ignored, or that does not say what it is."""
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
    """The type of every field, with the nearest bounds that a class or one of its bases says for it."""
    found: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        own = inspect.get_annotations(each)
        try:
            hints = typing.get_type_hints(each, include_extras=True) if own else {}
        except NameError:  # of a type that only type checkers import
            hints = {}
        for name in own:
            if name not in found or _bounded(hints.get(name)):
                found[name] = hints.get(name)
    return found


def _bounded(hint: Any) -> bool:
    return get_origin(hint) is Annotated or any(_bounded(part) for part in get_args(hint))


def _takes(hint: Any, value: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _takes(parts[0], value) and all(value in bounds for bounds in parts[1:] if isinstance(bounds, Range))
    if origin in {types.UnionType, typing.Union}:
        return any(_takes(part, value) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and all(_takes(parts[0], part) for part in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is bool:
        return isinstance(value, bool)
    if hint is types.NoneType:
        return value is None
    return True  # it is for those who use it to say


def _words(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = " and ".join(each.words for each in parts[1:] if isinstance(each, Range))
        return f"{_words(parts[0])}{',' if parts[0] is int else ''} {bounds}"
    if origin in {types.UnionType, typing.Union}:
        return " or ".join(_words(part) for part in parts)
    if origin is tuple:
        return f"a tuple, each of it {_words(parts[0])}"
    known: dict[Any, str] = {float: "a number", int: "a whole number", bool: "True or False", types.NoneType: "None"}
    return known.get(hint, f"a {getattr(hint, '__name__', hint)}")
