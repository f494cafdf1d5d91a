"""A browser without a window, for the tests of pages: what a page shows, and what it did not like."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self
from urllib.request import urlopen

import pytest
import websocket

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = shutil.which("chromium")
# `make test` installs it where it may; where it may not, as with `dot`, the other tests are worth running.
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
_PATIENCE_S = 120.0  # the first start of Chromium, on a cold disk and beside other work, takes tens of seconds


class Browser:
    """One page of Chromium, spoken to by its DevTools protocol; `problems` are what its console got."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[str] = []
        self._folder, self._ids = folder, itertools.count(1)

    def __enter__(self) -> Self:
        assert CHROMIUM is not None
        self._process = subprocess.Popen(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--remote-debugging-port=0", f"--user-data-dir={self._folder}", "--remote-allow-origins=*",
                "--window-size=1200,900", "about:blank",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._socket = websocket.create_connection(self._page(), timeout=_PATIENCE_S)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def _page(self) -> str:
        """Where to speak to it, as soon as it listens."""
        file, until = self._folder / "DevToolsActivePort", time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            if file.exists() and "\n" in (text := file.read_text()):
                with urlopen(f"http://127.0.0.1:{int(text.split()[0])}/json") as answer:
                    pages = [each for each in json.load(answer) if each["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
            time.sleep(0.05)
        raise TimeoutError("Chromium does not listen")

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers; what it has to say meanwhile becomes `problems` where it is one."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            said = json.loads(self._socket.recv())
            self._note(said)
            if said.get("id") == number:
                assert "error" not in said, said["error"]
                result: dict[str, Any] = said["result"]
                return result

    def _note(self, said: dict[str, Any]) -> None:
        if said.get("method") == "Runtime.exceptionThrown":
            self.problems.append(str(said["params"]["exceptionDetails"]))
        elif said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
            self.problems.append(f"{said['params']['entry']['text']} {said['params']['entry'].get('url')}")

    def open(self, address: str) -> None:
        """Go to a page."""
        self.call("Page.navigate", url=address)

    def value(self, code: str) -> Any:
        """What an expression of JavaScript is on the page."""
        found = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, code: str) -> Any:
        """The expression, as soon as it is something."""
        end = time.monotonic() + _PATIENCE_S
        while not (found := self.value(code)):
            assert time.monotonic() < end, f"{code} stays {found!r}; {self.problems}"
            time.sleep(0.1)
        return found

    def screenshot(self, file: Path) -> None:
        """What is to be seen, as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(found["data"]))
