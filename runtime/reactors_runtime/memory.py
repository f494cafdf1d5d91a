"""The memory that all workers of a run share.

A memfd has no name: nothing ever lies in /dev/shm, and the memory is gone with the last process that holds it. What is
needed is reserved at the start, so that too little memory is an error here and never a SIGBUS in a reaction. Who gets
the descriptor, through a socket, maps the same bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from typing import TYPE_CHECKING, Any, Self

from reactors_runtime._core import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterable

Share = tuple[str, int]  # who needs it, bytes

ROOM = 1 << 36  # bytes of address space for values that outgrow their places; memory only for those that do
_MODEST = 1 << 25  # bytes that may be asked for without looking first: looking takes a millisecond


class OutOfMemory(MemoryError):  # noqa: N818 - as MemoryError
    """There is less memory than a program asks for, or it may use less; says which limit that is."""


class Memory:
    """A region of `size` reserved bytes, followed by address space up to `limit` for what grows later.

    Bytes beyond `size` must be reserved before they are used. Closing is safe while views of the memory exist: the
    descriptor goes at once where it can, the mapping with the last view.

    >>> with Memory.reserve(1 << 16) as memory:
    ...     memory.map[:3] = b"abc"
    ...     with Memory.attach(os.dup(memory.descriptor), memory.size) as same:
    ...         same.map[:3]
    b'abc'
    """

    __slots__ = ("descriptor", "limit", "map", "size")

    def __init__(self, descriptor: int, size: int, limit: int) -> None:
        self.descriptor, self.size, self.limit = descriptor, size, limit
        base = lib.rx_map(descriptor, limit)
        if base == ffi.NULL:
            raise OSError(ffi.errno, os.strerror(ffi.errno))
        # A buffer that NumPy and memoryview understand; the mapping goes with the last of them.
        self.map: Any = ffi.buffer(ffi.gc(base, lambda at: lib.rx_unmap(at, limit)), limit)

    @classmethod
    def reserve(cls, size: int, *, room: int = 0, shares: Iterable[Share] = ()) -> Self:
        """A new region, or `OutOfMemory`, which names the largest of `shares` where they are the reason.

        `room` bytes of address space follow it, or less: what the limits of this process leave for it.
        """
        free = available() if size > _MODEST else _MODEST
        if size > free:  # asking for it would wake the kernel's OOM killer before it fails
            raise OutOfMemory(_shortage(size, free, shares))
        descriptor = os.memfd_create("reactors", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(descriptor, 0, size)
            room = min(room, _addresses_left() // 4)  # in the workers, too, there is to be some left for others
            while True:
                try:
                    os.ftruncate(descriptor, size + room)
                    return cls(descriptor, size, size + room)
                except OSError:
                    if not room:
                        raise
                    room //= 2
        except (OSError, ValueError, OverflowError) as error:
            os.close(descriptor)
            raise OutOfMemory(_limit(error, size) or _shortage(size, available(), shares)) from error

    @classmethod
    def attach(cls, descriptor: int, size: int) -> Self:
        """The region behind a descriptor that came from another process; the descriptor is ours from now on."""
        limit = os.fstat(descriptor).st_size
        try:
            return cls(descriptor, size, limit)
        except OSError as error:
            os.close(descriptor)
            raise OutOfMemory(_limit(error, limit) or str(error)) from error

    def close(self) -> None:
        """Give the memory back; once the last view of it is gone, if there are any."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        self.map = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def available() -> int:
    """How many bytes a process may still take: what the machine has free, or its control group allows, if less."""
    from pathlib import Path

    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = sum(int(facts.get(name, "0").split()[0]) for name in ("MemAvailable", "SwapFree")) * 1024
    return min([free, *_group_limits()])


def _addresses_left() -> int:
    """How many more bytes of address space this process may have."""
    from pathlib import Path

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return 1 << 62
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return max(0, most - pages * resource.getpagesize())


def _limit(error: Exception, size: int) -> str | None:
    """Which limit of this process stood in the way of so many bytes, if it was one."""
    number = error.errno if isinstance(error, OSError) else None
    needs = f"the program needs {in_units(size)} of shared memory"
    if number == errno.EFBIG:
        most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        return f"{needs}, but no file may have more than {in_units(most)} here; raise that limit (ulimit -f)"
    if number == errno.ENOMEM and _addresses_left() < size:
        return (
            f"{needs}, but {in_units(_addresses_left())} of address space are left to process {os.getpid()}; "
            "raise that limit (ulimit -v)"
        )
    return None


def _group_limits() -> Iterable[int]:
    """The room left in each memory control group that this process is in, of either version."""
    from pathlib import Path

    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        if not kinds:
            root, limit, used = Path("/sys/fs/cgroup"), "memory.max", "memory.current"
        elif "memory" in kinds.split(","):
            root, limit, used = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        here = root / path.lstrip("/")
        for group in (here, *here.parents):
            if not group.is_relative_to(root):
                break
            with contextlib.suppress(OSError, ValueError):  # absent at the root, or the word "max"
                # Cached files count as used though the kernel drops them when it must.
                cached: dict[str, str] = dict(row.split() for row in (group / "memory.stat").read_text().splitlines())
                droppable = int(cached.get("total_inactive_file") or cached.get("inactive_file") or "0")
                yield int((group / limit).read_text()) - int((group / used).read_text()) + droppable


def _shortage(size: int, free: int, shares: Iterable[Share]) -> str:
    largest = sorted(shares, key=lambda share: -share[1])[:5]
    named = ", ".join(f"{name} {in_units(share)}" for name, share in largest)
    return (
        f"the program's ports need {in_units(size)} of shared memory, but {in_units(free)} are free"
        + (f"; the largest: {named}" if named else "")
        + "; make their shapes or widths smaller, or use fewer workers"
    )


def in_units(size: int) -> str:
    """A number of bytes for people.

    >>> in_units(3 << 29), in_units(700)
    ('1.5 GiB', '700 bytes')
    """
    for unit, name in ((1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
