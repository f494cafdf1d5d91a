"""Who logs this: which worker, in a reaction of which reactor, at which tag?"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from reactors_runtime.spelling import spell_tag

if TYPE_CHECKING:
    from reactors_runtime.planning.image import Image

_NONE = "-"  # what a line shows where there is none


class Locatable(Protocol):
    """An engine, as far as it is asked where it is."""

    image: Image
    worker: int

    def running(self) -> int:
        """The reaction that runs, as the program counts; negative: none."""
        ...

    def tag(self) -> tuple[int, int]:
        """The tag at which it runs: time in ns since the start, microstep."""
        ...


class _Here(threading.local):
    """What this thread is running."""

    engine: Locatable | None = None


here = _Here()


def reaction() -> str:
    """The reaction that this thread runs and its tag, as a message names them; "" if it runs none."""
    engine = here.engine
    if engine is None or engine.running() < 0:
        return ""
    return f"{engine.image.program.name(engine.running())} at {spell_tag(*engine.tag())}"


def locate(record: Any, worker: int | None = None) -> None:
    """Give a record of `logging` the attributes `worker`, `reactor` and `tag`, unless it has them.

    `worker` is that of the process, for what is logged while the worker loads its part, or by a thread of the user's.
    """
    found: dict[str, object] = {"worker": _NONE if worker is None else worker, "reactor": _NONE, "tag": _NONE}
    engine = here.engine
    if engine is not None:
        found["worker"] = engine.worker
        running = engine.running()
        if running >= 0:
            program = engine.image.program
            found["reactor"] = program.reactors[program.reactions[running].reactor].path
            found["tag"] = spell_tag(*engine.tag())
    for name, value in found.items():
        record.__dict__.setdefault(name, value)
