"""Ports, timers, actions and modes where they have no business: every public name of theirs refuses, and says which.

Kept beyond the run, used in `__init__`, in a reaction that does not declare them, in a thread of the user's own, on
another worker; copied and pickled.
"""

from __future__ import annotations

import copy
import pickle
import re
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")  # what nothing drives is among them

# What says how a thing was declared, and is known at any time.
DECLARED = {"name", "path", "word", "location", "offers", "where", "dtype", "shape", "width", "reset", "history"}
ARGUMENTS: dict[str, Any] = {"set": [1, 2], "set_all": [1, 2], "schedule": 1}
CALLS: dict[str, tuple[Any, ...]] = {"set": ([1, 2],), "set_all": ([1, 2],), "loan": (), "schedule": (1, "1 ms")}
SOURCES = ["number", "thing", "array", "scalar", "many", "block"]
REFUSED = (rx.OutsideReactionError, rx.UndeclaredAccessError)


class Source(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    again, pressed = rx.LogicalAction(int), rx.PhysicalAction(int)
    number, thing, array = rx.Output(int), rx.Output(), rx.Output(shape=(2,), dtype=np.float32)
    scalar, many = rx.Output(dtype=np.int64), rx.Output(int, width=2)
    block = rx.Output(shape=(2,), dtype=np.float32, width=2)
    first, second = rx.Mode(initial=True), rx.Mode()

    @rx.reaction(tick, again, pressed, effects=[*map(vars().get, SOURCES), again, pressed, first, second])  # type: ignore[list-item]
    def go(self) -> None:
        keep(self, ["tick", "again", "pressed", "first", "second", *SOURCES])

    over = rx.Output(int)

    @rx.reaction(tick, effects=over)
    def say(self) -> None:
        self.over.set(1)


class Sink(rx.Reactor):
    number, thing, array = rx.Input(int), rx.Input(), rx.Input(shape=(2,), dtype=np.float32)
    scalar, many = rx.Input(dtype=np.int64), rx.Input(int, width=2)
    block = rx.Input(shape=(2,), dtype=np.float32, width=2)
    own, nothing = rx.Input(mutable=True), rx.Input(int)
    own_block = rx.Input(shape=(2,), dtype=np.float32, width=2, mutable=True)

    @rx.reaction(rx.startup, uses=[*map(vars().get, SOURCES), own, own_block, nothing])  # type: ignore[list-item]
    def see(self) -> None:
        keep(self, [*SOURCES, "own", "own_block", "nothing"])


class Stranger(rx.Reactor):
    """Declares none of it, and waits until a source has run, and a tick is over at which it does."""

    over = rx.Input(int)

    def __init__(self, do: Callable[[], None]) -> None:
        self.do = do

    @rx.reaction(over)
    def look(self) -> None:
        self.do()


class Program(rx.Reactor):
    def __init__(self, do: Callable[[], None] = lambda: None) -> None:
        self.source, self.sink, self.stranger = Source(), Sink(), Stranger(do)
        for name in SOURCES:
            rx.connect(getattr(self.source, name), getattr(self.sink, name))
        rx.connect(self.source.thing, self.sink.own)
        rx.connect(self.source.block, self.sink.own_block)
        rx.connect(self.source.over, self.stranger.over, after="100 us")


kept: dict[str, Any] = {}
methods: dict[str, Callable[[], Any]] = {}  # bound, and so of the class that the thing had then


def keep(reactor: Any, names: list[str]) -> None:
    for name in names:
        thing = kept[f"{reactor.path}.{name}"] = getattr(reactor, name)
        if getattr(thing, "width", None) is not None:
            kept[f"{thing.path}[1]"] = thing[1]
    for path in [path for path in kept if path.startswith(f"{reactor.path}.")]:
        for name, given in CALLS.items():
            if hasattr(kept[path], name):
                method = getattr(kept[path], name)
                methods[f"{path}: .{name}"] = method if isinstance(kept[path], rx.Mode) else partial(method, *given)


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    yield
    kept.clear()
    methods.clear()


def uses(thing: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every public name of a thing that is of one tag, used in every way."""

    def read(name: str) -> Any:
        found = getattr(thing, name)
        if not callable(found):
            return found
        return found(ARGUMENTS[name]) if name in ARGUMENTS and not isinstance(thing, rx.Mode) else found()

    for name in {name for name in dir(type(thing)) if not name.startswith("_")} - DECLARED:
        yield f".{name}", lambda name=name: read(name)  # type: ignore[misc]
        if isinstance(vars_of(type(thing), name), property):
            yield f".{name} = 5", lambda name=name: setattr(thing, name, 5)  # type: ignore[misc]


def vars_of(kind: type, name: str) -> Any:
    return next(vars(base)[name] for base in kind.__mro__ if name in vars(base))


def not_refused(things: dict[str, Any]) -> list[str]:
    """The uses of things that no error of ours refuses which names the thing."""
    wrong: list[str] = []
    for path, thing in things.items():
        for use, do in uses(thing):
            if isinstance(thing, rx.PhysicalAction) and use == ".schedule":
                continue  # any thread may call it
            try:
                found = do()
            except (*REFUSED, TypeError) as error:
                # Python's own errors know no paths.
                if not re.match(rf"{re.escape(path)}(\[\d\])?[ :]", str(error)):
                    wrong.append(f"{path}{use}: {type(error).__name__}: {error}")
            except Exception as error:  # noqa: BLE001 - whatever it is
                wrong.append(f"{path}{use}: {type(error).__name__}: {error}")
            else:
                wrong.append(f"{path}{use} gives {found!r}")
    return wrong


ALL = 11 + 2 + 9 + 3  # ports, timers, actions and modes, and a channel of each multiport


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(("workers", "backend"), [(1, "inline"), (2, "thread"), (3, "thread")])
def test_what_is_kept_beyond_the_run_refuses_whatever_is_asked_of_it(workers: int, backend: Any, debug: bool) -> None:
    main = Program()
    rx.run(main, fast=True, timeout="2 ms", workers=workers, backend=backend, debug=debug)
    assert len(kept) == ALL
    assert not_refused(kept) == []
    assert kept["main.source.pressed"].schedule(1) is False


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    ("workers", "backend", "fast"),
    [(1, "inline", True), (1, "inline", False), (2, "thread", True), (3, "thread", True)],
)
def test_methods_that_are_kept_beyond_the_run_refuse_likewise(
    workers: int, backend: Any, fast: bool, debug: bool
) -> None:
    rx.run(Program(), fast=fast, timeout="2 ms", workers=workers, backend=backend, debug=debug)
    assert methods.pop("main.source.pressed: .schedule")() is False
    assert len(methods) > ALL
    for called, method in methods.items():
        path, _, _ = called.partition(": ")
        with pytest.raises((*REFUSED, TypeError), match=rf"^{re.escape(path)}(\[\d\])?[ :]"):
            method()


@pytest.mark.parametrize("debug", [False, True])
def test_what_a_multiport_is_made_of_is_known_to_methods_that_are_kept(debug: bool) -> None:
    class Wide(rx.Reactor):
        out = rx.Output(int, width=2)

        @rx.reaction(rx.startup, effects=out)
        def go(self) -> None:
            found.extend((self.out.__getitem__, self.out.__len__, self.out.__iter__))

    found: list[Any] = []
    main = Wide()
    rx.run(main, fast=True, debug=debug)
    item, length, iterator = found
    assert item(1) is main.out[1]
    assert (item(-1), item(slice(1, 2)), length(), [*iterator()]) == (main.out[1], [main.out[1]], 2, [*main.out])


def test_what_is_not_kept_refuses_before_the_run_as_after_it() -> None:
    main = Program()
    keep(main.source, ["tick", "again", "pressed", "first", "second", *SOURCES])
    keep(main.sink, [*SOURCES, "own", "own_block", "nothing"])
    named = {thing.path: thing for thing in kept.values()}
    assert len(named) == ALL
    assert not_refused(named) == []
    assert named["Source.pressed"].schedule(1) is False
    rx.run(main, fast=True, timeout="2 ms")
    assert not_refused({thing.path: thing for thing in named.values()}) == []


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(("workers", "backend"), [(1, "inline"), (3, "thread")])
def test_another_reaction_cannot_use_it_on_its_own_worker_nor_elsewhere(
    workers: int, backend: Any, debug: bool
) -> None:
    wrong: list[str] = []
    main = Program(lambda: wrong.extend(not_refused(kept)))
    rx.run(main, fast=True, timeout="0.5 ms", workers=workers, backend=backend, debug=debug)
    assert not wrong, "\n".join(wrong)


def test_a_thread_of_the_users_own_cannot_use_it_while_the_program_runs() -> None:
    wrong: list[str] = []

    def look() -> None:
        thread = threading.Thread(target=lambda: wrong.extend(not_refused(kept)))
        thread.start()
        thread.join()

    rx.run(Program(look), fast=True, timeout="1 ms")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("workers", "backend"), [(1, "inline"), (3, "thread")])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_while_the_program_runs_it_is_neither_copied_nor_pickled(
    workers: int, backend: Any, copied: Callable[[Any], Any]
) -> None:
    said: list[str] = []

    def look() -> None:
        for path, thing in kept.items():
            if isinstance(thing, rx.Mode):
                continue
            with pytest.raises(pickle.PicklingError, match=f"{re.escape(path)} .*neither copied nor pickled"):
                copied(thing)
            said.append(path)

    rx.run(Program(look), fast=True, timeout="1 ms", workers=workers, backend=backend, placement={"main": 0})
    assert len(said) == ALL - 2


def test_a_thread_that_schedules_what_a_reaction_kept_hears_that_the_program_has_ended() -> None:
    """It may be about to call that when the run ends."""
    answers: list[bool] = []
    begun, ended = threading.Event(), threading.Event()

    class Listens(rx.Reactor):
        pressed = rx.PhysicalAction(int)

        @rx.reaction(rx.startup)
        def start(self) -> None:
            threading.Thread(target=press, args=(self.pressed.schedule,)).start()
            begun.wait()

        @rx.reaction(pressed, effects=rx.stop)
        def hear(self) -> None:
            self.request_stop()

    def press(schedule: Callable[[int], bool]) -> None:
        answers.append(schedule(1))
        begun.set()
        while schedule(2):
            pass
        answers.append(False)
        ended.set()

    rx.run(Listens())
    ended.wait()
    assert answers == [True, False]
