import threading
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


class LongError(StubbornError):
    def __str__(self) -> str:
        return "the reason\n(see the manual)"


def fail_at_length(actor: Actor) -> None:
    error = LongError(1, 2)
    error.add_note("a hint")
    raise error


def test_of_an_exception_that_cannot_travel_all_lines_are_in_the_message() -> None:
    with pytest.raises(rx.ReactionError, match=r"LongError: the reason\n\(see the manual\)"):
        run(Pair(fail_at_length))


class MuteError(Exception):
    def __str__(self) -> str:
        raise AttributeError("no text")


def fail_without_a_word(actor: Actor) -> None:
    raise MuteError


@pytest.mark.parametrize("backend", ["thread", "process"])
def test_an_exception_whose_text_cannot_be_had_is_reported_all_the_same(backend: Literal["thread", "process"]) -> None:
    main = Pair(fail_without_a_word)
    with pytest.raises(rx.ReactionError, match=r"main.actor.act at 2 ms raised MuteError: \(no text: ") as caught:
        run(main, backend=backend)
    assert isinstance(caught.value.__cause__, MuteError)
    assert main.actor.closed
    assert main.bystander.closed


def test_what_a_missed_deadline_raised_and_the_reaction_caught_is_not_blamed_on_the_next() -> None:
    class Late(rx.Reactor):
        tick = rx.Timer()

        @rx.reaction(tick)
        def work(self) -> None:
            self.update_deadline(1)
            try:
                self.check_deadline(handle=True)
            except KeyError:
                self.caught = True

        @work.deadline("10 s")
        def late(self) -> None:
            raise KeyError("late")

    class Main(rx.Reactor):
        tick = rx.Timer("1 ms")

        def __init__(self) -> None:
            self.late = Late()

        @rx.reaction(tick)
        def other(self) -> None:
            raise ValueError("other")

    main = Main()
    with pytest.raises(rx.ReactionError, match=r"^main.other at 1 ms raised ValueError: other"):
        rx.run(main, fast=True)


def test_a_thread_that_asks_for_the_time_as_the_run_ends_gets_it_or_an_error() -> None:
    class Main(rx.Reactor):
        tick = rx.Timer(0, 1)

        def __init__(self) -> None:
            self.errors: list[BaseException] = []

        @rx.reaction(rx.startup)
        def begin(self) -> None:
            self.thread = threading.Thread(target=self.ask)
            self.thread.start()

        @rx.reaction(tick)
        def work(self) -> None: ...

        def ask(self) -> None:
            try:
                while True:
                    assert self.physical_time >= 0
                    assert self.tag.time >= 0
                    assert self.lag < 10**12
            except rx.OutsideReactionError as error:
                self.errors.append(error)

    for _ in range(30):
        main = Main()
        rx.run(main, fast=True, timeout=100)
        main.thread.join()
        assert len(main.errors) == 1


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
