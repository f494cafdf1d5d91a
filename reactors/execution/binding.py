"""How do the objects of a program come alive for a run, and to rest again?

Each port, timer and action gets a *twin* of a live class, which takes its place in the reactor: a fresh object,
because CPython finds attributes and methods of one whose class or dict was exchanged three times more slowly. The
object itself comes alive too, for those that kept a reference to it. Where two workers of one process use a port, the
one that writes it and the one that reads it, each has a twin, and the object finds the right one by thread.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reactors.execution import live_ports
from reactors.model.actions import LogicalAction, PhysicalAction
from reactors.model.ports import Port
from reactors.model.triggers import Startup
from reactors_runtime._doors import KEEPS, SENDS
from reactors_runtime.program import Kind
from reactors_runtime.values import ArrayStore, ObjectStore, PickleStore, SequenceStore, canonical, read_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.execution.watch import Watch
    from reactors_runtime.engine import Engine
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


@cache
def live_class(life: type, rest: type) -> type:
    """`life` on top of the class that an object has at rest, by whose name Python's own errors call it."""
    return type(rest.__name__, (life, rest), {"__module__": rest.__module__})


class Revived(NamedTuple):
    """An object that has come alive, its class and dict at rest, and its twins by worker."""

    thing: Any
    rest: type
    at_rest: dict[str, Any]
    twins: dict[int, Any]


class Binding:
    """Makes the objects of a program live for the engines of this process, and lets them rest again.

    `objects` are parallel to the program's elements; None where this process has no use for one.
    """

    def __init__(self, objects: Sequence[Any], *, debug: bool = False) -> None:
        self.objects, self.debug = objects, debug
        self._revived: dict[int, Revived] = {}  # by the id of the object
        self._threads: dict[int, int] = {}  # worker -> thread
        self._lock = threading.Lock()
        self._alone = threading.RLock()
        self._watches: list[Watch] = []

    def attach(self, engine: Engine) -> None:
        """Everything that this worker's reactions declare; what they use one after another lies so in memory, too."""
        with self._lock:
            self._threads[engine.worker] = engine.thread
            watched: dict[str, Any] = {}
            plain: type = live_ports.LiveMultiport
            if self.debug:
                from reactors.execution.debug_ports import DebugMultiport
                from reactors.execution.watch import Watch

                plain = DebugMultiport
                watch = watched["_watch"] = Watch(engine, self._alone)
                self._watches.append(watch)
                engine.around = watch.around
            multiports: dict[int, tuple[Any, bool]] = {}
            elements = engine.image.program.elements
            for element, door in engine.part.doors.items():
                thing = self.objects[element]
                if thing is None or isinstance(thing, Startup):  # which no program has a name for
                    continue
                life, live, way = self._life(thing, engine, element)
                self._revive(thing, engine.worker, life, {**live, **watched}, engine.way(door, **way))
                if isinstance(thing, Port) and thing._multiport is not None:
                    multiports[id(thing._multiport)] = thing._multiport, elements[element].mutable
            for multiport, mutable in multiports.values():
                life = live_ports.LiveMutableMultiport if mutable else plain
                live, all_of = self._rows(multiport, engine)
                self._revive(multiport, engine.worker, life, {**live, **watched}, all_of=all_of)
            engine.stores.forget()

    def attach_caller(self, image: Image, memory: Memory) -> None:
        """The physical actions, for threads of a process that runs no worker."""
        for worker, part in enumerate(image.parts):
            for element, action in part.actions.items():
                if image.program.elements[element].kind == Kind.PHYSICAL_ACTION:
                    live = {"_memory": memory, "_worker": worker, "_action": action, **_ways(image)}
                    life = self._watched(live_ports.DistantPhysicalAction)
                    self._revive(self.objects[element], worker, life, live)

    def detach(self) -> None:
        """Everything at rest again."""
        for thing, rest, at_rest, twins in self._revived.values():
            thing.__class__ = rest
            if vars(thing) is not at_rest:
                thing.__dict__ = at_rest
            thing._detach()
            thing._engine = None
            self._place(thing, thing)
            for twin in twins.values():  # which may be kept
                twin.__class__, twin.__dict__ = rest, {**at_rest}
                twin._detach()
                twin._engine = None
        self._revived.clear()
        for watch in self._watches:
            watch.close()
        self._watches.clear()

    def _life(self, thing: Any, engine: Engine, element: int) -> tuple[type, dict[str, Any], dict[str, Any]]:
        """The live class of an object for one worker, what only it knows, and its way to values (`Engine.way`)."""
        if isinstance(thing, Port):
            return self._life_of_port(engine, element)
        if isinstance(thing, LogicalAction):
            way = {"values": engine.stores.actions, "action": engine.part.actions[element]}
            life = self._watched(live_ports.LiveLogicalAction)
            return live_class(live_ports.InPhysicalTime, life) if engine.image.options.waits else life, {}, way
        if isinstance(thing, PhysicalAction):
            live = {"_action": engine.part.actions[element], "_memory": engine.memory, "_worker": engine.worker}
            life = self._watched(live_ports.LivePhysicalAction)
            return life, {**live, "_sent": engine.sent, **_ways(engine.image), "_shown": 0}, {}
        return live_ports.LiveTimer, {}, {}

    def _watched(self, life: type) -> type:
        """The class that checks more, in debug mode."""
        if not self.debug:
            return life
        from reactors.execution.debug_ports import DEBUG

        return DEBUG.get(life, life)

    def _life_of_port(self, engine: Engine, element: int) -> tuple[type, dict[str, Any], dict[str, Any]]:
        life, live, way = self._port_by_store(engine, element)
        life = self._watched(life)
        if engine.image.program.elements[element].mutable and life is not live_ports.NoSource:
            life, live = live_class(live_ports.MutablePort, life), {**live, "_reader": (), "_copy": None}
        return life, live, way

    def _port_by_store(self, engine: Engine, element: int) -> tuple[type, dict[str, Any], dict[str, Any]]:
        store = engine.stores.of(element)
        if store is None:
            return live_ports.NoSource, {}, {}
        source = engine.image.sources.get(element)
        writes = source is not None and source.worker == engine.worker
        if isinstance(store, ArrayStore):
            way = store.way() if writes else {"values": store.views}
            return live_ports.ArrayPort, {"_tensors": {}}, {"store": store, **way}
        if isinstance(store, PickleStore):
            return live_ports.PicklePort, {}, {"store": store, **store.way()}
        assert isinstance(store, ObjectStore)
        pickled = engine.stores.pickled(element) if writes else None
        if pickled is not None:
            way = {"store": store, **pickled.way(), "values": store.values, "sets": SENDS}
            return live_ports.PicklePort, {"_pickled": pickled}, way
        way = {"values": store.values, "place": store.place, "sets": KEEPS, "travels": isinstance(store, SequenceStore)}
        return live_ports.ObjectPort, {}, way

    def _rows(self, multiport: Any, engine: Engine) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """What a multiport knows of its channels: twins, doors, the blocks whose rows they are; and its way to them."""
        # Another worker of this process may have been here before.
        revived = self._revived
        at_rest = revived[id(multiport)].at_rest if id(multiport) in revived else vars(multiport)
        channels = [revived[id(c)].twins.get(engine.worker, c) if id(c) in revived else c for c in at_rest["_channels"]]
        doors = [engine.part.doors.get(channel._element, -1) for channel in channels]
        together = bool(doors) and doors[0] >= 0 and doors == list(range(doors[0], doors[0] + len(doors)))
        first = doors[0] if together else -1
        own = blocks(engine, [channel._element for channel in channels]) if together else []
        views = [read_only(block) for block in own]
        live = {"_channels": channels, "_blocks": own, "_views": views, "_tensors": {}}
        return live, engine.way_to_all(first, channels, views, own)

    def _revive(
        self,
        thing: Any,
        worker: int,
        life: type,
        live: dict[str, Any],
        way: tuple[Any, ...] = (),
        all_of: tuple[Any, ...] = (),
    ) -> None:
        revived = self._revived.get(id(thing))
        if revived is None:
            revived = self._revived[id(thing)] = Revived(thing, thing.__class__, thing.__dict__, {})
        _, rest, at_rest, twins = revived
        twin: Any = object.__new__(live_class(life, rest))
        for name, value in at_rest.items():
            setattr(twin, name, value)
        for name, value in live.items():
            setattr(twin, name, value)
        lead(twin, way, all_of)
        twins[worker] = twin
        if len(twins) == 1:
            thing.__class__ = twin.__class__
            if live:
                thing.__dict__ = {**at_rest, **live}
            lead(thing, way, all_of)
            self._place(thing, twin)
        else:
            lives = {self._threads[w]: t for w, t in twins.items()}
            thing.__class__ = live_class(live_ports.SeveralWorkers, rest)
            thing.__dict__ = {**at_rest, "_by_worker": twins, "_lives": lives}
            self._place(thing, thing)

    def _place(self, thing: Any, now: Any) -> None:
        """Put an object, or its twin, where its reactor has it."""
        owner = thing._owner
        if owner is not None and getattr(thing, "_multiport", None) is None:
            names = vars(owner)
            if getattr(names.get(thing.name), "_declared", None) is thing._declared:
                names[thing.name] = now


def _ways(image: Image) -> dict[str, bool]:
    """How a physical action is scheduled in this run."""
    return {"_plain": image.options.plain, "_waits": image.options.waits}


def lead(live: Any, way: tuple[Any, ...], all_of: tuple[Any, ...]) -> None:
    """Have a live object see what the core opens: its own door, or those of all its channels."""
    if way:
        live._attach(*way)
    if all_of:
        live._attach_all(*all_of)


def blocks(engine: Engine, elements: list[int]) -> list[Any]:
    """Where the values of these channels lie as rows of one block: the block of each slot."""
    sources = [engine.image.sources.get(engine.image.program.elements[e].source) for e in elements]
    first = sources[0]
    if first is None or not first.bytes:
        return []
    for row, source in enumerate(sources):
        if (
            source is None
            or source.block != first.block
            or source.block < 0
            or source.data != first.data + row * first.bytes
        ):
            return []
    like = engine.image.program.elements[first.element]
    assert like.shape is not None
    assert like.dtype is not None
    shape, dtype = (len(sources), *like.shape), canonical(like.dtype)
    return first.by_slot(lambda at: np.ndarray(shape, dtype, engine.memory.map, at))
