"""Write all of it, with the version that is to become an old one: `python -m tests.old.make`, from its checkout."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import reactors as rx
from reactors import rl
from tests.old.programs import FIELDS, TRAININGS, Main, clock, drive

HERE = Path(__file__).parent
ROUNDS, STEPS = 20, 64


def log() -> dict[str, Any]:
    main = Main()
    result = rx.run(main, timeout="12 ms", record=HERE / "run.rxlog", seed=7, clock=clock(main))
    return {"digest": result.digest, "sensor": main.sensor.log, "listener": main.listener.log}


def training(name: str) -> dict[str, Any]:
    algorithm, env = TRAININGS[name]
    steps = STEPS if name != "q_learning" else algorithm.num_envs * algorithm.horizon
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    done = rl.train(
        algorithm, env, total_steps=ROUNDS * steps, seed=3, out=out, checkpoint_every=12, eval_every=10, eval_episodes=2
    )
    for picture in (*out.glob("*.png"), *out.glob("*.svg")):
        picture.unlink()
    return {
        "digest": done.digest,
        "weights": np.asarray(done.weights, float).tolist(),
        "returns": done.evaluate(episodes=2),
        "actions": actions(done, env),
        "resume": f"checkpoints/{12 * steps:012d}",
        "total_steps": ROUNDS * steps,
    }


def actions(policy: Any, env: str) -> list[int]:
    """Of a policy, for some observations."""
    seen = range(16) if env == "FrozenLake-v1" else np.random.default_rng(1).normal(size=(16, 4)).astype("f4")
    return [int(policy(obs)) for obs in seen]


def buffer() -> list[Any]:
    made = rl.ReplayBuffer(20, FIELDS, seed=5, prioritized=True, n_step=3)
    drive(made, 0, 40)
    made.save(HERE / "buffer.safetensors")
    return drive(made, 40, 50)


def main() -> None:
    """Files and folders beside this one, and in expected.json what is to be made of them."""
    expected = {"log": log(), "buffer": buffer(), **{name: training(name) for name in TRAININGS}}
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
