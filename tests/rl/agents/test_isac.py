"""Soft actor-critic for each of many agents: SAC's losses by own steps, and a game of continuous actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ParameterError
from reactors.rl.dataflow.agents.experience import team_memory
from tests.rl.agents.comers import Comers
from tests.rl.agents.going_on import assert_it_goes_on_anywhere
from tests.rl.agents.test_losses import played

if TYPE_CHECKING:
    from pathlib import Path

SMALL: dict[str, Any] = {
    "num_envs": 4, "horizon": 8, "hidden": (8,), "batch_size": 16, "learning_starts": 32, "capacity": 500,
    "updates_per_step": 0.25,
}  # fmt: skip
REMEMBERS: dict[str, Any] = {"recurrent": 5, "sequence": 4, "burn_in": 2}
SPREAD: dict[str, Any] = {"env": "mpe2:simple_spread_v3", "env_kwargs": {"continuous_actions": True}, "seed": 3}


class Echo(Comers):
    """Agents that come and go are shown a number, and get less the farther from it they answer."""

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(-2, 2, (1,), np.float32)

    def told(self) -> Any:
        seen, infos = super().told()
        self.shown = {agent: float(self.random.uniform(-1, 1)) for agent in self.agents}
        for agent, each in seen.items():
            each[2] = self.shown[agent]
        return seen, infos

    def step(self, actions: Any) -> Any:
        gets = {agent: -abs(float(action[0]) - self.shown[agent]) for agent, action in actions.items()}
        observations, _, *rest = super().step(dict.fromkeys(actions, 0))
        return observations, gets, *rest


def test_agents_that_come_and_go_learn_to_answer() -> None:
    algorithm = rl.ISAC(
        num_envs=8, horizon=4, hidden=(32,), learning_starts=200, learning_rate=3e-3, updates_per_step=0.25, gamma=0.5
    )
    done = rl.train(algorithm, Echo, total_steps=4_000, seed=1)
    steps = 2.2 * 5  # of all agents in an episode, about
    assert done.evaluate(20) > -0.2 * steps


@pytest.mark.parametrize("more", [{}, REMEMBERS])
def test_losses_are_those_of_one_agent_that_has_made_all_of_these_steps(more: dict[str, Any]) -> None:
    algorithm = rl.ISAC(**SMALL, **more)
    (team, actions), learning, rows = played(algorithm, lambda: Echo(4), 1)
    assert 0.2 < rows["acted"].mean() < 0.9
    buffer, cut = team_memory(algorithm, rows.dtype)
    with buffer:
        kept, streams = cut.add(rows)
        buffer.add(kept, envs=streams)
        batch = {name: torch.from_numpy(np.array(each)) for name, each in buffer.sample(16).items()}
    if more:
        batch["state"] = batch["memory"]
    alone = rl.SAC(**SMALL, **more).learning(gym.spaces.Box(-9, 9, (3 + 4,), np.float32), actions, 1)
    for mine, theirs in zip(learning.flats, alone.flats, strict=True):
        theirs.weights.data.copy_(mine.weights.data)
    learning.reseed(5)
    alone.reseed(5)
    one_hot = torch.eye(4)[batch["agent"].long()]
    seen = {name: torch.cat([batch[name], one_hot], -1) for name in ("obs", "next_obs")}
    alone.target_critics.load_state_dict(learning.target_critics.state_dict())
    runs = learning.learn(batch), alone.learn({**batch, **seen})
    for mine, theirs in zip(*runs, strict=True):
        assert mine.weights.grad is not None
        assert mine.weights.grad.any()
        torch.testing.assert_close(mine.weights.grad, theirs.weights.grad)
    assert team.agents == ("a_0", "a_1", "a_2", "a_3")


@pytest.mark.parametrize("more", [{}, REMEMBERS])
def test_it_is_the_same_on_any_number_of_workers(more: dict[str, Any]) -> None:
    ways: list[tuple[int, Any]] = [(1, "inline"), (2, "thread"), (4, "process")]
    runs = [
        rl.train(
            rl.ISAC(**SMALL, **more, n_step=2, prioritized=True), total_steps=128, mode="pipelined", actors=2,
            workers=workers, backend=backend, **SPREAD,
        )
        for workers, backend in ways
    ]  # fmt: skip
    assert len({run.digest for run in runs}) == 1
    np.testing.assert_array_equal(runs[0].weights, runs[-1].weights)


@pytest.mark.parametrize("more", [{"share": "group"}, {"share": None}, REMEMBERS])
@pytest.mark.usefixtures("bare_runs")
def test_a_run_that_goes_on_is_the_one_that_never_stopped(tmp_path: Path, more: dict[str, Any]) -> None:
    def trained(steps: int, **options: Any) -> Any:
        return rl.train(rl.ISAC(**SMALL, **more), total_steps=steps, mode="pipelined", actors=2, **SPREAD, **options)

    whole = trained(192)
    trained(128, out=tmp_path / "run", checkpoint_every=2)
    on = trained(192, resume=tmp_path / "run")
    assert on.digest == whole.digest
    assert not on.notes
    assert rl.load(tmp_path / "run").evaluate(2) == whole.evaluate(2)


@pytest.mark.usefixtures("bare_runs")
def test_it_goes_on_with_any_number_of_workers(tmp_path: Path) -> None:
    assert_it_goes_on_anywhere(rl.ISAC(**SMALL), SPREAD["env"], tmp_path / "run", **SPREAD["env_kwargs"])


def test_discrete_actions_are_refused() -> None:
    with pytest.raises(ParameterError, match="group 'agents': ISAC takes continuous actions"):
        rl.train(rl.ISAC(**SMALL), "mpe2:simple_spread_v3", total_steps=64)
