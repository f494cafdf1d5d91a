"""Losses, gradients and parameters of every algorithm are what `reference` makes of the papers, update by update."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from tests.rl.algorithms.reference import a2c, appo, ddpg, dqn, impala, ppo, q_learning, sac, td3
from tests.rl.algorithms.reference.networks import ActorCritic
from tests.rl.algorithms.reference.optimizers import Adam, RMSProp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.rl.algorithms.reference.networks import Step

SEEN = gym.spaces.Box(-1, 1, (3,))
DISCRETE = gym.spaces.Discrete(4, start=2)
BOX = gym.spaces.Box(np.array([-2, -1], np.float32), np.array([1, 3], np.float32))
STEPS, ENVS, ROWS = 6, 4, 8


def drawn(flat: Any, rng: np.random.Generator, scale: float = 0.5) -> Any:
    """Give a vector of parameters numbers of NumPy's; the same in float64."""
    numbers = rng.normal(size=len(flat.weights)).astype(np.float32) * np.float32(scale)
    flat.weights.data.copy_(torch.from_numpy(numbers))
    return numbers.astype(np.float64)


def shapes(parameters: Iterable[Any]) -> list[Any]:
    return [p.shape for p in parameters]


def transitions(rng: np.random.Generator, shape: tuple[int, ...], actions: gym.Space[Any]) -> dict[str, Any]:
    """Some end one way, some the other, and one both ways; rewards are on both sides of any clip."""
    terminated, truncated = np.zeros(shape, bool), np.zeros(shape, bool)
    terminated.flat[[i for i in (1, 4, 6, 11, 21) if i < terminated.size]] = True
    truncated.flat[[i for i in (0, 2, 4, 13, 22) if i < truncated.size]] = True
    action: Any = (
        rng.integers(2, 6, shape) if isinstance(actions, gym.spaces.Discrete)
        else rng.uniform(actions.low, actions.high, (*shape, 2)).astype(np.float32)  # type: ignore[attr-defined]
    )  # fmt: skip
    return {
        "obs": rng.normal(size=(*shape, 3)).astype(np.float32), "action": action,
        "next_obs": rng.normal(size=(*shape, 3)).astype(np.float32),
        "reward": 2 * rng.normal(size=shape).astype(np.float32), "terminated": terminated, "truncated": truncated,
    }  # fmt: skip


def rollout(rng: np.random.Generator, actions: gym.Space[Any]) -> dict[str, Any]:
    """A round of experience, in which an observation is the last one's next unless an episode ended there."""
    batch = transitions(rng, (STEPS, ENVS), actions)
    goes_on = ~(batch["terminated"] | batch["truncated"])[:-1]
    batch["obs"][1:][goes_on] = batch["next_obs"][:-1][goes_on]
    batch["choice"] = batch["action"]
    if actions is BOX:
        batch["choice"] = batch["draw"] = batch["action"] + rng.normal(size=(STEPS, ENVS, 2)).astype(np.float32)
    return batch


def tensors(batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    """As the learner gets it."""
    return {name: torch.from_numpy(each.copy()) for name, each in batch.items() if name != "choice"}


def double(batch: dict[str, Any]) -> dict[str, Any]:
    """As the reference gets it."""
    return {name: each.astype(np.float64) if each.dtype == np.float32 else each for name, each in batch.items()}


def run(descent: Any, vectors: dict[str, Any]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """The gradients of all steps, each with its vector's name; the vectors after each; the figures of all."""
    gradients, after = [], []
    while True:
        try:
            flat = next(descent)
        except StopIteration as end:
            after.append({name: each.weights.detach().numpy().copy() for name, each in vectors.items()})
            return gradients, after[1:], end.value
        after.append({name: each.weights.detach().numpy().copy() for name, each in vectors.items()})
        name = next(name for name, each in vectors.items() if each is flat)
        gradients.append((name, flat.weights.grad.numpy().copy()))


def close(found: Any, wanted: Any, what: str) -> None:
    """To the rounding of float32, of the largest number."""
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5 * np.abs(wanted).max(initial=0.1), err_msg=what)


def follows(theta: Any, step: Step, before: Any, what: str) -> None:
    """Parameters have moved as they should, to a hundredth of the largest move: of tiny gradients Adam takes signs."""
    moved = step.theta - before
    assert np.abs(moved).max() > 0, what
    np.testing.assert_allclose(theta - before, moved, rtol=2e-3, atol=1e-2 * np.abs(moved).max(), err_msg=what)


# ---- policy gradients ----

COMMON: dict[str, Any] = {
    "num_envs": ENVS, "horizon": STEPS, "hidden": (5,), "gamma": 0.9, "learning_rate": 0.01, "entropy": 0.1,
    "value": 0.7, "value_scale": 3.0, "max_grad_norm": 0.5, "reward_clip": 1.5,
}  # fmt: skip
GRADIENTS: dict[str, Any] = {
    "PPO": rl.PPO(**COMMON, lam=0.8, epochs=2, batch_size=11, clip=0.2, anneal=True),
    "PPO of the code": rl.PPO(
        **COMMON, lam=0.8, epochs=2, batch_size=11, clip_value=0.1, anneal=True, anneal_clip=False
    ),
    "A2C": rl.A2C(**COMMON, eps=0.01, smoothing=0.9),
    "A2C of PAAC": rl.A2C.paac(**COMMON, torso=None),
    "IMPALA": rl.IMPALA(**COMMON, fragments=2, lam=0.8, rho=1.2, c=0.9),
    "APPO": rl.APPO(**COMMON, fragments=2, lam=0.8, passes=2, ring=1, target_every=3, most=1.3),
}
OPTIMIZERS: dict[str, Any] = {
    "A2C": lambda: RMSProp(eps=0.01, decay=0.9),
    "A2C of PAAC": lambda: RMSProp(eps=0.0, inner=0.1, decay=0.99, mean_square=1.0),  # train.py's `e` and `alpha`
}


@pytest.mark.parametrize("actions", [DISCRETE, BOX], ids=["discrete", "continuous"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_policy_gradients_are_the_papers(name: str, actions: gym.Space[Any]) -> None:
    config, rng = GRADIENTS[name].scheduled(4 * STEPS * ENVS), np.random.default_rng(1)
    learning = config.learning(SEEN, actions, 0)
    theta = drawn(learning.flat, rng)
    net = ActorCritic(shapes(learning.net.parameters_in_order()), 2 if actions is DISCRETE else None, 3.0)
    optimizer = OPTIMIZERS.get(name, lambda: Adam(eps=1e-5))()
    target = appo.Target(drawn(learning.old, rng) if name == "APPO" else theta)
    for left in (1.0, 0.75, 0.5):  # of the learning rate, which falls to 0 over four rounds
        batch = rollout(rng, actions)
        played = learning.net.judge(
            torch.from_numpy(batch["obs"]).flatten(0, 1), torch.from_numpy(batch["choice"]).flatten(0, 1)
        )[0].detach().numpy().reshape(STEPS, ENVS)  # fmt: skip
        batch["log_prob"] = played + 0.8 * rng.normal(size=played.shape).astype(np.float32)
        seen = double(batch)
        if name.startswith("PPO"):
            draws, n = copy.deepcopy(learning.rng), STEPS * ENVS
            orders = [draws.permutation(n) for _ in range(config.epochs)]
            parts = [order[at : at + 11] for order in orders for at in (0, 11)]  # the last two rows are left out
            wanted = [*ppo.learn(net, theta, seen, parts, config, optimizer, left)]
        elif name == "APPO":
            wanted = [*appo.learn(net, theta, target, seen, config, optimizer, left)]
        else:
            page: Any = impala if name == "IMPALA" else a2c
            wanted = [*page.learn(net, theta, seen, config, optimizer, left)]
        gradients, after, figures = run(learning.learn(tensors(batch)), {"all": learning.flat})
        assert len(gradients) == len(wanted)
        for (_, gradient), vectors, step in zip(gradients, after, wanted, strict=True):
            close(gradient, step.gradient, "gradient")
            follows(vectors["all"], step, theta, "parameters")
            theta = step.theta
        for figure, number in wanted[-1].losses.items():
            close(figures[f"losses/{figure}"], number, figure)
        assert figures["charts/learning_rate"] == pytest.approx(0.01 * left)
        learning.flat.weights.data.copy_(torch.from_numpy(theta))  # or roundings of three rounds add up


def certain(learning: Any, probability: float) -> None:
    """The first of two actions has this probability, whatever is seen."""
    with torch.no_grad():
        learning.net.actor[-1].weight.zero_()
        learning.net.actor[-1].bias.copy_(torch.tensor([probability, 1 - probability]).log())


def test_figures_of_ppo_by_hand() -> None:
    """Each step is an episode, so its return is its reward."""
    config = rl.PPO(num_envs=2, horizon=2, hidden=(3,), epochs=1, batch_size=4, clip=0.2, anneal=False)
    learning: Any = config.learning(SEEN, gym.spaces.Discrete(2), 0)
    certain(learning, 0.6)
    obs = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 2, 3)).astype(np.float32))
    values = learning.net.values(obs.flatten(0, 1)).view(2, 2).detach()
    batch = {
        "obs": obs, "next_obs": obs, "action": torch.zeros(2, 2, dtype=torch.int64), "reward": 2 * values,
        "terminated": torch.ones(2, 2, dtype=torch.bool), "truncated": torch.zeros(2, 2, dtype=torch.bool),
        "log_prob": torch.tensor([[0.6, 0.3], [0.55, 0.8]]).log(),
    }  # fmt: skip
    _, _, figures = run(learning.learn(batch), {"all": learning.flat})
    ratios = np.array([1, 2, 12 / 11, 3 / 4])  # the second and the last are not within 0.2 of 1
    assert figures["losses/approx_kl"] == pytest.approx(np.mean(ratios - 1 - np.log(ratios)), abs=1e-6)
    assert figures["losses/clipfrac"] == 0.5
    assert figures["losses/explained_variance"] == pytest.approx(3 / 4)  # half of each return is missed
    assert figures["losses/entropy"] == pytest.approx(-0.6 * np.log(0.6) - 0.4 * np.log(0.4), abs=1e-6)


def test_no_more_minibatches_of_a_round_where_the_policy_has_moved_far_enough() -> None:
    config = rl.PPO(num_envs=4, horizon=8, hidden=(3,), epochs=3, batch_size=8, learning_rate=0.3, anneal=False)
    rng = np.random.default_rng(0)
    batch = tensors({**rollout(rng, gym.spaces.Discrete(2)), "log_prob": np.full((STEPS, ENVS), np.log(0.5), "f4")})
    batch["action"] %= 2
    steps = {}
    for target in (None, 1e9, 0.02, 1e-9):
        learning = replace(config, target_kl=target).learning(SEEN, gym.spaces.Discrete(2), 0)
        steps[target] = sum(1 for _ in learning.learn(batch))
    assert steps[None] == steps[1e9] == 9
    assert 1 <= steps[0.02] < 9
    assert steps[1e-9] <= 1  # before the first step the policy is very nearly that which acted


# ---- temporal differences ----

REPLAY: dict[str, Any] = {"batch_size": ROWS, "hidden": (6,), "gamma": 0.9, "learning_rate": 0.01}


def replayed(rng: np.random.Generator, actions: gym.Space[Any], n: int) -> list[dict[str, Any]]:
    """Batches of rows of one, two or three steps, with weights."""
    batches = []
    for _ in range(n):
        batch = transitions(rng, (ROWS,), actions)
        batch["weights"] = rng.uniform(0.2, 1, ROWS).astype(np.float32)
        batch["discount"] = (0.9 ** rng.integers(1, 4, ROWS)).astype(np.float32)
        batches.append(batch)
    return batches


def figures_agree(figures: Any, losses: dict[str, float], prioritized: bool) -> None:
    for name, number in losses.items():
        if name.startswith("error"):
            assert ("errors" in figures) == prioritized
            if prioritized:
                close(figures["errors"][int(name.split()[1])], number, name)
        else:
            close(figures[f"losses/{name}"], number, name)


@pytest.mark.parametrize("dueling", [False, True], ids=["", "dueling"])
@pytest.mark.parametrize("twice", [False, True], ids=["", "double"])
@pytest.mark.parametrize("prioritized", [False, True], ids=["uniform", "prioritized"])
def test_dqn_is_the_papers(dueling: bool, twice: bool, prioritized: bool) -> None:
    rng = np.random.default_rng(2)
    config = rl.DQN(
        **REPLAY, double=twice, dueling=dueling, prioritized=prioritized, target_every=2, max_grad_norm=0.1,
        anneal=False,
    )  # fmt: skip
    learning = config.learning(SEEN, DISCRETE, 0)
    theta, target = drawn(learning.flat, rng), drawn(learning.old, rng)
    batches = replayed(rng, DISCRETE, 5)
    wanted = dqn.learn(shapes(learning.net.parameters()), theta, target, 2, map(double, batches), config)
    for batch, step in zip(batches, wanted, strict=True):
        [(_, gradient)], [vectors], figures = run(learning.learn(tensors(batch)), {"all": learning.flat})
        close(gradient, step.gradient, "gradient")
        follows(vectors["all"], step, theta, "parameters")
        figures_agree(figures, step.losses, prioritized)
        theta = step.theta


def test_figures_of_dqn_by_hand() -> None:
    config = rl.DQN(batch_size=3, hidden=(), gamma=0.5, learning_rate=0.1).scheduled(10**6)
    learning: Any = config.learning(SEEN, DISCRETE, 0)
    for flat in (learning.flat, learning.old):
        flat.weights.data.zero_()
    for net in (learning.net, learning.target):
        with torch.no_grad():
            net.head[-1].bias.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    batch = {
        "obs": torch.zeros(3, 3), "next_obs": torch.zeros(3, 3), "action": torch.tensor([2, 3, 5]),
        "reward": torch.tensor([0.0, 0.5, 7.0]), "terminated": torch.tensor([False, False, True]),
    }  # fmt: skip
    _, _, figures = run(learning.learn(batch), {"all": learning.flat})  # goals: 2, 2.5, 7
    assert figures["losses/q_values"].tolist() == [1, 2, 4]
    assert float(figures["losses/td_loss"]) == pytest.approx((0.5 + 0.125 + 2.5) / 3)


def test_without_a_discount_of_its_own_a_row_counts_by_gamma() -> None:
    """Rows of one step are sampled without one where nothing of n steps is kept."""
    rng = np.random.default_rng(3)
    plain = replayed(rng, DISCRETE, 1)[0]
    of_one_step = {**plain, "discount": np.full(ROWS, 0.9, np.float32)}
    del plain["discount"]
    found = []
    for batch in (plain, of_one_step):
        learning = rl.DQN(**REPLAY).learning(SEEN, DISCRETE, 0)
        drawn(learning.flat, np.random.default_rng(0))
        found.append(run(learning.learn(tensors(batch)), {"all": learning.flat})[0][0][1])
    np.testing.assert_allclose(*found, rtol=1e-5)


CONTINUOUS: dict[str, Any] = {
    "DDPG": rl.DDPG(**REPLAY, tau=0.1),
    "DDPG, other critics": rl.DDPG(**REPLAY, tau=0.1, critic_learning_rate=0.02, critic_hidden=(7, 3)),
    "TD3": rl.TD3(**REPLAY, tau=0.1, target_noise=0.5, target_clip=0.4),
    "TD3, prioritized": rl.TD3(**REPLAY, tau=0.1, prioritized=True, critics=3, policy_delay=1),
    "TD3, other critics": rl.TD3(**REPLAY, tau=0.1, critic_learning_rate=0.02, critic_hidden=(7, 3)),
    "SAC": rl.SAC(**REPLAY, tau=0.1),
    "SAC, other critics": rl.SAC(
        **REPLAY, tau=0.1, critic_learning_rate=0.02, temperature_learning_rate=0.05, critic_hidden=(7, 3)
    ),
    "SAC, prioritized": rl.SAC(**REPLAY, tau=0.1, prioritized=True, target_entropy=-0.5),
    "SAC, late targets": rl.SAC(**REPLAY, tau=0.1, target_every=2),
    "SAC, one temperature": rl.SAC(**REPLAY, tau=0.1, temperature=0.3),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_actors_and_critics_are_the_papers(name: str) -> None:
    config, rng = CONTINUOUS[name], np.random.default_rng(4)
    learning = config.learning(SEEN, BOX, 0)
    thetas = {each: drawn(learning.flat[each], rng) for each in learning.flat if not each.startswith("target")}
    if name == "SAC, one temperature":
        thetas["temperature"][:] = np.log(0.3)
        learning.flat["temperature"].weights.data.fill_(np.log(0.3))
    for each in learning.flat:
        if each.startswith("target"):
            learning.flat[each].weights.data.copy_(learning.flat[each.removeprefix("target_")].weights.data)
            thetas[each] = thetas[each.removeprefix("target_")]
    sizes = {each: shapes(learning.networks[each].parameters()) for each in ("actor", "critics")}
    batches = replayed(rng, BOX, 4)
    lots, seen, box = learning.noise.clone_state(), map(double, batches), (BOX.low, BOX.high)

    def noise() -> Any:
        return torch.empty(ROWS, 2).normal_(generator=lots).double().numpy()

    if isinstance(config, rl.SAC):
        pages = sac.learn(sizes, thetas, box, seen, [(noise(), noise()) for _ in batches], config)
    elif isinstance(config, rl.DDPG):
        for batch in batches:
            del batch["discount"]
        pages = ddpg.learn(sizes, thetas, box, seen, config)
    else:
        pages = td3.learn(sizes, thetas, box, seen, [noise() for _ in batches], config)
    for batch, page in zip(batches, pages, strict=True):
        before = {each: flat.weights.detach().clone().numpy() for each, flat in learning.flat.items()}
        gradients, after, figures = run(learning.learn(tensors(batch)), learning.flat)
        assert {each for each, _ in gradients} == {each for each in page if not each.startswith("target")}
        for each, gradient in gradients:
            close(gradient, page[each].gradient, f"gradient of {each}")
        for each, step in page.items():
            if np.array_equal(step.theta, thetas[each]):  # it waits
                assert np.array_equal(learning.flat[each].weights.detach().numpy(), before[each])
            else:
                follows(after[-1][each], step, thetas[each], f"parameters of {each}")
            figures_agree(figures, step.losses, config.prioritized)
            thetas[each] = step.theta


# ---- tables ----


def test_q_learning_is_the_books() -> None:
    rng = np.random.default_rng(5)
    seen, actions = gym.spaces.Discrete(5, start=1), gym.spaces.Discrete(3, start=2)
    config = rl.QLearning(num_envs=ENVS, horizon=STEPS, learning_rate=0.3, gamma=0.8)
    learning = config.learning(seen, actions, 0)
    learning.table[:] = rng.normal(size=(5, 3))
    table = learning.table.astype(np.float64)
    batch = rollout(rng, DISCRETE)
    for name, least, most in (("obs", 1, 6), ("next_obs", 1, 6), ("action", 2, 5)):
        batch[name] = rng.integers(least, most, (STEPS, ENVS))
    shifted = {
        **double(batch),
        **{name: batch[name] - 1 for name in ("obs", "next_obs")},
        "action": batch["action"] - 2,
    }
    error = q_learning.learn(table, shifted, 0.3, 0.8)
    _, _, figures = run(learning.learn(tensors(batch)), {})
    np.testing.assert_allclose(learning.table, table, rtol=1e-5)
    assert figures["losses/td_error"] == pytest.approx(error, rel=1e-5)
    assert figures["losses/q_values"] == pytest.approx(table.max(1).mean(), rel=1e-5)
