"""The commands `reactors train`, `eval`, `play` and `compare`.

What they need, torch before all, is imported inside of them, so that `reactors --help` is quick.
"""

from __future__ import annotations

import json
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.errors import ArgumentError, ParameterError
from reactors.tracebacks import reported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.rl.training.run_folder import RunFolder

# Of a run that goes on, what may be said anew; the rest is as it was.
_ANEW = (
    "total_steps", "workers", "device", "actor_device", "critic_device", "eval_every", "checkpoint_every", "stop_at",
    "view_every",
)  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "total_steps": 100_000, "workers": 1, "mode": "sync", "seed": 0, "device": "cpu", "lag": None, "actors": 2,
    "inference": "actors", "double_buffer": False, "loaders": 0,
    "eval_every": None, "checkpoint_every": None, "stop_at": None, "view_every": None,
    "learners": 1, "actor_device": None, "critic_device": None, "exchange_every": None, "adapt": False,
}  # fmt: skip
_folder = click.Path(file_okay=False, path_type=Path)
_count = click.IntRange(1)
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON, the last one.")
_seed = click.option("--seed", type=click.IntRange(0), metavar="N", help="What all random numbers follow from.")


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


@click.command("train", short_help="Train an algorithm in an environment.")
@click.argument("algorithm", required=False)
@click.option("--env", metavar="ID", help="A Gymnasium environment.")
@click.option("--total-steps", type=_count, metavar="N", help="Environment steps of all actors.  [default: 100000]")
@click.option("--workers", type=click.IntRange(1, 64), metavar="N", help="How many run at once.  [default: 1]")
@click.option("--actors", type=_count, metavar="N", help="Reactors that share the environments.  [default: 2]")
@click.option(
    "--mode", type=click.Choice(["sync", "pipelined", "free"]), help="How they wait for each other.  [default: sync]"
)
@click.option("--lag", type=_count, metavar="N", help="Rounds by which weights are late.  [default: 2 if pipelined]")
@click.option(
    "--inference",
    type=click.Choice(["actors", "central"]),
    help="Each actor has a policy, or one acts for all.  [default: actors]",
)
@click.option(
    "--double-buffer",
    is_flag=True,
    default=None,
    help="With central inference: act for one half of the environments while the other is simulated.",
)
@click.option("--loaders", type=click.IntRange(0), metavar="N", help="Reactors that make batches.  [default: 0]")
@_seed
@click.option("--device", metavar="NAME", help="Where the learner reckons.  [default: cpu]")
@click.option(
    "--learners", type=_count, metavar="N", help="Learners that share each batch: mean gradients.  [default: 1]"
)
@click.option("--actor-device", metavar="NAME", help="Where the actor learns, apart from its critics (SAC, TD3, DDPG).")
@click.option("--critic-device", metavar="NAME", help="Where the critics learn.")
@click.option(
    "--exchange-every", type=_count, metavar="N", help="Updates between exchanges of the two.  [default: a round's]"
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
@click.option("--eval-every", type=_count, metavar="N", help="Greedy episodes every N rounds.")
@click.option(
    "--checkpoint-every", type=_count, metavar="N", help="A checkpoint every N rounds; there is always one at the end."
)
@click.option("--resume", type=_folder, metavar="DIR", help="Go on from a run's last checkpoint, or from one of them.")
@click.option("--stop-at", type=float, metavar="RETURN", help="Stop when the mean return of 20 episodes is that.")
@click.option("--tensorboard", is_flag=True, help="Write for TensorBoard, too.")
@click.option("--video", is_flag=True, help="Film the final policy.")
@click.option("--view-every", type=_count, metavar="N", help="An episode as a GIF every N rounds, by another worker.")
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
    """Train ALGORITHM, ppo or dqn for instance, in an environment.

    Options on the command line come before those of --config. Ctrl-C saves and stops; --resume goes on.
    """
    with misuse():
        from reactors.rl.training.live import display
        from reactors.rl.training.run_folder import RunFolder, numbered
        from reactors.rl.training.settings import algorithm_named, with_settings
        from reactors.rl.training.train import train

        settings = dict(settings)
        for name, value in (("algorithm", algorithm), ("env", env)):
            if value is not None:
                settings[name] = value
        said = {name: value for name, value in values.items() if value is not None}
        hyperparameters = settings.pop("hyperparameters", {})
        env_kwargs = settings.pop("env_kwargs", {})
        _check_keys(settings, hyperparameters, env_kwargs)
        if resume is not None:
            before = _run_of(resume)
            _refuse_changes(before, {**settings, **said}, {**hyperparameters, **given}, env_kwargs)
            options = {name: before.config.get(name, default) for name, default in _DEFAULTS.items()}
            options |= {name: value for name, value in {**settings, **said}.items() if name in _ANEW}
            made, env_id, env_kwargs = before.algorithm, before.config["env"], before.config["env_kwargs"]
            before.maker()  # says why, if it cannot be made
            out = before.path if out is None else out
        else:
            if "algorithm" not in settings or "env" not in settings:
                missing = "the name of an algorithm" if "algorithm" not in settings else "--env"
                raise click.UsageError(
                    f"{missing} is missing; write for instance: reactors train ppo --env CartPole-v1"
                )
            name, env_id = str(settings.pop("algorithm")), str(settings.pop("env"))
            kind = algorithm_named(name)
            made = with_settings(kind, hyperparameters, "--config")
            made = with_settings(kind, {**{key: getattr(made, key) for key in hyperparameters}, **given})
            options = {**_DEFAULTS, **settings, **said}
            _check_env(env_id)
            if out is None:
                out = numbered(Path("runs"), f"{name.lower()}-{env_id.replace('/', '-')}-{options['seed']}")
        shown = display(f"{type(made).__name__} in {env_id}", options["total_steps"])
        try:
            with shown:
                done = train(
                    made, env_id, out=out, resume=resume, env_kwargs=env_kwargs, tensorboard=tensorboard or None,
                    video=video, watch=[shown], **options,
                )  # fmt: skip
        except KeyboardInterrupt:
            if RunFolder(out).result.get("state") == "interrupted":
                click.echo(f"saved; go on with: reactors train --resume {out}", err=True)
            raise
        finally:
            if out.is_dir() and not any(out.iterdir()):
                out.rmdir()  # nothing came of it
    for note in done.notes:
        click.echo(f"note: {note}", err=True)
    result = RunFolder(out).result
    if as_json:
        click.echo(json.dumps({"out": str(out), **result}))
    else:
        returned = "-" if result["return"] is None else f"{result['return']:.1f}"
        click.echo(
            f"{result['steps']:,} steps in {result['seconds']:.1f} s, mean return of the last episodes {returned}"
        )
        click.echo(f"digest {result['digest']}, weights {result['weights']}")
        click.echo(f"all of it is in {out}")


def _check_keys(settings: dict[str, Any], hyperparameters: Any, env_kwargs: Any) -> None:
    from reactors.rl.training.settings import close

    known = ("algorithm", "env", *_DEFAULTS)
    for name in settings:
        if name not in known:
            also = (*known, "hyperparameters", "env_kwargs")
            raise ArgumentError(
                f"--config: there is no option {name!r}{close(name, also)}; there are {', '.join(also)}"
            )
    for name, value in (("hyperparameters", hyperparameters), ("env_kwargs", env_kwargs)):
        if not isinstance(value, dict):
            raise ArgumentError(f"--config: {name} is {value!r}; write a table, [{name}], and its keys below it")


def _check_env(env: str) -> None:
    """Name what may have been meant, which Gymnasium does for versions alone."""
    import gymnasium as gym

    from reactors.rl.training.settings import close

    if ":" not in env and env not in gym.registry:
        try:
            gym.spec(env)
        except gym.error.Error as error:
            raise ArgumentError(f"there is no environment {env!r}{close(env, gym.registry)}: {error}") from None


def _run_of(path: Path) -> RunFolder:
    from reactors.rl.training.checkpoint_files import found
    from reactors.rl.training.run_folder import RunFolder, folder_of

    return RunFolder(folder_of(found(path)))


def _refuse_changes(
    before: RunFolder, options: dict[str, Any], hyperparameters: dict[str, Any], env_kwargs: dict[str, Any]
) -> None:
    """A run that goes on is the same one."""
    from reactors.rl.training.settings import algorithm_named

    if hyperparameters or env_kwargs:
        raise ArgumentError(
            f"--resume: {', '.join([*hyperparameters, *env_kwargs])} cannot be changed in a run that goes on; start "
            "another one"
        )
    if "algorithm" in options:
        options = {**options, "algorithm": algorithm_named(options["algorithm"]).__name__}
    for name, value in options.items():
        was = before.config.get(name, _DEFAULTS.get(name))
        if name not in _ANEW and value != was:
            raise ArgumentError(
                f"--resume: {name} was {was!r} and cannot be {value!r}; leave it out, or start another run"
            )


_run = click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))


@click.command("eval", short_help="Play greedy episodes with a trained policy.")
@_run
@click.option("--episodes", type=_count, metavar="N", default=100, show_default=True)
@_seed
@_json
def eval_command(*, folder: Path, episodes: int, seed: int | None, as_json: bool) -> None:
    """Play greedy episodes with the policy of the run in DIR: their mean, least and greatest return."""
    with misuse():
        from statistics import fmean

        from reactors.rl.training.evaluator import play
        from reactors.rl.training.run_folder import RunFolder

        run = RunFolder(folder)
        returns = play(run.policy(), run.maker(), *run.spaces, episodes, seed or 0)
    found = {"episodes": episodes, "mean": fmean(returns), "min": min(returns), "max": max(returns)}
    if as_json:
        click.echo(json.dumps(found))
    else:
        click.echo("{episodes} greedy episodes: mean {mean:.2f}, least {min:.2f}, greatest {max:.2f}".format(**found))


@click.command("play", short_help="Watch a trained policy, in a window or as a video.")
@_run
@click.option("--episodes", type=_count, metavar="N", default=1, show_default=True)
@_seed
@click.option("--video", type=_folder, metavar="DIR", help="Write videos there, instead of opening a window.")
def play_command(*, folder: Path, episodes: int, seed: int | None, video: Path | None) -> None:
    """Watch the policy of the run in DIR play."""
    with misuse():
        from reactors.rl.training.run_folder import RunFolder
        from reactors.rl.training.watching import check_video, film, rendering, watch

        run = RunFolder(folder)
        if video is not None:
            check_video(run.maker())
            returns = film(run.policy(), run.maker(), video, episodes, seed or 0)
        else:
            returns = watch(run.policy(), rendering(run.maker(), "human"), episodes, seed or 0)
    for number, total in enumerate(returns, 1):
        click.echo(f"episode {number}: return {total:.2f}")
    if video is not None:
        click.echo(f"videos are in {video}")


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
        from reactors.rl.training.curves import curve, table
        from reactors.rl.training.run_folder import RunFolder

        if not output.absolute().parent.is_dir():
            raise ArgumentError(f"there is no folder {str(output.parent)!r} for {output.name}")
        runs = [RunFolder(folder) for folder in folders]
        click.echo(table(runs))
        names = [run.path.name for run in runs]
        curve({run.path.name if names.count(run.path.name) == 1 else str(run.path): run.rows for run in runs}, output)
    click.echo(f"curves are in {output}", file=sys.stdout)


COMMANDS = (train_command, eval_command, play_command, compare_command)
