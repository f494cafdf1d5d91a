"""What workers know of each other before a program runs: the least delay from any to any, whatever lies in between."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import reactors as rx
from reactors_runtime.planning.delays import between
from reactors_runtime.planning.image import Image
from reactors_runtime.planning.options import RunOptions
from reactors_runtime.program import FOREVER


class Stage(rx.Reactor):
    inp, out = rx.Input(), rx.Output()

    @rx.reaction(inp, effects=out)
    def pass_on(self) -> None: ...


class First(rx.Reactor):
    out = rx.Output()

    @rx.reaction(rx.startup, effects=out)
    def begin(self) -> None: ...


def delays(*after: int | None) -> dict[tuple[int, int], tuple[int, int]]:
    """Of a row of reactors, each on a worker of its own, with these delays between them."""
    main = rx.Reactor()
    stages: list[Any] = [First(), *(Stage() for _ in after)]
    main.stages = stages  # type: ignore[attr-defined]
    for (one, other), delay in zip(pairwise(stages), after, strict=True):
        rx.connect(one.out, other.inp, after=delay)
    placement = [0, *range(len(stages))]
    image = Image(rx.Graph(main).program, placement, len(stages), RunOptions())
    least = between(image)[0].tolist()
    return {(i, j): least[i][j] for i in range(len(stages)) for j in range(len(stages))}


@pytest.mark.parametrize(
    ("after", "least"),
    [
        ((None, None), (0, 0)),
        ((0, None), (0, 1)),
        ((0, 0), (0, 2)),
        ((0, 5), (5, 0)),  # time that passes drops the microsteps before it
        ((5, 0), (5, 1)),
        ((0, 5, 0), (5, 1)),
        ((3, 4), (7, 0)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is triggered by it, but no connection leads there:reactors.errors.ReactorWarning")
def test_delays_on_a_way_through_other_workers(after: tuple[int | None, ...], least: tuple[int, int]) -> None:
    found = delays(*after)
    last = len(after)
    assert found[0, last] == least
    assert found[last, 0] == (FOREVER, 0)
    assert found[0, 0] == (0, 0)


@pytest.mark.parametrize(("shapes", "together"), [(((2,), (2,)), True), (((2,), (3,)), False)])
def test_channels_of_one_form_lie_in_one_block_and_others_do_not(
    shapes: tuple[tuple[int, ...], ...], together: bool
) -> None:
    class Source(rx.Reactor):
        def __init__(self, shape: tuple[int, ...]) -> None:
            self.out = rx.Output(shape=shape, dtype="f4")
            self.add_reaction(rx.startup, self.go, effects=self.out)

        def go(self) -> None: ...

    class Sink(rx.Reactor):
        inp = rx.Input(width=2)

        @rx.reaction(inp)
        def hear(self) -> None: ...

    main: Any = rx.Reactor()
    main.sources, main.sink = [Source(shape) for shape in shapes], Sink()
    rx.connect([source.out for source in main.sources], main.sink.inp)
    image = Image(rx.Graph(main).program, [0] * 4, 1, RunOptions())
    assert {source.block >= 0 for source in image.sources.values()} == {together}


def test_every_column_of_a_table_is_read_in_c() -> None:
    """Both sides are built together, so a column that no line reads is nothing but a place for mistakes."""
    core = Path(__file__).parents[2] / "csrc"
    code = "\n".join(each.read_text() for folder in (core, core / "python") for each in sorted(folder.glob("*.[ch]")))
    declared = re.sub(r"/\*.*?\*/", "", (core / "api.inc").read_text(), flags=re.DOTALL)
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", declared, re.DOTALL):
        if name == "rx_span":  # which C writes as a whole, and Python reads
            continue
        fields = re.findall(r"[*\s](\w+)(?:\[\w+\])?\s*[,;]", body)
        unread = [each for each in fields if each not in {"pad", "pads"} and not re.search(rf"(->|\.){each}\b", code)]
        assert not unread, f"{name}: {unread}"


@pytest.mark.parametrize(("workers", "chain"), [(1, 10), (2, 10), (2, 5)])
def test_a_reactor_takes_at_most_two_kib_of_shared_memory(workers: int, chain: int) -> None:
    """Tables and slots together, in chains of ten, also where the second half of each is on another worker."""
    main = rx.Reactor()
    stages: list[Any] = [Stage() if i % 10 else First() for i in range(1000)]
    main.stages = stages  # type: ignore[attr-defined]
    for i, (one, other) in enumerate(pairwise(stages)):
        if (i + 1) % 10:
            rx.connect(one.out, other.inp)
    placement = [0, *(i // chain % workers for i in range(len(stages)))]
    image = Image(rx.Graph(main).program, placement, workers, RunOptions(processes=workers > 1))
    assert image.size <= 2048 * len(stages)


def test_no_two_workers_write_the_same_lines() -> None:
    """Reactors of two workers by turns: what one worker writes in each tag, the other has in no pair of lines."""
    main = rx.Reactor()
    main.stages = [First() for _ in range(40)]  # type: ignore[attr-defined]
    image = Image(rx.Graph(main).program, [0, *(i % 2 for i in range(40))], 2, RunOptions())
    sizes = {
        "digests": 8 * 21,
        "stats": 32 * 20,
        "doors": 20,
        "where": 8 * 20,
        "now": 16,
        "current": 8,
    }
    pairs = [
        {at // 128 for name, size in sizes.items() for at in range(part.offsets[name], part.offsets[name] + size)}
        for part in image.parts
    ]
    assert len(pairs[0]) >= 8
    assert not pairs[0] & pairs[1]
