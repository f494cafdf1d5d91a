"""Two reactors that answer each other, a million times if you like: what a round trip costs.

A cycle of connections needs a delay somewhere, or no order could be given. Here the way back has `after=0`,
one microstep, which takes no logical time: every round happens at time 0, one microstep after the other.

Run:   python pingpong.py
       python pingpong.py 100000 --workers 2
"""

import argparse

import reactors as rx


class Ping(rx.Reactor):
    """Serves the numbers `rounds`, `rounds` - 1, ... 1, each when the last one has come back."""

    pong = rx.Input(int)
    ping = rx.Output(int)

    def __init__(self, rounds: int) -> None:
        self.left = rounds

    @rx.reaction(rx.startup, pong, effects=ping)
    def serve(self) -> None:
        if self.left:
            self.ping.set(self.left)
        self.left -= 1


class Pong(rx.Reactor):
    """Returns what it gets."""

    ping = rx.Input(int)
    pong = rx.Output(int)

    @rx.reaction(ping, effects=pong)
    def answer(self) -> None:
        self.pong.set(self.ping.value)


class PingPong(rx.Reactor):
    def __init__(self, rounds: int = 100_000) -> None:
        self.ping = Ping(rounds)
        self.pong = Pong()
        rx.connect(self.ping.ping, self.pong.ping)
        rx.connect(self.pong.pong, self.ping.pong, after=0)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rounds", type=int, nargs="?", default=100_000)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--backend", default="auto", choices=("auto", "inline", "thread", "process"))
    args = options.parse_args()
    result = rx.run(PingPong(args.rounds), workers=args.workers, backend=args.backend, fast=True)
    print(f"{args.rounds:,} rounds, {result.wall_time / max(1, args.rounds) * 1e6:.2f} us each")
    print(result.summary())


if __name__ == "__main__":
    main()
