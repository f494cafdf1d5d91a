"""Does every backend do what the reference says? Random programs, each on several backends, workers and placements.

`--programs N` tries N seeded programs instead of 300; `-k "program[17]"` tries one of them again.
"""

from __future__ import annotations

import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reactors as rx
from tests import reference
from tests.declarations import Program
from tests.random_programs import make_program, programs, random_program
from tests.reduction import reduced
from tests.ways import Trace, Way, logs_of, paths_of

SHARED = [Way(backend, workers) for workers in (2, 3, 8, 1) for backend in ("thread", "process")]


def ways(number: int) -> list[Way]:
    """Inline, two ways of threads and one of processes; taken in turn, so that all ways get many programs."""
    threads, processes = SHARED[::2], SHARED[1::2]
    some = [threads[number % 4], threads[(number + 1) % 4], processes[number // 4 % 4]]
    placed: list[int | str] = [number if (number + k) % 2 else "auto" for k in range(3)]
    return [Way(), *(Way(w.backend, w.workers, number % 3 != 0, p) for w, p in zip(some, placed, strict=True))]


@dataclass
class Outcome:
    """What a run of a program did, as far as it is to be the same everywhere."""

    digest: str
    reactions: int
    logs: Trace


class InvalidError(Exception):
    """The reference cannot run the program."""


def judged(program: Program) -> Outcome:
    try:
        main = program.main(reference)
        result = reference.run(main, timeout=program.timeout, keepalive=program.keepalive)
    except Exception as error:
        raise InvalidError from error
    return Outcome(result.digest, result.reactions, logs_of(main, paths_of(main)))


def done(program: Program, way: Way, paths: list[str]) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # random programs leave inputs open
        main = program.main(rx)
        result = way.run(main, paths, timeout=program.timeout, keepalive=program.keepalive)
    return Outcome(result.digest, result.reactions, logs_of(main, paths))


@dataclass
class Complaint:
    """What is wrong with a run of a program; complaints of one kind are about the same fault."""

    kind: str
    text: str


def complaint(program: Program, way: Way) -> Complaint | None:
    expected = judged(program)
    try:
        found = done(program, way, list(expected.logs))
    except rx.ReactorError as error:
        first = error.__cause__ or error
        where = traceback.extract_tb(first.__traceback__)[-1]
        return Complaint(f"{type(first).__name__} in {where.filename}:{where.name}", traceback.format_exc(limit=-4))
    return None if found == expected else Complaint("different", difference(expected, found))


def difference(expected: Outcome, found: Outcome) -> str:
    """Where the logs part first, in the order of tags."""
    nothing = (reference.FOREVER, -1, [])
    partings = []
    for path, log in expected.logs.items():
        other = found.logs[path]
        length = max(len(log), len(other)) + 1
        pairs = zip(log + [nothing] * (length - len(log)), other + [nothing] * (length - len(other)), strict=True)
        partings += [(min(a[0], b[0]), path, a, b) for a, b in pairs if a != b][:1]
    if not partings:
        return f"the logs agree, the digests do not, or the counts: {expected.reactions} and {found.reactions} reactions"
    _, path, should, does = min(partings)
    return f"{path} first:\n  should see {spelled(should)}\n  and sees   {spelled(does)}"


def spelled(entry: tuple[Any, int, list[tuple[str, Any]]]) -> str:
    tag, number, seen = entry
    if number < 0:
        return "nothing more"
    return f"in reaction {number} at {tag}: {', '.join(f'{name}={value!r}' for name, value in seen) or 'no input'}"


def check(program: Program, way: Way) -> None:
    wrong = complaint(program, way)
    if wrong is None:
        return

    def complains(candidate: Program) -> Complaint | None:
        """The same complaint; about several workers it may come only now and then."""
        for _ in range(1 if way.workers == 1 else 5):
            found = complaint(candidate, way)
            if found and found.kind == wrong.kind:
                return found
        return None

    def fails(candidate: Program) -> bool:
        try:
            return complains(candidate) is not None
        except InvalidError:
            return False

    least = reduced(program, fails)
    pytest.fail(f"{least!r}\n{way}\n{(complains(least) or wrong).text}", pytrace=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("programs")))


def test_program(seed: int) -> None:
    program = random_program(seed)
    for way in ways(seed):
        check(program, way)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from([Way(), *SHARED[::2]]))
def test_corners(program: Program, way: Way) -> None:
    """Hypothesis looks for what the seeded programs are too large to show."""
    wrong = complaint(program, way)
    assert wrong is None, f"{way}\n{wrong.text}"


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_cycles_are_found(first: int) -> None:
    """The graph refuses exactly those programs for which the reference finds no order of reactions."""
    import random

    for seed in range(first, first + 50):
        program = make_program(random.Random(seed).randint, tangled=True)
        main = program.main(rx)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rx.ReactorWarning)
            try:
                rx.Graph(main)
                refused = False
            except rx.CausalityError:
                refused = True
        assert refused == program.cyclic, repr(program)
