"""IDQN, VDN, QMIX: the same on any number of workers, and from a checkpoint; the game of QMIX's paper is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils.wrappers import BaseWrapper

from reactors import rl
from reactors.errors import ParameterError, ReactionError
from tests.rl.agents.comers import Comers
from tests.rl.agents.going_on import assert_it_goes_on, assert_it_goes_on_anywhere
from tests.rl.agents.matrix_games import Climbing, Monotonic
from tests.rl.agents.two_step import TwoStep

if TYPE_CHECKING:
    from pathlib import Path

KINDS = [rl.IDQN, rl.VDN, rl.QMIX]
SMALL: dict[str, Any] = {
    "num_envs": 4, "horizon": 8, "hidden": (8,), "batch_size": 16, "learning_starts": 32, "capacity": 500,
    "target_every": 3,
}  # fmt: skip
LATER: dict[str, Any] = {**SMALL, "learning_starts": 96}
SPREAD = "mpe2:simple_spread_v3"


def mixed() -> Any:
    return Comers(4, kinds=2, masked=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["sync", "pipelined"])
def test_it_is_the_same_on_any_number_of_workers(kind: Any, mode: Any) -> None:
    algorithm = kind(**SMALL, groups={"a": ("a_*",), "b": ("b_*",)}, prioritized=mode == "sync")
    runs = [
        rl.train(algorithm, mixed, total_steps=192, seed=3, mode=mode, actors=4, workers=workers, backend="thread")
        for workers in (1, 2, 4)
    ]
    assert len({run.digest for run in runs}) == 1
    assert len({run.result.digest for run in runs}) == 1
    assert any("groups/b/losses/td_loss" in row for row in runs[0].journal)
    np.testing.assert_array_equal(runs[0].weights, runs[2].weights)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_same_in_processes(kind: Any) -> None:
    ways: list[tuple[int, Any]] = [(1, "thread"), (2, "process")]
    runs = [
        rl.train(
            kind(**SMALL), SPREAD, total_steps=128, seed=3, mode="pipelined", actors=2, workers=workers, backend=backend
        )
        for workers, backend in ways
    ]
    assert runs[0].digest == runs[1].digest
    assert runs[0].result.digest == runs[1].result.digest


@pytest.mark.parametrize("env", [SPREAD, "classic/tictactoe_v3"])
@pytest.mark.parametrize(
    "algorithm",
    [
        rl.IDQN(**SMALL, share=None, n_step=3),
        rl.VDN(**SMALL, prioritized=True),
        rl.QMIX(**SMALL, mixing=4, standardise_rewards=True),
    ],
)
@pytest.mark.usefixtures("bare_runs")
def test_a_run_that_goes_on_is_the_one_that_never_stopped(tmp_path: Path, algorithm: Any, env: str) -> None:
    assert_it_goes_on(algorithm, env, tmp_path / "run")


@pytest.mark.parametrize(
    ("algorithm", "env"),
    [
        (rl.IPPO(num_envs=4, horizon=8, epochs=2, hidden=(8,), batch_size=16), SPREAD),
        (rl.IDQN(**LATER, recurrent=6, sequence=4, burn_in=1), "classic/tictactoe_v3"),
        (rl.QMIX(**SMALL, mixing=4, prioritized=True), SPREAD),
    ],
    ids=["IPPO", "IDQN", "QMIX"],
)
@pytest.mark.usefixtures("bare_runs")
def test_it_goes_on_with_any_number_of_workers(tmp_path: Path, algorithm: Any, env: Any) -> None:
    assert_it_goes_on_anywhere(algorithm, env, tmp_path / "run")


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_allowed_is_done(kind: Any) -> None:
    class Watching(Comers):
        def told(self) -> Any:
            observations, infos = super().told()
            self.masks = {agent: info["action_mask"] for agent, info in infos.items()}
            return observations, infos

        def step(self, actions: Any) -> Any:
            assert all(self.masks[agent][action] for agent, action in actions.items())
            return super().step(actions)

    done = rl.train(
        kind(**SMALL, dueling=True), lambda: Watching(3, masked=True), total_steps=256, seed=2, eval_every=4
    )
    assert np.isfinite(done.weights).all()
    assert done.evaluate(3) > 0


class SixMoves(BaseWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """Breaks a game off after six moves, when the one that waits has a mask that allows nothing."""

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed=seed, options=options)
        self.moves = 0

    def step(self, action: Any) -> None:
        super().step(action)
        self.moves += action is not None
        if self.moves >= 6 and not any(self.env.terminations.values()):
            self.env.truncations.update(dict.fromkeys(self.env.agents, True))


@pytest.mark.parametrize("kind", [rl.IDQN, rl.VDN, rl.QMIX])
def test_a_game_that_is_broken_off_is_worth_what_whoever_waits_could_do(kind: Any) -> None:
    settings: dict[str, Any] = {"num_envs": 2, "horizon": 16, "hidden": (8,), "learning_starts": 64}
    done = rl.train(
        kind(**settings, batch_size=16), lambda: SixMoves(pettingzoo.make("aec", "classic/connect_four_v3")),
        total_steps=480, seed=1,
    )  # fmt: skip
    losses = [row["losses/td_loss"] for row in done.journal if "losses/td_loss" in row]
    assert losses
    assert max(losses) < 10


@pytest.mark.parametrize(("kind", "worth"), [(rl.IDQN, 7), (rl.VDN, 7), (rl.QMIX, 8)])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_two_step_game_is_learned_as_in_the_paper(kind: Any, worth: float, seed: int) -> None:
    settings: dict[str, Any] = {
        "num_envs": 8, "horizon": 4, "batch_size": 32, "updates_per_step": 0.25, "target_every": 100, "hidden": (64,),
        "learning_starts": 64, "capacity": 1_000, "exploration_final": 1.0,
    }  # fmt: skip
    algorithm = kind(**settings, **({"mixing": 8} if kind is rl.QMIX else {}))
    done = rl.train(algorithm, TwoStep, total_steps=5_000, seed=seed)
    assert done.evaluate(1) == worth


@pytest.mark.parametrize(
    ("kind", "game", "worth", "fits"),
    [
        (rl.VDN, Monotonic, 12, False), (rl.QMIX, Monotonic, 12, True),
        (rl.VDN, Climbing, 0, False), (rl.QMIX, Climbing, 0, False),
    ],
)  # fmt: skip
def test_of_matrix_games_that_are_played_at_random_each_has_what_it_can_say(
    kind: Any, game: Any, worth: float, fits: bool
) -> None:
    settings: dict[str, Any] = {
        "num_envs": 16, "horizon": 8, "hidden": (16,), "batch_size": 64, "learning_starts": 128, "learning_rate": 0.02,
        "exploration_final": 1.0, "target_every": 10, "updates_per_step": 0.25,
    }  # fmt: skip
    algorithm = kind(**settings, **({"mixing": 8} if kind is rl.QMIX else {}))
    done = rl.train(algorithm, game, total_steps=1_280, seed=1)
    assert done.evaluate(1) == worth
    assert (done.journal[-1]["losses/td_loss"] < 0.1) == fits


def test_a_group_of_which_none_has_acted_when_it_is_to_learn_is_refused() -> None:
    settings: dict[str, Any] = SMALL | {"num_envs": 1, "horizon": 1, "learning_starts": 0}
    with pytest.raises(ReactionError, match=r"groups\[player_\d\]\.experience: .*learning_starts of IDQN be greater"):
        rl.train(rl.IDQN(**settings, share=None), "classic/tictactoe_v3", total_steps=64)


def test_continuous_actions_are_refused() -> None:
    with pytest.raises(ParameterError, match="group 'agents': IDQN takes discrete actions"):
        rl.train(rl.IDQN(**SMALL), SPREAD, total_steps=64, env_kwargs={"continuous_actions": True})
