"""A link to another machine that runs a part of the same program; its threads are in C (csrc/link.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors_runtime._core import ffi, lib

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from reactors_runtime.memory import Memory

_WHY = {
    lib.RX_CUT: "it was cut",
    lib.RX_SILENT: "nothing was heard for too long",
    lib.RX_NONSENSE: "what came over it cannot be from this program",
    lib.RX_NO_ROOM: "there is no memory for what came over it",
}
SILENCE = 2.0  # seconds after which a machine that says nothing counts as lost; it says something five times a second


class Link:
    """Over a connected socket to `machine`; what happens here and there goes over it from now on.

    When it is cut, the run is aborted, and `lost` says why.
    """

    def __init__(self, memory: Memory, machine: int, connection: socket.socket) -> None:
        self.machine, self._memory, self._connection = machine, memory, connection
        connection.settimeout(None)
        _set_silence(connection, SILENCE)
        base = ffi.from_buffer("uint8_t[]", memory.map)
        self._link = lib.rx_link_open(base, memory.descriptor, machine, connection.fileno())
        if self._link == ffi.NULL:
            raise MemoryError(f"machine {machine}: no memory, or no threads, for the link to it")

    def fileno(self) -> int:
        """The descriptor of its socket, which workers use, too."""
        return self._connection.fileno()

    @property
    def lost(self) -> str | None:
        """What is wrong with it, if anything is."""
        return _WHY.get(lib.rx_link_state(self._link))

    @property
    def silent(self) -> bool:
        """Whether it is lost because nothing was heard, so that there is nothing to wait for."""
        return bool(lib.rx_link_state(self._link) == lib.RX_SILENT)

    def end(self, seconds: float) -> bool:
        """All workers here have ended: say so, and wait so long for the other side to do so; whether it is over."""
        return bool(lib.rx_link_end(self._link, int(seconds * 1e9)) != lib.RX_LINKED)

    def close(self) -> None:
        """End the threads."""
        if self._link != ffi.NULL:
            lib.rx_link_close(self._link)
            self._link = ffi.NULL
            self._connection.close()


def say_goodbye(links: Sequence[Link], look: Callable[[], None]) -> None:
    """End all, and wait for the other sides to do so for as long as they are heard of; `look` is called meanwhile."""
    for link in links:
        link.end(0.0)
    for link in links:
        while not link.end(0.1):
            look()


def _set_silence(connection: socket.socket, seconds: float) -> None:
    import socket as sockets
    import struct

    connection.setsockopt(
        sockets.SOL_SOCKET, sockets.SO_RCVTIMEO, struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6))
    )
    connection.setsockopt(
        sockets.SOL_SOCKET, sockets.SO_SNDTIMEO, struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6))
    )
    if connection.family != sockets.AF_UNIX:
        connection.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
