"""A trace of a program on several machines has what ran on all of them, on one timeline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import reactors as rx
from reactors.tracing import chrome, perfetto
from reactors.tracing.model import Model
from tests.machines.test_runs import Line, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TWO = {"main.adds": 1, "main.sink": 1}


def test_a_trace_has_what_ran_on_all_machines(tmp_path: Path) -> None:
    found = run(Line(), trace=tmp_path / "run.rxt", placement=TWO)
    assert found.trace is not None
    trace = rx.Trace(found.trace)
    assert [len(spans.reactions) for spans in trace.by_worker()] == [201, 402]
    assert trace.machine_of == [0, 1]
    assert trace.end is not None
    assert len(trace.end["clocks"]) == 2
    assert trace.end["tags"] == [each.tags for each in found.workers]
    assert Model(trace).critical_path().seconds > 0


def test_machines_are_processes_of_a_timeline(tmp_path: Path) -> None:
    run(Line(), trace=tmp_path / "run.rxt", placement=TWO)
    trace = rx.Trace(tmp_path / "run.rxt")
    perfetto.write(trace, tmp_path / "run.pftrace")
    assert b"Line on machine 1" in (tmp_path / "run.pftrace").read_bytes()
    chrome.write(trace, tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    names = {(e["pid"], e["args"]["name"]) for e in events if e["name"] == "process_name"}
    assert names == {(0, "machine 0"), (1, "machine 1")}
    assert {e["pid"] for e in events if e["name"] == "main.adds.take"} == {1}
    assert {e["pid"] for e in events if e["name"] == "main.source.go"} == {0}


PROGRAM = """
import sys

import numpy as np

import reactors as rx
from reactors.tracing.executions import Executions
from tests.machines.test_runs import Line

machines = rx.Machines(count=2, listen=sys.argv[1], token_file="token")
placement = {"main.adds": 1, "main.sink": 1}
found = rx.run(Line(), fast=True, timeout="200 ms", workers=2, machines=machines, placement=placement, trace="run.rxt")
trace = rx.Trace(found.trace)
executions = Executions(trace)
edges = executions.messages
crossing = executions.worker[edges.source] != executions.worker[edges.target]
written, read = executions.rows[edges.source]["start"], executions.rows[edges.target]["end"]
print(crossing.sum() == 201, (written < read + found.machines[1].error * 1e9).all())
print(read.max() < 100e9)
"""


def test_what_is_read_was_written_before_whatever_clocks_say(in_other_time: Callable[[str], str]) -> None:
    assert in_other_time(PROGRAM).split("\n")[:-1] == ["True True", "True"]


def test_training_on_several_machines_is_traced(tmp_path: Path) -> None:
    from reactors import rl

    rl.train(
        rl.PPO(num_envs=4, horizon=16, epochs=1, hidden=(16,)), "CartPole-v1", total_steps=640, workers=2,
        mode="pipelined", machines=rx.Machines(count=2), trace=tmp_path / "run.rxt",
    )  # fmt: skip
    assert all(len(spans.reactions) for spans in rx.Trace(tmp_path / "run.rxt").by_worker())
