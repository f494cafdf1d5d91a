"""Which batch size, and which fan-out of the tree of priorities, suits the machine?

Both change what is learned, or how it is rounded, so they are measured only where they are asked for.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.algorithms.off_policy import OffPolicy, memory_of, sequences_of
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.dataflow.agents.experience import team_memory
from reactors.rl.runs.checks import check_memory
from reactors.rl.tuning.candidates import TIE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.options import TuningOptions
    from reactors.rl.replay.buffer import ReplayBuffer


def with_size(algorithm: Any, **size: int) -> Any:
    """The same algorithm with another `batch_size` or `fanout`."""
    return replace(algorithm, **size)


def check_sizes(algorithm: Algorithm, given: TuningOptions) -> None:
    """Refuse sizes of what there is not, and those that cannot be trained with."""
    for name in ("batch_sizes", "fanouts"):
        if getattr(given, name) and not isinstance(algorithm, OffPolicy):
            raise ArgumentError(
                f"{name} of rl.tune are of algorithms with replay, and {algorithm.name} has none; leave them out"
            )
    if given.fanouts and not algorithm.prioritized:  # type: ignore[attr-defined]
        raise ArgumentError(
            f"fanouts of rl.tune are of the tree of priorities, and {algorithm.name} has none; write prioritized=True"
        )
    for size in given.batch_sizes:
        sized = with_size(algorithm, batch_size=size)
        sized.part(1)
        check_memory(sized, sized.enough + sized.horizon * sized.num_envs)


def fastest(rates: Mapping[int, float]) -> int:
    """The one with the highest rate; of those hardly slower than it, the least.

    >>> fastest({64: 100.0, 128: 180.0, 256: 183.0})
    128
    """
    highest = max(rates.values())
    return min(each for each, rate in rates.items() if rate >= (1 - TIE) * highest)


def draws_a_second(algorithm: OffPolicy, spaces: tuple[Any, Any], recorded: Any, seconds: float) -> float:
    """Batches that are drawn from a full memory, with their new priorities, by one thread.

    It is filled with a round that was `recorded`; of many agents, with that of the first group.
    """
    rng, n = np.random.default_rng(0), algorithm.batch_size
    buffer, kept = _memory(algorithm, spaces, recorded)
    with buffer:
        buffer.rng = rng
        a_round = algorithm.horizon * algorithm.num_envs
        for _ in range(-(-algorithm.capacity // a_round)):
            rows, streams = kept()
            if len(rows):
                buffer.add(rows, envs=streams)
        errors = rng.random((16, n), np.float32)
        count, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds or not count:
            for each in errors:
                buffer.update_priorities(buffer.sample(n), each)
            count += len(errors)
    return count / spent


def _memory(
    algorithm: OffPolicy, spaces: tuple[Any, Any], recorded: Any
) -> tuple[ReplayBuffer, Callable[[], tuple[NDArray[Any], NDArray[np.int32] | None]]]:
    """What the algorithm keeps experience in, and what it keeps of a round each time that it comes, by streams."""
    if isinstance(algorithm, MultiAgent):
        first = recorded[0]
        memory, own_steps = team_memory(algorithm, first.dtype)
        return memory, lambda: own_steps.add(first)
    rows, envs = recorded.reshape(-1), np.tile(np.arange(algorithm.num_envs, dtype=np.int32), len(recorded))
    cut = sequences_of(algorithm, recorded.dtype, algorithm.num_envs)
    return memory_of(algorithm, *spaces), lambda: (rows, envs) if cut is None else (cut.add(recorded), None)
