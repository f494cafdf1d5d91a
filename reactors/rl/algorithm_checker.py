"""Does a user's algorithm keep the contract, so that it learns the same wherever it is trained?

It learns a few rounds by hand, where each step can be examined. Then it is trained in several ways that must have the
same result.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError, ReactionError, ReactorError
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.encoding.state import CLOCK
from reactors.rl.envs.checker import broken
from reactors.rl.learned_by_hand import PATH, ROUNDS, by_hand
from reactors.rl.public import public
from reactors.rl.runs.checks import check_algorithm_given
from reactors.rl.runs.environments import environment_of
from reactors.rl.runs.train import Trained, train
from reactors.rl.tuning.timed import begun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.envs.sources import Source


@dataclass(frozen=True)
class CheckedAlgorithm:
    """What was checked: `rules` that are kept, and `notes` on what could not be checked, or may be a mistake.

    `digest` is that of the runs, which is the same for all.
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
    """Raise `AssertionError` with the rule that an algorithm breaks in `env`, an id, a spec or a function; or report.

    `rounds` is the length of each run, 4 or more: the algorithm makes the environment steps of that many rounds four
    times. The rules:

    - `policy` and `learning` return what they should. `weights` has as many numbers as the policy's `size`. `act`
      returns actions of the space, and what `remembered` declares. `rl.train` checks all of this, too.
    - `learn` is a generator that yields its `flats`, with gradients from a loss, and returns figures that are numbers.
    - Neither `act` nor `learn` draws from a shared generator: torch's, NumPy's or Python's.
    - `state_dict` of both returns what a checkpoint can hold.
    - The same seed gives the same digest: in two runs, in a run with two workers in processes of their own, to which
      everything is sent, and in a run that is resumed from a checkpoint in its middle.

    For an algorithm for many agents, in one of PettingZoo's environments, all of this holds for each group.

    >>> from reactors import rl
    >>> check_algorithm(rl.A2C(num_envs=2, horizon=4, hidden=(8,)), "CartPole-v1")
    A2C in CartPole-v1 keeps the contract of algorithms:
    - 3 rounds by hand: actions, what is remembered, gradients, figures and states are as they have to be
    - nothing is drawn from generators that others share
    - two runs of 6 rounds have the same digest, and so has one in processes
    - so has a run that goes on from a checkpoint after round 3
    """
    check_algorithm_given(algorithm, env, PATH)
    given_rounds: object = rounds
    if isinstance(given_rounds, bool) or not isinstance(given_rounds, int) or rounds < 4:
        raise ArgumentError(
            f"rounds of rl.check_algorithm is {rounds!r}; write a whole number, 4 or more: a checkpoint lies between"
        )
    make, spaces = environment_of(algorithm, env, env_kwargs or {}, PATH)
    algorithm.check(*spaces)
    algorithm = begun(algorithm)
    if isinstance(algorithm, OffPolicy):
        rounds += -(-algorithm.enough // (algorithm.horizon * algorithm.num_envs)) - 1  # before it learns
        algorithm = replace(algorithm, learning_starts=0)
    with _ruled():
        notes = by_hand(algorithm, make, spaces, seed)
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
        f"{ROUNDS} rounds by hand: actions, what is remembered, gradients, figures and states are as they have to be",
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
    """Turn errors about the contract into broken rules; exceptions of the user's own code pass unchanged."""
    try:
        yield
    except ReactorError as error:
        cause = error.__cause__ if isinstance(error, ReactionError) else error
        if not isinstance(cause, ReactorError):
            raise
        raise AssertionError(str(cause)) from error


def _compare(algorithm: Algorithm, one: Trained, other: Trained, which: str, remedy: str) -> None:
    """Refuse two runs that differ, and say where they diverge."""
    if one.digest == other.digest:
        return
    for n, (here, there) in enumerate(zip(one.journal, other.journal, strict=False), 1):
        for name in sorted({*here, *there}):
            a, b = here.get(name), there.get(name)
            if not name.startswith((*CLOCK, "eval/")) and a != b and not (a != a and b != b):  # noqa: PLR0124 - NaN
                broken(f"{algorithm.name}: {name} in round {n} is {a} in one run and {b} in {which}; {remedy}")
    broken(f"{algorithm.name}: the last weights of one run and of {which} are not the same; {remedy}")
