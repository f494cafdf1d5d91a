"""Machines that are killed, frozen or cut off at random moments: what the others say, and what is left."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import reactors as rx
from reactors.testing import nothing_left
from tests.machines.test_runs import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.machines.namespaces import Cable

ROOT = Path(__file__).parents[2]
MARK = "RX_TEST_MACHINE"  # in the environment of all processes of a machine: whose they are
SECONDS = 2.0  # that the program takes, in physical time
PATIENCE = 60.0  # seconds for those who are left to end


def lead(address: str, token: str, count: int) -> None:
    """Run the program on machines that join, and print what came of it as JSON."""
    main, found = Line(), {"digest": "", "said": "", "left": ""}
    machines = rx.Machines(count=count, listen=address, token_file=token, patience="10 s")
    placement = {"main.adds": 1, "main.sink": count - 1}
    try:
        with nothing_left():
            try:
                result = rx.run(main, timeout=f"{SECONDS} s", workers=count, machines=machines, placement=placement)
                found["digest"] = result.digest
            except rx.ReactorError as error:
                found["said"] = "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    except AssertionError as left:
        found["left"] = str(left)
    print(json.dumps(found))


@dataclass(frozen=True)
class Loss:
    """What happens to a machine, and when."""

    how: str  # "kill": its main process; "kill all" of its processes; "freeze" all; "cut" its cable
    victim: int
    after: float  # seconds from the beginning

    @classmethod
    def thrown(cls, number: int, count: int) -> Loss:
        """By dice."""
        dice = random.Random(number)
        how = ("kill", "kill all", "freeze", "cut")[number % 4]
        victim = dice.randrange(1 if how == "cut" else 0, count)
        return cls(how, victim, dice.uniform(1.5, 7.0))


@dataclass(frozen=True)
class Aftermath:
    """What the leading machine said, and how long the others took to end, in seconds; all that was wrong."""

    outcome: str
    took: float
    wrong: list[str]


def lose(loss: Loss, mark: str, count: int, address: str, token: Path, cables: list[Cable], digest: str) -> Aftermath:
    """Run the program on the machines at the ends of the cables, and let one of them be lost."""
    join = ["-m", "reactors", "join", address, "--token-file", str(token), "--patience", "10 s"]
    machines = [
        _start(mark, 0, ["lead", address, str(token), str(count)]),
        *(_start(mark, n, join, cables[n - 1]) for n in range(1, count)),
    ]
    wrong: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(_end, mark)
        time.sleep(loss.after)
        _happen(loss, mark, machines, cables)
        began = time.monotonic()
        said = ""
        for n, machine in enumerate(machines):
            if n == loss.victim and loss.how != "cut":
                continue
            try:
                out, errors = machine.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                wrong.append(f"machine {n} has not ended")
                continue
            if n == 0:
                said = out or errors
        took = time.monotonic() - began
        if loss.how == "cut":
            cables[loss.victim - 1].mend()
        elif loss.how == "freeze":
            for pid in _processes(mark, loss.victim):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wrong += _remaining(mark)
    for machine in machines:
        machine.wait()
        for stream in (machine.stdout, machine.stderr):
            assert stream is not None
            stream.close()
    outcome, more = _judged(loss, said, digest, machines[loss.victim].pid)
    return Aftermath(outcome, took, wrong + more)


def _start(mark: str, number: int, words: list[str], cable: Cable | None = None) -> subprocess.Popen[str]:
    if cable is None:
        words = ["-m", "tests.machines.campaign", *words]
    return subprocess.Popen(
        [*(cable.inside() if cable else []), sys.executable, *words], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True, env=os.environ | {MARK: f"{mark}.{number}"},
    )  # fmt: skip


def _happen(loss: Loss, mark: str, machines: list[subprocess.Popen[str]], cables: list[Cable]) -> None:
    if loss.how == "cut":
        cables[loss.victim - 1].cut()
        return
    how = signal.SIGSTOP if loss.how == "freeze" else signal.SIGKILL
    pids = [machines[loss.victim].pid] if loss.how == "kill" else _processes(mark, loss.victim)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)


def _judged(loss: Loss, said: str, digest: str, pid: int) -> tuple[str, list[str]]:
    """In a word, and what is wrong with it; machines have their numbers in the order in which they come."""
    if loss.victim == 0 and loss.how != "cut":
        return "the leading machine was lost", []
    try:
        found = json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        return "nothing was said", [f"the leading machine said {said[-500:]!r}"]
    wrong = [found["left"]] if found["left"] else []
    if found["digest"]:
        return "it was over", wrong + (["another digest"] if found["digest"] != digest else [])
    kind, _, text = found["said"].partition(": ")
    if kind == "MachineLost" and f", pid {pid})" in text and text.count(" is lost: ") == 1:
        return "lost while it ran", wrong
    if kind == "MachineError":
        return "lost before it ran", wrong
    return kind, [*wrong, found["said"]]


def _processes(mark: str, number: int | None = None) -> list[int]:
    """Those of a machine, or of all with this mark."""
    wanted = f"{MARK}={mark}." + ("" if number is None else f"{number}")
    return [pid for pid, environment in _environments() if any(word.startswith(wanted) for word in environment)]


def _environments() -> Iterator[tuple[int, list[str]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "environ").read_text(errors="replace").split("\0")


def _remaining(mark: str) -> list[str]:
    """What of all machines is there a while after the end."""
    until = time.monotonic() + 15
    while (left := _processes(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    commands = []
    for pid in left:
        with contextlib.suppress(OSError):
            commands.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip())
    return [f"left behind: process {command}" for command in commands if command]


def _end(mark: str) -> None:
    for pid in _processes(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
