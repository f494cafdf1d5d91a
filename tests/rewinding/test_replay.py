"""A run is executed again, and gone through forward and back."""

from __future__ import annotations

import mmap
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reactors as rx


class Walk(rx.Reactor):
    tick, out = rx.Timer(0, "1 ms"), rx.Output(int)

    def __init__(self) -> None:
        self.x = 0

    @rx.reaction(tick, effects=out)
    def step(self) -> None:
        self.x += int(self.rng.integers(-5, 6))
        self.out.set(self.x)


class Sum(rx.Reactor):
    inp = rx.Input(int)
    again = rx.LogicalAction(int)

    def __init__(self) -> None:
        self.total, self.seen = 0, list[int]()
        self.rows = np.zeros(8)

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.shared = mmap.mmap(-1, 4096)  # what fork does not copy
        self.memory: dict[str, Any] = {"of no": (n for n in range(3))}  # what cannot be sent

    @rx.reaction(inp, effects=again)
    def add(self) -> None:
        self.total += self.inp.value
        self.rows[self.total % 8] += self.inp.value
        self.shared[:8] = (self.total & 0xFFFFFFFF).to_bytes(8, "little")
        if self.total % 3 == 0:
            self.again.schedule(self.total, "500 us")

    @rx.reaction(again)
    def look(self) -> None:
        self.seen = [*self.seen[-5:], self.again.value, int.from_bytes(self.shared[:8], "little")]


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.walk, self.sum = Walk(), Sum()
        rx.connect(self.walk.out, self.sum.inp)


def stopped_at(tag: rx.Tag) -> Main:
    main = Main()
    rx.run(main, seed=1, fast=True, timeout=tag.time)
    return main


def state(main: Main) -> Any:
    return main.walk.x, main.sum.total, main.sum.seen, main.sum.rows.tolist()


def test_at_its_end_it_is_the_run() -> None:
    main, again = Main(), Main()
    result = rx.run(main, seed=1, fast=True, timeout="1 s")
    with rx.Replay(again, seed=1, timeout="1 s") as r:
        assert r.end().over
        assert r.digest == result.digest
        assert r.tag == result.final_tag
        assert state(r.main) == state(main)
        assert r.main is again


def test_any_tag_has_the_state_of_the_full_run_however_one_comes_there() -> None:
    """To 100 random tags, forward and back, over many snapshots: hashes of all states are those of the way there."""
    with rx.Replay(Main(), seed=1, timeout="2 s") as r:
        r._timeline.interval = 0.002  # s: snapshots all the time
        on_the_way = {}
        rng = random.Random(7)
        tags = sorted(rng.sample(range(2000), 100))
        for ms in tags:
            on_the_way[ms] = r.to(f"{ms} ms").hashes
        r.end()
        assert len(r._timeline.snapshots) > 1
        rng.shuffle(tags)
        for ms in tags:
            assert r.to(f"{ms} ms").hashes == on_the_way[ms]
        assert state(r.main) == state(stopped_at(rx.Tag(tags[-1] * 1_000_000, 0)))


def test_one_goes_a_reaction_or_a_tag_forward_and_back() -> None:
    with rx.Replay(Main(), seed=1, timeout="1 s") as r:
        r.to("100 ms")
        assert (r.tag, r.next) == (rx.Tag(100_000_000, 0), "main.walk.step")
        x = r.main.walk.x
        r.step()
        assert r.written == {"main.walk.out": r.main.walk.x}
        assert r.main.walk.x != x
        assert (r.tag, r.next) == (rx.Tag(101_000_000, 0), "main.sum.add")
        assert r.inputs == {"main.sum.inp": r.main.walk.x}
        assert r.back().main.walk.x == x
        assert r.step("tag").position == r.position
        assert r.tag == rx.Tag(101_000_000, 0)
        assert r.back("tag").tag is not None
        assert r.main.walk.x == x
        r.to("4 ms")
        while r.position:
            r.back()
        assert (r.tag, r.main.sum.total, hasattr(r.main.sum, "shared")) == (None, 0, False)
        assert r.back().position == 0
        assert "before its first reaction" in repr(r)


def test_what_was_written_is_known_on_the_way_back_wherever_snapshots_lie() -> None:
    with rx.Replay(Main(), seed=1, timeout="1 s") as r:
        r._timeline.interval = 1e-9  # s: before every tag
        written = [r.step().written for _ in range(12)]
        r.to("30 ms")
        r.to("4 ms")
        while r.position > len(written):
            r.back()
        while r.position > 1:
            assert r.back().written == written[r.position - 1]
        assert r.back().written == {}


def test_a_replay_that_is_closed_says_so() -> None:
    with rx.Replay(Main(), seed=1, timeout="1 s") as r:
        x = r.to("3 ms").main.walk.x
    assert r.main.walk.x == x
    for used in (r.step, r.back, r.end, lambda: r.to("5 ms"), lambda: r.ask("1"), lambda: r.bisect("True")):
        with pytest.raises(rx.ReplayError, match="main: the replay is closed; make another one"):
            used()


def test_one_goes_to_before_the_nth_execution_of_a_reaction() -> None:
    with rx.Replay(Main(), seed=1, timeout="1 s") as r:
        assert r.to("main.sum.add", 400).next == "main.sum.add"
        assert r.tag == rx.Tag(399_000_000, 0)
        assert r.to("main.sum.add", 3).tag == rx.Tag(2_000_000, 0)
        assert r.to("main.sum.add", 5_000).over
        with pytest.raises(rx.ArgumentError, match=r"no reaction 'main\.sum\.ad' in main; did you mean"):
            r.to("main.sum.ad", 1)


def test_it_stops_before_a_reaction_after_a_write_and_where_a_condition_holds() -> None:
    with rx.Replay(Main(), seed=1, timeout="1 s") as r:
        r.stop_at("main.sum.look").go()
        assert (r.next, r.stopped_by) == ("main.sum.look", "a breakpoint")
        r.forget_stops().stop_at(r.main.walk.out, when=lambda value: value > 20).go()
        assert r.main.walk.x - 5 <= 20 < r.main.walk.x
        assert r.stopped_by == "main.walk.out"
        r.forget_stops().stop_at("m.sum.total > 1000").go()
        assert r.over or r.main.sum.total > 1000
        first = r.tag
        r.to("0 ms").forget_stops().stop_at(lambda main: main.sum.total > 1000).go()
        assert r.tag == first
        with pytest.raises(rx.ArgumentError, match=r"no reaction or port 'main\.walk\.ut'; did you mean"):
            r.stop_at("main.walk.ut")
        with pytest.raises(rx.ArgumentError, match=r"'m\.walk\.x > 3 and' is no reaction, no port, and no expression"):
            r.stop_at("m.walk.x > 3 and")
        with pytest.raises(rx.ArgumentError, match="when= is a condition of the value of a port"):
            r.stop_at("m.walk.x > 3", when=bool)
        r.to("0 ms").forget_stops().stop_at("m.wlak.x > 3")
        with pytest.warns(rx.ReactorWarning, match=r"m\.wlak\.x > 3 could never be asked: AttributeError: .*'wlak'"):
            r.go()


def test_what_cannot_be_sent_is_asked_for_there() -> None:
    with rx.Replay(Main(), seed=1, timeout="1 s") as r:
        r.to("10 ms")
        assert r.ask("next(m.sum.memory['of no'])") == 0
        assert r.ask(lambda main: int(main.walk.x)) == r.main.walk.x
        assert r.ask("m.sum.memory['of no']").text.startswith("<generator")
        with pytest.raises(AttributeError, match="nothing"):
            r.ask("m.nothing")
        with pytest.raises(rx.ShippingError, match=r"main\.sum\.memory"):
            r.main.sum.memory["of no"]


class Fails(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    n = 0

    @rx.reaction(tick)
    def step(self) -> None:
        self.n += 1
        if self.n == 20:
            raise ValueError("it is twenty")


def test_a_reaction_that_raises_is_where_it_ends_and_one_goes_back_from_there() -> None:
    with rx.Replay(Fails()) as r:
        r.end()
        assert (r.over, r.main.n, r.tag) == (True, 20, rx.Tag(19_000_000, 0))
        assert "ValueError: it is twenty" in r.failed
        assert "main.step raised ValueError: it is twenty" in repr(r)
        assert r.back().next == "main.step"
        assert (r.main.n, r.failed) == (19, "")


class Bell(rx.Reactor):
    rung = rx.PhysicalAction(str)

    def __init__(self) -> None:
        self.heard: list[str] = []

    @rx.reaction(rung, effects=rx.stop)
    def answer(self) -> None:
        self.heard.append(self.rung.value)
        if len(self.heard) == 3:
            self.request_stop()


def test_what_comes_from_outside_comes_from_the_log(tmp_path: Path) -> None:
    live = Bell()

    def ring() -> None:
        for who in ("postman", "neighbour", "cat"):
            while not live.rung.schedule(who):
                time.sleep(0.001)

    visitors = threading.Thread(target=ring)
    visitors.start()
    result = rx.run(live, record=tmp_path / "visits.rxlog")
    visitors.join()
    with rx.Replay(Bell(), replay=tmp_path / "visits.rxlog") as r:
        assert r.end().digest == result.digest
        assert r.main.heard == live.heard
        assert r.back().main.heard == live.heard[:2]
    with pytest.raises(rx.ReplayError, match=r"main has main\.rung, which comes from outside: .* record one"):
        rx.Replay(Bell())
    clock, clocked = rx.VirtualClock(), Bell()
    clock.at("5 ms", clocked.rung, "fox")
    with rx.Replay(clocked, clock=clock, timeout="1 s") as r:
        assert r.end().main.heard == ["fox"]


class Threaded(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    n = 0

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.thread = threading.Thread(target=threading.Event().wait, daemon=True)
        self.thread.start()

    @rx.reaction(tick)
    def step(self) -> None:
        self.n += 1
        time.sleep(0.001)


def test_what_cannot_be_copied_is_said_and_executed_again_from_before() -> None:
    with rx.Replay(Threaded(), timeout="300 ms") as r:
        r._timeline.interval = 0.01
        with pytest.warns(rx.ReactorWarning, match="no snapshot can be made .* for it has 2 threads; to go back"):
            r.to("200 ms")
        assert len(r._timeline.snapshots) == 1
        assert r.main.n == 201
        assert r.back().main.n == 200


class Dies(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    n = 0

    @rx.reaction(tick)
    def step(self) -> None:
        self.n += 1
        if self.n == 5:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_dies_is_named_and_one_still_goes_to_before_that() -> None:
    with rx.Replay(Dies()) as r:
        with pytest.raises(rx.ReplayError, match="has died in the middle of a reaction"):
            r.end()
        assert r.to("2 ms").main.n == 3


def test_nothing_is_left_of_one_that_is_dropped_or_whose_user_raises() -> None:
    r = rx.Replay(Main(), timeout="1 s").to("100 ms")
    del r
    with pytest.raises(KeyError), rx.Replay(Main(), timeout="1 s") as r:
        raise KeyError(r.to("10 ms").position)


def test_no_process_survives_a_user_who_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal
            import reactors as rx

            class Walk(rx.Reactor):
                tick = rx.Timer(0, "1 ms")
                n = 0
                @rx.reaction(tick)
                def step(self):
                    self.n += 1

            r = rx.Replay(Walk(), timeout="100 s")
            r._timeline.interval = 0.01
            r.to("50 s")
            print(*(each.pid for each in r._timeline._everyone), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
            """
        )
    )
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    pids = [int(pid) for pid in found.stdout.split()]
    assert len(pids) > 2, found.stderr
    patience = time.monotonic() + 10

    def alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    while any(map(alive, pids)) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not [pid for pid in pids if alive(pid)]
