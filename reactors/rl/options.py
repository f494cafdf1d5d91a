"""What may be said of a training beside its algorithm and environment: every option, once.

A field has its type with bounds, its default and its help. From the fields follow the arguments of `rl.train` and
`rl.tune` and their documentation, the options of `reactors train` and `reactors tune`, keys of a config file, what a
run's folder and checkpoints keep, and the table in docs/training.md. A new option is a field here, and its use.

This module imports nothing heavy: the command reads it for its help.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache, wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from reactors import Machines
from reactors.errors import ArgumentError
from reactors.lowlevel import Backend, Pin, Workers, check_pin, where_to_run
from reactors.rl.bounded import Count, Layers, Natural, Positive, Range, accepts, words
from reactors.rl.opponents import Past
from reactors.rl.public import public

P = ParamSpec("P")
A = TypeVar("A")
R = TypeVar("R")

Mode: TypeAlias = Literal["sync", "pipelined", "free"]
Where: TypeAlias = Literal["actors", "central"]
Seed: TypeAlias = Annotated[int, Range(0, 1 << 63, below=True)]
Row: TypeAlias = dict[str, float]


class Serves(Protocol):
    """A reactor that answers by the latest weights, as `rl.serve` makes it."""

    @property
    def policy(self) -> Any:
        """The policy that acts, whose weights it loads."""

    @property
    def weights(self) -> Any:
        """The input port that takes new ones."""


class Writer(Protocol):
    """What takes scalars, as TensorBoard's `SummaryWriter` does."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int, /) -> object:
        """One point of one curve."""


@public("rl.Bounds")
@dataclass(frozen=True)
class Bounds:
    """Within what a run may adapt: the least and the most of each; None leaves it to the algorithm and the run.

    >>> Bounds(batch_size=(64, 1024))
    Bounds(batch_size=(64, 1024), updates_per_step=None, samplers=None)
    """

    batch_size: tuple[int, int] | None = None
    """By default from the algorithm's own to 32 times as much, or half of its memory."""
    updates_per_step: tuple[float, float] | None = None
    """By default from a thousandth of the algorithm's own to eight times as much."""
    samplers: tuple[int, int] | None = None
    """By default from 1 to the number of actors."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "updates_per_step", "samplers"):
            given: Any = getattr(self, name)
            if given is not None and not (len(given) == 2 and 0 < given[0] <= given[1]):
                raise ArgumentError(f"{name} of rl.Bounds is {given!r}; write the least and the most of it, (64, 1024)")


Kept: TypeAlias = Literal["program", "run", "call"]

_MODES = (
    '"sync", where playing and learning take turns, or, asynchronous, "pipelined", which is the same every time, or '
    '"free", which is not'
)


def option(
    default: Any,
    help: str,
    kept: Kept = "run",
    *,
    command: bool = True,
    shown: str = "",
    wanted: str = "",
    metavar: str = "",
) -> Any:
    """A field with its `help`, a sentence or two without the full stop at the end.

    `kept` says how long it holds: for the "program", which is the same when a run goes on; for this "run", which may
    have another one when it goes on; for this "call" alone, so that the run's folder does not have it. With `command`
    it is an option of the command line. `shown` is the default in words where it depends on others, `wanted` what to
    write where the type does not say enough, `metavar` how a value is called on the command line.
    """
    said = {"help": help, "kept": kept, "command": command, "shown": shown, "wanted": wanted, "metavar": metavar}
    return field(default=default, metadata=said)


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How much is trained, on how much, and how its parts wait for each other."""

    total_steps: Count = option(100_000, "Environment steps of all actors, in whole rounds, at least one")
    workers: Workers = option(1, 'Workers that run at the same time; "auto" is one for each core')
    actors: Count = option(2, "Reactors that share the environments, each with a policy of its own", "program")
    mode: Mode = option("sync", "How actors and learner wait for each other", "program", wanted=_MODES)


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """What `rl.train` and `rl.tune` both take."""

    of: ClassVar[str]
    """Whose options they are, for messages."""

    lag: Count | None = option(
        None, "How many rounds late weights reach the actors", "program", shown="2 if pipelined",
        wanted="a whole number of rounds, 1 or more",
    )  # fmt: skip
    inference: Where = option("actors", "Each actor has a policy, or one acts for all environments", "program")
    double_buffer: bool = option(
        False, "With central inference: act for one half of the environments while the other is simulated", "program"
    )
    loaders: Natural = option(0, "Reactors that make batches while the learner works", "program")
    opponents: Past | str | None = option(
        None, "Past policies to play against (many agents); in Python also rl.Past", "program",
        wanted='rl.Past(every=50), or "past:every=50"', metavar="past[:KEY=VALUE,...]",
    )  # fmt: skip
    seed: Seed = option(0, "The seed of all random numbers", "program", wanted="a whole number from 0 to 2**63 - 1")
    device: str | Sequence[str] = option(
        "cpu", "Where the networks learn; with commas, or as a list, one device for each learner", metavar="NAME"
    )
    backend: Backend = option("auto", "Threads or processes, as in rx.run", command=False)
    pin: Pin = option(
        "auto", "Pin each worker to a core of its own, or none; by default a worker moves only where two share a core"
    )
    env_kwargs: Mapping[str, Any] | None = option(
        None, "Keyword arguments of the environment; --env-kwargs KEY=VALUE on the command line", "call", command=False
    )

    def __post_init__(self) -> None:
        """Refuse what an option does not take, and options that do not go together. Raises `ArgumentError`."""
        workers = where_to_run(getattr(self, "workers", 1), self.backend, self.of)
        hints = types_of(type(self))  # type: ignore[arg-type]
        for each in fields(self):
            value, hint = getattr(self, each.name), hints.get(each.name, Any)
            if not accepts(hint, value):
                wanted = each.metadata["wanted"] or words(without_none(hint))
                raise ArgumentError(f"{each.name} of {self.of} is {value!r}; write {wanted}")
        check_pin(self.pin, workers, self.of, getattr(self, "machines", None))
        self._check_device()
        Past.of(self.opponents)
        mode: Any = getattr(self, "mode", None)
        if mode in {"sync", "free"} and self.lag not in {None, 1}:
            why = "is a lag of 1" if mode == "sync" else "has none: actors take the latest weights"
            raise ArgumentError(f'lag of {self.of} is {self.lag}, but mode="{mode}" {why}; write mode="pipelined"')
        if self.double_buffer and self.inference != "central":
            raise ArgumentError(
                f"double_buffer of {self.of} lets one policy act for half of the environments at a time, but actors "
                'have policies of their own; write inference="central", too'
            )

    def _check_device(self) -> None:
        several: Any = self.device
        if not isinstance(several, str) and not (
            isinstance(several, list | tuple) and several and all(isinstance(each, str) for each in several)
        ):
            raise ArgumentError(f'device of {self.of} is {several!r}; write a name, as "cpu", or a list of names')

    @property
    def devices(self) -> tuple[str, ...]:
        """The names that `device` has."""
        names = self.device.split(",") if isinstance(self.device, str) else self.device
        return tuple(each.strip() for each in names)


FREE_SLACK = 16  # rounds by which free-running actors may be ahead of the journal and of the checkpoint


@dataclass(frozen=True, kw_only=True)
class Options(SharedOptions, Extent):
    """The options of `rl.train`.

    >>> Options(mode="pipelined").late, Options(seed=3).seed
    (2, 3)
    >>> Options(actors=0)
    Traceback (most recent call last):
    reactors.errors.ArgumentError: actors of rl.train is 0; write a whole number, 1 or more
    """

    of = "rl.train"

    def __post_init__(self) -> None:
        """Also refuse what nothing asks for: a group or agent's return, a number of evaluations."""
        super().__post_init__()
        if self.return_of is not None and self.stop_at is None and self.eval_every is None:
            raise ArgumentError(
                f"return_of of {self.of} is {self.return_of!r}, but there is no stop_at= and no eval_every= that its "
                "return is for; write one of them, too"
            )
        if self.eval_every is None and self.eval_episodes != type(self).eval_episodes:
            raise ArgumentError(
                f"eval_episodes of {self.of} is {self.eval_episodes}, but nothing is evaluated; write eval_every, too"
            )

    learners: Count = option(1, "Learners that share each batch and average their gradients", "program")
    actor_device: str | None = option(
        None, "Where the actor learns, apart from its critics (SAC, TD3, DDPG)", metavar="NAME"
    )
    critic_device: str | None = option(None, "Where the critics learn", metavar="NAME")
    exchange_every: Count | None = option(None, "Updates between exchanges of the two", "program", shown="a round's")
    adapt: bool | Bounds = option(
        False,
        "In free mode: adapt the batch size, updates and samplers while it runs; in Python also rl.Bounds",
        "program",
    )
    eval_every: Count | None = option(
        None, "Evaluate with greedy episodes in the first round, and in every Nth after it"
    )
    eval_episodes: Count = option(10, "Episodes of each evaluation", command=False)
    stop_at: float | None = option(
        None,
        "Stop when the mean return of the last 20 episodes reaches this",
        wanted="a number, a mean return",
        metavar="RETURN",
    )
    return_of: str | None = option(
        None, "The group or agent by whose return stop_at and the best evaluation go (many agents)",
        shown="the sum over all agents", metavar="NAME",
    )  # fmt: skip
    on_error: Literal["raise", "restart"] = option(
        "raise",
        "When an environment raises: end the run, or make it again and truncate its episode",
    )
    out: str | Path | None = option(
        None, "The run's folder; the command makes runs/ALGO-ENV-SEED-N, N the first free number", "call"
    )
    checkpoint_every: Count | None = option(None, "A checkpoint every N rounds; a run with a folder has one at the end")
    until: Count | None = option(
        None, "Stop after so many environment steps; schedules are still those of all steps", "call"
    )
    resume: str | Path | None = option(None, "Go on from a run's last checkpoint, or from the checkpoint named", "call")
    tensorboard: bool | Writer | None = option(
        None, "Write for TensorBoard, too; in Python also to an object with add_scalar", "call"
    )
    video: bool = option(False, "A video of the final policy", "call")
    trace: bool | str | Path = option(
        False, "Trace everything that runs, into the run's folder; in Python also into the file named", "call",
        wanted="True, or the name of a file, as in 'run.rxt'", metavar="FILE",
    )  # fmt: skip
    journal_values: bool | str | Path = option(
        False,
        "Hash all values that reactions write, for reactors diff, into the run's folder; in Python also into the file "
        "named", "call", wanted="True, or the name of a file, as in 'run.rxj'", metavar="FILE",
    )  # fmt: skip
    machines: Machines | None = option(
        None, "The machines that the workers are on, as in rx.run", "call", command=False,
        wanted="rx.Machines(count=2)",
    )  # fmt: skip
    on_machine_lost: Literal["raise", "resume"] = option(
        "raise", "When a machine is lost: end the run, or go on from the last checkpoint on the others", "call",
        command=False,
    )  # fmt: skip
    live: bool = option(False, "Show what the workers do, in a terminal or a notebook", "call")
    view_every: Count | None = option(None, "An episode as a GIF every N rounds, played by one more worker")
    journal: str | Path | None = option(None, "A file for the journal of a run without a folder", "call", command=False)
    tell: Callable[[Row], None] | None = option(
        None, "Called with each row of the journal, on a worker", "call", command=False
    )
    watch: Sequence[Callable[[Sequence[Row]], None]] = option(
        (), "Functions that get new rows of the journal in the calling process", "call", command=False
    )
    serve: Serves | None = option(
        None, "A server made by rl.serve, which answers with the latest weights on one more worker", "call",
        command=False,
    )  # fmt: skip

    @property
    def late(self) -> int:
        """By how many rounds weights are late."""
        return self.lag or (2 if self.mode == "pipelined" else 1)

    @property
    def slack(self) -> int:
        """By how many rounds a word to all reactors is late, so that none of them waits for it in every round."""
        return max(self.late, FREE_SLACK) if self.mode == "free" else self.late

    def kept(self, *how_long: Kept) -> dict[str, Any]:
        """What the program, or the run, is to be known by; `adapt` without its bounds, opponents in one form."""
        said = {name: getattr(self, name) for name in names(*how_long)}
        if said.get("opponents") is not None:
            said["opponents"] = str(Past.of(self.opponents))
        return {name: value is not False if name == "adapt" else value for name, value in said.items()}


@dataclass(frozen=True, kw_only=True)
class TuningOptions(SharedOptions):
    """The options of `rl.tune`."""

    of = "rl.tune"

    mode: Mode | None = option(None, "The mode", shown="sync or pipelined", wanted=_MODES)
    ratio: float | None = option(None, "Updates for each environment step, in place of updates_per_step", metavar="R")
    cores: Count | None = option(None, "The most workers to use", shown="all cores")
    seconds: Positive = option(
        1.0, "How long each measurement takes", wanted="how long each measurement takes, as in 1.0", metavar="S"
    )
    few: Count = option(4, "Candidates that are measured")
    batch_sizes: Layers = option(
        (), "Batch sizes to measure and choose from, with replay", metavar="N,N", wanted="a tuple, as in (64, 256)"
    )
    fanouts: tuple[Literal[2, 4, 8, 16, 32, 64], ...] = option(
        (), "Fan-outs of the tree of priorities to measure and choose from", metavar="K,K",
        wanted="a tuple of powers of two from 2 to 64",
    )  # fmt: skip
    tell: Callable[[str], None] | None = option(
        None, "Called with a line before each measurement", "call", command=False
    )


def names(*how_long: Kept) -> Iterator[str]:
    """The options of `rl.train` that are kept so long."""
    return (each.name for each in fields(Options) if each.metadata["kept"] in how_long)


def flag(name: str) -> str:
    """The option of the command line."""
    return f"--{name.replace('_', '-')}"


@cache
def types_of(kind: type[SharedOptions]) -> dict[str, Any]:
    """The type of each option, with its bounds; a subclass elsewhere may have fields that are none."""
    own = next(each for each in kind.__mro__ if each.__module__ == __name__)
    return typing.get_type_hints(own, include_extras=True)


def without_none(hint: Any) -> Any:
    """A type without the None that stands for what is not said.

    >>> without_none(int | None), without_none(int)
    (<class 'int'>, <class 'int'>)
    """
    parts = [part for part in typing.get_args(hint) if part is not NoneType]
    return typing.Union[tuple(parts)] if NoneType in typing.get_args(hint) else hint  # noqa: UP007 - of a tuple


def default_words(each: Field[Any]) -> str:
    """The default, if it says something."""
    said = each.metadata["shown"]
    plain = isinstance(each.default, int | float | str) and not isinstance(each.default, bool)
    return said or (str(each.default) if plain else "")


def taking(arguments: Callable[P, A]) -> Callable[[Callable[[A], R]], Callable[P, R]]:
    """Decorates a function of one object, the `arguments`: it is called with what makes that object.

    Its signature is theirs, also to type checkers, and its documentation has the help of each option.

    >>> @taking(TuningOptions)
    ... def measure(given):
    ...     "Measure."
    ...     return given.few
    >>> measure(few=3), measure.__doc__.splitlines()[-4].strip()
    (3, 'few: Candidates that are measured [4]')
    """

    def decorated(function: Callable[[A], R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(arguments(*args, **kwargs))

        made, known = inspect.signature(arguments), [each for each in fields(cast(Any, arguments)) if each.metadata]
        called.__signature__ = made.replace(return_annotation=inspect.signature(function).return_annotation)  # type: ignore[attr-defined]
        lines = [f"    {each.name}: {each.metadata['help']}{_in_brackets(default_words(each))}" for each in known]
        called.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), "", "Options:", *lines])
        return called

    return decorated


def _in_brackets(default: str) -> str:
    return default and f" [{default}]"


ARGUMENTS: Mapping[str, str] = {"env": "--env"} | {
    each.name: flag(each.name) if each.metadata["command"] else "" for each in fields(Options)
}
"""What `rl.train` takes beside the algorithm, and the option of the command that says the same, if there is one."""
