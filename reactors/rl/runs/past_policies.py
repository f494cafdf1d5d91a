"""Earlier policies of a run, and the opponents that its policy can be evaluated against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.checkpoints.files import going_on, latest, load
from reactors.rl.monitoring.scores import by_chance, by_policies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors.rl.contract.agents import Company
    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.monitoring.scores import Choosing
    from reactors.rl.runs.run_folder import RunFolder

    One: TypeAlias = "str | PastPolicy | Held"
    Against: TypeAlias = One | Sequence[One] | Mapping[str, One] | None


class Held(Protocol):
    """A trained policy as an opponent."""

    @property
    def weights(self) -> Any:
        """The weights of all groups."""


class PastPolicy(NamedTuple):
    """One of the pool of past policies of a run."""

    rounds: int
    """For how many rounds it had learned; 0 for the initial policy."""
    weights: NDArray[np.float32]
    """The weights of all groups."""
    elo: dict[str, float]
    """Its rating at the end, by group."""


def past_policies(opponents: Mapping[str, Any], elo: Mapping[str, Any]) -> tuple[PastPolicy, ...]:
    """The pool, oldest first, from the states of an actor's opponents and of `Elo`."""
    pools = [{each["rounds"]: each["weights"] for each in pool["kept"]} for pool in opponents["pools"]]
    rounds = [each for each in opponents["pools"][0]["rounds"] if all(each in pool for pool in pools)]
    rated = elo["rated"]
    return tuple(
        PastPolicy(
            each,
            np.concatenate([pool[each] for pool in pools]),
            {name: float(of["past"].get(each, of["learner"])) for name, of in rated.items()},
        )
        for each in rounds
    )


def past_in(run: RunFolder) -> tuple[PastPolicy, ...]:
    """The pool of a run's last checkpoint, or of the given one; empty if there were no opponents."""
    if run.config.get("opponents") is None or latest(run.checkpoints) is None:
        return ()
    saved = load(run.at or run.path)
    with going_on(saved.path, "its past policies"):
        return past_policies(saved.states["actors[0]"]["opponents"], saved.states["elo"])


def choosing(
    algorithm: Algorithm, company: Company, past: Sequence[PastPolicy], given: Against
) -> dict[str, list[Choosing]]:
    """How the given opponents of a company choose, by name. Raises `ArgumentError` for anything that is no opponent."""
    found: dict[str, list[Choosing]] = {}
    a_round = algorithm.horizon * algorithm.num_envs
    for name, each in _named(past, given):
        if isinstance(each, str):
            found[name] = by_chance(company.cast, company.teams)
            continue
        weights = each.weights
        if weights.shape != (company.size,):
            raise ArgumentError(
                f"{name} has {len(weights):,} weights, and the policy that plays against it {company.size:,}; "
                "give one of the same algorithm and environment"
            )
        rounds = each.rounds if isinstance(each, PastPolicy) else 1 << 31  # long enough for exploration to have ended
        found[name] = by_policies(_with(algorithm, company, weights), rounds * a_round)
    return found


def _named(past: Sequence[PastPolicy], given: Any) -> list[tuple[str, Any]]:
    """The given opponents, each with a name of its own; "past" stands for the whole pool."""
    if given is None:
        given = ["random", "past"] if past else ["random"]
    if isinstance(given, str) or hasattr(given, "weights"):
        given = [given]
    pairs = given.items() if isinstance(given, Mapping) else ((f"policy {i}", each) for i, each in enumerate(given, 1))
    found: list[tuple[str, Any]] = []
    for name, each in pairs:
        if isinstance(each, str) and each == "past":
            if not past:
                raise ArgumentError(
                    "there are no past policies here: train with opponents=rl.Past(), and out= to keep them"
                )
            found += [(f"round {one.rounds}", one) for one in past]
        elif isinstance(each, PastPolicy):
            found.append((f"round {each.rounds}", each))
        elif isinstance(each, str) and each == "random":
            found.append((each, each))
        elif hasattr(each, "weights"):
            found.append((str(name), each))
        else:
            raise ArgumentError(f'{each!r} is no opponent; give "random", "past", one of .past, or what rl.load gives')
    return found


def _with(algorithm: Algorithm, company: Company, weights: NDArray[np.float32]) -> Company:
    cast: Any = company.cast
    found: Any = algorithm.policy(cast, cast.actions)
    found.load(weights)
    return found  # type: ignore[no-any-return]
