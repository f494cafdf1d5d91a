"""How long until it is learned? `make reaching`: ours and four libraries, each run a process, to the same mean return.

A run ends when the mean return of the last 20 training episodes is at the goal, which all contenders can tell, or when
its time is over. DQN is about speed alone. Contenders take turns, seed by seed, each with one torch thread per process.
Speed is in environment steps a second while learning, start-up and the first two seconds left out.

    python tests/benchmarks/reaching.py [--only PPO,APPO,IMPALA,SAC,DQN] [--seeds 5] [--contenders ours,rllib]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from capacity import capacity
from contenders.watch import Answer, Task
from row import CORES
from run import HERE, ONE_THREAD, short
from training import APPO, DQN, IMPALA, PPO, SAC

ROOT = HERE.parents[1]
OURS = ("ours:pipelined", "ours:sync")
PYTHON = {"rllib": ROOT / ".venv-rllib/bin/python", "sample_factory": ROOT / ".venv-sample-factory/bin/python"}
"""RLlib and Sample Factory want other versions of what all use; the rest share this interpreter."""
STARTING = 90.0  # seconds granted to a process besides its training


@dataclass(frozen=True)
class Race:
    """A workload, the return to reach, our steps (learning rates fall over them), seconds to train, who takes part."""

    workload: str
    goal: float | None
    steps: int
    seconds: float
    contenders: tuple[str, ...]


RACES = {
    "PPO": Race(PPO, 475, 100_000, 100, (*OURS, "stable_baselines", "script")),
    "APPO": Race(APPO, 475, 120_000, 100, (*OURS, "rllib", "sample_factory")),
    "IMPALA": Race(IMPALA, 475, 150_000, 100, (*OURS, "rllib")),
    "SAC": Race(SAC, -200, 15_000, 240, (*OURS, "ours:free", "ours:adapted", "stable_baselines")),
    "DQN": Race(DQN, None, 20_000, 20, (*OURS, "stable_baselines", "tianshou", "rllib")),
}


def installed(contender: str) -> bool:
    """Is there an interpreter for it?"""
    return PYTHON.get(contender, Path(sys.executable)).exists()


def contend(contender: str, task: Task, log: Path) -> Answer | str:
    """One run: the answer, or why there is none."""
    command = [str(PYTHON.get(contender, sys.executable)), str(HERE / "contend.py"), contender]
    with tempfile.TemporaryFile("w+") as out, log.open("a") as said:
        process = subprocess.Popen(
            [*command, json.dumps(asdict(task))], stdout=out, stderr=said, env=os.environ | ONE_THREAD, process_group=0
        )
        try:
            status = process.wait(task.seconds + STARTING)
        except subprocess.TimeoutExpired:
            return f"no answer after {task.seconds + STARTING:.0f} s"
        finally:
            end(process)
        out.seek(0)
        lines = out.read().splitlines()
    return Answer(**json.loads(lines[-1])) if lines else f"its process ended with status {status}; {log} says why"


def end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def line(contender: str, answers: list[Answer | str], goal: float | None) -> str:
    """Medians of all seeds; a run that did not get there counts as longer than any that did."""
    known = [each for each in answers if isinstance(each, Answer)]
    if not known:
        return f"  {contender:18} {answers[-1] if answers else 'no run'}"
    speeds = [each.speed for each in known if each.speed]
    text = f"  {contender:18} {short(statistics.median(speeds)) if speeds else '-':>6} steps/s"
    if goal is None:
        return text
    there = sorted(each.seconds for each in known if each.reached)
    text += f", {len(there)} of {len(answers)} got there"
    if 2 * len(there) <= len(answers):
        means = ", ".join(f"{each.mean:.0f}" for each in known)
        return f"{text} (mean returns at the end: {means})"
    for name in ("seconds", "with_start", "steps"):
        values = sorted(getattr(each, name) for each in known if each.reached)
        median = values[(len(answers) - 1) // 2]
        text += f", {name} {short(median)} [{short(values[0])} .. {short(values[-1])}]"
    return text


class Results:
    """All runs so far, in a file; those made again take the place of older ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def add(self, name: str, contender: str, seed: int, answer: Answer | str) -> None:
        """One run."""
        self.rows[f"{name} {contender} {seed}"] = answer if isinstance(answer, str) else asdict(answer)
        self.path.write_text(json.dumps(self.rows, indent=1))

    def of(self, name: str, contender: str) -> list[Answer | str]:
        """All seeds."""
        found = [row for key, row in self.rows.items() if key.rpartition(" ")[0] == f"{name} {contender}"]
        return [row if isinstance(row, str) else Answer(**row) for row in found]


def race(name: str, seeds: range, only: str, results: Results) -> None:
    """All contenders, seed by seed."""
    chosen = RACES[name]
    wanted = [each for each in chosen.contenders if each.startswith(tuple(only.split(",")))]
    taking_part = [each for each in wanted if installed(each)]
    for absent in set(wanted) - set(taking_part):
        print(f"{absent} is left out: there is no {PYTHON[absent]}, which `make reaching` would make")
    log = results.path.with_suffix(".log")
    ceilings = []
    for seed in seeds:
        ceilings.append(capacity())
        for contender in taking_part:
            counted = contender in {*OURS, "ours:free"} or chosen.goal is None
            steps = chosen.steps * (1 if counted else 100)  # if it adapts, it makes more of them, and fewer updates
            task = Task(chosen.workload, seed, chosen.goal, steps, chosen.seconds, time.time())
            answer = contend(contender, task, log)
            results.add(name, contender, seed, answer)
            print(f"  seed {seed}, {contender}: {answer}", file=sys.stderr, flush=True)
    goal = "as fast as it goes" if chosen.goal is None else f"to {chosen.goal:g}"
    print(f"\n{chosen.workload}, {goal}; {CORES} processes did {statistics.median(ceilings):.2f} times the work of one")
    for contender in chosen.contenders:
        print(line(contender, results.of(name, contender), chosen.goal), flush=True)


def main() -> None:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(RACES))
    parser.add_argument("--contenders", default="", help="those whose names begin so; all, if nothing is said")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    (HERE / "results").mkdir(exist_ok=True)
    results = Results(HERE / "results/reaching.json")
    for name in given.only.split(","):
        race(name, range(given.first_seed, given.first_seed + given.seeds), given.contenders, results)


if __name__ == "__main__":
    main()
