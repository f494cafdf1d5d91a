"""Draws what docs/observing.md shows, from a run: load.svg, and report.png by Chromium.

python docs/pictures/observing.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "tests" / "benchmarks")]

from predicting import Pipelined  # noqa: E402

import reactors as rx  # noqa: E402
from tests.viewing.browser import Browser  # noqa: E402


def main() -> None:
    """Run it on two workers, and draw what came of that."""
    with tempfile.TemporaryDirectory() as folder:
        trace, page = Path(folder) / "run.rxt", Path(folder) / "run.html"
        result = rx.run(Pipelined(), fast=True, timeout="600 us", workers=2, trace=trace)
        rx.Graph(Pipelined()).draw(HERE / "load.svg", profile=trace)
        result.report(page)
        with Browser(Path(folder) / "browser") as browser:
            browser.open(page.as_uri())
            browser.until("document.querySelector('canvas')?.width > 300")
            browser.screenshot(HERE / "report.png")


if __name__ == "__main__":
    main()
