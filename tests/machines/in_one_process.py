"""Machines that are all in this process: each has an arena, threads for its workers, and links to the others."""

from __future__ import annotations

import socket
import threading
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.elaboration.placing import placed
from reactors.execution import arena
from reactors.execution.binding import Binding
from reactors.execution.inline import work
from reactors.graph import Graph
from reactors.reports.result import Result, collect
from reactors_runtime import engine as engines
from reactors_runtime import tables
from reactors_runtime.machines.link import Link
from reactors_runtime.memory import ROOM, Memory
from reactors_runtime.planning import placement as placements
from reactors_runtime.planning.image import Image
from reactors_runtime.program import Kind

if TYPE_CHECKING:
    import reactors as rx


def run(
    main: rx.Reactor,
    machines: int,
    workers: int,
    *,
    timeout: int | None = None,
    keepalive: bool | None = None,
    placement: Any = "auto",
    seed: int = 0,
    fast: bool = True,
    tcp: bool = False,
    clock: rx.VirtualClock | None = None,
) -> Result:
    """As `rx.run` on so many machines with so many workers each."""
    graph = Graph(main)
    program, n = graph.program, machines * workers
    physical = any(element.kind == Kind.PHYSICAL_ACTION for element in program.elements)
    options = arena.options(
        n, fast=fast and clock is None, keepalive=physical and clock is None if keepalive is None else keepalive,
        timeout=timeout, processes=True, machine_of=tuple(w // workers for w in range(n)),
        virtual_time=clock is not None, virtual_sleep=clock is not None and clock.sleep,
        injections=[] if clock is None else clock.events(graph, plain=False),
    )  # fmt: skip
    image = Image(program, placements.gathered(program, placed(program, n, placement)), n, options)
    memories = []
    for machine in range(machines):
        memory = Memory.reserve(image.size, room=ROOM)
        image.write(memory, machine)
        memories.append(memory)
    for reactor in graph.reactors:
        reactor._run_seed, reactor._rng = seed, None
    links = []
    for a, b in combinations(range(machines), 2):
        left, right = pair(tcp=tcp)
        links += [Link(memories[a], b, left), Link(memories[b], a, right)]
    binding, failures = Binding(graph.elements, debug=False), []

    def see_through(worker: int) -> None:
        memory = memories[options.machine_of[worker]]
        try:
            work(graph, image, memory, worker, binding, {})
        except BaseException as error:  # noqa: BLE001
            failures.append(error)
            engines.abort(memory, image)

    threads = [threading.Thread(target=see_through, args=(w,)) for w in range(n)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for seconds in (0.0, 5.0):
            for link in links:  # all say goodbye, then all wait for it
                link.end(seconds)
        lost = [link.lost for link in links if link.lost]
        for link in links:
            link.close()
        binding.detach()
    if failures:
        raise failures[0]
    assert not lost, lost
    for worker, machine in enumerate(options.machine_of):
        bring_home(image, worker, memories[machine], memories[0])
    result = collect(graph, image, memories[0], seed, "machines")
    for memory in memories:
        memory.close()
    return result


def bring_home(image: Image, worker: int, source: Memory, target: Memory) -> None:
    """What a worker of another machine counted."""
    part = image.parts[worker]
    if source is target:
        return
    for at, count, dtype in (
        (part.offsets["digests"], len(part.reactors), np.dtype(np.uint64)),
        (part.offsets["stats"], len(part.reactions), tables.STATS),
        (image.at["bells"] + worker * tables.BELL.itemsize, 1, tables.BELL),
        (part.offsets["now"], 1, tables.TAG),
    ):
        tables.view(target, at, count, dtype)[:] = tables.view(source, at, count, dtype)


def pair(*, tcp: bool) -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection."""
    if not tcp:
        return socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]
