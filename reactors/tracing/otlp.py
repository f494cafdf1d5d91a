"""A trace as OpenTelemetry has it: JSON of its protocol, OTLP, a line for each thousand spans.

A span for each reaction, in one trace; its parent is the last one that wrote something that it read.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.tracing.executions import STATE, Executions
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.tracing.trace import Trace

INTERNAL = 1  # Span.SpanKind
BATCH = 1000


def write(trace: Trace, file: Path) -> int:
    """Write all of a trace; how many reactions there were. Raises `OSError`."""
    executions = Executions(trace)
    edges = executions.edges
    parents = np.full(len(executions), -1)
    ports = edges.element != STATE
    parents[edges.target[ports]] = edges.source[ports]  # by source, so the last one stays
    said = json.dumps([trace.header[name] for name in ("program", "seed", "epoch", "reactors_version")])
    number = hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
    epoch = int(trace.header["epoch"]) + int(trace.header["opened"] if trace.end is None else trace.end["started"])
    resource = {"attributes": [_attribute("service.name", trace.header["program"])]}
    scope = {"name": "reactors", "version": trace.header["reactors_version"]}
    rows = executions.rows.tolist()
    with file.open("w", encoding="utf-8") as out:
        for begin in range(0, len(rows), BATCH):
            spans = [
                {
                    "traceId": number, "spanId": f"{i + 1:016x}",
                    **({"parentSpanId": f"{parents[i] + 1:016x}"} if parents[i] >= 0 else {}),
                    "name": trace.name(reaction), "kind": INTERNAL,
                    "startTimeUnixNano": str(epoch + start), "endTimeUnixNano": str(epoch + end),
                    "attributes": [
                        _attribute("reactors.time", time), _attribute("reactors.microstep", microstep),
                        _attribute("reactors.worker", int(executions.worker[i])),
                        _attribute("reactors.late", kind == lib.RX_RAN_LATE),
                    ],
                }
                for i, (kind, reaction, (time, microstep), start, end, *_) in enumerate(
                    rows[begin : begin + BATCH], begin
                )
            ]  # fmt: skip
            scoped = [{"scope": scope, "spans": spans}]
            json.dump({"resourceSpans": [{"resource": resource, "scopeSpans": scoped}]}, out)
            out.write("\n")
    return len(rows)


def _attribute(name: str, value: str | int | bool) -> dict[str, Any]:
    kind = "boolValue" if isinstance(value, bool) else "intValue" if isinstance(value, int) else "stringValue"
    return {"key": name, "value": {kind: str(value) if kind == "intValue" else value}}
