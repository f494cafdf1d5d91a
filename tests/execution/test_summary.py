"""What people read of a result, in a terminal and in a notebook."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.reports.result import ReactionStatistics, WorkerStatistics
from reactors_runtime import tables

if TYPE_CHECKING:
    import pytest


def test_the_version_is_that_of_the_package() -> None:
    assert rx.__version__ == version("reactors")


X = "\N{MULTIPLICATION SIGN}"


def result(*statistics: ReactionStatistics, **others: Any) -> rx.Result:
    """Of a run of 2 s on two workers."""
    worker = WorkerStatistics(0, 3, 1200, {"inputs": 0.5}, 7, 1.25e-6, 0.001, core=3, moves=2)
    return rx.Result(
        **{
            "digest": "5f1d",
            "tags": 3,
            "reactions": 1201,
            "wall_time": 2.0,
            "final_tag": rx.Tag(0, 2),
            "started_at": datetime(1970, 1, 1, tzinfo=UTC),
            "seed": 4,
            "backend": "thread",
            "workers": [
                worker,
                WorkerStatistics(1, 3, 1, {"inputs": 1.25, "room": 0.75}, 0, 0.0, 0.0, core=1, moves=0),
            ],
            "statistics": list(statistics),
            "program": "Farm",
            **others,
        }
    )


HEAD = """\
1,201 reactions at 3 tags in 2.000 s (600/s), 2 workers (thread), seed 4
last tag 0 s + 2 microsteps
digest 5f1d of what ran when, not of values

worker  core  moves  reactions  tags  sleeps  mean lag  max lag
     0     3      2      1,200     3       7   1.25 us  1.00 ms
     1     1      0          1     3       0       0 s      0 s

"""


def times(reactions: str, engine: str) -> str:
    """Where the time of both workers went, of which the second had none but for waiting."""
    return (
        "worker  in reactions  engine  for inputs  for room\n"
        f"     0{reactions:>14}{engine:>8}       25.0%      0.0%\n"
        "     1          0.0%    0.0%       62.5%     37.5%\n\n"
    )


def play(path: str, worker: int, count: int, seconds: float, class_name: str = "Rollout", late: int = 0) -> Any:
    return ReactionStatistics(f"{path}.play", worker, count, late, seconds, class_name)


def test_members_of_a_bank_share_a_row_that_names_the_slowest() -> None:
    found = result(
        play("main.rollouts[0]", 0, 1000, 0.5),
        play("main.rollouts[1]", 0, 100, 0.25),
        play("main.rollouts[2]", 1, 100, 0.05),
        ReactionStatistics("main.learner.learn", 0, 1, 0, 0.0123, "Learner"),
    )
    assert found.summary(width=100) == HEAD + times("38.1%", "36.9%") + (
        "reaction               worker  count    total     mean  share  slowest  member\n"
        f"main.rollouts.play {X}3    0, 1  1,200   800 ms   667 us  20.0%  2.50 ms  main.rollouts[1]\n"
        "main.learner.learn          0      1  12.3 ms  12.3 ms   0.6%"
    )


def test_nested_banks_share_one_row_and_other_classes_have_their_own() -> None:
    found = result(
        play("main.pools[0].rollouts[0]", 0, 1, 0.001),
        play("main.pools[0].rollouts[1]", 0, 1, 0.001),
        play("main.pools[1].rollouts[0]", 0, 1, 0.003),
        play("main.pools[1].rollouts[1]", 0, 1, 0.001, late=1),
        play("main.pools[2].rollouts[0]", 0, 2, 0.001, "Other"),
    )
    assert found.summary(width=120).splitlines()[-2:] == [
        (
            f"main.pools.rollouts.play {X}4          0      4  6.00 ms  1.50 ms   0.3%  3.00 ms  "
            "main.pools[1].rollouts[0]  1 late"
        ),
        "main.pools[2].rollouts[0].play       0      2  1.00 ms   500 us   0.1%",
    ]


def test_a_summary_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    found = result(*(play(f"main.training.evaluation.rollouts[{i}]", 0, 10, 0.002) for i in range(300)))
    monkeypatch.setenv("COLUMNS", "80")
    lines = found.summary().splitlines()
    assert max(map(len, lines)) == 80
    assert lines[-1] == f"…rollouts.play {X}300       0  3,000  600 ms  200 us  30.0%   200 us  …rollouts[0]"
    assert found.summary(width=200).splitlines()[-1].startswith(f"main.training.evaluation.rollouts.play {X}300  ")


def test_a_summary_has_the_most_expensive_reactions_and_says_how_many_more_there_are() -> None:
    found = result(*(play(f"main.part{i}", 0, 1, i / 1000) for i in range(15)), notes=["main.server: 3 answers"])
    lines = found.summary(2, width=100).splitlines()
    assert lines[-6:] == [
        "reaction          worker  count    total     mean  share",
        "main.part14.play       0      1  14.0 ms  14.0 ms   0.7%",
        "main.part13.play       0      1  13.0 ms  13.0 ms   0.7%",
        "and 13 more, 78.0 ms",
        "",
        "main.server: 3 answers",
    ]


def test_members_that_never_ran_have_no_slowest() -> None:
    found = result(play("main.rollouts[0]", 0, 0, 0.0), play("main.rollouts[1]", 1, 0, 0.0))
    assert found.summary(width=100).splitlines()[-1] == f"main.rollouts.play {X}2    0, 1      0    0 s   0 s   0.0%"


def test_a_notebook_shows_a_table_in_which_all_is_escaped() -> None:
    found = result(
        play("main.parts[<b>]", 1, 1000, 0.5), program="A<script>", notes=["main.server: 3 < 4"], final_tag=rx.Tag(1, 0)
    )
    cell = '<td style="text-align: right">'
    assert found._repr_html_().splitlines() == [
        (
            "<p><b>A&lt;script&gt;</b>: 1,201 reactions at 3 tags in 2.000 s (600/s), 2 workers (thread), seed 4"
            "<br>last tag 1 ns<br>digest <code>5f1d</code></p>"
        ),
        '<table><thead><tr><th style="text-align: left">reaction</th>'
        + "".join(
            f'<th style="text-align: right">{name}</th>' for name in ("worker", "count", "total", "mean", "share")
        )
        + "</tr></thead><tbody>",
        (
            '<tr><td style="text-align: left">main.parts[&lt;b&gt;].play</td>'
            f"{cell}1</td>{cell}1,000</td>{cell}500 ms</td>{cell}500 us</td>{cell}25.0%</td></tr>"
        ),
        "</tbody></table>",
        "<p>main.server: 3 &lt; 4</p>",
    ]


def test_a_run_knows_the_classes_of_its_reactors() -> None:
    class Leaf(rx.Reactor):
        @rx.reaction(rx.startup)
        def begin(self) -> None: ...

    class Tree(rx.Reactor):
        def __init__(self) -> None:
            self.leaves, self.list = rx.bank(3, Leaf), [Leaf(), Leaf()]

    found = rx.run(Tree(), fast=True)
    assert found.program == "Tree"
    assert {each.path: each.class_name for each in found.statistics} == {
        **{f"main.leaves[{i}].begin": "Leaf" for i in range(3)},
        **{f"main.list[{i}].begin": "Leaf" for i in range(2)},
    }
    names = {line.partition("  ")[0] for line in found.summary(width=100).splitlines() if line.startswith("main.")}
    assert names == {f"main.leaves.begin {X}3", f"main.list.begin {X}2"}


def test_one_reaction_at_one_tag_is_so_in_the_summary() -> None:
    class Once(rx.Reactor):
        @rx.reaction(rx.startup)
        def begin(self) -> None: ...

    result = rx.run(Once(), timeout=0)
    assert result.summary().startswith("1 reaction at 1 tag in ")


def test_what_took_long_once_stands_for_no_other_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(rx.Reactor):
        tick = rx.Timer(0, "1 ns")

        @rx.reaction(tick)
        def begin(self) -> None:
            if self.tag.time == 0:
                time.sleep(0.01)

    found = []
    seconds = tables.seconds
    monkeypatch.setattr(tables, "seconds", lambda rows: found.append(rows.copy()) or seconds(rows))
    rx.run(Slow(), timeout="300 ns", fast=True)
    ((row,),) = found
    assert row["count"] == 301
    assert row["known"] >= 1
    assert row["known_ns"] >= 10_000_000


def test_missed_deadlines_are_counted_in_the_summary() -> None:
    class Hasty(rx.Reactor):
        tick = rx.Timer(0, "1 ns")

        @rx.reaction(tick)
        def slow(self) -> None:
            time.sleep(0.001)

        @rx.reaction(tick)
        def hurry(self) -> None: ...
        @hurry.deadline("1 us")
        def late(self) -> None: ...

    result = rx.run(Hasty(), timeout="2 ns")
    assert {each.path: each.late for each in result.statistics} == {"main.slow": 0, "main.hurry": 3}
    assert "  3 late" in next(line for line in result.summary().splitlines() if "main.hurry" in line)
