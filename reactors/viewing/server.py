"""A run in a browser: a page from this machine, for this machine.

It listens on 127.0.0.1 and answers GET alone. The page, its script and its style say nothing of the run. The events
that do need a token: it is the fragment of the address, which browsers do not send, and the page puts it into a header.
Requests whose Host is another name are refused, so that no other site can reach the server by DNS rebinding.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from reactors.errors import DrawingError
from reactors.viewing.picture import diagram
from reactors.viewing.report import thinned
from reactors.viewing.watching import Between

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reactors.viewing.watching import Watched

    Curves = Callable[[], Mapping[str, Sequence[tuple[float, float]]]]

_HERE = Path(__file__).parent
_FILES = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_EVERY_S = 0.1
_MOST = 20  # reactions


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone is no error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class ViewServer:
    """Serves the view of a run until it is closed; `address` is where, with the token."""

    def __init__(self, watched: Watched, *, port: int = 0, curves: Curves | None = None, every: float = 0.5) -> None:
        self.watched, self.curves, self.every = watched, curves, every
        self.token = secrets.token_hex(16)
        self.over = threading.Event()
        self._http = _Listening(("127.0.0.1", port), _answering(self))
        self.port = int(self._http.server_address[1])
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": _EVERY_S}, daemon=True
        )

    @property
    def address(self) -> str:
        """For a browser on this machine."""
        return f"http://127.0.0.1:{self.port}/#{self.token}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def beginning(self) -> dict[str, Any]:
        """What does not change."""
        from reactors.drawing.draw import rendered

        drawn = diagram(self.watched.said)
        for box in drawn.boxes:
            for each in box.all_boxes():
                each.in_order = False  # each reaction is a shape of its own, which gets its colour
        for symbol in drawn.symbols():
            if symbol.kind == "reaction":
                symbol.load = 0.0
                symbol.notes.append("0.0%")  # what the page writes there later is as long
        try:
            graph = rendered(drawn)
        except DrawingError:
            graph = ""
        return {"begin": True, "title": f"{self.watched.said['program']} ({self.watched.pid})", "graph": graph}

    def state(self, between: Between) -> dict[str, Any]:
        """What does."""
        now, workers = between.after, []
        per_second = (now.reactions - between.before.reactions) / between.seconds
        tags = (now.tags - between.before.tags) / between.seconds
        for worker in range(self.watched.workers):
            more = [str(now.now[worker]), f"{per_second[worker]:,.0f}", f"{tags[worker]:,.0f}"]
            workers.append({"worker": worker, "parts": between.parts(worker), "more": more})
        curves = {} if self.curves is None else self.curves()
        return {
            "seconds": now.since_start, "over": now.over, "tag": str(max(now.now)), "count": int(now.reactions.sum()),
            "rate": between.rate, "workers": workers, "loads": between.loads(),
            "reactions": [
                [name, f"{runs:,.0f}", f"{load:.1%}", f"{late:,}"]
                for name, runs, load, late in between.reactions(_MOST)
            ],
            "curves": [[name, [["", kept]]] for name, each in curves.items() if len(kept := thinned(each)) > 1],
            "processes": [[name, f"{mb:,.0f}", f"{spent:,.1f}"] for name, mb, spent in self.watched.processes()],
        }  # fmt: skip


def _answering(server: ViewServer) -> type[BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "reactors", ""
        timeout = 10

        def do_GET(self) -> None:  # as http.server wants it
            if self.headers.get("Host") not in {f"127.0.0.1:{server.port}", f"localhost:{server.port}"}:
                self.refuse(403, "this server answers by its own name alone")
            elif self.path in _FILES:
                name, kind = _FILES[self.path]
                self.give((_HERE / name).read_bytes(), kind)
            elif self.path != "/events":
                self.refuse(404, "there is nothing here")
            elif not hmac.compare_digest(
                self.headers.get("Authorization", "").encode(), f"Bearer {server.token}".encode()
            ):
                self.refuse(401, "the token is missing, or another one")
            else:
                self.stream()

        def give(self, content: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def refuse(self, status: int, why: str) -> None:
            self.close_connection = True
            self.give(f"{why}\n".encode(), "text/plain", status)

        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", _POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("Cache-Control", "no-store")
            super().end_headers()

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            del explain
            self.refuse(code, message or "no")

        def stream(self) -> None:
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                self.event(server.beginning())
                first = before = server.watched.sample()
                while not server.over.wait(server.every):
                    after = server.watched.sample()
                    since = first if after.over else before  # in the end, all of it
                    self.event(server.state(Between(server.watched, since, after)))
                    before = after
                    if after.over:
                        return
            except OSError:  # the browser has gone
                return

        def event(self, said: dict[str, Any]) -> None:
            self.wfile.write(f"data: {json.dumps(said)}\n\n".encode())
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is written for each request."""

    return Answering
