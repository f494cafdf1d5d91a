import traceback

import pytest

import reactors as rx
from tests.faults.programs import Actor, Pair, run


class OwnError(Exception):
    def __init__(self, what: str, number: int) -> None:
        super().__init__(what)
        self.number = number

    def __reduce__(self) -> tuple[object, ...]:
        return OwnError, (str(self), self.number)


class StubbornError(Exception):
    """Cannot be unpickled: it is pickled with one argument and takes two."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fail(actor: Actor) -> None:
    try:
        _ = {}["missing"]
    except KeyError as error:
        raise OwnError("it went wrong", 7) from error


def fail_stubbornly(actor: Actor) -> None:
    raise StubbornError(1, 2)


def leave(actor: Actor) -> None:
    raise SystemExit(4)


def test_an_exception_comes_out_with_reaction_tag_and_the_original_as_its_cause() -> None:
    """Row 17."""
    with pytest.raises(rx.ReactionError, match=r"main\.actor\.act.*\(2000000, 0\)|main\.actor\.act.*2 ms") as caught:
        run(Pair(fail))
    cause = caught.value.__cause__
    assert isinstance(cause, OwnError)
    assert cause.number == 7
    text = "".join(traceback.format_exception(caught.value))
    assert 'raise OwnError("it went wrong", 7) from error' in text
    assert "KeyError: 'missing'" in text
    assert "reactors_runtime/engine.py" not in text


def test_an_exception_that_cannot_travel_is_shown_all_the_same() -> None:
    """Row 17."""
    with pytest.raises(rx.ReactionError) as caught:
        run(Pair(fail_stubbornly))
    assert "StubbornError: 1 and 2" in "".join(traceback.format_exception(caught.value))


def test_sys_exit_in_a_reaction_is_an_exception_like_others() -> None:
    """Row 17."""
    with pytest.raises(rx.ReactionError) as caught:
        run(Pair(leave))
    assert isinstance(caught.value.__cause__, SystemExit)


def test_the_shutdown_reactions_of_all_workers_run_and_their_attributes_come_back() -> None:
    """Row 17."""
    main = Pair(fail)
    with pytest.raises(rx.ReactionError):
        run(main)
    assert main.actor.closed
    assert main.bystander.closed
    assert main.actor.ticks == 3
