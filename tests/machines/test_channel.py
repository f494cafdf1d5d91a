"""What machines say before they trust one another, and after."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from reactors_runtime.machines.channel import Channel, NotOurs, address_of, prove
from reactors_runtime.machines.job import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOKEN = b"t" * 32


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def outcome_of(prover: Callable[[], None]) -> list[str]:
    """What `prover` says, in a thread of its own while the caller is the other side."""
    found: list[str] = []

    def see() -> None:
        try:
            prover()
            found.append("proved")
        except NotOurs as error:
            found.append(str(error))

    thread = threading.Thread(target=see)
    thread.start()
    found_in[thread] = found
    return found


found_in: dict[threading.Thread, list[str]] = {}


def joined() -> None:
    for thread in [*found_in]:
        thread.join()
        del found_in[thread]


def test_who_knows_the_token_is_believed_by_both(ends: tuple[socket.socket, socket.socket]) -> None:
    found = outcome_of(lambda: prove(ends[0], TOKEN, role=b"leads"))
    prove(ends[1], TOKEN, role=b"joins")
    joined()
    assert found == ["proved"]


def test_who_has_another_token_is_refused_by_both(ends: tuple[socket.socket, socket.socket]) -> None:
    found = outcome_of(lambda: prove(ends[0], TOKEN, role=b"leads"))
    with pytest.raises(NotOurs, match="another token"):
        prove(ends[1], b"x" * 32, role=b"joins")
    joined()
    assert found == ["it has another token"]


def test_an_answer_is_no_answer_to_the_other_side(ends: tuple[socket.socket, socket.socket]) -> None:
    """Who only sends back what it gets, or plays the same role, knows nothing of the token."""
    found = outcome_of(lambda: prove(ends[0], TOKEN, role=b"leads"))
    hello = ends[1].recv(1000)
    ends[1].sendall(hello)
    ends[1].sendall(ends[1].recv(1000))
    joined()
    assert found == ["it has another token"]


class Trap:
    """Unpickling it makes a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize("n", [0, 1, 40, 10_000])
def test_nothing_is_unpickled_of_who_has_not_proved_itself(
    n: int, tmp_path: Path, ends: tuple[socket.socket, socket.socket]
) -> None:
    trap = pickle.dumps(Trap(tmp_path / "sprung"))
    found = outcome_of(lambda: prove(ends[0], TOKEN, role=b"leads"))
    ends[1].sendall((trap * 200)[:n])
    ends[1].shutdown(socket.SHUT_WR)
    joined()
    assert found
    assert found != ["proved"]
    assert not (tmp_path / "sprung").exists()


def test_messages_are_whole_and_in_order(ends: tuple[socket.socket, socket.socket]) -> None:
    one, other = map(Channel, ends)
    sender = threading.Thread(target=lambda: [one.send(n, b"x" * n) for n in (0, 10, 3_000_000)])
    sender.start()
    assert [other.receive(10.0) for _ in range(3)] == [(n, b"x" * n) for n in (0, 10, 3_000_000)]
    sender.join()
    one.close()
    with pytest.raises(EOFError):
        other.receive(1.0)


def test_how_long_one_waits_to_hear_does_not_limit_how_long_one_speaks(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    one, other = map(Channel, ends)
    with pytest.raises(TimeoutError):
        one.receive(0.01)
    heard: list[int] = []
    reader = threading.Timer(0.1, lambda: heard.append(len(other.receive(10.0)[0])))
    reader.start()
    one.send(b"x" * 3_000_000)
    reader.join()
    assert heard == [3_000_000]


def test_who_takes_nothing_is_not_waited_for(ends: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(TimeoutError):
        Channel(ends[0]).send(b"x" * 3_000_000, seconds=0.01)


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:x", "host:70000", "host:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no address; write host:port"):
        address_of(text)


def test_machines_say_in_what_they_differ() -> None:
    here = Platform.here()
    assert here.cannot_run_with(Platform.here()) is None
    assert here.may_calculate_otherwise(Platform.here()) is None
    other = Platform(here.reactors, "3.99", here.architecture, "0.1", here.torch, here.processor)
    assert here.cannot_run_with(other) == f"python is 3.99 there and {here.python} here"
    assert here.may_calculate_otherwise(other) == f"numpy is 0.1 there and {here.numpy} here"
