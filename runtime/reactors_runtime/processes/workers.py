"""Run an image on worker processes: start them, see them through, collect what became of them.

Nothing here waits without looking: at the workers, at the server that forks them, at Ctrl-C, at what they print. When
it returns, or raises, no worker is left.
"""

from __future__ import annotations

import contextlib
import copyreg
import io
import math
import os
import pickle
import select
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from reactors_runtime import engine
from reactors_runtime.processes import faults, servers, terminal
from reactors_runtime.processes.faults import WorkerDied, WorkerNotStarted
from reactors_runtime.processes.inheritance import Inheritance
from reactors_runtime.processes.interrupts import Interrupts
from reactors_runtime.processes.messages import mapped, spill
from reactors_runtime.processes.output import WorkerOutput
from reactors_runtime.processes.remote_logging import Configuration, Records
from reactors_runtime.processes.servers import close_server, idle_server, warm_up
from reactors_runtime.processes.stuck import Stopping
from reactors_runtime.processes.worker import Setting
from reactors_runtime.program import Element, NativeFunction
from reactors_runtime.settings.value_settings import ValueSettings

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Iterable, Mapping

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image
    from reactors_runtime.processes.servers import ServerProcess

__all__ = ["Report", "WorkerDied", "WorkerNotStarted", "close_server", "idle_server", "run", "warm_up"]

_GRACE = 5.0  # seconds that a worker has to end when its work is done
_SURVIVAL = 30.0  # seconds that the others have for their shutdown reactions when a worker has died


@dataclass(slots=True)
class Report:
    """What became of a worker."""

    worker: int
    pid: int | None = None  # once it has started
    attributes: mmap.mmap | None = None  # what its part wrote down in the end
    error: BaseException | None = None
    aftermath: bool = False  # the program had come to its end before: this error is not why
    place: int = 0  # among the errors of a run, in the order in which they happened


def run(
    image: Image,
    memory: Memory,
    parts: Mapping[int, bytes],
    *,
    modules: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
    on_wait: Callable[[], None] | None = None,
    reports: dict[int, Report] | None = None,
    values: ValueSettings | None = None,
    links: Mapping[int, int] = MappingProxyType({}),
) -> list[Report]:
    """Run a process for each of the workers that have a part, to the end of the program, and return a report of each.

    `modules` are imported before the workers are forked, where that is possible. `environment` is set on top of the
    caller's. `on_wait` is called ten times a second. `reports` is filled as they come. `values` are the settings of
    another thread than this one. `links` are the sockets of links to other machines, by machine. What goes wrong is in
    the reports, and ends the program also where the caller runs a worker of it; after Ctrl-C, all of them hold
    KeyboardInterrupt. `first_error` picks the one to raise.
    """
    error: Exception
    reports = {} if reports is None else reports
    with Interrupts() as interrupts, WorkerOutput() as output, Records() as records, terminal.kept():
        try:
            modules = [*modules]
            servers.warm_up(modules, environment)  # it gets ready while we pickle
            plan = pickled(image)
            with servers.lent(modules, environment, interrupts) as server:
                run = _Run(image, memory, server, interrupts, output, records, on_wait, reports, links)
                return run.through(plan, parts, environment, values or ValueSettings.now())
        except servers.ServerDied as died:  # while it started
            error = WorkerNotStarted(str(died))
        except WorkerDied as died:  # all of them, with the server
            error = died
        engine.abort(memory, image)
        for worker in parts:
            report = reports.setdefault(worker, Report(worker))
            report.error, report.aftermath, report.place = error, False, 0
        return [*reports.values()]


def pickled(image: Image) -> bytes:
    """The image for a worker process, here or on another machine.

    It has no addresses of C functions, which hold in this process alone (parts bring their own), and no types of ports,
    which a worker need not know, and could not find if the main script defines them.
    """
    file = io.BytesIO()
    pickler = pickle.Pickler(file, protocol=5)
    pickler.dispatch_table = copyreg.dispatch_table | {
        NativeFunction: lambda _: (NativeFunction, (0, 0)),
        Element: lambda element: element._replace(type=None).__reduce_ex__(5),
    }
    pickler.dump(image)
    return file.getvalue()


def first_error(reports: Iterable[Report]) -> BaseException | None:
    """Of what went wrong on the workers, what went wrong first."""
    failed = [report for report in reports if report.error is not None]
    return min(failed, key=lambda report: report.place).error if failed else None


class _Run:
    """The workers of one run, from the first fork to the last exit."""

    def __init__(
        self,
        image: Image,
        memory: Memory,
        server: ServerProcess,
        interrupts: Interrupts,
        output: WorkerOutput,
        records: Records,
        on_wait: Callable[[], None] | None,
        reports: dict[int, Report],
        links: Mapping[int, int],
    ) -> None:
        self.image, self.memory, self.server = image, memory, server
        self.interrupts, self.output, self.records, self.on_wait = interrupts, output, records, on_wait
        self.reports = reports
        self.links = links
        self.forking = False  # the server has not answered yet
        self.alive: dict[int, float] = {}  # forked and not yet ended: when it is to be killed
        self.crashes: dict[int, int] = {}  # where a worker's faulthandler writes
        self.modules: dict[str, None] = {}  # what workers imported, in order
        self.errors = 0
        self.killed: dict[int, str] = {}  # by us: why
        self.stopping = False
        self.notice = Stopping(image, memory, "Ctrl-C kills it")
        self.poll = select.poll()
        talking = server.fileno(), server.wire.fileno(), interrupts.fileno(), records.fileno(), *output.sources()
        for source in talking:
            self.poll.register(source, select.POLLIN)

    def through(
        self, plan: bytes, parts: Mapping[int, bytes], environment: Mapping[str, str] | None, values: ValueSettings
    ) -> list[Report]:
        """Start a worker for each part and see all to their end."""
        try:
            self.start(plan, parts, environment, values)
            while self.alive:
                self.look()
        except BaseException:  # from a signal handler of the user or `on_wait`, or the server is dead
            self.on_wait = None
            self.stop(engine.ABORTED)
            while self.alive:
                self.look()
            raise  # which ends the server and with it the rest
        finally:
            for descriptor in self.crashes.values():
                os.close(descriptor)
        servers.prepare(self.server, self.modules)
        if self.interrupts.count:
            cause = first_error(self.reports.values())
            for report in self.reports.values():
                report.error = KeyboardInterrupt()
                report.error.__cause__ = cause
        return [*self.reports.values()]

    def start(
        self, plan: bytes, parts: Mapping[int, bytes], environment: Mapping[str, str] | None, values: ValueSettings
    ) -> None:
        setting = Setting(
            servers.environment(environment),
            servers.search_path(),
            sys.argv,
            str(Path.cwd()),
            Inheritance.now(),
            values,
            Configuration.now(),
            [*self.links],
            *self.output.encoding,
        )
        image = spill([plan])
        shown = [*self.output.descriptors] if (typed := terminal.ours()) is None else [*self.output.descriptors, typed]
        try:
            for worker, pickled in parts.items():
                self.reports[worker] = Report(worker)
                part = spill([pickled])
                try:
                    descriptors = [image, part, self.memory.descriptor, self.records.descriptor]
                    descriptors += [*self.links.values(), *shown]
                    self.server.wire.send("fork", worker, setting, descriptors=descriptors)
                except ConnectionError:
                    raise self.abandoned() from None
                finally:
                    os.close(part)
                self.forking = True
                while self.forking:
                    self.look()
                if self.stopping:
                    break
        finally:
            os.close(image)

    def look(self) -> None:
        """Wait a little, and see to what has happened."""
        for descriptor, _ in self.poll.poll(100 if self.on_wait else 500):
            if descriptor == self.server.wire.fileno():
                self.hear()
            elif descriptor == self.interrupts.fileno():
                self.interrupted(self.interrupts.heard())
            elif descriptor == self.records.fileno():
                self.records.forward()
            elif descriptor == self.server.fileno():
                raise self.abandoned()
            else:
                self.output.forward()
        now = time.monotonic()
        overdue = [worker for worker, due in self.alive.items() if due < now]
        if overdue:
            self.kill(overdue, "it did not come to its end in time after the program had been stopped")
        unfinished = {w: self.reports[w].pid for w in self.alive if self.reports[w].attributes is None}
        self.notice.look(unfinished)
        if self.on_wait:
            self.on_wait()

    def hear(self) -> None:
        """Something was said by the server (forked, unforked, exited) or a worker (started, failed, done)."""
        try:
            (word, worker, *rest), descriptors = self.server.wire.receive()
        except EOFError:
            raise self.abandoned() from None
        report = self.reports[worker]
        if word == "forked":
            self.alive[worker] = math.inf
            self.forking = False
        elif word == "unforked":
            self.forking = False
            self.went_wrong(report, WorkerNotStarted(faults.not_started(f"worker {worker}", *rest)))
        elif word == "started":
            (report.pid,) = rest
            (self.crashes[worker],) = descriptors
        elif word == "failed":
            (failure,) = rest
            aftermath = engine.aborted(self.memory) if failure.when == "end" else failure.aftermath
            self.went_wrong(report, faults.revived(self.image, worker, report.pid, failure), aftermath=aftermath)
        elif word == "done":
            self.modules.update(dict.fromkeys(*rest))
            report.attributes = mapped(*descriptors)
            self.alive[worker] = time.monotonic() + _GRACE
        elif word == "exited":
            del self.alive[worker]
            if report.attributes is None:
                # One that could not start, or not send what it has, has said so, and then ends in order.
                explained = rest == [0] and isinstance(report.error, WorkerNotStarted | faults.WorkerDied)
                if not explained:
                    self.went_wrong(report, self.death(report, *rest), aftermath=engine.aborted(self.memory))
                # What the others wait for may be in a state that only the dead one could have left.
                due = time.monotonic() + _SURVIVAL
                self.alive = {other: min(due, earlier) for other, earlier in self.alive.items()}

    def death(self, report: Report, status: int) -> WorkerDied:
        crash = b""
        with contextlib.suppress(KeyError, ValueError), mapped(self.crashes.pop(report.worker)) as written:
            crash = written[:]
        text = crash.decode(errors="replace").strip()
        why = self.killed.get(report.worker)
        return faults.died(self.image, self.memory, report.worker, report.pid, status, text, why)

    def went_wrong(self, report: Report, error: BaseException, *, aftermath: bool = False) -> None:
        """The first error of a worker counts; the others are asked to come to an end."""
        if report.error is None:
            self.errors += 1
            report.error, report.aftermath, report.place = error, aftermath, self.errors
        else:
            report.error.add_note(engine.besides(self.image.program, error, aftermath=True))
        self.stop(engine.ABORTED)

    def stop(self, code: int) -> None:
        if not self.stopping:
            self.stopping = True
            self.notice.begin()
            engine.abort(self.memory, self.image, code)

    def interrupted(self, count: int) -> None:
        """Ctrl-C: once, and the shutdown reactions run; twice, and no worker goes on."""
        self.stop(engine.INTERRUPTED)
        if count > 1:
            self.kill([*self.alive], "the second Ctrl-C killed it")

    def kill(self, workers: list[int], why: str) -> None:
        self.killed.update(dict.fromkeys(workers, why))
        with contextlib.suppress(ConnectionError):  # then they are dead already
            self.server.wire.send("kill", workers)
        for worker in workers:
            self.alive[worker] = time.monotonic() + _GRACE

    def abandoned(self) -> WorkerDied:
        self.alive.clear()
        return WorkerDied(str(self.server.died()))
