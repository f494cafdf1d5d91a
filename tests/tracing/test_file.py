"""The file of a trace is good up to where it was cut off, and nothing in it can do harm."""

from __future__ import annotations

import io
import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reactors as rx
from reactors.tracing import blocks
from reactors.tracing.blocks import BlockKind, FileBlock
from reactors.tracing.columns import UnreadableError, unpack
from reactors.tracing.trace import FORMAT, Trace
from reactors_runtime import tables
from reactors_runtime._core import lib

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def spans(count: int, seed: int = 0) -> NDArray[Any]:
    """Some, with the largest and the smallest numbers among them."""
    rng = np.random.default_rng(seed)
    made = np.zeros(count, tables.SPAN)
    made["kind"] = rng.integers(0, lib.RX_WAITED_END + 1, count)
    made["reaction"] = rng.choice([0, 5, 70_000, lib.RX_NONE], count)
    made["tag"]["time"] = np.sort(rng.integers(-1, 1 << 62, count))
    made["tag"]["microstep"] = rng.choice([0, 1, 1 << 40], count)
    made["start"] = np.sort(rng.integers(-(1 << 40), 1 << 62, count))
    made["end"] = made["start"] + rng.integers(0, 1 << 40, count)
    for name in ("reads", "writes", "queued"):
        made[name] = rng.choice(np.array([0, 1, 1 << 63, (1 << 64) - 1], np.uint64), count)
    return made


def folded(signed: NDArray[Any]) -> NDArray[np.uint64]:
    """Small numbers of either sign as small ones without."""
    return ((signed << 1) ^ (signed >> 63)).view(np.uint64)


def pack(made: NDArray[Any], names: tuple[str, ...] = ()) -> bytes:
    """As csrc/drain.c does."""
    time, start, end = made["tag"]["time"], made["start"], made["end"]
    columns, widths = b"", []
    for column in (
        made["kind"], made["reaction"] + np.uint32(1), folded(np.diff(time, prepend=0)), made["tag"]["microstep"],
        folded(start - np.concatenate(([0], end[:-1]))) if len(made) else start, folded(end - start),
        made["reads"], made["writes"], made["queued"],
    ):  # fmt: skip
        most = int(column.max(initial=0))
        width = next(w for w in (0, 1, 2, 4, 8) if most < 1 << 8 * w)
        columns += column.astype(f"<u{width}").tobytes() if width else b""
        widths.append(width)
    text = b"".join(name.encode() + b"\0" for name in names)
    return struct.pack("<II9B3x", len(made), len(text), *widths) + columns + text


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_what_is_packed_is_unpacked(count: int) -> None:
    made = spans(count)
    found, names = unpack(pack(made))
    assert (found == made).all()
    assert names == []


def test_names_of_what_was_noted_come_beside() -> None:
    made, longest = spans(6), "é" * (lib.RX_NAME_BYTES // 2)
    found, names = unpack(pack(made, ("loss", longest)))
    assert (found == made).all()
    assert names == ["loss", longest]


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(UnreadableError):
        unpack(content)


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_byte_that_was_changed_does_no_harm(place: int, byte: int) -> None:
    content = bytearray(pack(spans(50)))
    content[place % len(content)] = byte
    try:
        found, _ = unpack(bytes(content))
    except UnreadableError:
        return
    assert found.dtype == tables.SPAN


def written(*some: FileBlock) -> bytes:
    """As a file has them."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as out:
        for block in some:
            block.write(writing)
        os.close(writing)
        return out.read()


THREE = (
    FileBlock.of_json(BlockKind.HEADER, {"a": 1}),
    FileBlock(BlockKind.SPANS, 3, pack(spans(20))),
    FileBlock.of_json(BlockKind.END, {"b": [2]}),
)


def test_blocks_are_read_as_they_were_written() -> None:
    assert [*blocks.read(io.BytesIO(written(*THREE)))] == [*THREE]
    assert THREE[0].json == {"a": 1}


def test_a_file_that_was_cut_off_anywhere_is_good_up_to_there() -> None:
    whole = written(*THREE)
    ends = [len(written(*THREE[:n])) for n in range(4)]
    for size in range(len(whole)):
        found = [*blocks.read(io.BytesIO(whole[:size]))]
        assert found == [*THREE[: sum(end <= size for end in ends) - 1]]


@given(st.integers(0, 10**6), st.integers(1, 255))
def test_nothing_is_read_behind_a_byte_that_was_changed(place: int, change: int) -> None:
    whole = bytearray(written(*THREE))
    place %= len(whole)
    whole[place] ^= change
    found = [*blocks.read(io.BytesIO(bytes(whole)))]
    whole_before = sum(len(written(*THREE[: n + 1])) <= place for n in range(3))
    assert found == [*THREE[:whole_before]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is no trace that this version can read"),
        (b"something else altogether, and longer", "is no trace that this version can read"),
        (
            written(FileBlock.of_json(BlockKind.HEADER, {"format": "reactors trace 99"})),
            "is no trace that this version can read",
        ),
        (written(FileBlock(BlockKind.HEADER, 0, b"x")), "its header cannot be read"),
        (written(FileBlock.of_json(BlockKind.HEADER, {"format": FORMAT})), "its header lacks 'reactions'"),
    ],
)
def test_what_is_no_trace_is_refused_by_name(content: bytes, words: str, tmp_path: Path) -> None:
    file = tmp_path / "run.rxt"
    file.write_bytes(content)
    with pytest.raises(rx.TraceError, match=words) as caught:
        Trace(file)
    assert str(file) in str(caught.value)


def test_a_trace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rx.TraceError, match="No such file"):
        Trace(tmp_path / "none.rxt")
