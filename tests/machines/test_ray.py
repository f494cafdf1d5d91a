"""Machines that Ray starts: several raylets on this one."""

import json
import subprocess
import sys
from pathlib import Path

import reactors as rx


def test_a_program_does_the_same_on_machines_of_ray() -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "on_ray.py"], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *rows, refusal, failure = json.loads(done.stdout.splitlines()[-1])
    assert [count for count, *_ in rows] == [1, 2, 3]
    assert len({digest for _, digest, _ in rows}) == 1
    assert all(seen == rows[0][2] for *_, seen in rows)
    assert "8 more machines with 1 CPU each" in refusal
    assert "a machine of Ray's has failed before it joined" in failure
    assert "no python" in failure
    assert "a line from another machine" in done.stdout


def test_without_a_cluster_ray_says_so() -> None:
    script = "import reactors as rx\nrx.Machines(ray='auto', patience='1 s').gathered(2).__enter__()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert f"{rx.MachineError.__name__}: there is no Ray cluster at 'auto'" in done.stderr
