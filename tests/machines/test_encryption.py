"""What goes between machines by TLS: who is believed, what is said to who is not, and that nothing else changes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors_runtime.machines.channel import Channel, NotOurs
from reactors_runtime.machines.connections import ListeningSocket, Peer
from reactors_runtime.machines.encryption import Identity, NoCertificate, trusting, trusting_only
from tests.machines.certificates import Pair, certificate
from tests.machines.test_runs import Line, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TOKEN = b"t" * 32


class Both:
    """A machine that waits, and one that connects to it: what each of them got, or what it says."""

    def __init__(self, identity: Identity | None, trusted: Any, host: str = "127.0.0.1") -> None:
        self.listener = ListeningSocket(("127.0.0.1", 0), TOKEN, identity)
        self.peer = Peer((host, self.listener.address[1]), TOKEN, trusted)
        self.there: socket.socket | str = ""
        thread = threading.Thread(target=self._wait)
        thread.start()
        self.here = self._of(lambda: self.peer.connection(1.0))
        thread.join()
        self.listener.close()

    def _wait(self) -> None:
        self.there = self._of(lambda: self.listener.accept(5.0)[0])

    @staticmethod
    def _of(connect: Any) -> socket.socket | str:
        try:
            found: socket.socket = connect()
        except NotOurs as error:
            return str(error)
        return found

    def close(self) -> None:
        for each in (self.here, self.there):
            if isinstance(each, socket.socket):
                each.close()


@pytest.fixture
def meet() -> Iterator[Any]:
    found: list[Both] = []

    def make(*given: Any, **options: Any) -> Both:
        found.append(Both(*given, **options))
        return found[-1]

    yield make
    for each in found:
        each.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def own(folder: Path) -> Pair:
    return certificate(folder, "own")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Pair:
    return certificate(folder, "authority", "authority.example")


def read(pair: Pair) -> Identity:
    return Identity.read(pair.certificate, pair.key)


@pytest.mark.parametrize("n", [0, 10, 3_000_000])
def test_messages_go_both_ways(n: int, own: Pair, meet: Any) -> None:
    both = meet(read(own), trusting(own.certificate))
    here, there = Channel(both.here), Channel(both.there)
    threads = [threading.Thread(target=each.send, args=(b"x" * n,)) for each in (here, there)]
    for thread in threads:
        thread.start()
    assert here.receive(10.0) == there.receive(10.0) == (b"x" * n,)
    for thread in threads:
        thread.join()


def test_what_was_written_arrives_though_its_writer_has_hung_up(own: Pair, meet: Any) -> None:
    both = meet(read(own), trusting(own.certificate))
    sender = threading.Thread(target=lambda: (both.here.sendall(b"x" * 1_000_000), both.here.close()))
    sender.start()
    got = 0
    while data := both.there.recv(1 << 16):
        got += len(data)
    sender.join()
    assert got == 1_000_000


def test_who_takes_nothing_any_more_keeps_nobody(own: Pair, meet: Any) -> None:
    both = meet(read(own), trusting(own.certificate))
    both.here.settimeout(0.2)
    with pytest.raises(TimeoutError):
        both.here.sendall(b"x" * 100_000_000)
    both.here.close()
    assert not any(thread.name == "reactors-tls" and thread is both.here._thread for thread in threading.enumerate())


def test_a_certificate_that_another_one_has_signed_is_believed(folder: Path, authority: Pair, meet: Any) -> None:
    both = meet(read(certificate(folder, "signed", by=authority)), trusting(authority.certificate))
    assert not isinstance(both.here, str)


def test_a_certificate_may_be_for_a_name(folder: Path, authority: Pair, meet: Any) -> None:
    identity = read(certificate(folder, "named", "localhost", by=authority))
    assert not isinstance(meet(identity, trusting(authority.certificate), host="localhost").here, str)
    other = meet(identity, trusting(authority.certificate))
    assert "IP address mismatch, certificate is not valid for '127.0.0.1'" in other.here
    assert other.here.endswith("name it as its certificate does")


def test_a_machine_that_is_named_by_a_trusted_one_is_believed_by_its_own_certificate(
    folder: Path, own: Pair, meet: Any
) -> None:
    elsewhere = certificate(folder, "elsewhere", "elsewhere.example")
    assert not isinstance(meet(read(elsewhere), trusting_only(read(elsewhere).certificate)).here, str)
    assert "does not show that" in meet(read(own), trusting_only(read(elsewhere).certificate)).here


def test_only_the_certificate_is_shown_of_a_file_with_its_key(folder: Path, own: Pair) -> None:
    both = folder / "both.pem"
    both.write_text(own.key.read_text() + own.certificate.read_text())
    shown = Identity.read(both, None).certificate
    assert shown.strip() == own.certificate.read_text().strip()


def test_who_is_not_believed_is_told_so(folder: Path, own: Pair, meet: Any) -> None:
    other = certificate(folder, "other")
    both = meet(read(other), trusting(own.certificate))
    assert both.here.startswith("its certificate does not show that (self-signed certificate); the file of --ca has to")
    assert "127.0.0.1: it does not believe this machine's certificate" in both.there


def test_a_certificate_that_has_expired_is_none(folder: Path, meet: Any) -> None:
    old = certificate(folder, "old", expired=True)
    both = meet(read(old), trusting(old.certificate))
    assert both.here == "its certificate does not show that (certificate has expired); let it have a new one"


def test_who_speaks_tls_is_told_by_who_does_not(own: Pair, meet: Any) -> None:
    both = meet(None, trusting(own.certificate))
    assert "it speaks no TLS: leave --ca out, or give it a certificate" in both.here
    assert "127.0.0.1: it speaks TLS, and this machine has no certificate" in both.there


def test_who_does_not_speak_tls_is_told_by_who_does(own: Pair, meet: Any) -> None:
    both = meet(read(own), None)
    assert both.here == "it speaks TLS: join with --ca"
    assert "127.0.0.1: it speaks no TLS: let it join with --ca" in both.there


@pytest.mark.parametrize(("tls", "said"), [(True, "before all was encrypted"), (False, "before it had shown")])
def test_who_says_nothing_does_not_keep_others(
    own: Pair, tls: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reactors_runtime.machines.connections._PROOF", 0.2)
    listener = ListeningSocket(("127.0.0.1", 0), TOKEN, read(own) if tls else None)
    with socket.create_connection(listener.address), pytest.raises(NotOurs, match=said):
        listener.accept(5.0)
    listener.close()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (("none.pem", "own.key"), r"the certificate .*none.pem with the key .*own.key cannot be used: No such file"),
        (("own.pem", "other.key"), "cannot be used: KEY_VALUES_MISMATCH"),
        (("own.key", "own.key"), "cannot be used: it is no PEM file of that kind"),
        (("own.pem", None), r"the certificate .*own.pem cannot be used: "),
        (("own.pem", "locked.key"), "cannot be used: the key is encrypted; write one without a passphrase"),
    ],
)
def test_files_that_cannot_be_used_are_named(files: tuple[str, str | None], said: str, folder: Path, own: Pair) -> None:
    certificate(folder, "other")
    locked = ["openssl", "ec", "-aes256", "-passout", "pass:secret", "-in", own.key, "-out", folder / "locked.key"]
    subprocess.run(locked, check=True, capture_output=True)
    with pytest.raises(NoCertificate, match=said):
        Identity.read(folder / files[0], None if files[1] is None else folder / files[1])


def test_a_file_of_authorities_that_cannot_be_used_is_named(folder: Path, own: Pair) -> None:
    with pytest.raises(NoCertificate, match=r"the file .*none of certificates cannot be used: No such file"):
        trusting(folder / "none")
    with pytest.raises(NoCertificate, match=r"own.key of certificates cannot be used: NO_CERTIFICATE"):
        trusting(own.key)


# ---- whole programs --------------------------------------------------------------------------------------------

PROGRAM = """
import sys

import reactors as rx
from tests.machines.test_runs import Line

count, listen = int(sys.argv[1]), sys.argv[2]
alone, main = Line(), Line()
expected = rx.run(alone, fast=True, timeout="200 ms")
machines = rx.Machines(
    count=count, listen=listen, token_file="token", certificate="own.pem", key="own.key", patience=sys.argv[3]
)
placement = {"main.adds": 1, "main.sink": count - 1}
found = rx.run(main, fast=True, timeout="200 ms", workers=count, machines=machines, placement=placement)
print(found.digest == expected.digest, main.sink.seen == alone.sink.seen)
"""


def programs(folder: Path, joining: list[list[str]], *, patience: str = "60 s") -> tuple[str, str, list[str]]:
    """What who leads prints and says, and what those say who join."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "token").write_text("a token of enough bytes\n")
    address = f"127.0.0.1:{free_port()}"
    options: dict[str, Any] = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = [str(len(joining) + 1), address, patience]
    leads = subprocess.Popen(
        [sys.executable, "program.py", *words], env={**os.environ, "PYTHONPATH": str(ROOT)}, **options
    )
    joins = [
        subprocess.Popen([sys.executable, "-m", "reactors", "join", address, "--token-file", "token", *more], **options)
        for more in joining
    ]
    out, errors = leads.communicate(timeout=120)
    return out, errors, [each.communicate(timeout=120)[1] for each in joins]


def test_a_program_does_the_same_by_tls(folder: Path, own: Pair) -> None:
    out, errors, complaints = programs(folder, [["--ca", "own.pem"]])
    assert out == "True True\n", errors + "".join(complaints)


def test_machines_show_one_another_their_own_certificates(folder: Path, own: Pair) -> None:
    for name in "one", "two":
        certificate(folder, name, f"{name}.example")
    joining = [["--ca", "own.pem", "--certificate", f"{name}.pem", "--key", f"{name}.key"] for name in ("one", "two")]
    out, errors, complaints = programs(folder, joining)
    assert out == "True True\n", errors + "".join(complaints)


def test_who_is_to_be_connected_to_needs_a_certificate(folder: Path, own: Pair) -> None:
    _, errors, complaints = programs(folder, [["--ca", "own.pem"]] * 2, patience="4 s")
    assert "has no certificate; let it join with --certificate and --key" in complaints[0]
    assert "0 of 2 machines have joined" in errors


def test_who_joins_without_tls_is_told_to_use_it(folder: Path, own: Pair) -> None:
    _, errors, (complaint,) = programs(folder, [[]], patience="4 s")
    assert "refused: 127.0.0.1: it speaks no TLS: let it join with --ca" in errors
    assert "is not who it should be: it speaks TLS: join with --ca" in complaint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key": "k"}, "rx.Machines has a key and no certificate"),
        ({"certificate": "c"}, r"certificate of rx.Machines is for who joins; write listen="),
    ],
)
def test_what_lacks_for_tls_is_said(given: dict[str, str], said: str) -> None:
    with pytest.raises(rx.ArgumentError, match=said):
        rx.Machines(**given)  # type: ignore[arg-type]


def test_a_certificate_that_is_not_there_is_said_before_anything_listens(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a token of enough bytes\n")
    machines = rx.Machines(
        listen="127.0.0.1:0", token_file=tmp_path / "token", certificate=tmp_path / "none.pem", patience="1 s"
    )
    with pytest.raises(rx.MachineError, match=r"the certificate .*none.pem cannot be used: No such file"):
        rx.run(Line(), fast=True, workers=2, machines=machines)
