"""PPO of Stable-Baselines3 on processes of its own: the program before `from_sb3.py`."""

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import SubprocVecEnv

ENV = "CartPole-v1"


def train(steps=15_360, seed=0, workers=2):
    """The mean return of the policy afterwards; SubprocVecEnv has a process for each environment."""
    envs = make_vec_env(ENV, n_envs=8, seed=seed, vec_env_cls=SubprocVecEnv)
    model = PPO(
        "MlpPolicy",
        envs,
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        learning_rate=1e-3,
        gamma=0.98,
        gae_lambda=0.8,
        seed=seed,
        device="cpu",
    )
    model.learn(steps)
    mean, _ = evaluate_policy(model, envs, n_eval_episodes=20)
    envs.close()
    return mean


if __name__ == "__main__":
    print(f"mean return {train():.0f}")
