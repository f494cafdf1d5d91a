"""What each agent and each group got is told wherever the return of all together is, which is 0 in zero-sum games."""

from __future__ import annotations

import copy
import json
import pickle
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import reactors as rx
from reactors import rl
from reactors.command.cli import main
from reactors.rl.runs.curves import curve, over_steps, table
from reactors.rl.runs.run_folder import RunFolder
from tests.rl.agents.hunt import HUNT, Hunt

if TYPE_CHECKING:
    from pathlib import Path

SMALL: dict[str, Any] = {"num_envs": 2, "horizon": 5, "epochs": 1, "hidden": (4,)}
GROUPED, TOGETHER = rl.IPPO(**SMALL, **HUNT), rl.IPPO(**SMALL)
NAMED = f"{Hunt.__module__}:{Hunt.__name__}"


def reactors(*arguments: object) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with two groups."""
    out = tmp_path_factory.mktemp("runs") / "hunt"
    rl.train(GROUPED, Hunt, total_steps=40, eval_every=2, eval_episodes=2, out=out)
    return out


def test_an_evaluation_is_the_mean_of_all_together_and_has_agents_and_groups() -> None:
    found = rl.train(GROUPED, Hunt, total_steps=10).evaluate(3)
    assert found == 0.0
    assert found.returns == (0.0, 0.0, 0.0)
    assert found.agents == {"hunter_0": 5.0, "prey": -15.0, "hunter_1": 10.0}
    assert found.groups == {"hunters": 15.0, "prey": -15.0}
    assert found.groups["hunters"].returns == (15.0, 15.0, 15.0)


def test_an_evaluation_of_a_single_agent_has_no_parts() -> None:
    found = rl.train(rl.PPO(num_envs=2, horizon=4, epochs=1, hidden=(4,)), "CartPole-v1", total_steps=8).evaluate(2)
    assert (found.agents, found.groups, len(found.returns)) == ({}, {}, 2)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_an_evaluation_is_copied_with_its_parts(way: Any) -> None:
    found = rl.Evaluation([1.0, 2.0], agents={"a": rl.Evaluation([3.0])})
    again = way(found)
    assert (again, again.returns, again.agents, again.groups) == (1.5, (1.0, 2.0), {"a": 3.0}, {})


def test_the_journal_has_evaluations_of_agents_and_groups() -> None:
    row = rl.train(GROUPED, Hunt, total_steps=10, eval_every=1, eval_episodes=2).journal[-1]
    assert row["eval/mean_return"] == 0
    assert (row["eval/groups/hunters/mean_return"], row["eval/groups/prey/mean_return"]) == (15, -15)
    assert row["eval/agents/hunter_1/mean_return"] == 10


def test_where_all_are_one_group_the_journal_has_evaluations_of_agents_alone() -> None:
    row = rl.train(TOGETHER, Hunt, total_steps=10, eval_every=1, eval_episodes=2).journal[-1]
    assert row["eval/agents/prey/mean_return"] == -15
    assert not [name for name in row if name.startswith("eval/groups/")]


def test_eval_prints_a_row_for_each_group(run: Path) -> None:
    lines = reactors("eval", run, "--episodes", 2, "--env", NAMED).splitlines()
    assert lines[0] == "2 greedy episodes"
    assert [line.split() for line in lines[1:]] == [
        ["mean", "minimum", "maximum"],
        ["all", "together", "0.00", "0.00", "0.00"],
        ["hunters", "15.00", "15.00", "15.00"],
        ["prey", "-15.00", "-15.00", "-15.00"],
    ]


def test_eval_prints_a_row_for_each_agent_if_all_are_one_group(tmp_path: Path) -> None:
    folder = rl.train(TOGETHER, Hunt, total_steps=10).save(tmp_path / "kept")
    lines = reactors("eval", folder, "--episodes", 1, "--env", NAMED).splitlines()
    assert [line.split()[0] for line in lines[3:]] == ["hunter_0", "prey", "hunter_1"]


def test_eval_as_json_has_groups_and_agents(run: Path) -> None:
    found = json.loads(reactors("eval", run, "--episodes", 2, "--env", NAMED, "--json"))
    assert (found["episodes"], found["mean"]) == (2, 0)
    assert found["groups"] == {name: {"mean": x, "min": x, "max": x} for name, x in (("hunters", 15), ("prey", -15))}
    assert found["agents"]["hunter_1"]["mean"] == 10


def test_play_says_what_each_group_got(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.rl.monitoring.watching.rendering", lambda *_: Hunt())
    lines = reactors("play", run, "--episodes", 2, "--env", NAMED).splitlines()
    assert lines == [f"episode {n}: return 0.00 (hunters 15.00, prey -15.00)" for n in (1, 2)]


def test_compare_has_a_row_for_each_group(run: Path, tmp_path: Path) -> None:
    head, *lines = reactors("compare", run, "-o", tmp_path / "x.png").splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["hunt", "hunters", "prey"]
    place = head.index("return") + len("return")
    assert [float(line[:place].split()[-1]) for line in lines[:3]] == [0, 15, -15]
    assert [line.split()[1:] for line in lines[1:3]] == [["15.0", "15.0"], ["-15.0", "-15.0"]]


def test_what_groups_got_in_the_best_evaluation_is_of_that_evaluation() -> None:
    evaluations = [(10.0, 9.0, 1.0), (12.0, 4.0, 8.0), (11.0, 2.0, 9.0)]
    names = "eval/mean_return", "eval/groups/a/mean_return", "eval/groups/b/mean_return"
    shown = {"charts/episodic_return": 1.0, "groups/a/episodic_return": 1.0, "groups/b/episodic_return": 0.0}
    rows = [shown | dict(zip(names, each, strict=True)) for each in evaluations]
    config = {"algorithm": "IPPO", "env": "x", "mode": "sync", "workers": 1}
    run = SimpleNamespace(config=config, rows=rows, name="run", result={})
    assert [line.split()[-1] for line in table([run]).splitlines()[2:]] == ["4.0", "8.0"]


def test_returns_come_first_on_the_page_of_a_run(run: Path) -> None:
    names = [*over_steps(RunFolder(run).rows)]
    assert {"groups/hunters/episodic_return", "agents/prey/episodic_return"} < {
        *names[: names.index("losses/policy_loss")]
    }


def test_the_curve_has_a_line_for_each_group(monkeypatch: pytest.MonkeyPatch, run: Path, tmp_path: Path) -> None:
    drawn: list[tuple[str, list[float]]] = []
    plot = Axes.plot

    def noted(self: Any, xs: Any, ys: Any, *style: Any, **given: Any) -> Any:
        if "label" in given:
            drawn.append((given["label"], ys))
        return plot(self, xs, ys, *style, **given)

    monkeypatch.setattr(Axes, "plot", noted)
    curve({"hunt": RunFolder(run).rows}, tmp_path / "x.png")
    assert drawn[:3] == [("hunt", [0.0] * 4), ("hunt: hunters", [15.0] * 4), ("hunt: prey", [-15.0] * 4)]


@pytest.mark.usefixtures("fonts")
@pytest.mark.parametrize("name", ["lr$5_vs_$6", "_base"])
def test_the_legend_has_each_name_as_it_is(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    save = Figure.savefig

    def noted(self: Figure, *given: Any, **options: Any) -> None:
        save(self, *given, **options)
        legend: Any = self.axes[1].get_legend()
        shown.extend(text.get_text() for text in legend.get_texts())

    monkeypatch.setattr(Figure, "savefig", noted)
    row = {"global_step": 1, "seconds": 1, "charts/episodic_return": 1.0}
    groups = {f"groups/{group}/episodic_return": 1.0 for group in ("_a", "$5_b$")}
    curve({name: [{**row, **groups}]}, tmp_path / "x.png")
    assert shown == [name, f"{name}: _a", f"{name}: $5_b$"]


@pytest.mark.usefixtures("fonts")
@pytest.mark.parametrize(("more", "label"), [({}, "return"), ({"eval/mean_return": 2.0}, "return (dots: greedy)")])
def test_dots_are_explained_where_there_are_some(
    more: dict[str, float], label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: list[str] = []
    monkeypatch.setattr(Axes, "set_ylabel", lambda _, text: labels.append(text))
    curve({"a": [{"global_step": 1, "seconds": 1, "charts/episodic_return": 1.0, **more}]}, tmp_path / "x.png")
    assert labels[-1] == label


@pytest.mark.parametrize("name", ["hunters", "hunter_0"])
def test_a_run_stops_by_the_return_of_a_group_or_an_agent(name: str) -> None:
    """A round has two episodes, so that twenty have ended after ten, and the stop is a round later."""
    assert rl.train(GROUPED, Hunt, total_steps=130, stop_at=5, return_of=name).steps == 110


@pytest.mark.parametrize("given", [{"stop_at": 15.1, "return_of": "hunters"}, {"stop_at": 5}])
def test_a_run_goes_on_whose_return_is_less(given: dict[str, Any]) -> None:
    assert rl.train(GROUPED, Hunt, total_steps=130, **given).steps == 130


class Chase(Hunt):
    """What the hunters get depends on what they do, and so does what the prey loses."""

    def step(self, actions: Any) -> Any:
        observations, _, *rest = super().step(actions)
        caught = float(actions["hunter_0"])
        return observations, {"hunter_0": caught, "prey": -caught, "hunter_1": 0.0}, *rest


def test_the_best_is_that_of_the_group_which_is_named() -> None:
    def trained(**given: Any) -> rl.Trained:
        return rl.train(rl.IPPO(**SMALL, **HUNT, learning_rate=0.05), Chase, total_steps=200, eval_every=1, **given)

    by_group = {name: trained(return_of=name) for name in ("hunters", "prey")}
    hunters, prey = (done.best for done in by_group.values())
    assert hunters is not None
    assert prey is not None
    assert hunters.evaluate().groups["hunters"] == 5
    assert prey.evaluate().groups["prey"] == 0
    assert not any("zero-sum" in note for done in by_group.values() for note in done.notes)
    (note,) = trained().notes
    assert note.startswith(
        "all agents together got 0 in every evaluation, as in zero-sum games, so that none is better"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"return_of": "hunter"}, "return_of of rl.train is 'hunter', which is no group and no agent; did you mean"),
        ({"return_of": "x"}, "which is no group and no agent; there are 'hunters', 'prey', 'hunter_0', 'hunter_1'"),
        ({"return_of": "hunters", "stop_at": None}, "there is no stop_at= and no eval_every= that its return is for"),
        (
            {"return_of": "hunter_0", "eval_every": 1, "opponents": rl.Past()},
            "is the agent 'hunter_0', but with opponents evaluations are of groups; write one of 'hunters', 'prey'",
        ),
    ],
)  # fmt: skip
def test_a_return_of_none_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(rx.ReactorError, match=re.escape(said)):
        rl.train(GROUPED, Hunt, total_steps=10, **{"stop_at": 1.0, **given})


def test_a_single_agent_has_no_other_return() -> None:
    with pytest.raises(
        rx.ArgumentError, match=r"return_of of rl\.train is for many agents, and PPO is for a single one"
    ):
        rl.train(rl.PPO(), "CartPole-v1", stop_at=1.0, return_of="agents")


def test_with_opponents_the_best_is_that_of_the_group_against_chance() -> None:
    given: Any = {"total_steps": 20, "eval_every": 1, "eval_episodes": 2, "opponents": rl.Past()}
    done = rl.train(GROUPED, Hunt, return_of="prey", **given)
    assert done.best is not None
    assert done.journal[-1]["eval/random/groups/prey/return"] == -15
