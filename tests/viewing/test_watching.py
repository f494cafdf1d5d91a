"""A run can be watched from another process, which it does not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors.viewing.board import NAME, whole
from reactors.viewing.watching import Between, Watched, watchable
from tests.terminal import typed
from tests.viewing.programs import Farm

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parents[2]
RUN = """
from tests.terminal import typed
from tests.viewing.programs import Farm
import reactors as rx
rx.run(Farm(), workers={workers}, backend={backend!r}, timeout="60 s", live="attach")
"""


@contextmanager
def running(workers: int = 1, backend: str = "auto") -> Iterator[subprocess.Popen[bytes]]:
    """A program in a process of its own, from when it can be watched until it is stopped."""
    code = RUN.format(workers=workers, backend=backend)
    with subprocess.Popen([sys.executable, "-c", code], cwd=HERE, stderr=subprocess.PIPE) as process:
        try:
            while process.pid not in watchable():
                assert process.poll() is None
                time.sleep(0.02)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def test_a_board_is_found_once_it_is_whole() -> None:
    """Who looks while a run begins finds none, or all of it."""
    descriptor = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        at = Path(f"/proc/self/fd/{descriptor}")
        assert not whole(at)
        os.write(descriptor, b'{"arena": 3')
        assert not whole(at)
        assert os.getpid() not in watchable()
    finally:
        os.close(descriptor)


def looked_at(watched: Watched) -> Between:
    """From a moment at which it runs to a later one."""
    while (before := watched.sample()).tags.max() < 20:
        time.sleep(0.02)
    while (after := watched.sample()).tags.max() < before.tags.max() + 40:
        time.sleep(0.02)
    return Between(watched, before, after)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param({}, id="inline"),
        pytest.param({"workers": 2, "backend": "thread"}, id="threads"),
        pytest.param({"workers": 2, "backend": "process"}, id="processes"),
    ],
)
def test_a_run_is_seen_from_another_process(way: dict[str, Any]) -> None:
    with running(**way) as process, Watched(process.pid) as watched:
        between = looked_at(watched)
        workers = way.get("workers", 1)
        assert watched.workers == workers
        assert not between.after.over
        assert max(between.after.now) > max(between.before.now)
        assert between.rate > 0
        loads = between.loads()
        assert set(loads) == {"main.source.count", "main.works.work"}
        assert loads["main.works.work"] > 0
        assert [name for name, *_ in between.reactions(1)] == ["main.works.work"]
        for worker in range(workers):
            parts = dict(between.parts(worker))
            assert sum(parts.values()) == pytest.approx(1.0)
            assert parts["reactions"] > 0
        assert watched.processes()[0][0].startswith(f"{process.pid} ")


def test_the_end_is_seen() -> None:
    with running() as process:
        with Watched(process.pid) as watched:
            process.send_signal(signal.SIGINT)
            while not watched.sample().over:
                time.sleep(0.02)
            process.wait()
            assert not watched.runs()
        assert process.pid not in watchable()


def test_the_counters_of_a_run_that_is_over_are_those_of_its_result() -> None:
    seen: list[Watched] = []

    class Main(rx.Reactor):
        @rx.reaction(rx.startup)
        def begin(self) -> None:
            seen.append(Watched(os.getpid()))

    result = rx.run(Main(), live="attach")
    with seen[0] as watched:
        after = watched.sample()
        assert after.over
        assert after.reactions.tolist() == [result.reactions]
        assert after.count.tolist() == [each.count for each in result.statistics]


def test_there_is_nothing_to_see_of_a_run_that_does_not_say_so() -> None:
    class Main(rx.Reactor):
        @rx.reaction(rx.startup)
        def begin(self) -> None:
            with pytest.raises(rx.WatchingError, match=r"process \d+ has no run that can be watched.*live=\"attach\""):
                Watched(os.getpid())

    rx.run(Main())


def test_a_process_that_is_none_is_refused() -> None:
    with pytest.raises(rx.WatchingError, match="there is no process 99999999"):
        Watched(99_999_999)


def test_being_watched_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"fast": True, "timeout": "20 ms"}
    digest = rx.run(Farm(), **options).digest
    assert rx.run(Farm(), **options, live="attach").digest == digest
    assert rx.run(Farm(), **options, live=True).digest == digest  # no terminal: nothing is drawn
    assert capfd.readouterr() == ("", "")


def test_what_is_no_way_to_watch_is_refused() -> None:
    with pytest.raises(rx.ArgumentError, match=r"live of rx.run is 'yes'; write True, or \"attach\""):
        rx.run(Farm(), live="yes")  # type: ignore[arg-type]


LIVE = """
import sys
sys.path.insert(0, {root!r})
from tests.terminal import typed
from tests.viewing.programs import Farm
import reactors as rx
result = rx.run(Farm(), workers=2, timeout="1500 ms", live=True)
print("ended", result.reactions)
"""


def test_a_live_run_draws_what_workers_do_in_its_terminal() -> None:
    shown = typed(LIVE.format(root=str(HERE)))
    assert "Farm (" in shown
    assert "main.works.work" in shown
    assert "over" in shown  # the last picture
    assert shown.rstrip().endswith("ended 3004")
