"""Losses and gradients of agents that die, join and wait are those of a reference that knows only their own steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ParameterError
from reactors.rl.contract.agents import actions_of
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.envs.agents.sources import cast_of
from tests.rl.agents.comers import Comers
from tests.rl.algorithms.reference import ippo

SMALL: dict[str, Any] = {
    "num_envs": 3, "horizon": 11, "hidden": (6,), "epochs": 1, "batch_size": 10_000, "gamma": 0.9, "lam": 0.8,
    "entropy": 0.02, "value": 0.5, "max_grad_norm": 1e9,
}  # fmt: skip


def played(algorithm: Any, make: Any, seed: int) -> tuple[Any, Any, Any]:
    """A team's spaces, learning, and a round that it has played."""
    cast = cast_of(make, "main")
    (team,) = algorithm.teams(cast)
    spaces: Any = team, actions_of(cast, team)
    learning = algorithm.learning(*spaces, seed)
    rollout = AgentsRollout(algorithm, make, algorithm.num_envs, 0, cast)
    rollout.open(seed, "main")
    acting = TeamActing(algorithm, cast, [learning.weights()])
    acting.open(np.random.default_rng(seed), algorithm.num_envs)
    rows = np.zeros(rollout.shape, rollout.dtypes[0])
    rollout.play(acting, [rows], 0)
    rollout.close()
    return spaces, learning, rows


@pytest.mark.parametrize("options", [{}, {"recurrent": 4, "horizon": 12, "batch_size": 9_000, "sequence": 3}], ids=str)
@pytest.mark.parametrize("kind", [rl.IPPO, rl.MAPPO])
@pytest.mark.parametrize("seed", range(4))
def test_gradients_are_of_own_steps_alone(kind: Any, seed: int, options: Any) -> None:
    algorithm = kind(**SMALL | options)
    (team, _), learning, rows = played(algorithm, lambda: Comers(4, masked=True), seed)
    assert 0.2 < rows["acted"].mean() < 0.9
    assert rows["terminations"].any()
    assert rows["truncations"].any()
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=len(learning.flat.weights)).astype(np.float32) * np.float32(0.5)
    learning.flat.weights.data.copy_(torch.from_numpy(theta))
    batch = {name: np.array(rows[name]) for name in rows.dtype.names}
    shapes = [p.shape for p in learning.net.parameters_in_order()]
    figures, wanted = ippo.loss(theta.astype(np.float64), shapes, batch, algorithm, len(team.members))
    junk = {**batch}  # what stands in the rows of those who are not there means nothing
    for name in ("obs", "action", "log_prob", *["memory"] * bool(algorithm.recurrent)):
        junk[name] = batch[name].copy()
        junk[name][~batch["acted"]] = 2
    for given in (batch, junk):
        fresh = algorithm.learning(team, actions_of(cast_of(lambda: Comers(4, masked=True), "main"), team), seed)
        fresh.flat.weights.data.copy_(torch.from_numpy(theta))
        running = fresh.learn({name: torch.from_numpy(value.copy()) for name, value in given.items()})
        found = next(running).weights.grad.numpy().copy()
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=2e-5)
        with pytest.raises(StopIteration) as end:
            next(running)
        for name, value in figures.items():
            assert end.value.value[f"losses/{name}"] == pytest.approx(value, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", [rl.IPPO, rl.MAPPO])
def test_values_are_clipped_in_the_units_in_which_they_are_learned(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, learning, rows = played(kind(**SMALL, clip_value=0.2), lambda: Comers(4), 1)
    rows["rewards"] *= 100
    before: list[Any] = []

    def update(seen: Any, *others: Any) -> Any:
        values = learning.net.values(learning.net.features(seen)).detach()
        before.append((values, others[-1]))
        yield from ()
        return False

    monkeypatch.setattr(learning, "update", update)
    monkeypatch.setattr(learning, "figures", dict)
    with pytest.raises(StopIteration):
        next(learning.learn({name: torch.from_numpy(rows[name].copy()) for name in rows.dtype.names}))
    ((now, old),) = before
    assert learning.net.scale > 10
    torch.testing.assert_close(old, now)  # in the first update no value has moved, though its scale has
    learning.net.scale = 10.0
    loss = learning.value_loss(torch.tensor([30.0]), torch.tensor([0.0]), torch.tensor([30.0]))
    assert float(loss) == 28**2  # 0.2 times 10 is within reach


def test_a_scale_of_values_is_refused_where_they_are_normalised() -> None:
    with pytest.raises(ParameterError, match="value_scale of MAPPO is 20, but normalise_values scales values"):
        rl.train(rl.MAPPO(**SMALL, value_scale=20), lambda: Comers(3), total_steps=33)


@pytest.mark.parametrize("seed", range(3))
def test_one_that_waits_when_its_episode_is_broken_off_goes_on_from_what_it_saw_last(seed: int) -> None:
    longer: dict[str, Any] = SMALL | {"horizon": 33}
    algorithm = rl.IPPO(**longer)
    _, learning, rows = played(algorithm, lambda: Comers(4, masked=True), seed)
    waited = rows["truncations"] & ~rows["acted"]
    assert waited.any()
    assert not rows["next_obs"][waited].any()  # of which nothing is known
    batch = {name: torch.from_numpy(np.array(rows[name])) for name in rows.dtype.names}
    seen_in = learning.last_seen(batch, rows["acted"])
    for t, e, i in np.argwhere(waited):
        acted = np.flatnonzero(rows["acted"][: t + 1, e, i])
        if len(acted):
            assert seen_in[t, e, i] == acted[-1]
            assert rows["next_obs"][acted[-1], e, i].any()
