"""Many programs, on machines that are processes, and many machines that are lost.

    python -m tests.machines.campaign tcp --programs 2000
    python -m tests.machines.campaign namespaces --programs 200
    python -m tests.machines.campaign ray --programs 200
    python -m tests.machines.campaign losses --times 200

Random programs do on two to four machines what the reference says: over TCP on the loopback, over cables between
network namespaces, and on machines that Ray starts. Then machines are killed, frozen and cut off, at random moments:
all others end, name the machine, and leave nothing; who was not disturbed has the digest of one worker. A line says how
far it is, and the last one what came of it; exit status 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import reactors as rx
from reactors.machines.machines import read_token
from reactors_runtime.machines.channel import NotOurs, address_of
from reactors_runtime.machines.connections import Peer
from reactors_runtime.machines.joining import join
from tests.machines import losses
from tests.machines.namespaces import cables
from tests.machines.test_random_programs import MACHINES
from tests.machines.test_runs import free_port
from tests.oracle.random_programs import random_program
from tests.oracle.test_oracle import InvalidProgramError, Outcome, difference, judged
from tests.oracle.ways import logs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FIRST = 10_000  # programs that no other test tries


def wrong_with(seed: int, workers: int, machines: rx.Machines) -> str | None:
    """What a random program does on these machines and not on the reference; raises `InvalidProgramError`."""
    program = random_program(seed)
    if program.physical or program.sleeps:  # they need a clock
        raise InvalidProgramError
    expected = judged(program)
    dice = random.Random(seed)
    paths = list(expected.logs)
    placement = {path: dice.randrange(workers) for path in paths} if dice.random() < 0.8 else "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # random programs leave inputs open
        main = program.main(rx)
        try:
            found = rx.run(
                main, fast=True, timeout=program.timeout, keepalive=program.keepalive, workers=workers,
                machines=machines, placement=placement,
            )  # fmt: skip
        except rx.ReactorError as error:
            return f"program {seed}: {type(error).__name__}: {error}"
    outcome = Outcome(found.digest, found.reactions, logs_of(main, paths))
    return None if outcome == expected else f"program {seed}: {difference(expected, outcome)}"


def tried(programs: int, of: Callable[[int], rx.Machines], shapes: Sequence[tuple[int, int]], what: str) -> int:
    """How many were wrong of so many programs, each on machines and workers as one of the shapes says, in turn."""
    began, wrong, seed = time.monotonic(), 0, FIRST
    done: Counter[int] = Counter()
    while done.total() < programs:
        machines, each = shapes[seed % len(shapes)]
        with contextlib.suppress(InvalidProgramError):
            said = wrong_with(seed, machines * each, of(machines))
            done[machines] += 1
            if said is not None:
                wrong += 1
                print(said, flush=True)
            if done.total() % 100 == 0:
                print(f"{what}: {done.total()} programs, {time.monotonic() - began:.0f} s, {wrong} wrong", flush=True)
        seed += 1
    on = ", ".join(f"{count} on {machines} machines" for machines, count in sorted(done.items()))
    print(f"{what}: {on}; {wrong} wrong; {time.monotonic() - began:.0f} s", flush=True)
    return wrong


@contextlib.contextmanager
def joining(address: str, token: Path, inside: Sequence[Sequence[str]]) -> Iterator[None]:
    """A machine for each of the words that its command begins with, which joins program after program."""
    command = [sys.executable, "-m", "tests.machines.campaign", "join", address, str(token)]
    machines = [subprocess.Popen([*words, *command], cwd=losses.ROOT, start_new_session=True) for words in inside]
    try:
        yield
    finally:
        for machine in machines:
            machine.terminate()
        for machine in machines:
            machine.wait()


def join_again_and_again(address: str, token: str) -> None:
    """A machine for program after program, until it is ended from outside."""
    leader = Peer(address_of(address), read_token(token))
    while True:
        with contextlib.suppress(NotOurs, OSError, EOFError):
            join(leader, patience=3600.0)


def over_tcp(programs: int, host: str, inside: Sequence[Sequence[str]], what: str) -> int:
    """As many of the programs on each number of machines."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder) / "token"
        token.write_text("a token of enough bytes\n")
        address = f"{host}:{free_port()}"
        for count in (2, 3, 4):
            shapes = [shape for shape in MACHINES if shape[0] == count]
            with joining(address, token, inside[: count - 1]):
                machines = rx.Machines(count=count, listen=address, token_file=token)
                share = programs // 3 + (count == 2) * (programs % 3)
                wrong += tried(share, lambda _: machines, shapes, f"{what}, {count} machines")  # noqa: B023
    return wrong


def on_ray(programs: int) -> int:
    """On machines that Ray starts, one on each of three raylets here."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, logging_level=logging.ERROR)
    try:
        shapes = [(2, 1), (3, 1), (2, 2)]
        return tried(programs, lambda count: rx.Machines(ray="auto", count=count, patience="300 s"), shapes, "ray")
    finally:
        ray.shutdown()
        cluster.shutdown()


def lost(first: int, times: int) -> int:
    """Machines that are lost, each time in new processes, on two machines and on three."""
    digest = rx.run(losses.Line(), fast=True, timeout=f"{losses.SECONDS} s").digest
    outcomes: Counter[str] = Counter()
    took: list[float] = []
    wrong = 0
    shared = {*Path("/dev/shm").iterdir()}
    with cables(2) as found, tempfile.TemporaryDirectory() as folder:
        token = Path(folder) / "token"
        token.write_text("a token of enough bytes\n")
        for number in range(first, first + times):
            count = 2 + number // 4 % 2
            loss = losses.Loss.thrown(number, count)
            address = f"{found[0].here}:{free_port()}"
            after = losses.lose(loss, f"{os.getpid()}.{number}", count, address, token, found, digest)
            outcomes[f"{loss.how}: {after.outcome}"] += 1
            if "lost while it ran" in after.outcome:
                took.append(after.took)
            for each in after.wrong:
                wrong += 1
                print(f"{number}: {loss}: {each}", flush=True)
            if (number + 1 - first) % 20 == 0:
                print(f"losses: {number + 1 - first}, {wrong} wrong", flush=True)
    if left := {*Path("/dev/shm").iterdir()} - shared:
        print(f"shared memory is left: {left}")
        wrong += 1
    print(f"losses: {times}, {wrong} wrong; " + ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items())))
    if took:
        took.sort()
        print(f"all others had ended {took[len(took) // 2]:.1f} s after it (median), {took[-1]:.1f} s at most")
    return wrong


def main() -> int:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    for name in ("tcp", "namespaces", "ray"):
        commands.add_parser(name).add_argument("--programs", type=int, default=200)
    losing = commands.add_parser("losses")
    losing.add_argument("--times", type=int, default=200)
    losing.add_argument("--first", type=int, default=0, help="the number of the first, which says what happens")
    for name in ("join", "lead"):  # what the others start
        commands.add_parser(name).add_argument("words", nargs="+")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing is left of it then
    if given.what == "join":
        join_again_and_again(*given.words)
    if given.what == "lead":
        address, token, count = given.words
        losses.lead(address, token, int(count))
        return 0
    if given.what == "tcp":
        return bool(over_tcp(given.programs, "127.0.0.1", [[]] * 3, "tcp"))
    if given.what == "namespaces":
        with cables(3) as found:
            return bool(over_tcp(given.programs, found[0].here, [cable.inside() for cable in found], "namespaces"))
    return bool(on_ray(given.programs) if given.what == "ray" else lost(given.first, given.times))


if __name__ == "__main__":
    sys.exit(main())
