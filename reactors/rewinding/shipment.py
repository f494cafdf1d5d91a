"""What is sent to the process of a run that is executed again: all of the program, as to any worker, and a cursor."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, BinaryIO

from reactors.rewinding.cursor import Cursor
from reactors.shipping.parcels import Part

if TYPE_CHECKING:
    from reactors.graph import Graph
    from reactors_runtime.engine import Engine
    from reactors_runtime.planning.image import Image

_PR_SET_CHILD_SUBREAPER = 36


class Rewound(Part):
    """A program whose reactions ask the cursor before they run."""

    cursor: Cursor

    def __init__(self, graph: Graph, image: Image, worker: int, *, debug: bool, address: str, quiet: bool) -> None:
        super().__init__(graph, image, worker, debug=debug)
        self.address, self.quiet = address, quiet

    def attach(self, engine: Engine) -> tuple[list[Any], list[Any]]:
        """Make the reactors live, and put the cursor around the bodies of their reactions."""
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # to bury the copies of copies
        bodies, late = super().attach(engine)
        self.cursor = cursor = Cursor(engine, self, self.address, quiet=self.quiet)
        numbers = engine.reactions
        return (
            [each and cursor.around(n, each) for n, each in zip(numbers, bodies, strict=True)],
            [each and cursor.around(n, each) for n, each in zip(numbers, late, strict=True)],
        )

    def detach(self, engine: Engine, file: BinaryIO) -> None:  # noqa: ARG002 - what the runtime calls it with
        """The run is over: nothing goes home until it is asked for."""
        self.cursor.end()
