"""How does the user's process lead a run that stands in other processes?

One process is *live*: it goes where it is told. On its way, now and then, it goes on as a copy and leaves the original
behind: a snapshot, from which another copy can be made. To go back, the live one ends, and a copy of the last snapshot
before takes its place. Snapshots are some fraction of a second of execution apart, and every second one is given up
when there are too many; so no way back takes longer than that fraction, or what it has grown to.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import struct
import threading
import weakref
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from reactors.errors import ReplayError
from reactors.execution.in_threads import start
from reactors.execution.states import attributes
from reactors.rewinding.places import Breaks, Goal, Standing
from reactors.rewinding.sending import received
from reactors.rewinding.shipment import Rewound
from reactors.shipping import parcels
from reactors_runtime.processes import workers
from reactors_runtime.processes.messages import WireEnd, mapped
from reactors_runtime.settings.value_settings import ValueSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.graph import Graph
    from reactors.slicing.slicer import Found, Thing
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

INTERVAL_S = 0.25  # of execution, between snapshots at first
MOST = 48  # snapshots, at which every second one is given up
_ASIDE_S = 0.5  # how often one looks whether the first process is still there


@dataclass
class Copied:
    """A process of the run: its socket, and where it stands, if it does."""

    wire: WireEnd
    pid: int
    standing: Standing | None = None


class Timeline:
    """A program that is executed again from one origin: the live process, and snapshots, the origin among them."""

    def __init__(self, graph: Graph, image: Image, memory: Memory, *, quiet: bool, debug: bool) -> None:
        self.graph, self.image, self.memory = graph, image, memory
        self.originals = [attributes(reactor) for reactor in graph.reactors]
        self.interval, self.breaks = INTERVAL_S, Breaks()
        self.executed = 0  # how often something was executed again from a snapshot
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        address = f"\0reactors-{secrets.token_hex(16)}"  # of no file: nothing is left behind
        self._listener.bind(address)
        self._listener.listen(64)
        self._everyone: list[Copied] = []
        self._reports: dict[int, workers.Report] = {}
        self._errors: list[BaseException] = []
        make = partial(Rewound, address=address, quiet=quiet)
        parcel = parcels.pack(graph, image, 0, debug=debug, make=make)
        self._thread = threading.Thread(
            target=_see_through,
            args=(image, memory, parcel, self._reports, self._errors, ValueSettings.now()),
            name="reactors replay",
            daemon=True,
        )
        self._end = weakref.finalize(self, _end, self._listener, self._everyone, self._thread, memory)
        try:
            start(self._thread, "the thread that sees to the run")
            self.snapshots = [self._first()]
        except BaseException:
            self._end()
            raise
        self.live: Copied | None = None

    def _first(self) -> Copied:
        """The process that stands before the first reaction, and stays there."""
        first = self._accepted()
        first.standing = self._heard(first)
        return first

    # ---- going ----

    @property
    def standing(self) -> Standing:
        """Where the run stands."""
        where = self.live or self.snapshots[0]
        assert where.standing is not None
        return where.standing

    def go(self, goal: Goal, is_before: Callable[[Standing], bool]) -> Standing:
        """Go where `goal` holds first: on from here if here is before that, else from the last snapshot that is.

        `is_before` says of a place whether the run has to be executed from there on, or stands there right now.
        """
        live = self.live
        if live is None or live.standing is None or not is_before(live.standing):
            self._go_back(is_before)
        return self._go_on(goal)

    def _go_back(self, is_before: Callable[[Standing], bool]) -> None:
        nearest = max(
            (each for each in self.snapshots if each.standing is not None and is_before(each.standing)),
            key=lambda each: each.standing.position if each.standing is not None else -1,
            default=self.snapshots[0],
        )
        self._let_live_go()
        self.live = self._copy(nearest)
        self.executed += 1

    def another(self) -> Copied:
        """Another process that stands where the live one does: a copy, or what is executed again up to there."""
        live = self.live or self.snapshots[0]
        where = self.standing
        if not where.hindrance:
            return self._copy(live)
        before = max(
            (each for each in self.snapshots if each.standing is not None and each.standing.position <= where.position),
            key=lambda each: each.standing.position if each.standing is not None else -1,
        )
        return self.run(self._copy(before), Goal(position=where.position, interval=0), Breaks())

    def noticed(self, thing: Thing, most: int) -> Found:
        """What made something, by another execution from the origin to here that notices what is read and changed."""
        process = self._copy(self.snapshots[0])
        try:
            self.ask("notice", of=process)
            process = self.run(process, Goal(position=self.standing.position, interval=0), Breaks())
            found: Found = self.ask("slice", thing, most, of=process)
            return found
        finally:
            self.forget(process)

    def _copy(self, of: Copied) -> Copied:
        if hindrance := (of.standing.hindrance if of.standing is not None else ""):
            raise ReplayError(f"{self.graph.main.path} cannot be copied here: {hindrance}")
        self.ask("copy", of=of)
        made = self._accepted()
        made.standing = self._heard(made)
        return made

    def _go_on(self, goal: Goal) -> Standing:
        live = self.live
        assert live is not None
        live.standing = None
        try:
            self.live = self.run(live, replace(goal, interval=self.interval if not goal.compares else 0), self.breaks)
        except BaseException:
            self.live = None  # it ends when its socket closes
            self.forget(live)
            raise
        self._thin_out()
        return self.standing

    def run(self, live: Copied, goal: Goal, breaks: Breaks) -> Copied:
        """Let a process go on, and wait until it stops; it may be another one by then."""
        self._tell(live, "go", goal, breaks)
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(live.wire, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll(_ASIDE_S * 1000):
                if descriptor == self._listener.fileno():
                    next_one = self._accepted()
                    live.standing = self._heard(next_one)  # where the other one stays
                    self.snapshots.append(live)
                    poll.unregister(live.wire)
                    live = next_one
                    poll.register(live.wire, select.POLLIN)
                else:
                    live.standing = self._heard(live)
                    return live
            self._look()

    def _thin_out(self) -> None:
        """Give up every second snapshot but the first and the last when there are too many."""
        self.snapshots.sort(key=lambda each: each.standing.position if each.standing is not None else -1)
        if len(self.snapshots) <= MOST:
            return
        self.interval *= 2
        for each in self.snapshots[1:-1:2]:
            self.snapshots.remove(each)
            self.forget(each)

    def _let_live_go(self) -> None:
        if self.live is not None:
            self.forget(self.live)
            self.live = None

    def forget(self, process: Copied) -> None:
        """End a process of the run."""
        process.wire.close()

    # ---- talking ----

    def ask(self, word: str, *rest: Any, of: Copied | None = None) -> Any:
        """What a process answers; raises what it raised."""
        process = of or self.live or self.snapshots[0]
        self._tell(process, word, *rest)
        return self._heard(process)

    def take_home(self, process: Copied | None = None) -> None:
        """Make the attributes of the caller's reactors what they are where the run stands."""
        process = process or self.live or self.snapshots[0]
        self._tell(process, "state")
        _, descriptors = self._received(process)
        for reactor, before in zip(self.graph.reactors, self.originals, strict=True):
            for name in attributes(reactor).keys() - before.keys():
                object.__delattr__(reactor, name)
            for name, value in before.items():
                object.__setattr__(reactor, name, value)
        parcels.take_home(self.graph, self.image, 0, mapped(*descriptors))

    def _tell(self, process: Copied, *message: Any) -> None:
        try:
            process.wire.send(*message)
        except OSError:
            raise self._lost(process) from None

    def _heard(self, process: Copied) -> Any:
        (word, *rest), _ = self._received(process)
        if word == "wrong":
            error = received(rest[0])
            if isinstance(error, BaseException):
                error.add_note(f"in the process of the replay:\n{rest[1]}")
                raise error
            raise ReplayError(f"{self.graph.main.path}: {rest[1]}")
        (answer,) = rest
        return answer

    def _received(self, process: Copied) -> tuple[Any, list[int]]:
        while True:
            poll = select.poll()
            poll.register(process.wire, select.POLLIN)
            if poll.poll(_ASIDE_S * 1000):
                try:
                    return process.wire.receive()
                except (EOFError, OSError):
                    raise self._lost(process) from None
            self._look()

    def _lost(self, process: Copied) -> ReplayError:
        """The error that says that a process is gone."""
        self._look()
        return ReplayError(
            f"{self.graph.main.path}: the process {process.pid}, which executed it again, has died in the middle of a "
            "reaction: C code crashed, or the system was out of memory; go to an earlier tag, and step from there"
        )

    def _accepted(self) -> Copied:
        """A process that has just come, by the user who runs this one."""
        while True:
            poll = select.poll()
            poll.register(self._listener, select.POLLIN)
            if not poll.poll(_ASIDE_S * 1000):
                self._look()
                continue
            end, _ = self._listener.accept()
            end.set_inheritable(False)
            pid, user, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if user != os.getuid():
                end.close()
                continue
            made = Copied(WireEnd(end), pid)
            self._everyone.append(made)
            (_, made.pid), _ = made.wire.receive()
            return made

    def _look(self) -> None:
        """Raise what went wrong with the first process."""
        if not self._end.alive:
            raise closed(self.graph)
        if self._thread.is_alive():
            return
        found = [*self._errors, *(report.error for report in self._reports.values() if report.error is not None)]
        if found:
            parcels.unpack(self.graph, self.image, [])
            raise ReplayError(f"{self.graph.main.path} cannot be executed again: {found[0]}") from found[0]

    def close(self) -> None:
        """End all processes."""
        self._end()


def closed(graph: Graph) -> ReplayError:
    """The error for what is asked of a replay that has been closed."""
    return ReplayError(f"{graph.main.path}: the replay is closed; make another one, or use it within its `with` block")


def _see_through(
    image: Image,
    memory: Memory,
    parcel: parcels.Parcel,
    reports: dict[int, workers.Report],
    errors: list[BaseException],
    values: ValueSettings,
) -> None:
    """Start the first process, and see it to its end."""
    try:
        workers.run(image, memory, {0: parcel}, modules=parcels.modules([parcel]), reports=reports, values=values)
    except BaseException as error:  # noqa: BLE001 - it is raised where it is looked for
        errors.append(error)


def _end(listener: socket.socket, everyone: list[Copied], thread: threading.Thread, memory: Memory) -> None:
    """End all processes of a timeline, the first one last, which waits for the others."""
    first, others = everyone[:1], everyone[1:]
    listener.close()
    for each in others:
        each.wire.close()
    for each in first:
        with contextlib.suppress(OSError):
            each.wire.send("end", [other.pid for other in others])
    if thread.ident is not None and thread is not threading.current_thread():
        thread.join()
    for each in first:
        each.wire.close()
    everyone.clear()
    memory.close()
