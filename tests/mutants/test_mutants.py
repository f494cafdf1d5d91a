"""Would the tests notice a mistake in the model? Each mutation of the reference is found, most of them twice.

By random programs, which the oracle runs on every backend; and by those written by hand in tests/semantics, whose
traces are spelled out.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import shutil
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import reference
from tests.mutants.mutations import MUTATIONS
from tests.mutants.planted import changed
from tests.oracle.random_programs import random_program
from tests.oracle.ways import Trace, logs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

PROGRAMS = 60
MOST = 2000  # tags of a program: a mutant may go on for ever
REFERENCE = Path(reference.__file__).parent
HAND_WRITTEN = sorted((Path(__file__).parents[1] / "semantics").glob("test_*.py"))

UNLIKELY = {  # such programs are rare among random ones: those written by hand notice these
    "a physical connection that begins again waits for what it has lost",
    "a resumed physical connection is overtaken",
    "a transition takes effect at once",
    "events of a mode that is left are lost",
    "events of a mode that is left happen",
    "interleaved is not",
    "mode= of a bank means nothing",
    "mode= of a reactor means nothing",
    "reactions of different modes are in order",
    "reset is history",
    "reset keeps what is pending",
    "reset keeps what was put aside",
    "reset leaves modes inside alone",
    "reset lets timers go on",
    "reset reactions never run",
    "reset reactions of modes inside do not run",
    "state is kept",
    "state is renewed by history",
    "time goes on in modes that were left",
    "update keeps the old tag",
    "updates of deadlines are forgotten",
    "values of a physical connection overtake one another",
}


def mutated(name: str, folder: Path) -> ModuleType:
    """A copy of the reference, in this folder, with the mistake in it."""
    shutil.copytree(REFERENCE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    old, new = MUTATIONS[name]
    (file,) = (file for file in folder.glob("*.py") if old in file.read_text())
    file.write_text(changed(file.read_text(), old, new))
    return loaded(folder)


def loaded(folder: Path) -> ModuleType:
    """The package in this folder, as `mutant`."""
    for module in [module for module in sys.modules if module.partition(".")[0] == "mutant"]:
        del sys.modules[module]
    spec = spec_from_file_location("mutant", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["mutant"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["mutant"])
    return sys.modules["mutant"]


def logs(rx: Any, main: Any) -> Trace:
    """What the reactors of a program wrote down; which they are, the reference that made them says."""
    return logs_of(main, [reactor.path for reactor in rx.reactors(main)])


def outcome(rx: Any, seed: int) -> Any:
    """Digest and logs of a random program; the error, if it comes to one."""
    program = random_program(seed)
    try:
        main = program.main(rx)
        result = rx.run(
            main, timeout=program.timeout, keepalive=program.keepalive, clock=program.clock(rx, main), most=MOST
        )
        return result.digest, result.reactions, logs(rx, main)
    except Exception as error:  # noqa: BLE001 - a mutant may fail in any way
        return type(error)


@cache
def right(seed: int) -> Any:
    return outcome(reference, seed)


def written_by_hand() -> list[tuple[Callable[..., None], dict[str, Any]]]:
    """The tests of the semantics with their arguments; those that take fixtures are left out."""
    found = []
    for file in HAND_WRITTEN:
        module = importlib.import_module(f"tests.semantics.{file.stem}")
        for name, test in vars(module).items():
            if name.startswith("test_") and "trace(" in inspect.getsource(test):
                given = list(arguments(test))
                if given and given[0].keys() == inspect.signature(test).parameters.keys():
                    found += [(test, each) for each in given]
    return found


def arguments(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """What `pytest.mark.parametrize` gives a test, one after another."""
    marks = [mark.args for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    names = [[each.strip() for each in said.split(",")] if isinstance(said, str) else said for said, *_ in marks]
    for values in itertools.product(*(each for _, each, *_ in marks)):
        rows = [value if len(of) > 1 else [value] for of, value in zip(names, values, strict=True)]
        yield {name: value for of, row in zip(names, rows, strict=True) for name, value in zip(of, row, strict=True)}


def noticed_by_hand(rx: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    def trace(program: Any, *, clock: Any = None, ways: object = None, **options: Any) -> Trace:
        main = program(rx)
        rx.run(main, clock=clock and clock(rx, main), most=MOST, **options)
        return {path: log for path, log in logs(rx, main).items() if log}

    for test, given in written_by_hand():
        monkeypatch.setitem(test.__globals__, "trace", trace)
        try:
            test(**given)
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - likewise
            return True
    return False


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in UNLIKELY])
def test_random_programs_notice_a_mistake(name: str, tmp_path: Path) -> None:
    mutant = mutated(name, tmp_path)
    assert any(outcome(mutant, seed) != right(seed) for seed in range(PROGRAMS)), f"none notices that {name}"


def test_what_random_programs_need_not_notice_is_planted() -> None:
    assert UNLIKELY - {*MUTATIONS} == set()


@pytest.mark.parametrize("name", MUTATIONS)
def test_programs_written_by_hand_notice_a_mistake(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert noticed_by_hand(mutated(name, tmp_path), monkeypatch), f"none notices that {name}"


def test_nothing_is_noticed_where_there_is_no_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(REFERENCE, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    copied = loaded(tmp_path)
    assert [seed for seed in range(PROGRAMS) if outcome(copied, seed) != right(seed)] == []
    assert not noticed_by_hand(copied, monkeypatch)
