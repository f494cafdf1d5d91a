"""Names that are none are refused where they are said, with what is meant, in the same words wherever that is."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

from reactors import rl
from reactors.command.cli import main
from reactors.errors import ArgumentError
from reactors.rl.options import ARGUMENTS as OF_TRAIN
from reactors.rl.runs.settings import algorithms
from reactors.rl.synonyms import _INSTEAD, _OTHER_KIND, _SYNONYMS

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 4, "hidden": (4,)}
PPO_HAS = (
    "there are num_envs, horizon, gamma, learning_rate, anneal, entropy, value, value_scale, max_grad_norm, "
    "reward_clip, normalise_observations, normalise_rewards, hidden, activation, log_std, torso, recurrent, "
    "lam, epochs, batch_size, clip, anneal_clip, clip_value, target_kl, normalise, sequence"
)
HYPERPARAMETERS = {
    ("PPO", "learning_rte"): "PPO has no hyperparameter 'learning_rte'; did you mean 'learning_rate'?",
    ("PPO", "gae_lamda"): "PPO has no hyperparameter 'gae_lamda'; if gae_lambda is meant, it is lam here",
    ("PPO", "foo"): f"PPO has no hyperparameter 'foo'; {PPO_HAS}",
    ("PPO", "nsteps"): "PPO has no hyperparameter 'nsteps': it is horizon here",
    ("APPO", "tau"): (
        "APPO has no hyperparameter 'tau': the target network is replaced every target_every updates, all of it at once"
    ),
    ("DQN", "polyak"): "DQN has no hyperparameter 'polyak': it is tau here",
    ("SAC", "target_update_interval"): (
        "SAC has no hyperparameter 'target_update_interval': it is target_every here, in updates"
    ),
    ("TD3", "target_update_interval"): (
        "TD3 has no hyperparameter 'target_update_interval': policy_delay counts the critics' updates for one of the "
        "actor and of all targets"
    ),
    ("PPO", "lr"): "PPO has no hyperparameter 'lr': it is learning_rate here",
    ("SAC", "q_lr"): "SAC has no hyperparameter 'q_lr': it is critic_learning_rate here",
    ("PPO", "vf_lr"): "PPO has no hyperparameter 'vf_lr': it is learning_rate here",
    ("SAC", "use_sde"): "SAC has no hyperparameter 'use_sde': noise is drawn for each step, whatever the state is",
    ("TD3", "activation_fn"): "TD3 has no hyperparameter 'activation_fn': the layers in hidden have ReLU",
    ("PPO", "n_steps"): "PPO has no hyperparameter 'n_steps': it is horizon here",
    ("DQN", "n_steps"): "DQN has no hyperparameter 'n_steps': it is n_step here",
    ("PPO", "n_epochs"): "PPO has no hyperparameter 'n_epochs': it is epochs here",
    ("PPO", "n_envs"): "PPO has no hyperparameter 'n_envs': it is num_envs here",
    ("PPO", "gae_lambda"): "PPO has no hyperparameter 'gae_lambda': it is lam here",
    ("PPO", "ent_coef"): "PPO has no hyperparameter 'ent_coef': it is entropy here",
    ("SAC", "ent_coef"): "SAC has no hyperparameter 'ent_coef': it is temperature here",
    ("PPO", "vf_coef"): "PPO has no hyperparameter 'vf_coef': it is value here",
    ("PPO", "clip_range"): "PPO has no hyperparameter 'clip_range': it is clip here",
    ("DQN", "buffer_size"): "DQN has no hyperparameter 'buffer_size': it is capacity here",
    ("DQN", "train_freq"): (
        "DQN has no hyperparameter 'train_freq': it is updates_per_step here, updates for each environment step"
    ),
    ("DQN", "target_update_interval"): (
        "DQN has no hyperparameter 'target_update_interval': it is target_every here, in updates"
    ),
    ("DQN", "exploration_final_eps"): (
        "DQN has no hyperparameter 'exploration_final_eps': it is exploration_final here"
    ),
    ("PPO", "total_timesteps"): ("PPO has no hyperparameter 'total_timesteps': write rl.train(..., total_steps=...)"),
    ("PPO", "total_steps"): ("PPO has no hyperparameter 'total_steps': write rl.train(..., total_steps=...)"),
    ("PPO", "device"): "PPO has no hyperparameter 'device': write rl.train(..., device=...)",
    ("PPO", "env"): "PPO has no hyperparameter 'env': write rl.train(..., env=...)",
    ("PPO", "tensorboard_log"): ("PPO has no hyperparameter 'tensorboard_log': write rl.train(..., tensorboard=...)"),
    ("PPO", "callback"): "PPO has no hyperparameter 'callback': write rl.train(..., watch=...)",
    ("PPO", "policy_kwargs"): (
        "PPO has no hyperparameter 'policy_kwargs': what it would say of the network is said by hidden and torso "
        "themselves"
    ),
    ("PPO", "verbose"): (
        "PPO has no hyperparameter 'verbose': `reactors train` shows how it goes, and `watch` of rl.train has "
        "functions that get rows of the journal"
    ),
}
ARGUMENTS = {
    "timesteps": "rl.train has no argument 'timesteps': it is total_steps here",
    "total_timesteps": "rl.train has no argument 'total_timesteps': it is total_steps here",
    "logdir": "rl.train has no argument 'logdir': it is out here",
    "num_workers": "rl.train has no argument 'num_workers': it is workers here",
    "num_envs": "rl.train has no argument 'num_envs': write rl.PPO(num_envs=...)",
    "n_envs": "rl.train has no argument 'n_envs': write rl.PPO(num_envs=...)",
    "learning_rate": "rl.train has no argument 'learning_rate': write rl.PPO(learning_rate=...)",
    "verbose": "rl.train has no argument 'verbose': `reactors train` shows how it goes, and `watch` of rl.train has "
    "functions that get rows of the journal",
    "wrokers": "rl.train has no argument 'wrokers'; did you mean 'workers'?",
    "qqq": f"rl.train has no argument 'qqq'; there are {', '.join(['algorithm', *OF_TRAIN])}",
}


def said(function: Any, *positional: Any, **named: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        function(*positional, **named)
    return str(caught.value)


@pytest.mark.parametrize(("name", "given"), HYPERPARAMETERS)
def test_a_name_that_is_no_hyperparameter(name: str, given: str) -> None:
    wanted = HYPERPARAMETERS[name, given]
    assert said(getattr(rl, name), **{given: 3}) == wanted
    words = CliRunner().invoke(main, ["train", name, "--env", "CartPole-v1", "--set", f"{given}=3"])
    option = re.sub(r"write rl\.train\(\.\.\., (\w+)=\.\.\.\)", lambda found: f"write {OF_TRAIN[found[1]]}", wanted)
    assert words.exit_code == 2
    if given != "callback":  # which the command has no option for
        assert words.stderr.splitlines()[-1] == f"Error: --set: {option}"


@pytest.mark.parametrize("given", ARGUMENTS)
def test_a_name_that_is_no_argument_of_train(given: str) -> None:
    assert said(rl.train, rl.PPO(**SMALL), "CartPole-v1", **{given: 3}) == ARGUMENTS[given]


def test_tune_answers_likewise() -> None:
    assert said(rl.tune, rl.PPO(**SMALL), "CartPole-v1", n_envs=3) == (
        "rl.tune has no argument 'n_envs': write rl.PPO(num_envs=...)"
    )


def test_what_stable_baselines3_takes_by_position() -> None:
    assert said(rl.PPO, "MlpPolicy", "CartPole-v1") == (
        "PPO takes hyperparameters, by name, and was given 'MlpPolicy', 'CartPole-v1'; the network follows from the "
        'observations, and the environment is given to rl.train: rl.train(rl.PPO(), "CartPole-v1", total_steps=...)'
    )


def test_a_class_is_no_algorithm_yet() -> None:
    assert said(rl.train, rl.DQN, "CartPole-v1") == (
        "rl.train takes an algorithm, as in rl.train(rl.DQN(), ...), and was given "
        "<class 'reactors.rl.algorithms.dqn.DQN'>"
    )


def test_a_list_for_a_tuple() -> None:
    assert said(rl.PPO, hidden=[64, 64]) == "hidden of PPO is [64, 64]; write a tuple: (64, 64)"
    assert said(rl.PPO, hidden=[0]) == ("hidden of PPO is [0]; write a tuple, each of it a whole number, 1 or more")


@pytest.mark.usefixtures("hints_at_rest")
def test_what_is_asked_of_an_algorithm_or_policy_as_elsewhere() -> None:
    with pytest.raises(AttributeError, match=r"; write rl\.train\(algorithm, env, total_steps=\.\.\.\)$"):
        rl.PPO().learn  # type: ignore[attr-defined]  # noqa: B018
    policy = rl.TrainedPolicy(rl.PPO(), None, np.zeros(1, np.float32), dict, (None, None), {})  # type: ignore[arg-type]
    for name in ("predict", "compute_single_action"):
        with pytest.raises(AttributeError, match=r"; call it with one observation, or policy\.greedy"):
            getattr(policy, name)
    with pytest.raises(AttributeError, match=r"; did you mean .evaluate.\?$"):
        policy.evalute  # type: ignore[attr-defined]  # noqa: B018


def test_a_hyperparameter_without_a_type_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Untyped(rl.PPO):
        foo = 1.0

    with pytest.raises(ArgumentError, match=r"^foo of Untyped has no type, so that it would be ignored; write"):
        Untyped()


def test_names_of_the_table_lead_somewhere() -> None:
    there = {name for kind in algorithms().values() for name in inspect.signature(kind).parameters}
    there |= {*OF_TRAIN}
    assert {meant for every in _SYNONYMS.values() for meant in every} <= there
    assert {name for other, (meant, _) in _OTHER_KIND.items() for name in (other, meant)} <= there
    assert not {*_INSTEAD} & {*_SYNONYMS}


# ---- classes of others ----


class Undecorated(rl.PPO):
    clip: float = 0.05
    patience: int = 3


class Untyped(rl.PPO):
    clip = 0.05


@dataclass(frozen=True, kw_only=True)
class Anonymous(rl.Algorithm):
    on_policy: ClassVar[bool] = True

    def policy(self, observation_space: Any, action_space: Any) -> Any: ...

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Patient(rl.PPO):
    patience: int = 3


@dataclass(frozen=True, kw_only=True)
class Scheduled(rl.PPO):
    total_steps: int = 10


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (
            Undecorated,
            (
                "Undecorated has hyperparameters (clip, patience), but is no dataclass, so that they would be ignored; "
                "write @dataclass(frozen=True, kw_only=True) above class Undecorated"
            ),
        ),
        (
            Untyped,
            (
                "clip of Untyped has no type, so that it would be ignored; write it as in clip: float = ..., below "
                "@dataclass(frozen=True, kw_only=True)"
            ),
        ),
        (Anonymous, 'Anonymous does not say its name; write name: ClassVar[str] = "Anonymous" in the class'),
    ],
)
def test_a_class_whose_hyperparameters_would_be_ignored(kind: Any, wanted: str) -> None:
    assert said(kind) == wanted


def test_names_of_a_class_of_ones_own() -> None:
    assert Patient(patience=4).patience == 4
    assert said(Patient, patient=4) == "Patient has no hyperparameter 'patient'; did you mean 'patience'?"
    assert said(rl.train, Patient(**SMALL), "CartPole-v1", patience=4) == (
        "rl.train has no argument 'patience': write Patient(patience=...)"
    )
    assert "patience" in inspect.signature(Patient).parameters


@pytest.mark.parametrize("made", [kind(**SMALL, learning_rate=1e-3, anneal=True) for kind in (rl.PPO, Scheduled)])
def test_train_sets_the_steps_over_which_a_rate_falls(made: Any) -> None:
    done = rl.train(made, "CartPole-v1", total_steps=32)
    assert done.algorithm == made.scheduled(32)
    assert vars(done.algorithm)["total_steps"] == 32
    assert [round(row["charts/learning_rate"] / 1e-3, 3) for row in done.journal] == [1.0, 0.75, 0.5, 0.25]
    again = rl.train(done.algorithm, "CartPole-v1", total_steps=32)
    assert again.digest == done.digest
    assert said(made.scheduled, 0).startswith("total_steps of ")


@pytest.mark.parametrize("name", algorithms())
def test_algorithms_are_copied_replaced_and_pickled(name: str) -> None:
    made: Any = algorithms()[name](num_envs=4).scheduled(77)
    for each in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), made.part(1)):
        assert each == made
    assert replace(made, num_envs=6).num_envs == 6
