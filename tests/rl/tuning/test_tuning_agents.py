"""`rl.tune` of many agents: each group has a learner, and what is found is a training that runs."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from reactors import rl
from reactors.command.cli import main
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.options import Options
from reactors.rl.runs.run_folder import RunFolder
from reactors.rl.tuning.candidates import Candidate, candidates
from tests.rl.agents.visitors import TurnsOfVisitors, Visitors

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "hidden": (8,), "batch_size": 8}
REPLAY: dict[str, Any] = {**SMALL, "capacity": 400, "learning_starts": 32}
SPREAD = "mpe2:simple_spread_v3"


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


def tuned(algorithm: Any, env: Any, **options: Any) -> Any:
    return rl.tune(algorithm, env, **{"cores": 2, "seconds": 0.01, "backend": "thread", **options})


# ---- the choice ----

ACTING, LEARNING = {1: 1000.0, 2: 2000.0, 4: 4000.0}, {1: 1000.0, 2: 2000.0}


def ways(found: list[Candidate]) -> list[tuple[str, int, int, int, int]]:
    return [(each.mode, each.workers, each.actors, each.learners, round(each.predicted)) for each in found]


def test_learners_of_all_groups_are_on_workers_of_their_own_or_on_those_of_the_actors() -> None:
    assert ways(candidates(ACTING, LEARNING, 1.0, 4, groups=2)) == [
        ("pipelined", 4, 2, 2, 2000),
        ("sync", 4, 4, 2, 1333),
        ("sync", 2, 2, 2, 1000),
        ("pipelined", 2, 2, 2, 1000),
        ("pipelined", 3, 1, 2, 1000),
        ("sync", 1, 1, 1, 500),
    ]


def test_one_group_is_as_one_agent_with_one_learner() -> None:
    one = {1: 1500.0}
    for mode in (None, "sync", "pipelined", "free"):
        assert candidates(ACTING, one, 1.0, 4, mode, groups=1) == candidates(ACTING, one, 1.0, 4, mode)  # type: ignore[arg-type]


@pytest.mark.parametrize("cores", [1, 2, 3, 4])
@pytest.mark.parametrize("groups", [1, 2, 3, 9])
@pytest.mark.parametrize("mode", [None, "sync", "pipelined", "free"])
def test_there_is_always_a_candidate_and_none_has_more_workers_than_cores(cores: int, groups: int, mode: Any) -> None:
    learning = dict.fromkeys(range(1, min(groups, cores) + 1), 1500.0)
    found = candidates({n: r for n, r in ACTING.items() if n <= cores}, learning, 1.0, cores, mode, groups)
    assert found
    assert all(each.workers <= cores and (mode is None or each.mode == mode) for each in found)
    assert len({(each.mode, each.workers, each.actors) for each in found}) == len(found)


# ---- the measurements ----


@pytest.mark.parametrize(
    ("algorithm", "env"),
    [
        (rl.IPPO(**SMALL, epochs=1), SPREAD),
        (rl.MAPPO(**SMALL, epochs=1), Visitors),
        (rl.QMIX(**REPLAY, mixing=8), SPREAD),
        (rl.IDQN(**REPLAY), TurnsOfVisitors),
        (rl.VDN(**REPLAY, recurrent=True, sequence=4, burn_in=1), SPREAD),
    ],
)
def test_what_is_found_trains(algorithm: Any, env: Any) -> None:
    found = tuned(algorithm, env)
    assert [*found.acting] == [1, 2]
    assert [*found.learning] == [1]
    assert {each.mode for each, _ in found.together} == {"sync", "pipelined"}
    assert set(found.options) == {"workers", "actors", "mode"}
    assert "1 learner" in found.sentence()
    done = rl.train(algorithm, env, total_steps=64, backend="thread", **found.options)
    assert done.steps == 64


def test_learners_of_groups_are_measured_by_the_workers_that_they_are_on() -> None:
    groups = {"adversary": ("adversary_*",), "good": ("agent_*",)}
    said: list[str] = []
    found = tuned(rl.IPPO(**SMALL, epochs=1, groups=groups), "mpe2:simple_tag_v3", tell=said.append)
    assert [*found.learning] == [1, 2]
    assert "2 learners on 2 workers alone" in said
    assert "| workers of 2 learners |" in found.tables()
    assert "2 learners on" in found.sentence()
    assert found.predicted == 3
    done = rl.train(found.algorithm, "mpe2:simple_tag_v3", total_steps=64, backend="thread", **found.options)
    assert done.steps == 64


def test_batch_sizes_fanouts_and_ratios_are_of_many_agents_too() -> None:
    algorithm = rl.IDQN(**REPLAY, prioritized=True)
    found = tuned(algorithm, Visitors, cores=1, ratio=0.25, batch_sizes=(8, 16), fanouts=(2, 16))
    assert found.ratio == 0.25
    assert (set(found.frames), set(found.draws)) == ({8, 16}, {2, 16})
    assert found.algorithm.batch_size in {8, 16}


def test_opponents_play_in_all_that_is_measured_of_actors(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Any] = []  # what, and against whom

    def noted(**given: Any) -> Options:
        measured.append(given["opponents"])
        return Options(**given)

    monkeypatch.setattr("reactors.rl.tuning.tuning.Options", noted)
    past = rl.Past(every=20, choose="elo", size=3)
    for algorithm in (rl.IPPO(**SMALL, epochs=1), rl.IDQN(**REPLAY)):
        measured.clear()
        found = tuned(algorithm, "classic/tictactoe_v3", opponents=past, cores=1, tell=measured.append)
        against = dict(zip(measured[::2], measured[1::2], strict=True))
        often = rl.Past(every=1, choose="elo", size=3)
        assert against.pop("1 learner alone") is None
        assert against == {"1 actor alone": often, "together, sync: 1 actor and 1 learner": often}
        done = rl.train(algorithm, "classic/tictactoe_v3", total_steps=64, opponents=past, **found.options)
        assert done.steps == 64


def test_free_running_is_measured_as_it_will_be() -> None:
    found = tuned(rl.IPPO(**SMALL, epochs=1), SPREAD, mode="free", few=1)
    assert found.options["mode"] == "free"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"inference": "central"}, 'inference="central" of rl.tune is for single agents, and IPPO is for many'),
        ({"loaders": 2}, "loaders of rl.tune is for single agents, and IPPO is for many"),
        ({"batch_sizes": (8,)}, "batch_sizes of rl.tune are of algorithms with replay, and IPPO has none"),
        ({"opponents": "future"}, "opponents is 'future'; write rl.Past"),
        ({"ratio": 2.0}, "ratio of rl.tune is 2.0, but IPPO learns once from every round"),
    ],
)
def test_what_there_is_for_single_agents_alone_is_refused_before_anything_is_measured(options: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        tuned(rl.IPPO(**SMALL), SPREAD, tell=pytest.fail, **options)


def test_opponents_are_refused_where_there_is_no_other_side() -> None:
    with pytest.raises(ParameterError, match=r"opponents of rl\.tune: a group of QMIX learns what it does together"):
        tuned(rl.QMIX(**REPLAY), SPREAD, tell=pytest.fail, opponents="past")
    with pytest.raises(ArgumentError, match=r"opponents of rl\.tune are for many agents, and PPO is for a single one"):
        tuned(rl.PPO(), "CartPole-v1", tell=pytest.fail, opponents="past")


def test_the_command_prints_what_trains_in_that_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    small = [f"--set={name}={value}" for name, value in {**SMALL, "hidden": 8, "epochs": 1}.items()]
    line = f"tune ippo --env {SPREAD} --seconds 0.01 --cores 1 --opponents past:every=2 --no-preset --json"
    found = CliRunner().invoke(main, [*line.split(), *small])
    assert found.exit_code == 0, found.output
    words = json.loads(found.stdout.splitlines()[-1])["command"].split()
    assert words[:5] == ["reactors", "train", "ippo", "--env", SPREAD]
    assert "--learners" not in words
    assert words[words.index("--opponents") + 1] == "past:every=2"
    done = CliRunner().invoke(main, [*words[1:], "--total-steps", "64", "--out", "out"])
    assert done.exit_code == 0, done.output
    assert json.loads(Path("out/result.json").read_text())["steps"] == 64
