"""How machines of one job talk: messages over TCP, after each has proved to the other that it knows the job's token.

Until then nothing is read but a few bytes of a fixed form, and nothing is unpickled. The token itself never travels:
each side sends a random challenge, and what HMAC-SHA256 makes of both challenges and the token.
"""

from __future__ import annotations

import hmac
import pickle
import secrets
import struct
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

_MAGIC = b"reactors 1\n"
_CHALLENGE = 32
TLS_ALERT, TLS_HELLO = b"\x15", b"\x16"  # how what TLS says begins
PATIENCE = 10.0  # seconds for the few bytes of a proof
STALL = 300.0  # seconds in which a side that is there may take nothing, for it is busy with others
MOST = 1 << 36  # bytes of a message
LEAST_TOKEN = 16  # bytes


class NotOurs(Exception):  # noqa: N818 - it is who it is
    """The other side does not know the token, or speaks something else."""


def prove(connection: socket.socket, token: bytes, *, role: bytes, seconds: float = PATIENCE) -> None:
    """Show that this side knows the token, and see within so long that the other does; `role` is b"leads" or b"joins".

    Raises `NotOurs`.
    """
    other = b"joins" if role == b"leads" else b"leads"
    before = connection.gettimeout()
    connection.settimeout(seconds)
    until = time.monotonic() + seconds
    try:
        mine = secrets.token_bytes(_CHALLENGE)
        connection.sendall(_MAGIC + mine)
        first = _exactly(connection, 1, until)
        if first == TLS_ALERT:
            raise NotOurs("it speaks TLS: join with --ca")
        if first == TLS_HELLO:
            raise NotOurs("it speaks TLS, and this machine has no certificate to show")
        theirs = first + _exactly(connection, len(_MAGIC) + _CHALLENGE - 1, until)
        if theirs[: len(_MAGIC)] != _MAGIC:
            raise NotOurs("it speaks another language than this version of reactors")
        challenge = theirs[len(_MAGIC) :]
        connection.sendall(_answer(token, role, challenge, mine))
        if not hmac.compare_digest(_exactly(connection, 32, until), _answer(token, other, mine, challenge)):
            raise NotOurs("it has another token")
    except (OSError, EOFError) as error:
        raise NotOurs(f"it hung up before it had shown that it knows the token ({error})") from None
    finally:
        connection.settimeout(before)


def _answer(token: bytes, role: bytes, challenge: bytes, own: bytes) -> bytes:
    return hmac.new(token, role + challenge + own, sha256).digest()


def _exactly(connection: socket.socket, n: int, until: float | None = None) -> bytes:
    """So many bytes; `until` is when all of them have to be there, by time.monotonic()."""
    found = bytearray(n)
    view = memoryview(found)
    while view:
        if until is not None:
            connection.settimeout(max(1e-3, until - time.monotonic()))
        got = connection.recv_into(view)
        if not got:
            raise EOFError("the other side has closed the connection")
        view = view[got:]
    return bytes(found)


class Channel:
    """Messages over a connection whose other side has proved itself: any objects, for both run one program.

    >>> import socket
    >>> one, other = map(Channel, socket.socketpair())
    >>> one.send("job", 1)
    >>> other.receive()
    ('job', 1)
    >>> one.close(), other.close()
    (None, None)
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._connection.fileno()

    def send(self, *message: Any, seconds: float = STALL) -> None:
        """Send a message. OSError: the other side is gone, or has taken none of it for so long."""
        data = pickle.dumps(message, protocol=5)
        left = memoryview(struct.pack("<Q", len(data)) + data)
        self._connection.settimeout(seconds)
        while left:
            left = left[self._connection.send(left) :]

    def receive(self, seconds: float | None = None) -> tuple[Any, ...]:
        """The next message, waiting for it so long at most. EOFError: the other side is gone; TimeoutError."""
        self._connection.settimeout(seconds)
        (size,) = struct.unpack("<Q", _exactly(self._connection, 8))
        if size > MOST:
            raise EOFError("the other side says something else than this version of reactors")
        message: tuple[Any, ...] = pickle.loads(_exactly(self._connection, size))
        return message

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def address_of(text: str) -> tuple[str, int]:
    """Host and port of "host:port". Raises `ValueError`.

    >>> address_of("10.0.0.1:7777"), address_of("[::1]:80")
    (('10.0.0.1', 7777), ('::1', 80))
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 <= int(port) < 1 << 16:
        raise ValueError(f"{text!r} is no address; write host:port, as in 10.0.0.1:7777")
    return host.strip("[]"), int(port)
