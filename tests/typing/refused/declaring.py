"""Ports, timers, actions, reactions, deadlines and modes of one reactor."""

import numpy as np

import reactors as rx


class Counter(rx.Reactor):
    tick = rx.Timer(period=0.1)  # error
    again = rx.LogicalAction(int, min_delay=None)  # error
    spaced = rx.LogicalAction(int, min_spacing="1 ms", policy="deffer")  # error
    limit = rx.Input(5)  # error
    both = rx.Input(int, shape=(4,))  # error
    changed = rx.Output(int, mutable=True)  # error
    wide = rx.Input(str, width=1.5)  # error
    count = rx.Output(int)
    names = rx.Output(str, width=3)
    event = rx.LogicalAction(int)
    pressed = rx.PhysicalAction(str)
    text = rx.Input(str)
    numbers = rx.Input(int, width=3)
    table = rx.Input(shape=(4,), dtype=np.float32)
    rows = rx.Output(shape=(4,), dtype=np.float32)
    beat = rx.Timer(0, "1 ms")

    def __init__(self, n: int = 0) -> None:
        self.n = n
        self.add_reaction(self.text, self.step, deadline=0.5, late=self.step)  # error
        self.add_reaction(self.text, self.step())  # error
        self.add_reaction(self.count, "step")  # error

    @rx.reaction(event, effects=count)
    def step(self) -> None:
        self.count.set("x")  # error
        self.count.set(1.5)  # error
        self.count.sett(1)  # error
        self.count.value = 3  # error
        self.count.value.upper()  # error
        self.names.set([1, 2, 3])  # error
        self.names[0].set(1)  # error
        self.names["0"].set("x")  # error
        self.rows.set(object())  # error
        self.rows.loan().colour = 3  # error
        self.event.schedule("x")  # error
        self.event.schedule(1, delay=0.5)  # error
        self.event.shedule(1)  # error
        self.event.value.upper()  # error
        self.pressed.schedule(5)  # error
        self.beat.schedule()  # error
        self.beat.value  # error
        self.cuont.set(1)  # error
        self.request_stop(1)  # error
        self.seed = 3  # error
        self.tag.tiem  # error
        self.tag.time.upper()  # error
        self.rng.randon()  # error
        name: str = self.numbers[0].value  # error
        total: str = sum(number.value for number in self.numbers)  # error
        first: int = self.text.value  # error
        self.count.set(self.text.value)  # error
        self.event.schedule(self.text.value)  # error
        self.numbers.array.colour()  # error
        self.table.array.colour()  # error
        self.update_deadline(0.5)  # error
        self.check_deadline(True)  # error
        self.trace("x", "y")  # error
        print(name, total, first)

    @step.deadline(0.5)  # error
    def late(self) -> None: ...

    @rx.reaction("event")  # error
    def named(self) -> None: ...

    @rx.reaction(event)  # error
    def extra(self, value: int) -> None: ...

    @rx.reaction(rx.stop)  # error
    def stopping(self) -> None: ...

    @rx.reaction(event, effects=rx.startup)  # error
    def starting(self) -> None: ...

    @rx.reaction(event, effects=beat)  # error
    def beating(self) -> None: ...

    @rx.reaction(event, uses=rx.startup)  # error
    def using(self) -> None: ...

    @rx.reaction(event, effects=rx.stop.after(0.5))  # error
    def ending(self) -> None: ...

    @rx.reaction(event)  # error
    def answering(self) -> int:
        return 1


class Modal(rx.Reactor):
    on = rx.Mode(True)  # error
    off = rx.Mode(initial=True)
    n = rx.State(0)
    step = rx.Timer(0, "1 ms", mode="off")  # error

    @rx.reaction(rx.reset, effects=off.resett)  # error
    def reset_it(self) -> None:
        self.off.set(1)  # error
        self.n = "x"  # error: mypy

    @rx.reaction(rx.startup, mode="on")  # error
    def start(self) -> None: ...


Counter("x")  # error
Counter(m=1)  # error
Modal(5)  # error
Modal(mode="off")  # error
