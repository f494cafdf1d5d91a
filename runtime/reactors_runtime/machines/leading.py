"""The machine that leads: it waits for the others, gives each its share, and gathers what became of them."""

from __future__ import annotations

import errno
import secrets
import select
import socket
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reactors_runtime.machines.channel import STALL, Channel, NotOurs
from reactors_runtime.machines.connections import ListeningSocket
from reactors_runtime.machines.encryption import LinkAddress
from reactors_runtime.machines.job import Job, MachineReport, Platform, pages_of
from reactors_runtime.machines.link import SILENCE, Link, say_goodbye
from reactors_runtime.machines.signs_of_life import SignsOfLife
from reactors_runtime.planning.options import MachineClock
from reactors_runtime.processes import workers
from reactors_runtime.processes.faults import ranges
from reactors_runtime.processes.workers import Report
from reactors_runtime.settings.value_settings import ValueSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from reactors_runtime.machines.encryption import Identity
    from reactors_runtime.machines.keeping import RunFiles
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

_AGAIN = 1.0  # seconds after which those that have come are asked again, until all have
_TRIPS = 16  # to each machine, of which the shortest counts
_GRACE = 10.0  # seconds for others to be linked with, and to send home what became of them after their goodbye
_LAST_WORD = 0.5  # seconds for one of which nothing was heard, if it is there after all


class LostMachine(Exception):  # noqa: N818 - it is what happened
    """A machine is gone, or cannot be reached any more; which one, with its reactors."""

    machine = -1


class MachineInterrupted(Exception):  # noqa: N818 - likewise
    """Ctrl-C at another machine has ended the program; which one, with its reactors."""


class MachinesMissing(Exception):  # noqa: N818 - likewise
    """Not all machines have come."""


@dataclass
class Member:
    """A machine that has joined."""

    machine: int
    channel: Channel
    place: LinkAddress  # where it waits for links
    host: str
    pid: int
    platform: Platform
    round_trip: int = 0  # ns for a message there and back
    ahead: int = 0  # ns by which its monotonic clock is, give or take half of that
    outcome: MachineReport | None = None

    @property
    def name(self) -> str:
        """For messages."""
        return f"machine {self.machine} ({self.host}, pid {self.pid})"


def _trip(channel: Channel) -> tuple[int, int]:
    """Ns for a message there and back, and those by which the clock there is ahead, if both ways took equally long."""
    began = time.monotonic_ns()
    channel.send("how far")
    _, there = channel.receive(SILENCE)
    ended = time.monotonic_ns()
    return ended - began, there - (began + ended) // 2


def _has_said_something(member: Member) -> bool:
    """Which it does at the end alone, or when it is gone."""
    poll = select.poll()
    poll.register(member.channel.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _with_reactors(image: Image, member: Member) -> str:
    its = image.options.workers_of(member.machine, image.workers)
    there = [r for r, at in zip(image.program.reactors, image.placement, strict=True) if at in its]
    return f"{member.name}, which runs {', '.join(ranges(there)) or 'no reactor'},"


def _lost(image: Image, member: Member, why: str) -> LostMachine:
    error = LostMachine(f"{_with_reactors(image, member)} is lost: {why}")
    error.machine = member.machine
    return error


@contextmanager
def _there(member: Member) -> Iterator[None]:
    """What goes wrong in here is that a machine is gone."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise MachinesMissing(f"{member.name} has gone again before the program began ({error})") from None


class Gathering:
    """The machines of one run, the leading one among them: `wait` for them, `run` a program on all, `close`."""

    def __init__(
        self, count: int, address: tuple[str, int], token: bytes | None = None, identity: Identity | None = None
    ) -> None:
        self.count, self._encrypted = count, identity is not None
        self.token = token or secrets.token_hex(32).encode()
        self.members: list[Member] = []
        self._listener = ListeningSocket(address, self.token, identity)
        self.address = self._listener.address
        self._signs_of_life: SignsOfLife | None = None  # once all have joined, until all have their share
        self._platform = Platform.here()

    def wait(self, seconds: float, look: Callable[[], None] | None = None) -> None:
        """Until all have joined; `look` is called now and then. Raises `MachinesMissing`."""
        asked = time.monotonic()
        until = asked + seconds
        refused: list[str] = []
        while len(self.members) < self.count - 1:
            if look is not None:
                look()
            now = time.monotonic()
            if now > asked + _AGAIN:
                refused += self._without_lost()
                asked = now
            left = until - now
            if left <= 0:
                why = f"; {'; '.join(refused)}" if refused else ""
                raise MachinesMissing(
                    f"{len(self.members)} of {self.count - 1} machines have joined at "
                    f"{self.address[0]}:{self.address[1]} within {seconds:g} s{why}"
                )
            try:
                connection, machine = self._listener.accept(min(left, 0.1))
            except TimeoutError:
                continue
            except NotOurs as error:
                refused.append(f"refused: {error}")
                continue
            try:
                self._welcome(Channel(connection), machine)
            except (NotOurs, OSError, EOFError) as error:
                refused.append(f"refused: {error}")
                connection.close()
        self._measure()
        self._signs_of_life = SignsOfLife([member.channel for member in self.members])

    def _without_lost(self) -> list[str]:
        """Ask those that have come whether they are still there, which shows them that this one is; who is not."""
        lost, members = [], self.members
        self.members = []
        for member in members:
            try:
                _trip(member.channel)
                member.machine = len(self.members) + 1
                self.members.append(member)
            except (OSError, EOFError):
                lost.append(f"{member.name} has come and is gone again")
                member.channel.close()
        return lost

    def _welcome(self, channel: Channel, machine: int) -> None:
        if machine:
            raise NotOurs(f"machine {machine} of another run has come")
        try:
            _, platform, place, host, pid = channel.receive(_GRACE)
            why = self._platform.cannot_run_with(platform)
        except (OSError, EOFError):
            raise
        except Exception as error:  # noqa: BLE001 - another version may say anything
            why = f"it speaks as another version of reactors than {self._platform.reactors} ({error})"
            channel.send("refused", why)
            raise NotOurs(why) from None
        if why is None and self._encrypted and self.count > 2 and place.certificate is None:
            why = "others are to connect to it, and it has no certificate; let it join with --certificate and --key"
        if why is not None:
            channel.send("refused", why)
            raise NotOurs(f"{host}: {why}")
        self.members.append(Member(len(self.members) + 1, channel, place, host, pid, platform))

    def _measure(self) -> None:
        """How far all are, and how their clocks differ, now that there is nothing more to wait for."""
        for member in self.members:
            try:
                member.round_trip, member.ahead = min(_trip(member.channel) for _ in range(_TRIPS))
            except (OSError, EOFError):
                raise MachinesMissing(f"{member.name} has gone again before the program began") from None

    def clocks(self) -> list[MachineClock]:
        """Of all machines, this one's first."""
        others = [MachineClock(each.host, each.ahead, -(-each.round_trip // 2)) for each in self.members]
        return [MachineClock(socket.gethostname(), 0, 0), *others]

    @property
    def latency(self) -> int:
        """How many ns a message from one machine to another takes, at most."""
        return max((member.round_trip // 2 for member in self.members), default=0)

    def differences(self) -> list[str]:
        """What may let machines calculate in other ways, a sentence each."""
        pairs = ((member, self._platform.may_calculate_otherwise(member.platform)) for member in self.members)
        return [f"{member.name}: {why}" for member, why in pairs if why is not None]

    def run(
        self,
        image: Image,
        memory: Memory,
        parts: Mapping[int, bytes],
        *,
        modules: Iterable[str] = (),
        on_wait: Callable[[], None] | None = None,
        files: RunFiles,
        reports: dict[int, Report],
    ) -> None:
        """As `processes.workers.run`, with `parts` and `reports` of all workers.

        What all have counted is in this memory then, and what they have kept in `files`, also where `on_wait` or a
        signal handler of the user raises, which comes out of this.
        """
        modules = [*modules]
        of = image.options.machine_of
        image.options.clocks = self.clocks()
        self._send_jobs(image, memory, parts, modules)
        with ExitStack() as stack:
            links = self._links(memory, stack)

            def look() -> None:
                self._hear()
                if on_wait is not None:
                    on_wait()

            mine = {worker: part for worker, part in parts.items() if of[worker] == 0}
            sockets = {link.machine: link.fileno() for link in links}
            try:
                workers.run(image, memory, mine, modules=modules, on_wait=look, links=sockets, reports=reports)
                say_goodbye(links, look)
            except BaseException:
                say_goodbye(links, self._hear)
                raise
            finally:
                reports |= self._gather(image, memory, {link.machine: link for link in links}, files)
                self._add_lost_links(image, links, reports.values())

    def _send_jobs(self, image: Image, memory: Memory, parts: Mapping[int, bytes], modules: list[str]) -> None:
        """Give each its share; only when all are ready may they begin, for they do not wait long for links."""
        assert self._signs_of_life is not None
        pickled, (pages, contents) = workers.pickled(image), pages_of(memory)
        places = {0: LinkAddress(self.address)} | {member.machine: member.place for member in self.members}
        for member in self.members:
            its = {w: part for w, part in parts.items() if image.options.machine_of[w] == member.machine}
            job = Job(
                member.machine,
                pickled,
                its,
                modules,
                ValueSettings.now(),
                [*sys.path, str(Path.cwd())],
                pages,
                contents,
            )
            others = {machine: place for machine, place in places.items() if machine != member.machine}
            with _there(member), self._signs_of_life.silent(member.channel):
                member.channel.send("job", job, others, seconds=_GRACE)
        for member in self.members:
            with _there(member), self._signs_of_life.silent(member.channel):
                member.channel.receive(STALL)
        self._signs_of_life.end()
        for member in self.members:
            with _there(member):
                member.channel.send("go", seconds=_GRACE)

    def _links(self, memory: Memory, stack: ExitStack) -> list[Link]:
        """To all, after which no machine is listened to any more: who comes late sees that at once."""
        found: dict[int, Link] = {}
        until = time.monotonic() + _GRACE
        while missing := {member.machine: member for member in self.members if member.machine not in found}:
            try:
                connection, machine = self._listener.accept(0.1)
            except NotOurs:
                continue
            except TimeoutError:
                if not any(map(_has_said_something, missing.values())) and time.monotonic() < until:
                    continue
                names = ", ".join(member.name for member in missing.values())
                raise MachinesMissing(f"{names} cannot be linked with") from None
            if machine in missing:
                found[machine] = stack.enter_context(closing(Link(memory, machine, stack.enter_context(connection))))
            else:
                self._turn_away(connection)
        self._listener.close()
        return [*found.values()]

    def _turn_away(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            Channel(connection).send("refused", f"all {self.count} machines are there")

    def _hear(self) -> None:
        """What machines send that have come to their end before this one."""
        waiting = {member.channel.fileno(): member for member in self.members if member.outcome is None}
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(0):
            self._take(waiting[descriptor], _GRACE)

    def _take(self, member: Member, seconds: float) -> None:
        try:
            word, outcome = member.channel.receive(seconds)
            member.outcome = outcome if word == "outcome" else MachineReport([], [], {})
        except (OSError, EOFError, TimeoutError):
            member.outcome = MachineReport([], [], {})  # it is lost, which its link says

    def _take_files(self, member: Member, files: RunFiles) -> bool:
        """What a machine sends after its outcome; whether it was all."""
        try:
            while (message := member.channel.receive(_GRACE))[0] == "piece":
                files.append(*message[1:])
        except (OSError, EOFError):
            return False
        if message[1]:
            files.lacks("trace", message[1])
        return True

    def _gather(self, image: Image, memory: Memory, links: dict[int, Link], files: RunFiles) -> dict[int, Report]:
        reports: dict[int, Report] = {}
        for member in self.members:
            if member.outcome is None:
                self._take(member, _LAST_WORD if links[member.machine].silent else _GRACE)
            assert member.outcome is not None
            if not (member.outcome.reports and self._take_files(member, files)):
                for file in ("trace", "record"):
                    files.lacks(file, errno.ECONNRESET)
            found = member.outcome.bring_home(memory)
            for report in found:
                report.place += 1000 * member.machine
                if member.outcome.interrupted and isinstance(report.error, KeyboardInterrupt):
                    cause = report.error.__cause__
                    report.error = MachineInterrupted(f"{_with_reactors(image, member)} was interrupted")
                    report.error.__cause__ = cause
            its = image.options.workers_of(member.machine, image.workers)
            missing = set(its) - {report.worker for report in found}
            if missing:
                error = _lost(image, member, links[member.machine].lost or "it has sent nothing home")
                found += [Report(worker, error=error) for worker in sorted(missing)]
            reports |= {report.worker: report for report in found}
        return reports

    def _add_lost_links(self, image: Image, links: list[Link], reports: Collection[Report]) -> None:
        """Where nothing is wrong but that there was no way to a machine any more, which has ended the run.

        Of two machines that could not reach each other the one that has joined later counts as lost.
        """
        if any(report.error for report in reports):
            return
        why = {link.machine: link.lost for link in links if link.lost}
        for member in self.members if not why else ():
            assert member.outcome is not None
            for machine, said in member.outcome.lost.items():
                first, last = sorted((machine, member.machine))
                why[last] = f"{self.members[first - 1].name} and it cannot reach each other; {said}"
        for machine, said in why.items():
            its = image.options.workers_of(machine, image.workers)
            error = _lost(image, self.members[machine - 1], said)
            for report in reports:
                if report.worker in its:
                    report.error = error

    def close(self) -> None:
        """Nothing more comes, and nothing is listened to."""
        if self._signs_of_life is not None:
            self._signs_of_life.end()
        self._listener.close()
        for member in self.members:
            member.channel.close()
