"""PPO in one loop, as CleanRL writes it."""

from __future__ import annotations

import torch
from contenders.watch import Answer, Task, Watch
from scripted_ppo import ppo


def run(task: Task, way: str) -> Answer:
    """That of the row `training`."""
    del way
    torch.set_num_threads(1)
    watch = Watch(task)
    for steps, returns in ppo(task.seed):
        watch.ended(returns)
        if watch.enough(steps):
            break
    return watch.answer()
