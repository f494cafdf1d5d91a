"""Do the reactions of a worker leave alone what they share with others? Debug mode looks.

After each reaction, what its reactor has set, or read, is compared with what it was then: objects of which others may
have the same one, and arrays whose memory others may read. So a change is found by the end of the reaction that makes
it, wherever the others are. Arrays are lent as copies meanwhile, which nothing else writes to; as long as one is kept,
it is compared. Reactions on threads run one at a time, or it could not be said which it was.
"""

from __future__ import annotations

import inspect
import io
import pickle
import sys
import warnings
import weakref
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ReactorWarning, SharedValueError
from reactors.execution import random_draws
from reactors.execution.difference import difference
from reactors.tag import Tag

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from reactors.location import Location
    from reactors_runtime.engine import Engine

_UNCHANGING = (int, float, complex, bool, str, bytes, type(None))

SET = "its readers have the same object: set a copy, or leave it alone from then on"
READ = "others have the same object: change a copy, or declare the input with mutable=True"
KEPT = "it is lent for that reaction alone: write and set it there, and call loan() for each value"
LOAN = "its readers have the same memory: write into a loan before set(), and call loan() for each value"
TENSOR = "others read the same memory: change a copy (port.tensor.clone())"


@dataclass(slots=True, eq=False)
class Object:
    """An object that was set or read."""

    port: Any
    tag: Tag
    value: Any
    was: bytes
    until: Tag  # when the last of its readers gets it
    remedy: str

    def check(self, reaction: str) -> None:
        """Refuse that it is another one than it was."""
        if picture(self.value)[0] != self.was:
            try:
                before = pickle.loads(self.was)
            except Exception:  # noqa: BLE001 - its class may be out of reach
                before = type(self.value)
            raise changed(self, before, self.value, reaction)


@dataclass(slots=True, eq=False)
class Lent:
    """Memory that was lent to be written, or can be: a loan, or what is under a tensor."""

    port: Any
    tag: Tag
    memory: weakref.ref[np.ndarray[Any, Any]]
    was: np.ndarray[Any, Any]
    remedy: str
    open: bool = False  # a loan that may be written
    unset: bool = False  # one that was not set in its reaction
    slot: np.ndarray[Any, Any] | None = None  # where it was lent from

    def check(self, reaction: str) -> None:
        """Refuse that it is another one than it was."""
        memory = self.memory()
        if memory is None or content(memory) == content(self.was):
            return
        if not self.unset:
            raise changed(self, self.was, memory, reaction)
        place, was, now = difference(self.was, memory)
        raise SharedValueError(
            f"{self.port.where()}: {place}{' of ' * bool(place)}the loan of {self.tag}, which was not set, was {was}, "
            f"and after {reaction} it is {now}; {KEPT}"
        )

    def close(self) -> None:
        """The reaction is over: a loan that was not set goes back to where it is from."""
        memory = self.memory()
        if self.open and memory is not None and self.slot is not None and not self.port._is_present:
            self.slot[...] = memory
            self.was, self.unset = memory.copy(), True
        self.open = False


def changed(what: Object | Lent, before: Any, after: Any, reaction: str) -> SharedValueError:
    """The error that a value is not what it was."""
    place, was, now = difference(before, after)
    return SharedValueError(
        f"{what.port.where()}: {place}{' of ' * bool(place)}the value of {what.tag} was {was}, and after {reaction} it "
        f"is {now}; {what.remedy}"
    )


class Watch:
    """What the reactors of one worker have that others have, too. `alone`: held while a reaction runs."""

    def __init__(self, engine: Engine, alone: threading.RLock) -> None:
        self._engine, self._alone = engine, alone
        self._objects: dict[tuple[int, int, str], list[Object]] = {}  # by reactor, port and remedy
        self._lent: dict[int, list[Lent]] = {}  # by reactor
        self._given: dict[tuple[int, str], Any] = {}  # arrays of the reaction that runs, by port
        self._views: dict[int, list[tuple[weakref.ref[Any], str]]] = {}  # what was read: by port, with its tag
        self._memory: list[Any] = []  # all that was lent to the reaction that runs
        self._told: set[str] = set()
        self._twice: set[tuple[str, Location, Location]] = set()

    def around(self, body: Callable[[], object]) -> Callable[[], object]:
        """A reaction's body with a look before it and after; one in C is never called, and stays."""
        if not callable(body):
            return body

        @wraps(body)
        def run() -> object:
            with self._alone:
                before = random_draws.states()
                reaction, reactor = self._running()
                try:
                    returned = body()
                    for each in self._lent.get(reactor, ()):
                        each.close()
                    if not self._engine.failed:
                        self._check(reaction, reactor)
                finally:
                    self._given.clear()
                    self._memory.clear()
                for generator in random_draws.drawn(before):
                    self._warn(
                        f"while {reaction} ran, the generator of {generator.name} was used, which all reactors of a "
                        f"process share, so what it gives depends on the placement; take {generator.instead}",
                        of=body,
                    )
                return returned

        return run

    def close(self) -> None:
        """Let go of all values, and of the ports that they were on."""
        for kept in self._objects, self._lent, self._given, self._views, self._memory:
            kept.clear()
        del self._engine

    def _running(self) -> tuple[str, int]:
        number, program = self._engine.running(), self._engine.image.program
        return program.name(number), program.reactions[number].reactor

    def _now(self) -> Tag:
        return Tag(*self._engine.tag())

    def _warn(self, what: str, *, of: Callable[[], object] | None = None) -> None:
        """Once, at the line that is being executed of what is not ours, or at that of a body."""
        if what in self._told:
            return
        self._told.add(what)
        code = getattr(inspect.unwrap(of), "__code__", None) if of is not None else None
        if code is not None:
            warnings.warn_explicit(what, ReactorWarning, code.co_filename, code.co_firstlineno)
            return
        warn(what)

    def _check(self, reaction: str, reactor: int) -> None:
        now = self._now()
        for key, objects in self._objects.items():
            if key[0] == reactor:
                for each in objects:
                    each.check(reaction)
                objects[:-1] = [each for each in objects[:-1] if each.until >= now]
        self._lent[reactor] = [each for each in self._lent.get(reactor, ()) if each.memory() is not None]
        for lent in self._lent[reactor]:
            lent.check(reaction)

    # ---- objects ----

    def has(self, port: Any, value: Any, remedy: str) -> None:
        """The reaction that runs has set this object, or read it."""
        if isinstance(value, _UNCHANGING) or value.__class__ is np.ndarray:  # which travels as a copy, to be read only
            return
        was, graph = picture(value)
        if graph and remedy is SET:
            self.tell_of_graph(port)
        if was is None:
            return
        now, (_, reactor) = self._now(), self._running()
        objects = self._objects.setdefault((reactor, port._element, remedy), [])
        if objects and objects[-1].tag == now:
            if remedy is READ and objects[-1].value is value:
                return
            objects.pop()  # the last value counts
        objects.append(Object(port, now, value, was, self._reach(port._element, now), remedy))

    def _reach(self, element: int, now: Tag) -> Tag:
        offsets = [e.offset for e in self._engine.image.program.elements if e.source == element]
        return max((Tag(now.time + d, m if d else now.microstep + m) for d, m in offsets), default=now)

    def tell_of_graph(self, port: Any) -> None:
        """A tensor was set that wants a gradient."""
        self._warn(
            f"{self._running()[0]} sets {port.where()} to a tensor with requires_grad; its graph stays on the worker, "
            "so no gradient comes back: send tensor.detach()"
        )

    def set_twice(self, port: Any, first: Location, second: Location) -> None:
        """A port was set again at the same tag: said once of each two lines, and of a multiport but for one channel."""
        twice = port._whole.path, first, second
        if twice not in self._twice:
            self._twice.add(twice)
            self._warn(
                f"{port.where()} is set twice at {self._now()}, at {first} and then at {second}; the last value "
                "counts: set it once, or let its readers have each value by way of an action"
            )

    # ---- arrays ----

    def lend(self, port: Any, slot: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A copy of a slot to write into; the same one again until it is set."""
        given = self._given.get((id(port), "loan"))
        if given is None:
            given = self._given[id(port), "loan"] = slot.copy()
            self._note(Lent(port, self._now(), weakref.ref(given), slot.copy(), LOAN, open=True, slot=slot), given)
        return given

    def was_set(self, port: Any) -> None:
        """A port was set: what it has lent is not to be written any more."""
        for lent in self._lent.get(self._running()[1], ()):
            memory = lent.memory()
            if lent.open and lent.port is port and memory is not None:
                lent.was, lent.tag, lent.open = memory.copy(), self._now(), False
                self._given.pop((id(port), "loan"), None)

    def tensor(self, port: Any, array: np.ndarray[Any, Any]) -> Any:
        """A tensor of its own for the reaction that runs."""
        import torch

        key = id(port), "tensor"
        if key not in self._given:
            memory = array.copy()
            self._given[key] = torch.from_numpy(memory)
            self._note(Lent(port, self._now(), weakref.ref(memory), array.copy(), TENSOR), memory)
            self._note_view(port, memory)
        return self._given[key]

    def view(self, port: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the reaction that runs reads: memory of its own that cannot be written."""
        key = id(port), "view"
        if key not in self._given:
            memory = array.copy()
            memory.flags.writeable = False
            self._note_view(port, memory)
            self._given[key] = memory.view()
        view: np.ndarray[Any, Any] = self._given[key]
        return view

    def _note(self, lent: Lent, memory: Any) -> None:
        self._memory.append(memory)
        self._lent.setdefault(self._running()[1], []).append(lent)

    def _note_view(self, port: Any, memory: np.ndarray[Any, Any]) -> None:
        now = str(self._now())
        views = self._views.setdefault(id(port), [])
        views[:] = [each for each in views if each[0]() is not None]
        for _, tag in views:
            if tag != now:
                self._warn(
                    f"{port.where()}: some code still has the value of {tag} at {now}; it is a view of memory that is "
                    "written again, and valid during the reaction: keep a copy (value.copy())"
                )
                views.clear()
                break
        views.append((weakref.ref(memory), now))


def content(array: np.ndarray[Any, Any]) -> bytes:
    """All that an array holds, without what lies between the fields of a structure."""
    if array.dtype.names is None:
        return array.tobytes()
    return b"".join(content(array[name]) for name in array.dtype.names)


def warn(what: str) -> None:
    """At the line of the user's that is being executed."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("reactors."):
        level, frame = level + 1, frame.f_back
    warnings.warn(what, ReactorWarning, stacklevel=level)


class Picture(pickle.Pickler):
    """Looks at all parts of a value on the way."""

    graph = False  # whether one of them is a tensor that wants a gradient

    def persistent_id(self, part: Any) -> None:
        """Nothing is left out."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(part, torch.Tensor) and part.requires_grad:
            self.graph = True


def picture(value: Any) -> tuple[bytes | None, bool]:
    """What a value looks like, None if that is hard to say, and whether a tensor in it wants a gradient."""
    file = io.BytesIO()
    pickler = Picture(file, 5)
    try:
        pickler.dump(value)
    except Exception:  # noqa: BLE001 - what cannot be pickled cannot be compared
        return None, pickler.graph
    return file.getvalue(), pickler.graph
