"""Does a run find out how much to learn, within its bounds?"""

from __future__ import annotations

import gc
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from reactors import rl
from reactors.errors import ArgumentError
from reactors.rl.learning.adaptation import Adaptation
from reactors.rl.learning.hill_climb import Climb
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL: dict[str, Any] = {
    "num_envs": 4, "horizon": 4, "hidden": (8,), "batch_size": 16, "learning_starts": 32, "capacity": 600,
}  # fmt: skip


def climbed(rate: Callable[[int], float], start: int, rounds: int) -> list[int]:
    climb = Climb([1, 2, 4, 8, 16], start, unit="frames/s", rest=3)
    found = []
    for _ in range(rounds):
        found.append(climb.value)
        climb.tell(rate(climb.value))
    return found


@pytest.mark.parametrize("start", [1, 4, 16])
@pytest.mark.parametrize("top", [1, 2, 8, 16])
def test_a_climb_comes_to_the_top_and_is_there_most_of_the_time(top: int, start: int) -> None:
    values = climbed(lambda value: 100 / (1 + abs(value.bit_length() - top.bit_length())), start, 60)
    assert values[20:].count(top) >= 20
    assert {abs(a.bit_length() - b.bit_length()) for a, b in itertools.pairwise(values)} <= {0, 1}


def test_a_climb_follows_when_the_top_moves() -> None:
    climb = Climb([1, 2, 4, 8], 8, unit="steps/s", rest=3)
    for top, rounds in ((8, 10), (1, 40)):
        for _ in range(rounds):
            climb.tell(100 / (1 + abs(climb.value.bit_length() - top.bit_length())))
    assert climb.home == 0


def test_one_value_is_never_left() -> None:
    climb = Climb([4], 4, unit="steps/s")
    assert [climb.tell(rate) for rate in (1.0, 2.0, 0.5)] == [None, None, None]


def test_random_play_and_the_first_updates_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the others the median is."""
    now = 0.0
    monkeypatch.setattr("reactors.rl.learning.adaptation.time.perf_counter", lambda: now)
    made = adaptation(batch_size=(16, 32), samplers=(2, 2))
    made.begin()
    for updates, seconds in [(0, 0.0)] * 25 + [(1, 0.05)] * 5 + [(10, 0.01)] * 4 + [(1, 0.1)]:
        for _ in range(updates):
            made.made(now - seconds)
        now += 0.1
        made.add_round(16)
    assert [each["reason"] for each in made.decisions] == ["1,600 frames/s; is more better?"]


def adaptation(**bounds: Any) -> Adaptation:
    return Adaptation.of(rl.SAC(**SMALL, updates_per_step=1.0), rl.Bounds(**bounds), actors=2)


@pytest.mark.parametrize("name", ["DQN", "SAC"])
def test_a_run_says_what_it_decided(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.rl.learning.adaptation.SECONDS", 0.01)
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    env = "CartPole-v1" if name == "DQN" else "Pendulum-v1"
    more = {"prioritized": True} if name == "DQN" else {}
    done = rl.train(
        getattr(rl, name)(**SMALL, **more), env, total_steps=1600, mode="free", workers=2, backend="thread",
        adapt=rl.Bounds(batch_size=(8, 64)), out=tmp_path / "run",
    )  # fmt: skip
    assert done.decisions
    written = (tmp_path / "run" / "decisions.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in written] == done.decisions
    assert all(each["from"] != each["to"] and each["reason"] for each in done.decisions)
    rows = [row for row in done.journal if "adapt/batch_size" in row]
    assert {row["adapt/batch_size"] for row in rows} <= {8, 16, 32, 64}
    assert done.steps == done.journal[-1]["global_step"] <= 1600
    assert {"rate/sampling_hz", "rate/update_hz", "rate/update_frame_hz", "charts/buffer_fill"} <= set(rows[-1])
    del done  # and with it the memory that all workers shared
    gc.collect()


def test_actors_pause_when_fewer_samplers_are_wanted() -> None:
    done = rl.train(
        rl.DQN(**SMALL), "CartPole-v1", total_steps=1600, mode="free", workers=2, backend="thread", actors=2,
        adapt=rl.Bounds(samplers=(1, 1)),
    )  # fmt: skip
    assert 800 <= done.steps < 1600
    del done
    gc.collect()


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        (rl.DQN(**SMALL), {"mode": "sync"}, "takes mode='free', and mode is 'sync'"),
        (rl.DQN(**SMALL), {"workers": 1}, "write workers=2"),
        (rl.DQN(**SMALL), {"learners": 2}, "takes learners=1, and learners is 2"),
        (rl.DQN(**SMALL), {"adapt": 3}, "adapt of rl.train is 3; write True, or rl.Bounds"),
        (rl.PPO(num_envs=4), {}, "is for algorithms with replay, and PPO has none"),
        (rl.DQN(**SMALL), {"adapt": rl.Bounds(batch_size=(8, 4096))}, "let capacity be larger"),
        (rl.DQN(**SMALL), {"adapt": rl.Bounds(samplers=(1, 3))}, "let actors be more"),
    ],
)
def test_what_cannot_adapt_is_refused(algorithm: Any, options: Any, message: str) -> None:
    options = {"mode": "free", "workers": 2, "adapt": True, **options}
    with pytest.raises(ArgumentError, match=message.replace("(", r"\(")):
        rl.train(algorithm, "CartPole-v1", total_steps=256, **options)


def test_bounds_are_the_least_and_the_most() -> None:
    with pytest.raises(ArgumentError, match=r"batch_size of rl.Bounds is \(64, 8\)"):
        rl.Bounds(batch_size=(64, 8))
