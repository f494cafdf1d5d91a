"""What several tests of training want."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def bare_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs draw no pictures, which are tested elsewhere; graphs are cycles, and replay memory goes with them."""
    monkeypatch.setattr("reactors.rl.runs.run_folder.RunFolder.draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    yield
    gc.collect()
