"""How the caller, the server and the workers talk: small messages over a socket pair, descriptors beside them.

The socket keeps messages whole and in order, also when several processes write to it. What is large travels as a
memfd whose descriptor is sent, so that no message waits for its reader half written. Both ends are processes of one
program: unpickling what arrives is as safe as the program is.
"""

from __future__ import annotations

import errno
import mmap
import os
import pickle
import select
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Message = tuple[Any, ...]  # a word, then what belongs to it

_LARGE = 1 << 15  # bytes; a message with more goes through a memfd
_PLAIN, _SPILT = b"\0", b"\1"


class WireEnd:
    """One end of the socket.

    >>> left, right = pair()
    >>> left.send("hello", 1, descriptors=[0])
    >>> message, (descriptor,) = right.receive()
    >>> message
    ('hello', 1)
    >>> os.close(descriptor), left.close()
    (None, None)
    >>> right.receive()
    Traceback (most recent call last):
    EOFError: the other end is closed
    >>> right.close()
    """

    __slots__ = ("_socket",)

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._socket.fileno()

    def send(self, *message: Any, descriptors: Sequence[int] = ()) -> None:
        """Send a message; the descriptors stay the sender's. ConnectionError: the other end is gone."""
        payload = pickle.dumps(message, protocol=5)
        if len(payload) < _LARGE:
            socket.send_fds(self._socket, [_PLAIN, payload], descriptors)
            return
        descriptor = spill([payload])
        try:
            socket.send_fds(self._socket, [_SPILT], [descriptor, *descriptors])
        finally:
            os.close(descriptor)

    def receive(self) -> tuple[Message, list[int]]:
        """The next message and its descriptors, now the receiver's.

        Blocks. EOFError: the other end is closed. OSError (EMFILE): no descriptor was free for one of the message's,
        and it is lost.
        """
        try:
            payload, descriptors, flags, _ = socket.recv_fds(self._socket, _LARGE + 1, 253, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            payload, descriptors, flags = b"", [], 0
        if flags & socket.MSG_CTRUNC:
            for descriptor in descriptors:
                os.close(descriptor)
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        if not payload:
            raise EOFError("the other end is closed")
        if payload[:1] == _SPILT:
            with mapped(descriptors[0]) as whole:
                return pickle.loads(whole), descriptors[1:]
        return pickle.loads(memoryview(payload)[1:]), descriptors

    def end(self) -> None:
        """Nothing more can be sent, also by other processes that have this end; what was sent arrives."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close this end; the other one sees the end of what was sent."""
        self._socket.close()


def pair() -> tuple[WireEnd, WireEnd]:
    """Two ends, of which each receives what the other sends."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return WireEnd(left), WireEnd(right)


def readable(descriptors: Iterable[int], seconds: float) -> set[int]:
    """Those of the descriptors that there is something to read from, after waiting at most so long for one."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}


def spill(pieces: Iterable[bytes | memoryview]) -> int:
    """The descriptor of a new memfd that holds the pieces."""
    descriptor = os.memfd_create("reactors", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", buffering=0, closefd=False) as file:
            for piece in pieces:
                left = memoryview(piece)
                while left:  # one write takes two gigabytes at most
                    left = left[file.write(left) :]
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def mapped(descriptor: int) -> mmap.mmap:
    """What a memfd holds, to be read; the descriptor is closed.

    A descriptor sent to several processes has one position for all of them, so none reads it by position.
    """
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
