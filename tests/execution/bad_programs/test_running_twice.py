"""A program that runs already, and reactors that belong to another program."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import reactors as rx
from reactors.stepwise import Stepwise
from tests.messages import refused


@pytest.mark.parametrize(("backend", "workers"), [("inline", 1), ("thread", 2), ("process", 1)])
@pytest.mark.parametrize("whole", [lambda main: main, rx.Graph], ids=["reactor", "graph"])
def test_a_program_that_runs_is_refused_to_a_second_thread(
    backend: Any, workers: int, whole: Callable[[rx.Reactor], Any]
) -> None:
    """Whatever the backend, and the first run does not notice."""

    class Waiting(rx.Reactor):
        done = rx.PhysicalAction(int)

        def __init__(self) -> None:
            self.got: list[int] = []

        @rx.reaction(done, effects=rx.stop)
        def end(self) -> None:
            self.got.append(self.done.value)
            self.request_stop()

    main = Waiting()  # @waiting
    program, begun = whole(main), threading.Event()
    options: Any = {"backend": backend, "workers": workers, "progress": lambda *_: begun.set()}
    first = threading.Thread(target=lambda: rx.run(program, **options))
    first.start()
    try:
        begun.wait()
        words = refused(rx.StructureError, lambda: rx.run(program, timeout=0))
    finally:
        while not main.done.schedule(7):
            time.sleep(0.001)
        first.join()
    assert words == (
        "main (made at @waiting) is running already, in this thread or another; wait for the end of that run, or make "
        "another one"
    )
    assert main.got == [7]
    rx.run(program, timeout=0)


class Part(rx.Reactor):
    tick = rx.Timer(0, "1 ms")

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()

    @rx.reaction(tick, effects=rx.stop)
    def wait(self) -> None:
        self.begun.set()
        self.end.wait()
        self.request_stop()


class Parts(rx.Reactor):
    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts


@pytest.mark.parametrize(("backend", "workers"), [("inline", 1), ("thread", 2), ("process", 2)])
@pytest.mark.parametrize("start", [rx.run, lambda main: Stepwise(main).advance()], ids=["run", "stepwise"])
def test_a_program_of_which_a_part_runs_by_itself_is_refused(
    backend: Any, workers: int, start: Callable[[rx.Reactor], object]
) -> None:
    part = Part()  # @part
    main = Parts([Part(), part])
    first = threading.Thread(target=lambda: start(part))
    first.start()
    try:
        part.begun.wait()
        words = refused(rx.StructureError, lambda: rx.run(main, backend=backend, workers=workers, timeout=0))
    finally:
        part.end.set()
        first.join()
    assert words == (
        "main.parts[1] (made at @part) is running already by itself, in this thread or another; wait for the end of "
        "that run, or make another one"
    )


def test_a_graph_of_what_has_become_a_part_of_another_program_is_not_run() -> None:
    part = Part()  # @part
    graph = rx.Graph(part)
    rx.Graph(Parts([Part(), part]))
    assert refused(rx.ContainmentError, lambda: rx.run(graph, timeout=0)) == (
        "main.parts[1] (made at @part) is contained in main, a Parts; run that, or make another Part"
    )


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_a_reactor_is_refused_to_threads_of_its_own_reactions(backend: Any) -> None:
    class Again(rx.Reactor):
        @rx.reaction(rx.startup)
        def begin(self) -> None:
            thread = threading.Thread(target=self.run_again)
            thread.start()
            thread.join()

        def run_again(self) -> None:
            try:
                rx.run(self)
            except rx.ReactorError as error:
                self.words = type(error).__name__, "or of a thread that one started" in str(error)

    main = Again()
    rx.run(main, backend=backend)
    assert main.words == ("StructureError", True)
