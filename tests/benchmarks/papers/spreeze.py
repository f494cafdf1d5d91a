"""Spreeze: High-Throughput Parallel Reinforcement Learning Framework, arXiv 2312.06126."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from papers.table import Table
from row import CORES
from run import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

ENV = "Pendulum-v1"
SAMPLERS = 2  # at most, where their number adapts


def rates(_: Any, options: argparse.Namespace) -> Iterable[Sequence[object]]:
    """SAC on Pendulum: samples and update frames a second, fixed by batch size, adapted, and in two halves."""
    from reactors import rl

    torch.set_num_threads(1)
    steps = 2_000 if options.quick else 4_000
    yield ["", "batch", "updates a step", "samplers", "sampling, Hz", "updates, frames/s", "updates, Hz"]
    fixed = [(256, 1.0), (1024, 1.0), (4096, 0.25)]
    for name, batch, ratio, more in [
        *(("free mode", batch, ratio, {"mode": "free"}) for batch, ratio in fixed),
        ("adapted", 256, 1.0, {"mode": "free", "adapt": True}),
        ("actor and critics apart, pipelined", 256, 1.0, {"mode": "pipelined", "actor_device": "cpu"}),
        ("apart, free mode", 256, 1.0, {"mode": "free", "actor_device": "cpu", "workers": CORES + 1}),
        ("apart, adapted", 256, 1.0, {"mode": "free", "adapt": True, "actor_device": "cpu", "workers": CORES + 1}),
    ]:
        algorithm = rl.SAC(
            num_envs=4, horizon=8, batch_size=batch, updates_per_step=ratio, learning_starts=256, capacity=100_000
        )
        total = steps * (40 if "adapt" in more else 1)  # samplers do not wait there
        done = rl.train(
            algorithm,
            ENV,
            total_steps=total,
            actors=SAMPLERS,
            **({"workers": CORES} | more),  # type: ignore[arg-type]
        )
        later = [row for row in done.journal if row["seconds"] >= done.journal[-1]["seconds"] / 4]
        seconds = later[-1]["seconds"] - later[0]["seconds"]
        sampling = (later[-1]["global_step"] - later[0]["global_step"]) / seconds
        frames, updates = (over_time(later, f"rate/{name}_hz") for name in ("update_frame", "update"))
        size = f"{frames / updates:.0f}"  # the mean, where it changes, as of samplers
        playing = over_time(later, "adapt/samplers") if "adapt" in more else SAMPLERS
        ratio_there = f"{updates / sampling:.2g}"
        yield [name, size, ratio_there, f"{playing:.2g}", short(sampling), short(frames), short(updates)]
    yield ["Stable-Baselines3", 256, 1, "", *map(short, others(steps // 4))]


def over_time(rows: list[dict[str, float]], name: str) -> float:
    """The mean of a rate, each weighed by how long it was that; not all rows say it."""
    said = [row for row in rows if name in row]
    parts = [(now[name], now["seconds"] - before["seconds"]) for before, now in pairwise(said)]
    return sum(rate * seconds for rate, seconds in parts) / sum(seconds for _, seconds in parts)


def others(steps: int) -> tuple[float, float, float]:
    """Stable-Baselines3 with the same: sampling, frames and updates a second."""
    import stable_baselines3 as sb3
    from stable_baselines3.common.env_util import make_vec_env

    learner = sb3.SAC(
        "MlpPolicy", make_vec_env(ENV, n_envs=4, seed=0), batch_size=256, buffer_size=100_000, learning_starts=256,
        train_freq=8, gradient_steps=32, device="cpu", seed=0,
    )  # fmt: skip
    learner.learn(320)
    began, at = time.perf_counter(), learner.num_timesteps
    learner.learn(steps, reset_num_timesteps=False)
    rate = (learner.num_timesteps - at) / (time.perf_counter() - began)
    return rate, 256 * rate, rate


TABLES = (Table("spreeze-rates", rates),)
