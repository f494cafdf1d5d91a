"""The command `reactors train`.

What it needs, torch before all, is imported inside of it, so that `reactors --help` is quick.
"""

from __future__ import annotations

import math
import shlex
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.command.options import Asked, File, TrainingCommand, misuse, of_env, options, run_in, settings
from reactors.command.options import as_json as _json
from reactors.command.tracebacks import spoken, tell
from reactors.errors import ArgumentError
from reactors.reports.json_text import json_line
from reactors.rl.opponents import Past
from reactors.rl.options import Options, names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.runs.run_folder import RunFolder


@click.command("train", cls=TrainingCommand, short_help="Train an algorithm in an environment.")
@click.argument("algorithm", required=False)
@of_env
@options(Options)
@settings
@_json
def train_command(
    *,
    algorithm: str | None,
    env: str | None,
    file: File,
    given: dict[str, str],
    env_given: dict[str, Any],
    preset: bool,
    resume: Path | None,
    out: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Train ALGORITHM, ppo or dqn for instance, or FILE:CLASS with one of your own, in an environment.

    Options on the command line come before those of --config. Ctrl-C saves and stops; --resume goes on.
    """
    made_for_it: Path | None = None
    with misuse():
        asked = Asked.of(file, algorithm, env, given, env_given, values, preset=preset)
        try:
            from reactors.rl.checkpoints.files import found
            from reactors.rl.runs.again import rounds_of
            from reactors.rl.runs.live import display
            from reactors.rl.runs.run_folder import RunFolder, folder_of, numbered
            from reactors.rl.runs.train import train

            options, env_kwargs = asked.options, asked.env_kwargs
            if resume is not None:
                said = asked.settings.get("algorithm"), asked.settings.get("env")
                before = run_in(folder_of(found(resume)), *said, trains=True)
                options = _going_on(before, asked)
                before.maker()  # says why, if it cannot be made
                made, source, env_kwargs = before.algorithm, before.env, dict(before.env_kwargs)
                named = before.config["env"]
                out = before.path if out is None else out
            else:
                made, source = asked.made("train ppo --env CartPole-v1")
                named = source
                if out is None:
                    words = (
                        type(made).__name__.lower(),
                        named.rpartition(":")[2].replace("/", "-"),
                        _said(options, "seed"),
                    )
                    out = made_for_it = numbered(Path("runs"), "-".join(map(str, words)))
            folder: Path = out
            steps = min(_said(options, "total_steps"), options.get("until") or math.inf)
            each = made.horizon * made.num_envs
            whole = rounds_of(made, steps) * each
            shown = display(f"{type(made).__name__} in {named}", whole)
            alone = bool(options.get("live"))  # two that draw would be in each other's way
            with nullcontext() if alone else shown:
                watch = [] if alone else [shown]
                done = train(made, source, out=out, resume=resume, env_kwargs=env_kwargs, watch=watch, **options)
        except KeyboardInterrupt:
            tell(_left(out, asked.settings), err=True)
            raise
        finally:
            if made_for_it is not None:
                with suppress(OSError):  # something came of it
                    made_for_it.rmdir()
    for note in done.notes:
        tell(f"note: {spoken(note)}", err=True)
    result = RunFolder(folder).result
    if as_json:
        tell(json_line({"out": str(folder), **result}))
    else:
        rounded = f" ({steps:,} in whole rounds of {each:,})" if result["steps"] == whole != steps else ""
        returned = "-" if result["return"] is None else f"{result['return']:.1f}"
        each_got = ", ".join(f"{name} {x:.1f}" for name, x in result["returns"].items())
        returned += f" ({each_got})" if each_got else ""
        greedy = ""
        if result["evaluated_at"] is not None:
            against = f" and {result['against_random']:.1f} against random agents" if "against_random" in result else ""
            greedy = f", of greedy ones {result['evaluation']:.1f}{against} at step {result['evaluated_at']:,}"
        tell(
            f"{result['steps']:,} steps{rounded} in {result['seconds']:.1f} s, mean return of the last episodes "
            f"{returned}{greedy}"
        )
        tell(f"digest {result['digest']}, weights {result['weights']}")
        tell(f"all of it is in {folder}")


@click.command("presets", short_help="List the presets of algorithms.")
@click.argument("algorithm", required=False)
def presets_command(*, algorithm: str | None) -> None:
    """List the environments for which algorithms have a preset, and where its numbers are from.

    Of ALGORITHM, or of all. `reactors train` takes them unless it is told --no-preset, and prints them.
    """
    with misuse():
        from reactors.lowlevel import did_you_mean
        from reactors.rl.contract.presets.tables import presets

        found = presets()
        names = {name.lower(): name for name in found}
        if algorithm is not None and algorithm.lower() not in names:
            others = did_you_mean(algorithm, names) or f"; {', '.join(names)} have some"
            raise ArgumentError(f"{algorithm!r} has no presets{others}")
        for name in found if algorithm is None else [names[algorithm.lower()]]:
            wide = max(map(len, found[name]))
            click.echo(f"{name}\n" + "\n".join(f"  {env:{wide}}  {source}" for env, source in found[name].items()))


def _left(out: Path | None, asked: Mapping[str, Any]) -> str:
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
    algorithm, env = asked.get("algorithm"), asked.get("env")
    if algorithm is not None and ":" in algorithm:
        command.append(algorithm)
    if env is not None and run.config.get("env_file") is not None:
        command += ["--env", env]
    saved = "saved" if run.result.get("state") == "interrupted" else f"stopped at once, after the checkpoint {last}"
    return f"{saved}; go on with: {shlex.join([*command, '--resume', str(out)])}"


def _said(options: dict[str, Any], name: str) -> Any:
    return options.get(name, getattr(Options, name))


def _going_on(before: RunFolder, asked: Asked) -> dict[str, Any]:
    """Options of a run that goes on: those that it had, but for what may change. `ArgumentError` for what may not."""
    from reactors.rl.runs.run_folder import described
    from reactors.rl.runs.settings import algorithm_named

    if asked.hyperparameters or asked.given or asked.env_kwargs:
        changed = [*asked.hyperparameters, *asked.given, *asked.env_kwargs]
        raise ArgumentError(
            f"--resume: {', '.join(dict.fromkeys(changed))} cannot be changed in a run that goes on; start another one"
        )
    fixed = {name: value for name, value in asked.options.items() if name in names("program")}
    if fixed.get("opponents") is not None:
        fixed["opponents"] = str(Past.of(fixed["opponents"]))
    if "algorithm" in asked.settings:
        fixed["algorithm"] = algorithm_named(asked.settings["algorithm"]).__name__
    if "env" in asked.settings:
        fixed["env"] = described(asked.settings["env"], {}, "--env", many=before.many)["env"]
    for name, value in fixed.items():
        was = before.config.get(name, getattr(Options, name, None))
        if value != was:
            raise ArgumentError(
                f"--resume: {name} was {was!r} and cannot be {value!r}; leave it out, or start another run"
            )
    had = {name: before.config[name] for name in names("program", "run") if name in before.config}
    return {**had, **asked.options}
