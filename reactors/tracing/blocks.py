"""What is in the file of a trace, or of a journal?

Blocks one after another, each with a checksum, so that a file that was cut off is good up to there: first what ran,
then what one worker or another did as it came, at the end what is known then.
"""

from __future__ import annotations

import enum
import json
import os
import struct
import zlib
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"RXT1"  # of a trace
_HEAD = struct.Struct("<4sHHII")  # magic, kind, worker, size, checksum of all else
_MOST = 1 << 28  # bytes of a block: more is no size


class BlockKind(enum.IntEnum):
    """What a block holds."""

    HEADER = 0  # JSON, deflated
    SPANS = 1  # of a trace, csrc/drain.c; of a journal entries, csrc/journal.c
    END = 2  # JSON, deflated


class FileBlock(NamedTuple):
    """One of them; `worker` is 0 where it is of none."""

    kind: BlockKind
    worker: int
    content: bytes

    @property
    def json(self) -> dict[str, Any]:
        """What a header or an end says. Raises `ValueError` if it is none."""
        try:
            found: dict[str, Any] = {**json.loads(zlib.decompress(self.content))}
        except (zlib.error, TypeError) as error:
            raise ValueError(str(error)) from None
        return found

    @classmethod
    def of_json(cls, kind: BlockKind, said: dict[str, Any]) -> FileBlock:
        """A header or an end."""
        return cls(kind, 0, zlib.compress(json.dumps(said).encode()))

    def write(self, descriptor: int, magic: bytes = MAGIC) -> None:
        """Append it, in one piece where the system takes it so. Raises `OSError`."""
        checked = _HEAD.pack(magic, self.kind, self.worker, len(self.content), 0)
        head = _HEAD.pack(
            magic, self.kind, self.worker, len(self.content), zlib.crc32(self.content, zlib.crc32(checked))
        )
        left = memoryview(head + self.content)
        while left:
            left = left[os.write(descriptor, left) :]


def read(file: IO[bytes], expected: bytes = MAGIC) -> Iterator[FileBlock]:
    """All blocks up to the end, or to the first that is not whole."""
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        magic, kind, worker, size, check = _HEAD.unpack(head)
        if magic != expected or kind > BlockKind.END or size > _MOST:
            return
        content = file.read(size)
        checked = _HEAD.pack(magic, kind, worker, size, 0)
        if len(content) < size or zlib.crc32(content, zlib.crc32(checked)) != check:
            return
        yield FileBlock(BlockKind(kind), worker, content)
