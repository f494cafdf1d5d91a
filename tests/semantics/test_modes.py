"""Modes: who takes part when, and what becomes of time meanwhile (catalogue, section 10)."""

from typing import Any

import pytest

import reactors as rx
from tests.oracle.ways import note, trace


def switching(how: str) -> Any:
    """Two modes that take turns at 10, 20, 30 and so on, each with a timer, an action and a delayed connection."""

    def program(rx: Any) -> Any:
        class Part(rx.Reactor):
            inp, out = rx.Input(), rx.Output()
            tick, act = rx.Timer(1, 4), rx.LogicalAction()

            @rx.reaction(rx.startup)
            def begin(self) -> None:
                note(self, "startup")

            @rx.reaction(rx.reset)
            def again(self) -> None:
                note(self, "reset")

            @rx.reaction(tick, effects=(act, out))
            def go(self) -> None:
                note(self, "tick")
                self.act.schedule(self.tag.time, delay=6)
                self.out.set(self.tag.time)

            @rx.reaction(act)
            def done(self) -> None:
                note(self, "act", self.act.value)

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, "heard", self.inp.value)

            @rx.reaction(rx.shutdown)
            def end(self) -> None:
                note(self, "shutdown")

        class Main(rx.Reactor):
            one, two, never = rx.Mode(initial=True), rx.Mode(), rx.Mode()
            turn = rx.Timer(10, 10)

            def __init__(self) -> None:
                with self.one:
                    self.first = Part()
                    rx.connect(self.first.out, self.first.inp, after=7)
                with self.two:
                    self.second = Part()
                    rx.connect(self.second.out, self.second.inp, after=7)
                with self.never:
                    self.third = Part()

            @rx.reaction(turn, effects=getattr(two, how), mode=one)
            def to_two(self) -> None:
                note(self, "to two")
                self.two.set()

            @rx.reaction(turn, effects=getattr(one, how), mode=two)
            def to_one(self) -> None:
                note(self, "to one")
                self.one.set()

        return Main()

    return program


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


def test_reset_begins_anew() -> None:
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

            anew = rx.Timer(9)

            @rx.reaction(anew, effects=on.reset)
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


def test_modes_inside_of_modes() -> None:
    """Modes 2, 8: inactive if any mode around is; a reset sends contained modal reactors to their initial mode."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            x, y = rx.Mode(initial=True), rx.Mode()
            step = rx.Timer(2, 2)

            @rx.reaction(step, mode=x, effects=y.history)
            def in_x(self) -> None:
                note(self, "x")
                self.y.set()

            @rx.reaction(step, mode=y)
            def in_y(self) -> None:
                note(self, "y")

            @rx.reaction(rx.reset, mode=x)
            def reset_x(self) -> None:
                note(self, "reset x")

            @rx.reaction(rx.reset, mode=y)
            def reset_y(self) -> None:
                note(self, "reset y")

        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            away, back, away_again, anew = rx.Timer(5), rx.Timer(8), rx.Timer(11), rx.Timer(12)

            def __init__(self) -> None:
                with self.on:
                    self.inner = Inner()

            @rx.reaction(away, away_again, effects=off)
            def leave(self) -> None:
                self.off.set()

            @rx.reaction(back, effects=on.history)
            def resume(self) -> None:
                self.on.set()

            @rx.reaction(anew, effects=on.reset)
            def restart(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, timeout=16) == {
        "main.inner": [
            (2, 0, "x"),
            (4, 0, "y"),
            (9, 0, "y"),
            (11, 0, "y"),
            (12, 1, "reset x"),
            (14, 0, "x"),
            (16, 0, "y"),
        ]
    }


def test_a_self_transition_renews_what_is_pending() -> None:
    """Modes 12: by reset, also what the active mode itself had scheduled."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            only = rx.Mode(initial=True)
            with only:
                tick = rx.Timer(0, 3)
                act = rx.LogicalAction()

                @rx.reaction(tick, effects=(act, only))
                def go(self) -> None:
                    note(self, "tick")
                    self.act.schedule(delay=2)
                    if self.tag == (3, 0):
                        self.only.set()

                @rx.reaction(act)
                def heard(self) -> None:
                    note(self, "act")

                @rx.reaction(rx.reset)
                def again(self) -> None:
                    note(self, "reset")

        return Main()

    assert trace(program, timeout=7) == {
        "main": [
            (0, 0, "tick"),
            (2, 0, "act"),
            (3, 0, "tick"),
            (3, 1, "tick"),
            (3, 1, "reset"),
            (5, 0, "act"),
            (6, 0, "tick"),
        ]
    }


def test_connections_of_modes_share_a_port() -> None:
    """Modes 2, ports 9: each carries something while its mode is active; and so may a reaction of a mode."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            tick, late, out = rx.Timer(0, 2), rx.Timer(1, 2), rx.Output()

            def __init__(self, first: int) -> None:
                self.first = first

            @rx.reaction(tick, late, effects=out)
            def go(self) -> None:
                if self.tag.time % 2 == self.first:
                    self.out.set((self.first, self.tag.time))

        class Sink(rx.Reactor):
            inp = rx.Input()

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Main(rx.Reactor):
            a, b, c = rx.Mode(initial=True), rx.Mode(), rx.Mode()
            turn = rx.Timer(4, 4)
            inp = rx.Input()

            def __init__(self) -> None:
                self.even, self.odd, self.sink = Source(0), Source(1), Sink()
                rx.connect(self.even.out, self.sink.inp, mode=self.a)
                with self.b:
                    rx.connect(self.odd.out, self.sink.inp, after=2)
                self.add_reaction(self.odd.out, self.third, effects=self.sink.inp, mode=self.c)

            def third(self) -> None:
                self.sink.inp.set("c")

            @rx.reaction(turn, effects=(a.history, b.history, c.history))
            def switch(self) -> None:
                [self.a, self.b, self.c][self.tag.time // 4 % 3].set()

        return Main()

    assert trace(program, timeout=17) == {
        "main.sink": [
            (0, 0, (0, 0)),
            (2, 0, (0, 2)),
            (4, 0, (0, 4)),
            (7, 0, (1, 5)),
            (9, 0, "c"),
            (11, 0, "c"),
            (14, 0, (0, 14)),
            (16, 0, (0, 16)),
            (17, 0, (1, 7)),
        ]
    }
    # 18 of each source, 9 of the sink, 4 switches, 2 of mode c; what connections do is no reaction
    assert rx.run(program(rx), fast=True, timeout=17).reactions == 51


def test_startup_of_a_mode_happens_once() -> None:
    """Modes 10, 11: at its first activation, however it is entered; shutdown only of modes that were entered."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b, c = rx.Mode(initial=True), rx.Mode(), rx.Mode()
            turn = rx.Timer(1, 1)

            def __init__(self) -> None:
                for mode in (self.a, self.b, self.c):
                    self.add_reaction(rx.startup, self.begins, mode=mode)
                    self.add_reaction(rx.shutdown, self.ends, mode=mode)

            def begins(self) -> None:
                note(self, "begins")

            def ends(self) -> None:
                note(self, "ends")

            @rx.reaction(turn, mode=a, effects=b.reset)
            def go(self) -> None:
                self.b.set()

            @rx.reaction(turn, mode=b, effects=a.reset)
            def come(self) -> None:
                self.a.set()

        return Main()

    assert trace(program, timeout=5) == {"main": [(0, 0, "begins"), (1, 1, "begins"), (5, 0, "ends"), (5, 0, "ends")]}


def test_reactions_of_different_modes_are_in_no_order() -> None:
    """Precedence 7: so they cannot be in a causality cycle with each other."""

    class Echo(rx.Reactor):
        inp, out = rx.Input(int), rx.Output(int)

        @rx.reaction(inp, effects=out)
        def echo(self) -> None:
            self.out.set(1)

    class Main(rx.Reactor):
        a, b = rx.Mode(initial=True), rx.Mode()

        def __init__(self, hears: str, speaks: str) -> None:
            self.echo = Echo()
            modes = {"a": self.a, "b": self.b, "none": None}
            self.add_reaction(self.echo.out, self.hear, mode=modes[hears])
            self.add_reaction(rx.startup, self.speak, effects=self.echo.inp, mode=modes[speaks])

        def hear(self) -> None: ...

        def speak(self) -> None:
            self.echo.inp.set(1)

    rx.Graph(Main("a", "b"))
    for hears, speaks in (("a", "a"), ("a", "none"), ("none", "a"), ("none", "none")):
        with pytest.raises(rx.CausalityError):
            rx.Graph(Main(hears, speaks))


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


class Echo(rx.Reactor):
    inp, out = rx.Input(int), rx.Output(int)

    @rx.reaction(inp, effects=out)
    def echo(self) -> None:
        self.out.set(self.inp.value)


class Talker(rx.Reactor):
    out = rx.Output(int)

    @rx.reaction(rx.startup, effects=out)
    def go(self) -> None:
        self.out.set(1)


class Listener(rx.Reactor):
    inp = rx.Input(int)

    @rx.reaction(inp)
    def hear(self) -> None: ...


class Resetting(rx.Reactor):
    @rx.reaction(rx.reset)
    def go(self) -> None: ...


def test_reactions_run_in_textual_order_in_modes_and_outside_of_them() -> None:
    """Modes 13: those of the mode that is current, mixed with those of the reactor as they were declared."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            tick = rx.Timer(0, 1)

            @rx.reaction(tick)
            def one(self) -> None:
                note(self, "one")

            with a:

                @rx.reaction(tick, effects=b)
                def two(self) -> None:
                    note(self, "two in a")
                    self.b.set()

            @rx.reaction(tick)
            def three(self) -> None:
                note(self, "three")

            with b:

                @rx.reaction(tick)
                def four(self) -> None:
                    note(self, "four in b")

            with a:

                @rx.reaction(tick)
                def five(self) -> None:
                    note(self, "five in a")

            @rx.reaction(tick)
            def six(self) -> None:
                note(self, "six")

        return Main()

    assert trace(program, timeout=1) == {
        "main": [
            *((0, 0, name) for name in ("one", "two in a", "three", "five in a", "six")),
            *((1, 0, name) for name in ("one", "three", "four in b", "six")),
        ]
    }


def test_what_is_due_at_the_tag_of_a_switch_still_happens_before_it() -> None:
    """Modes 7, 9: the mode is left when the tag is over.

    What was to come a microstep later comes, by history, a microstep after the mode is entered again.
    """

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            leave, back = rx.Timer(4), rx.Timer(9)
            with on:
                tick, act = rx.Timer(0, 2), rx.LogicalAction(str)

                @rx.reaction(leave, effects=(off, act))
                def go(self) -> None:
                    self.off.set()
                    self.act.schedule("at once")
                    self.act.schedule("later", delay=3)

                @rx.reaction(tick, act)
                def see(self) -> None:
                    note(self, self.tick.is_present, self.act.value)

            @rx.reaction(back, effects=on.history)
            def come(self) -> None:
                note(self, "back")
                self.on.set()

        return Main()

    assert trace(program, timeout=12) == {
        "main": [
            (0, 0, True, None),
            (2, 0, True, None),
            (4, 0, True, None),
            (9, 0, "back"),
            (9, 1, False, "at once"),
            (11, 0, True, None),
            (12, 0, False, "later"),
        ]
    }


def test_a_transition_at_the_last_tag_enters_nothing() -> None:
    """Modes 11: the mode was never in force: neither its startup nor its shutdown happens. With a tag more, both do."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            tick = rx.Timer(3)

            @rx.reaction(tick, effects=b)
            def go(self) -> None:
                note(self, "go")
                self.b.set()

            @rx.reaction(rx.startup, rx.shutdown, mode=b)
            def never(self) -> None:
                note(self, "never")

            @rx.reaction(rx.shutdown, mode=a)
            def end(self) -> None:
                note(self, "end of a")

        return Main()

    assert trace(program, timeout=3) == {"main": [(3, 0, "go"), (3, 0, "end of a")]}
    assert trace(program, timeout=4) == {"main": [(3, 0, "go"), (3, 1, "never"), (3, 2, "never"), (3, 2, "end of a")]}


def test_no_tag_comes_after_a_transition_that_needs_none() -> None:
    """Modes 5: the new mode has nothing to do at once: the program starves a microstep after the switch."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()

            @rx.reaction(rx.startup, effects=b)
            def go(self) -> None:
                self.b.set()

            @rx.reaction(rx.reset, mode=a)
            def never(self) -> None:
                note(self, "never")

            @rx.reaction(rx.shutdown, mode=b)
            def end(self) -> None:
                note(self, "end")

        return Main()

    assert trace(program) == {"main": [(0, 1, "end")]}


def test_banks_and_multiports_in_modes() -> None:
    """Modes 16: each member counts while its mode is current.

    The connections of the modes share the multiport of the reactor.
    """

    def program(rx: Any) -> Any:
        class Member(rx.Reactor):
            tick, out = rx.Timer(1, 1), rx.Output(str)

            def __init__(self, name: str) -> None:
                self.label, self.n = name, 0

            @rx.reaction(tick, effects=out)
            def count(self) -> None:
                self.n += 1
                self.out.set(f"{self.label}{self.bank_index}:{self.n}")

        class Switch(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            turn, out = rx.Timer(2, 2), rx.Output(str, width=2)

            def __init__(self) -> None:
                with self.a:
                    self.first = rx.bank(2, Member, "a")
                    rx.connect(self.first.out, self.out)
                with self.b:
                    self.second = rx.bank(2, Member, "b")
                    rx.connect([self.second.out[1], self.second.out[0]], self.out)

            @rx.reaction(turn, mode=a, effects=b.history)
            def to_b(self) -> None:
                self.b.set()

            @rx.reaction(turn, mode=b, effects=a.history)
            def to_a(self) -> None:
                self.a.set()

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.switches = rx.bank(2, Switch)
                self.add_reaction(self.switches.out, self.see)

            def see(self) -> None:
                note(self, " ".join(c.value or "-" for switch in self.switches for c in switch.out))

        return Main()

    found = trace(program, timeout=6)
    rows = ["a0:1 a1:1", "a0:2 a1:2", "b1:1 b0:1", "b1:2 b0:2", "a0:3 a1:3", "a0:4 a1:4"]
    assert found == {"main": [(t, 0, f"{row} {row}") for t, row in enumerate(rows, 1)]}


def test_a_reset_forgets_the_spacing_of_actions_and_history_does_not() -> None:
    """Modes 7, 8: by history, an event has to keep its distance from one that waits with the mode."""

    def switching(how: str) -> Any:
        def program(rx: Any) -> Any:
            class Main(rx.Reactor):
                on, off = rx.Mode(initial=True), rx.Mode()
                leave, back, ask = rx.Timer(3), rx.Timer(5), rx.Timer(6)
                with on:
                    act = rx.LogicalAction(str, min_spacing=10)

                    @rx.reaction(rx.startup, effects=act)
                    def begin(self) -> None:
                        self.act.schedule("first", delay=8)

                    @rx.reaction(leave, effects=off)
                    def go(self) -> None:
                        self.off.set()

                    @rx.reaction(ask, effects=act)
                    def again(self) -> None:
                        self.act.schedule("second", delay=1)

                    @rx.reaction(act)
                    def see(self) -> None:
                        note(self, self.act.value)

                @rx.reaction(back, effects=getattr(on, how))
                def come(self) -> None:
                    self.on.set()

            return Main()

        return program

    assert trace(switching("reset")) == {"main": [(7, 0, "second")]}
    assert trace(switching("history")) == {"main": [(10, 0, "first"), (20, 0, "second")]}


def test_three_levels_of_modes_each_have_a_time_of_their_own() -> None:
    """Modes 2, 6, 7, 8: a timer three modes deep stands still while any of them is not current, and goes on by history.

    A reset of the outermost begins all three anew.
    """

    def program(rx: Any) -> Any:
        class Leaf(rx.Reactor):
            tick = rx.Timer(1, 3)

            @rx.reaction(tick)
            def go(self) -> None:
                note(self)

        class Level(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()

            def __init__(self, *times: int) -> None:
                self.leave, self.back = rx.Timer(times[0]), rx.Timer(times[1])
                with self.on:
                    self.inner = Level(*times[2:]) if times[2:] else Leaf()
                self.add_reaction(self.leave, self.go, effects=self.off)
                self.add_reaction(self.back, self.come, effects=self.on.history)

            def go(self) -> None:
                note(self, "off")
                self.off.set()

            def come(self) -> None:
                note(self, "on")
                self.on.set()

        class Main(rx.Reactor):
            only, anew = rx.Mode(initial=True), rx.Timer(25)

            def __init__(self) -> None:
                with self.only:
                    self.levels = Level(8, 12, 6, 9, 2, 4)

            @rx.reaction(anew, effects=only)
            def restart(self) -> None:
                self.only.set()

        return Main()

    found = trace(program, timeout=34)
    assert found == {
        "main.levels": [(8, 0, "off"), (12, 0, "on"), (33, 0, "off")],
        "main.levels.inner": [(6, 0, "off"), (13, 0, "on"), (31, 0, "off")],
        "main.levels.inner.inner": [(2, 0, "off"), (4, 0, "on"), (27, 0, "off"), (29, 0, "on")],
        "main.levels.inner.inner.inner": [(t, 0) for t in (1, 6, 16, 19, 22, 25, 26, 31)],
    }


def test_what_comes_from_outside_waits_with_its_mode() -> None:
    """Modes 6, 7, 8: so do pending events of physical actions and messages over physical connections.

    By history they come with what was left of their delay, by reset never. What comes while it is not current, nobody
    hears.
    """

    def switching(how: str) -> Any:
        def program(rx: Any) -> Any:
            class Source(rx.Reactor):
                tick, out = rx.Timer(5, 20), rx.Output(int)

                @rx.reaction(tick, effects=out)
                def go(self) -> None:
                    self.out.set(self.tag.time)

            class Sink(rx.Reactor):
                inp = rx.Input(int)

                @rx.reaction(inp)
                def hear(self) -> None:
                    note(self, self.inp.value)

            class Main(rx.Reactor):
                on, off = rx.Mode(initial=True), rx.Mode()
                leave, back = rx.Timer(10), rx.Timer(20)
                with on:
                    bell, slow = rx.PhysicalAction(int), rx.PhysicalAction(int, min_delay=7)

                    @rx.reaction(bell, slow)
                    def hear(self) -> None:
                        note(self, self.bell.value, self.slow.value)

                def __init__(self) -> None:
                    self.source, self.sink = Source(), Sink()
                    rx.connect(self.source.out, self.sink.inp, physical=True, after=7, mode=self.on)

                @rx.reaction(leave, effects=off)
                def go(self) -> None:
                    self.off.set()

                @rx.reaction(back, effects=getattr(on, how))
                def come(self) -> None:
                    self.on.set()

            return Main()

        return program

    def clock(rx: Any, main: Any) -> Any:
        made = rx.VirtualClock()
        for when in (2, 5, 15, 25):
            made.at(when, main.bell, when)
            made.at(when, main.slow, when)
        return made

    before = [(2, 0, 2, None), (5, 0, 5, None), (9, 0, None, 2)]
    after = [(25, 0, 25, None), (32, 0, None, 25)]
    assert trace(switching("history"), clock=clock, timeout=40) == {
        "main": [*before, (22, 0, None, 5), *after],
        "main.sink": [(22, 0, 5), (32, 0, 25)],
    }
    assert trace(switching("reset"), clock=clock, timeout=40) == {
        "main": [*before, *after],
        "main.sink": [(32, 0, 25)],
    }


def test_what_waits_keeps_how_many_microsteps_it_was_away() -> None:
    """Modes 6: an event of the very next microstep comes at the first one after the mode is entered again."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            begin, back = rx.Timer(3), rx.Timer(9)
            with on:
                first, second, third = rx.LogicalAction(), rx.LogicalAction(), rx.LogicalAction()

                @rx.reaction(begin, effects=first)
                def one(self) -> None:
                    self.first.schedule()

                @rx.reaction(first, effects=second)
                def two(self) -> None:
                    self.second.schedule()

                @rx.reaction(second, effects=(third, off))
                def three(self) -> None:
                    self.third.schedule()
                    self.off.set()

                @rx.reaction(third)
                def four(self) -> None:
                    note(self, "third")

            @rx.reaction(back, effects=on.history)
            def come(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, timeout=20) == {"main": [(9, 1, "third")]}


def test_what_waits_of_one_action_comes_back_in_the_order_of_its_scheduling() -> None:
    """Modes 6: though events of the same time lie in the queue in any order."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            on, off = rx.Mode(initial=True), rx.Mode()
            leave, back = rx.Timer(5), rx.Timer(9)
            with on:
                soon, act = rx.LogicalAction(), rx.LogicalAction(int)

                @rx.reaction(rx.startup, effects=(soon, act))
                def begin(self) -> None:
                    for delay in range(1, 5):  # taken out one by one, they put the rest in disorder
                        self.soon.schedule(delay=delay)
                    for number in range(12):
                        self.act.schedule(number, delay=10)

                @rx.reaction(soon)
                def pass_by(self) -> None:
                    pass

                @rx.reaction(leave, effects=off)
                def go(self) -> None:
                    self.off.set()

                @rx.reaction(act)
                def see(self) -> None:
                    note(self, self.act.value)

            @rx.reaction(back, effects=on.history)
            def come(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, timeout=20) == {"main": [(14, number, number) for number in range(12)]}


def test_a_reset_from_outside_overrules_a_transition_inside() -> None:
    """Modes 8, 9: at one tag the inner reactor asks for its other mode, the outer one begins anew."""

    def program(rx: Any) -> Any:
        class Inner(rx.Reactor):
            one, two = rx.Mode(initial=True), rx.Mode()
            turn, tick = rx.Timer(5), rx.Timer(1, 4)

            @rx.reaction(turn, effects=two, mode=one)
            def to_two(self) -> None:
                note(self, "to two")
                self.two.set()

            @rx.reaction(tick, mode=one)
            def in_one(self) -> None:
                note(self, "in one")

            @rx.reaction(tick, mode=two)
            def in_two(self) -> None:
                note(self, "in two")

        class Main(rx.Reactor):
            on, anew = rx.Mode(initial=True), rx.Timer(5)

            def __init__(self) -> None:
                with self.on:
                    self.inner = Inner()

            @rx.reaction(anew, effects=on)
            def restart(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, timeout=9) == {
        "main.inner": [(1, 0, "in one"), (5, 0, "to two"), (5, 0, "in one"), (6, 0, "in one")]
    }


def test_a_reset_forgets_what_arrived_over_physical_connections() -> None:
    """Modes 8: what is sent again at the same time keeps no distance from what the reset took away."""

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            again, out = rx.LogicalAction(), rx.Output(int)

            @rx.reaction(rx.startup, again, effects=(again, out))
            def go(self) -> None:
                self.out.set(self.tag.microstep)
                if self.tag.microstep < 1:
                    self.again.schedule()

        class Sink(rx.Reactor):
            inp = rx.Input(int)

            @rx.reaction(inp)
            def hear(self) -> None:
                note(self, self.inp.value)

        class Main(rx.Reactor):
            on = rx.Mode(initial=True)

            def __init__(self) -> None:
                self.source, self.sink = Source(), Sink()
                rx.connect(self.source.out, self.sink.inp, physical=True, after=10, mode=self.on)

            @rx.reaction(rx.startup, effects=on)
            def restart(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, clock=lambda rx, _: rx.VirtualClock(), timeout=20) == {"main.sink": [(10, 0, 1)]}


def test_shutdown_reactions_of_modes_run_after_a_failure_too() -> None:
    """Modes 12: of all modes that were ever entered."""

    class Main(rx.Reactor):
        one, two, never = rx.Mode(initial=True), rx.Mode(), rx.Mode()

        def __init__(self) -> None:
            self.ended: list[str] = []

        @rx.reaction(rx.startup, effects=two, mode=one)
        def leave(self) -> None:
            self.two.set()

        @rx.reaction(rx.reset, mode=two)
        def fail(self) -> None:
            raise ValueError("no")

        @rx.reaction(rx.shutdown, mode=one)
        def end_one(self) -> None:
            self.ended.append("one")

        @rx.reaction(rx.shutdown, mode=two)
        def end_two(self) -> None:
            self.ended.append("two")

        @rx.reaction(rx.shutdown, mode=never)
        def end_never(self) -> None:
            self.ended.append("never")

    main = Main()
    with pytest.raises(rx.ReactionError, match="no"):
        rx.run(main)
    assert main.ended == ["one", "two"]
