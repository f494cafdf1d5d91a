"""Which use of the machine is best for an algorithm in an environment?

This is PAL's exploration of the design space (arXiv 2110.01101): it measures actors alone and learners alone, and then
the most promising combinations, with the wanted number of updates for each environment step.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.dataflow.agents.program import check_opponents
from reactors.rl.dataflow.program import Training, placement, worker_of
from reactors.rl.learning.learners import Learners, several
from reactors.rl.learning.loader import check_loaders
from reactors.rl.opponents import Past
from reactors.rl.options import Options, TuningOptions, taking
from reactors.rl.public import public
from reactors.rl.runs.checks import check_algorithm_given, check_memory, check_options
from reactors.rl.runs.environments import environment_of
from reactors.rl.tuning.candidates import TIE, Candidate, best, candidates, shortlist
from reactors.rl.tuning.sizes import check_sizes, draws_a_second, fastest, with_size
from reactors.rl.tuning.timed import OF_ONE, begun
from reactors.rl.tuning.timed_agents import OF_MANY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.envs.sources import Source
    from reactors.rl.options import Mode

MOST = 64  # the maximum number of workers of a program


@dataclass(frozen=True)
class Tuned:
    """What was measured, and the best choice.

    `acting` has environment steps per second by number of actors, measured alone. `learning` has updates per second by
    number of learners, measured alone; for an on-policy algorithm, these are environment steps learned from, and
    `ratio`, the updates per step, is 1. `together` has candidates and their measured steps per second, of which
    `choice` is the best.
    """

    algorithm: Algorithm
    env: Source
    ratio: float
    cores: int
    lag: int | None
    acting: Mapping[int, float]
    learning: Mapping[int, float]
    together: Sequence[tuple[Candidate, float]]
    predicted: int
    """Number of all candidates; those with a lower prediction were not measured."""
    choice: Candidate
    rate: float
    """Environment steps per second of the choice."""
    frames: Mapping[int, float] = field(default_factory=dict)
    """Transitions that one learner learns from per second, by batch size, if `batch_sizes` were given. `algorithm`
    has the fastest one."""
    draws: Mapping[int, float] = field(default_factory=dict)
    """Batches drawn per second, each with a priority update, by fan-out, if `fanouts` were given. `algorithm` has
    the fastest one."""
    groups: int | None = None
    """With many agents: how many groups have a learner each. The keys of `learning`, and `learners` of candidates,
    are then the numbers of workers that these learners run on."""

    @property
    def options(self) -> dict[str, Any]:
        """The options for `rl.train`."""
        names = ("workers", "actors", "learners", "mode") if self.groups is None else ("workers", "actors", "mode")
        found = {name: getattr(self.choice, name) for name in names}
        return found if self.lag is None else {**found, "lag": 1 if self.choice.mode == "sync" else self.lag}

    def plain(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold."""
        return {
            "options": self.options, "rate": self.rate, "ratio": self.ratio, "cores": self.cores,
            "acting": self.acting, "learning": self.learning, "predicted": self.predicted, "frames": self.frames,
            "draws": self.draws,
            "together": [{**asdict(each), "measured": rate} for each, rate in self.together],
        }  # fmt: skip

    def tables(self) -> str:
        """Tables of actors alone, learners alone, and both together."""
        replays = isinstance(self.algorithm, OffPolicy)
        several = self.groups not in {None, 1}
        whose = f"workers of {self.groups} learners" if several else "learners alone"
        learning = (whose, "updates/s", "enough for steps/s") if replays else (whose, "steps/s")
        who = "that learn" if several else "learners"
        sizes = (("batch size", "frames/s", self.frames), ("fan-out", "batches/s", self.draws))
        return "\n\n".join(
            [
                *(_table((name, unit), [(str(n), _whole(x)) for n, x in by.items()]) for name, unit, by in sizes if by),
                _table(("actors alone", "steps/s"), [(str(n), _whole(rate)) for n, rate in self.acting.items()]),
                _table(
                    learning,
                    [
                        (str(m), _whole(rate), _whole(rate / self.ratio))[: len(learning)]
                        for m, rate in self.learning.items()
                    ],
                ),
                _table(
                    ("together", "workers", "actors", who, "predicted steps/s", "measured steps/s"),
                    [
                        (each.mode, str(each.workers), str(each.actors), str(each.learners), _whole(each.predicted),
                         _whole(rate))
                        for each, rate in self.together
                    ],
                ),
            ]
        )  # fmt: skip

    def sentence(self) -> str:
        """The choice, and the reason for it."""
        choice = self.choice
        acting, enough = self.acting[choice.actors], self.learning[choice.learners] / self.ratio
        slower = "learning" if enough < acting else "acting"
        updates = f" and {self.rate * self.ratio:,.0f} updates" if isinstance(self.algorithm, OffPolicy) else ""
        fastest = self.rate == max(rate for _, rate in self.together)
        picked = "the fastest" if fastest else f"the simplest that is within {TIE:.0%} of the fastest"
        return (
            f"{choice.mode} on {_count(choice.workers, 'worker')} with {_count(choice.actors, 'actor')} and "
            f"{_learners(choice.learners, self.groups)}: {self.rate:,.0f} steps{updates} a second, {picked} of "
            f"{len(self.together)} measured and {self.predicted} predicted; {slower} takes most of the time"
        )


@public("rl.tune")
@dataclass(frozen=True)
class TuneCall(TuningOptions):
    """The arguments of `rl.tune`."""

    algorithm: Algorithm
    env: Source

    def __post_init__(self) -> None:
        check_algorithm_given(self.algorithm, self.env, "rl.tune")
        super().__post_init__()
        check_options(self.algorithm, self, "rl.tune")


@taking(TuneCall)
def tune(given: TuneCall) -> Tuned:
    """Measure `algorithm` in `env`, and choose the numbers of actors, learners and workers, and the mode.

    First, actors are measured alone, in all numbers that divide the environments evenly; then learners alone, in all
    numbers that divide a batch evenly. Both go up to `cores`, by default all that this process may use. From these
    rates the speed of each combination is predicted, and the `few` fastest are measured. Each measurement takes
    `seconds`, or some rounds if these take longer, plus the start of its workers. Without a `mode`, only sync and
    pipelined are tried, in which a seed always gives the same result; free has to be asked for. `ratio` is the number
    of updates per environment step, instead of `updates_per_step` of an off-policy algorithm. With `opponents`, a
    policy joins the pool in each round, so that the pool is soon as full as it will be in training; learners alone are
    measured with rounds in which all agents learn. If `batch_sizes` or
    `fanouts` are given, the fastest of them is found first, and the result's `algorithm` has it. `tell` is called with
    a line of text before each measurement. All other arguments are as in `rl.train`.

    The goal is the most steps per second, not the best use of each step: the number of learners changes how results are
    rounded, and a pipeline plays with older weights.

    Raises `ArgumentError` and `ParameterError` for invalid arguments, before anything is measured.

    >>> from reactors import rl
    >>> tuned = rl.tune(rl.PPO(num_envs=4, horizon=16, epochs=1), "CartPole-v1", cores=1, seconds=0.02)
    >>> tuned.options
    {'workers': 1, 'actors': 1, 'learners': 1, 'mode': 'sync'}
    """
    mode, env, seed, devices = given.mode, given.env, given.seed, given.devices
    cores = min(len(os.sched_getaffinity(0)) if given.cores is None else given.cores, MOST)
    algorithm = _with_ratio(given.algorithm, given.ratio)
    check_loaders(algorithm, given.loaders)
    make, spaces = environment_of(algorithm, env, given.env_kwargs or {}, "rl.tune")
    algorithm.check(*spaces)
    groups, turns, programs, past = None, 1, OF_ONE, Past.of(given.opponents)
    if isinstance(algorithm, MultiAgent):
        teams = algorithm.teams(spaces[0])
        groups, turns, programs = len(teams), len(spaces[0].agents) + 1, OF_MANY
        if past is not None:
            check_opponents(algorithm, teams, "rl.tune")
            past = replace(past, every=1)
    a_round = algorithm.horizon * algorithm.num_envs
    wanted = 1.0
    if isinstance(algorithm, OffPolicy):
        check_memory(algorithm, max(algorithm.enough, a_round) + a_round)
        wanted = algorithm.updates_per_step
    parts = 2 if given.double_buffer else 1
    if algorithm.num_envs % parts:
        raise ArgumentError(f"num_envs of {algorithm.name} is {algorithm.num_envs}, which has no halves")
    check_sizes(algorithm, given)
    banks = [n for n in range(1, cores + 1) if algorithm.num_envs % (parts * n) == 0]
    say = given.tell or (lambda _: None)

    def measured(
        kind: Any, which: Algorithm, workers: int, mode: Mode, where: Mode, actors: int, **others: Any
    ) -> float:
        alone = kind is programs.learners_alone
        options = Options(
            mode=mode, lag=given.lag if mode == "pipelined" else None, actors=actors, seed=seed,
            inference="actors" if alone else given.inference, double_buffer=not alone and given.double_buffer,
            loaders=0 if kind is programs.actors_alone else given.loaders, opponents=None if alone else past,
        )  # fmt: skip
        program = kind(which, make, spaces, options, given.seconds, **others)
        _run(program, workers, placement(program, workers, where), seed, given)
        rounds_a_second: float = program.stopwatch.rate
        return a_round * rounds_a_second

    def learned(which: Algorithm, team: Learners, workers: int) -> float:
        return wanted * measured(
            programs.learners_alone, begun(which, turns=turns), workers, "pipelined", "pipelined", 1, learners=team,
            recorded=recorded,
        )  # fmt: skip

    recorded = programs.played(begun(algorithm, alone=True), make, spaces, seed)
    frames: dict[int, float] = {}
    draws: dict[int, float] = {}
    for size in given.batch_sizes:
        say(f"batches of {size}")
        frames[size] = size * learned(
            with_size(algorithm, batch_size=size), several(algorithm, 1, devices, "rl.tune"), 1
        )
    algorithm = with_size(algorithm, batch_size=fastest(frames)) if frames else algorithm
    for fanout in given.fanouts:
        say(f"a tree with a fan-out of {fanout}")
        draws[fanout] = draws_a_second(with_size(algorithm, fanout=fanout), spaces, recorded, given.seconds)
    algorithm = with_size(algorithm, fanout=fastest(draws)) if draws else algorithm
    learners = _learners_of(algorithm, spaces, seed, devices, cores, groups)
    acting, learning, together = {}, {}, []
    alone: Mode = "sync" if mode == "sync" else "pipelined"
    for n in banks:
        say(f"{_count(n, 'actor')} alone")
        acting[n] = measured(programs.actors_alone, begun(algorithm, alone=True), n, alone, "sync", n)
    for m, team in learners.items():
        say(_learners(m, groups) + " alone")
        learning[m] = learned(algorithm, team, m)
    found = candidates(acting, learning, wanted, cores, mode, groups)
    for each in shortlist(found, given.few):
        say(f"together, {each.mode}: {_count(each.actors, 'actor')} and {_learners(each.learners, groups)}")
        team, begins = learners[each.learners], begun(algorithm, turns=turns)
        rate = measured(programs.together, begins, each.workers, each.mode, each.mode, each.actors, learners=team)
        together.append((each, rate))
    choice, rate = best(together)
    return Tuned(
        algorithm, env, wanted, cores, given.lag, acting, learning, together, len(found), choice, rate, frames, draws,
        groups,
    )  # fmt: skip


def _run(program: Training, workers: int, where: Mapping[str, int], seed: int, given: TuningOptions) -> None:
    try:
        rx.run(
            program, workers=workers, backend=given.backend, pin=given.pin, fast=True, seed=seed, keepalive=False,
            placement=partial(worker_of, where),
        )  # fmt: skip
    finally:
        for memory in (*program.memories, program.memory):
            if memory is not None:
                memory.close()  # otherwise it stays until the next garbage collection


def _learners_of(
    algorithm: Algorithm, spaces: tuple[Any, Any], seed: int, devices: Sequence[str], cores: int, groups: int | None
) -> dict[int, Learners]:
    """Learners in every number that the algorithm can have; if each group has one, by the number of their workers."""
    one = several(algorithm, 1, devices, "rl.tune")
    if groups is not None:
        return dict.fromkeys(range(1, min(groups, cores) + 1), one)
    found = {1: one}
    if cores == 1 or not algorithm.learning(*spaces, seed, devices[0]).flats:
        return found
    for m in range(2, cores + 1):
        with contextlib.suppress(ParameterError):
            found[m] = several(algorithm, m, devices, "rl.tune")
    return found


def _learners(m: int, groups: int | None) -> str:
    """The number of learners in words; or those of all groups, on `m` workers."""
    if groups in {None, 1}:
        return _count(m, "learner")
    return f"{groups} learners on {_count(m, 'worker')}"


def _with_ratio(algorithm: Algorithm, ratio: float | None) -> Algorithm:
    if ratio is None:
        return algorithm
    if not isinstance(algorithm, OffPolicy):
        raise ArgumentError(
            f"ratio of rl.tune is {ratio!r}, but {algorithm.name} learns once from every round; leave it out"
        )
    return replace(algorithm, updates_per_step=ratio)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _whole(rate: float) -> str:
    return f"{rate:,.0f}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """An aligned Markdown table: text to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in (head, *rows)) for i in range(len(head))]
    words = [not rows[0][i].replace(",", "").isdigit() for i in range(len(head))]
    rule = [("-" * (w + 1) + "-") if word else ("-" * (w + 1) + ":") for w, word in zip(widths, words, strict=True)]
    lines = [
        f"| {' | '.join(x.ljust(w) if word else x.rjust(w) for x, w, word in zip(line, widths, words, strict=True))} |"
        for line in (head, *rows)
    ]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])
