"""How does a run say that it can be watched?

By a descriptor with the name of a board: what is in it says what runs, and where in the shared memory of the run its
counters are. It goes with the run, however that ends, and only processes of the same user can open it. It can be found
while it is being written, and is sealed once it is whole.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image

NAME = "reactors-board"


@contextmanager
def shown(said: dict[str, Any], image: Image, memory: Memory) -> Iterator[None]:
    """Let a run be watched; `said` is what the header of its trace would have. Raises `OSError`."""
    content = {
        **said,
        "arena": memory.descriptor,
        "size": image.size,
        "bells": image.at["bells"],
        "parts": [
            {"stats": part.offsets["stats"], "now": part.offsets["now"], "reactions": [*part.reactions]}
            for part in image.parts
        ],
    }
    descriptor = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(json.dumps(content).encode())
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
        yield
    finally:
        os.close(descriptor)


def whole(descriptor: Path) -> bool:
    """Whether a descriptor of a process, in `/proc`, is a board with all that it says."""
    if not descriptor.readlink().name.startswith(f"memfd:{NAME}"):
        return False
    with descriptor.open("rb") as file:
        return bool(fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE)
