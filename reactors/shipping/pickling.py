"""How are the objects of a program pickled that are no mere data: reactors, ports, classes, functions?

Outward, to a worker, a reactor of that worker goes as an empty one that gets its state later, any other as a
stand-in, and a port as a handle that knows its place. Homeward, all of these go as references to what the caller has.
Classes and functions go by reference where a fresh interpreter can import them, else by value, as those of a script or
a notebook must.
"""

from __future__ import annotations

import io
import pickle
import sys
from functools import _lru_cache_wrapper, lru_cache, partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import cloudpickle

from reactors.model.bank import Bank
from reactors.model.declaration import BODY, Declared
from reactors.model.modes import Mode
from reactors.model.native import Native
from reactors.model.ports import Port
from reactors.model.reaction import Reaction
from reactors.model.reactor import Reactor
from reactors.names.slots import slots
from reactors.shipping.native_code import recipe
from reactors.shipping.standins import Elsewhere, made_already
from reactors_runtime.imports import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from reactors.graph import Graph


# Classes that went by value have the same identity everywhere, which cloudpickle keeps, and has no interface for.
_KINDS_BY_ID = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID
_IDS_BY_KIND = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS


def kinds_by_value() -> dict[type, str]:
    """The classes that came into this process by value, and their identities."""
    return dict(_IDS_BY_KIND)


class PickleFile(Protocol):
    """What a pickler writes to."""

    def write(self, piece: Any, /) -> Any:
        """Take a piece of the pickle."""


class Packer(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """What both directions have in common.

    It notes the `modules` that unpickling will import, and the `definitions`, by module and name, that go by value.
    """

    def __init__(self, file: PickleFile) -> None:
        super().__init__(file, protocol=5)
        self.modules: dict[str, None] = {}
        self.definitions: dict[tuple[str, str], type | FunctionType] = {}
        self._by_value: dict[str, ModuleType] = {}  # modules that a fresh interpreter would not find

    def reducer_override(self, obj: Any) -> Any:
        """How to pickle `obj`; asked for everything but the plainest values."""
        if (reduced := self._part(obj)) is not NotImplemented:
            return reduced
        if isinstance(obj, Bank) and len(obj):
            return Bank, (obj._members,)  # its class is for banks without members, and may not belong here
        if isinstance(obj, Native):
            return recipe(obj)
        if isinstance(obj, ModuleType):
            self._note(obj.__name__)
        elif isinstance(obj, type | FunctionType):
            self._note(_module_of(obj))
            if (obj.__module__ == "__main__" or obj.__module__ in self._by_value) and obj.__qualname__.isidentifier():
                self.definitions[obj.__module__, obj.__qualname__] = obj
            by_reference = obj.__module__ not in self._by_value
            if by_reference and isinstance(obj, FunctionType) and (where := _in_reaction(obj)):
                return _function_of, where
            if isinstance(obj, type) and issubclass(obj, Reactor):
                return self._complete(obj, super().reducer_override(obj))
        elif isinstance(obj, _lru_cache_wrapper):  # cloudpickle knows it by name only
            self._note(obj.__module__)
            module = obj.__module__
            if module == "__main__" or module in self._by_value or "<locals>" in obj.__qualname__:
                return _cached_again, (obj.__wrapped__, *obj.cache_parameters().values())
        elif isinstance(obj, io.IOBase) and not isinstance(obj, io.BytesIO | io.StringIO):
            if obj not in (sys.stdout, sys.stderr):  # cloudpickle would send what is in the file
                raise pickle.PicklingError("an open file belongs to one process")
        elif _on_gpu(obj):
            raise pickle.PicklingError("a tensor on a GPU belongs to one process")
        return super().reducer_override(obj)

    def _part(self, obj: Any) -> Any:
        """A part of a program; what belongs to another program than this one is an object like any other."""
        if isinstance(obj, Reactor | Elsewhere):
            return self.reactor(obj)
        if isinstance(obj, Declared) and not isinstance(obj, Reaction) and obj._owner is not None:
            return self.handle(obj)
        if isinstance(obj, Declared) and obj._class is not None and self._by_reference(obj._class):
            return getattr, (obj._class, obj.name)
        return NotImplemented

    def handle(self, port: Any) -> Any:
        """A port, timer or action of a reactor of this program."""
        raise NotImplementedError

    def reactor(self, reactor: Any) -> Any:
        """A reactor of this program, or what stands for one."""
        raise NotImplementedError

    def _note(self, name: str) -> None:
        """Something of this module is pickled."""
        if name not in self.modules and (module := sys.modules.get(name)) is not None:
            self.modules[name] = None
            if name != "__main__" and not (installed(module) or _found_afresh(name, module)):
                self._by_value[name] = module
                cloudpickle.register_pickle_by_value(module)

    def _complete(self, kind: type, reduced: Any) -> Any:
        """A class that goes by value has been checked, and goes without its `__init__`, which has run."""
        if isinstance(reduced, tuple):
            (*_, first_names, _, _), (names, _), *_ = reduced[1:]
            first_names[BODY] = None
            if "__init__" in names:
                names["__init__"] = made_already
            for name in slots(kind):  # cloudpickle leaves out those that are not private
                names.pop(name, None)
        return reduced

    def _by_reference(self, kind: type) -> bool:
        """Whether a class is found by its name where this will be unpickled."""
        self._note(_module_of(kind))
        found: Any = None
        if kind.__module__ != "__main__" and kind.__module__ not in self._by_value:
            found = sys.modules.get(kind.__module__)
            for name in kind.__qualname__.split("."):
                found = getattr(found, name, None)
        return found is kind

    def dump(self, obj: object) -> None:
        """Pickle `obj`."""
        self.dump_each([obj])

    def dump_each(self, objects: Iterable[object]) -> None:
        """Pickle them one after the other; what is one object in several of them stays one.

        Modules that went by value meanwhile go by reference again afterwards.
        """
        try:
            for obj in objects:
                super().dump(obj)
        finally:
            for module in self._by_value.values():
                cloudpickle.unregister_pickle_by_value(module)
            self._by_value.clear()


def _cached_again(function: Any, maxsize: int | None, typed: bool) -> Any:
    return lru_cache(maxsize, typed)(function)


class Nowhere:
    """A file for those who want to know whether something can be pickled."""

    def write(self, piece: Any, /) -> int:
        """Count the bytes, and forget them."""
        return len(piece)


class Outward(Packer):
    """To worker `worker`, from the caller."""

    def __init__(self, file: PickleFile, graph: Graph, placement: Sequence[int], worker: int) -> None:
        super().__init__(file)
        self._placement, self._worker = placement, worker
        self._numbers = {id(reactor): number for number, reactor in enumerate(graph.reactors)}
        self._used: dict[int, dict[str, Declared]] = {}  # ports of others that this worker's reactions use
        for reaction in graph.program.reactions:
            if placement[reaction.reactor] == worker:
                for element in (*reaction.triggers, *reaction.uses, *reaction.effects):
                    owner = graph.program.elements[element].reactor
                    if placement[owner] != worker:
                        port: Any = graph.elements[element]
                        port = port if getattr(port, "_multiport", None) is None else port._multiport
                        self._used.setdefault(owner, {})[port.name] = port

    def handle(self, port: Any) -> Any:
        """As it is if its reactor lives there. If not, it becomes its own declaration, so that no class comes along."""
        number = self._numbers.get(id(port._owner))
        if number is None:
            return NotImplemented
        if self._placement[number] == self._worker:
            state = dict(vars(port))
            state.pop("_connections", None)
            return empty, (type(port),), state
        state = {**vars(port._declared), **vars(port), "_declared": port}
        if isinstance(port, Port):
            state["_layout"] = port._carried()
        for name in ("_body", "_class", "_connections", "_space"):
            state.pop(name, None)
        return empty, (type(port),), state

    def reactor(self, reactor: Any) -> Any:
        """Empty if it lives there: its state is sent by itself, for a chain of reactors may be long."""
        number = self._numbers.get(id(reactor))
        if number is None:
            return NotImplemented
        if self._placement[number] == self._worker:
            return empty, (type(reactor),)
        stand_in = (number, reactor.path, type(reactor).__qualname__, reactor.bank_index, self._placement[number])
        return Elsewhere, stand_in, self._used.get(number)


class Homeward(Packer):
    """To the caller, from a worker.

    By id, `numbers` has its reactors, and `memories` the arrays that C functions work on with the numbers of their
    reactions; `kinds` has the classes that came by value.
    """

    def __init__(
        self, file: PickleFile, numbers: Mapping[int, int], kinds: Mapping[type, str], memories: Mapping[int, int]
    ) -> None:
        super().__init__(file)
        self._numbers, self._kinds, self._memories = numbers, kinds, memories

    def reducer_override(self, obj: Any) -> Any:
        """As in both directions, but a class that came from the caller is the caller's."""
        if isinstance(obj, type) and obj in self._kinds:
            return callers_class, (self._kinds[obj],)
        if id(obj) in self._memories:
            return callers_memory, (self._memories[id(obj)],)
        return super().reducer_override(obj)

    def handle(self, port: Any) -> Any:
        """Multiports by name, for they have no number; all others by number."""
        if self._number(port._owner) is None:
            return NotImplemented
        if getattr(port, "_channels", None) is not None or isinstance(port, Mode):
            return callers_port, (self._number(port._owner), port.name)
        return callers_element, (port._element,)

    def reactor(self, reactor: Any) -> Any:
        """What the caller knows by the number."""
        number = self._number(reactor)
        return NotImplemented if number is None else (callers_reactor, (number,))

    def _number(self, reactor: Any) -> int | None:
        return reactor._number if isinstance(reactor, Elsewhere) else self._numbers.get(id(reactor))


class CallersOwn:
    """What the references that `Homeward` writes refer to: part of an unpickler."""

    def __init__(self, file: Any, graph: Graph) -> None:
        super().__init__(file)  # type: ignore[call-arg]  # of the unpickler
        self._known: dict[str, Callable[..., Any]] = {
            "callers_class": _KINDS_BY_ID.__getitem__,
            "callers_memory": partial(memory_of, graph),
            "callers_reactor": graph.reactors.__getitem__,
            "callers_element": graph.elements.__getitem__,
            "callers_port": lambda number, name: vars(graph.reactors[number])[name],
        }

    def find_class(self, module: str, name: str) -> Any:
        """What a reference refers to, or how to find out."""
        if module == __name__ and name in self._known:
            return self._known[name]
        return super().find_class(module, name)  # type: ignore[misc]  # of the unpickler


class Homecoming(CallersOwn, pickle.Unpickler):
    """Reads in the caller what `Homeward` wrote in a worker."""

    def load_one(self, number: int, name: str) -> Any:  # noqa: ARG002 - as `Salvage`, which says whose it is
        """The next attribute."""
        return self.load()


def memory_of(graph: Graph, number: int) -> Any:
    """The array that a reaction in C works on; those for missed deadlines are numbered after all others."""
    late, reaction = divmod(number, len(graph.declarations))
    native: Any = graph.declarations[reaction].late if late else graph.declarations[reaction].body
    return native.state


def empty(kind: type) -> Any:
    """A reactor or port that its maker knows nothing of."""
    return object.__new__(kind)


def callers_class(identity: str) -> NoReturn:
    """A reference to a class that went by value; `Homecoming` resolves it."""
    raise LookupError(identity)


def callers_memory(number: int) -> NoReturn:
    """A reference to the state of a C function; `Homecoming` resolves it."""
    raise LookupError(number)


def callers_reactor(number: int) -> NoReturn:
    """A reference to a reactor; `Homecoming` resolves it."""
    raise LookupError(number)


def callers_element(number: int) -> NoReturn:
    """A reference to a port, a timer or an action; `Homecoming` resolves it."""
    raise LookupError(number)


def callers_port(number: int, name: str) -> NoReturn:
    """A reference to a multiport or a mode, by its reactor and name; `Homecoming` resolves it."""
    raise LookupError(number, name)


def _on_gpu(obj: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.Tensor) and bool(obj.is_cuda)


def _in_reaction(function: FunctionType) -> tuple[type, str, str] | None:
    """Where to find a function whose name leads to the reaction that it is the body of: class, reaction, part."""
    found: Any = sys.modules.get(function.__module__) if function.__module__ != "__main__" else None
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    if isinstance(found, Reaction) and found._class is not None:
        for part in ("body", "late"):
            if getattr(found, part) is function:
                return found._class, found.name, part
    return None


def _module_of(obj: type | FunctionType) -> str:
    if not hasattr(obj, "__module__"):
        # Made by a call of `type` where globals have no name: a class statement there takes the one of the builtins.
        obj.__module__ = "builtins"
    return obj.__module__


def _function_of(kind: type, reaction: str, part: str) -> Any:
    return getattr(getattr(kind, reaction), part)


def _found_afresh(name: str, module: ModuleType) -> bool:
    """Whether an interpreter that has not imported the module would find the same one, and all of it."""
    if getattr(module.__spec__, "_initializing", False):  # it is being imported: what runs now would run there, too
        return False
    parent, _, _ = name.rpartition(".")
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    if parent and path is None:
        return False
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path)
        except (ImportError, AttributeError):
            continue
        if spec is not None:
            return spec.origin == getattr(getattr(module, "__spec__", None), "origin", None)
    return False


def importable_ahead(names: Iterable[str]) -> list[str]:
    """The installed modules among those named, and those that the user's own among them use."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    stack = [*names]
    while stack:
        name = stack.pop()
        module = sys.modules.get(name)
        if module is None or name in seen or name == "__main__":
            continue
        seen.add(name)
        if installed(module) or name.startswith("reactors."):
            found[name] = None
            continue
        for value in list(vars(module).values()):
            if isinstance(value, ModuleType):
                stack.append(value.__name__)
            elif isinstance(value, type | FunctionType):
                stack.append(value.__module__)
    return list(found)
