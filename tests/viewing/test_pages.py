"""The page of a run that goes on, and that of one that is over, in a browser."""

from __future__ import annotations

import http.client
import json
import math
from typing import TYPE_CHECKING

import pytest

import reactors as rx
from reactors.viewing.server import ViewServer
from reactors.viewing.watching import Between, Watched
from tests.viewing.browser import Browser, needs_browser
from tests.viewing.programs import Farm
from tests.viewing.test_watching import running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CURVES = {
    "charts/episodic_return": [(0.0, 1.0), (10.0, 5.0)],
    "losses/explained_variance": [(0.0, 0.5), (10.0, math.nan), (20.0, -math.inf), (30.0, 0.25)],
    "losses/clipped": [(0.0, math.nan), (10.0, math.nan)],
}


@pytest.fixture
def server() -> Iterator[ViewServer]:
    with (
        running(2) as process,
        Watched(process.pid) as watched,
        ViewServer(watched, curves=lambda: CURVES, every=0.1) as at,
    ):
        yield at


def asked(server: ViewServer, method: str, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    """What comes back, or the beginning of what never ends."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    content = answer.read1(1 << 20)
    connection.close()
    return answer.status, answer.msg, content


def test_who_has_the_token_sees_the_run_and_nobody_else(server: ViewServer) -> None:
    """Nor does anybody by another name, which a page of somebody else's would have, and nothing but looking works."""
    token = {"Authorization": f"Bearer {server.token}"}
    status, headers, content = asked(server, "GET", "/events", **token)
    assert status == 200
    assert headers["Content-Type"].startswith("text/event-stream")
    first = json.loads(content.decode().split("\n\n")[0].removeprefix("data: "))
    assert first["begin"]
    assert first["title"].startswith("Farm (")
    assert len(server.token) == 32  # 128 bits
    for said in ({}, {"Authorization": ""}, {"Authorization": "Bearer 0"}, {"Authorization": "Bearer \xe9"}):
        status, _, content = asked(server, "GET", "/events", **said)
        assert (status, b"Farm" in content) == (401, False)
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", "127.0.0.1:1", ""):
        for path in ("/", "/events"):
            status, _, content = asked(server, "GET", path, Host=host, **token)
            assert (status, b"Farm" in content) == (403, False)
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"):
        status, _, content = asked(server, method, "/events", **token)
        assert (status, b"Farm" in content) == (501, False)
    for path in ("/../server.py", "//etc/passwd", "/page.js/..", "/page.html", "/%2e%2e/server.py", "/?x"):
        assert asked(server, "GET", path, **token)[0] == 404


def test_what_the_page_is_sent_is_json_also_of_figures_that_are_no_numbers(server: ViewServer) -> None:
    before, after = server.watched.sample(), server.watched.sample()
    sent = json.loads(json.dumps(server.state(Between(server.watched, before, after)), allow_nan=False))
    assert sent["curves"] == [
        ["charts/episodic_return", [["", [[0.0, 1.0], [10.0, 5.0]]]]],
        ["losses/explained_variance", [["", [[0.0, 0.5], [30.0, 0.25]]]]],
    ]


def test_what_needs_no_token_says_nothing_of_the_run(server: ViewServer) -> None:
    for path in ("/", "/page.js", "/page.css"):
        status, headers, content = asked(server, "GET", path)
        assert status == 200
        assert b"Farm" not in content
        assert server.token.encode() not in content
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in policy


@needs_browser
def test_the_page_shows_the_tags_of_a_run(server: ViewServer, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(server.address)
        first = browser.until("document.getElementById('tag')?.textContent")
        browser.until(f"document.getElementById('tag').textContent !== {first!r}")
        assert "Farm (" in browser.value("document.title")
        assert browser.value("document.querySelectorAll('#workers tbody tr').length") == 2
        assert "main.works.work" in browser.value("document.getElementById('reactions').textContent")
        assert "episodic_return" in browser.value("document.getElementById('curves').textContent")
        if browser.value("document.querySelector('.graph svg') !== null"):  # there is `dot`
            assert browser.value("document.querySelectorAll('.graph g.node').length") >= 3
            fills = "[...document.querySelectorAll('.graph g.node path')].map((each) => each.getAttribute('fill'))"
            browser.until(f"{fills}.some((fill) => fill.startsWith('rgb'))")
        assert browser.problems == []


@needs_browser
def test_the_page_without_the_token_says_so(server: ViewServer, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(server.address.partition("#")[0])
        assert "token" in browser.until("document.querySelector('.warning')?.textContent")
        assert "Farm" not in browser.value("document.documentElement.outerHTML")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> rx.Result:
    folder = tmp_path_factory.mktemp("traced")
    return rx.run(Farm(), fast=True, timeout="100 ms", workers=2, trace=folder / "run.rxt")


def test_a_report_is_one_file_that_asks_for_nothing_else(traced: rx.Result, tmp_path: Path) -> None:
    loss = [(float(n), 1 / (n + 1)) for n in range(5000)]
    page = traced.report(tmp_path / "run.html", curves={"loss": loss}, facts={"A": {"b": 1}}).read_text()
    assert len(page) < 2_000_000
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page
    assert traced.digest in page


def test_a_report_lets_nothing_out_of_its_data(tmp_path: Path) -> None:
    """What stands in names and values is text, whatever it looks like."""
    result = rx.run(Farm(), fast=True, timeout="2 ms")
    facts = {"</script><script>alert(1)</script>": {"a": "</SCRIPT>", "b": "<!--<script>"}}
    page = result.report(tmp_path / "r.html", facts=facts).read_text()
    assert page.count("</script>") == 2
    assert "</SCRIPT>" not in page
    assert "<!--" not in page
    assert '"timeline": null' in page  # without a trace


@needs_browser
def test_a_report_is_shown(traced: rx.Result, tmp_path: Path) -> None:
    facts = {"Hyperparameters": {"lr": 0.5}, "<b>": {"<i>": "<!--<script>document.title='taken'</script>"}}
    loss = [(0.0, 1.0), (1.0, float("nan")), (2.0, 0.5)]
    file = traced.report(tmp_path / "run.html", curves={"loss": loss}, facts=facts)
    with Browser(tmp_path / "profile") as browser:
        browser.open(file.as_uri())
        titles = browser.until("[...document.querySelectorAll('h2')].map((each) => each.textContent)")
        wanted = ["Curves", "Where the time went", "What limits it", "What other numbers of workers would give"]
        for title in [*wanted, "A part of the run", "Reactions", "The run", "Hyperparameters", "<b>"]:
            assert title in titles
        assert browser.value("document.title") == "Farm"
        assert "critical path: main.works.work" in browser.value("document.body.textContent")
        assert browser.value("document.querySelectorAll('.bar').length") == 2
        drawn = "[...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 300, 20).data].some((x) => x)"
        browser.until(drawn)
        assert browser.problems == []
