"""Ours, on one worker with one thread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from beside import spread
from beside.task import SPREAD, Learned, Task, Watch, evaluate

from reactors import rl
from reactors.rl.runs.run_folder import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable


def run(task: Task) -> Learned:
    """Actions of an evaluation are those of training where frames are seen, else the greedy ones."""
    torch.set_num_threads(1)
    began, worked = time.perf_counter(), time.process_time()
    done = rl.train(task.settings, task.make, total_steps=task.steps, seed=task.seed)
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    watch, agents = Watch(task), spread.AGENTS if task.env == SPREAD else 1
    for row in done.journal:
        if "charts/episodic_return" in row:
            watch.returns.clear()
            watch.ended(int(row["global_step"]), [row["charts/episodic_return"] / agents])
    mean, deviation = spread.evaluate(task.seed, done) if task.env == SPREAD else evaluate(task, chooses(done, task))
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
