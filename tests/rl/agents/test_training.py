"""Training with many agents: the same on any number of workers, and where it goes on from a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reactors import rl
from reactors.errors import ArgumentError, ReactionError
from tests.rl.agents.comers import Comers

if TYPE_CHECKING:
    from pathlib import Path

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "epochs": 2, "hidden": (8,), "batch_size": 16}
TAG: dict[str, Any] = {"groups": {"adversary": ("adversary_*",), "good": ("agent_*",)}}


def mixed() -> Any:
    return Comers(4, kinds=2, masked=True)


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
def test_it_is_the_same_on_any_number_of_workers(mode: Any) -> None:
    algorithm = rl.MAPPO(**SMALL, groups={"a": ("a_*",), "b": ("b_*",)})
    runs = [
        rl.train(algorithm, mixed, total_steps=160, seed=3, mode=mode, actors=4, workers=workers, backend="thread")
        for workers in (1, 2, 4)
    ]
    assert len({run.digest for run in runs}) == 1
    assert len({run.result.digest for run in runs}) == 1
    np.testing.assert_array_equal(runs[0].weights, runs[2].weights)


class Wide(Comers):
    """Sees too much at its third step, and says nothing."""

    def step(self, actions: Any) -> Any:
        observations, *told, _ = super().step(actions)
        return {agent: np.zeros(7) if self.at == 3 else seen for agent, seen in observations.items()}, *told, None


def test_an_environment_that_observes_what_it_must_not_is_named_or_made_again() -> None:
    wide: dict[str, Any] = {"env": Wide, "total_steps": 64, "seed": 3, "actors": 2}
    with pytest.raises(
        ReactionError, match=r"environment 0 \(seed \d+, episode 0, step 3\) answered step wrongly: the observation of"
    ):
        rl.train(rl.IPPO(**SMALL), **wide)
    assert np.isfinite(rl.train(rl.IPPO(**SMALL), **wide, on_error="restart").weights).all()


@pytest.mark.parametrize("kwargs", [{}, {"share": None}])
@pytest.mark.usefixtures("bare_runs")
def test_a_run_that_goes_on_is_the_one_that_never_stopped(tmp_path: Path, kwargs: Any) -> None:
    def trained(steps: int, **options: Any) -> Any:
        return rl.train(
            rl.MAPPO(**SMALL, **kwargs), "mpe2:simple_spread_v3", total_steps=steps, seed=1, mode="pipelined", **options
        )

    whole = trained(192, actors=2)
    trained(128, actors=2, out=tmp_path / "run", checkpoint_every=2)
    on = trained(192, actors=2, resume=tmp_path / "run")
    assert on.digest == whole.digest
    assert not on.notes
    np.testing.assert_array_equal(on.weights, whole.weights)


@pytest.mark.usefixtures("bare_runs")
def test_environments_that_hide_their_state_begin_again_where_a_run_goes_on(tmp_path: Path) -> None:
    given: Any = {"total_steps": 96, "seed": 1, "actors": 1}
    rl.train(rl.IPPO(**SMALL), lambda: Comers(3), **given | {"total_steps": 64}, out=tmp_path / "run")
    on = rl.train(rl.IPPO(**SMALL), lambda: Comers(3), **given, resume=tmp_path / "run")
    assert on.steps == 96
    assert "Comers.living" in on.notes[0]


def test_the_journal_has_agents_and_groups() -> None:
    done = rl.train(rl.IPPO(**SMALL, **TAG), "mpe2:simple_tag_v3", total_steps=128, seed=1)
    last = done.journal[-1]
    agents = [last[f"agents/{name}/episodic_return"] for name in ("adversary_0", "adversary_1", "adversary_2")]
    assert last["groups/adversary/episodic_return"] == pytest.approx(sum(agents))
    assert last["charts/episodic_return"] == pytest.approx(sum(agents) + last["agents/agent_0/episodic_return"])
    assert {"groups/good/losses/policy_loss", "groups/adversary/losses/entropy", "losses/value_loss"} <= {*last}


def test_figures_of_a_network_are_those_of_its_group() -> None:
    last = rl.train(rl.IPPO(**SMALL, **TAG), "mpe2:simple_tag_v3", total_steps=64).journal[-1]
    for name in ("policy/spread", "values/mean", "values/spread", "advantages/spread"):
        assert name not in last
        assert last[f"groups/good/{name}"] != last[f"groups/adversary/{name}"]
    losses = [last[f"groups/{name}/losses/value_loss"] for name in ("good", "adversary")]
    assert last["losses/value_loss"] == pytest.approx(sum(losses) / 2)
    assert not {"groups/good/time/learn", "groups/good/updates"} & {*last}
    alone = rl.train(rl.IPPO(**SMALL), "mpe2:simple_spread_v3", total_steps=64).journal[-1]
    assert {"policy/spread", "values/mean"} <= {*alone}
    assert not any(name.startswith("groups/") for name in alone)


def test_only_steps_that_were_made_count() -> None:
    done = rl.train(rl.IPPO(**SMALL), lambda: Comers(5), total_steps=64, seed=2)
    assert all(0 < row["charts/agents"] < 5 for row in done.journal)


def test_masks_are_kept() -> None:
    class Watching(Comers):
        def told(self) -> Any:
            observations, infos = super().told()
            self.masks = {agent: info["action_mask"] for agent, info in infos.items()}
            return observations, infos

        def step(self, actions: Any) -> Any:
            assert all(self.masks[agent][action] for agent, action in actions.items())
            return super().step(actions)

    done = rl.train(rl.IPPO(**SMALL), lambda: Watching(3, masked=True), total_steps=256, seed=2, eval_every=4)
    assert np.isfinite(done.weights).all()
    assert done.evaluate(3) > 0


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"inference": "central"}, 'inference="central"'),
        ({"loaders": 2}, "loaders"),
        ({"learners": 2}, "learners"),
        ({"adapt": True, "mode": "free"}, "adapt"),
        ({"actor_device": "cpu"}, "actor_device"),
        ({"critic_device": "cpu"}, "critic_device"),
        ({"actor_device": "cpu", "critic_device": "cpu", "exchange_every": 1}, "actor_device"),
        ({"exchange_every": 1}, "exchange_every"),
    ],
)
@pytest.mark.parametrize("algorithm", [rl.IPPO(**SMALL), rl.IDQN(), rl.ISAC()], ids=lambda each: each.name)
def test_options_for_single_agents_are_refused(algorithm: Any, option: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^{said} of rl.train is for single agents, and {algorithm.name} is for"):
        rl.train(algorithm, pytest.fail, total_steps=64, **option)


@pytest.mark.usefixtures("bare_runs")
def test_the_command_trains_groups_and_evaluates_them(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from reactors.command.cli import main

    folder = str(tmp_path / "run")
    command = ["train", "mappo", "--env", "mpe2:simple_tag_v3", "--total-steps", "64", "--out", folder, "--no-preset"]
    for name, value in SMALL.items():
        command += ["--set", f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"]
    groups = '{"adversary": ["adversary_*"], "good": ["agent_*"]}'
    done = CliRunner().invoke(main, [*command, "--set", f"groups={groups}"])
    assert done.exit_code == 0, done.output
    page = tmp_path / "page.html"
    checkpoint = f"{folder}/checkpoints/000000000064"
    for rest in (
        ["eval", folder, "--episodes", "1"],
        ["eval", checkpoint, "--episodes", "1"],
        ["compare", folder, "-o", str(page)],
        ["train", "--resume", folder, "--total-steps", "96"],
    ):
        done = CliRunner().invoke(main, rest)
        assert done.exit_code == 0, done.output
    assert "groups/good/losses/policy_loss" in page.read_text()
    assert rl.load(folder).evaluate(1) == rl.load(folder).evaluate(1)
