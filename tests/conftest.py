"""After every test: nothing is left of what it ran."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactors_runtime import workers


def pytest_configure() -> None:
    """A shell that starts us in the background has SIGINT ignored, and so would all that we start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--programs", type=int, default=300, help="how many random programs test_oracle.py tries")


PROC = Path("/proc")
RAY = ("sem.hdr", "sem.obj", "plasma")


def children(pid: int) -> set[int]:
    """The processes that `pid` started and that are still there, waited for or not."""
    return {int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal() and parent(entry) == pid}


def parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):  # gone meanwhile
        return 0


def descriptors() -> dict[int, str]:
    """What this process has open; what belongs to the idle server is not counted."""
    server = workers.idle_server()
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[int(entry.name)] = str(entry.readlink())
        except OSError:  # the one with which we looked
            continue
    return {fd: what for fd, what in found.items() if server is None or fd not in server.descriptors()}


def shared_memory() -> set[str]:
    """What lies in /dev/shm, but for what Ray leaves there when the benchmarks run beside us."""
    return {name for entry in Path("/dev/shm").iterdir() if not (name := entry.name).startswith(RAY)}


def left_over(before: tuple[set[int], dict[int, str], set[str], set[threading.Thread]]) -> list[str]:
    """What is there now and was not before."""
    server = workers.idle_server()
    processes = children(os.getpid()) - before[0] - ({server.pid} if server else set())
    found = [f"process {pid}" for pid in processes]
    if server:
        found += [f"process {pid}, a child of the server" for pid in children(server.pid)]
    found += [f"descriptor {fd}: {what}" for fd, what in descriptors().items() if fd not in before[1]]
    found += [f"/dev/shm/{name}" for name in shared_memory() - before[2]]
    found += [f"{thread}" for thread in set(threading.enumerate()) - before[3]]
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Processes, descriptors, shared memory and threads are after a test as they were before it."""
    before = children(os.getpid()), descriptors(), shared_memory(), set(threading.enumerate())
    yield
    patience = time.monotonic() + 1.0  # a child of the test's own may take a moment to go
    while (found := left_over(before)) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not found, f"left behind: {'; '.join(found)}"
