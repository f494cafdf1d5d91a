"""Machines that are processes of this one: to try out what several would do."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

from reactors.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reactors_runtime.machines.leading import Gathering

_GRACE = 10.0  # seconds for a process to end once the run is over


@contextlib.contextmanager
def local(gathering: Gathering) -> Iterator[Callable[[], None]]:
    """Starts them; what it gives raises `MachineError` where one has ended before it joined. None is left."""
    host, port = gathering.address
    others: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(gathering.count - 1):
            other = subprocess.Popen(
                [sys.executable, "-m", "reactors", "join", f"{host}:{port}", "--token-file", "/dev/stdin"],
                stdin=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for this process, which tells the others
            )
            others.append(other)
            assert other.stdin is not None
            with other.stdin as pipe, contextlib.suppress(BrokenPipeError):
                pipe.write(gathering.token)

        def look() -> None:
            for other in others:
                if other.poll() is not None and len(gathering.members) < gathering.count - 1:
                    raise MachineError(
                        f"a process that was to be a machine has ended with status {other.returncode} before it joined"
                    )

        yield look
        whole = all(member.outcome is not None and member.outcome.reports for member in gathering.members)
        for other in others:
            with contextlib.suppress(subprocess.TimeoutExpired):
                other.wait(_GRACE if whole else 0.0)
    finally:
        for other in others:
            if other.poll() is None:
                other.kill()
            other.wait()
