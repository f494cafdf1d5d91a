"""Ours: pipelined or free on two workers, or in lock-step on one. A run takes as long as all of `rl.train`."""

from __future__ import annotations

import time
from typing import Any

import torch
from contenders.watch import Answer, Task, speed
from training import algorithm, environment

from reactors import rl

WAYS: dict[str, dict[str, Any]] = {
    "pipelined": {"mode": "pipelined", "workers": 2, "actors": 1},
    "sync": {"mode": "sync", "workers": 1, "actors": 1},
    "free": {"mode": "free", "workers": 2, "actors": 1},
    "adapted": {"mode": "free", "workers": 2, "adapt": True},
}


def run(task: Task, way: str) -> Answer:
    """Has no limit of time."""
    torch.set_num_threads(1)
    made, env = algorithm(task.workload), environment(task.workload)
    starting, began = time.time() - task.spawned, time.perf_counter()
    done = rl.train(made, env, total_steps=task.steps, seed=task.seed, stop_at=task.goal, **WAYS[way])
    seconds = time.perf_counter() - began
    means = [row["charts/episodic_return"] for row in done.journal if "charts/episodic_return" in row]
    times = [(int(row["global_step"]), row["seconds"]) for row in done.journal]
    reached = task.goal is not None and max(means) >= task.goal
    return Answer(reached, done.steps, seconds, starting + seconds, speed(times), means[-1])
