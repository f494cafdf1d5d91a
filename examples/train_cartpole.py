"""Train PPO on CartPole, stop halfway, go on with another number of workers, and get the same policy.

    python examples/train_cartpole.py [--out runs/train_cartpole]

The first run is never stopped; the second one goes on from a checkpoint of the first. Both leave a folder with the
journal, the graph and a curve.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np

from reactors import rl

STEPS = 10_240  # 40 rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/train_cartpole"))
    out: Path = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)

    ppo = rl.PPO.preset("CartPole-v1", epochs=10)
    whole = rl.train(
        ppo, "CartPole-v1", total_steps=STEPS, mode="pipelined", seed=1, out=out / "whole", checkpoint_every=20
    )
    print(f"trained {STEPS:,} steps: greedy return {whole.evaluate():.0f}")

    half = out / "whole" / "checkpoints" / f"{STEPS // 2:012d}"
    again = rl.train(
        ppo, "CartPole-v1", total_steps=STEPS, mode="pipelined", seed=1, workers=2, resume=half, out=out / "again"
    )
    equal = np.array_equal(whole.weights, again.weights)
    print(f"resumed at {STEPS // 2:,} with 2 workers: {'the same weights, bit for bit' if equal else 'OTHER WEIGHTS'}")
    print(f"all of it is in {out}; try: reactors compare {out}/*")


if __name__ == "__main__":
    main()
