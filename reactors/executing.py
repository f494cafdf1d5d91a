"""What is this thread doing?"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reactors.errors import StructureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.modes import Mode


class Executing(threading.local):
    """Whether it executes a program, or a file for the sake of its classes; and the modes whose `with` it is in."""

    program = False
    definitions = False
    modes: tuple[Mode, ...] = ()


executing = Executing()


def not_in_a_reaction(what: str) -> None:
    """Refuse what would run a program of its own in a reaction."""
    if executing.program:
        raise StructureError(
            f"{what} inside of a reaction: nothing nests in a reaction, so no program runs in another one; call it "
            "before or after that, or make its reactors part of it"
        )


@contextmanager
def apart() -> Iterator[None]:
    """Make a program that the reaction which runs now steps by itself."""
    before, executing.program = executing.program, False
    try:
        yield
    finally:
        executing.program = before
