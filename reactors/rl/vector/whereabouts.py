"""Which environment was being stepped when a process hung or died?

A process that hangs or has died cannot report this. So each group of environments writes into shared memory which one
it is stepping, and the process that waits for it reads that.
"""

from __future__ import annotations

from typing import Any, Self

from reactors.lowlevel import Memory
from reactors.rl.replay.storage import Address, SharedBlock


class Whereabouts:
    """A number for each of `groups`: the position of the environment being stepped, from 1; 0 for none.

    >>> where = Whereabouts(2)
    >>> where.at[1] = 5
    >>> where.of(1), where.of(0)
    (4, None)
    >>> where.close()
    """

    def __init__(self, groups: int) -> None:
        self._open(SharedBlock(Memory.reserve(4 * groups)), groups)

    def _open(self, block: SharedBlock, groups: int) -> None:
        self._block, self._groups = block, groups
        self.at = memoryview(block.map)[: 4 * groups].cast("B").cast("I")

    def of(self, group: int) -> int | None:
        """The environment of a group that is being stepped or reset, by its position in the group."""
        return self.at[group] - 1 if self.at[group] else None

    def close(self) -> None:
        """Release the memory."""
        self.at.release()
        self._block.memory.close()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _attached, (type(self), self._block.address(), self._groups)

    @classmethod
    def attached(cls, address: Address, groups: int) -> Self:
        """The same memory in another process."""
        made = cls.__new__(cls)
        made._open(SharedBlock.at(address), groups)
        return made


def _attached(kind: type[Whereabouts], address: Address, groups: int) -> Whereabouts:
    return kind.attached(address, groups)
