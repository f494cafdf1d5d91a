"""`reactors join`: this machine takes part in a program that another one runs."""

from __future__ import annotations

from pathlib import Path

import click

from reactors.command.tracebacks import reported
from reactors.errors import MachineError
from reactors.time import duration
from reactors_runtime.machines.channel import NotOurs, address_of
from reactors_runtime.processes.servers import close_server


@click.command("join", short_help="Take part in a program that another machine runs.")
@click.argument("address", metavar="HOST:PORT")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="What proves that this machine, and that one, belong to the job: the same bytes on both.",
)
@click.option("--patience", metavar="DURATION", default="60 s", show_default=True, help="Wait so long for it to begin.")
def join_command(address: str, token_file: Path, patience: str) -> None:
    """Take part in the program that rx.run(..., machines=rx.Machines(listen="HOST:PORT", ...)) runs, once.

    It sends this machine its workers' share, and this machine runs whatever code that is.
    """
    from reactors.machines.machines import read_token
    from reactors_runtime.machines.joining import Refused, join

    with reported():
        try:
            where = address_of(address)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        try:
            join(where, read_token(token_file), patience=duration(patience) / 1e9)
        except Refused as refused:
            raise MachineError(f"{address} refuses this machine: {refused}") from None
        except NotOurs as other:
            raise MachineError(f"{address} is not who it should be: {other}") from None
        except (OSError, EOFError) as error:
            raise MachineError(f"{address} is gone, or cannot be reached: {error}") from None
        finally:
            close_server()
