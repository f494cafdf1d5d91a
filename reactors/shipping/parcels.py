"""How do reactors get to worker processes, and how does what became of them get back?

Every worker is sent a `Part`: its reactors with their state, the ports that its reactions use, and the bodies that are
no methods. When the run is over, each worker sends its reactors' attributes back, and they take the place of the
caller's: a finished program looks the same whatever it ran on.
"""

from __future__ import annotations

import io
import sys
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from reactors.errors import ShippingError, WorkerDied, WorkerError, WorkerStartError
from reactors.execution.binding import Binding
from reactors.execution.session import Session
from reactors.execution.states import attributes
from reactors.model.bank import Bank
from reactors.model.declaration import Declared, spelled
from reactors.model.native import Native
from reactors.model.reaction import Bodies
from reactors.model.reactor import Reactor
from reactors.model.thread_state import executing
from reactors.model.triggers import Startup
from reactors.shipping.pickling import (
    Homecoming,
    Homeward,
    Nowhere,
    Outward,
    Packer,
    PickleFile,
    importable_ahead,
    kinds_by_value,
    memory_of,
)
from reactors.shipping.salvage import Salvage
from reactors.shipping.standins import Elsewhere, Missing
from reactors.shipping.unpicklable import USES_GLOBAL, culprit
from reactors_runtime._core import lib
from reactors_runtime.processes import faults

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from reactors.graph import Graph
    from reactors_runtime.engine import Engine
    from reactors_runtime.planning.image import Image
    from reactors_runtime.processes.workers import Report

State = dict[str, Any]
Change = tuple[State, list[str]]  # new values of attributes, and the attributes that are gone
Listing = list[tuple[int, list[str], list[str]]]  # by reactor: its number, what has changed, and what is gone

# What is not sent home if it is still what was sent out: it cannot have changed, or the caller has the original.
_CODE = Reactor, Elsewhere, Bank, Missing, type, FunctionType, MethodType, ModuleType
_UNCHANGED = (*_CODE, str, bytes, int, float, bool, complex, type(None))
_CHANGED = object()  # not the value of any attribute
# Of what this package keeps about a reactor, what a worker does not need, or has its own of.
_UNSENT = {
    "__dict__",
    "__weakref__",
    "_added_reactions",
    "_claimed",
    "_container",
    "_engine",
    "_made_in",
    "_mode",
    "_rng",
}
_SENT = [name for name in Reactor.__slots__ if name not in _UNSENT]


class Parcel(bytes):
    """A pickled `Part`, and the `modules` that unpickling it will import."""

    modules: list[str]


def pack(
    graph: Graph, image: Image, worker: int, *, debug: bool = False, make: Callable[..., Part] | None = None
) -> Parcel:
    """What worker `worker` needs, as `make` makes it; a `ShippingError` names what cannot be sent."""
    part = (make or Part)(graph, image, worker, debug=debug)
    file = io.BytesIO()
    packer = Outward(file, graph, image.placement, worker)
    try:
        packer.dump(part)
    except Exception as error:
        raise _unshippable(graph, image.placement, worker, error) from error
    parcel = Parcel(file.getvalue())
    parcel.modules = importable_ahead([*packer.modules, __name__])
    return parcel


def modules(parcels: Iterable[Parcel]) -> list[str]:
    """What a server may import for all of them."""
    return list(dict.fromkeys(name for parcel in parcels for name in parcel.modules))


def unpack(graph: Graph, image: Image, reports: Iterable[Report]) -> None:
    """Put the attributes that came back into the caller's reactors, and make the runtime's errors the user's."""
    for report in reports:
        if report.error is not None:
            report.error = _users(report.error)
        if report.attributes is None:  # it died, and with it what it had
            continue
        take_home(graph, image, report.worker, report.attributes)


def take_home(graph: Graph, image: Image, worker: int, written: mmap.mmap) -> None:
    """Put what the part of a worker wrote into the caller's reactors."""
    with written as file:
        try:
            changes, memories = _read(Homecoming(file, graph))
        except Exception:  # noqa: BLE001 - any code runs when things are unpickled
            file.seek(0)
            changes, memories = _salvaged(file, graph, image, worker)
    for number, memory in memories.items():
        if memory_of(graph, number).flags.writeable:  # else it has not changed
            memory_of(graph, number)[...] = memory
    for number, (state, gone) in changes.items():
        reactor = graph.reactors[number]
        for name in gone:
            object.__delattr__(reactor, name)
        for name, value in state.items():
            object.__setattr__(reactor, name, value)


def _read(homecoming: Homecoming | Salvage) -> tuple[dict[int, Change], dict[int, Any]]:
    """What a worker wrote: names, then attribute by attribute, in pickles that refer to each other's parts."""
    listing, memories = homecoming.load()
    changes = {}
    for number, names, gone in listing:
        changes[number] = {name: homecoming.load_one(number, name) for name in names}, gone
    return changes, memories


def _salvaged(file: mmap.mmap, graph: Graph, image: Image, worker: int) -> tuple[dict[int, Change], dict[int, Any]]:
    """The same where some of it cannot be read: all else is there."""
    try:
        return _read(Salvage(file, graph))
    except Exception as error:  # noqa: BLE001 - not even the names are there
        return _lost(graph, image, worker, error), {}


def _users(error: BaseException) -> BaseException:
    """An error as the user gets it."""
    kinds: dict[type[BaseException], type[WorkerError]] = {
        faults.WorkerDied: WorkerDied,
        faults.WorkerNotStarted: WorkerStartError,
    }
    if type(error) not in kinds:
        return error
    found = kinds[type(error)](str(error))
    if isinstance(found, WorkerDied):
        found.status = getattr(error, "status", None)
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    found.__cause__ = error.__cause__
    return found


def _lost(graph: Graph, image: Image, worker: int, error: Exception) -> dict[int, Change]:
    """What is left of a worker's reactors when what came back cannot be read."""
    why = f"what worker {worker} sent back cannot be unpickled ({type(error).__name__}: {error})"
    return {
        number: (
            {
                name: Missing(f"{reactor.path}.{name}", why)
                for name, value in attributes(reactor).items()
                if not isinstance(value, (Declared, *_CODE))  # numbers and texts may have changed, too
            },
            [],
        )
        for number, reactor in enumerate(graph.reactors)
        if image.placement[number] == worker
    }


class Part:
    """A worker's share of a program: made in the caller, unpickled in the worker. Numbers are those of the program."""

    def __init__(self, graph: Graph, image: Image, worker: int, *, debug: bool) -> None:
        program, placement = graph.program, image.placement
        self.debug = debug
        self.definitions = _definitions(graph, placement)
        self.numbers = [number for number, at in enumerate(placement) if at == worker]
        self.reactors = [graph.reactors[number] for number in self.numbers]
        self.kept = [{name: getattr(reactor, name) for name in _SENT} for reactor in self.reactors]
        self.states = [attributes(reactor) for reactor in self.reactors]
        self.calls: list[Any] = []  # `Bodies`; of reactions declared in a class, reactor and position there
        self.natives: dict[int, tuple[int, Native]] = {}  # with their numbers on the worker; late ones after all others
        mine = set(self.numbers)
        elements = {element for element, e in enumerate(program.elements) if e.reactor in mine}
        for number in image.parts[worker].reactions:
            reaction = program.reactions[number]
            elements.update(reaction.triggers, reaction.uses, reaction.effects)
            declared, reactor = graph.declarations[number], graph.reactors[reaction.reactor]
            local, late = len(self.calls), declared.late
            if isinstance(declared.body, Native):
                self.natives[number] = local, declared.body
            if isinstance(late, Native):
                self.natives[len(program.reactions) + number] = len(image.parts[worker].reactions) + local, late
            if isinstance(declared.body, Native) and (late is None or isinstance(late, Native)):
                self.calls.append(None)  # it never comes to Python
            elif declared._owner is None:
                self.calls.append((reactor, type(reactor)._reactions.index(declared)))
            else:
                self.calls.append(declared.bodies(reactor))
        self.handles = {e: graph.elements[e] for e in sorted(elements) if not isinstance(graph.elements[e], Startup)}

    def attach(self, engine: Engine) -> tuple[list[Any], list[Any]]:
        """Make the reactors live; the bodies of their reactions, and what runs when a deadline is missed."""
        for (module, name), definition in self.definitions.items():  # from here on they can be pickled by reference
            setattr(sys.modules.setdefault(module, ModuleType(module)), name, definition)
        self.kinds = kinds_by_value()
        self.before = [
            {name: value if isinstance(value, _UNCHANGED) else _CHANGED for name, value in state.items()}
            for state in self.states
        ]
        for reactor, kept, state in zip(self.reactors, self.kept, self.states, strict=True):
            for name, value in (*kept.items(), *state.items()):
                object.__setattr__(reactor, name, value)
            reactor._added_reactions, reactor._container, reactor._rng, reactor._mode = (), None, None, None
            reactor._claimed = True  # it is this run's, to the end of the process
        self.states.clear()
        handles = [self.handles.get(e) for e in range(len(engine.image.program.elements))]
        self.session = Session(engine, self.reactors, Binding(handles, debug=self.debug))
        self.session.begin()
        for local, native in self.natives.values():
            lib.rx_set_native(engine.core, local, native.function.address, native.function.state)
        executing.run = self.session.running
        called = [*map(_called, self.calls)]
        return [each and each.body for each in called], [each and each.late for each in called]

    def detach(self, engine: Engine, file: BinaryIO) -> None:  # noqa: ARG002 - what the runtime calls it with
        """Let all come to rest, and write what has changed."""
        executing.run = None
        self.session.end()
        self.session.binding.detach()
        self.write(file)

    def write(self, file: BinaryIO) -> None:
        """Write what has changed, also while the reactors live."""
        changes: dict[int, Change] = {}
        for number, reactor, before in zip(self.numbers, self.reactors, self.before, strict=True):
            now = attributes(reactor)
            state = {name: value for name, value in now.items() if not _same(value, before.get(name, _CHANGED))}
            changes[number] = state, [name for name in before if name not in now]
        states: dict[int, Any] = {number: native.state for number, (_, native) in self.natives.items()}
        self.memories = {number: state for number, state in states.items() if state is not None}
        memories = {number: memory.copy() for number, memory in self.memories.items()}
        try:
            self._packer(file).dump_each(_in_order(changes, memories))
        except Exception:  # noqa: BLE001 - any code runs when things are pickled
            file.seek(0)
            file.truncate()
            for reactor, (state, _) in zip(self.reactors, changes.values(), strict=True):
                for name, value in state.items():
                    error = _fault(self._packer(Nowhere()), value)
                    if error is not None:
                        state[name] = Missing(f"{reactor.path}.{name}", f"{_kind(value)} cannot be sent ({error})")
            self._packer(file).dump_each(_in_order(changes, memories))

    def _packer(self, file: PickleFile) -> Homeward:
        numbers = {id(reactor): number for number, reactor in zip(self.numbers, self.reactors, strict=True)}
        return Homeward(file, numbers, self.kinds, {id(memory): number for number, memory in self.memories.items()})


def _in_order(changes: Mapping[int, Change], memories: Mapping[int, Any]) -> Iterator[Any]:
    """What is pickled one after the other: what comes, and it."""
    listing: Listing = [(number, [*state], gone) for number, (state, gone) in changes.items()]
    yield listing, memories
    for state, _ in changes.values():
        yield from state.values()


def _same(now: Any, before: Any) -> bool:
    return isinstance(now, Declared) or (isinstance(now, _UNCHANGED) and now is before)


def _called(call: Any) -> Any:
    """The `Bodies` of a reaction of which a worker was sent this; None for a C function."""
    if call is None or isinstance(call, Bodies):
        return call
    reactor, position = call
    return type(reactor)._reactions[position].bodies(reactor)


def _definitions(graph: Graph, placement: Sequence[int]) -> dict[tuple[str, str], Any]:
    """What goes by value of the code of the whole program, so that all workers have it.

    A value whose class only the writer had could not be unpickled by a reader.
    """
    code = [{type(reactor) for reactor in graph.reactors}, [d.body for d in graph.declarations if d._owner is not None]]
    packer = Outward(Nowhere(), graph, placement, -1)
    return {} if _fault(packer, code) else packer.definitions


def _fault(packer: Packer, thing: Any) -> Exception | None:
    """What goes wrong when it is pickled."""
    try:
        packer.dump(thing)
    except Exception as error:  # noqa: BLE001 - any code runs when things are pickled
        return error
    return None


def _unshippable(graph: Graph, placement: Sequence[int], worker: int, error: Exception) -> ShippingError:
    """The error that names what cannot be sent."""

    def fault(thing: Any) -> Exception | None:
        return _fault(Outward(Nowhere(), graph, placement, worker), thing)

    for place, thing in _what_goes(graph, placement, worker):
        found = culprit(thing, fault)
        if found is not None:
            where, part, error = found
            comma = "," * (", which" in where)
            keep = ", which runs on the worker"
            if USES_GLOBAL in where or place.startswith("the class"):
                keep += (
                    ", and keep it in an attribute, because what code finds in globals or in its class goes "
                    "along with it"
                )
            return ShippingError(
                f"{place}{where}{comma} cannot be sent to worker {worker}: it is {_kind(part)} ({error}); make it in a "
                f"reaction to rx.startup{keep}"
            )
    return ShippingError(f"{graph.main.path}: part of it cannot be sent to worker {worker} ({error})")


def _what_goes(graph: Graph, placement: Sequence[int], worker: int) -> Iterator[tuple[str, Any]]:
    """What is sent, with its name; classes first, for they come along with all else."""
    for reactor, at in zip(graph.reactors, placement, strict=True):
        if at == worker:
            yield f"the class of {reactor.path}, {spelled(type(reactor))}", type(reactor)
    for reactor, at in zip(graph.reactors, placement, strict=True):
        if at == worker:
            yield from ((f"{reactor.path}.{name}", value) for name, value in attributes(reactor).items())
    for name, declared, reaction in zip(graph.names, graph.declarations, graph.program.reactions, strict=True):
        if placement[reaction.reactor] == worker and declared._owner is not None:
            yield f"the body of {name}", declared.body
            yield f"the body of {name} for missed deadlines", declared.late


def _kind(thing: Any) -> str:
    kind = type(thing).__qualname__
    return f"an {kind}" if kind[0] in "aeiouAEIOU" else f"a {kind}"
