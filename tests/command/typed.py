"""A command as it is typed, and settings with which a training takes a second."""

from __future__ import annotations

from click.testing import CliRunner, Result

from reactors.command.cli import main

SMALL = ("--set", "num_envs=4", "--set", "horizon=16", "--set", "epochs=1", "--set", "hidden=8", "--total-steps", "640")


def reactors(*arguments: object) -> Result:
    """What it prints, and its exit status."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])
