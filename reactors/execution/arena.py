"""What does a run need before its workers begin: options for this machine, and memory with the plan in it."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import time
from typing import TYPE_CHECKING, Any

from reactors.errors import MemoryTooSmall, TooManyOpenFiles
from reactors_runtime.memory import ROOM, Memory, OutOfMemory
from reactors_runtime.planning.options import RunOptions
from reactors_runtime.settings import clocksource, cores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.elaboration.workers import Pin
    from reactors.graph import Graph
    from reactors_runtime.planning.image import Image

# How long a worker looks before it sleeps. A sleeping core wakes in 12 us on bare metal, in a virtual machine in 50
# to 200, and a round of lock-step simulation, in which half of the workers may have nothing to do, takes up to 1 ms.
SPIN_NS = 2_000_000


def options(workers: int, *, here: int | None = None, pin: Pin = "auto", **chosen: Any) -> RunOptions:
    """What was chosen, with what depends on the machine, where `here` of the workers run or all, and on the moment."""
    here = workers if here is None else here
    spin = SPIN_NS if here <= len(os.sched_getaffinity(0)) else 0
    return RunOptions(
        spin=spin,
        epoch=time.time_ns() - time.monotonic_ns(),
        cores=cores.in_order()[:here] if pin is True else (),
        moves_off=pin == "auto",
        steady=bool(chosen.get("trace")) and clocksource.counts_steadily(),
        **chosen,
    )


def filled(graph: Graph, image: Image, seed: int, *, spills: bool) -> Memory:
    """The memory of a run with its image in it; `spills`: with room for values that outgrow their places.

    Its reactors have the seed of the run from here on. Raises `MemoryTooSmall`.
    """
    try:
        memory = Memory.reserve(image.size, room=ROOM if spills else 0, shares=image.shares)
    except OutOfMemory as error:
        raise MemoryTooSmall(f"{graph.main.path}: {error}") from None
    try:
        image.write(memory)
    except BaseException:
        memory.close()
        raise
    for reactor in graph.reactors:
        reactor._run_seed, reactor._rng = seed, None
    return memory


@contextlib.contextmanager
def enough_files(path: str) -> Iterator[None]:
    """Say what is wrong where the run of `path` needs one more file descriptor than there are."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        raise TooManyOpenFiles(
            f"{path}: its run needs more open files than are left: this process may have {limit}, a worker process "
            "takes two, and twelve serve all of them; close files, use fewer workers, or allow more (ulimit -n)"
        ) from error
