"""Modes: which there are, and how one is entered (catalogue, section 10)."""

from typing import Any

import pytest

import reactors as rx
from tests.oracle.ways import note, trace
from tests.semantics.modal import Echo, Listener, Resetting, Talker, switching


def test_history_goes_on_where_the_mode_was_left() -> None:
    """Modes 6, 7, 10, 11: timers, actions and messages wait with what is left of their delay; startup once.

    Shutdown if ever entered.
    """
    assert trace(switching("history"), timeout=25) == {
        "main": [(10, 0, "to two"), (20, 0, "to one")],
        "main.first": [
            (0, 0, "startup"),
            (1, 0, "tick"),
            (5, 0, "tick"),
            (7, 0, "act", 1),
            (8, 0, "heard", 1),
            (9, 0, "tick"),
            (21, 0, "act", 5),
            (22, 0, "heard", 5),
            (23, 0, "tick"),
            (25, 0, "act", 9),
            (25, 0, "shutdown"),
        ],
        "main.second": [
            (10, 1, "startup"),
            (11, 0, "tick"),
            (15, 0, "tick"),
            (17, 0, "act", 11),
            (18, 0, "heard", 11),
            (19, 0, "tick"),
            (25, 0, "shutdown"),
        ],
    }


def test_reset_begins_again() -> None:
    """Modes 8, 10, one tag 4: what was pending is gone, timers begin at their offsets, reset reactions run."""
    assert trace(switching("reset"), timeout=25) == {
        "main": [(10, 0, "to two"), (20, 0, "to one")],
        "main.first": [
            (0, 0, "startup"),
            (1, 0, "tick"),
            (5, 0, "tick"),
            (7, 0, "act", 1),
            (8, 0, "heard", 1),
            (9, 0, "tick"),
            (20, 1, "reset"),
            (21, 0, "tick"),
            (25, 0, "tick"),
            (25, 0, "shutdown"),
        ],
        "main.second": [
            (10, 1, "startup"),
            (10, 1, "reset"),
            (11, 0, "tick"),
            (15, 0, "tick"),
            (17, 0, "act", 11),
            (18, 0, "heard", 11),
            (19, 0, "tick"),
            (25, 0, "shutdown"),
        ],
    }


def test_a_transition_takes_effect_when_the_tag_is_over() -> None:
    """Modes 3, 4, 5, one tag 7: the old mode's other reactions still run; of several modes set, the last counts.

    A zero timer fires at once.
    """

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b, c = rx.Mode(initial=True), rx.Mode(), rx.Mode()
            zero = rx.Timer(0, mode=c)

            @rx.reaction(rx.startup, effects=(b, c))
            def first(self) -> None:
                self.b.set()
                self.c.set()
                note(self, "first")

            @rx.reaction(rx.startup, mode=a)
            def second(self) -> None:
                note(self, "still a")

            @rx.reaction(rx.startup, mode=b)
            def never(self) -> None:
                note(self, "never b")

            @rx.reaction(rx.startup, zero, mode=c)
            def third(self) -> None:
                note(self, "c", self.zero.is_present)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program) == {"main": [(0, 0, "first"), (0, 0, "still a"), (0, 1, "c", True), (0, 2, "end")]}


@pytest.mark.parametrize("own", [False, True])
def test_state_is_renewed_by_reset_and_kept_by_history(own: bool) -> None:
    """Modes 8, 14: state of the mode, and of reactors inside of it; plain attributes keep their values.

    Whether the class declares it or `__init__` assigns it.
    """

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            tick = rx.Timer(1, 2)
            if not own:
                n = rx.State(lambda self: self.first)

            def __init__(self, first: int) -> None:
                self.first, self.plain = first, 0
                if own:
                    self.n = rx.State(lambda self: self.first)

            @rx.reaction(tick)
            def count(self) -> None:
                self.n += 1
                self.plain += 1
                note(self, self.n, self.plain)

        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            if not own:
                seen = rx.State([], mode=on)
            turn, back, again = rx.Timer(4), rx.Timer(5), rx.Timer(8)

            def __init__(self) -> None:
                with self.on:
                    self.inner = Inner(10)
                    if own:
                        self.seen = rx.State([])

            @rx.reaction(turn, again, effects=off)
            def leave(self) -> None:
                self.seen.append(self.tag.time)
                note(self, list(self.seen))
                self.off.set()

            @rx.reaction(back, effects=on.history)
            def resume(self) -> None:
                self.on.set()

            renewal = rx.Timer(9)

            @rx.reaction(renewal, effects=on.reset)
            def restart(self) -> None:
                self.on.set()

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, list(self.seen))

        return Main()

    assert trace(program, timeout=13) == {
        "main": [(4, 0, [4]), (8, 0, [4, 8]), (13, 0, [])],
        "main.inner": [
            (1, 0, 11, 1),
            (3, 0, 12, 2),
            (6, 0, 13, 3),
            (8, 0, 14, 4),
            (10, 0, 11, 5),
            (12, 0, 12, 6),
        ],
    }


def test_a_contained_reactor_is_put_into_a_mode_by_with_or_by_an_argument() -> None:
    """Modes 1: a mode holds instances: `with mode:` around them, or mode=..., are the same; the argument wins."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            tick = rx.Timer(1, 2)

            @rx.reaction(tick)
            def go(self) -> None:
                note(self)

        class Outer(rx.Reactor):
            tick = rx.Timer(0, 2)

            def __init__(self, n: int = 0, *, depth: int = 1) -> None:
                self.n = n
                self.inner = Outer(n, depth=depth - 1) if depth else Inner()

            @rx.reaction(tick)
            def go(self) -> None:
                note(self, self.n)

        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            turn = rx.Timer(4)

            def __init__(self) -> None:
                with self.b:
                    self.by_with = Outer(1)
                    self.by_argument = Outer(2, mode=self.a)  # pyright: ignore[reportCallIssue]
                    self.bank = rx.bank(2, Inner, mode=self.a)
                self.outside = Outer(3, depth=0, mode=None)  # pyright: ignore[reportCallIssue]

            @rx.reaction(turn, effects=b)
            def go(self) -> None:
                self.b.set()

        return Main()

    in_a, in_b = [(0, 0), (2, 0), (4, 0)], [(4, 1), (6, 0)]
    assert trace(program, timeout=6) == {
        "main.by_with": [(*tag, 1) for tag in in_b],
        "main.by_with.inner": [(*tag, 1) for tag in in_b],
        "main.by_with.inner.inner": [(5, 0)],
        "main.by_argument": [(*tag, 2) for tag in in_a],
        "main.by_argument.inner": [(*tag, 2) for tag in in_a],
        "main.by_argument.inner.inner": [(1, 0), (3, 0)],
        "main.bank[0]": [(1, 0), (3, 0)],
        "main.bank[1]": [(1, 0), (3, 0)],
        "main.outside": [(0, 0, 3), (2, 0, 3), (4, 0, 3), (6, 0, 3)],
        "main.outside.inner": [(1, 0), (3, 0), (5, 0)],
    }


def test_a_parameter_named_mode_is_the_reactors_own() -> None:
    """Modes 1: `mode=` is taken away from the arguments of a reactor, unless its __init__ has that parameter."""

    class Env(rx.Reactor):
        def __init__(self, mode: str = "human") -> None:
            self.how = mode

    class Atari(Env):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)

    class Plain(rx.Reactor):
        def __init__(self, **options: Any) -> None:
            self.options = options

    class Main(rx.Reactor):
        on = rx.Mode(initial=True)

        def __init__(self) -> None:
            self.envs = [Env(mode="rgb"), Atari(mode="depth"), *rx.bank(1, Env, mode=lambda i: f"bank {i}")]
            self.plain = Plain(mode=self.on, other=1)
            self.bank = rx.bank(2, Plain, mode=lambda i: [self.on, None][i])
            self.empty = rx.Reactor(mode=self.on)

    main = Main()
    assert [env.how for env in main.envs] == ["rgb", "depth", "bank 0"]
    assert [plain.options for plain in (main.plain, *main.bank)] == [{"other": 1}, {}, {}]
    rx.Graph(main)
    in_it = [main.plain, main.bank[0], main.empty]
    assert [child._mode for child in (*in_it, main.bank[1], *main.envs)] == [main.on] * 3 + [None] * 4


def test_what_is_wrong_with_modes() -> None:
    """Modes 1: exactly one is initial, and all are of one reactor; each error names it, and what to do."""

    class Bare(rx.Reactor):
        a, b = rx.Mode(), rx.Mode()

    with pytest.raises(
        rx.DeclarationError, match=r"none of them is the initial one; declare one with rx.Mode\(initial"
    ):
        rx.Graph(Bare())

    class Both(rx.Reactor):
        a, b = rx.Mode(initial=True), rx.Mode(initial=True)

    with pytest.raises(rx.DeclarationError, match="2 of them are the initial one"):
        rx.Graph(Both())

    class Undeclared(rx.Reactor):
        a, b = rx.Mode(initial=True), rx.Mode()

        @rx.reaction(rx.startup)
        def go(self) -> None:
            self.b.set()

    with pytest.raises(rx.ReactionError, match=r"main.b .* does not declare it; name it in the effects"):
        rx.run(Undeclared())

    class Two(rx.Reactor):
        a, b = rx.Mode(initial=True), rx.Mode()

        def __init__(self) -> None:
            self.x, self.y = Talker(), Talker()
            self.z = Listener()
            rx.connect(self.x.out, self.z.inp, mode=self.a)
            rx.connect(self.y.out, self.z.inp)

    with pytest.raises(rx.WiringError, match=r"two sources"):
        rx.Graph(Two())

    class Misled(rx.Reactor):
        def __init__(self, given: Any) -> None:
            self.child = Listener(mode=given)

    with pytest.raises(
        rx.ArgumentError, match=r"Listener \(.*test_modes.py:\d+\): mode is 'on', of type str; it has to be an rx.Mode"
    ):
        Misled("on")
    with pytest.raises(
        rx.ArgumentError, match=r"rx.bank \(.*test_modes.py:\d+\): mode is 3, of type int; it has to be an rx.Mode, for"
    ):
        rx.bank(2, Listener, mode=3)  # type: ignore[call-overload]
    with pytest.raises(
        rx.DeclarationError, match=r"main.child \(made at .*\) is put into .*, which is no mode of main"
    ):
        rx.Graph(Misled(Bare().a))

    class Elsewhere(rx.Reactor):
        def __init__(self, mode: rx.Mode) -> None:
            self.n = rx.State(0, mode=mode)

    with pytest.raises(
        rx.DeclarationError, match=r"main.n \(.*test_modes.py:\d+\) is put into .*, which is no mode of"
    ):
        rx.Graph(Elsewhere(Bare().a))

    class Circle(rx.Reactor):
        a = rx.Mode(initial=True)

        def __init__(self) -> None:
            self.x = Echo()
            rx.connect(self.x.out, self.x.inp, mode=self.a)

    with pytest.raises(rx.CausalityError, match=r"main.a: main.x.out -> main.x.inp.pass_on \(.*test_modes.py:\d+\)"):
        rx.Graph(Circle())

    class Unlucky(rx.Reactor):
        a = rx.Mode(initial=True)
        n = rx.State(lambda self: 1 / self.d, mode=a)

        def __init__(self) -> None:
            self.d = 1

        @rx.reaction(rx.startup, effects=a)
        def go(self) -> None:
            self.d = 0
            self.a.set()

    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Unlucky())
    assert "the first value of main.n, an rx.State" in str(getattr(caught.value.__cause__, "__notes__", ""))

    with pytest.raises(rx.DeclarationError, match=r"rx\.reset, and neither that nor the reactor lies in a mode"):
        rx.Graph(Resetting())

    with pytest.raises(rx.ArgumentError, match="a reaction enters a mode in one way"):

        class Twice(rx.Reactor):
            a = rx.Mode(initial=True)

            @rx.reaction(rx.startup, effects=(a.reset, a.history))
            def go(self) -> None: ...

    with pytest.raises(rx.OutsideReactionError, match="modes are entered by reactions"):
        Bare().a.set()
