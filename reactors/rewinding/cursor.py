"""Where does a run stand that is executed again, and what is asked of it there?

The bodies of all reactions are wrapped: before each of them the cursor looks whether the run is where it was to go. If
so it stops there, in the midst of the engine's loop, and does what it is told over a socket of this process alone: go
on, say what is asked, change something, or make a copy of itself, which gets a socket of its own. A process that nobody
talks to any more ends.

Words it hears: go, copy, state, ask, edit, notice, slice, inputs, hashes, digest, end. Each is answered: stopped,
copied, or what was asked for.
"""

from __future__ import annotations

import os
import time
import traceback
from functools import partial
from inspect import ismethod
from typing import TYPE_CHECKING, Any, NoReturn

from reactors.errors import ArgumentError
from reactors.execution.states import state_hash
from reactors.model.ports import Port
from reactors.reports.result import chained
from reactors.rewinding.forking import hindrance
from reactors.rewinding.one_execution import without
from reactors.rewinding.places import Breaks, Goal, Standing, Write
from reactors.rewinding.process import ProcessOfRun, hush
from reactors.rewinding.sending import sent
from reactors.slicing.observing import Observations, is_structure
from reactors.slicing.slicer import Slicer
from reactors_runtime import values
from reactors_runtime._doors import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.shipping.parcels import Part
    from reactors.slicing.slicer import Found, Thing
    from reactors_runtime.engine import Engine

SEVERAL = 24  # copies that are left at one distance, before that is doubled


class Cursor:
    """The place of a run, in the process that runs it."""

    def __init__(self, engine: Engine, part: Part, address: str, *, quiet: bool) -> None:
        self.engine, self.part, self.quiet = engine, part, quiet
        self.process = ProcessOfRun(address)
        self.main = part.reactors[0]
        self.goal, self.breaks = Goal(position=0), Breaks()
        self.tests: list[tuple[str, int, Callable[[], bool]]] = []  # what `breaks` asks for; of a port, or -1
        self.complaints: dict[bytes | str, str] = {}  # of a condition that has raised each time so far; "": it has not
        self.position, self.tags = 0, 0
        self.tag: tuple[int, int] | None = None  # of the last execution
        self.counts = [0] * len(engine.image.program.reactions)
        self.done, self.next = -1, -1
        self.next_tag: tuple[int, int] | None = None
        self.why = ""  # what holds since the last execution
        self.failed: tuple[int, str] | None = None
        self.inside = False  # of the body of a reaction
        self.copied = time.monotonic()  # when a copy was made last
        self.interval, self.left = 0.0, 0  # how long after that the next one is made; how many were left on this way
        self.hindrance = ""
        self.written: dict[int, Any] | None = None
        self.writes: list[Write] = []
        self.observations: Observations | None = None  # with what each of them read, once it is told to notice that
        self.already: dict[int, int] = {}  # what ports of the next reaction have at this tag from others, as hashes
        self.lost: dict[int, int] = {}  # ports whose next so many messages get lost
        ports: dict[int, Any] = {e: port for e, port in part.handles.items() if isinstance(port, Port)}
        self.effects = [[(e, ports[e]) for e in row.effects if e in ports] for row in engine.image.program.reactions]

    # ---- around each body ----

    def around(self, number: int, body: Callable[[], object]) -> Callable[[], object]:
        """The body of a reaction with a look before it and one after it."""

        def run() -> object:
            if self.inside:  # what is for a missed deadline, called by check_deadline(handle=True)
                return body()
            self.before(number)
            if self.observations is not None:
                self.observations.begin(number, self.tag or (0, 0))
            self.inside = True
            try:
                if self.lost:
                    with without(frozenset(e for e, _ in self.effects[number] if e in self.lost)) as lost:
                        returned = body()
                    for element in lost:
                        self.loses(element)
                else:
                    returned = body()
            except BaseException as error:  # noqa: BLE001 - whatever a body raises
                self.fail(number, error)
            self.inside = False
            self.after(number)
            return returned

        return run

    def before(self, number: int) -> None:
        """Stop here, if here is where to stop; as often as it is to go on to where it is already."""
        now = self.engine.now
        tag = now[0], now[1]
        begins = tag != self.tag
        self.next, self.next_tag = number, tag
        if begins and self.interval and time.monotonic() - self.copied > self.interval:
            self.leave_copy()
        why = self.why or ("a breakpoint" if self.goal.breaks and number in self.breaks.reactions else "")
        while self.is_there(number, tag, begins=begins) or why:
            self.stop(why)
            why = ""
        self.tags += begins
        self.tag = tag
        self.already = {e: content_hash(port.value) for e, port in self.effects[number] if port.is_present}

    def is_there(self, number: int, tag: tuple[int, int], *, begins: bool) -> bool:
        """Whether the run is where it was to go."""
        goal = self.goal
        return (
            self.position >= goal.position
            or tag > goal.tag
            or (begins and self.tags >= goal.tags)
            or (number == goal.reaction and self.counts[number] + 1 >= goal.n)
        )

    def after(self, number: int) -> None:
        """It is over."""
        self.position += 1
        self.done = number
        self.counts[number] += 1
        self.why = ""
        goal, wrote = self.goal, self.wrote(number)
        if self.observations is not None:
            self.observations.over(tuple(wrote), tuple(e for e in self.already if e not in wrote))
        if goal.compares:
            self.note(number, wrote)
        if goal.breaks and self.tags >= goal.since:
            own = {-1, *wrote}
            self.why = next((what for what, element, holds in self.tests if element in own and holds()), "")
        step = self.position == goal.position
        self.written = {e: port.value for e, port in wrote.items()} if step else None

    def wrote(self, number: int) -> dict[int, Any]:
        """The ports that it wrote, or wrote over with something else."""
        present = {e: port for e, port in self.effects[number] if port.is_present}
        if not self.already:
            return present
        return {e: port for e, port in present.items() if self.already.get(e) != content_hash(port.value)}

    def note(self, number: int, wrote: dict[int, Any]) -> None:
        """Keep a hash of what was written."""
        tag = self.tag or (0, 0)
        for element, port in wrote.items():
            self.writes.append(Write(tag, number, element, content_hash(port.value)))

    def loses(self, element: int) -> None:
        """A message of a port has got lost."""
        self.lost[element] -= 1
        if not self.lost[element]:
            del self.lost[element]

    def fail(self, number: int, error: BaseException) -> NoReturn:
        """A reaction has raised: the run ends there, as it stood then."""
        self.position += 1
        self.done = number
        self.counts[number] += 1
        if self.observations is not None:
            self.observations.over(tuple(self.wrote(number)), ())
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        self.failed = number, "".join(traceback.format_exception(type(error), error, trace))
        self.end()

    def engine_failed(self, error: BaseException) -> None:
        """The engine cannot go on."""
        self.failed = -1, f"{type(error).__name__}: {error}"
        self.end()

    def end(self) -> NoReturn:
        """The run is over, but what it has become is still there to be looked at."""
        self.next, self.next_tag = -1, None
        while True:
            self.stop("its end")

    # ---- talking ----

    def stop(self, why: str) -> None:
        """Say where the run stands, and do what is asked until it goes on."""
        self.why = ""
        if self.process.wire is None:
            self.engine.on_failure = self.engine_failed
            if self.quiet:
                hush()
            self.process.connect()
        self.process.interruptible(False)
        self.hindrance = hindrance(self.process.copies)
        self.process.say("stopped", self.standing(why))
        self.obey()

    def obey(self) -> None:
        """Do what is asked until it is to go on."""
        while self.hear(*self.process.hear()):
            pass

    def standing(self, why: str) -> Standing:
        """Where the run stands."""
        return Standing(
            self.position, self.tag, self.tags, self.done, self.next, self.next_tag, self.counts, why, self.failed,
            self.hindrance, self.portable(self.written), [each for each in self.complaints.values() if each],
        )  # fmt: skip

    def portable(self, written: dict[int, Any] | None) -> dict[int, Any] | None:
        """What was written, as bytes where it can be sent."""
        return None if written is None else {e: sent(value) for e, value in written.items()}

    def hear(self, word: str, *rest: Any) -> bool:
        """Do what is asked; False: the run goes on."""
        if word == "go":
            self.goal, breaks = rest
            if breaks != self.breaks:
                self.breaks = breaks
            self.tests, self.complaints = self._tests() if self.goal.breaks else [], {}
            self.copied, self.interval, self.left = time.monotonic(), self.goal.interval, 0
            self.process.interruptible(True)
            return False
        if word == "end":
            self.process.leave(*rest)
        try:
            answer = getattr(self, f"_{word}")(*rest)
        except BaseException as error:  # noqa: BLE001 - it is the user's code, or the user's objects
            self.process.say("wrong", sent(error), "".join(traceback.format_exception(error)))
        else:
            if answer is not None:
                self.process.say("said", answer)
        return True

    def _state(self) -> None:
        """All attributes of all reactors, as they come home from any worker."""
        descriptor = os.memfd_create("reactors", os.MFD_CLOEXEC)
        with open(descriptor, "wb") as file:  # noqa: PTH123
            self.part.write(file)
            file.flush()
            self.process.say("said", None, descriptors=(descriptor,))

    def _ask(self, question: bytes | str) -> bytes:
        return sent(self.answer(question))

    def answer(self, question: bytes | str) -> Any:
        """What a function says of main, or what an expression is worth."""
        if isinstance(question, str):
            return eval(question, self.names())
        return values.loads(question)(self.main)

    def names(self) -> dict[str, Any]:
        """What an expression may name."""
        import numpy as np

        return {"m": self.main, "main": self.main, "np": np}

    def _edit(self, edit: dict[str, bytes], lost: dict[int, int]) -> bool:
        for place, value in edit.items():
            names = {**self.names(), "value": values.loads(value)}
            if is_structure(was := eval(place, names)) or ismethod(was):
                raise ArgumentError(f"edit of fork: {place} is part of the program and no state; name an attribute")
            try:
                exec(f"{place} = value", names)
            except AttributeError:  # of a frozen dataclass
                owner, _, name = place.rpartition(".")
                object.__setattr__(eval(owner, names), name, names["value"])
        self.lost = {**lost}
        self.writes = []
        return True

    def _notice(self) -> bool:
        self.observations = Observations(self.engine.image.program, self.part.handles, self.part.reactors)
        return True

    def _slice(self, thing: Thing, most: int) -> Found:
        assert self.observations is not None
        return Slicer(self.engine.image.program, self.observations.all).found(thing, most)

    def _inputs(self) -> dict[int, bytes]:
        row = self.engine.image.program.reactions[self.next]
        found: dict[int, Any] = {e: self.part.handles[e] for e in (*row.triggers, *row.uses) if e in self.part.handles}
        return {e: sent(getattr(port, "value", None)) for e, port in found.items() if port.is_present}

    def _hashes(self) -> dict[str, int]:
        return {reactor.path: state_hash(reactor) for reactor in self.part.reactors}

    def _fails(self, check: bytes | str) -> bool:
        try:
            return not self.answer(check)
        except Exception:  # noqa: BLE001 - it is the user's code
            return False

    def _value_digest(self) -> str:
        return chained(self.engine.image, self.engine.memory, "values")

    def _writes(self) -> list[Write]:
        return self.writes

    def _digest(self) -> str:
        return chained(self.engine.image, self.engine.memory, "digests")

    def _tests(self) -> list[tuple[str, int, Callable[[], bool]]]:
        ports: dict[int, Any] = dict(self.part.handles)
        said = self.breaks.ports.items()
        written = [(ports[e].path, e, partial(_holds, ports[e], condition)) for e, condition in said]
        return [*written, *(("a condition", -1, partial(self.holds, each)) for each in self.breaks.conditions)]

    def holds(self, condition: bytes | str) -> bool:
        """Whether it does: one that raises does not yet, for what it asks for may be made later."""
        try:
            found = bool(self.answer(condition))
        except Exception as error:  # noqa: BLE001 - it is the user's code
            if self.complaints.get(condition, "?") == "?":
                said = condition if isinstance(condition, str) else "the condition"
                self.complaints[condition] = f"{said} could never be asked: {type(error).__name__}: {error}"
            return False
        self.complaints[condition] = ""
        return found

    # ---- copies ----

    def _copy(self) -> int | None:
        """Make a copy, which says by itself where it stands; the original stays where it is."""
        self.process.bury()
        if pid := self.process.copy():
            return pid
        self.process.say("stopped", self.standing(""))
        return None

    def leave_copy(self) -> None:
        """Go on as a copy, and leave the original behind, as it is here; if that can be.

        On a long way copies become rarer, and they take a twentieth of the time at the most.
        """
        self.process.bury()
        began = self.copied = time.monotonic()
        self.hindrance = hindrance(self.process.copies)
        if self.hindrance:
            return
        here = self.standing("")
        self.left += 1
        if self.left % SEVERAL == 0:
            self.interval *= 2
        try:
            pid = self.process.copy()
        except OSError:  # too many processes, or too little memory: one snapshot less
            return
        if pid == 0:
            self.process.say("left", here)
            self.process.interruptible(True)
            self.copied = time.monotonic()
            self.interval = max(self.interval, 20 * (self.copied - began))
        else:
            self.process.interruptible(False)
            self.obey()


def _holds(port: Any, condition: bytes | None) -> bool:
    """Whether a port was written, with a value for which a pickled condition holds."""
    return bool(port.is_present and (condition is None or values.loads(condition)(port.value)))
