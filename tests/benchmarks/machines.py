"""What does it cost that a program is on several machines? Beside raw sockets, one machine, and TLS; all are here.

    python tests/benchmarks/machines.py --repetitions 5

Machines are processes of this one, so what differs is what lies between them: TCP on the loopback.
"""

from __future__ import annotations

import argparse
import multiprocessing
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from apart import MILLISECONDS, working

import reactors as rx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.machines.certificates import certificate

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 2000


class Asks(rx.Reactor):
    """In lock-step: asks again when it has the answer, a round at each tag."""

    again = rx.LogicalAction()

    def __init__(self, size: int) -> None:
        self.question, self.answer = rx.Output(shape=(size,), dtype="u1"), rx.Input(shape=(size,), dtype="u1")
        self.value = np.zeros(size, np.uint8)
        self.begun: list[float] = []
        self.add_reaction([rx.startup, self.again], self.ask, effects=[self.question])
        self.add_reaction([self.answer], self.heard, effects=[self.again])

    def ask(self) -> None:
        self.begun.append(time.perf_counter())
        self.question.set(self.value)

    def heard(self) -> None:
        self.again.schedule(delay="1 us")


class Answers(rx.Reactor):
    def __init__(self, size: int) -> None:
        self.question, self.answer = rx.Input(shape=(size,), dtype="u1"), rx.Output(shape=(size,), dtype="u1")
        self.add_reaction([self.question], self.reply, effects=[self.answer])

    def reply(self) -> None:
        self.answer.set(self.question.value)


class LockStep(rx.Reactor):
    def __init__(self, size: int) -> None:
        self.asks, self.answers = Asks(size), Answers(size)
        self.asks.question >> self.answers.question
        self.answers.answer >> self.asks.answer


def rounds(size: int, **options: Any) -> float:
    """Seconds of a round, the first tenth left out."""
    main = LockStep(size)
    n = ROUNDS if size < 1 << 16 else ROUNDS // 10
    rx.run(main, fast=True, timeout=f"{n} us", workers=2, placement={"main.answers": 1}, **options)
    begun = main.asks.begun[len(main.asks.begun) // 10 :]
    return (begun[-1] - begun[0]) / (len(begun) - 1)


def by_tls(size: int) -> float:
    """Seconds of a round, by a machine that joins with a certificate."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())
        server.close()
        token, own = Path(folder) / "token", certificate(Path(folder), "own")
        token.write_text("a token of enough bytes\n")
        words = [sys.executable, "-m", "reactors", "join", address, "--token-file", token, "--ca", own.certificate]
        with subprocess.Popen(words):
            return rounds(size, machines=rx.Machines(2, address, token, own.certificate, own.key))


def training(**options: Any) -> float:
    """Seconds of PPO's rounds on CartPole, pipelined."""
    from reactors import rl

    journal = rl.train(rl.PPO(), "CartPole-v1", total_steps=60_000, mode="pipelined", workers=2, **options).journal
    return float(journal[-1]["seconds"] - journal[len(journal) // 10]["seconds"])


def echo(server: socket.socket, size: int) -> None:
    """Sends everything back."""
    connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buffer = memoryview(bytearray(size))
    with connection:
        while exactly(connection, buffer):
            connection.sendall(buffer)


def exactly(connection: socket.socket, buffer: memoryview) -> bool:
    got = 0
    while got < len(buffer):
        n = connection.recv_into(buffer[got:])
        if not n:
            return False
        got += n
    return True


def raw(size: int) -> float:
    """Seconds of a round of raw TCP between two processes that sleep while they wait, as much there as back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        other = multiprocessing.get_context("fork").Process(target=echo, args=(server, size))
        other.start()
        with socket.create_connection(server.getsockname()) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            buffer = memoryview(bytearray(size))
            n = ROUNDS if size < 1 << 16 else ROUNDS // 10
            began = 0.0
            for k in range(n):
                if k == n // 10:
                    began = time.perf_counter()
                connection.sendall(buffer)
                exactly(connection, buffer)
            seconds = (time.perf_counter() - began) / (n - n // 10)
        other.join()
    return seconds


def in_turn(contenders: dict[str, Callable[[], float]], repetitions: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repetitions):
        for name, measure in contenders.items():
            found[name].append(measure())
    return found


def main() -> None:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    warnings.simplefilter("ignore", rx.ReactorWarning)  # that a round trip in each tag costs time is what is measured
    for size in (8, 1024, 1 << 20):
        found = in_turn(
            {
                "raw TCP": lambda size=size: raw(size),
                "two machines": lambda size=size: rounds(size, machines=rx.Machines(count=2)),
                "two machines by TLS": lambda size=size: by_tls(size),
                "one machine, two processes": lambda size=size: rounds(size),
            },
            repetitions,
        )
        ratios = [m / r for m, r in zip(found["two machines"], found["raw TCP"], strict=True)]
        print(f"a round of {size:,} bytes there and back:", end=" ")
        print(", ".join(f"{name} {1e6 * statistics.median(each):.0f} us" for name, each in found.items()), end="; ")
        print(
            f"two machines / raw {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True
        )
    for name, (ms, size) in MILLISECONDS.items():
        rounds_of = int(2 / (ms / 1000 + 1e-3))
        given = rounds_of, ms / 1000, size
        found = in_turn(
            {
                "one": lambda given=given: working(*given),
                "two": lambda given=given: working(*given, machines=rx.Machines(count=2)),
            },
            repetitions,
        )
        compare(f"rounds of {name} on both sides", found)
    two = {"one": training, "two": lambda: training(machines=rx.Machines(count=2))}
    compare("PPO on CartPole, pipelined", in_turn(two, repetitions))


def compare(what: str, found: dict[str, list[float]]) -> None:
    rates = [one / two for one, two in zip(found["one"], found["two"], strict=True)]
    one, two = (statistics.median(found[name]) for name in ("one", "two"))
    print(
        f"{what}: one machine {1e3 * one:.3g} ms, two {1e3 * two:.3g} ms; "
        f"{statistics.median(rates):.2f} of the rate ({min(rates):.2f} to {max(rates):.2f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
