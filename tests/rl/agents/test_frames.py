"""Agents that see frames: through a torso, with which agent each is behind it, alike where they act and learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
import torch
from torch import nn

from reactors import rl
from reactors.errors import ParameterError
from reactors.rl.algorithms.agents.looking import Looking
from tests.rl.agents.going_on import assert_it_goes_on

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SIDE = 6
SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "hidden": (8,)}
ON_POLICY: dict[str, Any] = SMALL | {"epochs": 2, "batch_size": 32}
BY_REPLAY: dict[str, Any] = SMALL | {"batch_size": 16, "learning_starts": 64, "capacity": 400, "target_every": 5}
REMEMBERS: dict[str, Any] = {"recurrent": 4, "sequence": 4}
CASES: dict[str, Any] = {
    "IPPO": rl.IPPO(**ON_POLICY),
    "IPPO that normalises": rl.IPPO(**ON_POLICY, normalise_observations=True),
    "MAPPO": rl.MAPPO(**ON_POLICY),
    "MAPPO that remembers": rl.MAPPO(**ON_POLICY, **REMEMBERS, normalise_observations=True),
    "IDQN": rl.IDQN(**BY_REPLAY, normalise_observations=True),
    "VDN that remembers": rl.VDN(**BY_REPLAY, **REMEMBERS, burn_in=2),
}


class Sides(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Two agents see the same frame, in which a column is white, on the left or on the right, and say where it is.

    The second one wins by saying the opposite. `framed` is a state that is the frame, too, or else the side.
    """

    metadata: dict[str, Any] = {"name": "sides"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["says", "denies"]  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, *, framed: bool = True) -> None:
        self.agents: list[str] = []
        self.random = np.random.default_rng(0)
        if framed:
            self.state_space, self.state = self.observation_space("says"), self.frame

    def observation_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8)

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Discrete(2)

    def frame(self) -> Any:
        frame = np.zeros((SIDE, SIDE, 3), np.uint8)
        frame[:, self.column] = 255
        return frame

    def look(self) -> dict[str, Any]:
        self.column = int(self.random.integers(SIDE))
        return dict.fromkeys(self.agents, self.frame())

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.agents, self.turn = [*self.possible_agents], 0
        return self.look(), {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        right = self.column >= SIDE // 2
        there, self.turn = self.agents, self.turn + 1
        rewards = {"says": float(actions["says"] == right), "denies": float(actions["denies"] != right)}
        seen, over = self.look(), self.turn == 5
        if over:
            self.agents = []
        return seen, rewards, dict.fromkeys(there, over), dict.fromkeys(there, False), {agent: {} for agent in there}


class Continuous(Sides):
    """With numbers for answers."""

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(-1, 1, (1,), np.float32)


def stateless() -> Any:
    return Sides(framed=False)


# ---- what a network sees ----


def test_a_torso_sees_the_observation_in_its_shape_and_dtype_and_the_rest_stays() -> None:
    class Whole(nn.Module):
        features = 2

        def forward(self, obs: torch.Tensor) -> torch.Tensor:
            assert (obs.dtype, obs.shape[1:]) == (torch.uint8, (2, 3, 1))
            return torch.stack([obs.float().sum((1, 2, 3)), obs[:, 1, 2, 0].float()], 1)

    looking = Looking(Whole(), gym.spaces.Box(0, 255, (2, 3, 1), np.uint8), before=1, behind=2)
    seen = torch.tensor([[7.0, *range(200, 206), 8.0, 9.0]])
    assert looking.features == 5
    assert looking(seen).tolist() == [[7, sum(range(200, 206)), 205, 8, 9]]


@pytest.mark.parametrize("name", ["IPPO", "IPPO that normalises", "MAPPO"])
def test_what_acts_sees_what_learns(name: str) -> None:
    algorithm = CASES[name]
    done = rl.train(algorithm, Sides, total_steps=64, seed=2)
    (team,) = algorithm.teams(done.spaces[0])
    frames = np.random.default_rng(1).integers(0, 256, (6, SIDE, SIDE, 3), np.uint8)
    rows: Any = np.zeros(6, team.seen(gym.spaces.Discrete(2)))
    rows["obs"], rows["agent"] = frames, [0, 1] * 3
    policy = algorithm.team_policy(team, gym.spaces.Discrete(2))
    policy.load(done.weights)
    net = algorithm.team_network(team, gym.spaces.Discrete(2))
    nn.utils.vector_to_parameters(torch.from_numpy(done.weights), [*net.acting.parameters(), net.log_std])
    state = frames if team.state is not None else None
    with torch.no_grad():
        packed = torch.from_numpy(net.packed(frames, rows["agent"], state, None))
        np.testing.assert_allclose(policy.infer(rows), net.outputs(net.features(packed)), rtol=1e-4, atol=1e-5)
    assert any(isinstance(each, nn.Conv2d) for each in net.modules())


# ---- training ----


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["sync", "pipelined"])
def test_training_is_the_same_on_any_number_of_workers(name: str, mode: Any) -> None:
    one, two = (
        rl.train(CASES[name], Sides, total_steps=192, seed=3, mode=mode, actors=2, workers=workers, backend="thread")
        for workers in (1, 2)
    )
    assert one.digest == two.digest
    assert one.result.digest == two.result.digest
    assert np.isfinite(one.weights).all()


@pytest.mark.usefixtures("bare_runs")
@pytest.mark.parametrize("name", CASES)
def test_training_that_is_resumed_goes_on_as_if_it_had_never_stopped(name: str, tmp_path: Path) -> None:
    assert_it_goes_on(CASES[name], Sides, tmp_path)


LEARNS: dict[str, Any] = {
    "num_envs": 8, "horizon": 25, "epochs": 4, "batch_size": 200, "learning_rate": 3e-3, "gamma": 0.0, "hidden": (32,)
}  # fmt: skip
LEARNED: Mapping[str, Any] = {
    "IPPO": rl.IPPO(**LEARNS),
    "MAPPO": rl.MAPPO(**LEARNS),
    "IDQN": rl.IDQN(num_envs=8, horizon=5, batch_size=64, gamma=0.0, learning_starts=200, updates_per_step=0.2),
}


@pytest.mark.parametrize("name", LEARNED)
def test_what_is_in_a_frame_is_learned_by_each_agent_in_its_own_way(name: str) -> None:
    done = rl.train(LEARNED[name], Sides, total_steps=3_000, seed=1)
    assert done.evaluate(20) > 2 * 5 * 0.9


def test_rows_of_environments_have_states_that_are_frames_as_they_are() -> None:
    envs = rl.MultiAgentVectorEnv(Sides, num_envs=2, workers=1, with_state=True)
    observations, _ = envs.reset(seed=3)
    assert (envs.state().dtype, envs.state().shape) == (np.uint8, (2, SIDE, SIDE, 3))
    np.testing.assert_array_equal(envs.state(), np.asarray(observations)[:, 0])
    envs.close()


# ---- what is refused ----


def test_a_torso_for_numbers_without_a_shape_is_refused() -> None:
    with pytest.raises(ParameterError, match="torso of IPPO: a torso sees arrays, and observations of group 'agents'"):
        rl.train(rl.IPPO(torso="small"), "pettingzoo.classic:rps_v2", total_steps=32)


def test_frames_of_all_agents_are_no_state() -> None:
    with pytest.raises(ParameterError, match=r"which has no state\(\); the observations of all agents cannot take its"):
        rl.train(rl.MAPPO(), stateless, total_steps=32)


def test_a_mixer_sees_no_frames() -> None:
    with pytest.raises(ParameterError, match="mixer of QMIX sees vectors, and states of the environment are frames"):
        rl.train(rl.QMIX(**BY_REPLAY), Sides, total_steps=96)


def test_isac_sees_no_frames() -> None:
    with pytest.raises(ParameterError, match="group 'agents' of ISAC: its networks see vectors"):
        rl.train(rl.ISAC(), Continuous, total_steps=32)
