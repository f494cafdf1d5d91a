"""Is the journal of a run the same wherever it runs, and readable up to where it was cut off?"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import reactors as rx
from reactors.journals import entries
from reactors.journals.causes import causes
from reactors.journals.comparison import Comparison
from reactors.tracing import blocks
from reactors_runtime._core import lib
from tests.journals.programs import Pair, run

if TYPE_CHECKING:
    from pathlib import Path

WAYS: list[dict[str, Any]] = [
    {},
    {"workers": 2, "backend": "thread", "placement": {"main.source": 0, "main.sink": 1}},
    {"workers": 2, "backend": "process", "placement": {"main.source": 1, "main.sink": 0}},
]


def test_the_journal_is_the_same_on_every_backend(tmp_path: Path) -> None:
    found = []
    for number, way in enumerate(WAYS):
        result = run(Pair(), tmp_path / f"{number}.rxj", journal_states=3, **way)
        journal = rx.Journal(tmp_path / f"{number}.rxj")
        assert journal.end is not None
        assert journal.end["value_digest"] == result.value_digest
        found.append((result.digest, result.value_digest, journal.rows.tobytes(), journal.hashes.tobytes()))
    assert found[1:] == found[:1] * 2


def test_a_value_digest_without_a_file_is_that_of_a_journal(tmp_path: Path) -> None:
    with_file = run(Pair(), tmp_path / "a.rxj")
    assert run(Pair(), digest="values").value_digest == with_file.value_digest
    assert run(Pair()).value_digest is None


def test_a_value_digest_says_what_a_digest_does_not(tmp_path: Path) -> None:
    one, other = run(Pair(), digest="values"), run(Pair(bad=20_000_000), digest="values")
    assert one.digest == other.digest
    assert one.value_digest != other.value_digest


def test_the_first_difference_is_where_it_was_planted(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj")
    run(Pair(bad=20_000_000), tmp_path / "b.rxj", **WAYS[2])
    comparison = Comparison(rx.Journal(tmp_path / "a.rxj"), rx.Journal(tmp_path / "b.rxj"))
    assert [each.what for each in comparison.settings] == ["main.source.bad"]
    divergence = comparison.divergence
    assert divergence is not None
    assert (str(divergence.tag), divergence.path) == ("20 ms", "main.source.play")
    assert divergence.ports == ("main.source.rows",)
    assert divergence.what == ("what it scheduled differs",) or not divergence.what


def test_states_are_there_as_often_as_was_asked(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj", journal_states=2)
    states = rx.Journal(tmp_path / "a.rxj").states(2)  # of the sink, which runs each ms
    assert [str(tag) for tag, _ in states[:3]] == ["1 ms", "3 ms", "5 ms"]
    assert len({state for _, state in states}) == len(states)


def test_many_entries_come_in_blocks(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj", timeout="3 s")
    journal = rx.Journal(tmp_path / "a.rxj")
    assert len(journal) > 2 * lib.RX_JOURNAL_ENTRIES
    assert journal.end is not None
    assert len(journal) == sum(journal.end["entries"])


def test_a_journal_that_was_cut_off_is_good_up_to_there(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj", timeout="3 s", **WAYS[1])
    whole, data = rx.Journal(tmp_path / "a.rxj"), (tmp_path / "a.rxj").read_bytes()
    header = next(at for at in range(len(data)) if at and data[at : at + 4] == entries.MAGIC)
    dice = random.Random(1)
    lengths = set()
    for at in [header, len(data) - 1, *(dice.randrange(header, len(data)) for _ in range(30))]:
        (tmp_path / "b.rxj").write_bytes(data[:at])
        cut = rx.Journal(tmp_path / "b.rxj")
        assert cut.end is None
        lengths.add(len(cut))
        if len(cut):
            comparison = Comparison(whole, cut)
            assert comparison.divergence is None
            assert "was cut off" in comparison.longer
    assert len(lengths) > 3
    for at in range(0, header, 7):
        (tmp_path / "b.rxj").write_bytes(data[:at])
        with pytest.raises(rx.JournalError, match="is no journal"):
            rx.Journal(tmp_path / "b.rxj")


def test_no_damage_makes_the_reader_fail_otherwise_than_in_words(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj")
    data = (tmp_path / "a.rxj").read_bytes()
    dice = random.Random(2)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(damaged))
            damaged[at : at + dice.randrange(1, 9)] = dice.randbytes(dice.randrange(1, 9))
        (tmp_path / "b.rxj").write_bytes(damaged)
        with contextlib.suppress(rx.JournalError):
            rx.Journal(tmp_path / "b.rxj")


def test_no_content_of_a_block_makes_the_reader_fail_otherwise_than_in_words(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj")
    with (tmp_path / "a.rxj").open("rb") as file:
        header, *rest = list(blocks.read(file, entries.MAGIC))
    dice = random.Random(3)
    for _ in range(300):
        content = bytearray(rest[0].content)
        content[dice.randrange(40)] = dice.randrange(256)
        with (tmp_path / "b.rxj").open("wb") as file:
            for block in (header, rest[0]._replace(content=bytes(content), worker=dice.randrange(3)), *rest[1:]):
                block.write(file.fileno(), entries.MAGIC)
        assert len(rx.Journal(tmp_path / "b.rxj")) in range(1 << 20)


class Dying(rx.Reactor):
    tick, count = rx.Timer(0, "1 ms"), rx.Output(int)

    def __init__(self, how: str = "") -> None:
        self.how = how

    @rx.reaction(tick, effects=count)
    def step(self) -> None:
        if self.tag.time == 20_000_000 and self.how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.tag.time == 20_000_000 and self.how == "raises":
            raise ValueError("enough")
        self.count.set(self.tag.time)


@pytest.mark.parametrize(
    ("how", "way", "error"),
    [
        ("dies", {"workers": 1, "backend": "process"}, rx.WorkerDied),
        ("raises", {}, rx.ReactionError),
        ("raises", {"workers": 1, "backend": "process"}, rx.ReactionError),
    ],
)
def test_a_run_that_fails_leaves_all_that_it_did(
    tmp_path: Path, how: str, way: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(Dying(how), tmp_path / "a.rxj", **way)
    journal = rx.Journal(tmp_path / "a.rxj")
    assert len(journal) == 20
    assert str(journal.tag(19)) == "19 ms"
    assert journal.end is not None
    assert journal.end["failed"].startswith(("WorkerDied: worker 0", "ValueError in main.step at 20 ms", "Reaction"))


def test_what_ran_at_the_tag_of_a_failure_is_there_however_long_it_took(tmp_path: Path) -> None:
    class Counting(rx.Reactor):
        tick = rx.Timer(0, 1)

        def __init__(self, fails: bool) -> None:
            self.fails = fails

        @rx.reaction(tick)
        def step(self) -> None:
            if self.fails and self.tag.time == 200:
                raise ValueError("enough")

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.first, self.second, self.third = (Counting(fails=k == 1) for k in range(3))

    with pytest.raises(rx.ReactionError, match=r"main\.second\.step at 200 ns"):
        run(Main(), tmp_path / "a.rxj")
    journal = rx.Journal(tmp_path / "a.rxj")
    assert len(journal) == 3 * 200 + 1
    assert str(journal.tag(600)) == "200 ns"


def test_on_a_full_disk_the_run_goes_on_and_the_journal_ends() -> None:
    with pytest.warns(rx.ReactorWarning, match=r"the journal '/dev/full' ends before the run does.*No space left"):
        result = run(Pair(), "/dev/full", timeout="3 s")
    assert result.reactions == run(Pair(), timeout="3 s").reactions


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    for options, said in (
        ({"digest": "all"}, "digest of rx.run is 'all'; write \"values\", or leave it out"),
        ({"journal_states": 5}, "journal_states of rx.run is for a journal"),
        ({"journal": tmp_path / "a.rxj", "journal_states": 0}, "journal_states of rx.run is 0; write how many"),
        ({"journal": tmp_path / "no" / "a.rxj"}, "there is no folder"),
        ({"journal": tmp_path}, "which cannot be written"),
        ({"digest": "values", "machines": rx.Machines(count=2), "workers": 2}, "keeps no journal and hashes no values"),
    ):
        with pytest.raises(rx.ArgumentError, match=said):
            run(Pair(), **options)


def test_other_graphs_are_refused(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj")
    run(Dying(), tmp_path / "b.rxj")
    with pytest.raises(
        rx.JournalError, match=r"are of different graphs: only .*a\.rxj has the reactions main.sink.add"
    ):
        Comparison(rx.Journal(tmp_path / "a.rxj"), rx.Journal(tmp_path / "b.rxj"))


def test_a_shorter_run_is_no_difference(tmp_path: Path) -> None:
    run(Pair(), tmp_path / "a.rxj")
    run(Pair(), tmp_path / "b.rxj", timeout="20 ms")
    comparison = Comparison(rx.Journal(tmp_path / "a.rxj"), rx.Journal(tmp_path / "b.rxj"))
    assert comparison.divergence is None
    assert not comparison.same
    assert "b.rxj ended at 20 ms, and" in comparison.longer


class Doorbell(rx.Reactor):
    rung = rx.PhysicalAction(str)

    def __init__(self) -> None:
        self.heard: list[str] = []

    @rx.reaction(rung)
    def answer(self) -> None:
        self.heard.append(self.rung.value)


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_what_came_from_outside_is_named(tmp_path: Path, backend: Any) -> None:
    for name, visitor in (("a.rxj", "cat"), ("b.rxj", "dog")):
        clock = rx.VirtualClock()
        main = Doorbell()
        for time, who in ((1, "postman"), (2, visitor)):
            clock.at(f"{time} ms", main.rung, who)
        rx.run(main, clock=clock, timeout="5 ms", journal=tmp_path / name, backend=backend)
    comparison = Comparison(rx.Journal(tmp_path / "a.rxj"), rx.Journal(tmp_path / "b.rxj"))
    divergence = comparison.divergence
    assert divergence is not None
    assert (str(divergence.tag), divergence.path) == ("2 ms", "main.answer")
    (cause, *_) = causes(comparison, divergence)
    assert (cause.kind, cause.certain) == ("outside world", True)
    assert cause.evidence == "it read other values from outside, by main.rung"


class Keeper(rx.Reactor):
    """Keeps what is no state: a port of its own among other things, a method."""

    tick, count = rx.Timer(0, "1 ms"), rx.Output(int)

    def __init__(self) -> None:
        self.kept: list[Any] = [1, {"port": self.count, "method": self.step}]

    @rx.reaction(tick, effects=count)
    def step(self) -> None:
        self.count.set(len(self.kept))


def test_what_belongs_to_the_program_is_no_state(tmp_path: Path) -> None:
    run(Keeper(), tmp_path / "a.rxj", journal_states=1)
    states = {state for _, state in rx.Journal(tmp_path / "a.rxj").states(0)}
    assert len(states) == 1


class Alone(rx.Reactor):
    tick, out = rx.Timer(0, "1 ms"), rx.Output(int)

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    @rx.reaction(tick, effects=out)
    def go(self) -> None:
        self.out.set(self.tag.time)
        if self.fails and self.tag.time == 5_000_000:
            raise ValueError("as it should")


class Both(rx.Reactor):
    def __init__(self) -> None:
        self.one, self.two = Alone(True), Alone(False)


def test_a_run_that_fails_is_no_other_run_because_of_how_far_other_workers_came(tmp_path: Path) -> None:
    files = []
    for name, backend in (("a", "inline"), ("b", "process"), ("c", "process"), ("d", "thread")):
        files.append(tmp_path / f"{name}.rxj")
        options: dict[str, Any] = {} if backend == "inline" else {"workers": 2, "backend": backend}
        with pytest.raises(rx.ReactionError, match="as it should"):
            rx.run(Both(), fast=True, timeout="1 s", journal=files[-1], **options)
    for other in files[1:]:
        comparison = Comparison(rx.Journal(files[0]), rx.Journal(other))
        assert (comparison.divergence, comparison.longer, comparison.same) == (None, "", True)


KILLED = """
import os, signal, time
import reactors as rx

class Slow(rx.Reactor):
    tick = rx.Timer(0, "1 ms")

    @rx.reaction(tick)
    def go(self):
        if self.tag.time == 5_000_000:
            time.sleep(1.1)
        if self.tag.time == 9_000_000:
            os.kill(os.getpid(), signal.SIGKILL)

rx.run(Slow(), fast=True, timeout="1 s", journal="killed.rxj")
"""


def test_a_run_that_is_killed_has_left_what_was_a_second_old(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    journal = rx.Journal(tmp_path / "killed.rxj")
    assert [journal.tag(i).time // 1_000_000 for i in range(len(journal))] == [*range(5)]
    assert journal.end is None
