"""What would have been, and since when it is so."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reactors as rx
from reactors.testing import inject


class Sensor(rx.Reactor):
    tick, level = rx.Timer(0, "1 ms"), rx.Output(int)

    def __init__(self) -> None:
        self.n, self.gain = 0, 1

    @rx.reaction(tick, effects=level)
    def read(self) -> None:
        self.n += 1
        self.level.set(self.n % 10 * self.gain)


class Filter(rx.Reactor):
    """Forgets what was: the mean of the last three."""

    level, mean = rx.Input(int), rx.Output(float)

    def __init__(self) -> None:
        self.last = [0, 0, 0]

    @rx.reaction(level, effects=mean)
    def smooth(self) -> None:
        self.last = [*self.last[1:], self.level.value]
        self.mean.set(sum(self.last) / 3)


class Alarm(rx.Reactor):
    mean, rung = rx.Input(float), rx.Output(bool)

    @rx.reaction(mean, effects=rung)
    def look(self) -> None:
        if self.mean.value > 7.5:
            self.rung.set(True)


class Plant(rx.Reactor):
    def __init__(self) -> None:
        self.sensor, self.filter, self.alarm = Sensor(), Filter(), Alarm()
        rx.connect(self.sensor.level, self.filter.level)
        rx.connect(self.filter.mean, self.alarm.mean)


def test_what_changed_downstream_and_where_it_died_out() -> None:
    with rx.Replay(Plant(), timeout="99 ms") as r:
        r.to("20 ms")
        nothing = r.fork()
        assert (nothing.digest, nothing.changes, nothing.states) == (nothing.was, (), ())
        found = r.fork({"main.filter.last[2]": 100})
        assert [(c.port, c.first.time, c.last.time, c.changed, c.new) for c in found.changes] == [
            ("main.alarm.rung", 21_000_000, 22_000_000, 0, 2),
            ("main.filter.mean", 21_000_000, 22_000_000, 2, 0),
        ]
        assert all(change.died_out for change in found.changes)
        assert found.states == ()
        assert found.digest != found.was
        assert str(found).splitlines()[2] == "main.alarm.rung: 2 new of 10, from 21 ms to 22 ms, where it died out"
        for_good = r.fork({"main.sensor.gain": 2})
        assert not for_good.changes[-1].died_out
        assert for_good.states == ("main.sensor", "main.filter")
        assert r.fork({"main.sensor.gain": 2}) == for_good  # the same again
        assert r.fork({"main.sensor.gain": 2}, until="30 ms").digest != for_good.digest
        assert (r.tag, r.main.sensor.gain) == (rx.Tag(20_000_000, 0), 1)  # here nothing has happened


def test_a_message_that_gets_lost_is_a_run_like_one_with_that_fault() -> None:
    main = Plant()
    with inject(main, at=("main.sensor.read", 22), drop=True) as program:
        faulty = rx.run(program, fast=True, timeout="99 ms", digest="values")
    with rx.Replay(Plant(), timeout="99 ms") as r:
        found = r.to("20 ms").fork(drop=r.main.filter.level)
        assert (found.digest, found.value_digest) == (faulty.digest, faulty.value_digest)
        assert found.drop == ("main.sensor.level",)


def test_what_cannot_be_changed_is_refused() -> None:
    with rx.Replay(Plant(), timeout="99 ms") as r:
        with pytest.raises(AttributeError, match="gian"):
            r.fork({"main.sensor.gian": 2})
        with pytest.raises(rx.ArgumentError, match=r"write a place in main, as in main\.learner\.lr"):
            r.fork({"sensor.gain": 2})
        with pytest.raises(rx.ArgumentError, match=r"no port 'main\.sensor\.levle'; did you mean"):
            r.fork(drop="main.sensor.levle")
        for place in ("main.sensor", "main.sensor.level", "main.sensor.read"):
            with pytest.raises(rx.ArgumentError, match=f"{place} is part of the program and no state"):
                r.fork({place: None})
        with pytest.raises(rx.ArgumentError, match=r"until of fork is .*, which is before 3 ms, where the run stands"):
            r.to("3 ms").fork(until="1 ms")
        with pytest.raises(rx.ArgumentError, match="given sed; it takes seed, timeout, replay, clock and quiet"):
            rx.Replay(Plant(), sed=1)
        assert r.to("3 ms").main.sensor.n == 4


class Odd(rx.Reactor):
    """Writes in every third millisecond, for two readers, one of which hears it later."""

    tick, out = rx.Timer(0, "1 ms"), rx.Output(int)

    @rx.reaction(tick, effects=out)
    def write(self) -> None:
        if self.tag.time % 3_000_000 == 0:
            self.out.set(self.tag.time)


class Reader(rx.Reactor):
    inp = rx.Input(int)

    def __init__(self) -> None:
        self.heard: list[int] = []

    @rx.reaction(inp)
    def hear(self) -> None:
        self.heard.append(self.inp.value)


class Broadcast(rx.Reactor):
    def __init__(self) -> None:
        self.odd, self.now, self.later = Odd(), Reader(), Reader()
        rx.connect(self.odd.out, self.now.inp)
        rx.connect(self.odd.out, self.later.inp, after="5 ms")


def test_the_next_message_gets_lost_whenever_it_is_written() -> None:
    with rx.Replay(Broadcast(), timeout="30 ms") as r:
        found = r.to("4 ms").fork(drop="main.odd.out")
        assert [(c.port, c.first.time, c.missing) for c in found.changes] == [("main.odd.out", 6_000_000, 1)]
        assert found.states == ("main.now", "main.later")
        for port in ("main.now.inp", "main.later.inp"):
            with pytest.raises(rx.ArgumentError, match=rf"what comes to {port} is written to main\.odd\.out,"):
                r.fork(drop=port)


class Experience(rx.Reactor):
    tick, batch = rx.Timer(0, "1 min"), rx.Output(shape=(4,), dtype=np.float64)

    @rx.reaction(tick, effects=batch)
    def play(self) -> None:
        self.batch.set(self.rng.normal(size=4))


class Learner(rx.Reactor):
    batch = rx.Input(shape=(4,), dtype=np.float64)

    def __init__(self, bad: int) -> None:
        self.w, self.rounds, self.bad = np.zeros(4), 0, bad

    @rx.reaction(batch)
    def update(self) -> None:
        self.rounds += 1
        rate = math.nan if self.rounds == self.bad else 0.1
        self.w = self.w - rate * (self.w - self.batch.value)

    @rx.reaction(batch)
    def judge(self) -> None:
        self.error = float(np.abs(self.w).sum())


class Training(rx.Reactor):
    def __init__(self, bad: int) -> None:
        self.experience, self.learner = Experience(), Learner(bad)
        rx.connect(self.experience.batch, self.learner.batch)


@pytest.mark.parametrize("bad", [1, 2, 377, 1000])
def test_a_planted_nan_is_found_with_its_reaction(bad: int) -> None:
    with rx.Replay(Training(bad), timeout="999 min") as r:
        found = r.bisect("np.isfinite(m.learner.w).all()")
        assert found is not None
        assert (found.tag, found.reaction) == (rx.Tag((bad - 1) * 60_000_000_000, 0), "main.learner.update")
        assert found.executions <= math.log2(1000) + 2
        assert np.isnan(r.main.learner.w).all()
        assert np.isfinite(r.back().main.learner.w).all()
        assert r.next == "main.learner.update"


def test_what_never_fails_is_not_found_and_functions_are_checks_too() -> None:
    with rx.Replay(Training(-1), timeout="9 min") as r:
        assert r.bisect("np.isfinite(m.learner.w).all()") is None
        with pytest.raises(AttributeError, match="lerner"):
            r.bisect("m.lerner.w")
        found = r.bisect(lambda main: main.learner.rounds < 4)
        assert str(found) == "main.learner.update at 180 s, after 3 executions"
        assert str(r.bisect("m.learner.error < 0")).startswith("main.learner.judge at 0 s")  # not there before
