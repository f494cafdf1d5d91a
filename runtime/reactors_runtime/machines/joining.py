"""A machine that joins: it proves itself, gets its share of a program, runs it, and sends home what became of it."""

from __future__ import annotations

import os
import pickle
import select
import socket
import sys
import time
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Any

from reactors_runtime import engine
from reactors_runtime.machines.channel import Channel, NotOurs
from reactors_runtime.machines.connections import ListeningSocket, Peer
from reactors_runtime.machines.encryption import LinkAddress
from reactors_runtime.machines.job import Job, MachineReport, Platform
from reactors_runtime.machines.keeping import Keeping
from reactors_runtime.machines.link import Link, say_goodbye
from reactors_runtime.processes import workers
from reactors_runtime.settings import cores

if TYPE_CHECKING:
    from reactors_runtime.machines.encryption import Identity
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

_GRACE = 10.0  # seconds to be linked with others, and for the leading machine to take what it may be too late for
_SILENCE = 30.0  # seconds in which the leading machine says that it is there, or begins, unless something is wrong
_AGAIN = 10.0  # seconds at least for the leading machine to begin again


class Refused(Exception):  # noqa: N818 - it is what happened
    """The leading machine does not want this one; says why."""


def join(leader: Peer, *, own: Identity | None = None, patience: float) -> None:
    """Connect to the machine that leads, waiting so many seconds for it to be there, and run one program with it.

    By TLS it shows others that connect to it what is its `own`. Where a machine was lost the leading one may begin
    again, so this one is there again. Raises `Refused`, `NotOurs`, EOFError where it is lost, OSError where there is no
    way to it.
    """
    while _joined(leader, own, patience):
        patience = max(patience, _AGAIN)  # a checkpoint is read, and the program made again


def _joined(leader: Peer, own: Identity | None, patience: float) -> bool:
    """Take part once; whether another machine was lost, and not the one that leads.

    Raises `KeyboardInterrupt` where this one was interrupted, once the leading one knows.
    """
    with (
        leader.connection(patience) as connection,
        closing(ListeningSocket((connection.getsockname()[0], 0), leader.token, own)) as listener,
    ):
        channel = Channel(connection)
        place = LinkAddress(listener.address, None if own is None else own.certificate)
        channel.send("hello", Platform.here(), place, socket.gethostname(), os.getpid())
        word, *rest = _answered(channel)
        if word == "refused":
            raise Refused(rest[0])
        job, others = rest
        image: Image = pickle.loads(job.image)
        _keep_on_own_cores(image, job.machine)
        with job.memory(image) as memory, Keeping(image, memory) as keeping:
            channel.send("ready")
            _answered(channel)  # "go": all have their share
            with ExitStack() as until_over:
                links = _links(job, memory, others, leader, listener, until_over)
                outcome = _run(job, image, memory, channel, links)
                keeping.stop()
            if 0 in outcome.lost:
                with suppress(OSError):  # the reason may be here, and the leading machine alive
                    channel.send("outcome", outcome, seconds=_GRACE)
                raise EOFError(outcome.lost[0])
            channel.send("outcome", outcome)
            for file, piece in keeping.pieces():
                channel.send("piece", file, piece)
            channel.send("all", keeping.trace_error)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return bool(outcome.lost)


def _answered(channel: Channel) -> tuple[Any, ...]:
    """What the leading machine has to say; until then it asks how far this one is, or says that it is there."""
    while (message := channel.receive(_SILENCE)) in (("how far",), ("wait",)):
        if message == ("how far",):
            channel.send("so far", time.monotonic_ns())
    return message


def _keep_on_own_cores(image: Image, machine: int) -> None:
    """Where workers stay on one core each, those of a machine that is no process beside the leading one, too."""
    options, found = image.options, cores.in_order()
    first, *others = options.workers_of(machine, image.workers)
    if not options.cores or first < len(options.cores):
        return
    if len(found) <= len(others):
        raise Refused(f"pin=True gives each worker a core of its own; here would be {1 + len(others)} on {len(found)}")
    options.cores = (0,) * first + found[: 1 + len(others)]


def _links(
    job: Job, memory: Memory, others: dict[int, LinkAddress], leader: Peer, listener: ListeningSocket, stack: ExitStack
) -> list[Link]:
    """Connect to machines with lower numbers, and wait for those with higher ones; then stop listening.

    Some may be missing where a machine is lost meanwhile, but then the run is aborted.
    """
    found: dict[int, Link] = {}

    def link(machine: int, connection: socket.socket) -> None:
        found[machine] = stack.enter_context(closing(Link(memory, machine, stack.enter_context(connection))))

    for machine in range(job.machine):
        peer = leader.at(others[machine]) if machine else leader
        link(machine, peer.connection(_GRACE, job.machine))
    until = time.monotonic() + _GRACE
    while (missing := others.keys() - found.keys()) and not engine.aborted(memory):
        try:
            connection, machine = listener.accept(0.1)
        except NotOurs:
            continue
        except TimeoutError:
            if time.monotonic() > until:
                raise
            continue
        if machine in missing:
            link(machine, connection)
        else:
            connection.close()
    listener.close()
    return [*found.values()]


def _run(job: Job, image: Image, memory: Memory, channel: Channel, links: list[Link]) -> MachineReport:
    sys.path += [entry for entry in job.path if entry not in sys.path]
    poll = select.poll()
    poll.register(channel.fileno(), select.POLLIN | select.POLLHUP)

    def look() -> None:
        if poll.poll(0):  # while a program runs, the leading machine says nothing: it is gone
            engine.abort(memory, image)

    sockets = {link.machine: link.fileno() for link in links}
    reports = workers.run(image, memory, job.parts, modules=job.modules, values=job.values, on_wait=look, links=sockets)
    say_goodbye(links, look)
    return MachineReport.of(image, memory, reports, {link.machine: link.lost for link in links if link.lost})
