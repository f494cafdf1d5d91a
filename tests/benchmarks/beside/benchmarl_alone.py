"""BenchMARL, TorchRL's library for many agents, in its own interpreter and one thread.

    .venv-benchmarl/bin/python -m beside.benchmarl_alone MAPPO 1000000 0

trains in simple_spread for so many steps with a seed, and prints what came of it as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import torch
from benchmarl.algorithms import IppoConfig, MappoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models import MlpConfig
from beside import spread
from tensordict import TensorDict
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.envs.utils import ExplorationType, set_exploration_type

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP = "agent"  # what TorchRL calls agent_0 to agent_2 together


class Spread(PettingZooClass):
    """The task, of mpe2: PettingZoo has given this environment away, and BenchMARL's own task looks for it there.

    Each environment has a seed of its own. BenchMARL gives all the same one, so that all 16 begin the same episodes.
    """

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], PettingZooWrapper]:
        del num_envs, continuous_actions
        seeds = count(1000 * (seed or 0))
        return lambda: PettingZooWrapper(spread.environment(), return_state=True, seed=next(seeds), device=device)

    def max_steps(self, env: Any) -> int:
        del env
        return spread.STEPS


class Returns(Callback):
    """The mean return of each batch; all episodes are of the same length."""

    def __init__(self) -> None:
        super().__init__()
        self.curve: list[tuple[int, float]] = []

    def on_batch_collected(self, batch: Any) -> None:
        reward = float(batch["next", GROUP, "reward"].mean()) * spread.STEPS
        self.curve.append(((self.curve[-1][0] if self.curve else 0) + batch.numel(), reward))


def run(algorithm: str, steps: int, seed: int) -> dict[str, Any]:
    """By `Experiment.run`; the fields are those of `beside.task.Learned`."""
    torch.set_num_threads(1)
    frames = spread.NUM_ENVS * spread.HORIZON
    settings = ExperimentConfig.get_from_yaml()
    for name, value in {
        "prefer_continuous_actions": False, "gamma": spread.GAMMA, "lr": spread.LEARNING_RATE, "adam_eps": 1e-5,
        "clip_grad_val": spread.MAX_GRAD_NORM, "max_n_frames": steps,
        "on_policy_collected_frames_per_batch": frames, "on_policy_n_envs_per_worker": spread.NUM_ENVS,
        "on_policy_n_minibatch_iters": spread.EPOCHS, "on_policy_minibatch_size": spread.MINIBATCH // spread.AGENTS,
        "evaluation": False, "loggers": [], "create_json": False,
    }.items():  # fmt: skip
        setattr(settings, name, value)
    loss = {"MAPPO": MappoConfig, "IPPO": IppoConfig}[algorithm].get_from_yaml()
    loss.clip_epsilon, loss.entropy_coef, loss.critic_coef, loss.lmbda = (
        spread.CLIP, spread.ENTROPY, spread.VALUE, spread.LAM,
    )  # fmt: skip
    network = MlpConfig(num_cells=list(spread.HIDDEN), layer_class=torch.nn.Linear, activation_class=torch.nn.Tanh)
    returns = Returns()
    with tempfile.TemporaryDirectory() as folder:
        settings.save_folder = folder
        experiment = Experiment(
            Spread("SIMPLE_SPREAD", {}), algorithm_config=loss, model_config=network, critic_model_config=network,
            seed=seed, config=settings, callbacks=[returns],
        )  # fmt: skip
        began, worked = time.perf_counter(), time.process_time()
        experiment.run()
        seconds, processor = time.perf_counter() - began, time.process_time() - worked

    def act(observations: Any) -> dict[str, int]:
        seen = torch.stack([torch.from_numpy(each) for each in observations.values()])
        given = TensorDict({GROUP: TensorDict({"observation": seen}, [spread.AGENTS])}, [])
        with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
            actions = experiment.policy(given)[GROUP, "action"]
        return {agent: int(action) for agent, action in zip(observations, actions, strict=True)}

    mean, deviation = spread.evaluate(seed, act)
    curve = [(steps, round(value, 2)) for steps, value in returns.curve]
    return {
        "steps": curve[-1][0], "seconds": seconds, "processor": processor, "last": curve[-1][1], "mean": mean,
        "deviation": deviation, "curve": curve[:: -max(1, len(curve) // 100)][::-1],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
