"""The plant as a graph, and a machine without `dot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import reactors as rx

if TYPE_CHECKING:
    from pathlib import Path

from tests.drawing.plant import Plant


@pytest.fixture
def plant() -> rx.Graph:
    return rx.Graph(Plant())


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
