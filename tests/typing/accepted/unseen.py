"""Mistakes that no type can tell from what is right; all but the last are found before anything runs."""

import reactors as rx


class Inner(rx.Reactor):
    inp = rx.Input(int)
    out = rx.Output(int)

    def __init__(self, n: int, name: str = "") -> None:
        self.n, self.name = n, name

    @rx.reaction(inp, effects=out)
    def go(self) -> None:
        self.inp.set(1)  # the reactor around it may, with the same expression but for `self.inner`
        self.out.set(self.out.value)  # likewise


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.inner = Inner(1)
        self.without = rx.bank(3, Inner)  # arguments that are functions of the index may have any names, or be none
        self.some = rx.bank(3, Inner, lambda i: i, "x", 5)  # of a call that has some, nothing is known
        self.inner[0]  # for a bank is a reactor to type checkers, a reactor is a bank
        rx.connect(self.inner.out, self.inner.inp, after="1 mss")  # strings are read by nobody but `rx`
