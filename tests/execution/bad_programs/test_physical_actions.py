"""Physical actions with fast=True, and before and after a run."""

import threading
from typing import Any

import reactors as rx
from tests.execution.bad_programs.writer_and_reader import every_way

# Physical actions


class Button(rx.Reactor):
    tick = rx.Timer(0, "100 ms")
    pressed = rx.PhysicalAction(int)

    def __init__(self) -> None:
        self.answers: list[bool] = []
        self.seen: list[Any] = []

    @rx.reaction(tick, effects=pressed)
    def press(self) -> None:
        self.answers.append(self.pressed.schedule(self.tag.time))

    @rx.reaction(pressed)
    def see(self) -> None:
        self.seen.append((self.pressed.value, self.tag > rx.Tag(self.pressed.value, 0)))


@every_way
def test_physical_action_in_fast_mode(way: Any) -> None:
    """Gets the physical time since the start, or the next microstep if logical time is ahead of that."""
    button = Button()
    rx.run(button, fast=True, timeout="200 ms", keepalive=True, **{**way, "placement": "auto"})
    assert button.answers[:2] == [True, True]
    assert button.seen[:2] == [(0, True), (100_000_000, True)]


@every_way
def test_physical_action_before_and_after_the_run(way: Any) -> None:
    """Is refused, and says so."""
    button = Button()
    assert button.pressed.schedule(1) is False
    rx.run(button, fast=True, timeout=0, **{**way, "placement": "auto"})
    assert button.pressed.schedule(1) is False
    assert not [value for value, _ in button.seen if value == 1]


@every_way
def test_physical_action_as_a_callback_that_was_registered_before_the_run(way: Any) -> None:
    """Is taken while the program runs."""

    class Waiting(rx.Reactor):
        pressed = rx.PhysicalAction(int)

        def __init__(self) -> None:
            self.seen = 0

        @rx.reaction(pressed, effects=rx.stop)
        def see(self) -> None:
            self.seen = self.pressed.value
            self.request_stop()

    waiting = Waiting()
    callback, over = waiting.pressed.schedule, threading.Event()

    def press() -> None:
        while not callback(5) and not over.wait(0.001):
            pass

    thread = threading.Thread(target=press)
    thread.start()
    try:
        rx.run(waiting, timeout="60 s", **{**way, "placement": "auto"})
    finally:
        over.set()
        thread.join()
    assert waiting.seen == 5
