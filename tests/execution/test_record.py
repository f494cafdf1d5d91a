"""Record and replay: the same digest without the outside world."""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reactors as rx
from reactors.reports.recording import _check
from reactors_runtime import log
from reactors_runtime._core import ffi, lib
from tests.messages import warned


class Sensor(rx.Reactor):
    """Hears of what happens outside, passes it on over a physical connection, and is late now and then."""

    heard = rx.PhysicalAction()
    tick, out = rx.Timer(0, "1 ms"), rx.Output()

    def __init__(self, values: list[Any] | None = None) -> None:
        self.values, self.log = values, list[Any]()

    @rx.reaction(rx.startup)
    def listen(self) -> None:
        if self.values is not None:
            self.thread = threading.Thread(target=self.speak)
            self.thread.start()

    def speak(self) -> None:
        for value in self.values or []:
            self.heard.schedule(value)
            time.sleep(0.002)

    @rx.reaction(heard, effects=out)
    def hear(self) -> None:
        value = self.heard.value
        self.log.append((*self.tag, value.tolist() if isinstance(value, np.ndarray) else value))
        self.out.set(len(self.log))

    @rx.reaction(tick)
    def work(self) -> None:
        if self.tag.time == 3_000_000:
            time.sleep(0.004)

    @rx.reaction(tick)
    def punctual(self) -> None:
        self.log.append((*self.tag, "in time"))

    @punctual.deadline("2 ms")
    def late(self) -> None:
        self.log.append((*self.tag, "late"))

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        if self.values is not None:
            self.thread.join()
            del self.thread


class Listener(rx.Reactor):
    inp = rx.Input()

    def __init__(self) -> None:
        self.log = list[Any]()

    @rx.reaction(inp)
    def hear(self) -> None:
        self.log.append((*self.tag, self.inp.value))


class Main(rx.Reactor):
    def __init__(self, values: list[Any] | None = None) -> None:
        self.sensor, self.listener = Sensor(values), Listener()
        rx.connect(self.sensor.out, self.listener.inp, physical=True)


VALUES = [1, -2.5, "three", b"four", None, [5, (6, {"k": True})], np.arange(3, dtype="i4")]


def recorded(file: Path, **options: Any) -> tuple[Any, Any]:
    main = Main(VALUES)
    result = rx.run(main, timeout="500 ms", record=file, seed=7, **options)  # on a busy machine, too, all comes in it
    assert len([entry for entry in main.sensor.log if entry[2] not in ("in time", "late")]) == len(VALUES)
    assert len(main.listener.log) == len(VALUES)
    return main, result


def changed(said: dict[str, Any], **change: Any) -> bytes:
    """The first line of a log that says something else, as a program that wrote that would have written it."""
    head = {name: each for name, each in {**said, **change}.items() if name != "check"}
    return json.dumps({**head, "check": _check(head)}).encode() + b"\n"


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_a_replay_does_the_same_without_the_outside_world(backend: Any, tmp_path: Path) -> None:
    """On any number of workers: events with their values, arrivals, missed deadlines, the seed, the end."""
    file = tmp_path / "run.rxlog"
    apart = {"placement": {"main.listener": 1}}
    options = {"workers": 1} if backend == "inline" else {"workers": 2, **apart}
    main, result = recorded(file, backend=backend, **options)
    for way in ({"workers": 1}, {"workers": 2, "backend": "thread", **apart}, {"workers": 2, **apart}):
        again = Main()
        replayed = rx.run(again, replay=file, **way)  # type: ignore[arg-type]  # a dict of several kinds
        assert replayed.digest == result.digest
        assert replayed.final_tag == result.final_tag
        assert replayed.seed == 7
        assert again.sensor.log == main.sensor.log
        assert again.listener.log == main.listener.log


def test_one_file_is_not_for_two_things(tmp_path: Path) -> None:
    """Each would write over the other, or over the log that is replayed."""
    log = tmp_path / "run.rxlog"
    rx.run(Sensor([]), record=log, fast=True, timeout="1 ms")
    there = log.read_bytes()
    also = tmp_path / "x" / ".." / log.name
    (tmp_path / "x").mkdir()
    for one, other in (("replay", "journal"), ("replay", "trace"), ("record", "journal"), ("journal", "trace")):
        both: dict[str, Any] = {one: log, other: also}
        with pytest.raises(rx.ArgumentError, match=r"\w+ and \w+ of rx\.run are both .*; give each a file of its own"):
            rx.run(Sensor(), timeout="1 ms", **both)
    assert log.read_bytes() == there


def test_a_virtual_run_is_recorded_like_any_other(tmp_path: Path) -> None:
    def clock(main: Any) -> rx.VirtualClock:
        made = rx.VirtualClock(sleep=True)
        for k, value in enumerate(VALUES):
            made.at(1_500_000 * k, main.sensor.heard, value)
        return made

    main = Main()
    result = rx.run(main, timeout="20 ms", clock=clock(main), record=tmp_path / "log")
    again = Main()
    assert rx.run(again, replay=tmp_path / "log").digest == result.digest
    assert again.sensor.log == main.sensor.log
    assert ("late" in [entry[2] for entry in main.sensor.log]) is True


def test_a_log_that_was_cut_off_is_replayed_up_to_there(tmp_path: Path) -> None:
    file = tmp_path / "run.rxlog"
    main, _ = recorded(file)
    data = file.read_bytes()
    head = data.index(b"\n") + 1
    events = [tag for kind, tag, _, _ in log.parse(data[head:]) if kind == log.ACTION]
    for cut in (len(data) - 5, len(data) - 60, len(data) - 100):
        file.write_bytes(data[:cut])
        left = log.parse(data[head:cut])
        last = max(tag for kind, tag, _, _ in left if kind != log.ARRIVAL)
        again = Main()
        (words,) = warned(lambda again=again: rx.run(again, replay=file))  # type: ignore[misc]
        assert words.endswith(f"breaks off: the run is replayed up to {rx.Tag(*last)}, where it ends")
        expected = [entry for entry in main.sensor.log if entry[:2] <= last and entry[2] != "in time"]
        assert [entry for entry in again.sensor.log if entry[2] != "in time"] == expected
    file.write_bytes(data[:head])
    assert events
    (words,) = warned(lambda: rx.run(Main(), replay=file))
    assert "breaks off: the run is replayed up to 0 s" in words


def test_what_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.rxlog"
    recorded(file)

    class Other(Main):
        def __init__(self) -> None:
            super().__init__()
            self.more = Listener()
            rx.connect(self.sensor.out, self.more.inp)

    with pytest.raises(
        rx.ReplayError, match=r"is of another program: where it had .*, this one has 'port main.more.inp"
    ):
        rx.run(Other(), replay=file)
    head, _, rest = file.read_bytes().partition(b"\n")
    said = json.loads(head)
    file.write_bytes(changed(said, reactors="0.0.1") + rest)
    with pytest.raises(rx.ReplayError, match=r"is of reactors 0.0.1, and this is"):
        rx.run(Main(), replay=file)
    file.write_bytes(changed(said, python="3.9") + rest)
    with pytest.raises(
        rx.ReplayError, match=rf"is of Python 3.9, and this is 3.{sys.version_info.minor}; replay it with"
    ):
        rx.run(Main(), replay=file)
    file.write_bytes(changed(said, python=f"{said['python']}.99") + rest)
    rx.run(Main(), replay=file)  # which patch it is, does not matter
    file.write_bytes(b"something else")
    with pytest.raises(rx.ReplayError, match="is no log of this version"):
        rx.run(Main(), replay=file)
    with pytest.raises(rx.ReplayError, match="cannot be read: No such file"):
        rx.run(Main(), replay=tmp_path / "none")
    with pytest.raises(rx.ArgumentError, match="takes everything from the log"):
        rx.run(Main(), replay=file, clock=rx.VirtualClock())
    with pytest.raises(rx.ArgumentError, match="cannot be recorded; leave fast"):
        rx.run(Main(), record=file, fast=True)
    with pytest.raises(rx.ArgumentError, match="there is no folder"):
        rx.run(Main(), record=tmp_path / "none" / "log")


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        ({"deadline": "6 ns"}, "deadline 6"),
        ({"period": "8 ns"}, " 0 8"),
        ({"after": "9 ns"}, r"after \(9, 0\)"),
        ({"least": "3 ns"}, " 3 -1 defer"),
    ],
)
def test_a_program_that_differs_in_times_alone_is_another(
    tmp_path: Path, difference: dict[str, str], words: str
) -> None:
    class Source(rx.Reactor):
        out = rx.Output()

        @rx.reaction(rx.startup, effects=out)
        def go(self) -> None: ...

    class Timed(rx.Reactor):
        def __init__(
            self, deadline: str = "5 ns", period: str = "5 ns", after: str = "5 ns", least: str = "5 ns"
        ) -> None:
            self.tick, self.act = rx.Timer(0, period), rx.LogicalAction(min_delay=least)
            self.source, self.listener = Source(), Listener()
            rx.connect(self.source.out, self.listener.inp, after=after)
            self.add_reaction((self.tick, self.act), self.work, deadline=deadline, late=self.work)

        def work(self) -> None: ...

    rx.run(Timed(), record=tmp_path / "log", timeout="10 ns")
    rx.run(Timed(), replay=tmp_path / "log")
    with pytest.raises(rx.ReplayError, match=words):
        rx.run(Timed(**difference), replay=tmp_path / "log")


def test_a_value_that_cannot_be_recorded_names_the_action(tmp_path: Path) -> None:
    clock, main = rx.VirtualClock(), Main()
    clock.at(5, main.sensor.heard, object())
    with pytest.raises(rx.ReplayError, match=r"main.sensor.heard .*: its value cannot be recorded: object is none of"):
        rx.run(main, clock=clock, record=tmp_path / "log", timeout="10 ns")


def test_an_array_of_a_subclass_is_not_recorded_as_a_plain_one(tmp_path: Path) -> None:
    clock, main = rx.VirtualClock(), Main()
    clock.at(5, main.sensor.heard, np.ma.array([1, 2], mask=[False, True]))
    with pytest.raises(rx.ReplayError, match=r"its value cannot be recorded: MaskedArray is none of"):
        rx.run(main, clock=clock, record=tmp_path / "log", timeout="10 ns")


def test_keys_of_dicts_are_kept_and_one_that_cannot_be_is_named(tmp_path: Path) -> None:
    value = {1: 2, "a": {None: -1.5, True: b"x"}, 2.5: [{b"k": {}}]}
    clock, main, again = rx.VirtualClock(), Main(), Main()
    clock.at(5, main.sensor.heard, value)
    rx.run(main, clock=clock, record=tmp_path / "log", timeout="10 ns")
    rx.run(again, replay=tmp_path / "log")
    assert [entry for entry in again.sensor.log if entry[2] != "in time"] == [(5, 0, value)]
    clock.at(6, main.sensor.heard, {"fine": {(1, 2): 3}})
    with pytest.raises(rx.ReplayError, match=r"main.sensor.heard .*: the key \(1, 2\) of a dict is of type tuple, and"):
        rx.run(main, clock=clock, record=tmp_path / "log", timeout="10 ns")


class Burst(rx.Reactor):
    """Late at first, and then at many microsteps of the time to which it was late."""

    tick, again, out = rx.Timer("1 ms", "500 us"), rx.LogicalAction(), rx.Output(int)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick, again, effects=(again, out))
    def go(self) -> None:
        self.n += 1
        self.out.set(self.n)
        if self.n == 1:
            time.sleep(0.0015)
        if self.tag.time == 2_500_000 and self.tag.microstep < 4:
            self.again.schedule()


class Bursts(rx.Reactor):
    def __init__(self) -> None:
        self.burst, self.listener = Burst(), Listener()
        rx.connect(self.burst.out, self.listener.inp, physical=True)


@pytest.mark.parametrize("virtual", [True, False])
@pytest.mark.parametrize("workers", [1, 2])
def test_arrivals_are_recorded_as_they_are(workers: int, virtual: bool, tmp_path: Path) -> None:
    """Each at a tag of its own, in the order in which they were sent; so every replay has the same values there."""
    main, file = Bursts(), tmp_path / "log"
    options: Any = {"clock": rx.VirtualClock(sleep=True)} if virtual else {}
    apart = {"main.listener": 1}
    placement: Any = apart if workers == 2 else "auto"
    result = rx.run(
        main, workers=workers, backend="thread", placement=placement, timeout="9 ms", record=file, **options
    )
    heard = main.listener.log
    assert [value for *_, value in heard] == list(range(1, 1 + len(heard)))
    if virtual:
        assert [tag[:2] for tag in heard[:8]] == [(2_500_000, k) for k in range(1, 9)]
    records = log.parse(file.read_bytes().partition(b"\n")[2])
    assert [tag for kind, tag, *_ in records if kind == log.ARRIVAL][: len(heard)] == [tag[:2] for tag in heard]
    for way in (
        {"workers": 1},
        {"workers": 2, "backend": "thread", "placement": apart},
        {"workers": 2, "placement": apart},
    ):
        again = Bursts()
        assert rx.run(again, replay=file, **way).digest == result.digest  # type: ignore[arg-type]  # a dict of several kinds
        assert again.listener.log == heard


class Failing(rx.Reactor):
    heard, tick = rx.PhysicalAction(int), rx.Timer("8 ms")

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(heard)
    def hear(self) -> None:
        self.n = self.heard.value

    @rx.reaction(tick)
    def fail(self) -> None:
        raise RuntimeError(f"with {self.n}")


def test_a_run_that_failed_fails_again(tmp_path: Path) -> None:
    main, clock = Failing(), rx.VirtualClock()
    clock.at("2 ms", main.heard, 3)
    with pytest.raises(rx.ReactionError, match="with 3"):
        rx.run(main, clock=clock, record=tmp_path / "log")
    with pytest.raises(rx.ReactionError, match="with 3"):
        rx.run(Failing(), replay=tmp_path / "log")


class Checking(rx.Reactor):
    tick, out = rx.Timer(0, "5 ms"), rx.Output(bool)

    def __init__(self) -> None:
        self.found = list[tuple[bool, bool]]()

    @rx.reaction(tick, effects=out)
    def work(self) -> None:
        before = self.check_deadline()
        time.sleep(0.003)
        if self.check_deadline():
            self.out.set(True)
        self.found.append((before, self.out.is_present))

    @work.deadline("2 ms")
    def late(self) -> None: ...


def test_what_check_deadline_found_is_found_again(tmp_path: Path) -> None:
    main, again = Checking(), Checking()
    result = rx.run(main, clock=rx.VirtualClock(sleep=True), record=tmp_path / "log", timeout="20 ms")
    assert main.found == [(False, True)] * 5
    assert rx.run(again, replay=tmp_path / "log").digest == result.digest
    assert again.found == main.found


class Delayed(rx.Reactor):
    def __init__(self) -> None:
        self.sensor, self.listener = Sensor(), Listener()
        rx.connect(self.sensor.out, self.listener.inp, physical=True, after="1 s")


def test_a_log_that_was_cut_off_ends_before_what_was_on_its_way(tmp_path: Path) -> None:
    main, clock, file = Delayed(), rx.VirtualClock(), tmp_path / "log"
    for k in range(5):
        clock.at(100_000_000 * k, main.sensor.heard, k)
    rx.run(main, clock=clock, record=file, timeout="2 s")
    data = file.read_bytes()
    head = data.index(b"\n") + 1
    size = (len(data) - head) // len(log.parse(data[head:])) - 2  # about a record
    for cut in range(head + size, len(data) - size, size):
        file.write_bytes(data[:cut])
        last = max((tag for kind, tag, _, _ in log.parse(data[head:cut]) if kind == log.ACTION), default=(-1, 0))
        again = Delayed()
        warned(lambda again=again: rx.run(again, replay=file))  # type: ignore[misc]
        heard = [entry for entry in again.sensor.log if entry[2] not in ("late", "in time")]
        assert heard == [
            entry for entry in main.sensor.log if entry[2] not in ("late", "in time") and entry[:2] <= last
        ]


def test_logs_of_programs_that_differ_in_modes_or_stops_are_refused(tmp_path: Path) -> None:
    def program(*, history: bool, stops: bool) -> Any:
        class Modal(rx.Reactor):
            a, b = rx.Mode(initial=True), rx.Mode()
            tick = rx.Timer(0)

            @rx.reaction(tick, effects=(b.history if history else b.reset, *([rx.stop] if stops else [])))
            def go(self) -> None: ...

        return Modal()

    file = tmp_path / "log"
    rx.run(program(history=False, stops=False), record=file, clock=rx.VirtualClock())
    rx.run(program(history=False, stops=False), replay=file)
    for differs in ({"history": True, "stops": False}, {"history": False, "stops": True}):
        with pytest.raises(rx.ReplayError, match="is of another program"):
            rx.run(program(**differs), replay=file)


def test_damaged_logs_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "log"
    rx.run(Checking(), clock=rx.VirtualClock(), record=file, timeout=0)
    head, _, rest = file.read_bytes().partition(b"\n")
    said = json.loads(head)
    for change in ({"seed": -3}, {"seed": "x"}, {"program": None}, {"reactors": None}, {"format": 7}):
        file.write_bytes(changed(said, **change) + rest)
        with pytest.raises(rx.ReplayError, match="is no log of this version"):
            rx.run(Checking(), replay=file)
    for name in ("seed", "program", "reactors", "format", "check"):
        file.write_bytes(json.dumps({key: each for key, each in said.items() if key != name}).encode() + b"\n" + rest)
        with pytest.raises(rx.ReplayError, match="is no log of this version"):
            rx.run(Checking(), replay=file)
    for change in ({"seed": said["seed"] + 1}, {"program": said["program"][:-1]}, {"python": "3.0"}, {"check": 5}):
        file.write_bytes(json.dumps({**said, **change}).encode() + b"\n" + rest)
        with pytest.raises(rx.ReplayError, match=r"the first line of the log '.*' is not as it was written, because"):
            rx.run(Checking(), replay=file)
    file.write_bytes(head + b"\n" + rest + rest)
    with pytest.raises(rx.ReplayError, match="goes on after its end"):
        rx.run(Checking(), replay=file)
    with pytest.raises(rx.ArgumentError, match="which cannot be written: Is a directory"):
        rx.run(Checking(), record=tmp_path, timeout=0)


@pytest.mark.parametrize(
    ("kind", "tag", "name", "value", "words"),
    [
        (log.ACTION, (5, 0), "main.sensor.out", b"", "main.sensor.out is no physical action"),
        (log.ACTION, (5, 0), 10**6, b"", "no. 1000000 is no physical action"),
        (log.ACTION, (-5, 0), "main.sensor.heard", b"", "its time is -5 ns"),
        (
            log.ACTION,
            (5, 0),
            "main.sensor.heard",
            b"i\x03" + bytes(7) + b"abc",
            "the value of main.sensor.heard cannot",
        ),
        (log.ACTION, (5, 0), "main.sensor.heard", b"a", "the value of main.sensor.heard cannot be read"),
        (log.ARRIVAL, (5, 0), "main.sensor.out", b"", "main.sensor.out is no port behind a physical connection"),
        (log.LATE, (5, 0), 10**6, b"", "there is no reaction no. 1000000"),
        (log.CHECK, (5, 0), "main.listener.hear", bytes(8), "main.listener.hear has no deadline that it could miss"),
        (99, (5, 0), 0, b"", "there is no kind 99 of records"),
    ],
)
def test_records_with_good_checksums_that_say_what_cannot_be_are_refused(
    kind: int, tag: tuple[int, int], name: str | int, value: bytes, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "log"
    rx.run(Main(), timeout=0, record=file, clock=rx.VirtualClock())
    graph = rx.Graph(Main())
    names = {each.path: number for number, each in enumerate(graph.program.elements)}
    names |= {path: number for number, path in enumerate(graph.names)}
    logged = ffi.new("rx_logged *", [len(value), kind, tag, names[name] if isinstance(name, str) else name, 0])
    logged.check = lib.rx_check(logged, ffi.from_buffer(value))
    head, _, rest = file.read_bytes().partition(b"\n")
    file.write_bytes(head + b"\n" + bytes(ffi.buffer(logged)) + value + rest)
    with pytest.raises(rx.ReplayError) as caught:
        rx.run(Main(), replay=file)
    assert f"has a record that no run of main can have written: {words}" in str(caught.value)
    assert str(caught.value).endswith("; take the file as it was recorded, or record the run again")


def test_a_value_in_which_one_letter_is_wrong_is_not_taken(tmp_path: Path) -> None:
    """The log counts up to there, as one that was cut off."""
    clock, main, file = rx.VirtualClock(), Main(), tmp_path / "log"
    for k, value in enumerate(("first", "second", "third")):
        clock.at(1_000_000 * k, main.sensor.heard, value)
    rx.run(main, clock=clock, record=file, timeout="5 ms")
    file.write_bytes(file.read_bytes().replace(b"second", b"sekond"))
    again = Main()
    words = warned(lambda: rx.run(again, replay=file))
    assert words == [f"the log {str(file)!r} breaks off: the run is replayed up to 0 s, where it ends"]
    assert [entry[2] for entry in again.sensor.log if entry[2] not in ("in time", "late")] == ["first"]


class Two(rx.Reactor):
    """Two reactions with deadlines at one tag, of which one is late, for the other takes long before it."""

    tick = rx.Timer(0)

    def __init__(self) -> None:
        self.did: list[str] = []

    @rx.reaction(tick)
    def first(self) -> None:
        self.did.append("first")
        time.sleep(0.005)

    @first.deadline("2 ms")
    def first_late(self) -> None:
        self.did.append("first late")

    @rx.reaction(tick)
    def second(self) -> None:
        self.did.append("second")

    @second.deadline("2 ms")
    def second_late(self) -> None:
        self.did.append("second late")


def test_of_two_reactions_at_one_tag_the_one_that_was_late_is_late_again(tmp_path: Path) -> None:
    main, again = Two(), Two()
    result = rx.run(main, clock=rx.VirtualClock(sleep=True), record=tmp_path / "log")
    assert main.did == ["first", "second late"]
    assert rx.run(again, replay=tmp_path / "log").digest == result.digest
    assert again.did == ["first", "second late"]
