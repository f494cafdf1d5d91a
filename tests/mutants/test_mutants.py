"""Would the tests notice a mistake in the model? Each mutation of the reference is found, twice.

By random programs, which the oracle runs on every backend; and by those written by hand in tests/semantics, whose
traces are spelled out.
"""

from __future__ import annotations

import importlib
import inspect
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
from tests.oracle.ways import Trace, logs_of, paths_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

PROGRAMS = 60
REFERENCE = Path(reference.__file__).parent
HAND_WRITTEN = sorted((Path(__file__).parents[1] / "semantics").glob("test_*.py"))


def mutated(name: str, folder: Path) -> ModuleType:
    """A copy of the reference, in this folder, with the mistake in it."""
    shutil.copytree(REFERENCE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    old, new = MUTATIONS[name]
    (file,) = (file for file in folder.glob("*.py") if old in file.read_text())
    file.write_text(changed(file.read_text(), old, new))
    for module in [module for module in sys.modules if module.partition(".")[0] == "mutant"]:
        del sys.modules[module]
    spec = spec_from_file_location("mutant", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["mutant"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["mutant"])
    return sys.modules["mutant"]


def outcome(rx: Any, seed: int) -> Any:
    """Digest and logs of a random program; the error, if it comes to one."""
    program = random_program(seed)
    try:
        main = program.main(rx)
        result = rx.run(
            main, timeout=program.timeout, keepalive=program.keepalive, clock=program.clock(rx, main), most=2000
        )
        return result.digest, result.reactions, logs_of(main, paths_of(main))
    except Exception as error:  # noqa: BLE001 - a mutant may fail in any way
        return type(error)


@cache
def right(seed: int) -> Any:
    return outcome(reference, seed)


def written_by_hand() -> list[Callable[[], None]]:
    found = []
    for file in HAND_WRITTEN:
        module = importlib.import_module(f"tests.semantics.{file.stem}")
        for name, test in vars(module).items():
            if name.startswith("test_") and not inspect.signature(test).parameters:
                found.append(test)
    return found


def noticed_by_hand(rx: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    def trace(program: Any, *, clock: Any = None, ways: object = None, **options: Any) -> Trace:
        main = program(rx)
        rx.run(main, clock=clock and clock(rx, main), **options)
        return {path: log for path, log in logs_of(main, paths_of(main)).items() if log}

    for test in written_by_hand():
        if "trace(" not in inspect.getsource(test):
            continue
        monkeypatch.setitem(test.__globals__, "trace", trace)
        try:
            test()
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - likewise
            return True
    return False


@pytest.mark.parametrize("name", MUTATIONS)
def test_random_programs_notice_a_mistake(name: str, tmp_path: Path) -> None:
    mutant = mutated(name, tmp_path)
    assert any(outcome(mutant, seed) != right(seed) for seed in range(PROGRAMS)), f"none notices that {name}"


@pytest.mark.parametrize("name", MUTATIONS)
def test_programs_written_by_hand_notice_a_mistake(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert noticed_by_hand(mutated(name, tmp_path), monkeypatch), f"none notices that {name}"


def test_programs_written_by_hand_notice_nothing_where_there_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not noticed_by_hand(reference, monkeypatch)
