"""Which reactor class does `FILE[:CLASS]` mean?

FILE is imported under its own name, from its own folder, just as another file beside it would import it. So code under
`if __name__ == "__main__"` does not run, and worker processes can import it in the same way. If a file calls `rx.run`
anyway, it is imported up to there. Without CLASS, it is the class named like the file, or Main, or the only class that
no other class of the file contains or derives from.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from reactors.errors import RunWhileImported
from reactors.model.reaction import Reaction
from reactors.model.reactor import Reactor
from reactors.model.thread_state import executing
from reactors_runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType


class WrongTarget(ValueError):  # noqa: N818 - it is what is wrong
    """There is no such file, or no such class in it, or more than one that could be meant."""


def reactor_class(target: str) -> type[Reactor]:
    """The class that `target` names; `WrongTarget` says why there is none. Exceptions of FILE itself are passed on."""
    file, name = split(target)
    if not file.is_file():
        raise WrongTarget(f"there is no file {str(file)!r}")
    try:
        module = load(file)
    except ImportError as error:
        if isinstance(error.__cause__, SystemExit):
            raise WrongTarget(str(error)) from None
        raise
    classes = [thing for thing in vars(module).values() if isinstance(thing, type) and issubclass(thing, Reactor)]
    own = {kind.__name__: kind for kind in classes if kind.__module__ == module.__name__}
    if name:
        found = getattr(module, name, None)
        if not (isinstance(found, type) and issubclass(found, Reactor)):
            raise WrongTarget(f"{file} has no reactor class {name!r}{did_you_mean(name, own) or f'; {_listed(own)}'}")
        return found
    return _program(file, module, own)


def split(target: str) -> tuple[Path, str]:
    """File and class of `FILE[:CLASS]`.

    >>> split("train.py:QLearning"), split("train.py")
    ((PosixPath('train.py'), 'QLearning'), (PosixPath('train.py'), ''))
    """
    file, colon, name = target.rpartition(":")
    return (Path(file), name) if colon and name.isidentifier() else (Path(target), "")


def imported(file: Path) -> ModuleType | None:
    """The module of a file that is already imported."""
    path = str(file.resolve())
    return next((each for each in [*sys.modules.values()] if getattr(each, "__file__", None) == path), None)


def load(file: Path) -> ModuleType:
    """Import a file by its path."""
    path = file.resolve()
    folder = str(path.parent)
    name = path.stem
    hides_another = name in sys.modules or name in sys.stdlib_module_names
    if hides_another or "." in name:
        name = f"script {name.replace('.', ' ')}"  # no import leads there, so it takes the place of nothing
    if folder not in sys.path:
        sys.path.insert(len(sys.path) if hides_another else 0, folder)
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    executing.definitions = True
    try:
        loader.exec_module(module)
    except RunWhileImported:  # it has what it takes to run, and who imports it again would not get so far
        spec._initializing = True  # type: ignore[attr-defined]
    except SystemExit as error:
        del sys.modules[name]
        raise ImportError(
            f"{file} ends the process when it is imported (sys.exit({error.code!r})); put what is meant for running it "
            'as a script under if __name__ == "__main__":'
        ) from error
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        executing.definitions = False
    return module


def _program(file: Path, module: ModuleType, own: dict[str, type[Reactor]]) -> type[Reactor]:
    stem = _plain(file.stem)
    for wanted in (stem, "main"):
        named = [kind for name, kind in own.items() if _plain(name) == wanted]
        if len(named) == 1:
            return named[0]
    used = {other for name, kind in own.items() for other in _mentioned(kind, module) if other != name}
    whole = [kind for name, kind in own.items() if name not in used]
    if len(whole) != 1:
        raise WrongTarget(f"which class of {file} is the program? {_listed(own)}")
    return whole[0]


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _listed(own: Iterable[str]) -> str:
    names = sorted(own)
    return f"it defines {', '.join(names)}: write FILE:{names[0]}" if names else "it defines none at its top level"


def _mentioned(kind: type[Reactor], module: ModuleType) -> set[str]:
    """The names that a class uses: in its bases, its methods, and functions of the file that they call."""
    names = {base.__name__ for base in kind.__bases__}
    stack = [code for thing in vars(kind).values() for code in _codes(thing)]
    seen: set[CodeType] = set()
    while stack:
        code = stack.pop()
        if code in seen:
            continue
        seen.add(code)
        stack += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for name in code.co_names:
            names.add(name)
            called = vars(module).get(name)
            if isinstance(called, FunctionType) and called.__module__ == module.__name__:
                stack.append(called.__code__)
    return names


def _codes(thing: Any) -> Iterator[CodeType]:
    for part in (thing.body, thing.late) if isinstance(thing, Reaction) else (thing, getattr(thing, "__func__", None)):
        if isinstance(part, FunctionType):
            yield part.__code__
