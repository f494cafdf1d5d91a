"""What agents remember: by own steps, over rounds and checkpoints, the same on any workers; games that ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
import torch

from reactors import rl
from reactors.errors import ReactionError
from reactors.rl.algorithms.agents.ippo import RecurrentIPPOLearning
from reactors.rl.dataflow.agents.experience import team_memory
from reactors.rl.replay.own_sequences import OwnSequences, first_memories
from reactors.rl.replay.own_steps import OwnSteps
from tests.rl.agents.comers import Comers
from tests.rl.agents.going_on import assert_it_goes_on
from tests.rl.agents.test_losses import played, tictactoe
from tests.rl.agents.test_own_steps import invented

if TYPE_CHECKING:
    from pathlib import Path

WIDTH = 5
SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 8, "hidden": (8,), "recurrent": WIDTH}
BY_ROUNDS: dict[str, Any] = SMALL | {"epochs": 2, "batch_size": 16, "sequence": 4}
BY_REPLAY: dict[str, Any] = SMALL | {
    "batch_size": 4, "sequence": 4, "burn_in": 2, "learning_starts": 96, "capacity": 400, "target_every": 3,
    "updates_per_step": 0.05,
}  # fmt: skip
CASES: dict[str, Any] = {
    "IPPO": rl.IPPO(**BY_ROUNDS, normalise_observations=True),
    "MAPPO": rl.MAPPO(**BY_ROUNDS),
    "IDQN": rl.IDQN(**BY_REPLAY, n_step=2, normalise_observations=True),
    "VDN": rl.VDN(**BY_REPLAY, prioritized=True),
    "QMIX": rl.QMIX(**BY_REPLAY, mixing=4, dueling=True),
}
BATCHES: list[dict[str, torch.Tensor]] = []


def comers() -> Any:
    return Comers(4, masked=True)


class Unmoved(RecurrentIPPOLearning):
    """Keeps the batches, and learns nothing."""

    def learn(self, batch: Any) -> Any:
        BATCHES.append({name: each.clone() for name, each in batch.items()})
        yield from ()
        return {}


@dataclass(frozen=True, kw_only=True)
class Watched(rl.IPPO):
    name: ClassVar[str] = "watched"

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any:
        return Unmoved(self, observation_space, action_space, seed, device)


def test_memories_go_on_over_rounds_wait_with_their_agents_and_begin_with_zeros() -> None:
    BATCHES.clear()
    algorithm = Watched(**BY_ROUNDS)
    done = rl.train(algorithm, comers, total_steps=32 * 8, seed=2, actors=2)
    (team,) = algorithm.teams(done.spaces[0])
    learning: Any = algorithm.learning(team, gym.spaces.Discrete(3), 2)
    assert (learning.weights() == done.weights).all()
    batch = {name: torch.cat([each[name] for each in BATCHES]) for name in BATCHES[0]}
    waited, ended = 0, 0
    for e, i in np.ndindex(4, 4):
        memory, last = torch.zeros(1, WIDTH), -1
        for t in range(len(batch["acted"])):
            if batch["acted"][t, e, i]:
                torch.testing.assert_close(batch["memory"][t, e, i], memory[0], atol=1e-5, rtol=1e-4)
                waited, last = waited + (t - last > 1 and bool(memory.any())), t
                seen = learning.net.sight.of(batch["obs"][t, e, i][None].numpy(), np.array([i]))
                with torch.no_grad():
                    inner = learning.net.recurrent
                    memory = inner.gru(inner.before(torch.from_numpy(seen)), memory)
            if batch["terminations"][t, e, i] or batch["truncations"][t, e, i]:
                memory, ended = torch.zeros(1, WIDTH), ended + 1
    assert waited > 20
    assert ended > 20


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["sync", "pipelined"])
def test_it_is_the_same_on_any_number_of_workers(name: str, mode: Any) -> None:
    ways: list[tuple[int, Any]] = [(1, "inline"), (2, "thread"), (4, "thread"), (2, "process")]
    runs = [
        rl.train(
            CASES[name], "mpe2:simple_spread_v3", total_steps=192, seed=3, mode=mode, actors=4, workers=workers,
            backend=backend,
        )
        for workers, backend in (ways if mode == "pipelined" else ways[:2])
    ]  # fmt: skip
    assert len({run.digest for run in runs}) == 1
    assert len({run.result.digest for run in runs}) == 1
    assert any(key.startswith("losses/") for row in runs[0].journal for key in row)
    np.testing.assert_array_equal(runs[0].weights, runs[-1].weights)


@pytest.mark.parametrize("env", ["mpe2:simple_spread_v3", "classic/tictactoe_v3"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("bare_runs")
def test_a_run_that_goes_on_is_the_one_that_never_stopped(tmp_path: Path, name: str, env: str) -> None:
    assert_it_goes_on(CASES[name], env, tmp_path / "run")


@pytest.mark.usefixtures("bare_runs")
def test_nothing_is_remembered_of_environments_that_begin_again(tmp_path: Path) -> None:
    BATCHES.clear()
    given: Any = {"seed": 1, "actors": 1}
    rl.train(Watched(**BY_ROUNDS), comers, total_steps=32, **given, out=tmp_path / "run")
    on = rl.train(Watched(**BY_ROUNDS), comers, total_steps=64, **given, resume=tmp_path / "run")
    assert on.notes
    first = BATCHES[1]["memory"][0][BATCHES[1]["acted"][0]]
    assert len(first)
    assert not first.any()


@pytest.mark.parametrize("apart", [True, False])
def test_sequences_are_those_of_each_stream_by_itself(apart: bool) -> None:
    rng = np.random.default_rng(1)
    plain = invented(rng, 60, 2)
    rows = np.zeros(plain.shape, [*((name, plain.dtype[name]) for name in plain.dtype.names), ("memory", "f4", (3, 2))])
    for name in plain.dtype.names:
        rows[name] = plain[name]
    rows["memory"] = rng.normal(size=rows["memory"].shape)
    length, period = 5, 3
    steps, streams = OwnSteps(rows.dtype, 2, apart=apart).add(rows)
    cut, found = OwnSequences(OwnSteps(rows.dtype, 2, apart=apart), length, period), []
    for some in np.split(rows, [7, 8, 31]):  # rounds, and a checkpoint after each
        found.append(cut.add(some)[0])
        state = cut.state_dict()
        cut = OwnSequences(OwnSteps(rows.dtype, 2, apart=apart), length, period)
        cut.load_state_dict(state)
    wanted = []
    for stream in range(6 if apart else 2):
        mine = steps[streams == stream]
        wanted += [mine[at : at + length] for at in range(0, len(mine) - length + 1, period)]
    whole = np.concatenate(found)
    assert len(whole) == len(wanted) > 10
    by_reward = {each["reward"].tobytes(): each for each in whole}
    for sequence in wanted:
        mine = by_reward[sequence["reward"].tobytes()]
        for name in ("obs", "action", "next_obs", "terminated"):
            np.testing.assert_array_equal(mine[name], sequence[name])
        if apart:
            np.testing.assert_array_equal(mine["memory"], sequence["memory"][0])
        for i in [] if apart else range(3):
            asked = np.flatnonzero(sequence["acted"][:, i] | sequence["next_acted"][:, i])
            if len(asked):
                np.testing.assert_array_equal(mine["memory"][i], sequence["memory"][asked[0], i])


@pytest.mark.parametrize("make", [tictactoe, comers], ids=["tictactoe", "comers"])
def test_who_waits_through_a_sequence_goes_on_with_what_it_remembers(make: Any) -> None:
    algorithm = rl.VDN(
        num_envs=1, horizon=40, recurrent=WIDTH, hidden=(4,), sequence=1, burn_in=0, batch_size=1, capacity=100
    )
    _, _, rows = played(algorithm, make, 3)
    _, cut = team_memory(algorithm, rows.dtype)
    kept, row = cut.add(rows)[0], rows[:, 0]  # of each step one, since someone acts in each
    over = (row["terminated"] | row["truncated"])[:-1, None]
    waits = row["next_acted"][:-1] & ~row["acted"][:-1] & ~over
    remembered = row["memory"][1:][waits]  # with which they act
    assert remembered.any(1).sum() > 5
    np.testing.assert_array_equal(kept["memory"][: len(waits)][waits], remembered)
    ended = (row["terminations"] | row["truncations"])[:-1]
    assert ended.any()
    assert not row["memory"][1:][ended].any()


def test_who_is_broken_off_while_waiting_is_judged_by_what_it_remembered_and_not_by_the_next_episode() -> None:
    rows = np.zeros((1, 2), [("acted", "?", (1,)), ("next_acted", "?", (1,)), ("memory", "f4", (1, 2))])
    rows["next_acted"], rows["acted"][0, 1], rows["memory"][0, 0] = True, True, 3
    np.testing.assert_array_equal(first_memories(rows), [[[3, 3]]])


def test_a_trained_policy_remembers_until_it_is_reset() -> None:
    done = rl.train(CASES["VDN"], "mpe2:simple_spread_v3", total_steps=160, seed=1)
    policy: Any = done
    seen = {f"agent_{i}": np.full(18, i / 3, np.float32) for i in range(3)}

    def states() -> Any:
        return policy._playing.memories[0].copy()

    policy(seen)
    once = states()
    assert once.any(2).all()
    policy({"agent_1": seen["agent_1"]})  # the others wait
    np.testing.assert_array_equal(states()[0, [0, 2]], once[0, [0, 2]])
    assert (states()[0, 1] != once[0, 1]).any()
    policy.reset()
    assert not states().any()
    policy(seen)
    np.testing.assert_array_equal(states(), once)


class Recall(pettingzoo.ParallelEnv[Any, Any, Any]):
    """Each of two agents is shown a number, and asked for it two steps later; the second one waits in between."""

    metadata: dict[str, Any] = {"name": "recall"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["first", "second"]  # noqa: RUF012 - as PettingZoo has it

    def __init__(self) -> None:
        self.agents: list[str] = []
        self.random = np.random.default_rng(0)

    def observation_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Box(-1, 1, (2,), np.float32)

    def action_space(self, agent: str) -> gym.Space[Any]:
        del agent
        return gym.spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        del options
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.agents, self.at = list(self.possible_agents), 0
        self.shown = {agent: int(self.random.integers(2)) for agent in self.agents}
        return {agent: self.seen(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def seen(self, agent: str) -> Any:
        return np.array([2 * self.shown[agent] - 1 if self.at == 0 else 0, self.at == 2], np.float32)

    def step(self, actions: Any) -> Any:
        acted, self.at = self.agents, self.at + 1
        over = self.at == 3
        rewards = {agent: float(over and actions[agent] == self.shown[agent]) for agent in acted}
        self.agents = [] if over else [agent for agent in self.possible_agents if agent == "first" or self.at == 2]
        told = {agent: self.seen(agent) for agent in {*acted, *self.agents}}
        no = dict.fromkeys(told, False)
        return told, rewards, dict.fromkeys(acted, over), no, {agent: {} for agent in told}


LEARNS: dict[str, Any] = {
    "IPPO": rl.IPPO(
        num_envs=8, horizon=30, epochs=8, hidden=(16,), recurrent=16, batch_size=120, sequence=6, learning_rate=5e-3
    ),
    "QMIX": rl.QMIX(
        num_envs=8, horizon=6, hidden=(16,), recurrent=16, batch_size=32, sequence=6, burn_in=1, learning_starts=200,
        updates_per_step=0.06, target_every=20, learning_rate=5e-3, exploration_fraction=0.5, mixing=8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNS)
def test_a_game_that_asks_for_a_memory_is_learned(name: str) -> None:
    done = rl.train(LEARNS[name], Recall, total_steps=6_000, seed=1)
    assert done.evaluate(20) == 2


def test_a_group_that_has_not_made_a_whole_sequence_when_it_is_to_learn_is_refused() -> None:
    algorithm = rl.IDQN(**SMALL, learning_starts=0, sequence=20, burn_in=2)
    with pytest.raises(ReactionError, match=r"have not acted 22 times, as a sequence with its burn-in is long; let"):
        rl.train(algorithm, "classic/tictactoe_v3", total_steps=400)


@pytest.mark.usefixtures("bare_runs")
@pytest.mark.parametrize("name", ["IPPO", "IDQN"])
def test_past_policies_remember_as_well(tmp_path: Path, name: str) -> None:
    given: Any = {"seed": 2, "actors": 2, "opponents": rl.Past(every=2, size=3, chance=0.8)}
    runs = [
        rl.train(CASES[name], "classic/tictactoe_v3", total_steps=320, **given, workers=workers) for workers in (1, 2)
    ]
    assert runs[0].digest == runs[1].digest
    rl.train(CASES[name], "classic/tictactoe_v3", total_steps=160, **given, out=tmp_path / "run", checkpoint_every=1)
    on = rl.train(CASES[name], "classic/tictactoe_v3", total_steps=320, **given, resume=tmp_path / "run")
    assert on.digest == runs[0].digest
    assert on.against(episodes=4) == on.against(episodes=4)
