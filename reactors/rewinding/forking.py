"""How is a process copied so that the copy and the original no longer share anything?

By fork, which copies all memory but mappings that are shared on purpose: the arena, replay buffers, trees of
priorities. These are made private before, at the same addresses. What fork cannot copy is named by `hindrance`:
threads, a GPU, other processes.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAPS, _TASKS, _DESCRIPTORS = Path("/proc/self/maps"), Path("/proc/self/task"), Path("/proc/self/fd")
_MAP_FIXED, _MAP_NORESERVE, _FAILED = 0x10, 0x4000, ctypes.c_void_p(-1).value


class Mapping(NamedTuple):
    """Memory of this process that others may share."""

    start: int
    size: int
    offset: int  # in the file
    file: tuple[int, int]  # device and inode
    name: str


def shared_mappings() -> Iterator[Mapping]:
    """What this process may write and share, but for files on disks and devices, which are none of its state."""
    for line in _MAPS.read_text().splitlines():
        span, rights, offset, device, inode, *name = line.split(maxsplit=5)
        if rights[:2] != "rw" or rights[3] != "s":
            continue
        path = name[0] if name else ""
        if path and not path.startswith(("/memfd:", "/dev/zero", "/dev/shm/", "/SYSV")):
            continue
        start, end = (int(part, 16) for part in span.split("-"))
        major, minor = (int(part, 16) for part in device.split(":"))
        yield Mapping(start, end - start, int(offset, 16), (os.makedev(major, minor), int(inode)), path)


def make_private() -> None:
    """From here on no memory of this process changes by what a copy of it does, nor the other way round."""
    mappings = [*shared_mappings()]
    if not mappings:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    files = _open_files()
    for each in mappings:
        rights, fixed = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _MAP_FIXED | _MAP_NORESERVE
        descriptor = files.get(each.file)
        kept = None
        if descriptor is None:  # nothing leads to its contents but its addresses
            kept = ctypes.string_at(each.start, each.size)
            found = libc.mmap(each.start, each.size, rights, fixed | mmap.MAP_ANONYMOUS, -1, 0)
        else:
            found = libc.mmap(each.start, each.size, rights, fixed, descriptor, each.offset)
        if found == _FAILED:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), each.name)
        if kept is not None:
            ctypes.memmove(each.start, kept, each.size)


def _open_files() -> dict[tuple[int, int], int]:
    """The descriptors of this process, by device and inode."""
    found = {}
    for entry in _DESCRIPTORS.iterdir():
        try:
            status = os.stat(int(entry.name))  # noqa: PTH116 - a descriptor
        except OSError:  # the one with which we look
            continue
        found[status.st_dev, status.st_ino] = int(entry.name)
    return found


def hindrance(own: set[int]) -> str:
    """Why this process cannot be copied as it is; "" if it can. `own` are children that are copies themselves."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "it has state on a GPU"
    threads = [*_TASKS.iterdir()]
    if len(threads) > 1:
        return f"it has {len(threads)} threads"
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if children.exists() and (others := {int(pid) for pid in children.read_text().split()} - own):
        return f"it has started {len(others)} process{'es' * (len(others) > 1)}"
    files = [(each.file, each.offset) for each in shared_mappings()]
    if len(files) != len(set(files)):
        return "it has mapped the same shared memory twice"
    return ""


def fork() -> int:
    """As `os.fork`, after which also the random numbers of both go on as they would have."""
    make_private()
    random: Any = sys.modules.get("random")
    state = None if random is None else random.getstate()  # which Python seeds again in a child
    pid = os.fork()
    if pid == 0 and random is not None:
        random.setstate(state)
    return pid
