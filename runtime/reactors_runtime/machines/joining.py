"""A machine that joins: it proves itself, gets its share of a program, runs it, and sends home what became of it."""

from __future__ import annotations

import os
import pickle
import select
import socket
import sys
import time
from typing import TYPE_CHECKING

from reactors_runtime import engine
from reactors_runtime.machines.channel import Channel, prove
from reactors_runtime.machines.job import Job, MachineReport, Platform
from reactors_runtime.machines.keeping import Keeping
from reactors_runtime.machines.link import Link
from reactors_runtime.processes import workers

if TYPE_CHECKING:
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

_GRACE = 10.0  # seconds for others to say goodbye
_AGAIN = 10.0  # seconds for the leading machine to begin again


class Refused(Exception):  # noqa: N818 - it is what happened
    """The leading machine does not want this one; says why."""


def join(address: tuple[str, int], token: bytes, *, patience: float) -> None:
    """Connect to the machine that leads, waiting so many seconds for it to be there, and run one program with it.

    Where that has lost another machine it may begin again, so this one is there again. Raises `Refused`, `NotOurs`,
    EOFError where it is lost, OSError where there is no way to it.
    """
    while _joined(address, token, patience):
        patience = _AGAIN


def _joined(address: tuple[str, int], token: bytes, patience: float) -> bool:
    """Take part once; whether another machine was lost, and not the one that leads."""
    connection = _connected(address, patience)
    with connection:
        prove(connection, token, role=b"joins")
        channel = Channel(connection)
        with socket.create_server((connection.getsockname()[0], 0), family=connection.family) as server:
            channel.send("hello", Platform.here(), server.getsockname()[:2], socket.gethostname(), os.getpid())
            while (message := channel.receive()) == ("how far",):
                channel.send("so far", time.monotonic_ns())
            word, *rest = message
            if word == "refused":
                raise Refused(rest[0])
            job, others = rest
            image: Image = pickle.loads(job.image)
            with job.memory(image) as memory, Keeping(image, memory) as keeping:
                links = _links(job, memory, others, address, server, token)
                try:
                    outcome = _run(job, image, memory, channel, links)
                    lost = {link.machine: link.lost for link in links if link.lost}
                finally:
                    keeping.stop()
                    for link in links:
                        link.close()
                if 0 in lost:
                    raise EOFError(lost[0])
                channel.send("outcome", outcome)
                for file, piece in keeping.pieces():
                    channel.send("piece", file, piece)
                channel.send("all", keeping.trace_error)
        return bool(lost)


def _connected(address: tuple[str, int], patience: float) -> socket.socket:
    """A connection to who leads, who may yet have to begin."""
    until = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection(address, timeout=max(1.0, until - time.monotonic()))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _links(
    job: Job,
    memory: Memory,
    others: dict[int, tuple[str, int]],
    leader: tuple[str, int],
    server: socket.socket,
    token: bytes,
) -> list[Link]:
    """To machines with lower numbers by connecting to them, from others by waiting for them."""
    found: dict[int, socket.socket] = {}
    for machine in range(job.machine):
        connection = socket.create_connection(leader if machine == 0 else others[machine], timeout=_GRACE)
        prove(connection, token, role=b"joins")
        connection.sendall(bytes([job.machine]))
        found[machine] = connection
    server.settimeout(_GRACE)
    while len(found) < len(others):
        connection, _ = server.accept()
        prove(connection, token, role=b"leads")
        found[connection.recv(1)[0]] = connection
    return [Link(memory, machine, connection) for machine, connection in sorted(found.items())]


def _run(job: Job, image: Image, memory: Memory, channel: Channel, links: list[Link]) -> MachineReport:
    sys.path += [entry for entry in job.path if entry not in sys.path]
    poll = select.poll()
    poll.register(channel.fileno(), select.POLLIN | select.POLLHUP)

    def look() -> None:
        if poll.poll(0):  # while a program runs, the leading machine says nothing: it is gone
            engine.abort(memory, image)

    sockets = {link.machine: link.fileno() for link in links}
    reports = workers.run(image, memory, job.parts, modules=job.modules, values=job.values, on_wait=look, links=sockets)
    for seconds in (0.0, _GRACE):
        for link in links:
            link.end(seconds)
    return MachineReport.of(image, memory, reports)
