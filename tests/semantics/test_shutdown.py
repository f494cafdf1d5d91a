"""Shutdown reactions, also of a program that fails (catalogue, section 3)."""

from typing import Any

import pytest

import reactors as real
from tests.oracle.ways import TOGETHER, Way, note, trace


def test_what_is_set_with_shutdown_travels_but_what_is_scheduled_does_not() -> None:
    """The end 3: outputs of shutdown reactions arrive at the stop tag; beyond it there is nothing."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(str)
            later = rx.LogicalAction()

            @rx.reaction(rx.shutdown, effects=(out, later))
            def end(self) -> None:
                self.out.set("bye")
                self.later.schedule()

            @rx.reaction(later)
            def never(self) -> None:
                note(self, "never")

        class Sink(rx.Reactor):
            now, soon = rx.Input(str), rx.Input(str)

            @rx.reaction(now, soon)
            def see(self) -> None:
                note(self, self.now.value, self.soon.value)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.now)
                rx.connect(self.source.out, self.sink.soon, after=0)

        return Main()

    assert trace(program) == {"main.sink": [(0, 1, "bye", None), (0, 1, "end")]}


def test_shutdown_reactions_are_ordered_with_the_others_of_their_tag() -> None:
    """The end 3, one tag 3: by declaration in one reactor, and by ports between reactors, of which some only read."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out, tick = rx.Output(str), rx.Timer(0, 3)

            @rx.reaction(rx.shutdown, effects=out)
            def end(self) -> None:
                note(self, "end")
                self.out.set("last words")

            @rx.reaction(tick, effects=out)
            def go(self) -> None:
                note(self, self.out.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source = Source()
                self.add_reaction(rx.shutdown, self.end, uses=self.source.out)

            def end(self) -> None:
                note(self, self.source.out.value)

        return Main()

    assert trace(program, timeout=3) == {
        "main.source": [(0, 0, None), (3, 0, "end"), (3, 0, "last words")],
        "main": [(3, 0, "last words")],
    }


def test_startup_and_shutdown_share_the_only_tag_of_a_timeout_of_zero() -> None:
    """The end 4: one reaction with both triggers runs once.

    Values set there arrive, actions and delayed messages do not.
    """

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out, act = rx.Output(int), rx.LogicalAction()

            @rx.reaction(rx.startup, rx.shutdown, effects=(out, act))
            def both(self) -> None:
                note(self, "both")
                self.out.set(1)
                self.act.schedule()

            @rx.reaction(act)
            def never(self) -> None:
                note(self, "never")

        class Sink(rx.Reactor):
            now, soon = rx.Input(int), rx.Input(int)

            @rx.reaction(now, soon)
            def see(self) -> None:
                note(self, self.now.value, self.soon.value)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.now)
                rx.connect(self.source.out, self.sink.soon, after=0)

        return Main()

    assert trace(program, timeout=0) == {"main.source": [(0, 0, "both")], "main.sink": [(0, 0, 1, None)]}


@pytest.mark.parametrize("fails", ["before", "first", "third", "last"])
@pytest.mark.parametrize("way", TOGETHER, ids=str)
def test_shutdown_reactions_run_once_though_a_reaction_fails_at_the_stop_tag(way: Way, fails: str) -> None:
    """The end 9: those that have run do not run again, even if they failed; those that have not run still do."""

    class Ending(real.Reactor):
        tick = real.Timer(0, 1)

        def __init__(self, name: str) -> None:
            self.name, self.ends = name, 0

        @real.reaction(tick, real.shutdown)  # often enough before to be run with others, and not alone
        def step(self) -> None:
            if self.tag.time < 50:
                return
            self.ends += 1
            if self.name == fails:
                raise ValueError(fails)

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    class Main(real.Reactor):
        last = real.Timer(50)

        def __init__(self) -> None:
            self.all = [Ending(name) for name in ("first", "second", "third", "fourth", "last")]

        @real.reaction(last)
        def fail(self) -> None:
            if fails == "before":
                raise ValueError(fails)

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    main = Main()
    paths = ["main", *(f"main.all[{k}]" for k in range(5))]
    with pytest.raises(real.ReactionError, match=rf"at 50 ns raised ValueError: {fails}"):
        way.run(main, paths, timeout=50)
    assert main.log == [(50, 0, "end")]  # type: ignore[attr-defined]
    assert [each.ends for each in main.all] == [1] * 5
    assert [each.log for each in main.all] == [[(50, 0, "end")]] * 5  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", TOGETHER, ids=str)
def test_an_exception_ends_the_program_with_its_shutdown_reactions(way: Way) -> None:
    """The end 9: what else was to happen at its tag does not; shutdown follows a microstep later, then the error."""

    class Main(real.Reactor):
        tick = real.Timer(0, 2)

        @real.reaction(tick)
        def go(self) -> None:
            note(self, "go")
            if self.tag.time == 2:
                raise ValueError("enough")

        @real.reaction(tick)
        def follow(self) -> None:
            note(self, "follow")

        @real.reaction(real.shutdown)
        def end(self) -> None:
            note(self, "end")

    main = Main()
    with pytest.raises(real.ReactionError, match=r"main.go at 2 ns raised ValueError: enough") as caught:
        way.run(main, ["main"])
    assert isinstance(caught.value.__cause__, ValueError)
    assert main.log == [(0, 0, "go"), (0, 0, "follow"), (2, 0, "go"), (2, 1, "end")]  # type: ignore[attr-defined]
