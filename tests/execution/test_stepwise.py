"""A program that runs a step at a time stops where it is asked to, goes on, and ends in every way without a trace."""

import _thread
import gc
import signal
import threading
import time
from typing import Any

import pytest

import reactors as rx
from reactors import stepwise
from reactors.stepwise import Stepwise


class Echo(rx.Reactor):
    asked = rx.Input()
    answer = rx.Output()

    def __init__(self, wrong: str = "") -> None:
        self.wrong, self.ended = wrong, False

    @rx.reaction(asked, effects=answer)
    def reply(self) -> None:
        if self.wrong == "raises" and self.asked.value == 3:
            raise LookupError("three")
        if self.wrong == "slow":
            time.sleep(0.3)
        if self.wrong == "hangs":
            time.sleep(1000)
        self.answer.set(2 * self.asked.value)

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        if self.wrong == "fails at the end":
            raise LookupError("at the end")
        self.ended = True


class Asking(rx.Reactor):
    """Every step asks for the next number; every answer is a pause."""

    turn = rx.LogicalAction()
    question = rx.Output()
    heard = rx.Input()
    number = 0
    last = 0
    wrong: Any = None
    pause: Any = None
    ended = False

    @rx.reaction(rx.startup, turn, effects=question)
    def ask(self) -> None:
        self.number += 1
        if self.wrong is not None and self.number == 3:
            self.wrong()
        self.question.set(self.number)

    @rx.reaction(heard, effects=(turn, rx.stop))
    def hear(self) -> None:
        self.last = self.heard.value
        self.pause()
        if self.number == 5:
            self.request_stop()
        else:
            self.turn.schedule()

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        self.ended = True


class Talk(rx.Reactor):
    def __init__(self, wrong: str = "") -> None:
        self.asking, self.echo = Asking(), Echo(wrong)
        rx.connect(self.asking.question, self.echo.asked)
        rx.connect(self.echo.answer, self.asking.heard, after=0)


def talk(workers: int, wrong: str = "") -> tuple[Talk, Stepwise]:
    main = Talk(wrong)
    run = Stepwise(main, workers=workers, placement={"main.asking": 0, "main.echo": workers - 1})
    main.asking.pause = run.pause
    return main, run


def to_the_end(run: Stepwise) -> None:
    while run.advance():
        pass


WORKERS = pytest.mark.parametrize("workers", [1, 2])


@WORKERS
def test_it_comes_out_at_every_pause(workers: int) -> None:
    main, run = talk(workers)
    for n in range(1, 5):
        assert not run.over
        assert run.advance()
        assert (main.asking.number, main.asking.last) == (n, 2 * n)
        assert run.result is None
    to_the_end(run)
    assert run.over
    with pytest.raises(rx.OutsideReactionError, match=r"main\.asking .*: \.tag outside of a reaction"):
        _ = main.asking.tag
    assert run.result is not None
    assert main.asking.last == 10
    assert (main.asking.ended, main.echo.ended) == (True, True)
    assert not run.advance()
    run.close()


def test_it_comes_out_at_a_pause_in_a_tag_that_resets_a_mode() -> None:
    class Modal(rx.Reactor):
        only = rx.Mode(initial=True)
        tick = rx.Timer(0, "1 ms")

        def __init__(self) -> None:
            self.ticks = 0

        @rx.reaction(tick, effects=only)
        def step(self) -> None:
            self.ticks += 1
            run.pause()
            self.only.set()

    main = Modal()
    run = Stepwise(main)
    for n in range(1, 5):
        assert run.advance()
        assert main.ticks == n
    run.close()


@WORKERS
def test_it_is_the_same_run_as_one_in_one_go(workers: int) -> None:
    main, run = talk(workers)
    to_the_end(run)
    whole = Talk()
    whole.asking.pause = lambda: None
    result = rx.run(whole, fast=True)
    assert run.result is not None
    assert (run.result.reactions, run.result.digest) == (result.reactions, result.digest)
    assert main.asking.last == whole.asking.last


@WORKERS
def test_the_callers_reactors_are_the_callers_own_objects(workers: int) -> None:
    main, run = talk(workers)
    run.advance()
    main.asking.number = 4
    run.advance()
    assert main.asking.last == 10
    run.close()


@WORKERS
def test_closing_in_the_middle_runs_the_shutdown_reactions(workers: int) -> None:
    main, run = talk(workers)
    run.advance()
    run.close()
    run.close()
    assert run.over
    assert (main.asking.ended, main.echo.ended) == (True, True)
    assert main.asking.last == 2
    assert not run.advance()


@WORKERS
def test_a_shutdown_reaction_that_fails_on_closing_is_named(workers: int) -> None:
    main, run = talk(workers, "fails at the end")
    run.advance()
    with pytest.raises(rx.ReactionError, match=r"main\.echo\.end at .* raised LookupError: at the end"):
        run.close()
    assert run.over
    assert main.asking.ended


def test_closing_before_the_first_step() -> None:
    main, run = talk(2)
    run.close()
    assert main.asking.ended


@WORKERS
def test_an_error_ends_the_run_and_names_the_reaction(workers: int) -> None:
    main, run = talk(workers, "raises")
    run.advance()
    run.advance()
    with pytest.raises(rx.ReactionError, match=r"main\.echo\.reply") as caught:
        run.advance()
    assert isinstance(caught.value.__cause__, LookupError)
    assert run.over
    assert main.asking.ended
    run.close()


def test_an_error_on_the_callers_worker_ends_all() -> None:
    main, run = talk(2)
    main.asking.wrong = lambda: 1 // 0
    run.advance()
    run.advance()
    with pytest.raises(rx.ReactionError, match=r"main\.asking\.ask") as caught:
        run.advance()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert main.echo.ended


def test_a_timeout_leaves_the_step_to_be_waited_for() -> None:
    main, run = talk(2, "slow")
    assert not run.advance(0.05)
    assert not run.over
    assert main.asking.last == 0
    assert run.advance()
    assert main.asking.last == 2
    run.close()


def test_ctrl_c_in_a_reaction_ends_the_run() -> None:
    main, run = talk(2)

    def press() -> None:
        raise KeyboardInterrupt

    main.asking.wrong = press
    run.advance()
    run.advance()
    with pytest.raises(KeyboardInterrupt):
        run.advance()
    assert run.over
    assert main.asking.ended
    run.close()


def test_ctrl_c_while_it_waits_ends_the_run() -> None:
    main, run = talk(2, "slow")
    key = threading.Timer(0.1, _thread.interrupt_main)
    key.start()
    with pytest.raises(KeyboardInterrupt):
        to_the_end(run)
    key.join()
    run.close()
    assert run.over
    assert main.asking.ended


def test_a_signal_handler_that_raises_while_workers_are_waited_for_leaves_none_behind() -> None:
    def raises(*_: object) -> None:
        raise LookupError("no time")

    _, run = talk(2, "hangs")
    assert not run.advance(0.1)
    before = signal.signal(signal.SIGALRM, raises)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(LookupError, match="no time"):
            run.close()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert run.over


WIDTH, ROUNDS = 200, 20  # together more than the ring between two workers has room for


class Source(rx.Reactor):
    tick, end = rx.Timer(0, 1), rx.Timer(90)
    number = rx.Output()

    @rx.reaction(tick, effects=number)
    def send(self) -> None:
        if self.tag.time < ROUNDS:
            self.number.set(self.tag.time)

    @rx.reaction(end, effects=rx.stop)
    def stop(self) -> None:
        self.request_stop()


class Slow(rx.Reactor):
    numbers = rx.Input(width=WIDTH)

    def __init__(self) -> None:
        self.heard: list[list[int]] = []

    @rx.reaction(rx.startup)
    def open(self) -> None:
        time.sleep(0.2)  # longer than a worker waits without looking around

    @rx.reaction(numbers)
    def hear(self) -> None:
        self.heard.append([port.value for port in self.numbers])


class Stream(rx.Reactor):
    def __init__(self) -> None:
        self.sources, self.slow = rx.bank(WIDTH, Source), Slow()
        rx.connect(self.sources.number, self.slow.numbers, after=50)


def test_nothing_is_lost_while_the_caller_waits_for_room() -> None:
    main = Stream()
    to_the_end(Stepwise(main, workers=2, placement=lambda path: int(path == "main.slow")))
    assert main.slow.heard == [[k] * WIDTH for k in range(ROUNDS)]


def test_two_at_once_do_not_disturb_each_other() -> None:
    (first, one), (second, two) = talk(2), talk(1)
    one.advance()
    two.advance()
    two.advance()
    one.advance()
    one.advance()
    assert (first.asking.last, second.asking.last) == (6, 4)
    two.close()
    assert one.advance()
    assert first.asking.last == 8
    one.close()


@WORKERS
def test_nothing_is_left_of_one_that_is_forgotten(workers: int) -> None:
    main, run = talk(workers)
    run.advance()
    del main, run
    gc.collect()


def test_a_reaction_that_never_returns_does_not_hold_up_one_that_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepwise, "PATIENCE_S", 0.1)
    main, run = talk(2, "hangs")
    assert not run.advance(0.1)
    del main, run
    gc.collect()


def test_nothing_is_left_of_one_that_cannot_start() -> None:
    with pytest.raises(rx.ReactorError):
        Stepwise(Talk(), workers=2, placement={"main.nobody": 1})
