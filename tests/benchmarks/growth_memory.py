"""How much shared memory a reactor takes, its tables and the slots of its values, in chains of ten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from growth import LEAST, MOST, SIZES, Chains
from row import Bar, Measure, Row, Sample

import reactors as rx
from reactors_runtime.planning.image import Image
from reactors_runtime.planning.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = {"one worker": 1, "two processes, chains whole": 2, "two processes, chains cut in the middle": 2}

row = Row(
    title="growth: shared memory, a reactor",
    unit="bytes",
    variants=tuple(WORKERS),
    work=lambda _: 1,
    bars=(Bar(LEAST, 2048.0, 1), Bar(MOST, 2048.0, 1)),
    rounds=lambda _: 1,
    check_rounds=1,
)


def taken(variant: str, reactors: int) -> Iterator[Measure]:
    workers = WORKERS[variant]
    half = 5 if "cut" in variant else reactors // 2

    def measure(_: int) -> Sample:
        program = rx.Graph(Chains(reactors, native=False)).program
        placement = [0, *(i // half % workers for i in range(reactors))]
        image = Image(program, placement, workers, RunOptions(fast=True, processes=workers > 1))
        return Sample(image.size / reactors)

    yield measure


for name, size in SIZES.items():

    @row.peer(name)
    def peer(variant: str, size: int = size) -> Iterator[Measure]:
        yield from taken(variant, size)
