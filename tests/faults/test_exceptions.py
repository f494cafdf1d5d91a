import time
import traceback
from pathlib import Path
from typing import Any, Literal

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


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_time_that_stands_still_comes_after_what_failed_at_an_earlier_time(
    backend: Literal["inline", "thread", "process"], tmp_path: Path
) -> None:
    """Even if it is found earlier."""
    failing, found = tmp_path / "failing", tmp_path / "found"

    def wait_for(file: Path) -> None:
        for _ in range(1000 * (backend != "inline")):
            if file.exists():
                break
            time.sleep(0.01)

    class Failing(rx.Reactor):
        tick = rx.Timer("1 ms")

        @rx.reaction(tick)
        def fail(self) -> None:
            failing.touch()
            wait_for(found)
            time.sleep(0.1)  # until that has ended the run
            raise KeyError("mine")

    class Still(rx.Reactor):
        late = rx.Timer("2 ms")
        again = rx.LogicalAction()

        @rx.reaction(late, again, effects=again)
        def repeat(self) -> None:
            self.again.schedule()
            if self.tag.microstep == 9:
                wait_for(failing)
                found.touch()

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.failing, self.still = Failing(), Still()

    where: dict[str, Any] = {} if backend == "inline" else {"workers": 2, "placement": {"main.still": 1}}
    with pytest.raises(rx.ReactionError, match=r"^main.failing.fail at 1 ms raised KeyError: 'mine'"):
        rx.run(Main(), max_microsteps=10, fast=True, backend=backend, **where)


def test_an_exception_comes_out_with_reaction_tag_and_the_original_as_its_cause() -> None:
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
    with pytest.raises(rx.ReactionError) as caught:
        run(Pair(fail_stubbornly))
    assert "StubbornError: 1 and 2" in "".join(traceback.format_exception(caught.value))


def test_sys_exit_in_a_reaction_is_an_exception_like_others() -> None:
    with pytest.raises(rx.ReactionError) as caught:
        run(Pair(leave))
    assert isinstance(caught.value.__cause__, SystemExit)
    assert str(caught.value).endswith(
        "raised SystemExit: 4; to end the program let the reaction declare effects=rx.stop and call self.request_stop()"
    )


def test_the_shutdown_reactions_of_all_workers_run_and_their_attributes_come_back() -> None:
    main = Pair(fail)
    with pytest.raises(rx.ReactionError):
        run(main)
    assert main.actor.closed
    assert main.bystander.closed
    assert main.actor.ticks == 3


def test_nothing_from_outside_is_taken_after_a_failure_and_who_asks_is_reported() -> None:
    class Main(rx.Reactor):
        bell = rx.PhysicalAction()

        @rx.reaction(rx.startup)
        def fail(self) -> None:
            raise ValueError("no more")

        @rx.reaction(rx.shutdown, effects=bell)
        def ring(self) -> None:
            self.taken = self.bell.schedule(1)

    main = Main()
    with pytest.raises(rx.ReactionError):
        rx.run(main)
    assert main.taken is False
