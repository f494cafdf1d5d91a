"""The commands `reactors replay` and `bisect`: a run, or a program, is executed again, and gone through."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reactors.command.options import misuse, of_env, of_own_algorithm
from reactors.command.tracebacks import reported
from reactors.command.values import COUNT, NATURAL
from reactors.errors import ArgumentError, ReactorError
from reactors.reports.json_text import json_line
from reactors.script import WrongTarget, reactor_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reactors.rewinding.replay import Replay


def _of_program(function: Callable[..., None]) -> Callable[..., None]:
    """What is executed again: the folder of a training, or FILE[:CLASS], with what it was run with."""
    for decorate in reversed(
        (
            click.argument("target", metavar="DIR|FILE[:CLASS]"),
            click.option(
                "--seed",
                type=NATURAL,
                metavar="N",
                show_default="0",
                help="The seed of the run, with FILE.",
            ),
            click.option("--timeout", metavar="DURATION", help="Logical time at which the run ends, with FILE."),
            click.option(
                "--log",
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                metavar="LOG",
                help="What came from outside, as `reactors run --record` wrote it, with FILE.",
            ),
            of_own_algorithm,
            of_env,
        )
    ):
        function = decorate(function)
    return function


@contextmanager
def _replay(
    target: str, seed: int | None, timeout: str | None, log: Path | None, algorithm: str | None, env: str | None
) -> Iterator[Replay]:
    from reactors.rewinding.replay import Replay

    if Path(target).is_dir():
        from reactors.command.options import run_in

        said = [name for name, value in (("--seed", seed), ("--timeout", timeout), ("--log", log)) if value is not None]
        if said:
            raise click.UsageError(
                f"{target} is the folder of a training, which has its own; leave out {', '.join(said)}"
            )
        with misuse():
            run = run_in(Path(target), algorithm, env)
            given: dict[str, Any] = {"algorithm": run.algorithm, "env": run.env, "env_kwargs": run.env_kwargs}
            replay = Replay(target, **given)
    else:
        with reported():
            try:
                made = reactor_class(target)()
            except WrongTarget as error:
                raise click.UsageError(str(error)) from None
            replay = Replay(made, seed=seed or 0, timeout=timeout, replay=log)
    with reported(), replay:
        yield replay


@click.command("replay", short_help="Execute a run again, up to any place, and look around there.")
@_of_program
@click.option(
    "--to",
    "when",
    metavar="DURATION|REACTION",
    help='Go to a time ("37 min"), or before an execution of a reaction (main.learner.learn).',
)
@click.option(
    "--n", type=COUNT, metavar="N", default=1, show_default=True, help="With --to REACTION: before its N-th execution."
)
@click.option(
    "--stop-at", multiple=True, metavar="WHERE", help="Go on until this reaction, port or expression; repeatable."
)
@click.option(
    "--ask",
    multiple=True,
    metavar="EXPRESSION",
    help="Print the value of an expression there; m is the program. Repeatable.",
)
@click.option("--why", metavar="PLACE", help="Print where the value of a port or attribute came from.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="PICTURE", help="With --why: draw it as well.")
@click.option("--shell", "prompt", is_flag=True, help="Open a prompt there; r is the replay, m the program.")
def replay_command(
    *,
    target: str,
    when: str | None,
    n: int,
    stop_at: tuple[str, ...],
    ask: tuple[str, ...],
    why: str | None,
    output: Path | None,
    prompt: bool,
    **given: Any,
) -> None:
    """Execute the run in DIR, or the program in FILE, again: to its end, or to where --to and --stop-at say."""
    if output is not None and why is None:
        raise click.UsageError("-o is for --why: of which port or attribute?")
    with _replay(target, **given) as r:
        if when is not None:
            r.to(when, n) if when in r.graph.names else r.to(when)
        if stop_at:
            r.stop_at(*stop_at).go()
        if when is None and not stop_at and not prompt:
            r.end()
        if not prompt:
            click.echo(repr(r))
        for question in ask:
            click.echo(repr(_answer(r, question)))
        if why is not None:
            found = r.why(why)
            click.echo(str(found))
            if output is not None:
                found.draw(output)
        if prompt:
            from reactors.rewinding.shell import shell

            shell(r)


def _answer(r: Replay, question: str) -> Any:
    try:
        return r.ask(question)
    except ReactorError:
        raise
    except Exception as error:
        raise ArgumentError(f"--ask: {question!r} raises {type(error).__name__}: {error}") from error


@click.command("bisect", short_help="Find the reaction since which a check fails.")
@_of_program
@click.option(
    "--check", required=True, metavar="EXPRESSION", help='What should hold, as in "np.isfinite(m.learner.w).all()".'
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON.")
def bisect_command(*, target: str, check: str, as_json: bool, **given: Any) -> None:
    """Find the first reaction after which --check fails; m is the program. Exit status 1 if it never does."""
    with _replay(target, **given) as r:
        found = r.bisect(check)
        if as_json:
            fact = None if found is None else {**vars(found), "tag": [*found.tag]}
            click.echo(json_line({"found": fact}))
        elif found is None:
            click.echo(f"{check} holds at the end")
        else:
            click.echo(f"since {found.tag}: {found.reaction or 'a C function'}, {found.executions} executions")
    if found is None:
        raise SystemExit(1)
