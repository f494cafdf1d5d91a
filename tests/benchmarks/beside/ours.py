"""Ours, on one worker with one thread.

A run that SIGTERM has ended goes on from there, bit for bit, when the same commit is asked for it again.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kept_journals
import numpy as np
import torch
from beside import spread
from beside.task import SPREAD, Learned, Task, Watch, evaluate
from made_by import commit

from reactors import rl
from reactors.rl.runs.run_folder import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable


RUNS = Path(__file__).parents[3] / "build" / "beside"


def run(task: Task) -> Learned:
    """Actions of an evaluation are those of training where frames are seen, else the greedy ones."""
    torch.set_num_threads(1)
    made_by = commit()
    folder = RUNS / made_by / f"{task.algorithm}-{task.env}-{task.steps}-{task.seed}".replace(":", "-")
    spent = folder / "spent.json"  # a run that was killed has none
    if not spent.exists() or made_by.endswith("+"):
        shutil.rmtree(folder, ignore_errors=True)
    before = json.loads(spent.read_text()) if spent.exists() else {"seconds": 0.0, "processor": 0.0}
    began, worked = time.perf_counter() - before["seconds"], time.process_time() - before["processor"]
    try:
        done = rl.train(
            task.settings, task.make, total_steps=task.steps, seed=task.seed,
            out=folder, resume=folder if spent.exists() else None,
        )  # fmt: skip
    except KeyboardInterrupt:
        spent.write_text(
            json.dumps({"seconds": time.perf_counter() - began, "processor": time.process_time() - worked})
        )
        raise SystemExit(f"saved in {folder}; ask for it again, and it goes on") from None
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    watch, agents = Watch(task), spread.AGENTS if task.env == SPREAD else 1
    for row in done.journal:
        if "charts/episodic_return" in row:
            watch.returns.clear()
            watch.ended(int(row["global_step"]), [row["charts/episodic_return"] / agents])
    mean, deviation = spread.evaluate(task.seed, done) if task.env == SPREAD else evaluate(task, chooses(done, task))
    kept_journals.keep("-".join(map(str, (task.algorithm, task.env, task.steps, task.seed))), done.journal)
    shutil.rmtree(folder)
    return Learned(
        done.steps,
        seconds,
        processor,
        watch.returns[-1],
        mean,
        deviation,
        watch.curve,
        done.digest,
        fingerprint(done.weights),
    )


def chooses(done: rl.Trained, task: Task) -> Callable[[Any], Any]:
    """Gives the action for an observation."""
    rng = np.random.default_rng(task.seed)
    if ":" in task.env:
        return lambda obs: done.policy.act(obs[None], rng, task.steps)[0][0]
    return lambda obs: done.policy.greedy(obs[None])[0]
