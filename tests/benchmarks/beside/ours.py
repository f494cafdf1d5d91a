"""Ours, on one worker with one thread."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from beside.task import Learned, Task, Watch, evaluate

from reactors import rl


def run(task: Task) -> Learned:
    """Actions of an evaluation are those of training where frames are seen, else the greedy ones."""
    torch.set_num_threads(1)
    began, worked = time.perf_counter(), time.process_time()
    done = rl.train(task.settings, task.make, total_steps=task.steps, seed=task.seed)
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    watch = Watch(task)
    for row in done.journal:
        if "charts/episodic_return" in row:
            watch.returns.clear()
            watch.ended(int(row["global_step"]), [row["charts/episodic_return"]])
    rng = np.random.default_rng(task.seed)

    def choose(obs: Any) -> Any:
        return (done.policy.act(obs[None], rng, task.steps)[0] if ":" in task.env else done.policy.greedy(obs[None]))[0]

    mean, deviation = evaluate(task, choose)
    return Learned(done.steps, seconds, processor, watch.returns[-1], mean, deviation, watch.curve, done.digest)
