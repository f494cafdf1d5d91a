"""Values that are changed although others have them: found in debug mode."""

import warnings
from typing import Any

import numpy as np
import pytest

import reactors as rx
from reactors.errors import SharedValueError
from tests.execution.bad_programs.writer_and_reader import Main, Reader, every_way, failed, nothing
from tests.messages import marked, warned

# Values that are shared


@every_way
@pytest.mark.parametrize("port", ["vector", "thing"])
def test_reader_that_changes_an_array(way: Any, port: str) -> None:
    """Cannot."""

    def write(self: Any) -> None:
        getattr(self, port).set(np.zeros(2, "f4"))

    def read(self: Any) -> None:
        getattr(self, port).value[0] = 5

    error = failed(Main(write, read), **way)
    assert str(error) == (
        "main.reader.read at 0 s raised ValueError: assignment destination is read-only; arrays that come from a port "
        "are read-only: change a copy (port.value.copy())"
    )


def set_and_change(self: Any) -> None:
    self.thing.set(thing := {"sizes": [1]})
    thing["sizes"][0] = 9


def change_what_was_kept(self: Any) -> None:
    self.kept = [1] if self.kept is None else self.kept
    self.kept += [2] * (self.tag.time > 0)
    self.thing.set(self.kept)


def write_a_loan_after_set(self: Any) -> None:
    loan = self.vector.loan()
    loan[:] = 1
    self.vector.set(loan)
    loan[1] = 2


def write_a_loan_that_was_kept(self: Any) -> None:
    if self.kept is None:
        loan = self.vector.loan()
        loan[:] = 1
        self.vector.set(loan)
        self.kept = loan[1:]
    else:
        self.kept[:] = 7
        self.vector.set(np.array([3, 3], "f4"))


def write_a_loan_without_set(self: Any) -> None:
    self.vector.set(np.array([3, 3], "f4"))
    self.vector.loan()[0] = 4


def write_a_loan_that_was_never_set(self: Any) -> None:
    if self.kept is None:
        self.kept = self.vector.loan()
        self.kept[:] = 1
    else:
        self.kept[1] = 7


def change(self: Any) -> None:
    if self.thing.is_present:
        self.thing.value.append(5)


def write_a_tensor(self: Any) -> None:
    self.vector.tensor[1] = 9


def set_things(self: Any) -> None:
    self.thing.set([1, 2])


def set_ones(self: Any) -> None:
    self.vector.set(np.ones(2, "f4"))


OBJECT_SET = "its readers have the same object: set a copy, or leave it alone from then on"
OBJECT_READ = "others have the same object: change a copy, or declare the input with mutable=True"
LOAN = "its readers have the same memory: write into a loan before set(), and call loan() for each value"
SHARED = [
    (
        set_and_change,
        nothing,
        (
            f"main.writer.thing (@thing): ['sizes'][0] of the value of 0 s was 1, and after "
            f"main.writer.write it is 9; {OBJECT_SET}"
        ),
    ),
    (
        change_what_was_kept,
        nothing,
        (
            "main.writer.thing (@thing): the value of 0 s was [1], and after "
            f"main.writer.write it is [1, 2]; {OBJECT_SET}"
        ),
    ),
    (
        set_things,
        change,
        (
            "main.reader.thing (@inthing): the value of 0 s was [1, 2], and after main.reader.read it is "
            f"[1, 2, 5]; {OBJECT_READ}"
        ),
    ),
    (
        write_a_loan_after_set,
        nothing,
        (
            "main.writer.vector (@vector): [1] of the value of 0 s was 1.0, and after "
            f"main.writer.write it is 2.0; {LOAN}"
        ),
    ),
    (
        write_a_loan_that_was_kept,
        nothing,
        (
            "main.writer.vector (@vector): [1] of the value of 0 s was 1.0, and after "
            f"main.writer.write it is 7.0; {LOAN}"
        ),
    ),
    (
        write_a_loan_without_set,
        nothing,
        (
            "main.writer.vector (@vector): [0] of the value of 0 s was 3.0, and after "
            f"main.writer.write it is 4.0; {LOAN}"
        ),
    ),
    (
        write_a_loan_that_was_never_set,
        nothing,
        (
            "main.writer.vector (@vector): [1] of the loan of 0 s, which was not set, was 1.0, and after "
            "main.writer.write it is 7.0; it is lent for that reaction alone: write and set it there, and call loan() "
            "for each value"
        ),
    ),
    (
        set_ones,
        write_a_tensor,
        (
            "main.reader.vector (@invector): [1] of the value of 0 s was 1.0, and after "
            "main.reader.read it is 9.0; others read the same memory: change a copy (port.tensor.clone())"
        ),
    ),
]


@every_way
def test_shared_values_that_are_changed_are_reported_in_debug_mode(way: Any) -> None:
    """By the end of the reaction that does it, in the same words wherever the others are."""
    for write, read, words in SHARED:
        main = Main(write, read)
        main.near = Reader()  # type: ignore[attr-defined]
        for port in ("number", "thing", "vector"):
            rx.connect(getattr(main.writer, port), getattr(main.near, port))  # type: ignore[attr-defined]
        error = failed(main, debug=True, **way)
        assert isinstance(error.__cause__, SharedValueError)
        assert marked(error.__cause__) == words


@every_way
def test_what_reactions_may_do_with_shared_values_is_not_reported(way: Any) -> None:
    """Fill a loan in two reactions or take another value instead, set twice, keep what no reaction changes."""

    def write(self: Any) -> None:
        self.kept = (self.kept or []) + [[1]]
        self.thing.set(self.kept[-1])
        self.kept[-1].append(2)
        self.thing.set(self.kept[-1])  # the last value counts
        self.vector.loan()[0] = 1
        loan = self.vector.loan()
        loan[1] = 2
        self.vector.set(loan * 3)
        loan = self.vector.loan()
        loan[0] += 1
        self.vector.set(loan)

    def read(self: Any) -> None:
        self.seen = self.vector.value.tolist(), self.thing.value

    main: Any = Main(write, read)
    words = warned(lambda: rx.run(main, fast=True, timeout="3 ms", debug=True, **way))
    assert all("no connection leads there" in each or "reads it" in each or "set twice" in each for each in words)
    assert main.reader.seen == ([4, 6], [1, 2])


def set_again(self: Any) -> None:
    self.number.set(1)  # @first
    for _ in range(2):
        self.number.set(2)  # @second


@every_way
def test_a_port_that_is_set_twice_is_reported_in_debug_mode(way: Any) -> None:
    """Once for each two lines, at the second of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rx.run(Main(set_again, nothing), fast=True, timeout="3 ms", debug=True, **way)
    words = [marked(each.message) for each in caught if "set twice" in str(each.message)]
    assert words == [
        f"main.writer.number (@number) is set twice at 0 s, at {places}; the last value counts: set it once, or let "
        "its readers have each value by way of an action"
        for places in ("@first and then at @second", "@second and then at @second")
    ]


def keep_views(self: Any) -> None:
    self.views = [*getattr(self, "views", ()), self.vector.value[:1], self.vector.value]


@every_way
def test_views_that_are_kept_are_reported_in_debug_mode(way: Any) -> None:
    words = warned(lambda: rx.run(Main(set_ones, keep_views), fast=True, timeout="1 ms", debug=True, **way))
    (found,) = (each for each in words if "nothing reads" not in each)
    assert found == (
        "main.reader.vector (@invector): some code still has the value of 0 s at 1 ms; it is a view of memory that is "
        "written again, and valid during the reaction: keep a copy (value.copy())"
    )
