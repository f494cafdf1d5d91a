"""One worker's run: the pull loop around the C core.

`rx_next` finishes what has just run and returns the reaction that comes next. The loop that calls its body and asks
again is in C (csrc/python/loop.c); what is the matter otherwise comes back here. The core itself knows no Python, and
waits without the GIL when there is nothing to do.
"""

from __future__ import annotations

import inspect
import os
import threading
from functools import wraps
from time import sleep  # the real one, also in virtual time
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any

from reactors_runtime import callers, tables
from reactors_runtime._core import ffi, lib
from reactors_runtime._doors import content_hash, run
from reactors_runtime.callers import Raised, raised, text_of
from reactors_runtime.program import FOREVER
from reactors_runtime.spelling import spell
from reactors_runtime.suggestions import suggestion
from reactors_runtime.values import SequenceStore, Stores
from reactors_runtime.virtual_sleep import virtual_sleep
from reactors_runtime.whereabouts import here

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image
    from reactors_runtime.program import Program

ABORTED: int = lib.RX_E_ABORTED
INTERRUPTED: int = lib.RX_E_INTERRUPT
FIRST_NUMBER: int = lib.RX_SENT + 1  # of a value that is sent

_UNFINISHED: dict[type[Any], str] = {
    CoroutineType: "cr",
    AsyncGeneratorType: "ag",
    GeneratorType: "gi",
}  # and how their code is named
_PAUSED: int = lib.RX_PAUSED
_UNTIL_ROOM = 1e-4  # s, until a sender looks again
_LOOK = {lib.RX_INTERRUPTED, _PAUSED}  # nothing is the matter: the caller may look around


class ReactionFailed(Exception):  # noqa: N818 - what happened, not what is wrong
    """A reaction raised `exception`; which reaction (a number of the program) at which tag.

    `aftermath`: something else had ended the program, and this was one of the shutdown reactions. `late`: it was what
    runs when the deadline is missed. `where` is the user's line that raised it, and `absent` are the elements that it
    declares and that were not there.
    """

    def __init__(
        self,
        reaction: int,
        tag: tuple[int, int],
        exception: BaseException,
        *,
        aftermath: bool = False,
        late: bool = False,
        where: Raised | None = None,
        absent: tuple[int, ...] = (),
    ) -> None:
        super().__init__(reaction, tag, exception)
        self.reaction, self.tag, self.exception, self.aftermath, self.late = reaction, tag, exception, aftermath, late
        self.where = raised(exception) if where is None else where
        self.absent = absent
        self.__cause__ = exception

    def name(self, program: Program) -> str:
        """What raised it: "main.learner.train", or its deadline."""
        return "the deadline of " * self.late + program.name(self.reaction)


class Runaway(Exception):  # noqa: N818
    """More microsteps at one time than were allowed."""

    def __init__(self, tag: tuple[int, int], reactions: list[int]) -> None:
        super().__init__(tag, reactions)
        self.tag, self.reactions = tag, reactions

    def __str__(self) -> str:
        time, microsteps = self.tag
        return f"{microsteps:,} microsteps at {spell(time)}, and no end"


class NotRecorded(Exception):  # noqa: N818
    """The log of the run cannot be written, so it lacks something that happened."""


class Engine:
    """Worker `worker` of an image whose arena is `memory`.

    Public to those who bind ports: `doors` and `where`, the bytes that say what may be done at each door and where its
    value is, `stores` and `sent`, which hold the values, and `reactions`, the program's numbers of what runs here.
    """

    def __init__(
        self, image: Image, worker: int, memory: Memory, shared: dict[int, SequenceStore] | None = None
    ) -> None:
        self.image, self.worker, self.memory = image, worker, memory
        self.shared = {} if shared is None else shared  # what the workers of one process see of each other's values
        self.part = image.parts[worker]
        self.reactions = self.part.reactions
        self.base = ffi.from_buffer("uint8_t[]", memory.map)
        self.core = lib.rx_open(self.base, worker)
        if self.core == ffi.NULL:
            raise MemoryError(f"worker {worker}: no memory for its tables")
        self._core_at = int(ffi.cast("uintptr_t", self.core))
        view = ffi.new("rx_worker_view *")
        lib.rx_view(self.core, view)
        doors = max(len(self.part.door_cells), 1)
        self._doors_at, self._where_at, self._low_at = (
            int(ffi.cast("uintptr_t", start)) for start in (view.doors, view.where, view.low)
        )
        self.doors = memoryview(ffi.buffer(view.doors, doors)).cast("B")
        self.where = memoryview(ffi.buffer(view.where, 8 * doors)).cast("Q")
        self.current = memoryview(ffi.buffer(view.current, 8)).cast("q")
        self.now = memoryview(ffi.buffer(view.now, 16)).cast("Q")
        rows = tables.view(memory, self.part.offsets["reactions"], len(self.reactions), tables.REACTION)
        self._deadlines = rows["deadline"]
        self._closing = threading.Lock()
        self.stores = Stores(self)
        self.sent: dict[int, Any] = {}  # values of physical actions, by number, until their events are over
        self.renewals: dict[int, list[Callable[[], None]]] = {}  # mode -> what to do when it is entered by reset
        self._record = self._journal = -1  # their files
        self._looks: tuple[Any, int] = (None, 0)  # at deadlines: tag and reaction, how often before
        self._handled: Any = None  # tag and reaction of the last missed deadline
        self._late = False  # what is for missed deadlines runs, or has failed
        self._late_error: BaseException | None = None  # by which that failed last where a reaction had asked for it
        self._calls: list[Any] = []  # the bodies of all reactions, then what runs when their deadlines are missed
        self.failed = False  # nothing but shutdown reactions runs any more
        self.around: Callable[[Callable[[], Any]], Any] | None = None  # what is put around each body
        self.on_failure: Callable[[BaseException], None] | None = None  # is called with each as it happens
        self.thread = threading.get_ident()  # that runs it
        for local, number in enumerate(self.reactions):
            reaction = image.program.reactions[number]
            for body, native in ((local, reaction.native), (local + len(self.reactions), reaction.native_late)):
                if native is not None:
                    lib.rx_set_native(self.core, body, native.address, native.state)

    def way(
        self,
        door: int,
        store: object = None,
        values: list[Any] | None = None,
        place: int = 0,
        slots: list[Any] | None = None,
        records: int = 0,
        stride: int = 0,
        sets: int = 0,
        *,
        travels: bool = False,
        action: int = 0,
    ) -> tuple[Any, ...]:
        """What `Door._attach` takes to lead to this door; csrc/python/doors.c has what it means."""
        at, where = self._doors_at + door, self._where_at + 8 * door
        low = self._low_at + 8 * door if travels else 0
        return self, store, door, at, where, low, values, place, slots, records, stride, sets, self._core_at, action

    def way_to_all(self, first: int, channels: list[Any], views: list[Any], own: list[Any]) -> tuple[Any, ...]:
        """What `Door._attach_all` takes to lead to a multiport's channels; [first] -1: their doors lie apart."""
        if first < 0:
            return self, 0, 0, 0, channels, None, None
        return self, self._doors_at + first, self._where_at + 8 * first, len(channels), channels, views, own

    # ---- what reactions ask ----

    def tag(self) -> tuple[int, int]:
        """The tag being executed: time in ns since the start, microstep."""
        return self.now[0], self.now[1]

    def physical_time(self) -> int:
        """Ns since the start. Other threads may ask, too: -1 when the run is over."""
        with self._closing:
            return -1 if self.core == ffi.NULL else int(lib.rx_physical_time(self.core))

    def start_time(self) -> int:
        """When tag (0, 0) began, in ns since 1970."""
        return start_time(self.image, self.memory)

    def mark(self, name: bytes, value: float | None) -> None:
        """Note something of the reaction that runs now in the trace, if there is one."""
        lib.rx_note(self.core, name, value is not None, 0.0 if value is None else value)

    def note_heard(self, value: object) -> None:
        """Note in the journal, if there is one, what the reaction that runs now has read that came from outside."""
        noted = lib.rx_noted_now(self.core)
        if noted != ffi.NULL:
            noted.heard = lib.rx_fold(noted.heard, content_hash(value))
            noted.flags |= lib.RX_DID_HEAR

    def set_mode(self, mode: int) -> bool:
        """Enter a mode when this tag is over, as the reaction that runs now has declared; False if it has not."""
        running = self.running()
        if running < 0 or mode not in self.image.program.reactions[running].transitions:
            return False
        by_reset = self.image.program.reactions[running].transitions[mode]
        lib.rx_set_mode(self.core, self.part.modes.index(mode), by_reset)
        return True

    def sleep(self, ns: int) -> None:
        """In virtual time, make it so much later for this worker."""
        lib.rx_sleep(self.core, ns)

    def request_stop(self, reactor: int) -> bool:
        """Stop as the reaction of this reactor that runs now has declared; False if it has not."""
        for local, door in self.part.stop_doors.items():
            reaction = self.image.program.reactions[self.reactions[local]]
            if reaction.reactor == reactor and self.doors[door] & lib.RX_WRITABLE:
                self.doors[door] |= lib.RX_PRESENT
                return True
        return False

    def deadline(self) -> int | None:
        """The deadline of the reaction being executed, in ns."""
        local = self.current[0]
        ns = self._deadlines[local] if local >= 0 else FOREVER
        return None if ns == FOREVER else int(ns)

    def missed_deadline(self) -> bool:
        """Whether the reaction being executed has missed its deadline by now; as recorded, if this is a replay."""
        deadline = self.deadline()
        if deadline is None:
            return False
        look = self.tag(), self.running()
        self._looks = (look, self._looks[1] + 1 if self._looks[0] == look else 0)
        if self.image.options.replay is not None:
            return (*look, self._looks[1]) in self.image.options.replay.checks
        missed = not deadline or self.physical_time() > self.now[0] + deadline
        if missed and self._record >= 0:
            which = self._looks[1].to_bytes(8, "little")
            tag = {"time": look[0][0], "microstep": look[0][1]}
            error = lib.rx_log(self._record, lib.RX_LOG_CHECK, tag, look[1], ffi.from_buffer(which), len(which))
            if error:
                bells(self.memory, self.image)["unrecorded"][self.worker] = error
                raise NotRecorded(unrecorded(self.memory, self.image))
        return missed

    def handle_missed(self) -> None:
        """Run what is declared for when the deadline of the reaction being executed is missed, unless it ran before."""
        try:
            self._finished(len(self.reactions) + self.current[0], self._calls[len(self.reactions) + self.current[0]]())
        except BaseException as error:
            self._late, self._late_error = False, error  # the reaction that asked for it may catch this
            raise

    def _once(self, late: Callable[[], object]) -> Callable[[], object]:
        """What runs when a deadline is missed: by the loop or by `handle_missed`, but once for each execution."""

        @wraps(late)
        def run() -> object:
            execution = self.tag(), self.running()
            if self._handled == execution:
                return None
            self._handled, self._late = execution, True
            returned = late()
            self._late = False
            return returned

        return run

    def set_deadline(self, ns: int) -> None:
        """Give the reaction being executed another one."""
        self._deadlines[self.current[0]] = ns

    def running(self) -> int:
        """The reaction being executed, as the program numbers them; -1 for none."""
        local = self.current[0] if self.core != ffi.NULL else -1
        return self.reactions[local] if local >= 0 else -1

    def use_link(self, machine: int, descriptor: int) -> None:
        """Tell another machine over this link to it, and hear from there, where this worker waits."""
        if lib.rx_use_link(self.core, self.memory.descriptor, machine, descriptor):
            raise MemoryError(f"worker {self.worker}: no memory for the link to machine {machine}")

    # ---- the loop ----

    def run(self, bodies: Sequence[Callable[[], None]], late: Sequence[Callable[[], None] | None]) -> None:
        """Run to the end of the program, or of the abort. Raises `ReactionFailed`, `Runaway`, or `KeyboardInterrupt`.

        After a failure here or elsewhere the shutdown reactions have run; what they raise is added as a note.
        """
        if self.image.options.record is not None:
            file = self.image.options.record_at or self.image.options.record
            self._record = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            lib.rx_record_to(self.core, self._record)
        if self.image.options.journal is not None:
            self._journal = os.open(self.image.options.journal, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            lib.rx_journal_to(self.core, self._journal)
        if self.image.options.virtual_sleep:
            with virtual_sleep(self.sleep):
                self._run(bodies, late)
        else:
            self._run(bodies, late)

    def _run(self, bodies: Sequence[Callable[[], None]], late: Sequence[Callable[[], None] | None]) -> None:
        for _ in self._steps(bodies, late):
            pass

    def steps(self, bodies: Sequence[Callable[[], None]], late: Sequence[Callable[[], None] | None]) -> Generator[bool]:
        """As `run`, but the caller's code runs in between.

        Yields True when a tag is over in which a reaction has asked for it by `pause`, and False now and then while
        there is nothing to run.
        """
        return self._steps(bodies, late, watched=True)

    def pause(self) -> None:
        """Have `steps` yield when this tag is over."""
        lib.rx_pause(self.core)

    def _steps(
        self,
        bodies: Sequence[Callable[[], None]],
        late: Sequence[Callable[[], None] | None],
        *,
        watched: bool = False,
    ) -> Generator[bool]:
        calls: list[Any] = [*bodies, *(each and self._once(each) for each in late)]
        if self.around is not None:
            calls = [each if each is None else self.around(each) for each in calls]
        self._calls = calls
        failure: BaseException | None = None
        code, begun, core = 0, False, int(ffi.cast("uintptr_t", self.core))
        while True:
            try:
                if not begun:
                    begun = True
                    code = lib.rx_start(self.core)
                    if watched:
                        lib.rx_watch(self.core)
                if code < 0 and code not in _LOOK:
                    failure = self._broken_off(code, failure)
                before, here.engine = here.engine, self
                try:
                    code = run(core, calls, self._finished)
                finally:
                    here.engine = before
                if code not in _LOOK:
                    if code == lib.RX_DONE:
                        break
                    code = self._seen_to(code)
            except KeyboardInterrupt as error:
                if isinstance(failure, KeyboardInterrupt):  # the second one: at once
                    raise
                failure, code = self._failed(error, failure), 0
            except Runaway as error:
                failure, code = self._failed(error, failure), 0
            except BaseException as error:  # noqa: BLE001 - whatever a body raises
                late_one = self._late or error is self._late_error
                found = ReactionFailed(
                    self.running(), self.tag(), error, aftermath=self.failed, late=late_one, absent=self._absent()
                )
                self._late, self._late_error = False, None
                failure, code = self._failed(found, failure), 0
            if watched and code in _LOOK:
                yield code == _PAUSED
        if failure is not None:
            raise failure

    def _absent(self) -> tuple[int, ...]:
        """What the reaction that runs now declares to read, and is not present at this tag."""
        if self.running() < 0:
            return ()
        reaction = self.image.program.reactions[self.running()]
        return tuple(
            e
            for e in (*reaction.triggers, *reaction.uses)
            if e in self.part.doors and not self.doors[self.part.doors[e]] & lib.RX_PRESENT
        )

    def _broken_off(self, code: int, failure: BaseException | None) -> BaseException | None:
        """The core cannot go on, or was told not to; the failure to raise, if there is one."""
        if code in (lib.RX_NOT_RECORDED, lib.RX_NO_MEMORY):
            return self._failed(self._lacking(code), failure)
        self._abort(ABORTED)
        return failure

    def _seen_to(self, code: int) -> int:
        """Do what the core asks for on the way, and have it go on; other codes come back."""
        if code == lib.RX_RUNAWAY:
            self._runaway()
        elif code == lib.RX_RENEWED:
            self._renew()
        elif code == lib.RX_UNNEEDED:
            self._forget_sent()
        else:
            return code
        return 0

    def _failed(self, error: BaseException, before: BaseException | None) -> BaseException:
        """End the program because of `error`. The failure to raise: that one, or what has gone wrong before."""
        self._abort(INTERRUPTED if isinstance(error, KeyboardInterrupt) else ABORTED)
        if self.on_failure is not None:
            self.on_failure(error)
        if before is None:
            return error
        before.add_note(besides(self.image.program, error, aftermath=True))
        return before

    def _lacking(self, code: int) -> Exception:
        """What the core has run out of."""
        if code == lib.RX_NO_MEMORY:
            return MemoryError(f"worker {self.worker}: no memory for more pending events")
        return NotRecorded(unrecorded(self.memory, self.image))

    def _finished(self, call: int, returned: object) -> None:
        """Refuse what would have to go on after a reaction has returned."""
        kind = next((kind for kind in _UNFINISHED if isinstance(returned, kind)), None)
        if kind is not None:
            code = getattr(returned, _UNFINISHED[kind] + "_code")
            if isinstance(returned, CoroutineType):
                returned.close()  # or Python complains, too, and of this line
            self._late = call >= len(self.reactions)
            body = inspect.unwrap(self._calls[call])
            own = getattr(body, "__code__", None)
            where = f"{own.co_name} ({own.co_filename}:{own.co_firstlineno})" if own else repr(body)
            raise TypeError(
                f"{where} returns a {kind.__name__.replace('_', ' ')} of {code.co_name} ({code.co_filename}:"
                f"{code.co_firstlineno}), and nothing would run it: a reaction runs to its end at one tag; call what "
                "returns its result, or bring results from outside in through a physical action"
            )

    def _renew(self) -> None:
        """What modes keep that were entered by reset is to be as it was at first."""
        modes = ffi.new("uint32_t[]", max(1, len(self.image.program.modes)))
        for i in range(lib.rx_renewed(self.core, modes)):
            for renew in self.renewals.get(modes[i], ()):
                renew()

    def _forget_sent(self) -> None:
        """Let go of values of physical actions that no event needs any more."""
        numbers = ffi.new("uint64_t **")
        count = lib.rx_unneeded(self.core, numbers)
        for number in ffi.unpack(numbers[0], count):
            self.sent.pop(number, None)  # what was read is gone already

    def _abort(self, code: int) -> None:
        if not self.failed:
            self.failed = True
            lib.rx_abort(self.base, code)
        lib.rx_fail(self.core)

    def _runaway(self) -> None:
        """Ten million microsteps and time stands still: once a warning, an error if a limit was set."""
        reactions = self.reactions
        stats = self.stats()
        busiest = sorted(range(len(reactions)), key=lambda r: -int(stats["count"][r]))[:4]
        self.runaway = [reactions[r] for r in busiest if stats["count"][r]]
        if self.image.options.max_microsteps:
            raise Runaway(self.tag(), self.runaway)
        paths = ", ".join(map(self.image.program.name, self.runaway))
        time, microstep = self.tag()
        callers.warn(
            f"time stands still at {spell(time)}: {microstep:,} microsteps so far; the reactions that run: {paths}; "
            "give one of the delays in this loop a positive value, or set a limit with max_microsteps=",
            RuntimeWarning,
        )

    # ---- afterwards ----

    def stats(self) -> Any:
        """Counts and times of this worker's reactions, one row each."""
        return tables.view(self.memory, self.part.offsets["stats"], len(self.reactions), tables.STATS)

    def close(self) -> None:
        """Give the core's own memory back. The engine is not used any more."""
        with self._closing:
            if self.core != ffi.NULL:
                lib.rx_close(self.core)
                self.core = ffi.NULL
        self.stores.close()
        self._calls, self.around = [], None  # which know the engine
        for descriptor in (self._record, self._journal):
            if descriptor >= 0:
                os.close(descriptor)
        self._record = self._journal = -1
        self.now.release()  # a thread may still have it
        del self.base, self.doors, self.where, self.current, self.now, self._deadlines


def besides(program: Program, error: BaseException, *, aftermath: bool) -> str:
    """What ended a program gets this note of something else that went wrong."""
    reaction, what = "", error
    if isinstance(error, ReactionFailed):
        what = error.exception
        reaction = f"{error.name(program)} raised " if error.reaction >= 0 else ""
    when = "then, while shutting down" if aftermath else "besides"
    kind = type(what).__name__ + ": "
    if error is what and type(what).__module__ != "builtins":  # ours, which say who and what by themselves
        kind = ""
    return f"{when}: {reaction}{kind}{text_of(what)}{suggestion(what)}"


# ---- seen from outside ----


def abort(memory: Memory, image: Image, code: int = ABORTED) -> None:  # noqa: ARG001 - the arena says how many workers
    """End every wait of every worker; each then runs its shutdown reactions."""
    lib.rx_abort(ffi.from_buffer("uint8_t[]", memory.map), code)


def aborted(memory: Memory) -> bool:
    """Whether something has ended the program before its time."""
    return bool(ffi.cast("rx_image *", ffi.from_buffer("uint8_t[]", memory.map)).abort)


def start_time(image: Image, memory: Memory) -> int:
    """When tag (0, 0) began, in ns since 1970; virtual time begins with that year."""
    return 0 if image.options.virtual_time else image.options.epoch + _started(memory)


def _started(memory: Memory) -> int:
    """The same by the monotonic clock, that of machine 0 where there are several."""
    found = ffi.cast("rx_image *", ffi.from_buffer("uint8_t[]", memory.map))
    return int(found.start_ns) - int(found.ahead_ns)


def bells(memory: Memory, image: Image) -> Any:
    """The workers' doorbells and totals, one row each."""
    return tables.view(memory, image.at["bells"], image.workers, tables.BELL)


def core(memory: Memory, worker: int) -> int:
    """The core on which a worker was seen last; -1: on none yet."""
    return int(ffi.cast("rx_image *", ffi.from_buffer("uint8_t[]", memory.map)).cores[worker]) - 1


def unrecorded(memory: Memory, image: Image) -> str:
    """Why something that happened is missing in the log; empty if nothing is."""
    error = int(bells(memory, image)["unrecorded"].max())
    return cut_short(str(image.options.record), error) if error else ""


def cut_short(log: str, error: int) -> str:
    """What to say of a log that cannot be written, because of this errno."""
    return f"the log {log!r} ends before the run does, because it cannot be written ({os.strerror(error)})"


def begun(memory: Memory) -> bool:
    """Whether all workers have come to the start, so that reactions run."""
    return bool(ffi.cast("rx_image *", ffi.from_buffer("uint8_t[]", memory.map)).started)


def engine_current(memory: Memory, image: Image, worker: int) -> int:
    """The reaction that a worker is in, as the program numbers them; -1 for none."""
    part = image.parts[worker]
    local = int.from_bytes(memory.map[part.offsets["current"] : part.offsets["current"] + 8], "little", signed=True)
    return part.reactions[local] if 0 <= local < len(part.reactions) else -1


def engine_tag(memory: Memory, image: Image, worker: int) -> tuple[int, int]:
    """The tag that a worker is at."""
    time, microstep = tables.view(memory, image.parts[worker].offsets["now"], 1, tables.TAG)[0]
    return int(time), int(microstep)


def send(
    memory: Memory,
    worker: int,
    action: int,
    delay: int,
    *,
    value: int = 0,
    data: bytes | memoryview = b"",
    engine: Engine | None = None,
) -> bool:
    """Schedule a physical action from any thread of any process; whether the program took it.

    Where there is no room it waits for the worker, whose `engine` is known in its own process.
    """
    while (there := memory.map) is not None:  # else the run is over
        base = ffi.from_buffer("uint8_t[]", there)
        taken = lib.rx_send(base, memory.descriptor, worker, action, delay, value, ffi.from_buffer(data), len(data))
        if taken < 0:
            raise MemoryError("no memory for the value of a physical action")
        if taken != lib.RX_FULL:
            return bool(taken)
        if engine is not None and engine.thread == threading.get_ident():
            lib.rx_take_sent(engine.core)
        else:
            sleep(_UNTIL_ROOM)
    return False
