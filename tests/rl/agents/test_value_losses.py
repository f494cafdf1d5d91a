"""Losses and gradients of IDQN, VDN and QMIX are those of a reference that goes agent by agent and row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from reactors import rl
from reactors.rl.algorithms.agents.qmix import Mixer
from reactors.rl.dataflow.agents.experience import team_memory
from reactors.rl.networks.layers import alone
from tests.rl.agents.comers import Comers
from tests.rl.agents.test_losses import played
from tests.rl.algorithms.reference import qmix

SMALL: dict[str, Any] = {
    "num_envs": 3, "horizon": 30, "hidden": (6,), "batch_size": 40, "gamma": 0.9, "max_grad_norm": 1e9,
    "exploration_final": 1.0,
}  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {}, {"double": False}, {"dueling": True}, {"prioritized": True}, {"n_step": 3},
    {"standardise_rewards": True},
]  # fmt: skip
ALONG: dict[str, Any] = {"recurrent": 4, "batch_size": 6, "sequence": 4}
OPTIONS += [
    {**ALONG, "burn_in": 2}, {**ALONG, "burn_in": 3, "prioritized": True, "dueling": True, "eta": 0.7},
    {**ALONG, "burn_in": 0, "n_step": 3, "double": False, "standardise_rewards": True},
]  # fmt: skip


def drawn(algorithm: Any, seed: int) -> tuple[Any, Any, dict[str, Any]]:
    """A team, its learning, and a batch of what it has played."""
    (team, _), learning, rows = played(algorithm, lambda: Comers(4, masked=True), seed)
    buffer, cut = team_memory(algorithm, rows.dtype)
    with buffer:
        kept, streams = cut.add(rows)
        buffer.rng = np.random.default_rng(seed)
        buffer.add(kept, envs=streams)
        batch = buffer.sample(algorithm.batch_size).copy()
    batch["weights"] = np.random.default_rng(seed).random(algorithm.batch_size).astype(np.float32)
    return team, learning, batch


@pytest.mark.parametrize("options", OPTIONS, ids="".join)
@pytest.mark.parametrize("kind", [rl.IDQN, rl.VDN, rl.QMIX])
@pytest.mark.parametrize("seed", range(2))
def test_losses_are_the_papers(kind: Any, options: Any, seed: int) -> None:
    algorithm = kind(**SMALL | options, **({"mixing": 5} if kind is rl.QMIX else {}))
    team, learning, batch = drawn(algorithm, seed)
    batch["terminated"][::7] = True
    batch["truncated"] &= ~batch["terminated"]
    if algorithm.together:
        assert 0.2 < batch["acted"].mean() < 0.9
    rng = np.random.default_rng(seed)
    theta, target = (
        rng.normal(size=len(flat.weights)).astype(np.float32) * np.float32(0.5)
        for flat in (learning.flat, learning.old)
    )
    shapes = [p.shape for p in learning.net.learned()]
    n = len(team.members)
    page = qmix.loss_along if algorithm.recurrent else qmix.loss
    whole, wanted, errors = page(theta.astype(np.float64), target.astype(np.float64), shapes, batch, algorithm, n)
    junk = {**batch}  # what stands in the rows of those who are not there means nothing
    if algorithm.together:
        for which, name in (("", "obs"), ("", "action"), ("next_", "obs"), ("", "masks"), ("next_", "masks")):
            junk[f"{which}{name}"] = batch[f"{which}{name}"].copy()
            junk[f"{which}{name}"][~batch[f"{which}acted"]] = 2
    for given in (batch, junk):
        learning.flat.weights.data.copy_(torch.from_numpy(theta))
        learning.old.weights.data.copy_(torch.from_numpy(target))
        running = learning.learn({name: torch.from_numpy(value.copy()) for name, value in given.items()})
        found = next(running).weights.grad.numpy().copy()
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=max(2e-5, 1e-8 * abs(wanted).max()))
        with pytest.raises(StopIteration) as end:
            next(running)
        assert end.value.value["losses/td_loss"].item() == pytest.approx(whole, rel=1e-4)
        if algorithm.prioritized:
            np.testing.assert_allclose(end.value.value["errors"], errors, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_a_team_is_worth_no_less_where_an_agent_is_worth_more(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    mixer = Mixer(agents=4, state=3, units=7)
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.normal_(0, 3, generator=generator)
    values = torch.randn(50, 4, generator=generator, requires_grad=True)
    mixer(values, torch.randn(50, 3, generator=generator)).sum().backward()
    assert values.grad is not None
    assert (values.grad >= 0).all()
    assert (values.grad > 0).any()


@pytest.mark.parametrize("kind", [rl.IDQN, rl.QMIX])
def test_rewards_are_standardised_by_all_that_were_drawn(kind: Any) -> None:
    _, learning, batch = drawn(kind(**SMALL, standardise_rewards=True), 0)
    tensors, seen = {name: torch.from_numpy(value) for name, value in batch.items()}, []
    for scale in (1.0, 5.0):
        reward = batch["reward"] * np.float32(scale)
        seen += reward.tolist()
        again = kind(**SMALL, standardise_rewards=True)
        fresh = again.learning(*played(again, lambda: Comers(4, masked=True), 0)[0], 0)
        fresh.load_state_dict(learning.state_dict())  # the statistics are of the state, too
        found = fresh.standardised(torch.from_numpy(reward))
        np.testing.assert_allclose(found, (reward - np.mean(seen)) / np.std(seen), rtol=1e-4, atol=1e-5)
        alone(learning.learn({**tensors, "reward": torch.from_numpy(reward)}))


@pytest.mark.parametrize("seed", range(5))
def test_a_mixer_that_normalises_does_not_see_how_large_a_state_is(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    plain, mixer = (Mixer(agents=2, state=4, units=3, normalise=each).double() for each in (False, True))
    mixer.load_state_dict(plain.state_dict())
    values, state = (torch.randn(5, n, generator=generator, dtype=torch.float64) for n in (2, 4))
    seen = (state - state.mean(1, keepdim=True)) / state.std(1, keepdim=True, unbiased=False)
    for given in (100 * seen, 700 * seen + 7):  # so wide that what keeps a division from 0 does not count
        torch.testing.assert_close(mixer(values, given), plain(values, seen), rtol=1e-6, atol=1e-6)


def test_actors_are_sent_no_mixer() -> None:
    _, learning, _ = drawn(rl.QMIX(**SMALL), 0)
    acting = sum(p.numel() for p in learning.net.acting.parameters())
    assert learning.weights().shape == (acting,)
    assert len(learning.flat.weights) > acting
