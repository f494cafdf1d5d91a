"""How far apart are two values, in units in the last place?"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import reactors as rx
from reactors import rl
from reactors.command.cli import main
from reactors.rewinding.distance import distance

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Step:
    action: int
    value: Any


def records(**changed: Any) -> Any:
    """As actors send them to learners: `changed` says which number of a field of the last record is another one."""
    fields: Any = [("terminated", "?"), ("obs", "f4", (2,)), ("chosen", [("action", "i8")]), ("info", "U4")]
    found = np.ones((2, 1), np.dtype(fields, align=True))
    for name, value in changed.items():
        part = found["chosen"] if name == "action" else found
        part[name][-1, ..., -1] = value
    return found


NEXT = float(np.nextafter(np.float32(0.1), np.float32(1.0)))


@pytest.mark.parametrize(
    ("one", "other", "ulp", "where"),
    [
        (1.0, float(np.nextafter(1.0, 2.0)), 1, ""),
        (np.float32(0.1), np.float32(NEXT), 1, ""),
        (np.float64(-5e-324), np.float64(5e-324), 2, ""),  # over zero
        (np.array([[1, 2], [3, -4]]), np.array([[1, 2], [3, 6]]), 10, "at [1, 1]"),
        (torch.tensor([0.1, 2.0]), torch.tensor([NEXT, 2.0]), 1, "at [0]"),
        ({"a": [1.0, (2.0, 3.0)]}, {"a": [1.0, (2.0, 4.0)]}, 1 << 51, "at ['a'][1][1]"),
        (Step(1, np.ones(2)), Step(3, np.ones(2)), 2, "at .action"),
        (rx.Tag(5, 1), rx.Tag(5, 2), 1, "at .microstep"),
        (np.array([7], np.uint8), np.array([250], np.uint8), 243, "at [0]"),
        (records(obs=np.float32(0.1)), records(obs=NEXT), 1, "at ['obs'][1, 0, 1]"),
        (records(), records(action=4), 3, "at ['chosen']['action'][1, 0]"),
        ([records()[1, 0]], [records(terminated=False)[1, 0]], 1, "at [0]['terminated']"),
    ],
)
def test_numbers_are_counted_from_one_to_the_other(one: Any, other: Any, ulp: int, where: str) -> None:
    found = distance(one, other)
    assert found is not None
    assert (found.ulp, found.where) == (ulp, where)
    assert distance(other, one) == found._replace(one=found.other, other=found.one)


def test_only_numbers_in_the_same_places_have_a_distance() -> None:
    assert distance("a", "b") is None
    assert distance(records(), records(info="b")) is None
    assert distance(records(action=3), records()["chosen"]) is None
    assert distance(np.ones(2), np.ones(3)) is None
    assert distance(np.ones(2), np.ones(2, np.float32)) is None
    assert distance(0.0, -0.0) is None
    assert distance(rx.Measured(1.0), rx.Measured(2.0)) is None  # what a clock says


def said(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    return result.exit_code, result.output


@pytest.mark.usefixtures("fonts")
def test_two_trainings_say_how_far_apart_their_weights_are(tmp_path: Path) -> None:
    for name, rate in (("one", 1e-3), ("two", 1e-3 * (1 + 1e-7))):
        rl.train(
            rl.PPO(num_envs=2, horizon=16, batch_size=16, epochs=1, hidden=(8,), learning_rate=rate), "CartPole-v1",
            total_steps=128, seed=3, out=tmp_path / name, journal_values=True,
        )  # fmt: skip
    status, text = said("diff", str(tmp_path / "one"), str(tmp_path / "two"), "--values")
    assert status == 1
    assert "likely: own state - its parameter main.learners[0].algorithm.learning_rate: 0.001 | 0.0010000001" in text
    found = re.search(r"weights: ([\d,]+) of [\d,]+ numbers differ, by ([\d,]+) ulp at most", text)
    assert found is not None
    assert 0 < int(found[2].replace(",", "")) < 10_000
    status, text = said("compare", str(tmp_path / "one"), str(tmp_path / "two"), "-o", str(tmp_path / "both.html"))
    assert "one and two part after " in text
    shutil.copytree(tmp_path / "one", tmp_path / "three")
    _, text = said("compare", str(tmp_path / "one"), str(tmp_path / "three"), "-o", str(tmp_path / "both.html"))
    assert "one and three do the same: " in text


def test_values_are_of_folders(tmp_path: Path) -> None:
    for name in ("a.rxj", "b.rxj"):
        (tmp_path / name).touch()
    status, text = said("diff", str(tmp_path / "a.rxj"), str(tmp_path / "b.rxj"), "--values")
    assert status == 2
    assert "--values is for two folders of training" in text
