"""Training while serving: clients play with the policy that is being trained, and see it get better.

Actors, learner and server are one graph. The learner's weights reach the actors for their next round, and the server at
once. Clients are threads: each plays a CartPole of its own and asks the server for every action. What is learned is the
same, bit for bit, as without them.

Run:   python train_and_serve.py --steps 60000
       python train_and_serve.py --workers 2 --clients 8
Needs: pip install '.[rl]'
"""

from __future__ import annotations

import argparse
import statistics
import threading

import gymnasium as gym

from reactors import rl

ENV = "CartPole-v1"


def client(server: rl.Server, seed: int, returns: list[float]) -> None:
    """Plays one episode after the other with the actions that the server says, until it no longer serves."""
    env = gym.make(ENV)
    observation, _ = env.reset(seed=seed)
    total = 0.0
    server.wait()
    while True:
        try:
            action = server.request(observation).result()
        except rl.NotServingError:
            break
        observation, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        if terminated or truncated:
            returns.append(total)
            observation, _ = env.reset()
            total = 0.0
    env.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=40_000)
    options.add_argument("--clients", type=int, default=4)
    options.add_argument("--workers", type=int, default=1, help="that train; the server has one more")
    options.add_argument("--backend", default="auto", choices=("auto", "thread", "process"))
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    algorithm = rl.PPO.preset("CartPole-v1")
    server = rl.serve(algorithm, env=ENV, max_batch=8, max_wait="0.5 ms")
    returns: list[float] = []
    clients = [
        threading.Thread(target=client, args=(server, i, returns), daemon=True)  # or they wait if training fails
        for i in range(args.clients)
    ]
    for thread in clients:
        thread.start()
    done = rl.train(
        algorithm, ENV, total_steps=args.steps, seed=args.seed, workers=args.workers, backend=args.backend, serve=server
    )
    for thread in clients:
        thread.join()
    print(done.result.summary())
    print(f"{done.steps:,} steps, {server.updates} times new weights for the server")
    if len(returns) >= 20:
        first, last = statistics.mean(returns[:10]), statistics.mean(returns[-10:])
        print(f"the clients' first ten episodes had a mean return of {first:.0f}, their last ten of {last:.0f}")


if __name__ == "__main__":
    main()
