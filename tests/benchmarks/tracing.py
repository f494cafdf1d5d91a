"""What it costs that all of a run is written down, beside VizTracer, and beside xronos with its telemetry.

xronos sends its spans to a port on which nothing listens: only the cost for the program is measured. VizTracer keeps
the last million events in memory, and writes nothing here.
"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import xronos
from bare import Ticking, XronosTicking
from row import Bar, Measure, Row, Sample
from viztracer import VizTracer

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Iterator

OFF, ON, VIZ, TELEMETRY = "reactors", "reactors, trace", "reactors in VizTracer", "xronos, telemetry"

row = Row(
    title="a bare Python reaction that is traced",
    unit="ns",
    variants=("periodic timer",),
    work=lambda _: 1,
    bars=(Bar(ON, VIZ, 2), Bar(ON, TELEMETRY, 5), Bar(ON, OFF, 0.6)),
    check_rounds=2000,
)


def ticked(rounds: int, **options: str) -> Sample:
    main = Ticking()
    rx.run(main, fast=True, timeout=rounds * 1000, **options)
    return Sample(main.ended - main.began, main.n)


@row.peer(OFF)
def untraced(_: str) -> Iterator[Measure]:
    yield ticked


@row.peer(ON)
def traced(_: str) -> Iterator[Measure]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda rounds: ticked(rounds, trace=str(Path(folder) / "run.rxt"))


@row.peer(VIZ)
def in_viztracer(_: str) -> Iterator[Measure]:
    def measure(rounds: int) -> Sample:
        tracer = VizTracer(verbose=0)
        tracer.start()
        try:
            return ticked(rounds)
        finally:
            tracer.stop()
            tracer.clear()

    yield measure


@row.peer("xronos")
def xronos_alone(_: str) -> Iterator[Measure]:
    yield lambda rounds: of_xronos(rounds, telemetry=False)


@row.peer(TELEMETRY)
def xronos_watched(_: str) -> Iterator[Measure]:
    yield lambda rounds: of_xronos(rounds, telemetry=True)


def of_xronos(rounds: int, *, telemetry: bool) -> Sample:
    environment = xronos.Environment(fast=True, timeout=timedelta(microseconds=rounds))
    if telemetry:
        environment.enable_telemetry(endpoint="127.0.0.1:9")
    main = environment.create_reactor("main", XronosTicking)
    environment.execute()
    return Sample(main.ended - main.began, main.n)
