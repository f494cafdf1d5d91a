"""Would the tests notice a mistake in the model? Each mutation of the reference is told from it, twice.

By random programs, which the oracle runs on every backend; and by those written by hand in tests/semantics, whose
traces are spelled out.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from tests import reference
from tests.mutants.mutations import MUTATIONS
from tests.mutants.planted import changed
from tests.oracle.random_programs import random_program
from tests.oracle.ways import Trace, logs_of, paths_of

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = 60
TEXT = Path(reference.__file__).read_text()
HAND_WRITTEN = sorted((Path(__file__).parents[1] / "semantics").glob("test_*.py"))


def mutated(name: str) -> ModuleType:
    module = ModuleType("mutant")
    sys.modules["mutant"] = module  # dataclasses look their module up
    exec(compile(changed(TEXT, *MUTATIONS[name]), "<mutant>", "exec"), vars(module))
    return module


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
def test_random_programs_notice_a_mistake(name: str) -> None:
    mutant = mutated(name)
    assert any(outcome(mutant, seed) != right(seed) for seed in range(PROGRAMS)), f"none notices that {name}"


@pytest.mark.parametrize("name", MUTATIONS)
def test_programs_written_by_hand_notice_a_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert noticed_by_hand(mutated(name), monkeypatch), f"none notices that {name}"


def test_programs_written_by_hand_notice_nothing_where_there_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not noticed_by_hand(reference, monkeypatch)
