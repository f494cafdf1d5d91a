"""What a journal costs a training, how large it is, and how long two of them take to compare: `python journals.py`.

A training with and one without a journal take turns; medians of the ratio of each pair. The first pair is not counted,
for it loads torch and environments.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import reactors as rx
from reactors import rl
from reactors.journals.comparison import Comparison


class Writer(rx.Reactor):
    """Writes as often as it is told to."""

    tick = rx.Timer(0, "1 ms")
    row = rx.Output(shape=(4,), dtype=np.float64)

    def __init__(self, bad: int = -1) -> None:
        self.bad = bad

    @rx.reaction(tick, effects=row)
    def write(self) -> None:
        self.row.set(np.full(4, self.tag.time + (self.tag.time == self.bad), np.float64))


def trained(env: str, steps: int, file: Path | None) -> float:
    """The seconds of a processor that a training takes, in this process: others that are busy count for less so."""
    began = time.process_time()
    rl.train(
        rl.PPO.preset(env) if env == "CartPole-v1" else rl.PPO(num_envs=8, horizon=128, batch_size=256, epochs=2),
        env, total_steps=steps, workers=1, mode="pipelined", seed=1,
        journal_values=False if file is None else str(file),
    )  # fmt: skip
    return time.process_time() - began


def costs(env: str, steps: int, pairs: int, folder: Path) -> None:
    """With and without, in turns."""
    ratios = []
    for pair in range(pairs + 1):
        file = folder / f"{pair}.rxj"
        ways = [None, file] if pair % 2 else [file, None]
        seconds = {way: trained(env, steps, way) for way in ways}
        if pair:
            ratios.append(seconds[file] / seconds[None])
    size = len(gzip.compress(file.read_bytes()))
    print(
        f"{env}: with a journal {statistics.median(ratios):.3f} of the time without ({min(ratios):.3f} to "
        f"{max(ratios):.3f}); {size:,} bytes gzipped, of {len(rx.Journal(file)):,} executions"
    )


def main() -> None:
    """All figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--writes", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, bad in (("a.rxj", -1), ("b.rxj", (given.writes - 10) * 1_000_000)):
            began = time.perf_counter()
            rx.run(Writer(bad), fast=True, timeout=f"{given.writes - 1} ms", journal=folder / file)
            spent = time.perf_counter() - began
        size = len(gzip.compress((folder / file).read_bytes()))
        began = time.perf_counter()
        comparison = Comparison(rx.Journal(folder / "a.rxj"), rx.Journal(folder / "b.rxj"))
        found = comparison.divergence
        compared = time.perf_counter() - began
        print(f"{given.writes:,} writes: compared in {compared:.2f} s, the first difference at {found and found.tag}")
        print(f"{size / given.writes:.1f} bytes an execution gzipped; a run of them took {spent:.1f} s")
        costs("CartPole-v1", 20_000, given.pairs, folder)
        costs("atari:Pong", 4_096, given.pairs, folder)


if __name__ == "__main__":
    main()
