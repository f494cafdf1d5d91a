"""Where does each thing lie in the memory that workers share, and what is written there first?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors_runtime import tables
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors_runtime.memory import Memory

LINE: int = lib.RX_LINE  # bytes


class Arena:
    """Places, one after another from offset 0, and what is to lie there once there is memory.

    >>> import numpy as np
    >>> arena = Arena()
    >>> arena.take(10), arena.place(np.arange(3)), arena.size
    (0, 64, 88)
    """

    def __init__(self) -> None:
        self.size = 0
        self._contents: list[tuple[int, NDArray[Any]]] = []

    def take(self, size: int, align: int = LINE) -> int:
        """The offset of so many bytes."""
        at = -(-self.size // align) * align
        self.size = at + size
        return at

    def place(self, content: NDArray[Any], align: int = LINE) -> int:
        """The offset of an array of its own, of one dimension."""
        at = self.take(content.nbytes, align)
        self.put(at, content)
        return at

    def put(self, at: int, content: NDArray[Any]) -> None:
        """Let an array lie at an offset that was taken."""
        if content.size:
            self._contents.append((at, content))

    def write(self, memory: Memory) -> None:
        """Put all of it into fresh memory, which is zero."""
        for at, content in self._contents:
            tables.view(memory, at, len(content), content.dtype)[:] = content
