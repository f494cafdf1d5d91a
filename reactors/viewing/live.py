"""Who looks on while a program runs?

Others, if they want to (`reactors top`, `reactors view`); with `live=True` also a view of its own: in a terminal one
that another process draws, so that the run is not held up, and in a notebook one that changes in place.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from reactors.viewing import board
from reactors.viewing.watching import Between, Watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

EVERY_S = 0.5
_LAST_S = 3.0  # for the last picture


class View(Protocol):
    """What shows a run of this process."""

    def end(self) -> None:
        """Show the end, and go."""


@contextmanager
def live(said: dict[str, Any], image: Image, memory: Memory, *, show: bool) -> Iterator[None]:
    """Let the run be watched, and show it if that is wanted and there is where."""
    with board.shown(said, image, memory):
        view = _view() if show else None
        try:
            yield
        finally:
            if view is not None:
                view.end()


def _view() -> View | None:
    notebook = _notebook()
    if notebook is not None:
        return InNotebook(notebook)
    return InTerminal() if sys.stderr is not None and sys.stderr.isatty() else None


class InTerminal:
    """A process that draws in the terminal of this one."""

    def __init__(self) -> None:
        import subprocess

        self._process = subprocess.Popen(
            [sys.executable, "-m", "reactors", "top", str(os.getpid())], stdin=subprocess.DEVNULL, stdout=sys.stderr
        )

    def end(self) -> None:
        """It sees the end by itself."""
        import subprocess

        try:
            self._process.wait(_LAST_S)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()


class InNotebook:
    """An output that changes while the cell runs."""

    def __init__(self, display: Any) -> None:
        self._watched = Watched(os.getpid())
        self._first = self._last = self._watched.sample()
        self._between: Between | None = None  # what is shown
        self._over = threading.Event()
        self._handle = display(self, display_id=True)
        self._thread = threading.Thread(target=self._go_on, name="reactors live", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The last picture is of the whole run."""
        self._over.set()
        self._thread.join()
        self._between = Between(self._watched, self._first, self._watched.sample())
        self._handle.update(self)
        self._watched.close()

    def _go_on(self) -> None:
        while not self._over.wait(EVERY_S):
            now = self._watched.sample()
            self._between, self._last = Between(self._watched, self._last, now), now
            self._handle.update(self)

    def _repr_html_(self) -> str:
        from html import escape

        if self._between is None:
            return "<p>begins</p>"
        between = self._between
        now = between.after
        rows = [
            f"<tr><td>{escape(name)}</td><td>{runs:,.0f}</td><td>{load:.1%}</td></tr>"
            for name, runs, load, _ in between.reactions(10)
        ]
        ran = f"{int(now.reactions.sum()):,} reactions ({between.rate:,.0f}/s)"
        said = f"{now.since_start:.1f} s, tag {max(now.now)}, {ran}"
        head = "<tr><th>reaction</th><th>runs/s</th><th>of a worker's time</th></tr>"
        return f"<p>{escape(said)}</p><table>{head}{''.join(rows)}</table>"


def _notebook() -> Any:
    """What displays in a notebook, if this is one."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    import importlib

    return importlib.import_module("IPython.display").display
