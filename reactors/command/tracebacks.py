"""What does a user of the command see when something goes wrong?

An error of ours is its message alone. Whatever else the user's own code raises, when its file is imported, a reactor
made or a reaction run, is shown as Python shows it, from the first line that is not ours.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

import reactors
import reactors_runtime
from reactors.errors import ReactionError, ReactorError
from reactors.script import WrongTarget

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_OURS = tuple(str(Path(file).parent) for file in (reactors.__file__, reactors_runtime.__file__, click.__file__) if file)


@contextmanager
def reported() -> Iterator[None]:
    """Show what goes wrong, and end the process with the exit status that belongs to it."""
    try:
        yield
    except (click.ClickException, WrongTarget, BrokenPipeError):  # of the last, click knows what to do
        raise
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except ReactorError as error:
        if isinstance(error, ReactionError) and error.__cause__ is not None:
            _show(error.__cause__)
        click.echo("\n".join([f"error: {error}", *getattr(error, "__notes__", ())]), err=True)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - whatever the user's code raises
        _show(error)
        sys.exit(1)


def _show(error: BaseException) -> None:
    click.echo("".join(traceback.format_exception(error.with_traceback(_theirs(error)))), nl=False, err=True)


def _theirs(error: BaseException) -> TracebackType | None:
    """The traceback from the first line of the user's; all of it, if the fault is ours."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace if trace is not None or isinstance(error, SyntaxError) else error.__traceback__


def _is_ours(file: str) -> bool:
    return file.startswith((*_OURS, "<frozen importlib"))
