"""Stable-Baselines3, unmodified, on environments that are reactors.

`rl.VectorEnv` stands where gymnasium.vector.AsyncVectorEnv would, and `rl.sb3.VecEnv` on top of it where
Stable-Baselines3 has its SubprocVecEnv: the environments are spread over workers, of which the first is this process,
and what PPO learns is the same bit for bit on any number of them.

Run:   python vector_env.py --workers 2
Needs: pip install '.[rl]' stable-baselines3
"""

import argparse
import time

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from torch import set_num_threads

from reactors.rl import sb3


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--env", default="CartPole-v1")
    options.add_argument("--envs", type=int, default=16)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--steps", type=int, default=32_000)
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    set_num_threads(1)  # the cores are the environments'
    settings = {"workers": args.workers}
    envs = make_vec_env(args.env, args.envs, args.seed, vec_env_cls=sb3.VecEnv, vec_env_kwargs=settings)  # type: ignore[arg-type]
    model = PPO("MlpPolicy", envs, n_steps=64, batch_size=256, learning_rate=1e-3, seed=args.seed, device="cpu")
    began = time.monotonic()
    model.learn(args.steps)
    seconds = time.monotonic() - began
    print(f"{model.num_timesteps:,} steps, {model.num_timesteps / seconds:,.0f} a second, learning included")
    mean, deviation = evaluate_policy(model, envs, n_eval_episodes=20)
    print(f"mean return {mean:.1f} +- {deviation:.1f} over 20 episodes")
    envs.close()


if __name__ == "__main__":
    main()
