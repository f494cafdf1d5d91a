"""When Python's garbage collector rests, and that it is afterwards as it was before."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

import pytest

import reactors as rx
from reactors_runtime.settings import collector

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_as_before_after_an_error_within_another_rest(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()

    def rest() -> None:
        with collector.at_rest():
            with collector.at_rest():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise ValueError("inner")

    with pytest.raises(ValueError, match="inner"):
        rest()
    assert gc.isenabled() is enabled


def test_threads_rest_together() -> None:
    gc.enable()
    inside, leave = threading.Event(), threading.Event()

    def rest() -> None:
        with collector.at_rest():
            inside.set()
            leave.wait()

    with collector.at_rest():
        other = threading.Thread(target=rest)
        other.start()
        inside.wait()
    assert not gc.isenabled()
    leave.set()
    other.join()
    assert gc.isenabled()


class Node:
    """Garbage that only a collection finds."""

    alive = 0

    def __init__(self) -> None:
        self.me = self
        Node.alive += 1

    def __del__(self) -> None:
        Node.alive -= 1


@pytest.fixture
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_LARGE", 1000)
    monkeypatch.setattr(collector, "_unseen", False)
    gc.enable()


@pytest.mark.usefixtures("_large")
def test_what_is_large_counts_as_old_until_the_next_program_begins() -> None:
    with collector.at_rest():
        for _ in range(2000):
            Node()
    gc.collect(1)
    assert Node.alive == 2000
    with collector.at_rest():
        pass
    assert Node.alive == 2000
    with collector.at_rest(afresh=True):
        assert Node.alive == 0


@pytest.mark.usefixtures("_large")
def test_what_is_small_is_collected_as_ever() -> None:
    gc.collect()
    with collector.at_rest():
        for _ in range(100):
            Node()
    gc.collect(0)
    assert Node.alive == 0


@pytest.mark.usefixtures("_large")
def test_what_others_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collector.at_rest():
            kept = [[] for _ in range(2000)]  # type: ignore[var-annotated]
        assert len(kept) == 2000
        assert gc.get_freeze_count() > frozen // 2  # less what counting has freed
    finally:
        gc.unfreeze()


class Look(rx.Reactor):
    """Notes whether the collector works: when its attribute is looked up, and when a reaction runs."""

    tick = rx.Timer(offset="begin")

    def __init__(self) -> None:
        self.elaborating: bool | None = None
        self.running: bool | None = None

    @property
    def begin(self) -> int:
        self.elaborating = gc.isenabled()
        return 0

    @rx.reaction(tick)
    def look(self) -> None:
        self.running = gc.isenabled()


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_it_rests_while_a_program_is_elaborated_and_works_while_it_runs(backend: str) -> None:
    gc.enable()
    main = Look()
    rx.run(main, fast=True, backend=backend)  # type: ignore[arg-type]
    assert (main.elaborating, main.running, gc.isenabled()) == (False, True, True)


@pytest.mark.parametrize("backend", ["inline", "thread"])
def test_who_has_it_off_has_it_off_in_reactions(backend: str) -> None:
    gc.disable()
    main = Look()
    rx.run(main, fast=True, backend=backend)  # type: ignore[arg-type]
    assert (main.running, gc.isenabled()) == (False, False)


def test_it_rests_while_a_bank_is_made() -> None:
    gc.enable()

    class Member(rx.Reactor):
        def __init__(self) -> None:
            self.enabled = gc.isenabled()

    assert not any(member.enabled for member in rx.bank(2, Member))
    assert gc.isenabled()


def test_on_again_after_a_program_that_is_refused() -> None:
    gc.enable()
    looped = rx.Reactor()
    looped.a = a = Wire()  # type: ignore[attr-defined]
    rx.connect(a.out, a.given)
    with pytest.raises(rx.CausalityError):
        rx.run(looped)
    assert gc.isenabled()


class Wire(rx.Reactor):
    given = rx.Input(int)
    out = rx.Output(int)

    @rx.reaction(given, effects=out)
    def relay(self) -> None:
        self.out.set(self.given.value)
