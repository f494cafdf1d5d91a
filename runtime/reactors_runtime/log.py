"""The records of a log, as csrc/record.c writes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reactors_runtime._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterator

END: int = lib.RX_LOG_END
ACTION: int = lib.RX_LOG_ACTION
ARRIVAL: int = lib.RX_LOG_ARRIVAL
LATE: int = lib.RX_LOG_LATE
CHECK: int = lib.RX_LOG_CHECK

Record = tuple[int, tuple[int, int], int, bytes]  # kind, tag, number in the program, value


def append(file: str, kind: int, tag: tuple[int, int], number: int) -> None:
    """Write one record without a value."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        error = lib.rx_log(descriptor, kind, {"time": tag[0], "microstep": tag[1]}, number, ffi.NULL, 0)
    finally:
        os.close(descriptor)
    if error:
        raise OSError(error, os.strerror(error), file)


def parse(data: bytes) -> list[Record]:
    """All records up to the end, or to the first that was cut off."""
    return list(_records(data))


def _records(data: bytes) -> Iterator[Record]:
    head, at = ffi.sizeof("rx_logged"), 0
    logged = ffi.new("rx_logged *")
    while at + head <= len(data):
        ffi.memmove(logged, data[at : at + head], head)
        end = at + head + logged.size
        value = data[at + head : end]
        if end > len(data) or lib.rx_check(logged, ffi.from_buffer(value)) != logged.check:
            return
        yield logged.kind, (logged.tag.time, logged.tag.microstep), logged.number, value
        at = end
