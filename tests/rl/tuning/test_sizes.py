"""Batch sizes and fan-outs are measured where they are asked for, and the fastest goes on."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from reactors import rl
from reactors.command.cli import main
from reactors.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

ALGORITHM = rl.DQN(
    num_envs=4, horizon=4, hidden=(8,), capacity=400, prioritized=True, learning_starts=64, updates_per_step=0.25
)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


def test_the_fastest_batch_size_and_fanout_go_on() -> None:
    tuned = rl.tune(ALGORITHM, "CartPole-v1", cores=1, seconds=0.02, batch_sizes=(8, 32), fanouts=(2, 16))
    chosen: Any = tuned.algorithm
    for rates, value in ((tuned.frames, chosen.batch_size), (tuned.draws, chosen.fanout)):
        assert rates[value] >= 0.95 * max(rates.values())
    assert (set(tuned.frames), set(tuned.draws)) == ({8, 32}, {2, 16})
    assert "| batch size |" in tuned.tables()
    assert "| fan-out |" in tuned.tables()


def test_nothing_of_that_is_measured_unasked() -> None:
    tuned = rl.tune(ALGORITHM, "CartPole-v1", cores=1, seconds=0.02)
    assert (tuned.frames, tuned.draws, tuned.algorithm) == ({}, {}, ALGORITHM)


def test_the_command_goes_on_with_what_was_chosen() -> None:
    line = "tune dqn --env CartPole-v1 --seconds 0.02 --cores 1 --batch-sizes 16 --fanouts 4 --json"
    more = [f"--set={x}" for x in ("prioritized=true", "learning_starts=64", "capacity=1000", "hidden=8")]
    found = CliRunner().invoke(main, [*line.split(), *more])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout.splitlines()[-1])
    assert (list(told["frames"]), list(told["draws"])) == (["16"], ["4"])
    assert "--set batch_size=16 --set fanout=4" in told["command"]
    refused = CliRunner().invoke(main, [*line.replace("--batch-sizes 16", "--batch-sizes 1x").split()])
    assert "'1x'; write a whole number, as in 100000 or 1e5" in refused.output


@pytest.mark.parametrize(
    ("algorithm", "sizes", "message"),
    [
        (rl.PPO(), {"batch_sizes": (64,)}, "batch_sizes of rl.tune are of algorithms with replay, and PPO has none"),
        (rl.PPO(), {"fanouts": (16,)}, "fanouts of rl.tune are of algorithms with replay"),
        (rl.DQN(), {"fanouts": (16,)}, "of the tree of priorities, and DQN has none; write prioritized=True"),
        (rl.DQN(), {"fanouts": (3,)}, "fanouts of rl.tune is .* write a tuple of powers of two from 2 to 64"),
        (rl.DQN(), {"batch_sizes": (0,)}, "batch_sizes of rl.tune is .* write a tuple, as in"),
    ],
)
def test_sizes_of_what_there_is_not_are_refused(algorithm: Any, sizes: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rl.tune(algorithm, "CartPole-v1", cores=1, **sizes)


def test_batches_that_the_memory_cannot_hold_are_refused_before_anything_is_measured() -> None:
    told: list[str] = []
    message = "batch_size of DQN is 512, but its memory keeps 400 transitions; let capacity be larger"
    for call in (
        lambda: rl.tune(ALGORITHM, "CartPole-v1", cores=1, seconds=0.02, batch_sizes=(8, 512), tell=told.append),
        lambda: rl.train(replace(ALGORITHM, batch_size=512), "CartPole-v1", total_steps=800),
    ):
        with pytest.raises(ArgumentError, match=message):
            call()
    assert told == []
