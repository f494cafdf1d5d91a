"""Hyperparameters for an environment."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import pytest
from click.testing import CliRunner

from reactors import rl
from reactors.command.cli import main
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.contract.presets.tables import Preset, tables
from reactors.rl.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("bare_runs")


@pytest.mark.parametrize("preset", tables(), ids=lambda preset: f"{preset.algorithm} {preset.environments[0]}")
def test_every_preset_makes_its_algorithm_and_says_where_it_is_from(preset: Preset) -> None:
    made = getattr(rl, preset.algorithm)(**preset.values)
    assert {name: getattr(made, name) for name in preset.values} == preset.values
    assert preset.source
    assert rl.presets()[preset.algorithm][preset.environments[0]] == preset.source


def test_no_environment_has_two_presets_of_an_algorithm() -> None:
    found = [(preset.algorithm, pattern) for preset in tables() for pattern in preset.environments]
    assert len(set(found)) == len(found)


def test_a_preset_is_found_by_name_or_pattern_and_may_be_changed() -> None:
    assert rl.PPO.preset("Hopper-v5").normalise_observations
    assert rl.PPO.preset("Hopper-v4") == rl.PPO.preset("Walker2d-v5")
    assert rl.PPO.preset("atari:Pong", clip=0.3).clip == 0.3
    assert rl.DQN.preset("MinAtar/Breakout-v1").torso == "minatar"
    with pytest.raises(ArgumentError, match="clipp"):
        rl.PPO.preset("atari:Pong", clipp=0.3)
    with pytest.raises(ParameterError, match="presets of PPO are found by the name of an environment, and this is"):
        rl.PPO.preset(gym.Env)  # type: ignore[arg-type]


def test_a_run_with_defaults_has_a_note_of_the_preset() -> None:
    said = "A2C has its defaults; A2C.preset('CartPole-v1') is made for it (chosen here: docs/decisions/learning.md and"
    plain = rl.train(rl.A2C(), "CartPole-v1", total_steps=80)
    assert [note for note in plain.notes if note.startswith(said)] == plain.notes
    assert rl.train(rl.A2C.preset("CartPole-v1"), "CartPole-v1", total_steps=80).notes == []


def test_a_run_in_which_only_the_first_policy_is_evaluated_has_a_note() -> None:
    def notes(eval_every: int) -> list[str]:
        algorithm = rl.A2C.preset("CartPole-v1")
        steps = 3 * algorithm.num_envs * algorithm.horizon
        return rl.train(algorithm, "CartPole-v1", total_steps=steps, eval_every=eval_every, eval_episodes=1).notes

    assert notes(3) == ["eval_every is 3 rounds, and the run has 3: only the first policy is evaluated"]
    assert notes(2) == []


def test_an_algorithm_of_ones_own_has_those_of_the_one_that_it_extends() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mine(rl.PPO):
        name: ClassVar[str] = "Mine"
        bonus: float = 1.0

    made = Mine.preset("atari:Pong", bonus=2.0)
    assert (type(made), made.clip, made.bonus) == (Mine, 0.1, 2.0)


def test_defaults_of_ones_own_stay() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Careful(rl.PPO):
        clip: float = 0.05

    made = Careful.preset("atari:Pong")
    assert (made.clip, made.entropy) == (0.05, 0.01)


@pytest.mark.parametrize(
    ("kind", "env", "words"),
    [
        (rl.PPO, "Hoper-v5", r"PPO has no preset for 'Hoper-v5'; did you mean 'Hopper-v5'\?"),
        (rl.TD3, "atari:Pong", r"TD3 has no preset for 'atari:Pong'; there are some for .*Pendulum-v1"),
        (
            rl.DDPG,
            "atari:Pong",
            r"DDPG has no preset for 'atari:Pong'; there are some for .*BipedalWalker.*Ant-v5",
        ),
        (rl.QLearning, "Taxi-v3", "QLearning has no preset for 'Taxi-v3'; there are some for none"),
    ],
)
def test_what_has_none_names_those_there_are(kind: Any, env: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        kind.preset(env)


def test_patterns_are_of_environments_alone() -> None:
    for preset in tables():
        for pattern in preset.environments:
            assert translate(pattern) != translate("*")


def train(*arguments: str) -> tuple[dict[str, Any], str]:
    """Hyperparameters of a short run, and what the command says."""
    short = ("--set", "num_envs=2", "--set", "horizon=8", "--total-steps", "16", "--out", "run")
    done = CliRunner().invoke(main, ["train", *arguments, *short])
    assert done.exit_code == 0, done.output
    return RunFolder(Path("run")).config["hyperparameters"], done.output


def test_the_command_begins_with_a_preset_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "some.toml"
    config.write_text("[hyperparameters]\nepochs = 2\n")
    own, said = train("ppo", "--env", "Acrobot-v1", "--config", str(config), "--set", "lam=0.5")
    assert (own["entropy"], own["epochs"], own["lam"], own["normalise_observations"]) == (0.0, 2, 0.5, True)
    assert "preset for Acrobot-v1: batch_size=64, gamma=0.99," in said
    assert "(RL Zoo, ppo.yml, Acrobot-v1;" in said
    assert "epochs=" not in said
    shutil.rmtree("run")
    own, said = train("ppo", "--env", "Acrobot-v1", "--no-preset")
    assert own["normalise_observations"] is False
    assert "preset" not in said
