"""What can `rl.train` not be asked for? An `ArgumentError` says so before anything is made."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError
from reactors.lowlevel import not_in_a_reaction
from reactors.rl.contract.agents import Company, MultiAgent
from reactors.rl.contract.algorithm import Algorithm
from reactors.rl.contract.signatures import check_signatures
from reactors.rl.serving.server import Server
from reactors.rl.synonyms import spelled

if TYPE_CHECKING:
    from reactors.rl.algorithms.off_policy import OffPolicy
    from reactors.rl.contract.algorithm import Policy
    from reactors.rl.options import SharedOptions


def check_algorithm_given(given: object, env: object, path: str) -> None:
    """Refuse a call in a reaction, what is no algorithm, and one whose methods take other arguments."""
    not_in_a_reaction(path)
    if isinstance(given, Algorithm):
        check_signatures(given, Algorithm, given.name)
        return
    if isinstance(env, Algorithm):
        raise ArgumentError(
            f"{path} takes the algorithm first and then the environment, and was given them the other way round; write "
            f"{path}(algorithm, env, ...)"
        )
    example = "rl.PPO()"
    if inspect.isclass(given) and issubclass(given, Algorithm):
        example = f"{spelled(given)}()"
    raise ArgumentError(f"{path} takes an algorithm, as in {path}({example}, ...), and was given {given!r}")


def check_options(algorithm: Algorithm, options: SharedOptions, path: str) -> None:
    """Refuse options of many agents where there is a single one, and of single agents where there are many."""
    name = algorithm.name
    if not isinstance(algorithm, MultiAgent):
        if options.opponents is not None:
            raise ArgumentError(
                f"opponents of {path} are for many agents, and {name} is for a single one; leave them out, or take "
                "rl.IPPO"
            )
        if getattr(options, "return_of", None) is not None:
            raise ArgumentError(f"return_of of {path} is for many agents, and {name} is for a single one; leave it out")
        return
    apart = "leave it out: actor and critics of a group learn on its device="
    for option, ordinary, remedy in (
        ("inference", "actors", "leave it out: an actor chooses for a group in one call"),
        ("loaders", 0, "leave them out"),
        ("learners", 1, "leave them out: each group has a learner of its own"),
        ("adapt", False, "leave it out"),
        ("actor_device", None, apart),
        ("critic_device", None, apart),
        ("exchange_every", None, apart),
    ):
        given = getattr(options, option, ordinary)
        if given != ordinary:
            said = f'{option}="{given}"' if option == "inference" else option
            raise ArgumentError(f"{said} of {path} is for single agents, and {name} is for many; {remedy}")


def check_memory(algorithm: OffPolicy, total_steps: int) -> None:
    """Refuse batches and rounds that the memory cannot hold, and a run that ends before it learns."""
    name, capacity, a_round = algorithm.name, algorithm.capacity, algorithm.horizon * algorithm.num_envs
    if algorithm.batch_size > capacity:
        raise ArgumentError(
            f"batch_size of {name} is {algorithm.batch_size}, but its memory keeps {capacity} transitions; let "
            "capacity be larger"
        )
    if a_round > capacity:
        raise ArgumentError(
            f"a round of {name} has {a_round} transitions, but its memory keeps {capacity}; let capacity be larger"
        )
    steps = max(1, total_steps // a_round) * a_round
    if algorithm.enough > steps:
        which = (
            "learning_starts" if algorithm.learning_starts > steps else "sequence" if algorithm.stretch else "n_step"
        )
        raise ArgumentError(
            f"{which} of {name} is {getattr(algorithm, which)}, but the run has {steps} steps, so that nothing "
            f"would be learned; let {which} be less, or total_steps more"
        )


def check_journal_values(given: object, mode: str) -> None:
    """Refuse a journal of values where no two runs write the same."""
    if given is not False and mode == "free":
        raise ArgumentError(
            "rl.train in free mode writes other values in each run, so nothing can be compared by journal_values; use "
            'mode="pipelined", which is deterministic'
        )


def check_view_every(every: int | None, rounds: int) -> None:
    """Refuse to show an episode every so many rounds in a run that is over before the first."""
    if every is not None and every > rounds:
        raise ArgumentError(
            f"view_every of rl.train is {every}, but the run has {rounds} rounds, so that nothing would be shown; "
            f"let it be at most {rounds}"
        )


def check_server(given: object, algorithm: Algorithm, spaces: tuple[Any, Any]) -> None:
    """Refuse one that cannot act by what will be learned."""
    remedy = f"write rl.serve(algorithm, env=...) of the same {algorithm.name} and environment"
    if given is None:
        return
    if not isinstance(given, Server):
        raise ArgumentError(f"serve of rl.train is {given!r}; {remedy}")
    policy = algorithm.policy(*spaces)
    if given.size != policy.size:
        raise ArgumentError(
            f"the server of rl.train has a policy of {given.size} weights, but {algorithm.name} learns {policy.size}; "
            f"{remedy}"
        )
    theirs, ours = (_groups(each) for each in (given.policy, policy))
    if theirs != ours:
        raise ArgumentError(
            f"the server of rl.train has the groups {theirs}, but {algorithm.name} learns {ours}; {remedy}"
        )


def _groups(policy: Policy) -> list[tuple[str, tuple[str, ...]]]:
    """The groups of many agents, and who is in them; none of a single agent."""
    return [(team.name, team.agents) for team in policy.teams] if isinstance(policy, Company) else []


def check_out(out: object, *files: object) -> None:
    """Refuse files without a folder for them."""
    if out is None and any(each is not None for each in files):
        raise ArgumentError(
            "rl.train is to leave files (checkpoint_every, video, view_every), but is given no folder; say out="
        )


def checked_journal(given: str | Path | None, folder: object) -> Path | None:
    """A path in a folder that there is, of a run that is given no `folder` of its own."""
    if given is not None and folder is not None:
        raise ArgumentError(
            f"journal of rl.train is {str(given)!r}, but the journal of a run with a folder is there; leave journal out"
        )
    if given is not None and not Path(given).parent.is_dir():
        raise ArgumentError(f"journal of rl.train is {str(given)!r}, but there is no such folder; make it")
    return None if given is None else Path(given)
