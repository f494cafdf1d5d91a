"""Something goes wrong in one execution of a reaction, on purpose: the same one wherever the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reactors as rx
from reactors.testing import inject, trace

if TYPE_CHECKING:
    from reactors.elaboration.workers import Backend

WAYS: list[tuple[int, Backend]] = [(1, "inline"), (2, "thread"), (2, "process")]


class Camera(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    frame, number = rx.Output(shape=(2,), dtype=np.int64), rx.Output(int)

    @rx.reaction(tick, effects=(frame, number))
    def grab(self) -> None:
        self.frame.set(np.full(2, self.tag.time))
        self.number.set(self.tag.time // 1_000_000)


class Screen(rx.Reactor):
    frame, number = rx.Input(shape=(2,), dtype=np.int64), rx.Input(int)

    def __init__(self) -> None:
        self.shown: list[Any] = []

    @rx.reaction(frame, number)
    def show(self) -> None:
        frame = int(self.frame.value[0]) if self.frame.is_present else None
        self.shown.append((frame, self.number.value if self.number.is_present else None))

    @rx.reaction(rx.shutdown)
    def dark(self) -> None:
        self.shown.append("dark")


class Patient(Screen):
    @rx.reaction(Screen.frame)
    def look(self) -> None: ...

    @look.deadline("2 ms")
    def complain(self) -> None:
        self.shown.append("late")


class Film(rx.Reactor):
    def __init__(self, screen: type[Screen] = Screen) -> None:
        self.camera, self.screen = Camera(), screen()
        rx.connect(self.camera.frame, self.screen.frame)
        rx.connect(self.camera.number, self.screen.number)


@pytest.mark.parametrize(("workers", "backend"), WAYS)
def test_what_is_dropped_does_not_arrive_and_all_else_does(workers: int, backend: Backend) -> None:
    one, both = Film(), Film()
    with inject(one, at=("main.camera.grab", 2), drop=one.camera.frame) as program:
        rx.run(program, timeout="2 ms", fast=True, workers=workers, backend=backend)
    assert one.screen.shown == [(0, 0), (None, 1), (2_000_000, 2), "dark"]
    with inject(both, at=("main.camera.grab", "1 ms"), drop=True) as program:
        rx.run(program, timeout="2 ms", fast=True, workers=workers, backend=backend)
    assert both.screen.shown == [(0, 0), (2_000_000, 2), "dark"]


@pytest.mark.parametrize(("workers", "backend"), WAYS)
def test_a_reaction_that_raises_ends_the_program_which_shuts_down(workers: int, backend: Backend) -> None:
    main = Film()
    with (
        inject(main, at=("main.camera.grab", 3), raises=OSError("no such device")) as program,
        pytest.raises(rx.ReactionError, match=r"main\.camera\.grab at 2 ms raised OSError: no such device") as raised,
    ):
        rx.run(program, fast=True, workers=workers, backend=backend)
    assert isinstance(raised.value.__cause__, OSError)
    assert main.screen.shown[-1] == "dark"  # another worker may not have come so far
    if workers == 1:
        assert main.screen.shown == [(0, 0), (1_000_000, 1), "dark"]


@pytest.mark.parametrize(("workers", "backend"), WAYS)
def test_a_delay_makes_deadlines_be_missed_by_a_virtual_clock_exactly(workers: int, backend: Backend) -> None:
    main = Film(Patient)
    with inject(main, at=("main.camera.grab", rx.Tag(1_000_000, 0)), delay="2500 us") as program:
        rx.run(program, timeout="2 ms", workers=workers, backend=backend, clock=rx.VirtualClock(sleep=True))
    assert main.screen.shown == [(0, 0), (1_000_000, 1), "late", (2_000_000, 2), "dark"]


def test_a_worker_that_is_killed_is_named() -> None:
    with (
        inject(Film(), at=("main.screen.show", 2), kill=True) as program,
        pytest.raises(rx.WorkerDied, match=r"killed by SIGKILL in main\.screen\.show at tag 1 ms"),
    ):
        rx.run(program, fast=True, workers=2)


def test_who_tests_is_not_killed() -> None:
    with (
        inject(Film(), at="main.screen.show", kill=True) as program,
        pytest.raises(rx.ReactionError, match='nothing may kill; run it with backend="process"'),
    ):
        rx.run(program, fast=True)


def test_faults_are_nested_and_gone_afterwards() -> None:
    main = Film()
    with (
        inject(main, at=("main.camera.grab", 1), drop=True) as one,
        inject(one, at=("main.camera.grab", 2), drop=True) as both,
    ):
        assert [step.reaction for step in trace(both, fast=True, timeout="2 ms")] == [*["grab"] * 3, "show", "dark"]
    main.screen.shown.clear()
    rx.run(both, fast=True, timeout="1 ms")
    assert main.screen.shown == [(0, 0), (1_000_000, 1), "dark"]
    assert not [name for name in vars(main.camera) if name.startswith("fault")]


def test_what_did_not_happen_is_an_error_of_the_test() -> None:
    with (
        pytest.raises(AssertionError, match=r"there was no execution 20 of main\.camera\.grab; .* ran 3 times"),
        inject(Film(), at=("main.camera.grab", 20), drop=True) as program,
    ):
        rx.run(program, fast=True, timeout="2 ms")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"at": "main.camera.grap", "drop": True}, r"no reaction 'main\.camera\.grap' in main; did you mean"),
        ({"at": ("main.camera.grab", 0), "drop": True}, "counted from 1, and this is 0"),
        ({"at": "main.camera.grab"}, "takes one of drop, delay, raises and kill, and was given none"),
        ({"at": "main.camera.grab", "drop": True, "kill": True}, "and was given 2; nest several"),
        ({"at": "main.screen.show", "drop": True}, r"drop of inject is True, and main\.screen\.show writes no port"),
        ({"at": "main.camera.grab", "raises": "no"}, "raises of inject is 'no'; write an exception"),
    ],
)
def test_what_cannot_happen_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(rx.ArgumentError, match=said), inject(Film(), **arguments):
        pass
