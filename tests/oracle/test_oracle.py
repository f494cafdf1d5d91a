"""Does every backend do what the reference says? Random programs, each on several backends, workers and placements.

`--programs N` tries N seeded programs instead of 300; `-k "program[17]"` tries one of them again. A program that fails
is reduced and printed as text, with the place where it first saw something else than it should have.

Programs that sleep in virtual time are compared with themselves: the model does not say which of two reactions of a tag
sleeps first. On whatever worker, together they do what they do in this thread; apart, what they did before.
"""

from __future__ import annotations

import random
import traceback
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reactors as rx
from tests import reference
from tests.oracle.random_programs import make_program, programs, random_program
from tests.oracle.reduction import reduced
from tests.oracle.ways import Trace, Way, logs_of, paths_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.declarations import Program

THREADS = [Way("thread", workers) for workers in (2, 3, 8, 1)]
PROCESSES = [Way("process", workers) for workers in (2, 3, 8, 1)]


def ways(number: int) -> list[Way]:
    """Inline, two ways of threads and one of processes; taken in turn, so that all ways get many programs.

    Every fifth program runs in debug mode, which changes no value.
    """
    some = [THREADS[number % 4], THREADS[(number + 1) % 4], PROCESSES[number // 4 % 4]]
    fast, debug = number % 3 != 0, number % 5 == 0
    return [
        Way(debug=debug),
        *(Way(w.backend, w.workers, fast, "auto" if (number + k) % 2 else number, debug) for k, w in enumerate(some)),
    ]


@dataclass
class Outcome:
    """What a run of a program did, as far as it is to be the same everywhere."""

    digest: str
    reactions: int
    logs: Trace


@dataclass
class Complaint:
    """What is wrong with a run of a program; complaints of one kind are about the same fault."""

    kind: str
    text: str


class InvalidProgramError(Exception):
    """Not even the reference can run it."""


def judged(program: Program) -> Outcome:
    """What the reference says; of a program that sleeps, only whether it runs."""
    try:
        main = program.main(reference)
        clock = program.clock(reference, main)
        result = reference.run(main, timeout=program.timeout, keepalive=program.keepalive, clock=clock)
    except Exception as error:
        raise InvalidProgramError from error
    if program.sleeps:
        return done(program, Way(), paths_of(main))
    return Outcome(result.digest, result.reactions, logs_of(main, paths_of(main)))


def done(program: Program, way: Way, paths: list[str], **options: Any) -> Outcome:
    """What the real thing does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # random programs leave inputs open
        main = program.main(rx)
        clock = program.clock(rx, main) if program.physical or not way.fast else None
        result = way.run(main, paths, timeout=program.timeout, keepalive=program.keepalive, clock=clock, **options)
    return Outcome(result.digest, result.reactions, logs_of(main, paths))


def complaint(program: Program, way: Way) -> Complaint | None:
    expected = judged(program)
    try:
        found = done(program, replace(way, placed="together") if program.sleeps else way, list(expected.logs))
    except rx.ReactorError as error:
        cause = error.__cause__ or error
        where = traceback.extract_tb(cause.__traceback__)[-1]
        return Complaint(f"{type(cause).__name__} in {where.filename}:{where.name}", traceback.format_exc(limit=-4))
    return None if found == expected else Complaint("difference", difference(expected, found))


def difference(expected: Outcome, found: Outcome) -> str:
    """Where the logs part first, in the order of tags."""
    nothing: tuple[Any, int, list[Any]] = (reference.FOREVER, -1, [])
    partings: list[tuple[Any, str, Any, Any]] = []
    for path, log in expected.logs.items():
        other = found.logs[path]
        length = max(len(log), len(other)) + 1
        pairs = zip(log + [nothing] * (length - len(log)), other + [nothing] * (length - len(other)), strict=True)
        partings += [(min(a[0], b[0]), path, a, b) for a, b in pairs if a != b][:1]
    if not partings:
        return f"the logs agree, digests or counts do not: {expected.reactions} and {found.reactions} reactions"
    _, path, should, does = min(partings, key=lambda parting: parting[:2])
    return f"{path} first:\n  should see {spelled(*should)}\n  and sees   {spelled(*does)}"


def spelled(tag: tuple[int, int], number: int, seen: list[tuple[str, Any]]) -> str:
    if number < 0:
        return "nothing more"
    return f"in reaction {number} at {tag}: {', '.join(f'{name}={value!r}' for name, value in seen) or 'no input'}"


def check(program: Program, way: Way) -> None:
    wrong = complaint(program, way)
    if wrong is None:
        return
    tries = 1 if way.workers == 1 else 5  # what depends on who is first comes only now and then

    def same(candidate: Program) -> Complaint | None:
        found = (complaint(candidate, way) for _ in range(tries))
        return next((each for each in found if each and each.kind == wrong.kind), None)

    def fails(candidate: Program) -> bool:
        try:
            return same(candidate) is not None
        except InvalidProgramError:
            return False

    least = reduced(program, fails)
    pytest.fail(f"{least!r}\n{way}\n{(same(least) or wrong).text}", pytrace=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.option.programs))


def test_program(seed: int, tmp_path: Path) -> None:
    program = random_program(seed)
    for way in ways(seed):
        check(program, way)
    if program.physical:
        check_replay(program, ways(seed), tmp_path / "log")


def check_replay(program: Program, ways: list[Way], file: Path) -> None:
    """What one way recorded, all others replay."""
    expected = judged(program)
    paths = list(expected.logs)
    if program.sleeps:
        expected = done(program, ways[1], paths)
    assert done(program, ways[1], paths, record=file) == expected, f"{program!r}\n{ways[1]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)
        for way in ways:
            again = program.main(rx)
            result = way.run(again, paths, replay=file)
            found = Outcome(result.digest, result.reactions, logs_of(again, paths))
            assert found == expected, f"{program!r}\n{way}\n{difference(expected, found)}"


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.sampled_from([Way(), *THREADS]))
def test_corners(program: Program, way: Way) -> None:
    """Hypothesis looks for what the seeded programs are too large to show."""
    wrong = complaint(program, way)
    assert wrong is None, f"{way}\n{wrong.text}"


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_programs_with_a_cycle_are_refused_and_no_others(first: int) -> None:
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
