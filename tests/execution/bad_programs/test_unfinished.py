"""What reactions leave undone: coroutines, generators, futures, threads of theirs."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import reactors as rx
from tests.execution.bad_programs.writer_and_reader import Writer, every_backend, failed
from tests.messages import marked

# What runs besides, or afterwards


async def fetch() -> int:  # @fetch
    return 1


def steps() -> Any:  # @steps
    yield 1


class Unfinished(rx.Reactor):
    def __init__(self, start: Callable[[], object]) -> None:
        self.start = start

    @rx.reaction(rx.startup)  # @begin
    def begin(self) -> Any:
        return self.start()


class TooLate(rx.Reactor):
    def __init__(self, start: Callable[[], object]) -> None:
        self.start = start

    @rx.reaction(rx.startup)
    def begin(self) -> None: ...

    @begin.deadline(0)  # @late
    def late(self) -> Any:
        return self.start()


UNFINISHED = (
    ", and nothing would run it: a reaction runs to its end at one tag; call what returns its result, or bring results "
    "from outside in through a physical action"
)


def raise_lookup_error() -> None:
    raise LookupError("nothing there")


@every_backend
def test_what_reactions_return_that_would_have_to_go_on(backend: Any) -> None:
    for main, words in (
        (Unfinished(fetch), "main.begin at 0 s raised TypeError: begin (@begin) returns a coroutine of fetch (@fetch)"),
        (Unfinished(steps), "main.begin at 0 s raised TypeError: begin (@begin) returns a generator of steps (@steps)"),
        (
            TooLate(fetch),
            "the deadline of main.begin at 0 s raised TypeError: late (@late) returns a coroutine of fetch (@fetch)",
        ),
    ):
        assert marked(failed(main, backend=backend)) == words + UNFINISHED
    rx.run(Unfinished(lambda: [1]), backend=backend)  # which is over


@every_backend
def test_exception_in_what_is_for_a_missed_deadline(backend: Any) -> None:
    error = failed(TooLate(raise_lookup_error), backend=backend)
    assert str(error) == "the deadline of main.begin at 0 s raised LookupError: nothing there"
    assert error.reaction == "main.begin"


@every_backend
def test_reactor_made_in_a_thread_that_a_reaction_started(backend: Any) -> None:
    class Making(rx.Reactor):
        def __init__(self) -> None:
            self.words: list[str] = []

        def make(self) -> None:
            try:
                Writer()  # @apart
            except rx.StructureError as error:
                self.words.append(str(error))

        @rx.reaction(rx.startup)
        def begin(self) -> None:
            thread = threading.Thread(target=self.make)
            thread.start()
            thread.join()
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self.make).result()

    main = Making()
    rx.run(main, backend=backend)
    words = (
        "a Writer is made at @apart inside of a reaction, where nothing nests: the graph of the program is fixed by "
        "then, and no other program runs in it; make it in __init__ and let it wait for its first input, or before or "
        "after this program"
    )
    assert [marked(each) for each in main.words] == [words, words]
    thread = threading.Thread(target=Writer)  # no reaction started this one
    thread.start()
    thread.join()
