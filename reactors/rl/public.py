"""What does a call of a public function say about arguments that it does not take?

Python's own messages name `__init__`, and make no suggestions before CPython 3.13. Here a failed call is examined
again, so that a correct one costs no more than a `try`.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from reactors.errors import ArgumentError
from reactors.rl.synonyms import no_argument, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    T = TypeVar("T", bound=Callable[..., Any])


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def public(name: str) -> Callable[[T], T]:
    """Decorate a class or a function that users know as `name`: an `ArgumentError` says which arguments it takes.

    >>> @public("rl.measure")
    ... def measure(env, *, seconds=1.0): ...
    >>> measure("CartPole-v1", secods=2)
    Traceback (most recent call last):
    reactors.errors.ArgumentError: rl.measure has no argument 'secods'; did you mean 'seconds'?
    """

    def decorated(thing: Any) -> Any:
        if not inspect.isclass(thing):
            return _explained(thing, name, 0)
        kind: Any = thing
        kind.__init__ = _explained(inspect.unwrap(kind.__init__), name, 1)
        return kind

    return decorated


def _explained(function: Any, name: str, own: int) -> Any:
    """The function, with errors that explain wrong arguments; the first `own` arguments are its self."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # nothing of it has run
                _refuse(name, function, own, args[own:], kwargs)
            raise

    return called


def _refuse(name: str, function: Any, own: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> NoReturn:
    parameters = [*inspect.signature(function).parameters.values()][own:]
    known = [each.name for each in parameters if each.kind in _NAMED]
    by_position = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    taken = [each.name for each in by_position][: len(args)]
    others = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for given in kwargs:
        if given not in known and not others:
            algorithm = next((value for each, value in zip(taken, args, strict=False) if each == "algorithm"), None)
            raise ArgumentError(unknown(name, given, known, kwargs.get("algorithm", algorithm))) from None
        if given in taken:
            raise ArgumentError(f"{name} is given {given} twice, by position and by name; leave one out") from None
    if len(args) > len(by_position):
        rest = ", ".join(f"{each}=" for each in known if each not in taken)
        raise ArgumentError(
            f"{name} takes {_listed([each.name for each in by_position])} by position, and is given {len(args)} "
            f"arguments so; {f'name the others: {rest}' if rest else 'there are no others'}"
        ) from None
    missing = [each.name for each in parameters if _needed(each) and each.name not in (*taken, *kwargs)]
    required = ", ".join(_written(each) for each in parameters if _needed(each))
    raise ArgumentError(f"{name} is called without {_listed(missing)}; write {name}({required})") from None


def unknown(name: str, given: str, known: list[str], algorithm: object = None) -> str:
    """The message for an argument that `name` does not have; it may be a hyperparameter of its algorithm."""
    said = f"{name} has no argument {given!r}"
    if not is_dataclass(algorithm) or isinstance(algorithm, type):
        return no_argument(said, given, known)
    found = [field.name for field in fields(algorithm) if field.init]
    return no_argument(said, given, known, spelled(type(algorithm)) + "({}=...)", found)


def refuse_passed_on(
    name: str, kind: Any, kwargs: Mapping[str, Any], error: BaseException | None, also: Iterable[str] = ()
) -> None:
    """Refuse a keyword argument that `kind` passed on to an environment that, by this `error`, has none either.

    `also` are names that it takes besides those in its signature.
    """
    found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if isinstance(error, TypeError) and found is not None and found[1] in kwargs:
        own = [*inspect.signature(kind.__init__).parameters.values()][1:]
        known = [*(each.name for each in own if each.kind in _NAMED), *also]
        said = f"{name} has no argument {found[1]!r}, so it went to the environment, which has none either ({error})"
        raise ArgumentError(no_argument(said, found[1], known)) from error


def _needed(parameter: inspect.Parameter) -> bool:
    variadic = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and parameter.kind not in variadic


def _written(parameter: inspect.Parameter) -> str:
    return f"{parameter.name}=..." if parameter.kind is parameter.KEYWORD_ONLY else parameter.name


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "nothing"
