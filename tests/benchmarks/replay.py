"""Whole replay buffers: eight rows in, a prioritized batch out, its priorities back; and how they hold images.

A transition is obs, action (float32[1]), reward, next_obs, done, both observations kept. The buffer is full before
anything is timed, with priorities from 0 to 1; alpha is 0.6, beta 0.4. Updates go through 17 sets of priorities, as
cpprb spares the work of writing what is there already.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from row import OURS, Bar, Measure, Row, Sample

from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Array = npt.NDArray[Any]
ALPHA, BETA, SETS = 0.6, 0.4, 17

VECTORS = tuple(
    f"obs float32[{size}], {capacity:,} rows, batch {batch}"
    for size in (4, 17)
    for capacity in (100_000, 1_000_000)
    for batch in (256, 32)
)
IMAGES = "obs uint8[4, 84, 84], 10,000 rows: sample 256"
FRAMES = "obs uint8[4, 84, 84] kept as frames, 10,000 rows: sample 256"
INSERTS = "obs float32[4], 100,000 rows: insert 64"
LARGE = tuple(variant for variant in VECTORS if variant.endswith("256"))
SMALL = tuple(variant for variant in VECTORS if variant.endswith("32"))

row = Row(
    title="a replay buffer",
    unit="rounds/s",
    variants=(*VECTORS, IMAGES, FRAMES, INSERTS),
    work=lambda _: 1,
    bars=(
        *(Bar(OURS, peer, 5, LARGE) for peer in ("Tianshou", "cpprb", "torchrl")),
        *(Bar(OURS, peer, 3, SMALL) for peer in ("Tianshou", "cpprb", "torchrl")),
        *(Bar(OURS, peer, 2, (IMAGES,)) for peer in ("Tianshou", "cpprb", "torchrl")),
        *(Bar(OURS, peer, 2, (FRAMES,)) for peer in ("Tianshou", "cpprb")),
        *(Bar(OURS, peer, 1, (INSERTS,)) for peer in ("Tianshou", "cpprb", "torchrl")),
    ),
    note="a round is 8 rows in one call, a sample and an update, or what the variant says",
)


def size_of(variant: str) -> tuple[tuple[int, ...], str, int, int]:
    """The shape and dtype of an observation, the capacity and the batch."""
    if variant in {IMAGES, FRAMES}:
        return (4, 84, 84), "u1", 10_000, 256
    if variant == INSERTS:
        return (4,), "f4", 100_000, 64
    size, capacity, batch = _numbers(variant)
    return (size,), "f4", capacity, batch


def _numbers(variant: str) -> tuple[int, int, int]:
    size = int(variant.partition("[")[2].partition("]")[0])
    capacity = int(variant.partition("], ")[2].partition(" rows")[0].replace(",", ""))
    return size, capacity, int(variant.rpartition(" ")[2])


def rows(variant: str, n: int) -> dict[str, Array]:
    """Transitions of the shapes that the variant has."""
    rng, (shape, dtype, _, _) = np.random.default_rng(0), size_of(variant)
    whole = np.dtype(dtype).kind == "u"

    if variant == FRAMES:
        every = rng.integers(256, size=(n + 4, *shape[1:]), dtype=np.uint8)
        stacks = np.stack([every[i : i + 4] for i in range(n + 1)])
        return rows(INSERTS, n) | {"obs": stacks[:-1], "next_obs": stacks[1:]}

    def draw(*shape: int) -> Array:
        return (
            rng.integers(256, size=shape, dtype=np.uint8) if whole and len(shape) > 2 else rng.random(shape, np.float32)
        )

    return {
        "obs": draw(n, *shape),
        "act": draw(n, 1),
        "rew": draw(n),
        "next_obs": draw(n, *shape),
        "done": rng.random(n) < 0.01,
    }


def errors(n: int) -> list[Array]:
    return [np.random.default_rng(i).random(n, np.float32) for i in range(SETS)]


class Round:
    """What is timed, given the three calls of a peer."""

    def __init__(
        self, variant: str, add: Callable[[dict[str, Array]], Any], sample: Callable[[int], Any],
        update: Callable[[Any, Array], Any],
    ) -> None:  # fmt: skip
        _, _, capacity, self.batch = size_of(variant)
        piece = rows(variant, 500)
        for _ in range(capacity // 500):
            add(piece)
        if variant != INSERTS:
            for _ in range(20):  # priorities that differ
                update(sample(256), errors(256)[0])
        self.variant, self.add, self.sample, self.update = variant, add, sample, update
        self.few, self.errors = rows(variant, 64 if variant == INSERTS else 8), errors(self.batch)

    def measure(self, n: int) -> Sample:
        add, sample, update, batch, few, errors = self.add, self.sample, self.update, self.batch, self.few, self.errors

        def whole(i: int) -> None:
            add(few)
            update(sample(batch), errors[i % SETS])

        def insert(_: int) -> None:
            add(few)

        def draw(_: int) -> None:
            sample(batch)

        one = {IMAGES: draw, FRAMES: draw, INSERTS: insert}.get(self.variant, whole)

        for i in range(min(n, 20)):
            one(i)
        start = time.perf_counter()
        for i in range(n):
            one(i)
        return Sample(time.perf_counter() - start)


@row.peer(OURS)
def ours(variant: str) -> Iterator[Measure]:
    shape, dtype, capacity, _ = size_of(variant)
    fields = {
        "obs": (shape, dtype),
        "act": ((1,), "f4"),
        "rew": ((), "f4"),
        "next_obs": (shape, dtype),
        "done": ((), "?"),
    }
    stack = 4 if variant == FRAMES else None
    buffer = rl.ReplayBuffer(capacity, fields, prioritized=True, alpha=ALPHA, beta=BETA, frame_stack=stack, seed=0)
    yield Round(variant, buffer.add, buffer.sample, buffer.update_priorities).measure


@row.peer("Tianshou")
def tianshou(variant: str) -> Iterator[Measure]:
    """Several rows a call go through its vector buffer, one sub-buffer for each environment: its own way to batch."""
    from tianshou.data import Batch, PrioritizedVectorReplayBuffer

    _, _, capacity, _ = size_of(variant)
    count = {INSERTS: 64, FRAMES: 1}.get(variant, 8)
    frames: Any = {"stack_num": 4, "ignore_obs_next": True, "save_only_last_obs": True} if variant == FRAMES else {}
    buffer = PrioritizedVectorReplayBuffer(capacity, count, alpha=ALPHA, beta=BETA, **frames)
    ids = np.arange(count)

    def add(given: dict[str, Array]) -> None:
        for at in range(0, len(given["rew"]), count):
            part = {name: column[at : at + count] for name, column in given.items()}
            n = len(part["rew"])
            buffer.add(
                Batch(obs=part["obs"], act=part["act"], rew=part["rew"], obs_next=part["next_obs"],
                      terminated=part["done"], truncated=np.zeros(n, bool), info=Batch()),
                buffer_ids=ids[:n],
            )  # fmt: skip

    def sample(n: int) -> Array:
        _, indices = buffer.sample(n)
        return indices

    yield Round(variant, add, sample, buffer.update_weight).measure


@row.peer("cpprb")
def cpprb(variant: str) -> Iterator[Measure]:
    from cpprb import PrioritizedReplayBuffer

    shape, dtype, capacity, _ = size_of(variant)
    kind = np.dtype(dtype).type
    columns = {"obs": {"shape": shape, "dtype": kind}, "act": {"shape": 1}, "rew": {},
               "next_obs": {"shape": shape, "dtype": kind},
               "done": {"dtype": np.bool_}}  # fmt: skip
    frames: Any = {}
    if variant == FRAMES:
        del columns["next_obs"]
        frames = {"next_of": "obs", "stack_compress": "obs"}
    buffer = PrioritizedReplayBuffer(capacity, columns, alpha=ALPHA, **frames)

    def add(given: dict[str, Array]) -> None:
        buffer.add(**given)

    def sample(n: int) -> Array:
        indices: Array = buffer.sample(n, beta=BETA)["indexes"]
        return indices

    yield Round(variant, add, sample, buffer.update_priorities).measure


@row.peer("torchrl", variants=(*VECTORS, IMAGES, INSERTS))
def torchrl(variant: str) -> Iterator[Measure]:
    sys.setdlopenflags(os.RTLD_LAZY)  # its extension wants symbols of another torch, which its trees do not use
    import torch
    from tensordict import TensorDict
    from torchrl.data import LazyTensorStorage, PrioritizedReplayBuffer

    _, _, capacity, _ = size_of(variant)
    torch.set_num_threads(1)
    buffer: Any = PrioritizedReplayBuffer(alpha=ALPHA, beta=BETA, storage=LazyTensorStorage(capacity), batch_size=256)

    def add(given: dict[str, Array]) -> None:
        buffer.extend(TensorDict({name: torch.from_numpy(column) for name, column in given.items()}, len(given["rew"])))

    def sample(n: int) -> Any:
        return buffer.sample(n, return_info=True)[1]["index"]

    yield Round(variant, add, sample, buffer.update_priority).measure
