"""Hyperparameters that cannot be are refused where they are said, and a policy can be kept without a run's folder."""

from __future__ import annotations

import ast
import gc
import inspect
import math
import textwrap
import types
import typing
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from reactors import rl
from reactors.command.cli import main
from reactors.errors import ArgumentError, ReactionError
from reactors.rl.bounded import Range
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.contract.hyperparameters import _hints
from reactors.rl.errors import RunFolderError
from reactors.rl.runs.settings import algorithms, with_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAN, INFINITY = float("nan"), float("inf")
WRONG: dict[Any, tuple[Any, ...]] = {
    int: (-1, 0.5, "many", True, NAN), float: (NAN, INFINITY, "much", True), bool: (1, "yes", None),
    tuple[int, ...]: (64, [64], (64, 0), (64, -1), (0.5,), "64"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


@pytest.mark.parametrize("name", algorithms())
def test_every_hyperparameter_has_a_type_and_values_that_it_refuses(name: str) -> None:
    algorithm = algorithms()[name]()
    hints = typing.get_type_hints(type(algorithm))
    for field in (each for each in fields(algorithm) if each.init):
        kinds = [kind for kind in typing.get_args(hints[field.name]) if kind in WRONG] or [hints[field.name]]
        for value in (each for each in WRONG.get(kinds[0], ()) if type(each) not in kinds[1:]):
            with pytest.raises(ArgumentError, match=f"{field.name} of {algorithm.name} is "):
                replace(algorithm, **{field.name: value})


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("PPO", {"gamma": 2}, "gamma of PPO is 2; write a number from 0 to 1"),
        ("PPO", {"hidden": 64}, "hidden of PPO is 64; write a tuple, each of it a whole number, 1 or more"),
        ("TD3", {"learning_rate": -1}, "learning_rate of TD3 is -1; write a number above 0"),
        ("APPO", {"clip": 0}, "clip of APPO is 0; write a number above 0"),
        ("A2C", {"smoothing": 1}, "write a number from 0, below 1"),
        ("SAC", {"tau": 1.5}, "write a number above 0, up to 1"),
        ("SAC", {"temperature": 0}, "write a number above 0 or None"),
        ("DQN", {"exploration_final": -0.1}, "write a number from 0 to 1"),
        ("DQN", {"beta": 1.1}, "write a number from 0 to 1"),
        ("DQN", {"alpha": 1.5}, "alpha of DQN is 1.5; write a number from 0 to 1"),
        ("IMPALA", {"replay_slots": -1}, "write a whole number, 0 or more"),
        ("QLearning", {"learning_rate": 2.0}, "write a number above 0, up to 1"),
        ("IPPO", {"share": "all"}, "share of IPPO is 'all'; write \"group\" or None"),
        ("VDN", {"share": None}, "agents of a group always share a network; take rl.IDQN for networks of their own"),
        (
            "ISAC",
            {"torso": "nature"},
            "its networks see vectors; make vectors of frames with a wrapper, or take rl.IPPO",
        ),
    ],
)
def test_the_error_says_what_is_possible(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        getattr(rl, name)(**given)
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", [rl.IMPALA, rl.APPO])
@pytest.mark.parametrize("given", [{"replay_slots": 3}, {"replay_proportion": 0.5}])
def test_half_of_fragment_replay_is_refused(kind: Any, given: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"{next(iter(given))} of {kind.__name__} is .* set both, or neither"):
        kind(**given)


@pytest.mark.parametrize("name", algorithms())
def test_every_field_has_a_docstring_in_every_class_that_gives_it_a_default(name: str) -> None:
    for kind in algorithms()[name].__mro__:
        if not is_dataclass(kind):
            continue
        (body,) = [
            each.body
            for each in ast.parse(textwrap.dedent(inspect.getsource(kind))).body
            if isinstance(each, ast.ClassDef)
        ]
        for field, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation):
                said = after.value if isinstance(after, ast.Expr) else None
                assert isinstance(said, ast.Constant), f"{kind.__name__}.{ast.unparse(field.target)} has no docstring"
                assert isinstance(said.value, str)


def test_text_of_a_command_line_is_checked_the_same_way() -> None:
    for name, text in (("gamma", "nan"), ("hidden", "64,0"), ("learning_rate", "-1e-3"), ("epochs", "0")):
        with pytest.raises(ArgumentError, match=f"{name} of PPO is "):
            with_settings(rl.PPO, {name: text})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("share", "all", "--set: share is 'all', but IPPO takes group or none there"),
        ("groups", "agent_*", 'takes a JSON object in quotes, as \'{"good": ["agent_*"]}\', or none there'),
        ("groups", '{"good": "agent_*"}', 'or on the command line "good": ["agent_*"]'),
        ("recurrent", "some", "but IPPO takes a whole number or true or false there"),
        ("hidden", "wide", "but IPPO takes whole numbers with commas, such as 64,64, there"),
    ],
)
def test_the_error_says_what_to_type_on_a_command_line(name: str, text: str, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        with_settings(rl.IPPO, {name: text})
    assert said in str(caught.value)
    assert with_settings(rl.IPPO, {"share": "none"}).share is None  # type: ignore[attr-defined]
    groups = with_settings(rl.IPPO, {"groups": '{"good": ["agent_*"]}'}).groups  # type: ignore[attr-defined]
    assert groups == {"good": ("agent_*",)}


def test_a_subclass_with_other_defaults_keeps_the_bounds() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Patient(rl.PPO):
        gamma: float = 0.999
        patience: int = 3

    assert Patient().gamma == 0.999
    with pytest.raises(ArgumentError, match=r"gamma of Patient is 1\.5; write a number from 0 to 1"):
        Patient(gamma=1.5)
    with pytest.raises(ArgumentError, match=r"patience of Patient is 0\.5; write a whole number"):
        Patient(patience=0.5)  # type: ignore[arg-type]


def test_a_run_that_is_over_before_anything_is_learned_is_refused() -> None:
    with pytest.raises(ArgumentError, match="learning_starts of DQN is 1000, but the run has 992 steps"):
        rl.train(rl.DQN(), "CartPole-v1", total_steps=1000)


def ends(hint: Any) -> list[Any]:
    """The least and the greatest that a hyperparameter may reasonably be; nothing, if it has no bounds."""
    if typing.get_origin(hint) in {types.UnionType, typing.Union}:
        return next((found for part in typing.get_args(hint) if (found := ends(part))), [])
    kind, *marks = typing.get_args(hint) or (hint,)
    bounds = next((mark for mark in marks if isinstance(mark, Range)), None)
    if bounds is None:
        return [False, True] if kind is bool else []
    if kind is int:
        return [int(bounds.least)] * 2
    most = 1.0 if math.isinf(bounds.most) else bounds.most
    return [bounds.least + 0.01 * bounds.above, most - 0.01 * bounds.below]


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("name", algorithms())
def test_what_hyperparameters_may_be_is_trained_with(name: str, end: int) -> None:
    kind: Any = algorithms()[name]
    hints = _hints(kind)
    given = {field.name: found[end] for field in fields(kind) if field.init and (found := ends(hints[field.name]))}
    given |= {"capacity": 32} if "capacity" in given else {}
    given |= {rate: 0.1 for rate in given if end and rate.endswith("learning_rate")}  # with 1 values may be infinite
    given.pop("temperature_learning_rate", None)  # the temperature is given
    given.pop("frame_stack", None)
    given |= {"replay_slots": 2 * end, "replay_proportion": float(end)} if "replay_slots" in given else {}
    given |= {"recurrent": False} if "latent" in given else {}
    many = issubclass(kind, MultiAgent)
    given |= dict.fromkeys({"standardise_rewards", "recurrent"} & {*given}, False) if many else {}
    env = {"qlearning": "FrozenLake-v1"}.get(name, "CartPole-v1" if kind.discrete else "Pendulum-v1")
    env = "mpe2:simple_spread_v3" if many else env
    options: dict[str, Any] = {"env_kwargs": {"continuous_actions": not kind.discrete}} if many else {}
    done = rl.train(kind(**given), env, total_steps=32, **options)
    assert np.isfinite(done.weights).all()


def test_a_small_ratio_of_updates_is_some() -> None:
    assert rl.DQN(updates_per_step=1e-12).updates == 1


def test_n_steps_that_a_run_does_not_make_are_refused() -> None:
    algorithm = rl.DQN(num_envs=2, horizon=4, n_step=20, learning_starts=0, batch_size=4, hidden=(4,))
    assert rl.train(algorithm, "CartPole-v1", total_steps=80).steps == 80
    with pytest.raises(ArgumentError, match="n_step of DQN is 20, but the run has 32 steps"):
        rl.train(algorithm, "CartPole-v1", total_steps=32)


def test_the_learning_rate_of_dqn_falls_by_steps_where_updates_adapt() -> None:
    algorithm = rl.DQN(num_envs=2, horizon=4, batch_size=4, hidden=(4,), anneal=True).scheduled(1000)
    learning: Any = algorithm.learning(gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2), 0)
    learning.updates, learning.progress = 10_000, 0.25
    assert learning.learning_rate == pytest.approx(0.75 * algorithm.learning_rate)


@pytest.mark.parametrize("starts", [0, 8, 100, 511, 512])
@pytest.mark.parametrize("ratio", [0.25, 1.0])
def test_the_learning_rate_of_dqn_falls_to_0_over_the_updates_that_there_are(starts: int, ratio: float) -> None:
    algorithm = rl.DQN(
        num_envs=2, horizon=4, learning_starts=starts, batch_size=4, hidden=(4,), updates_per_step=ratio, n_step=2,
        anneal=True,
    )  # fmt: skip
    done = rl.train(algorithm, "CartPole-v1", total_steps=515, actors=1)
    rates = [row["charts/learning_rate"] for row in done.journal if "charts/learning_rate" in row]
    updates = round(ratio * 8 * len(rates))
    assert rates[-1] == pytest.approx(algorithm.learning_rate / updates)
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize(("asked", "made"), [(1, 64), (64, 64), (150, 128)])
def test_a_run_has_whole_rounds_and_says_how_many_steps_these_were(asked: int, made: int) -> None:
    done = rl.train(rl.A2C(num_envs=4, horizon=16, hidden=(8,)), "CartPole-v1", total_steps=asked)
    assert done.steps == made


def test_a_policy_is_kept_and_loaded(tmp_path: Path) -> None:
    done = rl.train(rl.SAC(num_envs=2, learning_starts=8, hidden=(8, 8)), "Pendulum-v1", total_steps=32)
    again = rl.load(done.save(tmp_path / "kept"))
    assert again.weights.tobytes() == done.weights.tobytes()
    assert again.algorithm == done.algorithm
    assert again.evaluate(2) == done.evaluate(2)
    assert again([1.0, 0.0, 0.0]) == done([1.0, 0.0, 0.0])
    words = CliRunner().invoke(main, ["eval", str(tmp_path / "kept"), "--episodes", "2"])
    assert words.exit_code == 0, words.output
    assert f"mean {done.evaluate(2):.2f}" in words.stdout
    with pytest.raises(RunFolderError, match="is the folder of a run already"):
        done.save(tmp_path / "kept")
    with pytest.raises(RunFolderError, match="it does not exist"):
        rl.load(tmp_path / "nothing")


@dataclass(frozen=True, kw_only=True)
class Nowhere(rl.PPO):
    """An algorithm whose file is hidden."""


def pole() -> gym.Env[Any, Any]:
    return gym.make("CartPole-v1")


@pytest.mark.usefixtures("fonts")
def test_what_cannot_be_found_has_to_be_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    algorithm = Nowhere(num_envs=2, horizon=8, epochs=1)
    monkeypatch.setattr("reactors.rl.runs.train.file_of", lambda kind: None)
    done = rl.train(algorithm, pole, total_steps=16, out=tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"give it: rl.load\(folder, env=...\)"):
        rl.load(tmp_path / "run", algorithm=algorithm)
    with pytest.raises(RunFolderError, match=r"rl.load\(folder, algorithm=...\)"):
        rl.load(tmp_path / "run", env=pole)
    again = rl.load(tmp_path / "run", algorithm=algorithm, env=pole)
    assert again.evaluate(2) == done.evaluate(2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": "two"}, "workers of rl.train is 'two'; write a whole number, 1 or more, or workers='auto' for"),
        (
            {"backend": "threads"},
            (
                "backend of rl.train is 'threads'; write one of 'auto', 'inline', 'thread', 'process'; did you mean "
                "'thread'?"
            ),
        ),
        ({"workers": 0}, "workers of rl.train is 0"),
        ({"seed": -1}, "seed of rl.train is -1; write a whole number from 0 to"),
        ({"seed": 1.5}, "seed of rl.train is 1.5"),
        ({"stop_at": "x"}, "stop_at of rl.train is 'x'; write a number, a mean return"),
        ({"on_error": "ignore"}, 'on_error of rl.train is \'ignore\'; write "raise" or "restart"'),
    ],
)
def test_options_of_the_wrong_kind_are_refused_before_anything_is_made(given: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rl.train(rl.PPO(), "CartPole-v1", **given)


class Brittle(gym.Wrapper[Any, Any, Any, Any]):
    """Its tenth step raises."""

    steps = 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.steps == 10:
            raise RuntimeError("broken")
        return super().step(action)


def brittle() -> gym.Env[Any, Any]:
    return Brittle(gym.make("CartPole-v1"))


def test_an_environment_that_raises_is_made_again_if_that_is_wanted() -> None:
    algorithm = rl.PPO(num_envs=2, horizon=16, epochs=1)
    with pytest.raises(ReactionError, match=r'broken; fix it, or restart it with on_error="restart"'):
        rl.train(algorithm, brittle, total_steps=64)
    done = rl.train(algorithm, brittle, total_steps=64, on_error="restart")
    assert done.steps == 64


@pytest.mark.parametrize(
    ("what", "default", "usual", "words"),
    [
        ("dtype", torch.float64, torch.float32, "torch's default dtype is torch.float64, and networks of "),
        ("device", "meta", None, "torch's default device is meta, and networks of "),
    ],
)
def test_other_defaults_of_torch_are_refused_where_there_are_networks(
    what: str, default: Any, usual: Any, words: str, tmp_path: Path
) -> None:
    small = rl.A2C(num_envs=2, horizon=4, hidden=(8,))
    kept = rl.train(small, "CartPole-v1", total_steps=8).save(tmp_path / "kept")
    choose = getattr(torch, f"set_default_{what}")
    choose(default)
    try:
        for use in (
            lambda: rl.train(small, "CartPole-v1", total_steps=8),
            lambda: rl.serve(small, env="CartPole-v1"),
            lambda: rl.load(kept),
        ):
            with pytest.raises(ArgumentError, match=words):
                use()
        table = rl.QLearning(num_envs=2, horizon=4)  # which has none
        assert rl.train(table, "FrozenLake-v1", total_steps=8).steps == 8
    finally:
        choose(usual)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (rl.IPPO, "normalise_rewards"), (rl.MAPPO, "normalise_rewards"), (rl.IDQN, "frame_stack"),
        (rl.VDN, "frame_stack"), (rl.VDN, "share"), (rl.QMIX, "share"), (rl.ISAC, "frame_stack"), (rl.ISAC, "torso"),
    ],
)  # fmt: skip
def test_what_many_agents_cannot_have_is_not_offered(kind: Any, name: str) -> None:
    assert f"{name}=" not in repr(kind())
    assert name not in inspect.signature(kind).parameters
    with pytest.raises(ArgumentError, match=f"{kind.name} has no hyperparameter '{name}'"):
        kind(**{name: getattr(kind, name)})
