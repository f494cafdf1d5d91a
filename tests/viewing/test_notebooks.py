"""In a notebook, a run shows itself in an output that changes, and its result as a table."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.viewing import live
from tests.viewing.programs import Farm

if TYPE_CHECKING:
    import pytest


class Output:
    """What IPython gives for an output that may change."""

    def __init__(self, shown: Any) -> None:
        self.texts = [shown._repr_html_()]

    def update(self, shown: Any) -> None:
        """It shows something else now."""
        self.texts.append(shown._repr_html_())


def in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> list[Output]:
    """As far as a run can see; the outputs that it makes."""
    outputs: list[Output] = []

    def display(shown: Any, *, display_id: bool) -> Output:
        assert display_id
        outputs.append(Output(shown))
        return outputs[-1]

    ipython, displaying = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    displaying.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displaying)
    return outputs


def test_a_live_run_changes_its_output_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY_S", 0.02)
    outputs = in_a_notebook(monkeypatch)
    result = rx.run(Farm(), timeout="200 ms", live=True)
    (output,) = outputs
    assert output.texts[0] == "<p>begins</p>"
    assert len(output.texts) > 3
    assert f"{result.reactions:,} reactions" in output.texts[-1]
    assert "main.works.work" in output.texts[-1]


def test_without_a_kernel_it_is_a_terminal_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = ModuleType("IPython")
    ipython.get_ipython = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert rx.run(Farm(), fast=True, timeout="4 ms", live=True).reactions == 12
