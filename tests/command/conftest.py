"""What tests of commands on runs share: a run, and a folder of their own to work in."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import pytest

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the commands add the folder
    yield
    gc.collect()  # of a program, its replay buffer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "trained"
    rl.train(
        rl.PPO(num_envs=4, horizon=16, epochs=1, hidden=(8,)), "CartPole-v1", total_steps=320, out=out, eval_every=2
    )
    return out
