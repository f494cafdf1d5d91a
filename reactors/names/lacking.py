"""What is there instead of an attribute that is not?

At rest, reactors, ports, timers and actions say so by themselves, in a `__getattr__`. CPython looks up every attribute
of a class that has one two to three times more slowly, so it is taken away while a program runs in this process; what
goes wrong in a reaction is said when it has failed (`reactors_runtime.suggestions`).
"""

from __future__ import annotations

import threading
from typing import Any

from reactors_runtime.suggestions import closest

_LOCK = threading.Lock()
_explaining: list[type] = []  # classes whose instances say what they have
_running = 0  # programs in this process
_changes = 0  # how often they were taken away from
_MOST_CHANGES = 400  # CPython 3.13 no longer optimises a class that has changed a thousand times


def explains(kind: type) -> None:
    """Have the instances of a class say at rest what they have, by its method `_lacks`."""
    _explaining.append(kind)
    kind.__getattr__ = _explained  # type: ignore[attr-defined]


def begin() -> None:
    """A program begins to run: attributes are found quickly from now on."""
    global _running, _changes  # noqa: PLW0603 - of this process
    with _LOCK:
        _running += 1
        explaining = [kind for kind in _explaining if "__getattr__" in vars(kind)]
        _changes += bool(explaining)
        for kind in explaining:
            del kind.__getattr__  # type: ignore[attr-defined]


def end() -> None:
    """A program is over; with the last of them, objects explain again what they lack."""
    global _running  # noqa: PLW0603 - likewise
    with _LOCK:
        _running -= 1
        if not _running and _changes < _MOST_CHANGES:
            for kind in _explaining:
                kind.__getattr__ = _explained  # type: ignore[attr-defined]


def _explained(self: Any, name: str) -> Any:
    try:
        return object.__getattribute__(self, name)  # once more, for the error: it may come from within a property
    except AttributeError as error:
        thing: object = self
        if name.startswith("_") or error.name != name or error.obj is not thing:
            raise
        raise AttributeError(f"{error}{self._lacks(name, {})}", name=name) from None


_CALLED = {  # what others call it
    "value": ("get", "read", "val", "data", "item", "recv", "receive"),
    "is_present": ("present", "exists", "is_set", "fired", "ready"),
    "set": ("put", "write", "send", "emit", "publish", "push"),
    "schedule": ("set", "put", "send", "emit", "trigger", "fire", "start", "delay"),
    "loan": ("borrow", "buffer", "lend"),
    "array": ("numpy", "ndarray"),
    "tensor": ("torch",),
}


def meant(name: str, offered: list[str]) -> str | None:
    """Which of the names of a port, timer or action stands for this one."""
    called = (real for real, others in _CALLED.items() if real in offered and name in others)
    return next(called, None) or closest(name, offered)


def listed(names: list[str], most: int = 8) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], 2)
    ('a, b and c', 'a, b and 2 more')
    """
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
