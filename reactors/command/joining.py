"""`reactors join`: this machine takes part in a program that another one runs."""

from __future__ import annotations

from pathlib import Path

import click

from reactors.command.tracebacks import reported
from reactors.errors import MachineError
from reactors.time import duration
from reactors_runtime.machines.channel import NotOurs, address_of
from reactors_runtime.processes.servers import close_server

_path = click.Path(dir_okay=False, path_type=Path)


@click.command("join", short_help="Join a program that another machine runs.")
@click.argument("address", metavar="HOST:PORT")
@click.option(
    "--token-file",
    type=_path,
    metavar="FILE",
    required=True,
    help="The secret that both machines must have: the same bytes on both.",
)
@click.option(
    "--ca", type=_path, metavar="FILE", help="Use TLS: the certificates that vouch for the other machine (PEM)."
)
@click.option(
    "--certificate", type=_path, metavar="FILE", help="With more than two machines: this machine's own certificate."
)
@click.option("--key", type=_path, metavar="FILE", help="The certificate's.  [default: in the same file]")
@click.option(
    "--patience",
    metavar="DURATION",
    default="60 s",
    show_default=True,
    help="How long to wait for the program to begin.",
)
def join_command(
    *, address: str, token_file: Path, ca: Path | None, certificate: Path | None, key: Path | None, patience: str
) -> None:
    """Take part in the program that rx.run(..., machines=rx.Machines(listen="HOST:PORT", ...)) runs, once.

    It sends this machine its workers' share, and this machine runs whatever code that is.
    """
    from reactors.machines.machines import read_identity, read_token
    from reactors_runtime.machines.connections import Peer
    from reactors_runtime.machines.encryption import NoCertificate, trusting
    from reactors_runtime.machines.joining import Refused, join

    if ca is None and certificate is not None:
        raise click.UsageError("--certificate is for machines that encrypt; give --ca, too")
    if certificate is None and key is not None:
        raise click.UsageError("--key is that of --certificate; give that, too")
    with reported():
        try:
            where = address_of(address)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        own = None if certificate is None else read_identity(certificate, key)
        try:
            leader = Peer(where, read_token(token_file), None if ca is None else trusting(ca))
            join(leader, own=own, patience=duration(patience) / 1e9)
        except NoCertificate as error:
            raise MachineError(str(error)) from None
        except Refused as refused:
            raise MachineError(f"{address} refuses this machine: {refused}") from None
        except NotOurs as other:
            raise MachineError(f"{address} is not who it should be: {other}") from None
        except (OSError, EOFError) as error:
            raise MachineError(f"{address} is gone, or cannot be reached: {error}") from None
        finally:
            close_server()
