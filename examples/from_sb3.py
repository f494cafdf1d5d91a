"""The program of `before/sb3_ppo.py`, moved over from Stable-Baselines3.

`model.learn` becomes `rl.train`, with the same hyperparameters under our names; the environments need no wrapper. A
policy network of your own, callbacks, and what else stays with Stable-Baselines3 can stay: vector_env.py changes one
argument, and keeps its PPO on our environments.

Run:   python from_sb3.py
       python from_sb3.py --compare      beside Stable-Baselines3, in turns; and the lines that changed
Needs: pip install '.[rl]', and stable-baselines3 to compare
"""

import argparse

from reactors import rl

ENV = "CartPole-v1"


def train(steps=15_360, seed=0, workers=2):
    """The mean return of the policy afterwards."""
    algorithm = rl.PPO(
        num_envs=8,
        horizon=32,
        batch_size=256,
        epochs=20,
        learning_rate=1e-3,
        gamma=0.98,
        lam=0.8,
    )
    done = rl.train(algorithm, ENV, total_steps=steps, seed=seed, workers=workers, mode="pipelined")
    return done.evaluate(episodes=20)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--steps", type=int, default=15_360)
    options.add_argument("--compare", action="store_true", help="run the program before as well, in turns")
    options.add_argument("--turns", type=int, default=5, help="of the comparison")
    args = options.parse_args()
    if args.compare:
        from before import comparison, sb3_ppo

        comparison.show(sb3_ppo.train, train, args.turns, workers=args.workers, steps=args.steps)
    else:
        print(f"mean return {train(args.steps, workers=args.workers):.0f}")


if __name__ == "__main__":
    main()
