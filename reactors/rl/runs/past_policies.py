"""Earlier policies of a run, and the opponents that its policy can be evaluated against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.checkpoints.files import going_on, latest, load
from reactors.rl.contract.agents import Company
from reactors.rl.envs.agents.cast import some
from reactors.rl.monitoring.scores import by_chance, by_policies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.envs.agents.cast import Cast
    from reactors.rl.monitoring.scores import Choosing
    from reactors.rl.runs.run_folder import RunFolder

    One: TypeAlias = "str | PastPolicy | Held"
    Against: TypeAlias = One | Sequence[One] | Mapping[str, One] | None

TRAINED = 1 << 62
"""Environment steps after which all exploration has ended."""


class Held(Protocol):
    """The trained policy of another run as an opponent."""

    @property
    def policy(self) -> Any:
        """The policy of all groups, as its own algorithm has made it."""


@dataclass(frozen=True, eq=False)
class PastPolicy:
    """One of the pool of past policies of a run."""

    rounds: int
    """For how many rounds it had learned; 0 for the initial policy."""
    steps: int
    """How many environment steps had been made by then."""
    weights: NDArray[np.float32] = field(repr=False)
    """The weights of all groups."""
    elo: dict[str, float]
    """Its rating at the end, by group."""
    policy: Company = field(repr=False)
    """The policy of all groups, with these weights."""


def past_policies(
    algorithm: Algorithm, spaces: tuple[Any, Any], opponents: Mapping[str, Any], elo: Mapping[str, Any]
) -> tuple[PastPolicy, ...]:
    """The pool, oldest first, from the states of an actor's opponents and of `Elo`."""
    pools = [{each["rounds"]: each["weights"] for each in pool["kept"]} for pool in opponents["pools"]]
    found = []
    for rounds in opponents["pools"][0]["rounds"]:
        if all(rounds in pool for pool in pools):
            weights = np.concatenate([pool[rounds] for pool in pools])
            ratings = {name: float(of["past"].get(rounds, of["learner"])) for name, of in elo["rated"].items()}
            policy = cast("Company", algorithm.policy(*spaces))
            policy.load(weights)
            found.append(PastPolicy(rounds, rounds * algorithm.horizon * algorithm.num_envs, weights, ratings, policy))
    return tuple(found)


def past_in(run: RunFolder) -> tuple[PastPolicy, ...]:
    """The pool of a run's last checkpoint, or of the given one; empty if there were no opponents."""
    if run.config.get("opponents") is None or latest(run.checkpoints) is None:
        return ()
    saved = load(run.at or run.path)
    with going_on(saved.path, "its past policies"):
        return past_policies(run.algorithm, run.spaces, saved.states["actors[0]"]["opponents"], saved.states["elo"])


def choosing(company: Company, past: Sequence[PastPolicy], given: Against, whose: str) -> dict[str, list[Choosing]]:
    """How the given opponents of a company choose, by name; `whose` past policies those are, is for messages.

    Raises `ArgumentError` for anything that is no opponent.
    """
    found: dict[str, list[Choosing]] = {}
    for name, each in _named(past, given, whose).items():
        if isinstance(each, str):
            found[name] = by_chance(company.cast, company.teams)
        else:
            _check_same_game(f"{name}, {each!r},", each.policy.cast, company.cast)
            found[name] = by_policies(each.policy, each.steps if isinstance(each, PastPolicy) else TRAINED)
    return found


def _named(past: Sequence[PastPolicy], given: Any, whose: str) -> dict[str, Any]:
    """The given opponents, each with a name of its own; "past" stands for the whole pool."""
    if given is None:
        given = ["random", "past"] if past else ["random"]
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        given = [given]
    said = isinstance(given, Mapping)
    pairs = given.items() if said else ((f"policy {i}", each) for i, each in enumerate(given, 1))
    found: dict[str, Any] = {}
    for name, each in pairs:
        if isinstance(each, str) and each == "past":
            if not past:
                raise ArgumentError(
                    f"{whose} has no past policies: a run has them, and keeps them in its folder, if it is trained "
                    'by rl.train(..., opponents="past")'
                )
            ones: dict[str, Any] = {f"round {one.rounds}": one for one in past}
        elif isinstance(each, str) and each == "random":
            ones = {"random": "random"}
        elif isinstance(each, PastPolicy):
            ones = {str(name) if said else f"round {each.rounds}": each}
        elif isinstance(getattr(each, "policy", None), Company):
            ones = {str(name): each}
        else:
            raise ArgumentError(
                f'{each!r} is no opponent; give "random", "past", one of .past, or a policy of many agents, as '
                "rl.train and rl.load give it"
            )
        for own, one in ones.items():
            if found.setdefault(own, one) is not one:
                raise ArgumentError(f"two opponents are named {own!r}; give names of your own, in a dict")
    return found


def _check_same_game(who: str, theirs: Cast, ours: Cast) -> None:
    """Refuse an opponent that would not understand what an agent sees here, or would do what it cannot do."""
    remedy = "give a run that was trained in an environment with the same agents and spaces"
    places = {agent: i for i, agent in enumerate(theirs.agents)}
    for here, agent in enumerate(ours.agents):
        if agent not in places:
            raise ArgumentError(f"{who} does not know {agent!r}, only {some([*map(str, theirs.agents)])}; {remedy}")
        there = places[agent]
        for what, trained, now in (
            ("observations", theirs.observations, ours.observations), ("actions", theirs.actions, ours.actions),
        ):  # fmt: skip
            if trained[there] != now[here]:
                raise ArgumentError(
                    f"{who} was trained where {what} of {agent!r} are {trained[there]}, and here they are {now[here]}; "
                    f"{remedy}"
                )
    if ours.masked and not theirs.masked:
        raise ArgumentError(f"{who} was trained without action masks, and here are some; {remedy}")
