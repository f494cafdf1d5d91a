"""Training, and what is made of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reactors import rl

ppo = rl.PPO()


class Random(rl.Policy):
    def load(self, weights: NDArray[np.float32]) -> None: ...

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        return observations

    def act(self, observations: NDArray[Any]) -> NDArray[Any]:  # error
        return observations


class Half(rl.Policy):
    def load(self, weights: NDArray[np.float32]) -> None: ...


Half()  # error
rl.PPO(epoch=1)  # error
rl.PPO(epochs="1")  # error
rl.PPO(4)  # error
ppo.epochs = 3  # error
rl.trian(ppo, "CartPole-v1")  # error
rl.train("PPO", "CartPole-v1")  # error
rl.train(rl.PPO, "CartPole-v1")  # error
rl.train(ppo)  # error
rl.train(ppo, "CartPole-v1", 1000)  # error
rl.train(ppo, "CartPole-v1", total_steps="1000")  # error
rl.train(ppo, "CartPole-v1", mode="async")  # error
rl.train(ppo, "CartPole-v1", backend="threads")  # error
rl.train(ppo, "CartPole-v1", inference="server")  # error
rl.train(ppo, "CartPole-v1", on_error="ignore")  # error
rl.train(ppo, "CartPole-v1", worker=2)  # error
rl.train(ppo, "CartPole-v1", out=5)  # error
rl.train(ppo, "CartPole-v1", tell=5)  # error
rl.train(ppo, "CartPole-v1", adapt=rl.Bounds(batch_size=5))  # error
rl.train(ppo, "CartPole-v1", serve=ppo)  # error
done = rl.train(ppo, "CartPole-v1")
done.evalute()  # error
done.evaluate("3")  # error
done.evaluate().upper()  # error
done.weights.upper()  # error
done.digest + 1  # error
done.steps.upper()  # error
done.journal["return"]  # error
done.journal[0]["return"].upper()  # error
done.result.digset  # error
done.best.evaluate()  # error
done.save(5)  # error
done.policy.act(np.zeros((1, 4)))  # error
done.policy.act(np.zeros((1, 4)), np.random.default_rng(0), 0).upper()  # error
done.policy.greedy(np.zeros((1, 4))).upper()  # error
done.algorithm.nmae  # error
rl.load(5)  # error
rl.load("runs/a", algorithm="PPO")  # error
rl.load("runs/a").weigths  # error
rl.load("runs/a").digest  # error
server = rl.serve(done)
rl.serve(5)  # error
rl.serve(done, max_batch="8")  # error
rl.serve(done, max_wait=0.5)  # error
server.reqest([0.0])  # error
server.request([0.0]).resutl()  # error
server.wait("1 s")  # error
server.statistics().answerd  # error
tuned = rl.tune(ppo, "CartPole-v1")
rl.tune(ppo, "CartPole-v1", mode="best")  # error
rl.tune(ppo, "CartPole-v1", backend="threads")  # error
rl.tune(ppo, "CartPole-v1", core=2)  # error
tuned.optoins  # error
tuned.choice.mdoe  # error
