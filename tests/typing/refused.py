"""Mistakes that type checkers have to find: every line marked `# error` has one, and no other line has."""

import reactors as rx


class Counter(rx.Reactor):
    tick = rx.Timer(period=0.1)  # error
    again = rx.LogicalAction(int, min_delay=None)  # error
    limit = rx.Input(5)  # error
    both = rx.Input(int, shape=(4,))  # error
    count = rx.Output(int)
    wide = rx.Input(str, width=1.5)  # error
    event = rx.LogicalAction(int)
    text = rx.Input(str)

    @rx.reaction(event, effects=count)
    def step(self) -> None:
        self.count.set("x")  # error
        self.count.value.upper()  # error
        self.event.schedule("x")  # error
        self.event.schedule(1, delay=0.5)  # error
        self.cuont.set(1)  # error
        self.request_stop(1)  # error
        self.seed = 3  # error

    @rx.reaction("event")  # error
    def named(self) -> None: ...

    @rx.reaction(event)  # error
    def extra(self, value: int) -> None: ...

    @rx.reaction(rx.stop)  # error
    def stopping(self) -> None: ...

    @rx.reaction(event, effects=rx.startup)  # error
    def starting(self) -> None: ...


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.counter = Counter()
        rx.connect(self.counter.count, self.counter.text)  # error
        self.counter.count >> self.counter.text  # error
        rx.connect(self.counter.count, [self.counter.text])  # error
        rx.connect(self.counter, self.counter.text)  # error
        rx.connect(self.counter.count, self.counter.count, after=0.1)  # error
        rx.connect(self.counter.event, self.counter.count)  # error
        self.add_reaction(self.counter.count, "step")  # error
        self.counters = rx.bank(3, Counter())  # error
        self.others = rx.bank(3, Counter)
        self.others[0].count.set("x")  # error
