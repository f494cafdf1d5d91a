"""Sample Factory's APPO: two processes play in eight environments each, one evaluates the policy, one learns.

Hyperparameters are those of its own example for CartPole-v1.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import Any

import gymnasium as gym
import torch
from contenders.watch import EPISODES, Answer, Task, Watch
from sample_factory.algo.runners.runner import AlgoObserver
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.train import make_runner

ENV = "CartPole-v1"


def make(name: str, cfg: Any = None, env_config: Any = None, render_mode: str | None = None) -> Any:
    return gym.make(name, render_mode=render_mode)


class Look(AlgoObserver):
    """After each update."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def on_training_step(self, runner: Any, training_iteration_since_resume: int) -> None:
        known = runner.policy_avg_stats.get("reward", [()])[0]
        self.watch.returns.clear()
        self.watch.ended(known)
        if self.watch.enough(runner.total_env_steps_since_resume or 0):
            raise KeyboardInterrupt


def run(task: Task, way: str) -> Answer:
    """It does not end when it is asked to; the process that started this one ends the others, too."""
    del way
    torch.set_num_threads(1)
    register_env(ENV, make)
    options = {
        "env": ENV, "seed": task.seed, "device": "cpu", "train_dir": tempfile.mkdtemp(), "stats_avg": EPISODES,
        "num_workers": 2, "num_envs_per_worker": 8, "policy_workers_per_policy": 1, "batch_size": 512,
        "use_rnn": False, "recurrence": 1, "with_vtrace": False, "reward_scale": 0.1,
        "train_for_env_steps": 10 * task.steps, "experiment_summaries_interval": 1000, "save_every_sec": 1000,
    }  # fmt: skip
    said = [*(f"--{name}={value}" for name, value in options.items()), "--encoder_mlp_layers", "64", "64"]
    parser, _ = parse_sf_args(said)
    _, runner = make_runner(parse_full_cfg(parser, said))
    watch = Watch(task)
    runner.register_observer(Look(watch))
    runner.init()
    with suppress(KeyboardInterrupt):
        runner.run()
    return watch.answer()
