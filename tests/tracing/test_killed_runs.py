"""A run that is killed leaves a trace that is good up to some moment before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from reactors.tracing.executions import Executions
from reactors.tracing.trace import Trace

MOMENTS = 100
PROGRAM = """
import os, random, signal, sys, time
from pathlib import Path
import reactors as rx
from tests.viewing.programs import Farm

rng = random.Random(0)
rx.run(Farm(seconds=0), fast=True, timeout="4 ms", workers=2, backend="thread", trace=os.devnull)  # all is imported
for n in range(int(sys.argv[2])):
    file = Path(sys.argv[1]) / f"{n}.rxt"
    child = os.fork()
    if not child:
        rx.run(Farm(seconds=0), fast=True, workers=1 + n % 2, backend="thread" if n % 2 else "inline", trace=file)
        os._exit(0)
    while not (file.exists() and file.stat().st_size):
        time.sleep(0.0005)
    time.sleep(rng.random() * 0.03)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_each_of_many_killed_runs_leaves_what_can_be_read(tmp_path: Path) -> None:
    code = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, str(tmp_path), str(MOMENTS)]
    subprocess.run(code, check=True, cwd=Path(__file__).parents[2], timeout=300)
    some = 0
    for n in range(MOMENTS):
        trace = Trace(tmp_path / f"{n}.rxt")
        by_worker = trace.by_worker()
        assert trace.end is None
        for spans in by_worker:  # tags that are whole, one after another
            rows = spans.reactions
            assert (np.diff(rows["tag"]["time"]) >= 0).all()
            assert (np.diff(rows["start"]) >= 0).all()
            assert (rows["end"] >= rows["start"]).all()
        executions = Executions(trace, by_worker)
        some += len(executions) > 0
        if n % 2 == 0 and len(executions):  # one worker: all that ran up to there
            assert len(executions) % 4 == 0
            assert np.array_equal(
                np.unique(executions.rows["tag"]["time"]), np.arange(len(executions) // 4) * 2_000_000
            )
    assert some > MOMENTS / 2
