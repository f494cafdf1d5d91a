"""Does an algorithm of one's own keep the contract, so that what it learns is the same wherever it is trained?

It learns a few rounds by hand, where each step can be looked at, and is then trained in several ways that have to come
to the same.
"""

from __future__ import annotations

import random
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError, ReactionError, ReactorError
from reactors.rl.algorithms.off_policy import OffPolicy, memory_of, sequences_of
from reactors.rl.contract.conformance import check_learning, check_policy, descent, errors, numbers
from reactors.rl.encoding.state import CLOCK, StateError, encode
from reactors.rl.envs.checker import broken
from reactors.rl.envs.sources import Source, maker, spaces_of
from reactors.rl.networks.seeded import Seeded
from reactors.rl.networks.transfer import Upload
from reactors.rl.public import public
from reactors.rl.runs.checks import check_algorithm_given
from reactors.rl.runs.train import Trained, train
from reactors.rl.tuning.timed import begun, played

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import torch

    from reactors.rl.contract.algorithm import Algorithm, Learning

_BY_HAND = 3  # rounds


@dataclass(frozen=True)
class CheckedAlgorithm:
    """What was checked: `rules` that are kept, and `notes` of what could not be looked at, or may be an oversight.

    `digest` is that of the runs, which all have the same.
    """

    name: str
    digest: str
    rules: tuple[str, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [f"{self.name} keeps the contract of algorithms:", *(f"- {rule}" for rule in self.rules)]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@public("rl.check_algorithm")
def check_algorithm(
    algorithm: Algorithm,
    env: Source,
    *,
    rounds: int = 6,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
) -> CheckedAlgorithm:
    """Raise `AssertionError` with the rule that an algorithm breaks in `env`, an id, a spec or a function; or say so.

    `rounds` are those of each run, 4 or more: as many environment steps as the algorithm has in so many rounds, four
    times. The rules:

    - `policy` and `learning` return what they should, `weights` as many numbers as `size` of the policy says; `act`
      returns actions of the space, and what `remembered` declares. `rl.train` looks at all that, too.
    - `learn` is a generator that yields its `flats`, whose gradients come from a loss, and returns figures that are
      numbers.
    - Neither `act` nor `learn` draws from a generator that others share: torch's, NumPy's or Python's.
    - `state_dict` of both holds what a checkpoint can.
    - The same seed gives the same digest: in two runs, on two workers in processes of their own, to which all of it
      travels, and in a run that goes on from a checkpoint in its middle.

    >>> from reactors import rl
    >>> check_algorithm(rl.A2C(num_envs=2, horizon=4, hidden=(8,)), "CartPole-v1")
    A2C in CartPole-v1 keeps the contract of algorithms:
    - 3 rounds by hand: actions, what is remembered, gradients, figures and states are as they have to be
    - nothing is drawn from generators that others share
    - two runs of 6 rounds have the same digest, and so has one in processes
    - so has a run that goes on from a checkpoint after round 3
    """
    check_algorithm_given(algorithm, env, "rl.check_algorithm")
    given_rounds: object = rounds
    if isinstance(given_rounds, bool) or not isinstance(given_rounds, int) or rounds < 4:
        raise ArgumentError(
            f"rounds of rl.check_algorithm is {rounds!r}; write a whole number, 4 or more: a checkpoint lies between"
        )
    make = maker(env, env_kwargs or {}, "rl.check_algorithm")
    spaces = spaces_of(make, "rl.check_algorithm")
    algorithm.check(*spaces)
    algorithm = begun(algorithm)
    if isinstance(algorithm, OffPolicy):
        rounds += -(-algorithm.enough // (algorithm.horizon * algorithm.num_envs)) - 1  # before it learns
        algorithm = replace(algorithm, learning_starts=0)
    with _ruled():
        notes = _by_hand(algorithm, make, spaces, seed)
    given: dict[str, Any] = {
        "total_steps": rounds * algorithm.horizon * algorithm.num_envs, "seed": seed, "env_kwargs": env_kwargs,
        "actors": 1 if algorithm.num_envs % 2 else 2,
    }  # fmt: skip
    half = rounds // 2
    with tempfile.TemporaryDirectory() as folder, _ruled():
        whole = train(algorithm, env, **given, out=Path(folder) / "whole", checkpoint_every=half)
        _compare(algorithm, whole, train(algorithm, env, **given), "another with the same seed", _DRAWS)
        processes = train(algorithm, env, **given, workers=2, backend="process")
        _compare(algorithm, whole, processes, "one in worker processes", _PROCESSES)
        middle = min((Path(folder) / "whole" / "checkpoints").iterdir())
        resumed = train(algorithm, env, **given, out=Path(folder) / "resumed", resume=middle)
        if resumed.notes:
            notes.append(f"runs that go on were not compared: {'; '.join(resumed.notes)}")
        else:
            _compare(algorithm, whole, resumed, f"one that went on from a checkpoint after round {half}", _STATE)
    rules = [
        f"{_BY_HAND} rounds by hand: actions, what is remembered, gradients, figures and states are as they have to be",
        "nothing is drawn from generators that others share",
        f"two runs of {rounds} rounds have the same digest, and so has one in processes",
    ]
    if not resumed.notes:
        rules.append(f"so has a run that goes on from a checkpoint after round {half}")
    return CheckedAlgorithm(f"{algorithm.name} in {whole.config['env']}", whole.digest, tuple(rules), tuple(notes))


_DRAWS = (
    "draw random numbers from the generator that act() is given and from ones of the learning's own, made from its "
    "seed, and compute nothing from times, id() or the order of a set"
)
_PROCESSES = f"{_DRAWS}, nor from globals that only one process has"
_STATE = "let state_dict() of the learning and of the policy have all that the next learn() and act() depend on"


@contextmanager
def _ruled() -> Iterator[None]:
    """What the contract says is a rule; what the user's own code raises comes out as it is."""
    try:
        yield
    except ReactorError as error:
        cause = error.__cause__ if isinstance(error, ReactionError) else error
        if not isinstance(cause, ReactorError):
            raise
        raise AssertionError(str(cause)) from error


# ---- by hand ----


def _by_hand(algorithm: Algorithm, make: Any, spaces: tuple[Any, Any], seed: int) -> list[str]:
    """Some rounds, looked at step by step; what is to be noted."""
    name = algorithm.name
    with _undrawn(f"{type(algorithm).__name__}.learning()", "make a generator from the seed that it is given"):
        learning = algorithm.learning(*spaces, seed)
    before = check_learning(algorithm, learning)
    with _undrawn(f"policy() or act() of {name}", "draw from the generator that act() is given"):
        check_policy(algorithm, *spaces, learning, before, algorithm.num_envs)
        rows = played(algorithm, make, spaces, seed, "rl.check_algorithm")
    kind = type(learning).__name__
    if np.shares_memory(learning.weights(), before):
        broken(f"{kind}.weights() of {name} returns memory of its own, which the next learn() changes; return a copy")
    moved = False
    for _ in range(_BY_HAND):
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
            f"weights() of {kind} are after {_BY_HAND} rounds what they were before, which is right only if there was "
            "nothing to learn from"
        )
    return notes


def _batches(algorithm: Algorithm, rows: Any, spaces: tuple[Any, Any], seed: int) -> list[Mapping[str, torch.Tensor]]:
    """What a learner would get of a round."""
    upload = Upload("cpu")
    if not isinstance(algorithm, OffPolicy):
        return [upload({name: np.array(rows[name]) for name in rows.dtype.names})]
    buffer = memory_of(algorithm, *spaces)
    buffer.rng = np.random.default_rng(seed)
    envs = np.tile(np.arange(algorithm.num_envs, dtype=np.int32), len(rows))
    try:
        cut = sequences_of(algorithm, rows.dtype, algorithm.num_envs)
        while not len(buffer):
            if cut is None:
                buffer.add(rows.reshape(-1), envs=envs)
            elif len(whole := cut.add(rows)):
                buffer.add(whole)
        drawn = [buffer.sample(algorithm.batch_size) for _ in range(min(2, algorithm.updates))]
        return [upload({name: np.array(part) for name, part in each.items()}) for each in drawn]
    finally:
        buffer.close()


def _learned(algorithm: Algorithm, learning: Learning, batch: Mapping[str, torch.Tensor]) -> bool:
    """One call of `learn`; whether there were gradients."""
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
    """Nothing inside draws from the generators of NumPy and Python that all share."""
    before = repr(np.random.get_state()), random.getstate()  # noqa: NPY002 - it is the shared one that is meant
    yield
    after = repr(np.random.get_state()), random.getstate()  # noqa: NPY002
    for was, now, whose in zip(before, after, ("NumPy's np.random", "Python's random"), strict=True):
        if was != now:
            broken(f"{where} draws from {whose}, which all that runs in a process shares; {remedy}")


# ---- in runs ----


def _compare(algorithm: Algorithm, one: Trained, other: Trained, which: str, remedy: str) -> None:
    """Refuse two runs that are not the same, and say where they part."""
    if one.digest == other.digest:
        return
    for n, (here, there) in enumerate(zip(one.journal, other.journal, strict=False), 1):
        for name in sorted({*here, *there}):
            a, b = here.get(name), there.get(name)
            if not name.startswith((*CLOCK, "eval/")) and a != b and not (a != a and b != b):  # noqa: PLR0124 - NaN
                broken(f"{algorithm.name}: {name} in round {n} is {a} in one run and {b} in {which}; {remedy}")
    broken(f"{algorithm.name}: the last weights of one run and of {which} are not the same; {remedy}")
