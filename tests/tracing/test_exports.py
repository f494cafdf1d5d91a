"""What other programs are given of a trace says the same as the trace."""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import reactors as rx
from reactors.command.cli import main as command
from reactors.tracing import chrome, otlp, perfetto
from reactors.tracing.executions import STATE, Executions
from reactors.tracing.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Count(rx.Reactor):
    tick = rx.Timer(0, "1 us")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def count(self) -> None:
        self.trace("loss", self.tag.time / 1000)
        self.out.set(1)


class Sink(rx.Reactor):
    one = rx.Input(int)
    again = rx.LogicalAction()

    @rx.reaction(one, effects=again)
    def take(self) -> None:
        self.trace("taken")
        self.again.schedule()

    @rx.reaction(again)
    def go_on(self) -> None: ...


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.count, self.sink = Count(), Sink()
        rx.connect(self.count.out, self.sink.one)


@pytest.fixture(params=[1, 2])
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> Trace:
    """Of ten tags, and their microsteps."""
    file = tmp_path / "run.rxt"
    workers = request.param
    rx.run(
        Main(), fast=True, timeout="9 us", trace=file, workers=workers, backend="auto" if workers == 1 else "thread",
        placement={"main.sink": workers - 1},
    )  # fmt: skip
    return Trace(file)


def fields(content: bytes) -> dict[int, list[Any]]:
    """A message of protocol buffers, without knowing of what type."""
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0

    def varint() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(content):
        key = varint()
        if key & 7 == 0:
            found[key >> 3].append(varint())
        elif key & 7 == 1:
            found[key >> 3].append(content[at : at + 8])
            at += 8
        else:
            assert key & 7 == 2
            size = varint()
            found[key >> 3].append(content[at : at + size])
            at += size
    return found


def events(file: Path) -> Iterator[tuple[int, int, dict[int, list[Any]], dict[int, str]]]:
    """Time, worker, TrackEvent, and the names that the worker's packets refer to."""
    names: dict[int, dict[int, str]] = defaultdict(dict)
    for packet in map(fields, fields(file.read_bytes())[1]):
        worker = packet[10][0] - 1 if packet[10] else -1
        for interned in map(fields, packet[12]):
            for name in map(fields, interned[2]):
                names[worker][name[1][0]] = name[2][0].decode()
        for event in map(fields, packet[11]):
            yield packet[8][0], worker, event, names[worker]


def test_perfetto_has_every_reaction_and_every_wait_once(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "run.pftrace"
    assert perfetto.write(trace, file) == 29
    begun: Counter[tuple[int, int, str]] = Counter()
    ended: Counter[tuple[int, int]] = Counter()
    for time, worker, event, names in events(file):
        if event[9] == [BEGIN]:
            begun[worker, time, names[event[10][0]]] += 1
        elif event[9] == [END]:
            ended[worker, time] += 1
    wanted: Counter[tuple[int, int, str]] = Counter()
    ends: Counter[tuple[int, int]] = Counter()
    for spans in trace.by_worker():
        for row in spans.reactions:
            wanted[spans.worker, int(row["start"]), trace.name(row["reaction"])] += 1
        for some in (spans.reactions, spans.waits):
            for row in some:
                ends[spans.worker, max(0, int(row["end"]))] += 1
    assert {key: n for key, n in begun.items() if not key[2].startswith("waits for")} == wanted
    assert begun.total() == ended.total()
    assert ended == ends


def test_arrows_lead_from_writers_to_readers(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "run.pftrace"
    perfetto.write(trace, file)
    flows: dict[bytes, list[str]] = defaultdict(list)
    for _, _, event, names in sorted(events(file), key=lambda found: found[0]):
        for flow in event[47]:
            flows[flow].append(names[event[10][0]])
    assert len(flows) == (Executions(trace).edges.element != STATE).sum() == 10
    assert all(names == ["main.count.count", "main.sink.take"] for names in flows.values())


def test_what_was_noted_is_a_counter_or_an_instant(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "run.pftrace"
    perfetto.write(trace, file)
    values = [struct.unpack("<d", event[44][0])[0] for _, _, event, _ in events(file) if event[44]]
    assert values == [float(k) for k in range(10)]
    instants = [event[23][0] for _, _, event, _ in events(file) if event[9] == [INSTANT]]
    assert instants == [b"main.sink.taken"] * 10


def test_a_span_takes_at_most_fifty_bytes(tmp_path: Path) -> None:
    file = tmp_path / "run.rxt"
    rx.run(Main(), fast=True, timeout="5 ms", trace=file)
    target = tmp_path / "run.pftrace"
    slices = perfetto.write(Trace(file), target)
    noted = 2 * 5001
    assert target.stat().st_size < 50 * slices + 100 * noted


def test_chrome_and_otlp_have_them_all(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    assert chrome.write(trace, file) == 29
    found = json.loads(file.read_text())["traceEvents"]
    assert sum(event.get("cat") == "reaction" for event in found) == 29
    assert otlp.write(trace, file) == 29
    spans = [
        span
        for line in file.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    named = {span["spanId"]: span["name"] for span in spans}
    assert len(named) == 29
    parents = [(named[span["parentSpanId"]], span["name"]) for span in spans if "parentSpanId" in span]
    assert parents == [("main.count.count", "main.sink.take")] * 10
    assert len({span["traceId"] for span in spans}) == 1


@pytest.mark.parametrize(("kind", "suffix"), [("perfetto", ".pftrace"), ("chrome", ".json"), ("otlp", ".otlp.json")])
def test_the_command_writes_beside_the_trace(kind: str, suffix: str, trace: Trace) -> None:
    result = CliRunner().invoke(command, ["trace", str(trace.path), "--to", kind])
    target = trace.path.with_suffix(suffix)
    assert (result.exit_code, result.output) == (0, f"{target}: 29 reactions\n")
    assert target.stat().st_size > 1000


def test_the_command_says_where_the_time_went(trace: Trace) -> None:
    result = CliRunner().invoke(command, ["trace", str(trace.path)])
    first, titles, *workers = result.output.splitlines()
    assert result.exit_code == 0
    assert first.startswith("Main ran for 0.0")
    assert titles.split()[0] == "worker"
    assert titles.split()[-1] == "engine"
    assert [int(line.split()[0]) for line in workers[: trace.workers]] == [*range(trace.workers)]
    assert workers[trace.workers].startswith("critical path: main.")
    for line in workers[: trace.workers]:
        assert sum(float(share.rstrip("%")) for share in line.split()[1:]) == pytest.approx(100, abs=1)


def test_the_command_refuses_what_is_no_trace(tmp_path: Path) -> None:
    file = tmp_path / "other"
    file.write_text("something")
    result = CliRunner().invoke(command, ["trace", str(file)])
    assert result.exit_code == 1
    assert "is no trace" in result.output
