"""Which parts of the contract show when an algorithm learns some rounds by hand, step by step?"""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.rl.algorithms.off_policy import OffPolicy, memory_of, sequences_of
from reactors.rl.contract.agents import MultiAgent, actions_of
from reactors.rl.contract.conformance import check_learning, check_policy, descent, errors, numbers
from reactors.rl.dataflow.agents.acting import TeamActing
from reactors.rl.dataflow.agents.experience import team_memory
from reactors.rl.dataflow.agents.rollout import AgentsRollout
from reactors.rl.encoding.state import StateError, encode
from reactors.rl.envs.checker import broken
from reactors.rl.networks.seeded import Seeded
from reactors.rl.networks.transfer import Upload
from reactors.rl.tuning.timed import played

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import torch
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm, Learning
    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.replay.buffer import ReplayBuffer

PATH = "rl.check_algorithm"
ROUNDS = 3


def by_hand(algorithm: Algorithm, make: Any, spaces: tuple[Any, Any], seed: int) -> list[str]:
    """Examine some rounds step by step; returns notes."""
    if not isinstance(algorithm, MultiAgent):
        learning, before = _made(algorithm, spaces, seed)
        with _undrawn(*_acting(algorithm)):
            rows = played(algorithm, make, spaces, seed, PATH)
        return _looked_at(algorithm, learning, before, rows, spaces, seed)
    cast: Cast = spaces[0]
    teams: list[tuple[Any, Any]] = [(team, actions_of(cast, team)) for team in algorithm.teams(cast)]
    made = [_made(algorithm, each, seed) for each in teams]
    with _undrawn(*_acting(algorithm)):
        rounds = _played(algorithm, make, cast, [before for _, before in made], seed)
    notes: list[str] = []
    for (team, actions), (learning, before), rows in zip(teams, made, rounds, strict=True):
        found = _looked_at(algorithm, learning, before, rows, (team, actions), seed)
        notes += [f"group {team.name!r}: {note}" for note in found]
    return notes


def _played(algorithm: MultiAgent, make: Any, cast: Cast, weights: list[NDArray[np.float32]], seed: int) -> list[Any]:
    """A round of each group, with these weights."""
    rollout, acting = AgentsRollout(algorithm, make, algorithm.num_envs, 0, cast), TeamActing(algorithm, cast, weights)
    rows = [np.zeros(rollout.shape, dtype) for dtype in rollout.dtypes]
    try:
        rollout.open(seed, PATH)
        acting.open(np.random.default_rng(seed), algorithm.num_envs)
        rollout.play(acting, rows, 0)
    finally:
        rollout.close()
    return rows


def _acting(algorithm: Algorithm) -> tuple[str, str]:
    return f"policy() or act() of {algorithm.name}", "draw from the generator that act() is given"


def _made(algorithm: Algorithm, spaces: tuple[Any, Any], seed: int) -> tuple[Learning, NDArray[np.float32]]:
    """A `Learning` and its initial weights, with which a policy acts once."""
    with _undrawn(f"{type(algorithm).__name__}.learning()", "make a generator from the seed that it is given"):
        learning = algorithm.learning(*spaces, seed)
    before = check_learning(algorithm, learning)
    with _undrawn(*_acting(algorithm)):
        check_policy(algorithm, *spaces, learning, before, algorithm.num_envs)
    return learning, before


def _looked_at(
    algorithm: Algorithm, learning: Learning, before: NDArray[np.float32], rows: Any, spaces: tuple[Any, Any], seed: int
) -> list[str]:
    """Examine learning from a recorded round; returns notes."""
    name = algorithm.name
    kind = type(learning).__name__
    if np.shares_memory(learning.weights(), before):
        broken(f"{kind}.weights() of {name} returns memory of its own, which the next learn() changes; return a copy")
    moved = False
    for _ in range(ROUNDS):
        for batch in _batches(algorithm, rows, spaces, seed):
            moved |= _learned(algorithm, learning, batch)
    after = learning.weights()
    for state, what in ((learning.state_dict(), kind), (algorithm.policy(*spaces).state_dict(), "the policy")):
        try:
            encode(state, f"state_dict() of {what}")
        except StateError as error:
            broken(f"{name}: {error}")
    notes = []
    if learning.flats and not moved:
        notes.append(
            f"all gradients of {kind} were 0; let the loss be of the parameters that are in its flats: a Flat is made "
            "after to(device), and zero_grad() of torch's optimizers lets go of it"
        )
    if np.array_equal(before, after):
        notes.append(
            f"weights() of {kind} are after {ROUNDS} rounds what they were before, which is right only if there was "
            "nothing to learn from"
        )
    return notes


def _batches(algorithm: Algorithm, rows: Any, spaces: tuple[Any, Any], seed: int) -> list[Mapping[str, torch.Tensor]]:
    """The batches that a learner would get from a round."""
    upload = Upload("cpu")
    if not isinstance(algorithm, OffPolicy):
        return [upload({name: np.array(rows[name]) for name in rows.dtype.names})]
    buffer = _filled(algorithm, rows, spaces)
    buffer.rng = np.random.default_rng(seed)
    try:
        if not len(buffer):
            return []
        drawn = [buffer.sample(algorithm.batch_size) for _ in range(min(2, algorithm.updates))]
        return [upload({name: np.array(part) for name, part in each.items()}) for each in drawn]
    finally:
        buffer.close()


def _filled(algorithm: OffPolicy, rows: Any, spaces: tuple[Any, Any]) -> ReplayBuffer:
    """A replay buffer with a round, repeated until it has enough rows; empty for a group that did not act twice."""
    own, cut = None, None
    if isinstance(algorithm, MultiAgent):
        buffer, own = team_memory(algorithm, rows.dtype)
    else:
        buffer, cut = memory_of(algorithm, *spaces), sequences_of(algorithm, rows.dtype, algorithm.num_envs)
    envs = np.tile(np.arange(algorithm.num_envs, dtype=np.int32), len(rows))
    tries = (
        1 if algorithm.stretch is None else algorithm.stretch[0]
    )  # one that acts has a sequence after so many rounds
    while not len(buffer):
        if own is not None:
            kept, streams = own.add(rows)
            if len(kept):
                buffer.add(kept, envs=streams)
            elif not (tries := tries - 1):
                break
        elif cut is None:
            buffer.add(rows.reshape(-1), envs=envs)
        elif len(whole := cut.add(rows)):
            buffer.add(whole)
    return buffer


def _learned(algorithm: Algorithm, learning: Learning, batch: Mapping[str, torch.Tensor]) -> bool:
    """One call of `learn`; returns whether there were gradients."""
    where = f"{type(learning).__name__}.learn() of {algorithm.name}"
    running, moved = descent(algorithm, learning, batch), False
    with Seeded(0) as seeded, _undrawn(where, "let it have a generator of its own, made from its seed"):
        while True:
            try:
                flat = next(running)
            except StopIteration as end:
                figures = end.value
                break
            if all(flat is not each for each in learning.flats):
                broken(f"{where} yielded a {type(flat).__name__} that is none of its flats; let flats have all of them")
            moved |= bool(flat.weights.grad is not None and flat.weights.grad.any())
    if seeded.drawn is not None and not learning.draws:
        broken(
            f"{where} draws by torch's {seeded.drawn}() from the generator that all threads share; let it have "
            "`draws = True`, or pass it a generator="
        )
    if isinstance(algorithm, OffPolicy) and algorithm.prioritized:
        errors(algorithm, learning, figures, algorithm.batch_size)
    numbers(algorithm, learning, figures)
    return moved


@contextmanager
def _undrawn(where: str, remedy: str) -> Iterator[None]:
    """Check that nothing inside draws from the shared generators of NumPy and Python."""
    before = repr(np.random.get_state()), random.getstate()  # noqa: NPY002 - it is the shared one that is meant
    yield
    after = repr(np.random.get_state()), random.getstate()  # noqa: NPY002
    for was, now, whose in zip(before, after, ("NumPy's np.random", "Python's random"), strict=True):
        if was != now:
            broken(f"{where} draws from {whose}, which all that runs in a process shares; {remedy}")
