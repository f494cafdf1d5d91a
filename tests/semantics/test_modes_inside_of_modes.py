"""Modes inside of modes (catalogue, section 10)."""

from typing import Any

from tests.oracle.ways import note, trace


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
            away, back, away_again, again = rx.Timer(5), rx.Timer(8), rx.Timer(11), rx.Timer(12)

            def __init__(self) -> None:
                with self.on:
                    self.inner = Inner()

            @rx.reaction(away, away_again, effects=off)
            def leave(self) -> None:
                self.off.set()

            @rx.reaction(back, effects=on.history)
            def resume(self) -> None:
                self.on.set()

            @rx.reaction(again, effects=on.reset)
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


def test_three_levels_of_modes_each_have_a_time_of_their_own() -> None:
    """Modes 2, 6, 7, 8: a timer three modes deep stands still while any of them is not current, and goes on by history.

    A reset of the outermost begins all three again.
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
            only, again = rx.Mode(initial=True), rx.Timer(25)

            def __init__(self) -> None:
                with self.only:
                    self.levels = Level(8, 12, 6, 9, 2, 4)

            @rx.reaction(again, effects=only)
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


def test_a_reset_from_outside_overrules_a_transition_inside() -> None:
    """Modes 8, 9: at one tag the inner reactor asks for its other mode, the outer one begins again."""

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
            on, again = rx.Mode(initial=True), rx.Timer(5)

            def __init__(self) -> None:
                with self.on:
                    self.inner = Inner()

            @rx.reaction(again, effects=on)
            def restart(self) -> None:
                self.on.set()

        return Main()

    assert trace(program, timeout=9) == {
        "main.inner": [(1, 0, "in one"), (5, 0, "to two"), (5, 0, "in one"), (6, 0, "in one")]
    }
