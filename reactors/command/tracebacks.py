"""What does a user of the command see when something goes wrong?

An error of ours is its message alone. Whatever else the user's own code raises, when its file is imported, a reactor
made or a reaction run, is shown as Python shows it, without lines that are ours. With `--traceback` all is shown.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

import reactors
import reactors_runtime
from reactors.command.words import in_options
from reactors.errors import ReactionError, ReactorError, ReactorWarning, missing
from reactors.reports.aside import Aside, unread
from reactors.script import WrongTarget

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_OURS = tuple(str(Path(file).parent) for file in (reactors.__file__, reactors_runtime.__file__, click.__file__) if file)
_WHOLE = "reactors.traceback"  # of the context: whether lines of ours are shown, too


def whole_tracebacks(command: click.Command) -> click.Command:
    """Give a command the option `--traceback`."""

    def keep(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
        ctx.meta[_WHOLE] = value

    what = "When something goes wrong, show all of Python's traceback."
    command.params.append(click.Option(["--traceback"], is_flag=True, expose_value=False, callback=keep, help=what))
    return command


@contextmanager
def reported() -> Iterator[None]:
    """Show what goes wrong, and end the process with the exit status that belongs to it."""
    try:
        with warnings.catch_warnings():
            _show_warnings()
            yield
    except (click.ClickException, WrongTarget, BrokenPipeError):  # of the last, click knows what to do
        raise
    except KeyboardInterrupt:
        tell("interrupted", err=True)
        sys.exit(130)
    except ReactorError as error:
        shown_whole(error)
        if not _whole() and isinstance(error, ReactionError) and error.__cause__ is not None:
            if error.trail:
                tell(error.trail, end="", err=True)
            elif not isinstance(error.__cause__, ReactorError):
                _show(error.__cause__)
        tell(f"error: {said(error)}", err=True)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - whatever the user's code raises
        lacking = missing(error) if isinstance(error, ModuleNotFoundError) and _raised_by_us(error) else None
        if lacking is None or _whole():
            _show(error)
        if lacking is not None:
            tell(f"error: {lacking}", err=True)
        sys.exit(1)


def tell(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Print it, if anybody still reads: the exit status says how it went, and not whether that was heard."""
    if err:
        print(text, end=end, file=Aside(sys.stderr), flush=True)
    else:
        with unread(sys.stdout):
            print(text, end=end, flush=True)


def shown_whole(error: BaseException) -> None:
    """Print all of the traceback, if `--traceback` asks for it."""
    if _whole():
        _show(error)


def said(error: BaseException) -> str:
    """What an error says, and its notes, in the words of the command."""
    theirs, each = [], error.__cause__ or error.__context__
    while each is not None:
        theirs += [] if isinstance(each, ReactorError) else [str(each)]
        each = each.__cause__ or each.__context__
    return spoken("\n".join([str(error), *getattr(error, "__notes__", ())]), *theirs)


def spoken(text: str, *quoted: str) -> str:
    """A text in the words of the command that runs; `quoted` are parts of it that are the user's own."""
    context = click.get_current_context(silent=True)
    if context is None:
        return text
    return in_options(text, context.command, quoted, getattr(context.find_root().command, "commands", {}))


def _show_warnings() -> None:
    """Have warnings of ours printed in the words of the command, and without a line of Python."""
    before = warnings.showwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: object = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        if issubclass(category, ReactorWarning):
            tell(f"warning: {spoken(str(message))}", err=True)
        else:
            before(message, category, filename, lineno, file, line)  # type: ignore[arg-type]

    warnings.showwarning = show


def _whole() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_WHOLE))


def _show(error: BaseException) -> None:
    shown = error if _whole() else error.with_traceback(_theirs(error))
    tell("".join(traceback.format_exception(shown)), end="", err=True)


def _raised_by_us(error: BaseException) -> bool:
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return _is_ours(frame.f_code.co_filename)


def _theirs(error: BaseException) -> TracebackType | None:
    """The traceback from the first line of the user's; all of it, if the fault is ours."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace if trace is not None or isinstance(error, SyntaxError) else error.__traceback__


def _is_ours(file: str) -> bool:
    return file.startswith((*_OURS, "<frozen importlib"))
