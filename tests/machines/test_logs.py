"""What reaches a program on several machines from outside is recorded, and replayed on any number of them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors_runtime import log
from reactors_runtime.machines.leading import Gathering
from tests.machines.test_runs import Failing, run

if TYPE_CHECKING:
    from pathlib import Path


VISITS = 20  # at each door


class Doorbell(rx.Reactor):
    """Someone rings on its machine; some are answered too late."""

    rung = rx.PhysicalAction(str)
    out = rx.Output(str)

    def __init__(self, who: str) -> None:
        self.who = who
        self.late = 0

    @rx.reaction(rx.startup)
    def begin(self) -> None:
        self._visitors = threading.Thread(target=self._ring)
        self._visitors.start()

    def _ring(self) -> None:
        for n in range(VISITS):
            time.sleep(0.001)
            self.rung.schedule(f"{self.who} {n}" + "!" * 1000 * n)

    @rx.reaction(rung, effects=out)
    def answer(self) -> None:
        self.out.set(self.rung.value)

    @answer.deadline("100 us")
    def too_late(self) -> None:
        self.late += 1
        self.out.set("late")

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        if hasattr(self, "_visitors"):
            self._visitors.join()
            del self._visitors


class Hall(rx.Reactor):
    given = rx.Input(str, width=2)
    echo = rx.Output(str)

    def __init__(self) -> None:
        self.heard: list[Any] = []

    @rx.reaction(given, effects=[echo, rx.stop])
    def listen(self) -> None:
        for each in self.given:
            if each.is_present:
                self.heard.append((*self.tag, each.value))
                self.echo.set(each.value)
        if len(self.heard) == 2 * VISITS:
            self.request_stop()


class Attic(rx.Reactor):
    echo = rx.Input(str)

    def __init__(self) -> None:
        self.heard: list[Any] = []

    @rx.reaction(echo)
    def listen(self) -> None:
        self.heard.append((*self.tag, self.echo.value))


class House(rx.Reactor):
    """Doorbells on two machines, and what is heard comes back by a physical connection from one to the other."""

    def __init__(self) -> None:
        self.front, self.back, self.hall, self.attic = Doorbell("postman"), Doorbell("neighbour"), Hall(), Attic()
        rx.connect([self.front.out, self.back.out], self.hall.given)
        rx.connect(self.hall.echo, self.attic.echo, physical=True)


APART = {"main.front": 0, "main.back": 1, "main.hall": 1, "main.attic": 0}


def test_what_machines_recorded_is_replayed_on_any_number_of_them(tmp_path: Path) -> None:
    live, file = House(), tmp_path / "house.rxlog"
    found = run(live, fast=False, timeout=None, placement=APART, record=file)
    kinds = [kind for kind, *_ in log.parse(file.read_bytes().partition(b"\n")[2])]
    assert kinds.count(log.ACTION) == 2 * VISITS
    assert kinds.count(log.ARRIVAL) >= len(live.attic.heard)  # what arrives after the end is not heard
    assert kinds.count(log.LATE) == live.front.late + live.back.late
    assert kinds[-1] == log.END
    for machines, workers in ((1, 1), (2, 2), (3, 3)):
        again = House()
        options: dict[str, Any] = {"machines": rx.Machines(count=machines)} if machines > 1 else {}
        replayed = rx.run(again, workers=workers, replay=file, **options)
        assert replayed.digest == found.digest
        assert (again.hall.heard, again.attic.heard) == (live.hall.heard, live.attic.heard)


def test_what_one_machine_recorded_is_replayed_on_several(tmp_path: Path) -> None:
    live, again = House(), House()
    found = rx.run(live, record=tmp_path / "house.rxlog")
    replayed = rx.run(again, workers=2, placement=APART, replay=tmp_path / "house.rxlog", machines=rx.Machines(count=2))
    assert replayed.digest == found.digest
    assert (again.hall.heard, again.attic.heard) == (live.hall.heard, live.attic.heard)


class Sends(rx.Reactor):
    tick = rx.Timer(period="2 ms")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def send(self) -> None:
        self.out.set(self.tag.time)


class Hears(rx.Reactor):
    """Also has something to do at other times."""

    tick = rx.Timer(period="1 ms")
    given = rx.Input(int)

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.ticks = 0

    @rx.reaction(tick)
    def count(self) -> None:
        self.ticks += 1

    @rx.reaction(given)
    def hear(self) -> None:
        self.heard.append((*self.tag, self.given.value, self.ticks))


class Telling(rx.Reactor):
    def __init__(self) -> None:
        self.sends, self.hears = Sends(), Hears()
        rx.connect(self.sends.out, self.hears.given, physical=True)


def test_nothing_arrives_before_it_was_sent_where_clocks_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drifted(gathering: Gathering) -> None:
        measure(gathering)
        for member in gathering.members:
            member.ahead += 5_000_000

    measure = Gathering._measure
    monkeypatch.setattr(Gathering, "_measure", drifted)
    live, again, file = Telling(), Telling(), tmp_path / "told.rxlog"
    found = run(live, fast=False, timeout="20 ms", placement={"main.hears": 1}, record=file)
    assert live.hears.heard
    assert all(time > sent or microstep for time, microstep, sent, _ in live.hears.heard)
    replayed = rx.run(again, timeout="20 ms", replay=file)
    assert (again.hears.heard, replayed.digest) == (live.hears.heard, found.digest)


def test_the_log_of_a_machine_that_is_lost_has_no_end(tmp_path: Path) -> None:
    file = tmp_path / "lost.rxlog"
    with pytest.raises(rx.MachineLost) as caught:
        run(Failing("killed", tmp_path), placement={"main.fails": 1}, record=file)
    assert f"the log {str(file)!r} ends before the run does" in "".join(caught.value.__notes__)
    assert log.END not in [kind for kind, *_ in log.parse(file.read_bytes().partition(b"\n")[2])]


def test_nothing_of_a_log_is_left_where_it_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "here").mkdir()
    run(House(), fast=False, timeout=None, placement=APART, record=tmp_path / "here" / "house.rxlog")
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "house.rxlog"]
