"""How many workers are "auto"?"""

import os

import pytest

import reactors as rx
from reactors.command.cli import main
from reactors.drawing.draw import dot
from reactors.elaboration.workers import counted
from reactors.rl.vector.arguments import number_of_workers
from tests.messages import Source


@pytest.mark.parametrize(("cores", "workers"), [({0}, 1), ({0, 5}, 2), (set(range(200)), 64)])
def test_auto_is_every_core_that_the_affinity_allows(
    monkeypatch: pytest.MonkeyPatch, cores: set[int], workers: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)
    assert counted("auto", "rx.run") == workers


def test_auto_wherever_workers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert rx.run(Source(), workers="auto", fast=True).backend == "inline"
    assert number_of_workers("auto", 4, None, oversubscribe=False) == 1
    assert "worker 0" in dot(rx.Graph(Source()), workers="auto")
    options = {option.name: option for command in ("run", "graph", "train") for option in main.commands[command].params}
    assert options["workers"].type.convert("auto", None, None) == "auto"


def test_parameters_of_a_reactor_called_n_and_cls() -> None:
    class Named(rx.Reactor):
        def __init__(self, n: int, cls: str) -> None:
            self.named = n, cls

    assert [each.named for each in rx.bank(2, Named, n=3, cls="x")] == [(3, "x")] * 2
