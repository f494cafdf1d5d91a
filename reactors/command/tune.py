"""The command `reactors tune`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from reactors.command.options import Asked, File, TrainingCommand, misuse, of_env, options, settings
from reactors.command.options import as_json as _json
from reactors.errors import ArgumentError
from reactors.reports.json_text import json_line
from reactors.rl.options import ARGUMENTS, TuningOptions, flag

_APART = ("actor_device", "critic_device", "exchange_every")


@click.command("tune", cls=TrainingCommand, short_help="Find how a training makes the most of this machine.")
@click.argument("algorithm", required=False)
@of_env
@options(TuningOptions)
@settings
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
    file: File,
    given: dict[str, str],
    env_given: dict[str, Any],
    preset: bool,
    output: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Measure how fast ALGORITHM plays, learns, and does both, and pick actors, learners, workers and mode.

    It prints what it measured, and the command that trains in that way. What is tuned is not read from --config.
    """
    with misuse():
        from reactors.command.toml import document
        from reactors.rl.runs.settings import plain
        from reactors.rl.tuning.tuning import tune

        asked = Asked.of(file, algorithm, env, given, env_given, values, preset=preset)
        for name in _APART:
            if asked.settings.get(name) is not None:
                raise ArgumentError(f"--config: {name} is for a learner of each half, and those cannot be tuned")
        if output is not None and not output.absolute().parent.is_dir():
            raise ArgumentError(f"there is no folder {str(output.parent)!r} for {output.name}")
        if output is not None:
            document({"env_kwargs": asked.env_kwargs})  # refuses before anything is measured
        made, env_id = asked.made("tune dqn --env CartPole-v1")
        known = {name: value for name, value in asked.options.items() if name in values}
        tuned = tune(
            made, env_id, env_kwargs=asked.env_kwargs, tell=lambda what: click.echo(f"measuring {what}", err=True),
            **known,
        )  # fmt: skip
        said = {name: value for name, value in asked.said.items() if name in ARGUMENTS}
        chosen = {"updates_per_step": "ratio", "batch_size": "batch_sizes", "fanout": "fanouts"}
        changed = given | {key: getattr(tuned.algorithm, key) for key, asked_by in chosen.items() if values[asked_by]}
        name = type(made).__name__.lower()
        if output is not None:
            found = {key: plain(getattr(tuned.algorithm, key)) for key in {**asked.hyperparameters, **changed}}
            hyperparameters = {key: value for key, value in found.items() if value is not None}
            tables = {"hyperparameters": hyperparameters, "env_kwargs": asked.env_kwargs}
            kept = {key: value for key, value in asked.options.items() if key in ARGUMENTS}
            named = {"algorithm": name, "env": env_id}
            output.write_text(document({**named, **kept, **tuned.options, **tables}))
            command = ["--config", str(output), *([] if preset else ["--no-preset"])]
        else:
            command = [name, "--env", env_id, *([] if file.path is None else ["--config", str(file.path)])]
            command += [] if preset else ["--no-preset"]
            command += _spelled({**said, **tuned.options}, changed, env_given)
    line = f"reactors train {shlex.join(command)}"
    if as_json:
        click.echo(json_line({**tuned.plain(), "command": line}))
    else:
        click.echo(f"{tuned.tables()}\n\n{tuned.sentence()}\n{line}")


def _spelled(options: dict[str, Any], hyperparameters: dict[str, Any], env_kwargs: dict[str, Any]) -> list[str]:
    """As one writes it on a command line."""
    words = []
    for name, value in options.items():
        words += [flag(f"no_{name}" if value is False else name), *([] if isinstance(value, bool) else [str(value)])]
    for name, value in hyperparameters.items():
        words += ["--set", f"{name}={value}"]
    for name, value in env_kwargs.items():
        words += ["--env-kwargs", f"{name}={json.dumps(value)}"]
    return words
