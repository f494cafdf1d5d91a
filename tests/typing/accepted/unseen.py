"""Mistakes that no type tells from what is right. They raise their errors when the program is made, or in a call."""

import reactors as rx
from reactors import rl


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
        rx.connect(self.inner.out, self.inner.inp, after="1 mss")  # only `rx` reads strings


buffer = rl.ReplayBuffer(100, {"obs": "f4"})
print(buffer.sample(3).indcies)  # a buffer may have any fields
rl.Env("CartPole-v1", num_env=4)  # what is no option goes to the environment
