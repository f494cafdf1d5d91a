"""How is read what a worker sent back, where some of it cannot be?"""

from __future__ import annotations

import pickle
from pickletools import genops
from typing import TYPE_CHECKING, Any

from reactors.shipping.pickling import CallersOwn
from reactors.shipping.standins import Missing

if TYPE_CHECKING:
    from reactors.graph import Graph


class Salvage(CallersOwn, pickle._Unpickler):
    """Reads as `Homecoming` does, but slowly, and goes on behind an attribute that cannot be read.

    What of it other attributes have, too, is missing there as well: it may be whole, or half made.
    """

    memo: dict[int, Any]  # parts that later pickles refer to, numbered as they come

    def __init__(self, file: Any, graph: Graph) -> None:
        super().__init__(file, graph)
        self._file, self._graph = file, graph

    def load_one(self, number: int, name: str) -> Any:
        """The next attribute, or what stands for it."""
        known, begin = len(self.memo), self._file.tell()
        try:
            return self.load()
        except Exception as error:  # noqa: BLE001 - any code runs when things are unpickled
            why = f"it cannot be unpickled here ({type(error).__name__}: {error})"
            missing = Missing(f"{self._graph.reactors[number].path}.{name}", why)
            self._file.seek(begin)
            parts = sum(opcode.name == "MEMOIZE" for opcode, *_ in genops(self._file))  # which leaves it at the next
            self.memo.update(dict.fromkeys(range(known, known + parts), missing))
            return missing
