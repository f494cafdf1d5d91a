"""TLS between machines: who is connected to shows a certificate, and who connects knows what vouches for it.

Who may take part is proved behind that, by the token (channel.py), so those who connect need no certificate.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from reactors_runtime.machines.channel import PATIENCE, TLS_ALERT, TLS_HELLO, NotOurs
from reactors_runtime.machines.tunnel import Tunnel

if TYPE_CHECKING:
    import os

_PROTOCOL_VERSION = TLS_ALERT + bytes((3, 3, 0, 2, 2, 70))  # what a server says to who speaks no TLS: RFC 8446, 6.2
_FIRST = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_REMEDIES = {  # by what OpenSSL calls what it does not believe
    10: "let it have a new one",
    62: "name it as its certificate does",
    64: "name it as its certificate does",
}
_UNKNOWN = "the file of --ca has to have that certificate, or the one of who has signed it"


class NoCertificate(Exception):  # noqa: N818 - it is what is wrong
    """A certificate, or what belongs to it, cannot be used."""


class LinkAddress(NamedTuple):
    """Where a machine waits for links, and the certificate (PEM) that it shows there, if it does."""

    address: tuple[str, int]
    certificate: str | None = None


@dataclass(frozen=True)
class Identity:
    """What a machine shows to those who connect to it."""

    context: ssl.SSLContext
    certificate: str  # PEM

    @classmethod
    def read(cls, certificate: str | os.PathLike[str], key: str | os.PathLike[str] | None) -> Identity:
        """From PEM files: a certificate, with those that vouch for it behind, and its key, which may be in the same.

        Raises `NoCertificate`.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0  # of use only for connections that come again
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
            found = _FIRST.search(Path(certificate).read_text())
        except (OSError, ValueError) as error:
            of = certificate if key is None else f"{certificate} with the key {key}"
            raise NoCertificate(f"the certificate {of} cannot be used: {_why(error)}") from None
        assert found is not None
        return cls(context, found[0])

    def accepted(self, connection: socket.socket, seconds: float) -> socket.socket:
        """A connection that another machine has made, encrypted within so long. Raises `NotOurs`."""
        until = time.monotonic() + seconds
        try:
            connection.settimeout(seconds)
            if connection.recv(1, socket.MSG_PEEK) not in {TLS_HELLO, b""}:
                connection.sendall(_PROTOCOL_VERSION)
                raise NotOurs("it speaks no TLS: let it join with --ca")
            return _tunnel(connection, self.context, seconds=max(1e-3, until - time.monotonic()))
        except ssl.SSLError as error:
            raise NotOurs(f"it does not believe this machine's certificate ({error.reason})") from None
        except OSError as error:
            raise NotOurs(f"it hung up before all was encrypted ({error})") from None


def _no_password() -> NoReturn:
    raise ValueError("the key is encrypted; write one without a passphrase, which only you can read")


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "it is no PEM file of that kind"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def trusting(ca: str | os.PathLike[str]) -> ssl.SSLContext:
    """Who connects believes the certificates in a PEM file, and what they have signed. Raises `NoCertificate`."""
    try:
        return _connecting(cafile=str(ca))
    except OSError as error:
        raise NoCertificate(f"the file {ca} of certificates cannot be used: {_why(error)}") from None


def trusting_only(certificate: str) -> ssl.SSLContext:
    """Who connects believes this one (PEM), whatever host it names: a machine that is trusted has said whose it is."""
    context = _connecting(cadata=certificate)
    context.check_hostname = False
    return context


def _connecting(cafile: str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # what is in the file is believed, whoever has signed it
    context.load_verify_locations(cafile, cadata=cadata)
    return context


def connected(connection: socket.socket, context: ssl.SSLContext, host: str) -> socket.socket:
    """A connection that was made to a host, encrypted, if its certificate is believed. Raises `NotOurs`."""
    try:
        return _tunnel(connection, context, host, seconds=PATIENCE)
    except ssl.SSLCertVerificationError as error:
        remedy = _REMEDIES.get(error.verify_code, _UNKNOWN)
        raise NotOurs(f"its certificate does not show that ({error.verify_message}); {remedy}") from None
    except ssl.SSLError as error:
        raise NotOurs(f"it speaks no TLS: leave --ca out, or give it a certificate ({error.reason})") from None
    except OSError as error:
        raise NotOurs(f"it hung up before all was encrypted ({error})") from None


def _tunnel(connection: socket.socket, context: ssl.SSLContext, host: str | None = None, *, seconds: float) -> Tunnel:
    connection.settimeout(seconds)
    return Tunnel(context.wrap_socket(connection, server_side=host is None, server_hostname=host))
