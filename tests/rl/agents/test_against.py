"""Runs against other runs: an opponent plays as its own algorithm, whatever the one is that it plays against."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
from click.testing import CliRunner

from reactors import rl
from reactors.command.cli import main
from reactors.errors import ArgumentError
from reactors.rl.envs.simulation import seed_of
from reactors.rl.monitoring.scores import Matches
from reactors.rl.monitoring.watching import watch
from reactors.rl.runs.settings import algorithm_named
from reactors.rl.runs.trained_policy import opposing
from tests.rl.agents.comers import Comers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "epochs": 2, "hidden": (8,), "batch_size": 16}
WIDE: dict[str, Any] = {**SMALL, "hidden": (16, 4)}
REPLAY: dict[str, Any] = {
    "num_envs": 4, "horizon": 8, "hidden": (8,), "batch_size": 16, "learning_starts": 32, "learning_rate": 0.03,
    "exploration_final": 0.0,
}  # fmt: skip
DEEP: dict[str, Any] = {**REPLAY, "hidden": (6, 5)}
KINDS: dict[str, Any] = {"groups": {"a": ("a_*",), "b": ("b_*",)}}
TIC_TAC_TOE = "classic/tictactoe_v3"


class Kept(Comers):
    """`Comers` of which all games are kept: what agents see, and what they do."""

    games: ClassVar[list[list[Any]]] = []

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.game: list[Any] = []
        self.games.append(self.game)
        return super().reset(seed, options)

    def told(self) -> Any:
        observations, infos = super().told()
        self.sees = {
            agent: {"observation": seen, "action_mask": infos[agent]["action_mask"]} if self.masked else seen
            for agent, seen in observations.items()
        }
        return observations, infos

    def step(self, actions: Any) -> Any:
        self.game.append((self.sees, dict(actions)))
        return super().step(actions)


def masked() -> Any:
    return Kept(4, kinds=2, masked=True)


def alike() -> Any:
    return Kept(3)


def trained(algorithm: Any, env: Any, **options: Any) -> Any:
    return rl.train(algorithm, env, **{"total_steps": 128, "seed": 1, **options})


def games_of(learner: Any, other: Any, episodes: int) -> list[list[Any]]:
    """What is seen and done in games against another."""
    Kept.games.clear()
    learner.against({"other": other}, episodes=episodes, seed=5)
    return [game for game in Kept.games if game]


def assert_it_plays_itself(other: Any, games: list[list[Any]], sides: list[set[str]]) -> None:
    """That in each game all but those of the side do what the other's own policy would."""
    moves = 0
    for number, game in enumerate(games):
        other.reset()
        for sees, actions in game:
            there = {agent: seen for agent, seen in sees.items() if agent not in sides[number % len(sides)]}
            assert other(there) == {agent: actions[agent] for agent in there}
            moves += len(there)
    assert moves > len(games)


ALONE = [{f"a_{i}"} for i in range(3)]


@pytest.mark.parametrize(
    "other",
    [
        rl.IDQN(**REPLAY),  # with as many weights as the learner, but another activation
        rl.IDQN(**REPLAY, dueling=True),
        rl.IDQN(**DEEP, share=None),
        rl.QMIX(**REPLAY, mixing=4),
        rl.IDQN(**REPLAY, normalise_observations=True),
        rl.IDQN(**REPLAY, recurrent=6, sequence=4, burn_in=1),
    ],
    ids=["alike", "dueling", "apart", "QMIX", "normalised", "recurrent"],
)
def test_an_opponent_makes_the_moves_of_its_own_policy(other: Any) -> None:
    learner, opponent = trained(rl.IPPO(**SMALL), alike), trained(other, alike)
    assert (learner.weights.shape == opponent.weights.shape) == (
        other in (rl.IDQN(**REPLAY), rl.QMIX(**REPLAY, mixing=4))
    )
    assert_it_plays_itself(opponent, games_of(learner, opponent, 6), ALONE)


def test_groups_and_masks_are_the_opponents_own() -> None:
    learner = trained(rl.MAPPO(**SMALL, **KINDS), masked)
    sides = [{"a_0", "a_2"}, {"b_1", "b_3"}]
    for opponent in (
        trained(rl.VDN(**REPLAY, **KINDS), masked),
        trained(rl.IDQN(**REPLAY, share=None), masked),
    ):
        games = games_of(learner, opponent, 3)
        assert_it_plays_itself(opponent, games[:3], sides[:1])
        assert_it_plays_itself(opponent, games[3:], sides[1:])
        assert all(sees[a]["action_mask"][actions[a]] for game in games for sees, actions in game for a in actions)


def test_a_recurrent_learner_and_a_recurrent_opponent_each_remember_their_own() -> None:
    learner = trained(rl.IPPO(**SMALL, recurrent=5, sequence=4), alike)
    opponent = trained(rl.IDQN(**REPLAY, recurrent=7, sequence=4), alike)
    games = games_of(learner, opponent, 6)
    assert_it_plays_itself(opponent, games, ALONE)
    agents = {agent for side in ALONE for agent in side}
    assert_it_plays_itself(learner, games, [agents - side for side in ALONE])


def test_policies_that_draw_their_moves_draw_the_same_again() -> None:
    learner = trained(rl.IDQN(**REPLAY), TIC_TAC_TOE)
    others = {
        "wide": trained(rl.IPPO(**WIDE), TIC_TAC_TOE),
        "apart": trained(rl.MAPPO(**SMALL, share=None, normalise_observations=True), TIC_TAC_TOE),
        "itself": learner,
    }
    table = learner.against(others, episodes=4, seed=3)
    assert [each.opponent for each in table] == [*others]
    assert table == learner.against(others, episodes=4, seed=3)


def test_past_policies_play_as_the_run_that_they_are_of() -> None:
    learner = trained(rl.IPPO(**SMALL), alike)
    other = trained(rl.IDQN(**REPLAY), alike, opponents=rl.Past(every=2))
    last = other.past[-1]
    then = trained(rl.IDQN(**REPLAY), alike, opponents=rl.Past(every=2), until=64)
    assert (last.rounds, last.steps) == (2, then.steps)
    np.testing.assert_array_equal(last.weights, then.weights)
    assert_it_plays_itself(then, games_of(learner, last, 6), ALONE)


@pytest.mark.parametrize("recurrent", [{}, {"recurrent": 6, "sequence": 4}], ids=["", "recurrent"])
def test_who_is_watched_plays_one_side_after_the_other(recurrent: dict[str, Any]) -> None:
    learner, other = trained(rl.IPPO(**SMALL), alike), trained(rl.IDQN(**REPLAY, **recurrent), alike)
    matches = Matches(*opposing(learner, {"other": other}), 5)
    Kept.games.clear()
    watch(learner.policy, alike(), 6, 5, playing=matches)
    games = [game for game in Kept.games if game]
    assert len(games) == 6
    assert_it_plays_itself(other, games, ALONE)
    assert_it_plays_itself(learner, games, [{"a_0", "a_1", "a_2"} - side for side in ALONE])
    assert [(matches[i].side, matches[i].opponent) for i in (0, 1, 5)] == [(f"a_{i}", "other") for i in (0, 1, 2)]


def test_each_group_meets_each_opponent_before_the_next_one_does() -> None:
    learner, other = trained(rl.MAPPO(**SMALL, **KINDS), masked), trained(rl.VDN(**REPLAY, **KINDS), masked)
    matches = Matches(*opposing(learner, {"one": other, "random": "random"}), 5)
    assert [(each.side, each.opponent) for each in matches.all] == [
        ("a", "one"), ("a", "random"), ("b", "one"), ("b", "random"),
    ]  # fmt: skip
    assert (matches[5].side, {*matches[2].mine}) == ("a", {"b_1", "b_3"})
    drawn = matches(0).rng.integers(1 << 30, size=9)
    assert (drawn != np.random.default_rng(seed_of(5, 0)).integers(1 << 30, size=9)).all()  # not what is dealt


# ---- the command line ----

OWN = """
from dataclasses import dataclass
from reactors import rl

@dataclass(frozen=True, kw_only=True)
class Careful(rl.IPPO):
    clip: float = 0.05
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A class of one's own, in a file that is imported where it is named."""
    file = tmp_path / "opponents_own.py"
    file.write_text(OWN)
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the command adds the folder
    yield f"{file}:Careful"
    sys.modules.pop(file.stem, None)


def evaluated(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["eval", *map(str, arguments), "--episodes", "3", "--seed", "4", "--json"])


def test_the_command_plays_runs_of_any_algorithm_against_each_other(tmp_path: Path) -> None:
    learner = trained(rl.IPPO(**SMALL), TIC_TAC_TOE)
    other = trained(rl.IDQN(**REPLAY), TIC_TAC_TOE)
    one, two = str(learner.save(tmp_path / "one")), str(other.save(tmp_path / "two"))
    done = evaluated(one, "--against", two)
    assert done.exit_code == 0, done.output
    (found,) = learner.against({two: other}, episodes=3, seed=4)
    assert json.loads(done.output) == {"scores": [found._asdict()]}


def test_a_match_can_be_filmed(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    one, two = (trained(rl.IPPO(**SMALL), TIC_TAC_TOE).save(tmp_path / name) for name in ("one", "two"))
    videos = tmp_path / "videos"
    against = ["--against", "random", "--against", str(two)]
    done = CliRunner().invoke(main, ["play", str(one), *against, "--video", str(videos)])
    assert done.exit_code == 0, done.output
    sides = [line.partition("), ")[2] for line in done.output.splitlines()[:4]]
    assert sides == [f"player_{i} against {other}" for i in (1, 2) for other in ("random", two)]
    assert len([*videos.glob("*.mp4")]) == 4


def test_a_single_agent_has_no_match(tmp_path: Path) -> None:
    alone = rl.train(rl.A2C(num_envs=2, horizon=4, hidden=(4,)), "CartPole-v1", total_steps=16)
    done = CliRunner().invoke(main, ["play", str(alone.save(tmp_path / "run")), "--against", "random"])
    assert done.exit_code == 2
    assert "A2C has one agent here, and no opponents" in done.output


def test_the_command_says_how_a_run_comes_by_past_policies(tmp_path: Path) -> None:
    folder = trained(rl.IPPO(**SMALL), TIC_TAC_TOE).save(tmp_path / "run")
    done = evaluated(folder, "--against", "past")
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "<trained policy: IPPO in classic/tictactoe_v3, seed 1, " in said
    assert "has no past policies: a run has them, " in said
    assert said.endswith("if it is trained by reactors train --opponents past")


def test_the_commands_own_algorithm_is_that_of_the_runs_that_need_it(tmp_path: Path, own: str) -> None:
    ours = trained(rl.IPPO(**SMALL), TIC_TAC_TOE).save(tmp_path / "ours")
    theirs = trained(algorithm_named(own)(**SMALL), TIC_TAC_TOE).save(tmp_path / "theirs")
    sys.modules.pop("opponents_own")
    for folder, other in ((ours, theirs), (theirs, ours), (theirs, theirs)):
        done = evaluated(folder, "--against", other)
        assert "which is not imported" in done.output
        assert "give it: --algorithm FILE:CLASS" in " ".join(done.output.split())
        done = evaluated(folder, "--against", other, "--algorithm", own)
        assert done.exit_code == 0, done.output
        sys.modules.pop("opponents_own")
    moved = tmp_path / "elsewhere" / "own_too.py"  # a folder has the file as it was
    moved.parent.mkdir()
    (tmp_path / "opponents_own.py").rename(moved)
    done = evaluated(ours, "--against", theirs, "--algorithm", f"{moved}:Careful")
    sys.modules.pop("own_too")
    assert done.exit_code == 0, done.output


# ---- what is refused ----


def test_weights_alone_are_no_opponent() -> None:
    learner = trained(rl.IPPO(**SMALL), alike)
    for given in (SimpleNamespace(weights=learner.weights), learner.weights, 7):
        with pytest.raises(ArgumentError, match=r"is no opponent; give .* or a policy of many agents"):
            learner.against(given)
    alone = rl.train(rl.PPO(num_envs=4, horizon=8, epochs=1, hidden=(8,)), "CartPole-v1", total_steps=32)
    with pytest.raises(ArgumentError, match=r"<trained: PPO in CartPole-v1.* is no opponent"):
        learner.against(alone)


def test_two_opponents_of_one_name_are_refused() -> None:
    one, other = (trained(rl.IPPO(**SMALL), alike, seed=seed, opponents=rl.Past()) for seed in (1, 2))
    with pytest.raises(ArgumentError, match="two opponents are named 'round 0'; give names of your own, in a dict"):
        one.against([*one.past, *other.past])
    named = one.against({"mine": one.past[0], "theirs": other.past[0]}, episodes=2)
    assert [each.opponent for each in named] == ["mine", "theirs"]


class Longer(Comers):
    """`Comers` who see one number more."""

    def observation_space(self, agent: str) -> Any:
        return gym.spaces.Box(-9, 99, (4,), np.float32)

    def seen(self, agent: str) -> Any:
        return np.append(super().seen(agent), np.float32(0))


class More(Comers):
    """`Comers` who may do one thing more."""

    def action_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(4)


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (lambda: Longer(3), r"was trained where observations of 'a_0' are Box\(.*\(4,\), float32\), and here they are"),
        (lambda: More(3), r"was trained where actions of 'a_0' are Discrete\(4\), and here they are Discrete\(3\)"),
        (lambda: Comers(2), r"does not know 'a_2', only 'a_0', 'a_1'"),
    ],
    ids=["observations", "actions", "agents"],
)
def test_an_opponent_of_another_game_is_refused_before_any_is_played(theirs: Any, said: str) -> None:
    learner = trained(rl.IPPO(**SMALL), alike)
    other = trained(rl.IPPO(**SMALL), theirs)
    Kept.games.clear()
    with pytest.raises(ArgumentError, match=rf"rival, <trained: IPPO in .*>, {said}.*; give a run that was trained in"):
        learner.against({"rival": other})
    assert not Kept.games


def test_an_opponent_that_has_seen_no_masks_is_refused_where_there_are_some() -> None:
    learner = trained(rl.IPPO(**SMALL), lambda: Comers(3, masked=True))
    other = trained(rl.IPPO(**SMALL), lambda: Comers(3))
    with pytest.raises(ArgumentError, match="was trained without action masks, and here are some"):
        learner.against(other)
    assert other.against(learner, episodes=2)  # all is allowed here
