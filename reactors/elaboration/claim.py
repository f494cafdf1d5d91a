"""Who runs this program?

A run changes the objects that it runs, the main reactor and all that it contains, so there is one at a time, from
whatever thread. A main reactor is claimed by its run; its parts are, as they are no main reactors of others, and cannot
become that once they are contained.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reactors.errors import StructureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.model.reactor import Reactor

_LOCK = threading.Lock()


@contextmanager
def claimed(main: Reactor) -> Iterator[None]:
    """Have a program for oneself. Raises `StructureError` if it is another's."""
    with _LOCK:
        if main._claimed or main._engine is not None:
            raise StructureError(
                f"{main.path} (made at {main._made_at}) is running already, in this thread or another; wait for the "
                "end of that run, or make another one"
            )
        main._claimed = True
    try:
        yield
    finally:
        main._claimed = False


def contain(reactor: Reactor, container: Reactor, path: str) -> None:
    """Make a reactor part of a program, at `path`. Raises `StructureError` if it runs as a program of its own."""
    with _LOCK:
        if reactor._claimed or (reactor._engine is not None and reactor._container is None):
            raise StructureError(
                f"{path} (made at {reactor._made_at}) is running already by itself, in this thread or another; wait "
                "for the end of that run, or make another one"
            )
        reactor._container = container
