"""The commands `reactors train`, `tune`, `eval`, `play` and `compare`.

What they need, torch before all, is imported inside of them, so that `reactors --help` is quick.
"""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.command.tracebacks import reported
from reactors.command.values import COUNT, NATURAL, WORKERS, OneOf
from reactors.errors import ArgumentError, ParameterError
from reactors.reports.json_text import json_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reactors.rl.algorithms.algorithm import Algorithm
    from reactors.rl.runs.run_folder import RunFolder

# Of a run that goes on, what may be changed; the rest is as it was.
_CHANGEABLE = (
    "total_steps", "workers", "device", "actor_device", "critic_device", "eval_every", "checkpoint_every", "stop_at",
    "view_every", "on_error",
)  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "total_steps": 100_000, "workers": 1, "mode": "sync", "seed": 0, "device": "cpu", "lag": None, "actors": 2,
    "inference": "actors", "double_buffer": False, "loaders": 0,
    "eval_every": None, "checkpoint_every": None, "stop_at": None, "view_every": None,
    "on_error": "raise", "learners": 1, "actor_device": None, "critic_device": None, "exchange_every": None,
    "adapt": False,
}  # fmt: skip
_APART = ("actor_device", "critic_device", "exchange_every")
_folder = click.Path(file_okay=False, path_type=Path)
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON, the last one.")
_seed = click.option("--seed", type=NATURAL, metavar="N", help="What all random numbers follow from.")


@contextmanager
def misuse() -> Iterator[None]:
    """What makes no sense is the fault of the command, with exit status 2."""
    with reported():
        try:
            yield
        except (ArgumentError, ParameterError) as error:
            raise click.UsageError("\n".join([str(error), *getattr(error, "__notes__", ())])) from None


def _settings(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r}; write KEY=VALUE, as in learning_rate=1e-3")
        found[name.strip()] = text.strip()
    return found


def _toml(_ctx: click.Context, _option: click.Parameter, value: Path | None) -> dict[str, Any]:
    if value is None:
        return {}
    try:
        return tomllib.loads(value.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{value} is no TOML: {error}") from None


_env = click.option(
    "--env", metavar="NAME", help="An id of Gymnasium's, module:Id, FILE:CLASS, module:CLASS, or atari:GAME."
)


class _Command(click.Command):
    """A command that knows what options are called elsewhere, and which of them are hyperparameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As ever, but for the words about an option that there is not."""
        words = list(args)  # which are taken out of args
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [option for each in self.params for option in each.opts if option.startswith("--")]
            said = _no_option(f"there is no option {error.option_name}", error.option_name, known, words)
            raise click.UsageError(said, ctx) from None


@click.command("train", cls=_Command, short_help="Train an algorithm in an environment.")
@click.argument("algorithm", required=False)
@_env
@click.option("--total-steps", type=COUNT, metavar="N", help="Environment steps of all actors.  [default: 100000]")
@click.option(
    "--workers", type=WORKERS, metavar="N", help="How many run at once; auto: one for each core.  [default: 1]"
)
@click.option("--actors", type=COUNT, metavar="N", help="Reactors that share the environments.  [default: 2]")
@click.option(
    "--mode", type=OneOf(["sync", "pipelined", "free"]), help="How they wait for each other.  [default: sync]"
)
@click.option("--lag", type=COUNT, metavar="N", help="Rounds by which weights are late.  [default: 2 if pipelined]")
@click.option(
    "--inference",
    type=OneOf(["actors", "central"]),
    help="Each actor has a policy, or one acts for all.  [default: actors]",
)
@click.option(
    "--double-buffer",
    is_flag=True,
    default=None,
    help="With central inference: act for one half of the environments while the other is simulated.",
)
@click.option("--loaders", type=NATURAL, metavar="N", help="Reactors that make batches.  [default: 0]")
@_seed
@click.option("--device", metavar="NAME", help="Where the learner reckons.  [default: cpu]")
@click.option(
    "--learners", type=COUNT, metavar="N", help="Learners that share each batch: mean gradients.  [default: 1]"
)
@click.option("--actor-device", metavar="NAME", help="Where the actor learns, apart from its critics (SAC, TD3, DDPG).")
@click.option("--critic-device", metavar="NAME", help="Where the critics learn.")
@click.option(
    "--exchange-every", type=COUNT, metavar="N", help="Updates between exchanges of the two.  [default: a round's]"
)
@click.option(
    "--adapt", is_flag=True, default=None, help="In free mode: find the batch size, updates and samplers on the way."
)
@click.option(
    "--config",
    "settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=_toml,
    metavar="FILE.toml",
    help="Options as keys, hyperparameters in [hyperparameters].",
)
@click.option(
    "--set", "given", multiple=True, metavar="KEY=VALUE", callback=_settings, help="A hyperparameter. Repeatable."
)
@click.option("--eval-every", type=COUNT, metavar="N", help="Greedy episodes every N rounds.")
@click.option(
    "--checkpoint-every", type=COUNT, metavar="N", help="A checkpoint every N rounds; there is always one at the end."
)
@click.option("--resume", type=_folder, metavar="DIR", help="Go on from a run's last checkpoint, or from one of them.")
@click.option(
    "--on-error",
    type=OneOf(["raise", "restart"]),
    help="What becomes of an environment that raises: the end of the run, or it is made again.  [default: raise]",
)
@click.option("--stop-at", type=float, metavar="RETURN", help="Stop when the mean return of 20 episodes is that.")
@click.option("--tensorboard", is_flag=True, help="Write for TensorBoard, too.")
@click.option("--video", is_flag=True, help="Film the final policy.")
@click.option("--view-every", type=COUNT, metavar="N", help="An episode as a GIF every N rounds, by another worker.")
@click.option("--out", type=_folder, metavar="DIR", help="The run's folder.  [default: runs/ALGO-ENV-SEED-N]")
@_json
def train_command(
    *,
    algorithm: str | None,
    env: str | None,
    settings: dict[str, Any],
    given: dict[str, str],
    resume: Path | None,
    tensorboard: bool,
    video: bool,
    out: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Train ALGORITHM, ppo or dqn for instance, or FILE:CLASS with one of your own, in an environment.

    Options on the command line come before those of --config. Ctrl-C saves and stops; --resume goes on.
    """
    with misuse():
        try:
            from reactors.rl.checkpoints.files import found
            from reactors.rl.runs.live import display
            from reactors.rl.runs.run_folder import RunFolder, folder_of, numbered
            from reactors.rl.runs.train import train

            settings = dict(settings)
            for name, value in (("algorithm", algorithm), ("env", env)):
                if value is not None:
                    settings[name] = value
            said = {name: value for name, value in values.items() if value is not None}
            hyperparameters = settings.pop("hyperparameters", {})
            env_kwargs = settings.pop("env_kwargs", {})
            _check_keys(settings, hyperparameters, env_kwargs)
            if resume is not None:
                before = _run(folder_of(found(resume)), settings.get("algorithm"), settings.get("env"))
                _refuse_changes(before, {**settings, **said}, {**hyperparameters, **given}, env_kwargs)
                options = {name: before.config.get(name, default) for name, default in _DEFAULTS.items()}
                options |= {name: value for name, value in {**settings, **said}.items() if name in _CHANGEABLE}
                before.maker()  # says why, if it cannot be made
                made, source, env_kwargs = before.algorithm, before.env, before.env_kwargs
                named = before.config["env"]
                out = before.path if out is None else out
            else:
                made, source = _chosen(settings, hyperparameters, given, env_kwargs, "train ppo --env CartPole-v1")
                named = source
                options = {**_DEFAULTS, **settings, **said}
                if out is None:
                    words = type(made).__name__.lower(), named.rpartition(":")[2].replace("/", "-"), options["seed"]
                    out = numbered(Path("runs"), "-".join(map(str, words)))
            folder: Path = out
            shown = display(f"{type(made).__name__} in {named}", options["total_steps"])
            with shown:
                done = train(
                    made, source, out=out, resume=resume, env_kwargs=env_kwargs, tensorboard=tensorboard or None,
                    video=video, watch=[shown], **options,
                )  # fmt: skip
        except KeyboardInterrupt:
            click.echo(_left(out, algorithm, env), err=True)
            raise
        finally:
            if out is not None and out.is_dir() and not any(out.iterdir()):
                out.rmdir()  # nothing came of it
    for note in done.notes:
        click.echo(f"note: {note}", err=True)
    result = RunFolder(folder).result
    if as_json:
        click.echo(json_line({"out": str(folder), **result}))
    else:
        returned = "-" if result["return"] is None else f"{result['return']:.1f}"
        click.echo(
            f"{result['steps']:,} steps in {result['seconds']:.1f} s, mean return of the last episodes {returned}"
        )
        click.echo(f"digest {result['digest']}, weights {result['weights']}")
        click.echo(f"all of it is in {folder}")


def _left(out: Path | None, algorithm: str | None, env: str | None) -> str:
    """What is left of a run that was interrupted."""
    nothing = "nothing is saved: it was stopped before its first round was"
    if out is None:
        return nothing
    from reactors.rl.checkpoints.files import latest
    from reactors.rl.runs.run_folder import RunFolder

    run = RunFolder(out)
    last = latest(run.checkpoints)
    if last is None:
        return nothing
    command = ["reactors", "train"]
    if algorithm is not None and ":" in algorithm:
        command.append(algorithm)
    if env is not None and run.config.get("env_file") is not None:
        command += ["--env", env]
    saved = "saved" if run.result.get("state") == "interrupted" else f"stopped at once, after the checkpoint {last}"
    return f"{saved}; go on with: {shlex.join([*command, '--resume', str(out)])}"


def _chosen(
    settings: dict[str, Any], hyperparameters: dict[str, Any], given: dict[str, str], env_kwargs: Any, example: str
) -> tuple[Algorithm, str]:
    """The algorithm and the environment of which `settings` have the names, which are taken out of them."""
    from reactors.rl.envs.sources import maker
    from reactors.rl.runs.settings import algorithm_named, with_settings

    if "algorithm" not in settings or "env" not in settings:
        missing = "the name of an algorithm" if "algorithm" not in settings else "--env"
        raise click.UsageError(f"{missing} is missing; write for instance: reactors {example}")
    kind, env = algorithm_named(str(settings.pop("algorithm"))), str(settings.pop("env"))
    made = with_settings(kind, hyperparameters, "--config")
    made = with_settings(kind, {**{key: getattr(made, key) for key in hyperparameters}, **given})
    maker(env, env_kwargs, "--env")  # refuses what is none
    return made, env


def _check_keys(settings: dict[str, Any], hyperparameters: Any, env_kwargs: Any) -> None:
    known = ("algorithm", "env", *_DEFAULTS)
    for name in settings:
        if name not in known:
            also = (*known, "hyperparameters", "env_kwargs")
            said = f"--config: there is no option {name!r}"
            raise ArgumentError(_no_option(said, name, also, [str(settings.get("algorithm"))]))
    for name, value in (("hyperparameters", hyperparameters), ("env_kwargs", env_kwargs)):
        if not isinstance(value, dict):
            raise ArgumentError(f"--config: {name} is {value!r}; write a table, [{name}], and its keys below it")


def _no_option(said: str, name: str, known: Iterable[str], words: Iterable[str]) -> str:
    """What is said of an option that there is not; it may be a hyperparameter, of the algorithm that `words` name."""
    from reactors.rl.runs.settings import algorithms
    from reactors.rl.synonyms import no_argument

    every = algorithms()
    kinds = [every[word.lower()] for word in words if word.lower() in every] or [every["ppo"], *every.values()]
    found = list(dict.fromkeys(field.name for kind in kinds for field in fields(kind) if field.init))
    return no_argument(said, name, list(known), f"rl.{kinds[0].__name__}", found)


def _run(folder: Path, algorithm: str | None, env: str | None) -> RunFolder:
    """A run's folder; the caller says where its own algorithm and environment are, if it has them."""
    from reactors.rl.runs.run_folder import ON_THE_COMMAND_LINE, RunFolder
    from reactors.rl.runs.settings import algorithm_named

    made = None if algorithm is None else algorithm_named(algorithm)
    return RunFolder(folder, algorithm=made, env=env, asking=ON_THE_COMMAND_LINE)


def _refuse_changes(
    before: RunFolder, options: dict[str, Any], hyperparameters: dict[str, Any], env_kwargs: dict[str, Any]
) -> None:
    """A run that goes on is the same one."""
    from reactors.rl.runs.run_folder import described
    from reactors.rl.runs.settings import algorithm_named

    if hyperparameters or env_kwargs:
        raise ArgumentError(
            f"--resume: {', '.join([*hyperparameters, *env_kwargs])} cannot be changed in a run that goes on; start "
            "another one"
        )
    if "algorithm" in options:
        options = {**options, "algorithm": algorithm_named(options["algorithm"]).__name__}
    if "env" in options:
        options = {**options, "env": described(options["env"], {}, "--env")["env"]}
    for name, value in options.items():
        was = before.config.get(name, _DEFAULTS.get(name))
        if name not in _CHANGEABLE and value != was:
            raise ArgumentError(
                f"--resume: {name} was {was!r} and cannot be {value!r}; leave it out, or start another run"
            )


_run_folder = click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))

_algorithm = click.option("--algorithm", metavar="FILE:CLASS", help="Your own algorithm, which is imported from there.")


@click.command("eval", short_help="Play greedy episodes with a trained policy.")
@_run_folder
@_algorithm
@_env
@click.option("--episodes", type=COUNT, metavar="N", default=100, show_default=True)
@_seed
@_json
def eval_command(
    *, folder: Path, algorithm: str | None, env: str | None, episodes: int, seed: int | None, as_json: bool
) -> None:
    """Play greedy episodes with the policy of the run in DIR: their mean, least and greatest return."""
    with misuse():
        from statistics import fmean

        from reactors.rl.monitoring.evaluator import play

        run = _run(folder, algorithm, env)
        returns = play(run.policy(), run.maker(), *run.spaces, episodes, seed or 0)
    found = {"episodes": episodes, "mean": fmean(returns), "min": min(returns), "max": max(returns)}
    if as_json:
        click.echo(json_line(found))
    else:
        click.echo("{episodes} greedy episodes: mean {mean:.2f}, least {min:.2f}, greatest {max:.2f}".format(**found))


@click.command("play", short_help="Watch a trained policy, in a window or as a video.")
@_run_folder
@_algorithm
@_env
@click.option("--episodes", type=COUNT, metavar="N", default=1, show_default=True)
@_seed
@click.option(
    "--video",
    is_flag=False,
    flag_value="",
    metavar="[DIR|FILE.mp4]",
    help="Write videos there, or one into that file, instead of opening a window.  [without a name: DIR/played]",
)
def play_command(
    *, folder: Path, algorithm: str | None, env: str | None, episodes: int, seed: int | None, video: str | None
) -> None:
    """Watch the policy of the run in DIR play."""
    with misuse():
        from reactors.rl.monitoring.watching import check_video, checked_target, film, rendering, watch

        target = None
        if video is not None:
            target = checked_target(Path(video) if video else folder / "played", episodes, "--video")
        run = _run(folder, algorithm, env)
        if target is not None:
            check_video(run.maker())
            returns = film(run.policy(), run.maker(), target, episodes, seed or 0)
        else:
            if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}:
                click.echo("there is no display here, so no window opens; film the policy with --video", err=True)
            returns = watch(run.policy(), rendering(run.maker(), "human"), episodes, seed or 0)
    for number, total in enumerate(returns, 1):
        click.echo(f"episode {number}: return {total:.2f}")
    if target is not None:
        click.echo(f"videos are in {target}" if target.is_dir() else f"the video is {target}")


@click.command("compare", short_help="Compare runs: curves and a table.")
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PNG",
    default=Path("compare.png"),
    show_default=True,
    help="The picture.",
)
def compare_command(*, folders: tuple[Path, ...], output: Path) -> None:
    """Compare runs: their curves over steps and over time in one picture, and a table."""
    with misuse():
        from reactors.rl.runs.curves import curve, table
        from reactors.rl.runs.run_folder import RunFolder

        if not output.absolute().parent.is_dir():
            raise ArgumentError(f"there is no folder {str(output.parent)!r} for {output.name}")
        runs = [RunFolder(folder) for folder in folders]
        click.echo(table(runs))
        names = [run.path.name for run in runs]
        curve({run.path.name if names.count(run.path.name) == 1 else str(run.path): run.rows for run in runs}, output)
    click.echo(f"curves are in {output}", file=sys.stdout)


def _file_and_toml(
    ctx: click.Context, option: click.Parameter, value: Path | None
) -> tuple[Path | None, dict[str, Any]]:
    return value, _toml(ctx, option, value)


@click.command("tune", cls=_Command, short_help="Find how a training makes the most of this machine.")
@click.argument("algorithm", required=False)
@_env
@click.option("--mode", type=OneOf(["sync", "pipelined", "free"]), help="The mode.  [default: sync or pipelined]")
@click.option("--lag", type=COUNT, metavar="N", help="Rounds by which weights are late, where there is a choice.")
@click.option("--ratio", type=float, metavar="R", help="Updates for each environment step, for updates_per_step.")
@click.option("--cores", type=COUNT, metavar="N", help="The most workers to use.  [default: all cores]")
@click.option("--seconds", type=float, metavar="S", default=1.0, show_default=True, help="Of each measurement.")
@click.option("--few", type=COUNT, metavar="N", default=4, show_default=True, help="Candidates that are measured.")
@click.option("--inference", type=OneOf(["actors", "central"]), help="As of reactors train.")
@click.option("--double-buffer", is_flag=True, default=None, help="As of reactors train.")
@click.option("--loaders", type=NATURAL, metavar="N", help="As of reactors train.")
@_seed
@click.option("--device", metavar="NAME", help="Where learners reckon.  [default: cpu]")
@click.option(
    "--config",
    "config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=_file_and_toml,
    metavar="FILE.toml",
    help="As of reactors train; what is tuned is not read from it.",
)
@click.option(
    "--set", "given", multiple=True, metavar="KEY=VALUE", callback=_settings, help="A hyperparameter. Repeatable."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.toml",
    help="Write what was found, for reactors train --config.",
)
@_json
def tune_command(
    *,
    algorithm: str | None,
    env: str | None,
    config: tuple[Path | None, dict[str, Any]],
    given: dict[str, str],
    output: Path | None,
    as_json: bool,
    ratio: float | None,
    cores: int | None,
    seconds: float,
    few: int,
    **values: Any,
) -> None:
    """Measure how fast ALGORITHM plays, learns, and does both, and pick actors, learners, workers and mode.

    It prints what it measured, and the command that trains in that way.
    """
    with misuse():
        from reactors.command.toml import document
        from reactors.rl.runs.settings import plain
        from reactors.rl.tuning.tuning import tune

        file, settings = config
        named = {"algorithm": algorithm, "env": env}
        settings = {**settings, **{name: value for name, value in named.items() if value is not None}}
        said = {name: value for name, value in values.items() if value is not None}
        hyperparameters = settings.pop("hyperparameters", {})
        env_kwargs = settings.pop("env_kwargs", {})
        _check_keys(settings, hyperparameters, env_kwargs)
        for name in _APART:
            if settings.get(name) is not None:
                raise ArgumentError(f"--config: {name} is for a learner of each half, and those cannot be tuned")
        if output is not None and not output.absolute().parent.is_dir():
            raise ArgumentError(f"there is no folder {str(output.parent)!r} for {output.name}")
        made, env_id = _chosen(settings, hyperparameters, given, env_kwargs, "tune dqn --env CartPole-v1")
        known = {name: value for name, value in {**settings, **said}.items() if name in values}
        tuned = tune(
            made, env_id, ratio=ratio, cores=cores, seconds=seconds, few=few, env_kwargs=env_kwargs,
            tell=lambda what: click.echo(f"measuring {what}", err=True), **known,
        )  # fmt: skip
        changed = {**given, **({} if ratio is None else {"updates_per_step": ratio})}
        name = type(made).__name__.lower()
        if output is not None:
            hyperparameters = {key: plain(getattr(tuned.algorithm, key)) for key in {**hyperparameters, **changed}}
            tables = {"hyperparameters": hyperparameters, "env_kwargs": env_kwargs}
            output.write_text(
                document({"algorithm": name, "env": env_id, **settings, **said, **tuned.options, **tables})
            )
            command = ["--config", str(output)]
        else:
            command = [name, "--env", env_id, *([] if file is None else ["--config", str(file)])]
            command += _spelled({**said, **tuned.options}, changed)
    line = f"reactors train {shlex.join(command)}"
    if as_json:
        click.echo(json_line({**tuned.plain(), "command": line}))
    else:
        click.echo(f"{tuned.tables()}\n\n{tuned.sentence()}\n{line}")


def _spelled(options: dict[str, Any], hyperparameters: dict[str, Any]) -> list[str]:
    """As one writes it on a command line."""
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    for name, value in hyperparameters.items():
        words += ["--set", f"{name}={value}"]
    return words


COMMANDS = (train_command, tune_command, eval_command, play_command, compare_command)
