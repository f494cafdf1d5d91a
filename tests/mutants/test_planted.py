"""Is the list of planted mistakes up to date? `make mutants` takes long, and runs on demand."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.planted import AREAS, StaleError, changed, planted

ROOT = Path(__file__).parents[2]
PLANTED = [*planted()]


@cache
def text(file: str) -> str:
    return (ROOT / file).read_text()


def test_every_mistake_has_one_place() -> None:
    stale = []
    for mistake in PLANTED:
        try:
            assert changed(text(mistake.file), mistake.old, mistake.new) != text(mistake.file), mistake.name
        except StaleError as error:
            stale.append(f"{mistake.file}, {mistake.name}: {error}")
    assert not stale


def test_every_mistake_has_tests_that_should_notice_it() -> None:
    assert all(mistake.tests for mistake in PLANTED)
    for test in {test for mistake in PLANTED for test in mistake.tests}:
        file, *names = test.split("::")
        assert (ROOT / file).exists(), test
        for name in names:
            assert re.search(rf"(?:def|class) {re.escape(name.partition('[')[0])}\b", text(file)), test


def test_mistakes_have_names_of_their_own_and_are_in_every_area() -> None:
    assert max(Counter(mistake.name for mistake in PLANTED).values()) == 1
    assert {mistake.area for mistake in PLANTED} == {*AREAS}


@pytest.mark.parametrize("old", ["x", "b"])
def test_what_is_not_there_once_is_stale(old: str) -> None:
    with pytest.raises(StaleError, match=f"'{old}' is there"):
        changed("abba", old, "")
