"""A run in a terminal: what each worker does, and what costs most, drawn again and again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from reactors.errors import WatchingError
from reactors.viewing.watching import Between, Watched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

_WIDE = 24  # characters of a bar
_MARKS = {"reactions": ("#", "blue"), "the rest": (".", "white"), "the clock": ("c", "green")}


def top(pid: int, every: float = 0.5, rounds: int | None = None) -> None:
    """Show the run of a process until it is over, or so many times. `WatchingError` where there is none."""
    try:
        from rich.live import Live
    except ImportError:
        raise WatchingError("reactors top needs the package rich: pip install rich") from None

    with Watched(pid) as watched:
        first = before = watched.sample()
        shown = 0
        with Live(auto_refresh=False, screen=False) as live:
            while rounds is None or shown < rounds:
                time.sleep(every)
                after = watched.sample()
                since = first if after.over else before  # in the end, all of it
                live.update(table(Between(watched, since, after)), refresh=True)
                shown, before = shown + 1, after
                if after.over:
                    break


def table(between: Between) -> RenderableType:
    """What is shown."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    now, watched = between.after, between.watched
    state = "over" if now.over else "running"
    head = Text(f"{watched.said['program']} ({watched.pid}), {state}, {now.since_start:.1f} s, tag {max(now.now)}, ")
    head.append(f"{int(now.reactions.sum()):,} reactions ({between.rate:,.0f}/s)")
    workers = Table(box=None, pad_edge=False)
    for name in ("worker", "", "reactions/s", "tag", "most of the rest"):
        workers.add_column(name, justify="left" if name in {"", "most of the rest"} else "right")
    rates = (now.reactions - between.before.reactions) / between.seconds
    for worker in range(watched.workers):
        parts = between.parts(worker)
        waits = sorted(parts[1:], key=lambda part: -part[1])
        said = ", ".join(f"{_said(name)} {part:.0%}" for name, part in waits[:2] if part >= 0.01)
        workers.add_row(str(worker), bar(parts), f"{rates[worker]:,.0f}", str(now.now[worker]), said)
    reactions = Table(box=None, pad_edge=False)
    for name in ("reaction", "runs/s", "of a worker's time", "late"):
        reactions.add_column(name, justify="left" if name == "reaction" else "right")
    for name, runs, load, late in between.reactions(10):
        reactions.add_row(name, f"{runs:,.0f}", f"{load:.1%}", f"{late:,}" if late else "")
    return Group(head, "", workers, "", reactions)


def _said(name: str) -> str:
    return name if name == "the rest" else f"for {name}"


def bar(parts: Sequence[tuple[str, float]]) -> Any:
    """A worker's time as a bar: reactions, waits, the engine."""
    from rich.text import Text

    drawn = Text()
    for name, part in parts:
        mark, style = _MARKS.get(name, ("-", "yellow"))
        drawn.append(mark * round(part * _WIDE), style=style)
    return drawn
