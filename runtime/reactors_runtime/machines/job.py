"""What a machine gets of a program, and what it sends home when that is over."""

from __future__ import annotations

import contextlib
import pickle
import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors_runtime import tables
from reactors_runtime._core import ffi
from reactors_runtime.memory import ROOM, Memory
from reactors_runtime.processes.faults import RemoteError
from reactors_runtime.processes.workers import Report
from reactors_runtime.settings import clocksource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from reactors_runtime.planning.image import Image

_PAGE = 4096


@dataclass(frozen=True)
class Job:
    """A machine's share: `image` and `parts` (by worker) pickled, the pages of the arena that are not all zero."""

    machine: int
    image: bytes
    parts: dict[int, bytes]
    modules: list[str]
    values: Any  # `ValueSettings` of the caller
    path: list[str]  # sys.path of the caller
    pages: NDArray[np.int64]
    contents: NDArray[np.uint8]

    def memory(self, image: Image) -> Memory:
        """An arena as the leading machine has it, of this machine. Raises `OutOfMemory`."""
        memory = Memory.reserve(image.size, room=ROOM, shares=image.shares)
        tables.view(memory, 0, image.size // _PAGE, np.dtype((np.uint8, _PAGE)))[self.pages] = self.contents
        found = ffi.cast("rx_image *", ffi.from_buffer("uint8_t[]", memory.map))
        found.machine, found.limit = self.machine, memory.limit
        found.steady = found.steady and clocksource.counts_steadily()
        found.ahead_ns = image.options.clocks[self.machine].ahead
        found.here = len(image.options.workers_of(self.machine, image.workers))
        return memory


def pages_of(memory: Memory) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The numbers of the pages of an arena that are not all zero, and what is in them."""
    pages = np.ndarray((memory.size // _PAGE, _PAGE), np.uint8, memory.map)
    words = np.ndarray((memory.size // _PAGE, _PAGE // 8), np.uint64, memory.map)
    numbers = np.flatnonzero(words.any(axis=1))
    return numbers, pages[numbers]


@dataclass(frozen=True)
class MachineReport:
    """What became of a machine's workers: reports, and what they counted; what was wrong with its links."""

    reports: list[tuple[int, int | None, bytes | None, bytes | None, bool, int]]
    counted: list[tuple[int, bytes]]  # place in the arena
    lost: dict[int, str]  # machines that it could not reach any more, and why
    interrupted: bool = False  # by Ctrl-C there

    @classmethod
    def of(cls, image: Image, memory: Memory, reports: Sequence[Report], lost: dict[int, str]) -> MachineReport:
        """Of a run that is over."""
        rows = []
        for report in reports:
            attributes = None
            if report.attributes is not None:
                with report.attributes as file:
                    attributes = file[:]
            error = None if report.error is None else _packed(report.error)
            rows.append((report.worker, report.pid, attributes, error, report.aftermath, report.place))
        counted = [(at, bytes(memory.map[at : at + n])) for r in reports for at, n in _counted(image, r.worker)]
        interrupted = any(isinstance(report.error, KeyboardInterrupt) for report in reports)
        return cls(rows, counted, lost, interrupted)

    def bring_home(self, memory: Memory) -> list[Report]:
        """Put what was counted into the caller's arena, as if its own workers had; the reports."""
        for at, found in self.counted:
            memory.map[at : at + len(found)] = found
        reports = []
        for worker, pid, attributes, error, aftermath, place in self.reports:
            kept = None if attributes is None else _mapped(attributes)
            reports.append(Report(worker, pid, kept, None if error is None else _unpacked(error), aftermath, place))
        return reports


def _mapped(data: bytes) -> Any:
    from reactors_runtime.processes.messages import mapped, spill

    return mapped(spill([data]))


def _counted(image: Image, worker: int) -> Iterator[tuple[int, int]]:
    """Where what a worker has counted lies, and how many bytes that are."""
    part = image.parts[worker]
    for at, n in (
        (part.offsets["digests"], 8 * len(part.reactors)),
        (part.offsets["stats"], tables.STATS.itemsize * len(part.reactions)),
        (part.offsets["now"], tables.TAG.itemsize),
        (ffi.offsetof("rx_image", "cores") + 4 * worker, 4),
        (image.at["bells"] + worker * tables.BELL.itemsize, tables.BELL.itemsize),
        (part.offsets["trace"] + ffi.offsetof("rx_trace", "tags_left_out"), 16 if image.options.trace else 0),
    ):
        if n:
            yield at, n


def _packed(error: BaseException) -> bytes:
    """An exception with what it was raised from, which pickle by itself leaves out."""
    import cloudpickle

    chain: list[bytes] = []
    found: BaseException | None = error
    while found is not None and len(chain) < 8:
        try:
            chain.append(cloudpickle.dumps(found, protocol=5))
        except Exception:  # noqa: BLE001 - any code runs when things are pickled
            chain.append(pickle.dumps(RemoteError(f"{type(found).__name__}: {found}")))
        found = found.__cause__
    return pickle.dumps(chain)


def _unpacked(data: bytes) -> BaseException:
    chain: list[BaseException] = []
    for each in pickle.loads(data):
        found: Any = None
        with contextlib.suppress(Exception):
            found = pickle.loads(each)
        chain.append(found if isinstance(found, BaseException) else RemoteError("an exception that is unknown here"))
    for error, cause in pairwise(chain):
        error.__cause__ = cause
    inner = getattr(chain[0], "exception", None)
    if isinstance(inner, BaseException) and len(chain) > 1:
        chain[0].__cause__ = inner
        inner.__cause__ = chain[2] if len(chain) > 2 else None
    return chain[0]


@dataclass(frozen=True)
class Platform:
    """What machines have to have in common, so that they can run one program, and so that they calculate alike."""

    reactors: str
    python: str
    architecture: str
    numpy: str
    torch: str
    processor: str

    @classmethod
    def here(cls) -> Platform:
        """This one's."""
        torch = ""
        with contextlib.suppress(metadata.PackageNotFoundError):
            torch = metadata.version("torch")
        major, minor, *_ = sys.version_info
        return cls(
            metadata.version("reactors"), f"{major}.{minor}", platform.machine(), np.__version__, torch, _processor()
        )

    def cannot_run_with(self, other: Platform) -> str | None:
        """What has to be equal and is not."""
        for name in ("reactors", "python", "architecture"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"{name} is {theirs} there and {mine} here"
        return None

    def may_calculate_otherwise(self, other: Platform) -> str | None:
        """What is not equal, so that kernels of NumPy or torch may round in other ways."""
        for name in ("numpy", "torch", "processor"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"{name} is {theirs or 'not there'} there and {mine or 'not here'} here"
        return None


def _processor() -> str:
    """Those of its features by which libraries choose their kernels."""
    names = {"avx", "avx2", "avx512f", "avx512_bf16", "amx_bf16", "fma", "asimd", "sve", "bf16"}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("flags", "Features")):
            return " ".join(sorted(names & set(line.split())))
    return platform.processor()
