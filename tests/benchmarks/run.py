"""`make bench`: every row of the table of figures, ours and the peers side by side, with the ratios and the bars.

Each peer has a process of its own; repetitions are interleaved, so that a change in the machine's load hits all alike.
Figures are medians, ratios are medians of the ratios within each repetition.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from capacity import capacity
from row import ALL, CORES, IDEAL, ONE, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
ROWS = (
    "bare", "tracing", "ports", "latency", "native", "pending", "pinning", "lockstep", "lockstep_ports", "vector_env",
    "frames", "broadcast", "tabular", "dqn", "agents", "agents_stepping", "agents_training", "agents_memory", "chains",
    "build", "growth", "growth_memory", "replay", "replay_beside", "sum_tree", "apart", "batched", "training",
    "hopper", "updating",
)  # fmt: skip
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
TIME_LIMIT = 120.0


class PeerError(Exception):
    """What a peer said instead of a figure."""


class Process:
    """One peer process, or one shared by the peers of a group."""

    def __init__(self, module: str, log: IO[str]) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, str(HERE / "serve.py"), module],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1,
            env=os.environ | ONE_THREAD,
        )  # fmt: skip

    def ask(self, **command: Any) -> dict[str, Any]:
        """Send one command and wait for the answer."""
        assert self.popen.stdin
        assert self.popen.stdout
        try:
            self.popen.stdin.write(json.dumps(command) + "\n")
            line = self.popen.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(f"its process ended with status {self.popen.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.popen.stdin:
            self.popen.stdin.close()
        try:
            self.popen.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


@dataclass
class Figure:
    """What was measured of one peer in one variant."""

    values: list[float] = field(default_factory=list)
    check: Any = None
    failure: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass
class Verdict:
    """One bar: the ratio reached and the ratio asked for."""

    ours: str
    peer: str | float
    ratio: float
    low: float
    high: float
    at_least: float

    @property
    def met(self) -> bool:
        return self.ratio >= self.at_least


def short(value: float) -> str:
    """Three significant digits."""
    for limit, scale, suffix in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= limit:
            return f"{value / scale:.3g}{suffix}" if value < 100 * scale else f"{value / scale:.0f}{suffix}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def efficiency(row: Row, figures: dict[str, Figure], ceiling: float) -> tuple[float, str] | None:
    """What all workers reach of the ideal, and what that is: parts without communication, else one worker's share."""
    measured = {name for name, figure in figures.items() if figure.values and not figure.failure}
    for ideal, times, name in ((IDEAL, 1.0, IDEAL), (ONE, ceiling, f"{ceiling:.2f} times one worker")):
        if {ALL, ideal} <= measured:
            pairs = zip(figures[ALL].values, figures[ideal].values, strict=True)
            return statistics.median(row.speedup(ours, theirs) for ours, theirs in pairs) / times, name
    return None


class Bench:
    """Measures rows as the options ask."""

    def __init__(self, options: argparse.Namespace, log: IO[str]) -> None:
        self.options, self.log = options, log

    def wanted(self, name: str) -> bool:
        chosen = self.options.peers
        return not (self.options.no_ray and name.startswith("Ray")) and (
            not chosen or any(part.lower() in name.lower() for part in chosen)
        )

    def row(self, module: str, variants: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Measure these variants of a row, or all but the further ones."""
        row: Row = importlib.import_module(module).row
        peers = [peer for peer in row.peers.values() if self.wanted(peer.name)]
        results = []
        for variant in row.variants if variants is None else variants:
            if self.options.variants and not any(part.lower() in variant.lower() for part in self.options.variants):
                continue
            taking_part = [(peer.name, peer.group) for peer in peers if variant in peer.variants]
            about = row.prepare(variant) if row.prepare else ""
            before = capacity()
            figures = self.variant(module, row, variant, taking_part)
            ceiling = (before + capacity()) / 2
            verdicts = self.judge(row, variant, figures)
            self.show(row, variant, figures, verdicts)
            if about:
                print(f"  ({about})")
            lost = efficiency(row, figures, ceiling)
            if lost:
                print(f"  -> efficiency: {lost[0]:.2f} of {lost[1]}")
            if lost or any(verdict.ours != ONE for verdict in verdicts):
                print(f"  ({CORES} processes did {ceiling:.2f} times the work of one on this machine meanwhile)")
            sys.stdout.flush()
            results.append(
                {
                    "row": module, "variant": variant, "about": about, "unit": row.unit, "capacity": round(ceiling, 2),
                    "efficiency": lost and {"ratio": round(lost[0], 3), "ideal": lost[1]},
                    "figures": {name: asdict(figure) for name, figure in figures.items()},
                    "bars": [asdict(verdict) | {"met": verdict.met} for verdict in verdicts],
                }
            )  # fmt: skip
        return results

    def variant(self, module: str, row: Row, variant: str, peers: list[tuple[str, str]]) -> dict[str, Figure]:
        """Open every peer, let each do the same small number of rounds, then interleave the repetitions."""
        figures = {name: Figure() for name, _ in peers}
        processes: dict[str, Process] = {}
        rounds: dict[str, int] = {}
        for name, group in peers:
            if group not in processes:
                processes[group] = Process(module, self.log)
            process, figure = processes[group], figures[name]
            try:
                process.ask(do="open", peer=name, variant=variant)
                first = process.ask(do="measure", peer=name, rounds=row.check_rounds)
                figure.check = first["check"]
                if row.rounds:
                    rounds[name] = row.rounds(variant)
                else:
                    guess = max(
                        row.check_rounds, int(row.check_rounds * 0.25 * self.options.seconds / first["seconds"])
                    )
                    second = process.ask(do="measure", peer=name, rounds=guess)
                    rounds[name] = max(row.check_rounds, int(guess * self.options.seconds / second["seconds"]))
            except PeerError as failure:
                figure.failure = str(failure)
        for _ in range(self.options.repetitions):
            for name, group in peers:
                if figures[name].failure:
                    continue
                try:
                    answer = processes[group].ask(do="measure", peer=name, rounds=rounds[name])
                except PeerError as failure:
                    figures[name].failure = str(failure)
                else:
                    figures[name].values.append(row.value(variant, rounds[name], answer["seconds"]))
        for process in processes.values():
            with process:
                pass
        return figures

    @staticmethod
    def judge(row: Row, variant: str, figures: dict[str, Figure]) -> list[Verdict]:
        """Compare with the bars."""
        verdicts = []
        for bar in row.bars:
            ours = figures.get(bar.ours)
            if not ours or ours.failure or (bar.variants and variant not in bar.variants):
                continue
            if isinstance(bar.peer, str):
                theirs = figures.get(bar.peer)
                if not theirs or theirs.failure:
                    continue
                values = theirs.values
            else:
                values = [bar.peer] * len(ours.values)
            ratios = [row.speedup(mine, other) for mine, other in zip(ours.values, values, strict=True)]
            verdicts.append(
                Verdict(bar.ours, bar.peer, statistics.median(ratios), min(ratios), max(ratios), bar.at_least)
            )
        return verdicts

    @staticmethod
    def show(row: Row, variant: str, figures: dict[str, Figure], verdicts: list[Verdict]) -> None:
        """Print one variant: a line a peer, then a line a bar."""
        print(f"\n{row.title}: {variant}, {row.unit}")
        width = max([len(name) for name in figures] + [0])
        checks = [figure.check for figure in figures.values() if figure.check is not None]
        for name, figure in figures.items():
            if figure.failure:
                print(f"  {name:{width}}  -  {figure.failure}")
                continue
            ranged = f"[{short(min(figure.values))} .. {short(max(figure.values))}]"
            differs = figure.check is not None and figure.check != checks[0]
            outcome = f"  OUTCOME DIFFERS: {figure.check} instead of {checks[0]}" if differs else ""
            print(f"  {name:{width}}  {short(figure.median):>7}  {ranged}{outcome}")
        for verdict in verdicts:
            against = verdict.peer if isinstance(verdict.peer, str) else f"{verdict.peer:g} {row.unit}"
            ratio = f"{verdict.ratio:.2f}x [{verdict.low:.2f} .. {verdict.high:.2f}]"
            word = "met" if verdict.met else "MISSED"
            print(f"  -> {verdict.ours} against {against}: {ratio}, at least {verdict.at_least:g}x: {word}")
        if row.note:
            print(f"  ({row.note})")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    models = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    named = ("reactors", "xronos", "ray", "gymnasium", "pufferlib-core", "stable-baselines3", "envpool", "ale-py")
    versions = {}
    for name in (*named, "torch", "numpy", "numba", "torchrl", "tianshou", "cpprb"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "cpu": models[0] if models else platform.machine(), "cores": CORES, "kernel": platform.release(),
        "python": platform.python_version(), "versions": versions, "load": os.getloadavg()[0],
    }  # fmt: skip


def listed(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=listed, default=list(ROWS), help=f"rows, of {','.join(ROWS)}")
    parser.add_argument("--variants", type=listed, default=[], help="variants whose name contains one of these")
    parser.add_argument("--peers", type=listed, default=[], help="peers whose name contains one of these")
    parser.add_argument("--repetitions", type=int, default=None, help="default 5; quick: 3")
    parser.add_argument("--seconds", type=float, default=None, help="of one repetition; default 1, quick: 0.2")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions: for a first look only")
    parser.add_argument("--no-ray", action="store_true", help="leave Ray out: it takes most of the time")
    options = parser.parse_args()
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    options.seconds = options.seconds or (0.2 if options.quick else 1.0)
    if unknown := set(options.only) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    return options


def main() -> None:
    options = parse()
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']:.1f}")
    print(", ".join(f"{name} {version}" for name, version in about["versions"].items()))
    results: list[dict[str, Any]] = []
    target = folder / f"{stamp}.json"
    with (folder / f"{stamp}.log").open("w") as log:
        bench = Bench(options, log)
        for module in options.only:
            results += bench.row(module)
            target.write_text(json.dumps({"machine": about, "results": results}, indent=1))
    bars = [(result, bar) for result in results for bar in result["bars"]]
    missed = [f"{result['row']}/{result['variant']} against {bar['peer']}" for result, bar in bars if not bar["met"]]
    print(f"\n{len(bars) - len(missed)} of {len(bars)} bars met" + (f"; missed: {'; '.join(missed)}" if missed else ""))
    print(f"written to {target}")


if __name__ == "__main__":
    main()
