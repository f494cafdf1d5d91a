"""How machines come and go at the edges of a run: other versions, late ones, slow ones, and whose fault it was."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors_runtime.machines import joining
from reactors_runtime.machines.channel import Channel
from reactors_runtime.machines.connections import ListeningSocket, Peer
from reactors_runtime.machines.encryption import LinkAddress
from reactors_runtime.machines.job import Platform
from reactors_runtime.machines.leading import Gathering, MachinesMissing
from tests.machines.lost import machine
from tests.machines.test_runs import Line, Source, command, free_port, run
from tests.runtime.test_setting import Endless

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = b"a token of enough bytes"


def test_a_machine_of_another_version_is_refused() -> None:
    """What it says cannot even be unpickled here."""
    hello = b"creactors_runtime.machines.job\nFromTheFuture\n."
    with contextlib.closing(Gathering(2, ("127.0.0.1", 0), TOKEN)) as gathering:
        said: list[tuple[str, str]] = []

        def come() -> None:
            with Peer(gathering.address, TOKEN).connection(5.0) as connection:
                connection.sendall(struct.pack("<Q", len(hello)) + hello)
                said.append(Channel(connection).receive(5.0))

        there = threading.Thread(target=come)
        there.start()
        with pytest.raises(MachinesMissing, match="refused: it speaks as another version of reactors than"):
            gathering.wait(1.0)
        there.join()
    assert said[0][0] == "refused"
    assert "FromTheFuture" in said[0][1]


def test_a_machine_that_goes_before_it_has_its_job_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(TOKEN)
    address = "127.0.0.1", free_port()

    def come() -> None:
        with Peer(address, TOKEN).connection(10.0) as connection:
            channel = Channel(connection)
            channel.send("hello", Platform.here(), LinkAddress(("127.0.0.1", 1)), "there", 7)
            while channel.receive(10.0) == ("how far",):
                channel.send("so far", time.monotonic_ns())

    there = threading.Thread(target=come)
    there.start()
    machines = rx.Machines(listen=f"127.0.0.1:{address[1]}", token_file=tmp_path / "token")
    said = r"machine 1 \(there, pid 7\) (has gone again before the program began|cannot be linked with)"
    with pytest.raises(rx.MachineError, match=said):
        run(Line(), machines=machines)
    there.join()


JOIN = """
import sys

from reactors.command.cli import main
from reactors_runtime.machines import channel, joining

joining._GRACE = joining._SILENCE = channel.prove.__kwdefaults__["seconds"] = 1.5
sys.argv = ["reactors", "join", *sys.argv[1:]]
main()
"""


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Two machines that wait for nothing longer than 1.5 s, and `machines` for a program that they join."""
    (tmp_path / "token").write_bytes(TOKEN)
    address = f"127.0.0.1:{free_port()}"
    words = [sys.executable, "-c", JOIN, address, "--token-file", str(tmp_path / "token")]
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            joins = stack.enter_context(subprocess.Popen(words))
            stack.callback(joins.kill)
        yield {"workers": 3, "machines": rx.Machines(count=3, listen=address, token_file=tmp_path / "token")}


def test_who_has_its_share_waits_for_the_others_to_have_theirs(
    hasty: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a slow network a share takes long to send. Until all are sent, the leading machine accepts no links."""
    send = Channel.send

    def slowly(channel: Channel, *message: Any, **options: Any) -> None:
        if message[0] != "job" or message[1].machine != 2:
            send(channel, *message, **options)
            return
        data = pickle.dumps(message)
        data = struct.pack("<Q", len(data)) + data
        each = len(data) // 10 + 1
        for at in range(0, len(data), each):
            time.sleep(0.3)
            channel._connection.sendall(data[at : at + each])

    monkeypatch.setattr(Channel, "send", slowly)
    monkeypatch.setattr("reactors_runtime.machines.signs_of_life._OFTEN", 0.1)
    main = Line()
    run(main, timeout="5 ms", placement={"main.adds": 1, "main.sink": 2}, **hasty)
    assert len(main.sink.seen) == 6


def test_who_has_joined_waits_for_a_placement_to_be_found(
    hasty: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*_: object) -> dict[str, int]:
        time.sleep(3.0)
        return {"main.adds": 1, "main.sink": 2}

    monkeypatch.setattr("reactors.tracing.profile.from_file", search)
    monkeypatch.setattr("reactors_runtime.machines.signs_of_life._OFTEN", 0.1)
    main = Line()
    run(main, timeout="5 ms", placement="profile:run.rxt", **hasty)
    assert len(main.sink.seen) == 6


def test_who_hears_nothing_of_the_leading_machine_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_SILENCE", 0.1)
    with contextlib.closing(ListeningSocket(("127.0.0.1", 0), TOKEN)) as leader, contextlib.ExitStack() as stack:
        there = threading.Thread(target=lambda: stack.enter_context(leader.accept(10.0)[0]))
        there.start()
        with pytest.raises(TimeoutError):
            joining.join(Peer(leader.address, TOKEN), patience=10.0)
        there.join()


@pytest.mark.parametrize(("given", "again"), [(60.0, 60.0), (1.0, 10.0)])
def test_who_joins_again_is_as_patient_as_before(given: float, again: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the leading machine has to read a checkpoint, and to make the program once more."""
    seen: list[float] = []

    def joined(_leader: Peer, _own: None, patience: float) -> bool:
        seen.append(patience)
        return len(seen) < 3

    monkeypatch.setattr(joining, "_joined", joined)
    joining.join(Peer(("127.0.0.1", 1), TOKEN), patience=given)
    assert seen == [given, again, again]


class Interrupts(rx.Reactor):
    """The machine on which it runs, as Ctrl-C does there."""

    def __init__(self) -> None:
        self.ended = False

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        os.kill(machine(), signal.SIGINT)

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        self.ended = True


class Interrupting(rx.Reactor):
    def __init__(self) -> None:
        self.interrupts, self.source = Interrupts(), Source()


def test_a_machine_that_is_interrupted_is_named_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(TOKEN)
    address = f"127.0.0.1:{free_port()}"
    main = Interrupting()
    said = r"^machine 1 \(.*, pid \d+\), which runs main\.interrupts, was interrupted$"
    machines = rx.Machines(listen=address, token_file=tmp_path / "token")
    with command("join", address, "--token-file", tmp_path / "token") as joins:
        with pytest.raises((rx.MachineError, KeyboardInterrupt), match=said) as caught:
            run(main, fast=False, timeout="60 s", placement={"main.interrupts": 1}, machines=machines)
        _, complaints = joins.communicate(timeout=60)
    assert not isinstance(caught.value, rx.MachineLost)
    assert main.interrupts.ended
    assert (joins.returncode, complaints) == (130, "interrupted\n")


class Knocks(rx.Reactor):
    def __init__(self, address: tuple[str, int]) -> None:
        self.address, self.found = address, ""

    @rx.reaction(rx.startup)
    def knock(self) -> None:
        try:
            socket.create_connection(self.address, timeout=5.0).close()
        except OSError as error:
            self.found = type(error).__name__


class Knocking(rx.Reactor):
    def __init__(self, address: tuple[str, int]) -> None:
        self.knocks, self.source = Knocks(address), Source()


def test_who_comes_while_the_program_runs_does_not_get_in(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(TOKEN)
    address = f"127.0.0.1:{free_port()}"
    joins = command("join", address, "--token-file", tmp_path / "token")
    main = Knocking(("127.0.0.1", int(address.rpartition(":")[2])))
    run(main, machines=rx.Machines(listen=address, token_file=tmp_path / "token"), placement={"main.source": 1})
    joins.communicate(timeout=60)
    assert main.knocks.found == "ConnectionRefusedError"


class TakesLeave(rx.Reactor):
    def __init__(self) -> None:
        self.left = False

    @rx.reaction(rx.shutdown)
    def leave(self) -> None:
        time.sleep(2.5)
        self.left = True


class Leaving(rx.Reactor):
    def __init__(self) -> None:
        self.leaves, self.source = TakesLeave(), Source()


def test_a_machine_whose_shutdown_takes_long_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors_runtime.machines.leading._GRACE", 1.0)
    main = Leaving()
    run(main, timeout="5 ms", placement={"main.leaves": 1})
    assert main.leaves.left


class Cuts(rx.Reactor):
    """The link of its machine, as if a worker had left it in a state in which it cannot be used."""

    given = rx.Input(int)

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    @rx.reaction(given)
    def take(self) -> None:
        if self.given.value != 50_000_000:
            return
        for open_file in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(open_file.name))) as found:
                if found.family == socket.AF_INET:
                    found.shutdown(socket.SHUT_RDWR)
        if self.ends:
            os._exit(3)


class Cutting(rx.Reactor):
    def __init__(self, ends: bool) -> None:
        self.source, self.cuts = Source(), Cuts(ends)
        self.source.out >> self.cuts.given


def test_why_a_link_was_over_is_said_and_not_that_it_was() -> None:
    with pytest.raises(rx.WorkerDied, match=r"worker 1 \(pid \d+; runs main\.cuts\) ended with exit status 3"):
        run(Cutting(ends=True), placement={"main.cuts": 1})


def test_a_link_that_is_cut_alone_is_said_to_be() -> None:
    with pytest.raises(rx.MachineLost, match=r"machine 1 \(.*\), which runs main\.cuts, is lost: it was cut"):
        run(Cutting(ends=False), placement={"main.cuts": 1})


class Two(rx.Reactor):
    def __init__(self) -> None:
        self.here, self.there = Endless(), Endless()


def test_attributes_come_home_from_all_machines_when_progress_raises() -> None:
    def fail(tag: rx.Tag, *_: object) -> None:
        if tag.time > 5_000_000:
            raise LookupError("from progress")

    main = Two()
    with pytest.raises(LookupError, match="from progress"):
        run(main, timeout=None, progress=fail, placement={"main.here": 0, "main.there": 1})
    assert main.here.n >= 5
    assert main.here.ended
    assert main.there.ended


def test_attributes_come_home_from_all_machines_when_a_signal_handler_raises() -> None:
    def fail(*_: object) -> None:
        raise LookupError("from the handler")

    main, before = Endless(signal.SIGUSR1), signal.signal(signal.SIGUSR1, fail)
    try:
        with pytest.raises(LookupError, match="from the handler"):
            run(main, timeout=None, placement={"main.other": 0, "main": 1})
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert main.n >= 10
    assert main.ended
