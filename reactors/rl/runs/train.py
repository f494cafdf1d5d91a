"""Train, from one call."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

import reactors as rx
from reactors.errors import ArgumentError
from reactors.lowlevel import check_pin, description, where_to_run
from reactors.rl.algorithms.off_policy import OffPolicy
from reactors.rl.checkpoints.checkpoint import Saving
from reactors.rl.checkpoints.files import Saved, compare, found, going_on, latest, load, versions
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.contract.presets.tables import preset_of
from reactors.rl.dataflow.agents.program import AgentsTraining
from reactors.rl.dataflow.program import Training, placement, worker_of
from reactors.rl.encoding.state import count
from reactors.rl.errors import RunFolderError
from reactors.rl.learning.adaptation import adapting
from reactors.rl.learning.learners import learners_of
from reactors.rl.monitoring.journal_file import AGAINST_CHANCE, EVALUATED_AT, EVALUATION, taking_over, verified
from reactors.rl.monitoring.viewer import check_view
from reactors.rl.monitoring.watching import check_video, film
from reactors.rl.options import Options, taking
from reactors.rl.public import public
from reactors.rl.rounds import ROUND, STOP
from reactors.rl.runs.again import rounds_of
from reactors.rl.runs.checks import (
    check_algorithm_given,
    check_journal_values,
    check_memory,
    check_options,
    check_out,
    check_server,
    check_view_every,
    checked_journal,
)
from reactors.rl.runs.curves import over_steps, parts
from reactors.rl.runs.digest import digest_of
from reactors.rl.runs.environments import environment_of
from reactors.rl.runs.interruption import Interruption
from reactors.rl.runs.live import JournalWatch, scalars, summary_writer
from reactors.rl.runs.machines import without_lost
from reactors.rl.runs.past_policies import PastPolicy, past_policies
from reactors.rl.runs.run_folder import RunFolder, described, file_of_env, fingerprint, folder_of, legs_with
from reactors.rl.runs.settings import defaults, file_of, hyperparameters
from reactors.rl.runs.trained_policy import TrainedPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.contract.algorithm import Algorithm, Policy
    from reactors.rl.envs.sources import Source
    from reactors.rl.monitoring.journal_file import Row
    from reactors.rl.options import Mode


@dataclass(frozen=True)
class Trained(TrainedPolicy):
    """The result of `rl.train`: the `policy`, its `weights`, the `journal` row by row, and the run's own `result`.

    `best` is the policy with the highest mean return of all evaluations (`eval_every`) since the run began, or since it
    was resumed; of many agents together, or of the one or the group that `return_of` names. `out` is the run's folder.
    `notes` say what you should know about the run. `decisions` are those of `adapt`.
    """

    result: rx.Result
    digest: str
    """A hash of what was learned: the journal without times and evaluations, and the weights.

    Equal journals and weights give an equal digest. A resumed run has the same digest as a run that was never
    interrupted. `result.digest` is that of the program's reactions, as for any run.
    """
    steps: int
    """Environment steps that were made: `total_steps` in whole rounds, or fewer if the run stopped early."""
    told: Callable[[], Iterable[Row]] = field(repr=False)
    """Returns the journal."""
    best: TrainedPolicy | None = None
    out: Path | None = None
    notes: list[str] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)

    def __repr__(self) -> str:
        done = f"{self.algorithm.name} in {self.config['env']}, {self.steps:,} steps, digest {self.digest}"
        return f"<trained: {done}{'' if self.out is None else f', in {self.out}'}>"

    @cached_property
    def journal(self) -> list[Row]:
        """What happened in each round; read from the run's folder, if there is one, on first access.

        Raises `RunFolderError` if the folder holds the journal of another run by then.
        """
        return [*self.told()]


@public("rl.train")
@dataclass(frozen=True)
class TrainCall(Options):
    """The arguments of `rl.train`."""

    algorithm: Algorithm
    env: Source

    def __post_init__(self) -> None:
        check_algorithm_given(self.algorithm, self.env, "rl.train")
        super().__post_init__()
        check_options(self.algorithm, self, "rl.train")


@taking(TrainCall)
def train(given: TrainCall) -> Trained:
    """Train `algorithm` for `total_steps` steps in `env`: a name, as in `rl.Env`, a spec, a class or a function.

    Training runs in whole rounds of `num_envs * horizon` environment steps: as many as fit into `total_steps`, at least
    one. `steps` of the result says how many steps were made.

    In the modes "sync" and "pipelined" (weights are `lag` rounds late), a seed gives the same final weights bit for
    bit, with any workers and backend. In "free", actors never wait, and no two runs are alike. With
    `inference="central"`, actors only simulate, and one policy acts for all environments at once (PAAC); then the
    weights are also the same for any number of actors. `stop_at` ends the run when the mean return of the last twenty
    episodes reaches it: the sum over all agents, or that of the group or agent `return_of`.

    `learners` share each batch, on `device`, and average their gradients (PAL, arXiv 2110.01101). With `actor_device`
    and `critic_device`, actor and critics of SAC, TD3 or DDPG learn at the same time. Each uses the weights that the
    other had at the last exchange, at most `exchange_every` updates ago (by default the updates of a round; Spreeze,
    arXiv 2312.06126). With `adapt`, an off-policy run in free mode measures while it runs, chooses its batch size and
    its number of active actors, and updates while actors play, within `rl.Bounds`; `decisions` of the result say why.

    `out` is a folder for everything that the run leaves behind. With it, a checkpoint is written every
    `checkpoint_every` rounds and after the last one; Ctrl-C writes one too, and ends the run with `KeyboardInterrupt`.
    `resume` continues from a checkpoint, or from the last one in a run's folder, as if there had been no interruption.
    It writes to that folder unless `out` is given. The algorithm, the environment and everything else that is part of
    the program must be the same; `total_steps` may be larger. With `until`, the run ends before `total_steps`, in the
    state that the whole run had then: its schedules cover all of `total_steps`. On several `machines`, a run that has
    lost one can resume by itself (`on_machine_lost="resume"`). `serve` does not change what is learned. Every option is
    in docs/training.md, and below.

    Raises `ArgumentError` and `ParameterError` for invalid arguments, `CheckpointError`, and `ReactionError` with a
    `NotFiniteError` as its cause when a loss, a weight, an observation or a reward is not finite; the last checkpoint
    is kept.

    >>> from reactors import rl
    >>> done = rl.train(rl.PPO(num_envs=4, horizon=16, epochs=2), "CartPole-v1", total_steps=256)
    >>> done.journal[-1]["global_step"], done.weights.shape
    (256, (4610,))
    """
    while True:
        try:
            return _train(given)
        except rx.MachineLost as lost:
            given = without_lost(given, lost)


def _train(given: TrainCall) -> Trained:
    algorithm, env, env_kwargs, out = given.algorithm, given.env, given.env_kwargs or {}, given.out
    journal = checked_journal(given.journal, given.resume if out is None else out)
    many = isinstance(algorithm, MultiAgent)
    make, spaces = environment_of(algorithm, env, env_kwargs, "rl.train")
    algorithm.check(*spaces)
    who = learners_of(algorithm, given)
    if isinstance(algorithm, OffPolicy):
        check_memory(algorithm, given.total_steps)
    check_server(given.serve, algorithm, spaces)
    check_journal_values(given.journal_values, given.mode)
    workers = where_to_run(given.workers, given.backend, "rl.train")
    options = replace(given, workers=workers, actors=min(given.actors, algorithm.num_envs), lag=given.late)
    if options.adapt is not False:
        file = None if out is None else RunFolder(Path(out)).decisions_file
        apart = who.exchange_every is not None
        who = replace(who, adaptation=adapting(algorithm, options, workers, who.parts, file, apart=apart))
    for wanted, check in ((options.video, check_video), (options.view_every is not None, check_view)):
        if wanted:
            check(make)
    unused = [*_unused_preset(algorithm, env), *_one_evaluation(algorithm, options)]
    algorithm = algorithm.scheduled(options.total_steps)
    rounds = rounds_of(algorithm, min(options.total_steps, options.until or options.total_steps))
    check_view_every(options.view_every, rounds_of(algorithm, options.total_steps))
    program = {
        "algorithm": type(algorithm).__name__, "hyperparameters": hyperparameters(algorithm),
        **described(env, env_kwargs, "rl.train", many=many), "spaces": [str(space) for space in spaces],
        **options.kept("program"), "exchange_every": who.exchange_every,
    }  # fmt: skip
    if options.resume is not None and out is None:
        out = folder_of(found(Path(options.resume)))
    check_out(out, options.checkpoint_every, options.video or None, options.view_every)
    with ExitStack() as stack:
        folder = None if out is None else RunFolder(Path(out))
        if folder is not None:
            stack.enter_context(folder.held())  # before its last checkpoint is read: another run would replace it
        saved = None if options.resume is None else _saved(Path(options.resume), program, rounds, algorithm)
        config = {
            **program, "algorithm_file": file_of(type(algorithm)), "env_file": file_of_env(env, "rl.train", many=many),
            **options.kept("run"), "versions": versions(), "legs": legs_with(saved, options.total_steps),
        }  # fmt: skip
        listeners = [*options.watch, *_writers(options.tensorboard, out, stack)]
        saving = None
        if folder is not None:
            journal = folder.journal_file
            saving = Saving(folder.checkpoints, folder.stop, options.checkpoint_every, rounds)
        elif listeners and journal is None:
            journal = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "journal.csv"
        kind: Any = AgentsTraining if many else Training
        training: Training = kind(
            algorithm, make, *spaces, options, learners=who, journal=journal,
            views=None if folder is None else folder.views, saving=saving, saved=saved,
        )  # fmt: skip
        check_pin(options.pin, workers + len(training.beside), "rl.train", options.machines)
        graph = rx.Graph(training)
        if saving is not None:
            saving.meta = {"program": {**program, "graph": _hash(graph)}}
            if saved is not None:
                compare(saved, saving.meta["program"], defaults(algorithm))
        with _begun_journal(journal, saved) as (seen, begun):  # what it refuses leaves the folder as it was
            if folder is not None:
                folder.begin(config, saved)
        watcher = None if journal is None or not listeners else JournalWatch(journal, listeners, seen=seen)
        report: dict[str, Any] = {
            "state": "failed",
            "seed": options.seed,
            "versions": versions(),
            "notes": [*_notes(options.mode, saved), *unused, *begun],
        }
        weights, result, rows = _run(
            training, graph, folder, watcher, report, workers=workers + len(training.beside), backend=options.backend,
            pin=options.pin, fast=True, seed=options.seed, timeout=(rounds - 1) * ROUND + STOP, keepalive=False,
            placement=partial(worker_of, placement(training, workers, options.mode)), machines=options.machines,
            trace=_file(options.trace, folder, "trace"),
            journal=_file(options.journal_values, folder, "journal_values"),
            live=options.live or ("attach" if folder is not None else False),
        )  # fmt: skip
    policy, best = _policy(algorithm, spaces, weights), None
    if options.eval_every is not None and training.evaluator.best is not None:
        chosen = training.evaluator.best
        best = TrainedPolicy(algorithm, _policy(algorithm, spaces, chosen), chosen, make, spaces, config)
    if options.video and folder is not None:
        film(policy, make, folder.path / "videos", 1, options.seed)
    place = None if folder is None else folder.path
    return Trained(
        algorithm, policy, weights, make, spaces, config, result=result, digest=report["digest"], steps=report["steps"],
        told=rows, best=best, out=place, notes=report["notes"],
        decisions=training.decisions, earlier=_earlier(training, algorithm, spaces),
    )  # fmt: skip


def _earlier(training: Training, algorithm: Algorithm, spaces: tuple[Any, Any]) -> Callable[[], tuple[PastPolicy, ...]]:
    """Returns the past policies at the end of the run; holds no reference to the program, so that it can be freed."""
    if not isinstance(training, AgentsTraining) or not hasattr(training, "elo"):
        return tuple
    pools, ratings = training.actors[0].acting.opponents.state_dict(), training.elo.state_dict()
    return partial(past_policies, algorithm, spaces, pools, ratings)


def _policy(algorithm: Algorithm, spaces: tuple[Any, Any], weights: NDArray[np.float32]) -> Policy:
    policy = algorithm.policy(*spaces)
    policy.load(weights)
    return policy


def _run(
    training: Training, graph: rx.Graph, folder: RunFolder | None, watcher: JournalWatch | None, report: dict[str, Any],
    **options: Any,
) -> tuple[NDArray[np.float32], rx.Result, Callable[[], Iterable[Row]]]:  # fmt: skip
    """Run the program, and write the outcome to its folder, even after an error.

    Raises `KeyboardInterrupt` after Ctrl-C. Returns the weights, the program's own result, and a function that gives
    the journal. Without a folder, the journal may be in a temporary file that is deleted with the run.
    """
    weights, failed = None, None
    began = time.perf_counter()
    if folder is not None:
        folder.draw(graph, options["workers"], options["placement"])
    try:
        with Interruption(None if folder is None else folder.stop) as interruption:
            result = rx.run(graph, progress=watcher, **options)
        weights = final = training.final_weights()
        report["notes"] += [*_unrestored(graph), *_restarted(training, graph), *_none_better(training)]
        last = training.journal.latest
        report |= {
            "state": "interrupted" if interruption.asked else "finished",
            "digest": digest_of(training.journal.all_rows(), weights), "weights": fingerprint(weights),
            "journal": {"count": training.journal.noted, "checked": training.journal.checked},
            "steps": last.get("global_step", 0), "seconds": last.get("seconds", 0.0),
            "wall_time": time.perf_counter() - began, "episodes": training.journal.count,
            "final_tag": [*result.final_tag], "return": last.get("charts/episodic_return"),
            "returns": {name: last[of] for name, (of, _) in parts([last]).items() if of in last},
            "evaluation": last.get(EVALUATION), "evaluated_at": last.get(EVALUATED_AT),
            **({"against_random": last[AGAINST_CHANCE]} if AGAINST_CHANCE in last else {}),
        }  # fmt: skip
        if result.value_digest is not None:
            report["value_digest"] = result.value_digest
    except BaseException as error:
        failed = error
        report["error"] = f"{type(error).__name__}: {error}"
        there = None if folder is None else latest(folder.checkpoints)
        if there is not None:
            error.add_note(f"the last checkpoint is {there}: resume= goes on from there")
        elif isinstance(error, KeyboardInterrupt):
            error.add_note(
                "nothing is saved, for rl.train was given no folder: with out= it saves when it is interrupted"
                if folder is None
                else "nothing is saved: it was stopped before the first round was"
            )
        raise
    finally:
        for memory in training.memories:
            memory.close()  # otherwise it stays until the next garbage collection
        if watcher is not None:
            watcher.close()
        if folder is not None:
            _finish(folder, report, weights, failed)
    if folder is not None:
        _report(folder, result)
    if interruption.asked and folder is not None:
        raise KeyboardInterrupt(f"saved; go on with rl.train(..., resume={str(folder.path)!r})")
    if folder is not None:
        journal = training.journal
        return final, result, partial(verified, folder.journal_file, journal.noted, journal.checked)
    return final, result, partial(list, [*training.journal.all_rows()])


def _report(folder: RunFolder, result: rx.Result) -> None:
    """Write the report page; if that fails, the run still counts."""
    picture = folder.path / "graph.svg"
    try:
        result.report(
            folder.report_file, curves=over_steps(folder.rows), facts=folder.facts(),
            graph=picture.read_text() if picture.exists() else "",
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - whatever it is
        warn(f"the report of {folder.path} cannot be written ({error})", rx.ReactorWarning, stacklevel=4)


def _finish(
    folder: RunFolder, report: dict[str, Any], weights: NDArray[np.float32] | None, failed: BaseException | None
) -> None:
    """Write down the outcome; if that fails too, the first failure counts.

    If there is no curve, the run still counts.
    """
    try:
        folder.finish(report, weights)
    except (OSError, RunFolderError) as error:
        why = getattr(error, "strerror", None) or error
        what = f"what came of the run cannot be written into {folder.path} ({why})"
        if failed is None:
            raise RunFolderError(f"{what}; its checkpoints are as they were") from error
        failed.add_note(what)
        return
    try:
        folder.draw_curve()
    except Exception as error:  # noqa: BLE001 - of matplotlib, or of a journal that somebody else has written to
        what = f"the curve of {folder.path} cannot be drawn ({error})"
        if failed is None:
            warn(what, rx.ReactorWarning, stacklevel=4)
        else:
            failed.add_note(what)


def _saved(path: Path, program: Mapping[str, Any], rounds: int, algorithm: Algorithm) -> Saved:
    """The checkpoint to resume from."""
    saved = load(path)
    graph = saved.meta["program"].get("graph")  # compared later, when the new graph exists
    compare(saved, {**program, "graph": graph}, defaults(algorithm))
    if saved.next_round >= rounds:
        steps = algorithm.horizon * algorithm.num_envs
        raise ArgumentError(
            f"{saved.path} is at step {saved.meta['global_step']:,} of {rounds * steps:,}, so nothing is left to do; "
            f"to go on, ask for {(saved.next_round + 1) * steps} steps in all, or more"
        )
    return saved


def _file(wanted: bool | str | Path, folder: RunFolder | None, option: str) -> str | Path | None:
    """The file for a trace or for hashes of values."""
    if wanted is False:
        return None
    if wanted is not True:
        return wanted
    if folder is None:
        raise ArgumentError(f"{option}=True of rl.train takes a folder; say out=, or the name of a file")
    return folder.new_file(*_FILES[option])


_FILES = {"trace": ("trace", ".rxt"), "journal_values": ("values", ".rxj")}


def _writers(
    tensorboard: Any, out: str | Path | None, stack: ExitStack
) -> list[Callable[[Sequence[dict[str, float]]], None]]:
    if tensorboard is None or tensorboard is False:
        return []
    if tensorboard is not True:
        return [scalars(tensorboard)]
    if out is None:
        raise ArgumentError("tensorboard=True of rl.train takes a folder; say out=")
    writer = summary_writer(Path(out) / "tensorboard")
    stack.callback(writer.close)
    return [scalars(writer)]


@contextmanager
def _begun_journal(journal: Path | None, saved: Saved | None) -> Iterator[tuple[int, list[str]]]:
    """Cut the journal's file back to the checkpoint, at the end; gives the number of rows, and notes about them."""
    if journal is None or saved is None:
        yield 0, []
        if journal is not None:
            journal.unlink(missing_ok=True)
        return
    state, source = saved.states["journal"], RunFolder(folder_of(saved.path)).journal_file
    with going_on(saved.path, "the state of journal"):
        rows, checked = count(state["rows"]), count(state["checked"])
    if rows and not source.exists():
        state |= {"rows": 0, "checked": 0}
        yield 0, [f"the journal {source} of the first {rows} rounds is gone: it begins where the run goes on"]
        journal.unlink(missing_ok=True)
        return
    with taking_over(source, journal, rows, checked):
        yield rows, []


def _notes(mode: Mode, saved: Saved | None) -> list[str]:
    """Notes for a run in free mode, or one that was resumed."""
    free = ["in free mode no two runs are alike, whatever the seed"] if mode == "free" else []
    if saved is None:
        return free
    then, now = saved.meta["versions"], versions()
    changed = [f"{name} was {then.get(name)} and is {now[name]}" for name in now if then.get(name) != now[name]]
    notes = [f"{'; '.join(changed)}: the last bits may differ from the uninterrupted run's"] if changed else []
    hidden = [
        f"environments of {note.partition(':')[0]} do not tell their state ({note.partition(': ')[2]}): they began new "
        "episodes where the run goes on, and what else they know they know no more"
        for note in saved.meta["notes"]
    ]
    return [*free, *notes, *hidden]


def _unrestored(graph: rx.Graph) -> list[str]:
    """Notes of environments whose state is in the checkpoint, and could not be restored."""
    return [
        f"environments of {each.path.removeprefix('main.')} could not be restored ({each.unrestored}): they began "
        "new episodes where the run goes on"
        for each in graph.reactors
        if isinstance(each, Stateful) and each.unrestored
    ]


def _restarted(training: Training, graph: rx.Graph) -> list[str]:
    """A note of environments that failed and were made again."""
    n = training.journal.failed
    if not n:
        return []
    failure = next((each.failure for each in graph.reactors if isinstance(each, Stateful) and each.failure), "")
    note = f"environments failed and were made again, {n:,} times; charts/restarts of the journal has when"
    return [f"{note}. One of them: {failure.removeprefix('main.')}" if failure else note]


def _none_better(training: Training) -> list[str]:
    """A note where the best of many agents' policies is not to be found by what they get together."""
    if not isinstance(training, AgentsTraining) or not hasattr(training, "evaluator"):
        return []
    seen = training.evaluator
    if seen.count < 2 or seen.lowest < seen.highest or seen.return_of is not None or seen.opposed:
        return []
    note = f"all agents together got {seen.highest:g} in every evaluation, as in zero-sum games, so that none is better"
    return [f"{note}: best is the first; name a group or an agent with return_of, or give opponents"]


def _one_evaluation(algorithm: Algorithm, options: Options) -> list[str]:
    """A note where nothing but the first policy will be evaluated."""
    rounds = rounds_of(algorithm, options.total_steps)
    if options.eval_every is None or options.eval_every < rounds or rounds == 1:
        return []
    return [f"eval_every is {options.eval_every} rounds, and the run has {rounds}: only the first policy is evaluated"]


def _unused_preset(algorithm: Algorithm, env: Source) -> list[str]:
    """A note on the environment's preset, if no hyperparameters were given."""
    kind = type(algorithm)
    unsaid = all(getattr(algorithm, each.name) == each.default for each in fields(algorithm) if each.init)
    preset = preset_of(kind, env) if isinstance(env, str) and unsaid else None
    if preset is None:
        return []
    return [f"{kind.__name__} has its defaults; {kind.__name__}.preset({env!r}) is made for it ({preset.source})"]


def _hash(graph: rx.Graph) -> str:
    """A hash of the program, without what may change from run to run: its begin, evaluation, the journal."""
    lines = [
        line
        for line in description(graph)
        if not line.startswith("timer")
        and not any(
            f"main.{name}" in line
            for name in ("evaluator", "journal", "checkpoint", "to_evaluate", "to_show", "viewer", "serving")
        )
    ]
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
