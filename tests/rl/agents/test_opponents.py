"""Training against past policies: who plays, who learns, and that all of it is the same again."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reactors import rl
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.contract.agents import actions_of, sides_of
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.elo import Elo
from reactors.rl.dataflow.agents.opponents import Game, Opponents
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.envs.agents.sources import agents_maker, cast_of
from reactors.rl.opponents import BEGIN, STEP
from tests.rl.agents.comers import Comers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "epochs": 2, "hidden": (8,), "batch_size": 16}
TAG: dict[str, Any] = {"groups": {"adversary": ("adversary_*",), "good": ("agent_*",)}}
TIC_TAC_TOE = "classic/tictactoe_v3"


def mixed() -> Any:
    return Comers(4, kinds=2, masked=True)


def kinds(**options: Any) -> rl.MAPPO:
    return rl.MAPPO(**{**SMALL, "groups": {"a": ("a_*",), "b": ("b_*",)}, **options})


# ---- who plays, and who learns ----


def played(algorithm: Any, make: Any, past: rl.Past, rounds: int, seed: int = 0) -> tuple[Any, Any, list[Any]]:
    """Acting, the cast, and the rows of each round; in round 2 and later with other weights."""
    cast = cast_of(make, "main")
    initial = [
        algorithm.learning(team, actions_of(cast, team), 0).weights() for team in algorithm.teams(cast)
    ]  # fmt: skip
    rollout = AgentsRollout(algorithm, make, algorithm.num_envs, 0, cast)
    acting = TeamActing(algorithm, cast, initial, past=past)
    found = []
    try:
        rollout.open(seed, "main")
        acting.open(np.random.default_rng(seed), algorithm.num_envs)
        for number in range(rounds):
            if number:
                acting.load(np.concatenate(initial) + np.float32(number), number)
            acting.look()
            rows = [np.zeros(rollout.shape, dtype) for dtype in rollout.dtypes]
            rollout.play(acting, rows, number)
            found.append(rows)
    finally:
        rollout.close()
    return acting, cast, found


def test_of_a_game_one_player_learns_and_each_in_its_turn() -> None:
    make = agents_maker(TIC_TAC_TOE, {}, "main")
    acting, _, rounds = played(rl.IPPO(**SMALL), make, rl.Past(chance=1.0), 8)
    learned = np.concatenate([rows["acted"] for (rows,) in rounds])  # (steps, environments, agents)
    assert not learned.all(axis=2).any()
    ended = np.concatenate([rows["terminated"] for (rows,) in rounds])
    for env in range(4):
        sides = []
        for episode in np.split(learned[:, env], np.flatnonzero(ended[:, env]) + 1)[:-1]:
            assert episode.any(axis=0).sum() == 1
            sides.append(int(episode.any(axis=0).argmax()))
        assert sides == [(env + i) % 2 for i in range(len(sides))]
    assert {result.against for result in acting.opponents.results} == {(("agents", 0),)}


def test_rows_of_those_whom_past_policies_play_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = []  # who learns at each step: bool (environments, agents)

    class Watched(Opponents):
        def act(self, simulations: Any, number: int) -> Any:
            learned.append(self.learns.copy())
            return super().act(simulations, number)

    monkeypatch.setattr("reactors.rl.dataflow.agents.acting.Opponents", Watched)
    acting, cast, rounds = played(kinds(), mixed, rl.Past(chance=0.8), 6)
    learns = np.stack(learned).reshape(6, 8, 4, 4)
    for i, team in enumerate(kinds().teams(cast)):
        rows, mine = np.stack([each[i] for each in rounds]), learns[..., list(team.members)]
        assert rows["acted"][mine].any()
        for name in ("acted", "next_acted", "rewards", "terminations", "truncations", "obs", "next_obs"):
            assert not rows[name][~mine].any()
        np.testing.assert_allclose(rows["reward"], rows["rewards"].sum(-1))
    assert not learns.all(axis=-1).all()
    assert all(math.isfinite(result.mine) and math.isfinite(result.theirs) for result in acting.opponents.results)


def test_gradients_are_those_of_the_steps_that_learners_made() -> None:
    """What is learned of a round does not change with anything that stands in the rows of others."""
    algorithm = rl.IPPO(**SMALL)
    make = agents_maker(TIC_TAC_TOE, {}, "main")
    _, cast, rounds = played(algorithm, make, rl.Past(chance=1.0), 1)
    (team,), (rows,) = algorithm.teams(cast), rounds[0]
    absent = ~rows["acted"]
    weights = []
    for filling in (0, 1):
        changed = rows.copy()
        for name in ("obs", "action", "log_prob"):
            changed[name][absent] = filling
        import torch

        learning = algorithm.learning(team, actions_of(cast, team), 0)
        batch = {name: torch.from_numpy(np.ascontiguousarray(changed[name])) for name in changed.dtype.names}
        for _ in learning.learn(batch):
            pass
        weights.append(learning.weights())
    np.testing.assert_array_equal(*weights)


def test_a_pool_keeps_what_was_learned_every_so_many_rounds_and_lets_the_oldest_go() -> None:
    make = agents_maker(TIC_TAC_TOE, {}, "main")
    acting, *_ = played(rl.IPPO(**SMALL), make, rl.Past(every=2, size=3, choose="latest", chance=1.0), 9)
    (pool,) = acting.opponents.pools
    assert pool.rounds == [4, 6, 8]
    assert {*pool.policies} >= {4, 6, 8}
    assert {*pool.policies} - {4, 6, 8} <= {*acting.opponents.against.ravel().tolist()}  # which still play
    np.testing.assert_allclose(pool.weights[8] - 8, pool.weights[4] - 4, atol=1e-5)


def test_the_latest_plays_and_by_elo_the_stronger_ones_more_often() -> None:
    make = agents_maker(TIC_TAC_TOE, {}, "main")
    acting, *_ = played(rl.IPPO(**SMALL), make, rl.Past(every=1, choose="latest", chance=1.0), 4)
    for env in range(4):
        acting.opponents.begin(env)
    assert (acting.opponents.against == 3).all()
    acting, *_ = played(rl.IPPO(**SMALL), make, rl.Past(every=1, choose="elo", chance=1.0), 3)
    acting.opponents.ratings = {"agents": {"learner": 1000.0, "past": {0: 200.0, 1: 1000.0, 2: 1800.0}}}
    drawn = []
    for _ in range(300):
        acting.opponents.begin(0)
        drawn.append(int(acting.opponents.against[0, 0]))
    assert drawn.count(0) < 20 < drawn.count(1) < drawn.count(2)


def test_by_chance_all_learn() -> None:
    make = agents_maker(TIC_TAC_TOE, {}, "main")
    acting, _, rounds = played(rl.IPPO(**SMALL), make, rl.Past(chance=0.2), 6)
    everyone = acting.opponents.side == -1
    assert everyone.any()
    assert acting.opponents.learns[everyone].all()
    assert all(rows["acted"].any(axis=(0, 1)).all() for (rows,) in rounds)


def test_sides_are_groups_or_the_agents_of_the_only_one() -> None:
    cast = cast_of(mixed, "main")
    assert [side for _, side in sides_of(kinds().teams(cast))] == [[0, 2], [1, 3]]
    two = cast_of(agents_maker(TIC_TAC_TOE, {}, "main"), "main")
    assert sides_of(rl.IPPO().teams(two)) == [(0, [0]), (0, [1])]


# ---- Elo ----


def test_elo_goes_by_who_gets_more_in_a_game_of_one_group() -> None:
    elo = Elo(rl.Past(), ["agents"], 1, 1, alike=True)
    elo.note(Game("agents", 1.0, -1.0, (("agents", 0),)))
    rated = elo.rated["agents"]
    assert rated["learner"] == BEGIN + STEP / 2
    assert rated["past"][0] == BEGIN - STEP / 2
    elo.note(Game("agents", 0.0, 0.0, (("agents", 0),)))
    assert rated["past"][0] > BEGIN - STEP / 2  # it is a draw with a stronger one
    assert rated["learner"] + rated["past"][0] == pytest.approx(2 * BEGIN)


def test_elo_of_unlike_groups_goes_by_what_is_usual() -> None:
    elo = Elo(rl.Past(), ["a", "b"], 1, 1, alike=False)
    for mine in (-20.0, -20.0, -10.0):
        elo.note(Game("a", mine, 50.0, (("b", 0),)))
    assert elo.rated["a"]["learner"] > BEGIN > elo.rated["b"]["past"][0]
    assert elo.rated["b"]["learner"] == BEGIN


def test_results_against_policies_that_are_gone_rate_no_one() -> None:
    elo = Elo(rl.Past(size=1), ["agents"], 1, 1, alike=True)
    elo.note(Game("agents", 1.0, -1.0, (("agents", 700),)))
    assert elo.rated == {"agents": {"learner": BEGIN, "past": {0: BEGIN}}}


# ---- runs ----


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
@pytest.mark.parametrize("choose", ["elo", "uniform"])
def test_it_is_the_same_on_any_number_of_workers(mode: Any, choose: Any) -> None:
    past = rl.Past(every=2, choose=choose, size=2)
    runs = [
        rl.train(
            kinds(), mixed, total_steps=256, seed=3, mode=mode, actors=4, workers=n, backend="thread", opponents=past
        )
        for n in (1, 2, 4)
    ]
    assert len({run.digest for run in runs}) == 1
    assert len({run.result.digest for run in runs}) == 1
    for one, other in zip(runs[0].past, runs[2].past, strict=True):
        assert one.rounds == other.rounds
        assert one.elo == other.elo
        np.testing.assert_array_equal(one.weights, other.weights)


def test_it_is_the_same_in_processes() -> None:
    given: Any = {"total_steps": 192, "seed": 3, "mode": "pipelined", "opponents": rl.Past(every=2, choose="elo")}
    alone = rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, **given)
    apart = rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, **given, workers=2, backend="process")
    assert alone.digest == apart.digest
    assert [each.elo for each in alone.past] == [each.elo for each in apart.past]


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
@pytest.mark.parametrize(
    ("algorithm", "env"),
    [
        (rl.IPPO(**SMALL), TIC_TAC_TOE),
        (rl.IPPO(**SMALL, **TAG), "mpe2:simple_tag_v3"),
        (rl.IDQN(num_envs=4, horizon=8, hidden=(8,), batch_size=8, learning_starts=32), TIC_TAC_TOE),
    ],
    ids=["self-play", "groups", "replay"],
)
@pytest.mark.usefixtures("bare_runs")
def test_the_pool_survives_where_a_run_goes_on(tmp_path: Path, algorithm: Any, env: str, mode: Any) -> None:
    def trained(steps: int, **options: Any) -> Any:
        past = rl.Past(every=2, choose="elo", size=3)
        return rl.train(algorithm, env, total_steps=steps, seed=1, mode=mode, actors=2, opponents=past, **options)

    whole = trained(320)
    trained(192, out=tmp_path / "run")
    on = trained(320, resume=tmp_path / "run")
    assert not on.notes
    assert on.digest == whole.digest
    assert [each.rounds for each in on.past] == [each.rounds for each in whole.past]
    for mine, other in zip(on.past, whole.past, strict=True):
        assert mine.elo == other.elo
        np.testing.assert_array_equal(mine.weights, other.weights)
    of_folder = rl.load(tmp_path / "run").past
    assert [(each.rounds, each.elo) for each in of_folder] == [(each.rounds, each.elo) for each in on.past]


@pytest.mark.parametrize("kind", [rl.IPPO, rl.MAPPO, rl.IDQN, rl.VDN, rl.QMIX])
def test_a_group_may_be_played_by_past_policies_for_whole_rounds(kind: Any) -> None:
    given: dict[str, Any] = {"num_envs": 1, "horizon": 5, "batch_size": 4, "hidden": (8,)}
    if kind not in (rl.IPPO, rl.MAPPO):
        given |= {"learning_starts": 45}
    past = rl.Past(every=2, chance=1.0)
    done = rl.train(kind(**given, **TAG), "mpe2:simple_tag_v3", total_steps=150, actors=1, opponents=past)
    assert np.isfinite(done.weights).all()


def test_free_runs_have_opponents_too() -> None:
    past = rl.Past(every=2, choose="elo")
    done = rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, total_steps=320, mode="free", workers=2, opponents=past)
    assert done.steps == 320
    assert np.isfinite(done.weights).all()
    assert done.past[0].rounds == 0


def latest(rows: Iterable[dict[str, float]]) -> dict[str, float]:
    """The last of each figure."""
    found: dict[str, float] = {}
    for row in rows:
        found |= row
    return found


def test_the_journal_has_elo_and_returns_of_those_that_learn() -> None:
    given: Any = {"total_steps": 320, "seed": 1, "opponents": rl.Past(every=2, chance=1.0), "eval_every": 4}
    last = latest(rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, **given).journal)
    assert {"elo/learner", "elo/pool_mean", "elo/pool_min", "elo/pool_max", "elo/won"} <= {*last}
    assert last["elo/pool_size"] == 6
    assert "agents/player_1/episodic_return" in last

    tag = rl.train(rl.IPPO(**SMALL | {"horizon": 25}, **TAG), "mpe2:simple_tag_v3", **given | {"total_steps": 600})
    assert {"groups/good/elo/learner", "groups/adversary/elo/won"} <= {*tag.journal[-1]}
    assert tag.journal[-1]["groups/good/episodic_return"] <= 0 <= tag.journal[-1]["groups/adversary/episodic_return"]


@pytest.mark.usefixtures("bare_runs")
def test_the_return_of_all_agents_is_of_episodes_without_past_policies(tmp_path: Path) -> None:
    given: Any = {"total_steps": 640, "seed": 2}
    some = rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, opponents=rl.Past(every=2), **given).journal[-1]
    assert some["charts/episodic_return"] == 0  # what one wins the other loses
    assert some["agents/player_1/episodic_return"] + some["agents/player_2/episodic_return"] != 0

    never = rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, opponents=rl.Past(every=2, chance=1.0), out=tmp_path, **given)
    assert "charts/episodic_return" not in never.journal[-1]
    assert never.journal[-1]["charts/episodic_length"] >= 5
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["return"] is None
    assert {*result["returns"]} == {"player_1", "player_2"}
    with pytest.raises(ParameterError, match="past policies play in every episode; name a group or an agent with"):
        rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, opponents=rl.Past(chance=1.0), stop_at=1.0, **given)


@pytest.mark.usefixtures("bare_runs")
def test_an_evaluation_has_the_usual_figures_and_those_against_random_agents(tmp_path: Path) -> None:
    given: Any = {"total_steps": 256, "seed": 1, "eval_every": 4, "eval_episodes": 5}
    tag = rl.IPPO(**SMALL | {"horizon": 25}, **TAG)
    alone = latest(rl.train(tag, "mpe2:simple_tag_v3", **given).journal)
    row = latest(rl.train(tag, "mpe2:simple_tag_v3", opponents=rl.Past(), out=tmp_path, **given).journal)
    usual, found = ({name for name in each if name.startswith("eval/")} for each in (alone, row))
    assert found - usual == {
        "eval/random/return", "eval/random/groups/adversary/return", "eval/random/groups/good/return",
    }  # fmt: skip
    assert usual < found
    assert row["eval/mean_return"] == pytest.approx(
        row["eval/groups/adversary/mean_return"] + row["eval/groups/good/mean_return"]
    )
    assert row["eval/random/return"] == pytest.approx(
        (row["eval/random/groups/adversary/return"] + row["eval/random/groups/good/return"]) / 2
    )
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["evaluation"], result["against_random"]) == (row["eval/mean_return"], row["eval/random/return"])


# ---- scores ----


def test_a_table_of_groups_against_opponents_is_the_same_again() -> None:
    done = rl.train(rl.IPPO(**SMALL, **TAG), "mpe2:simple_tag_v3", total_steps=128, opponents=rl.Past(every=2))
    table = done.against(episodes=3, seed=4)
    assert [(each.group, each.opponent) for each in table] == [
        (group, opponent) for group in ("adversary", "good") for opponent in ("random", "round 0", "round 2")
    ]
    assert table == done.against(episodes=3, seed=4)
    assert str(table).splitlines()[0].split() == [
        "group", "opponent", "won", "drawn", "lost", "return/agent", "others/agent",
    ]  # fmt: skip


def test_wins_are_counted_where_all_have_the_same_task() -> None:
    """Returns of a chaser and of who flees say nothing about each other."""
    given: Any = {"total_steps": 128, "opponents": rl.Past(every=2), "eval_every": 2}
    for share in ("group", None):
        alike = rl.train(rl.IPPO(**SMALL, share=share), TIC_TAC_TOE, **given)
        assert all(each.won + each.drawn + each.lost == each.episodes == 3 for each in alike.against(episodes=3))  # type: ignore[operator]
        groups = ("agents",) if share else ("player_1", "player_2")
        assert all(0 <= latest(alike.journal)[f"eval/random/groups/{name}/won"] <= 1 for name in groups)
    apart = rl.train(rl.IPPO(**SMALL, **TAG), "mpe2:simple_tag_v3", **given)
    table = apart.against(episodes=3)
    assert all(each.won is each.drawn is each.lost is None for each in table)
    assert str(table).splitlines()[1].split()[2:5] == ["-", "-", "-"]
    assert not [key for row in apart.journal for key in row if key.startswith("eval/random") and key.endswith("won")]


def test_a_policy_can_be_held_against_others() -> None:
    one = rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, total_steps=32, seed=1)
    other = rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, total_steps=32, seed=2)
    assert [each.opponent for each in one.against({"rival": other, "any": "random"}, episodes=2)] == ["rival", "random"]
    assert one.past == ()
    assert len(one.against(episodes=2)) == 1
    with pytest.raises(ArgumentError, match=r"<trained: IPPO in .* has no past policies: .* opponents=.past.\)"):
        one.against("past")
    with pytest.raises(ArgumentError, match="'stockfish' is no opponent"):
        one.against("stockfish")


@pytest.mark.usefixtures("bare_runs")
def test_the_command_trains_against_past_policies_and_shows_the_table(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from reactors.command.cli import main

    folder = str(tmp_path / "run")
    command = ["train", "ippo", "--env", TIC_TAC_TOE, "--total-steps", "96", "--out", folder, "--no-preset"]
    for name, value in SMALL.items():
        command += ["--set", f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"]
    opponents = ["--opponents", "past:every=2,choose=elo"]
    for words in (
        [*command, *opponents],
        ["train", "--resume", folder, "--total-steps", "128"],
        ["train", "--resume", folder, "--total-steps", "160", *opponents],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["eval", folder, "--episodes", "2", "--against", "random", "--against", "past"])
    assert done.exit_code == 0, done.output
    assert [line.split("  ")[1].strip() for line in done.output.splitlines()] == [
        "opponent", "random", "round 0", "round 2", "round 4",
    ]  # fmt: skip


# ---- what is refused ----


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("future", "opponents is 'future'; write rl.Past"),
        ("past:evry=3", "rl.Past has no 'evry'; did you mean 'every'?"),
        ("past:every=soon", "every is 'soon'"),
        ("past:choose=best", 'choose of rl.Past is \'best\'; write "uniform", "latest" or "elo"'),
        ({"size": 0}, "size of rl.Past is 0; write a whole number, 1 or more"),
    ],
)
def test_opponents_that_are_none_are_refused(given: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        rl.train(rl.IPPO(**SMALL), TIC_TAC_TOE, opponents=given)


def test_a_single_agent_has_no_opponents() -> None:
    with pytest.raises(ArgumentError, match=r"opponents of rl\.train are for many agents, and PPO is for a single one"):
        rl.train(rl.PPO(), "CartPole-v1", opponents=rl.Past())
    with pytest.raises(ParameterError, match="'a_0' is alone, and plays against no one"):
        rl.train(rl.IPPO(**SMALL), lambda: Comers(1), opponents=rl.Past())


def test_a_group_that_learns_as_one_plays_not_against_itself() -> None:
    with pytest.raises(ParameterError, match="a group of VDN learns what it does together"):
        rl.train(rl.VDN(num_envs=4, horizon=8), TIC_TAC_TOE, opponents=rl.Past())
