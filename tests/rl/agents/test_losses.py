"""Losses and gradients of agents that die, join and wait are those of a reference that knows only their own steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo
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


def tictactoe() -> Any:
    """A game in which each waits while the other moves."""
    return pettingzoo.make("aec", "classic/tictactoe_v3")


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


def learned(learning: Any, rows: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What it learns from in rounds of these rows, without learning: inputs, actions, and returns, by rounds."""
    found: list[tuple[Any, ...]] = []

    def update(seen: Any, actions: Any, before: Any, advantage: Any, returns: Any, *_: Any) -> Any:
        inputs = seen if isinstance(seen, torch.Tensor) else seen.obs[seen.there.flatten()]
        found.append(tuple(each.numpy() for each in (inputs, actions, before, returns)))
        yield from ()
        return True

    monkeypatch.setattr(learning, "update", update)
    monkeypatch.setattr(learning, "figures", dict)
    for each in rows:
        with pytest.raises(StopIteration):
            next(learning.learn({name: torch.from_numpy(each[name].copy()) for name in each.dtype.names}))
    return found


def in_order(found: list[tuple[Any, ...]]) -> Any:
    """A row for each own step, whatever the order in which they were learned from."""
    rows = np.concatenate([np.column_stack([seen, action, before, returns]) for seen, action, before, returns in found])
    rows = np.round(rows, 4)
    return rows[np.lexsort(rows.T[::-1])]


@pytest.mark.parametrize("options", [{}, {"recurrent": 4, "sequence": 3, "batch_size": 9_000}], ids=str)
@pytest.mark.parametrize("kind", [rl.IPPO, rl.MAPPO])
@pytest.mark.parametrize("make", [lambda: Comers(4, masked=True), tictactoe], ids=["comers", "turns"])
def test_what_is_learned_from_does_not_depend_on_where_rounds_are_cut(
    make: Any, kind: Any, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    long: dict[str, Any] = SMALL | {
        "horizon": 48,
        "gamma": 0.0,
        "normalise_values": False,
        **options,
    }  # of rewards alone
    algorithm = kind(**long)
    spaces, learning, rows = played(algorithm, make, 1)
    together = in_order(learned(learning, [rows], monkeypatch))
    assert rows["acted"].mean() < 0.9
    for cut in (3, 12):
        fresh = algorithm.learning(*spaces, seed=1)
        pieces = in_order(learned(fresh, np.split(rows, 48 // cut), monkeypatch))
        np.testing.assert_allclose(pieces, together, rtol=1e-5, atol=1e-5)


def test_held_steps_go_on_from_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"horizon": 12, "recurrent": 4, "sequence": 3, "batch_size": 9_000}
    algorithm = rl.MAPPO(**SMALL | options)
    spaces, learning, rows = played(algorithm, lambda: Comers(4, masked=True), 2)
    first, second = np.split(rows, 2)
    learned(learning, [first], monkeypatch)
    assert learning.held.there.any()
    resumed = algorithm.learning(*spaces, seed=7)
    resumed.load_state_dict(learning.state_dict())
    found, wanted = (in_order(learned(each, [second], monkeypatch)) for each in (resumed, learning))
    np.testing.assert_array_equal(found, wanted)


def test_minibatches_of_a_round_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"horizon": 50, "batch_size": 60}
    algorithm = rl.IPPO(**SMALL | options)
    _, learning, rows = played(algorithm, lambda: Comers(4), 3)
    sizes = [len(returns) for *_, returns in learned(learning, [rows], monkeypatch)]
    finished = int(rows["acted"].sum()) - int(learning.held.there.sum())
    assert len(sizes) == finished // 60 > 3
    assert len({*sizes}) == 1
    assert finished - sum(sizes) < len(sizes)
