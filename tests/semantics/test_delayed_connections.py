"""Connections with a delay (catalogue, section 6)."""

from typing import Any

from tests.oracle.ways import note, trace
from tests.semantics.sources_and_sinks import sinks, sources


def test_a_delayed_connection_delivers_so_much_later() -> None:
    """Ports 11: any number of messages may be on their way."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = sources(rx)("a", "b", "c", "d"), sinks(rx)()
                rx.connect(self.source.out, self.sink.value, after=25)

        return Main()

    assert trace(program, timeout=60) == {
        "main.sink": [(25, 0, "a"), (35, 0, "b"), (45, 0, "c"), (55, 0, "d")],
    }


def test_delays_along_the_hierarchy_add_up() -> None:
    """Ports 12: 10 + 30 + 15 = 55; and a delay of zero behind others is one more microstep."""

    def program(rx: Any) -> Any:
        class Box(rx.Reactor):
            out = rx.Output()

            def __init__(self) -> None:
                self.source = sources(rx)("x", period=1000)
                rx.connect(self.source.out, self.out, after=10)

        class Tray(rx.Reactor):
            value = rx.Input()

            def __init__(self, after: int) -> None:
                self.sink = sinks(rx)()
                rx.connect(self.value, self.sink.value, after=after)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.box, self.tray, self.step = Box(), Tray(15), Tray(0)
                rx.connect(self.box.out, self.tray.value, after=30)
                rx.connect(self.box.out, self.step.value, after=0)

        return Main()

    assert trace(program, timeout=100) == {"main.tray.sink": [(55, 0, "x")], "main.step.sink": [(10, 2, "x")]}


def test_a_delay_drops_the_microsteps_and_keeps_what_was_sent_in_them() -> None:
    """Ports 11, tags 2: (t, m) and a delay d make (t + d, 0).

    Values of one connection that would arrive at the same tag arrive a microstep apart, in the order of sending.
    """

    def program(rx: Any) -> Any:
        class Source(rx.Reactor):
            out = rx.Output(int)
            again = rx.LogicalAction()

            @rx.reaction(rx.startup, again, effects=(out, again))
            def send(self) -> None:
                self.out.set(self.tag.microstep)
                if self.tag.microstep < 3:
                    self.again.schedule()

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.late, self.soon = Source(), sinks(rx)(), sinks(rx)()
                rx.connect(self.source.out, self.late.value, after=7)
                rx.connect(self.source.out, self.soon.value, after=0)

        return Main()

    assert trace(program) == {
        "main.late": [(7, 0, 0), (7, 1, 1), (7, 2, 2), (7, 3, 3)],
        "main.soon": [(0, 1, 0), (0, 2, 1), (0, 3, 2), (0, 4, 3)],
    }


def test_a_delay_makes_a_cycle_legal() -> None:
    """Ports 11, precedence 6: also a delay of zero: a ball goes round in microsteps, and another in time."""

    def program(rx: Any) -> Any:
        class Player(rx.Reactor):
            ball = rx.Input(int)
            out = rx.Output(int)

            @rx.reaction(ball, effects=out)
            def hit(self) -> None:
                note(self, self.ball.value)
                if self.ball.value:
                    self.out.set(self.ball.value - 1)

        class Server(Player):
            @rx.reaction(rx.startup, effects=Player.out)
            def serve(self) -> None:
                self.out.set(3)

        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.ping, self.pong = Server(), Player()
                rx.connect(self.ping.out, self.pong.ball)
                rx.connect(self.pong.out, self.ping.ball, after=0)
                self.slow, self.quick = Server(), Player()
                rx.connect(self.slow.out, self.quick.ball)
                rx.connect(self.quick.out, self.slow.ball, after=8)

        return Main()

    assert trace(program) == {
        "main.pong": [(0, 0, 3), (0, 1, 1)],
        "main.ping": [(0, 1, 2), (0, 2, 0)],
        "main.quick": [(0, 0, 3), (8, 0, 1)],
        "main.slow": [(8, 0, 2), (16, 0, 0)],
    }


def test_what_would_arrive_beyond_the_end_is_lost() -> None:
    """The end 3: a message whose tag lies behind the stop tag never comes."""

    def program(rx: Any) -> Any:
        class Main(rx.Reactor):
            def __init__(self) -> None:
                self.source, self.sink = sources(rx)("a", "b", "c"), sinks(rx)()
                rx.connect(self.source.out, self.sink.value, after=5)

        return Main()

    assert trace(program, timeout=15) == {"main.sink": [(5, 0, "a"), (15, 0, "b")]}
