"""Losses and gradients of recurrent policies are what `reference` makes of the papers, row by row.

Episodes end inside of sequences, in both ways, and the states with which those begin are any.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from reactors import rl
from reactors.rl.estimates.returns import Course
from reactors.rl.networks.recurrent import Stretch
from tests.rl.algorithms.reference import a2c, appo, impala, ppo, r2d2, recurrent_sac
from tests.rl.algorithms.reference.optimizers import Adam, RMSProp
from tests.rl.algorithms.reference.recurrent import History, RecurrentActorCritic, numbered
from tests.rl.algorithms.test_losses import (
    BOX,
    COMMON,
    DISCRETE,
    ENVS,
    SEEN,
    STEPS,
    close,
    double,
    drawn,
    follows,
    rollout,
    run,
    shapes,
    tensors,
    transitions,
)

if TYPE_CHECKING:
    import gymnasium as gym

WIDTH, LENGTH = 4, 3
REMEMBERING: dict[str, Any] = COMMON | {"recurrent": WIDTH, "value_scale": 1.0}
GRADIENTS: dict[str, Any] = {
    "PPO": rl.PPO(**REMEMBERING, lam=0.8, epochs=2, batch_size=9, sequence=LENGTH, anneal=True),
    "A2C": rl.A2C(**REMEMBERING, eps=0.01, smoothing=0.9),
    "IMPALA": rl.IMPALA(**REMEMBERING, fragments=2, lam=0.8, rho=1.2, c=0.9),
    "APPO": rl.APPO(**REMEMBERING, fragments=2, lam=0.8, passes=2, ring=1, target_every=3, most=1.3),
}


def likely(learning: Any, batch: dict[str, Any]) -> Any:
    """Logarithms of probabilities, (steps, environments), from the first states on."""
    going = Course.of(tensors(batch)).going
    seen = Stretch(torch.from_numpy(batch["obs"]).flatten(0, 1), torch.from_numpy(batch["state"][0]), going)
    logs = learning.net.judge(learning.net.features(seen), torch.from_numpy(batch["choice"]).flatten(0, 1))[0]
    return logs.detach().numpy().reshape(STEPS, ENVS)


def in_sequences(order: Any) -> Any:
    """The rows of these sequences, of which there are `ENVS` for each `LENGTH` steps."""
    return np.array([[(k // ENVS * LENGTH + t) * ENVS + k % ENVS for k in order] for t in range(LENGTH)]).flatten()


@pytest.mark.parametrize("actions", [DISCRETE, BOX], ids=["discrete", "continuous"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_policy_gradients_are_the_papers(name: str, actions: gym.Space[Any]) -> None:
    config, rng = GRADIENTS[name].scheduled(4 * STEPS * ENVS), np.random.default_rng(1)
    learning = config.learning(SEEN, actions, 0)
    theta = drawn(learning.flat, rng)
    optimizer: Any = RMSProp(eps=0.01, decay=0.9) if name == "A2C" else Adam(eps=1e-5)
    target = appo.Target(drawn(learning.old, rng) if name == "APPO" else theta)
    start, parameters = 2 if actions is DISCRETE else None, shapes(learning.net.parameters_in_order())
    for left in (1.0, 0.75):  # of the learning rate
        batch = rollout(rng, actions)
        batch["state"] = rng.uniform(-1, 1, (STEPS, ENVS, WIDTH)).astype(np.float32)
        played = likely(learning, batch)
        batch["log_prob"] = played + 0.8 * rng.normal(size=played.shape).astype(np.float32)
        rows, length = numbered(double(batch)), LENGTH if name == "PPO" else STEPS
        net = RecurrentActorCritic(parameters, start, 1.0, History(double(batch), length, torch.tanh))
        if name == "PPO":
            draws, n = copy.deepcopy(learning.rng), STEPS * ENVS // LENGTH
            orders = [draws.permutation(n) for _ in range(config.epochs)]
            parts = [
                in_sequences(order[at : at + 3]) for order in orders for at in (0, 3)
            ]  # two sequences are left out
            wanted = [*ppo.learn(net, theta, rows, parts, config, optimizer, left)]
        elif name == "APPO":
            wanted = [*appo.learn(net, theta, target, rows, config, optimizer, left)]
        else:
            page: Any = impala if name == "IMPALA" else a2c
            wanted = [*page.learn(net, theta, rows, config, optimizer, left)]
        gradients, after, figures = run(learning.learn(tensors(batch)), {"all": learning.flat})
        assert len(gradients) == len(wanted)
        for (_, gradient), vectors, step in zip(gradients, after, wanted, strict=True):
            close(gradient, step.gradient, "gradient")
            follows(vectors["all"], step, theta, "parameters")
            theta = step.theta
        for figure, number in wanted[-1].losses.items():
            close(figures[f"losses/{figure}"], number, figure)
        learning.flat.weights.data.copy_(torch.from_numpy(theta))  # or roundings of two rounds add up


DEEP: dict[str, Any] = {
    "hidden": (5,), "recurrent": WIDTH, "gamma": 0.9, "learning_rate": 0.01, "max_grad_norm": 0.5, "target_every": 2,
    "batch_size": 3, "sequence": 4,
}  # fmt: skip
SEQUENCES: dict[str, Any] = {
    "plain": rl.DQN(**DEEP, burn_in=2),
    "of several steps": rl.DQN(**DEEP, burn_in=2, n_step=3, double=False),
    "without burn-in": rl.DQN(**DEEP, burn_in=0, dueling=True),
    "by priority": rl.DQN(**DEEP, burn_in=3, n_step=2, dueling=True, prioritized=True, eta=0.7),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_q_learning_from_sequences_is_r2d2s(name: str) -> None:
    config, rng = SEQUENCES[name], np.random.default_rng(2)
    learning = config.learning(SEEN, DISCRETE, 0)
    theta, target = drawn(learning.flat, rng), drawn(learning.old, rng)
    batches = []
    for _ in range(3):
        batch = transitions(rng, (config.burn_in + config.sequence, 3), DISCRETE)
        goes_on = ~(batch["terminated"] | batch["truncated"])[:-1]
        batch["obs"][1:][goes_on] = batch["next_obs"][:-1][goes_on]
        state = rng.uniform(-1, 1, (3, WIDTH)).astype(np.float32)
        batches.append((batch, state, rng.uniform(0.2, 1, 3).astype(np.float32)))
    seen = [{**double(batch), "state": state[None].astype(float), "weights": w} for batch, state, w in batches]
    wanted = [*r2d2.learn(shapes(learning.net.acting.parameters()), theta, target, 2, seen, config)]
    for (batch, state, weights), step in zip(batches, wanted, strict=True):
        given = {field: np.ascontiguousarray(each.swapaxes(0, 1)) for field, each in batch.items()}
        gradients, after, figures = run(
            learning.learn(tensors({**given, "state": state, "weights": weights})), {"all": learning.flat}
        )
        close(gradients[0][1], step.gradient, "gradient")
        follows(after[0]["all"], step, theta, "parameters")
        theta = step.theta
        close(figures["losses/td_loss"], step.losses["td_loss"], "loss")
        if config.prioritized:
            close(figures["errors"].numpy(), [step.losses[f"error {k}"] for k in range(3)], "errors")
        learning.flat.weights.data.copy_(torch.from_numpy(theta))
        if learning.updates % config.target_every == 0:
            learning.old.weights.data.copy_(learning.flat.weights.data)


SOFT: dict[str, Any] = {
    "hidden": (5,), "recurrent": WIDTH, "gamma": 0.9, "learning_rate": 0.01, "batch_size": 3, "sequence": 4, "tau": 0.1
}  # fmt: skip
SOFTLY: dict[str, Any] = {
    "plain": rl.SAC(**SOFT, burn_in=2),
    "without burn-in": rl.SAC(**SOFT, burn_in=0),
    "by priority, of several steps": rl.SAC(**SOFT, burn_in=3, n_step=2, prioritized=True, eta=0.7),
}


@pytest.mark.parametrize("name", SOFTLY)
def test_soft_actor_critic_from_sequences_is_that_of_the_papers(name: str) -> None:
    rng = np.random.default_rng(12)
    config = SOFTLY[name]
    learning = config.learning(SEEN, BOX, 0)
    thetas = {each: drawn(learning.flat[each], rng) for each in ("critics", "actor", "temperature")}
    learning.flat["target_critics"].weights.data.copy_(learning.flat["critics"].weights.data)
    thetas["target_critics"] = thetas["critics"]
    sizes = {each: shapes(learning.networks[each].parameters()) for each in ("actor", "critics")}
    lots, batches, seen, noises = learning.noise.clone_state(), [], [], []
    for _ in range(3):
        batch = transitions(rng, (config.burn_in + config.sequence, 3), BOX)
        goes_on = ~(batch["terminated"] | batch["truncated"])[:-1]
        batch["obs"][1:][goes_on] = batch["next_obs"][:-1][goes_on]
        state = rng.uniform(-1, 1, (3, WIDTH)).astype(np.float32)
        weights = rng.uniform(0.2, 1, 3).astype(np.float32)
        given = {field: np.ascontiguousarray(each.swapaxes(0, 1)) for field, each in batch.items()}
        batches.append({**given, "state": state, "weights": weights})
        seen.append({**double(batch), "state": state[None].astype(float), "weights": weights})
        apart = batch["truncated"][config.burn_in :].copy()
        apart[-1] = True
        both = torch.empty(apart.size + apart.sum(), 2).normal_(generator=lots).double().numpy()
        following = np.roll(both[: apart.size].reshape(*apart.shape, 2), -1, axis=0)
        following[apart] = both[apart.size :]
        noises.append((following.reshape(-1, 2), torch.empty(apart.size, 2).normal_(generator=lots).double().numpy()))
    pages = recurrent_sac.learn(sizes, thetas, (BOX.low, BOX.high), seen, noises, config)
    for batch, page in zip(batches, pages, strict=True):
        gradients, after, figures = run(learning.learn(tensors(batch)), learning.flat)
        for each, gradient in gradients:
            close(gradient, page[each].gradient, f"gradient of {each}")
        for each, step in page.items():
            follows(after[-1][each], step, thetas[each], f"parameters of {each}")
            thetas[each] = step.theta
            learning.flat[each].weights.data.copy_(torch.from_numpy(step.theta))  # or roundings add up
        close(figures["losses/qf_loss"], page["critics"].losses["qf_loss"], "loss of critics")
        close(figures["losses/actor_loss"], page["actor"].losses["actor_loss"], "loss of the actor")
        if config.prioritized:
            close(figures["errors"].numpy(), [page["critics"].losses[f"error {k}"] for k in range(3)], "errors")
