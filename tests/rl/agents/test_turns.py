"""Games of turns: all but one are absent, what comes between two turns is of the first, a run goes on as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest

from reactors import rl
from reactors.errors import ParameterError
from reactors.rl.contract.agents import actions_of
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.envs.agents.sources import agents_maker, cast_of
from reactors.rl.envs.agents.turns import TurnSimulation

if TYPE_CHECKING:
    from pathlib import Path

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 12, "epochs": 2, "hidden": (8,), "batch_size": 8}
GAME = "classic/tictactoe_v3"


def rounds(n: int) -> list[Any]:
    algorithm = rl.IPPO(**SMALL)
    make = agents_maker(GAME, {}, "main")
    cast = cast_of(make, "main")
    (team,) = algorithm.teams(cast)
    rollout = AgentsRollout(algorithm, make, 2, 0, cast)
    rollout.open(1, "main")
    acting = TeamActing(algorithm, cast, [algorithm.learning(team, actions_of(cast, team), 1).weights()])  # type: ignore[arg-type]
    acting.open(np.random.default_rng(1), 2)
    found = []
    for number in range(n):
        rows = np.zeros(rollout.shape, rollout.dtypes[0])
        rollout.play(acting, [rows], number)
        found.append(rows)
    rollout.close()
    return found


def test_one_acts_at_a_time_and_both_are_told_the_end() -> None:
    rows = np.concatenate(rounds(4))
    assert (rows["acted"].sum(2) == 1).all()
    ends = rows["terminations"]
    assert ends.any()
    assert (ends.all(2) == ends.any(2)).all()
    np.testing.assert_array_equal(rows["terminated"], ends.any(2))
    won = rows["rewards"] != 0
    assert won.any()
    assert (won <= ends).all()  # the loser is told in the step in which the other wins
    np.testing.assert_array_equal(rows["reward"], np.zeros_like(rows["reward"]))  # one's gain is the other's loss
    chosen = np.take_along_axis(rows["masks"], rows["action"][..., None], 3)[..., 0]
    assert chosen[rows["acted"]].all()


class Shot(pettingzoo.AECEnv[Any, Any, Any]):
    """Three take turns; the first ends the third, who is given 7 before its turn comes and it leaves."""

    metadata: dict[str, Any] = {"name": "shot"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["a", "b", "c"]  # noqa: RUF012 - likewise

    def observation_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(9)

    def action_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(2)

    def observe(self, agent: str) -> int:
        return self.t

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.t, self.agents, self.agent_selection = 0, [*self.possible_agents], "a"
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            self.agent_selection = "a"
            return
        self.t += 1
        self.rewards = dict.fromkeys(self.agents, 0.0) | {agent: 1.0}
        if self.t == 1:
            self.terminations["c"] = True
        elif self.t == 2:
            self.rewards["c"] = 7.0
        self.agent_selection = "bca"[self.t - 1]


def test_who_has_ended_is_given_nothing_more_though_its_turn_to_leave_is_yet_to_come() -> None:
    sim = TurnSimulation(Shot, seed=1)
    sim.reset()
    told = [[(each.agent, each.reward, each.terminated) for each in sim.step({agent: 0})] for agent in "aba"]
    assert told == [
        [("a", 1.0, False), ("b", 0.0, False), ("c", 0.0, True)], [("a", 0.0, False), ("b", 1.0, False)],
        [("a", 1.0, False), ("b", 0.0, False)],
    ]  # fmt: skip
    sim.close()


@pytest.mark.parametrize("kind", [rl.IPPO, rl.MAPPO])
def test_it_is_the_same_on_any_number_of_workers(kind: Any) -> None:
    runs = [
        rl.train(
            kind(**SMALL), GAME, total_steps=96, seed=3, mode="pipelined", actors=2, workers=workers, backend="thread"
        )
        for workers in (1, 2)
    ]
    assert runs[0].digest == runs[1].digest
    assert runs[0].result.digest == runs[1].result.digest
    assert runs[0].journal[-1]["charts/agents"] == 1


@pytest.mark.parametrize("kind", [rl.IDQN, rl.VDN, rl.QMIX])
@pytest.mark.parametrize("game", ["classic/connect_four_v3", GAME])
def test_algorithms_with_replay_play_games_of_turns(kind: Any, game: str) -> None:
    settings: dict[str, Any] = {"num_envs": 2, "horizon": 12, "hidden": (8,), "batch_size": 8, "learning_starts": 48}
    runs = [
        rl.train(kind(**settings), game, total_steps=96, seed=3, mode="pipelined", workers=workers, backend="thread")
        for workers in (1, 2)
    ]
    assert runs[0].digest == runs[1].digest
    assert np.isfinite(runs[0].journal[-1]["losses/td_loss"])
    assert runs[0].evaluate(2) == 0  # a move that is not allowed would cost one alone


def test_an_algorithm_of_continuous_actions_plays_no_board() -> None:
    with pytest.raises(ParameterError, match=r"group 'agents': ISAC .*Discrete\(7\)"):
        rl.train(rl.ISAC(), "classic/connect_four_v3")


@pytest.mark.usefixtures("bare_runs")
def test_a_run_that_goes_on_is_the_one_that_never_stopped(tmp_path: Path) -> None:
    def trained(steps: int, **options: Any) -> Any:
        return rl.train(rl.IPPO(**SMALL, share=None), GAME, total_steps=steps, seed=1, actors=2, **options)

    whole = trained(120)
    trained(72, out=tmp_path / "run")
    on = trained(120, resume=tmp_path / "run")
    assert on.digest == whole.digest
    assert not on.notes
    loaded = rl.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.weights, whole.weights)
    assert loaded.evaluate(2) == whole.evaluate(2)


def test_a_trained_policy_plays_a_game() -> None:
    done = rl.train(rl.IPPO(**SMALL), GAME, total_steps=48, seed=1)
    env = pettingzoo.make("aec", GAME)
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        over = terminated or truncated
        env.step(None if over else done({agent: observation})[agent])
    env.close()


def test_self_play_learns_to_beat_a_random_player() -> None:
    settings = {"num_envs": 8, "horizon": 64, "epochs": 4, "batch_size": 128, "learning_rate": 2e-3}
    done = rl.train(rl.IPPO(**settings), GAME, total_steps=8_192, seed=1)
    assert against_random(done, 50) > 0.6


def against_random(done: Any, games: int) -> float:
    """The mean result of the first player, who plays by the policy."""
    rng, results = np.random.default_rng(0), []
    env: Any = pettingzoo.make("aec", GAME)
    for number in range(games):
        env.reset(seed=number)
        total = 0.0
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            total += reward if agent == "player_1" else 0.0
            if terminated or truncated:
                env.step(None)
            elif agent == "player_1":
                env.step(done({agent: observation})[agent])
            else:
                env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
        results.append(total)
    env.close()
    return float(np.mean(results))
