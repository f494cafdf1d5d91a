"""A connection by TLS that looks like a plain socket, for the threads of a link are C, and know nothing of TLS.

Who uses it has one end of a socket pair, and a thread copies between the other end and TLS.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from typing import Any

_CHUNK = 1 << 18  # bytes that are read at once
_FLUSH = 2.0  # seconds for the other side to take what was written


class Tunnel(socket.socket):
    """The end that is used. Whatever goes wrong with TLS looks like a connection that the other side has closed."""

    def __init__(self, secured: ssl.SSLSocket) -> None:
        near, far = socket.socketpair()
        super().__init__(near.family, near.type, near.proto, near.detach())
        far.setblocking(False)
        secured.setblocking(False)
        secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._secured, self._address = secured, secured.getsockname()
        self._thread = threading.Thread(target=_copy, args=(secured, far), name="reactors-tls", daemon=True)
        self._thread.start()

    def getsockname(self) -> Any:
        """Where this machine is, as the other one sees it."""
        return self._address

    def close(self) -> None:
        """Hang up, once what was written is on its way; the thread is over then."""
        super().close()
        self._thread.join(_FLUSH)
        with contextlib.suppress(OSError):  # which it is, but where the other side takes nothing any more
            socket.socket.shutdown(self._secured, socket.SHUT_RDWR)
        self._thread.join()


def _copy(secured: ssl.SSLSocket, far: socket.socket) -> None:
    """Until one side has hung up, and the other has what came before. Messages say how long they are: none is cut."""
    with secured, far:
        out, back = _Way(far, secured), _Way(secured, far)
        while not (out.over or back.over):
            if not (out.move() | back.move()):
                _wait(out, back)


class _Way:
    """From one socket to another, neither of which lets wait."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source, self.target = source, target
        self.data = memoryview(b"")  # read, and not yet written
        self.over = False

    def move(self) -> bool:
        """Write what is there, else read more; whether that could be done."""
        try:
            if self.data:
                self.data = self.data[self.target.send(self.data) :]
            else:
                self.data = memoryview(self.source.recv(_CHUNK))
                self.over = not self.data
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError:
            self.over = True
        return not self.over


def _wait(*ways: _Way) -> None:
    """Until one of them can go on."""
    events: dict[socket.socket, int] = {}
    for way in ways:
        end, event = (way.target, select.POLLOUT) if way.data else (way.source, select.POLLIN)
        events[end] = events.get(end, 0) | event
    poll = select.poll()
    for end, event in events.items():
        poll.register(end, event)
    poll.poll()
