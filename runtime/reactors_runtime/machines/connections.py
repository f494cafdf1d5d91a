"""How a connection comes about: one machine waits, another one connects; encrypted, if so asked, and then proved."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reactors_runtime.machines.channel import NotOurs, prove
from reactors_runtime.machines.encryption import connected, trusting_only

if TYPE_CHECKING:
    import ssl

    from reactors_runtime.machines.encryption import Identity, LinkAddress

_PROOF = 2.0  # seconds for all that who connects has to say, for no other is listened to meanwhile


class ListeningSocket:
    """Waits at an address, where port 0 is any. Connections are encrypted if it has an `identity` to show.

    Raises OSError where that cannot be.
    """

    def __init__(self, address: tuple[str, int], token: bytes, identity: Identity | None = None) -> None:
        self._token, self._identity = token, identity
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._server = socket.create_server(address, family=family)
        self.address: tuple[str, int] = self._server.getsockname()[:2]

    def accept(self, seconds: float) -> tuple[socket.socket, int]:
        """The next connection, whose other side has proved itself, and the number of the machine whose link it is.

        0: it is no link, but a machine that wants to join. Raises TimeoutError where there is none for so long, and
        `NotOurs`.
        """
        self._server.settimeout(seconds)
        connection, (host, *_) = self._server.accept()
        until = time.monotonic() + _PROOF
        try:
            if self._identity is not None:
                connection = self._identity.accepted(connection, _PROOF)
            prove(connection, self._token, role=b"leads", seconds=_left(until))
            connection.settimeout(_left(until))
            said = connection.recv(1)
        except (NotOurs, OSError) as error:
            connection.close()
            raise NotOurs(f"{host}: {error}") from None
        if not said:
            connection.close()
            raise NotOurs(f"{host}: it hung up")
        return connection, said[0]

    def close(self) -> None:
        """No machine can connect any more."""
        self._server.close()


def _left(until: float) -> float:
    return max(1e-3, until - time.monotonic())


@dataclass(frozen=True)
class Peer:
    """Another machine, as one knows it that connects to it. By TLS, if it is `trusted` for a certificate."""

    address: tuple[str, int]
    token: bytes
    trusted: ssl.SSLContext | None = None

    def at(self, place: LinkAddress) -> Peer:
        """Another machine of the same job."""
        trusted = None if place.certificate is None else trusting_only(place.certificate)
        return Peer(place.address, self.token, trusted)

    def connection(self, seconds: float, machine: int = 0) -> socket.socket:
        """To it, which has proved itself: to join, or the link of a `machine`. It may yet have to begin, for so long.

        Raises OSError and `NotOurs`.
        """
        until = time.monotonic() + seconds
        while True:
            try:
                connection = socket.create_connection(self.address, timeout=max(1.0, until - time.monotonic()))
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
        try:
            if self.trusted is not None:
                connection = connected(connection, self.trusted, self.address[0])
            prove(connection, self.token, role=b"joins")
            connection.sendall(bytes([machine]))
        except (NotOurs, OSError):
            connection.close()
            raise
        return connection
