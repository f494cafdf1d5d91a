"""Which environment does a name mean?

One that is registered, by its id; or, after a colon, an id, a class or a function of the module or file before it,
which is imported for that. A file is imported under its own name, with its folder on the path, so that worker processes
find it as well. What a name in a run's folder leads to is less: see `known`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym

from reactors.errors import ParameterError
from reactors.lowlevel import Location, definitions, did_you_mean, installed, script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Registry(NamedTuple):
    """Where ids of environments are registered: what there is, and what to say of an id that is none of them."""

    entries: Callable[[], Mapping[str, Any]]
    remedy: str


GYMNASIUM = Registry(
    lambda: gym.registry,
    "Atari's games are written atari:Pong, MinAtar's minatar:breakout, ids that a package registers module:Id, and a "
    "class of your own FILE:CLASS",
)


def named(name: str, path: str, registry: Registry = GYMNASIUM) -> Any:
    """What is registered under an id, or the class or function that a name means; `path` is for whom.

    `ParameterError` says what is missing, or what went wrong in an import.

    >>> named("CartPole-v1", "main.env").id
    'CartPole-v1'
    >>> named("gymnasium.envs.classic_control:CartPoleEnv", "main.env").__name__
    'CartPoleEnv'
    """
    place, colon, what = name.rpartition(":")
    ids = registry.entries()
    if not colon:
        if name not in ids:
            meant = _of_file(Path(name)) or did_you_mean(name, ids) or f"; {registry.remedy}"
            raise ParameterError(f"{path}: there is no environment {name!r}{meant}")
        return ids[name]
    if not place or not what:
        raise ParameterError(f"{path}: {name!r} names no environment; write module:Id, module:CLASS or FILE:CLASS")
    module = module_of(place, name, path)
    if what in registry.entries():
        return registry.entries()[what]
    found = attribute(module, what)
    if callable(found):
        return found
    if found is not None:
        raise ParameterError(
            f"{path}: {name} is {found!r}, of type {type(found).__name__}, and no class or function that makes an "
            "environment"
        )
    own = _makers(module)
    listed = f"; it has {', '.join(own)}" if 0 < len(own) <= 12 else ""
    meant = did_you_mean(what, [*own, *registry.entries()]) or listed
    raise ParameterError(f"{path}: {place} has no environment {what!r}{meant}")


def _of_file(file: Path) -> str:
    """How to name a class in a file, if it is one: the first that could be meant, read without importing it."""
    if file.suffix != ".py" or not file.is_file():
        return ""
    try:
        classes = [node.name for node in ast.parse(file.read_bytes()).body if isinstance(node, ast.ClassDef)]
    except SyntaxError:
        classes = []
    example = f", as in {file}:{classes[0]}" if classes else ""
    return f"; it is a file, so say which class of it is meant: FILE:CLASS{example}"


def attribute(module: ModuleType, name: str) -> Any:
    """What a module has under a name, in which dots lead into classes; None if there is nothing."""
    try:
        return attrgetter(name)(module)
    except AttributeError:
        return None


def _makers(module: ModuleType) -> list[str]:
    """Names of classes and functions that were written there, or are handed on as environments."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and isinstance(thing, type | FunctionType)
        and (thing.__module__ == module.__name__ or (isinstance(thing, type) and issubclass(thing, gym.Env)))
    ]


def module_of(place: str, name: str, path: str) -> ModuleType:
    """Import a file, or a module by its name."""
    file = _file(place)
    if file is not None and not file.is_file():
        near = did_you_mean(file.name, (each.name for each in file.parent.glob("*.py")))
        raise ParameterError(f"{path}: there is no file {str(file)!r}, in which {name!r} would be{near}")
    return imported(place, file, f"{path}: the environment {name!r} cannot be looked up")


def imported(place: str, file: Path | None, what: str) -> ModuleType:
    """A module by its name, or that of a file; `ParameterError` says in which line the import failed, and why."""
    try:
        with definitions():
            if file is not None:
                return script.imported(file) or script.load(file)
            return importlib.import_module(place)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{place}.".startswith(f"{error.name}."):
            remedy = "; name its file, as in FILE:CLASS, or let its folder be on PYTHONPATH"
            raise ParameterError(
                f"{what}: there is no module {error.name!r} that Python finds from here"
                f"{did_you_mean(error.name, _modules(error.name.rpartition('.')[0])) or remedy}"
            ) from error
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ParameterError(f"{what}: importing {place} raised {said}{_line(error)}") from error


def _file(place: str) -> Path | None:
    """The file that is meant, or that a module of the user's own is in; None where the name of a module will do."""
    file = Path(place)
    if file.suffix == ".py" or os.sep in place:
        return file if file.suffix == ".py" or file.is_file() else file.with_name(f"{file.name}.py")
    if place in sys.modules or not place.isidentifier():
        return None
    spec = importlib.util.find_spec(place)
    if spec is None:
        beside = file.with_name(f"{file.name}.py")
        return beside if beside.is_file() else None
    is_own = spec.origin is not None and spec.origin.endswith(".py") and not spec.submodule_search_locations
    return Path(spec.origin) if is_own and spec.origin is not None and not _installed(spec) else None


def _installed(spec: Any) -> bool:
    return installed(importlib.util.module_from_spec(spec))


def _modules(parent: str) -> list[str]:
    """Names that could have been imported from there."""
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    return [each.name for each in pkgutil.iter_modules(path, f"{parent}." if parent else "")]


def _line(error: BaseException) -> str:
    """Where it happened, as the end of a sentence; nothing, where no code ran."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<frozen")]
    theirs = [each for each in frames if each.filename not in {__file__, script.__file__, importlib.__file__}]
    return f" ({Location(theirs[-1].filename, theirs[-1].lineno or 0)})" if theirs else ""


def spec_of(place: str) -> Any:
    """How a module would be imported, found without importing the packages that it is in; None if it would not."""
    parts = place.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    spec, path = None, None
    for i in range(len(parts)):
        found = (finder.find_spec(".".join(parts[: i + 1]), path) for finder in sys.meta_path)
        spec = next((each for each in found if each is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec


# ---- what a run's folder says ----


def spelled(env: Any) -> tuple[str, str | None]:
    """What `known` finds again by: `module:Class`, or an id, as it was given, and the file, if it is the user's own.

    A function that is no class ends in parentheses: it is not found again.

    >>> from gymnasium.envs.classic_control import CartPoleEnv
    >>> spelled(CartPoleEnv), spelled("CartPole-v1")
    (('gymnasium.envs.classic_control.cartpole:CartPoleEnv', None), ('CartPole-v1', None))
    """
    while isinstance(env, partial):
        env = env.func
    if isinstance(env, str):
        place, _, name = env.rpartition(":")
        file = _file(place) if place else None
        module = sys.modules.get(place) if file is None else script.imported(file)
    else:
        place, name = getattr(env, "__module__", ""), getattr(env, "__qualname__", type(env).__qualname__)
        module = sys.modules.get(place)
        name += "" if inspect.isclass(env) else "()"
    if module is None:
        return f"{place}:{name}" if place else name, None
    own = None if installed(module) else getattr(module, "__file__", None)
    place = module.__name__
    if own is not None and (place == "__main__" or place.startswith("script ")):
        place = Path(own).stem
    return f"{place}:{name}", None if own is None else str(Path(own).resolve())


def known(name: str, file: str | None, what: str, kinds: tuple[type, ...] = (gym.Env,)) -> Any:
    """What a name from a run's folder means, without code that only the folder leads to; None where it takes that.

    It finds ids that are registered, and what is imported already. It imports packages that are installed, and a module
    of the user's own that Python finds, if its text has that class or id in it. A class has to be an environment, one
    of these `kinds`.
    """
    place, _, name = name.rpartition(":")
    if not place:
        return gym.registry.get(name)
    module = script.imported(Path(file)) if file is not None else sys.modules.get(place)
    if module is None and (spec := spec_of(place)) is not None and _may_be_imported(spec, name, file):
        alone = file is not None and not spec.submodule_search_locations and "." not in place
        module = imported(place, Path(spec.origin) if alone else None, what)
    if module is None:
        return None
    if name in gym.registry:
        return gym.registry[name]
    found = attribute(module, name)
    return found if inspect.isclass(found) and issubclass(found, kinds) else None


def of_installed(place: str) -> bool:
    """Whether a module, by its name, is of a package that is installed."""
    spec = spec_of(place)
    return spec is not None and spec.name.partition(".")[0] not in sys.stdlib_module_names and _installed(spec)


def _may_be_imported(spec: Any, name: str, file: str | None) -> bool:
    if spec.name.partition(".")[0] in sys.stdlib_module_names:
        return False
    if _installed(spec):
        return not name.isidentifier() or _has(spec, name)
    return (file is None or spec.origin == file or not Path(file).exists()) and _has(spec, name)


def _has(spec: Any, name: str) -> bool:
    """Whether the text of a module defines a class of this name, or has this id in it."""
    try:
        tree = ast.parse(Path(spec.origin).read_bytes())
    except (OSError, SyntaxError, TypeError, ValueError):
        return False
    return any(
        (isinstance(node, ast.ClassDef) and node.name == name.rpartition(".")[2])
        or (isinstance(node, ast.Constant) and node.value == name)
        for node in ast.walk(tree)
    )
