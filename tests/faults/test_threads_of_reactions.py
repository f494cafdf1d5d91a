"""What becomes of an exception in a thread that a reaction has started?"""

from __future__ import annotations

import threading
from typing import Any

import pytest

import reactors as rx


class Camera(rx.Reactor):
    def __init__(self) -> None:
        self.ended = 0

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.within(self.grab)
        self.within(lambda: self.within(self.grab))
        self.ended = 2

    def within(self, work: Any) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    def grab(self) -> None:
        raise ValueError("no picture")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("backend", ["inline", "thread"])
def test_it_names_the_reaction_and_the_program_goes_on(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a thread that such a thread has started."""
    found: list[BaseException] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: found.append(args.exc_value))
    main = Camera()
    rx.run(main, backend=backend)
    assert main.ended == 2
    assert [(str(each), each.__notes__) for each in found] == [
        ("no picture", ["in a thread that main.open at 0 s started"])
    ] * 2


def test_a_worker_process_prints_it(capfd: pytest.CaptureFixture[str]) -> None:
    rx.run(Camera(), backend="process")
    assert capfd.readouterr().err.count("ValueError: no picture\nin a thread that main.open at 0 s started\n") == 2
