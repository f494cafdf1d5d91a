"""How is what an error says of Python's arguments said to someone who has typed a command?

Errors and warnings name arguments, for most of them come from functions that scripts call, too. What a command prints
of them comes through here, where arguments that the command has an option for become that option.
"""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VALUE = r"""(?P<value>"[^"]*"|'[^']*'|[\w.+-]*\w)?(?![\w('"])"""
_ARGUMENT = re.compile(
    rf"""
    (?P<call>\b r[xl]\.(?P<function>\w+)\((?:\.\.\.,\ )?                           # rx.run(..., record=...)
        (?P<named>\w+)=(?P<said>[^(),]*)[^()]*\))
    | (?P<other>\b[\w.]+\([^()]*=[^()]*\))                                        # another call, which stays
    | (?<![\w.(/-])(?P<name>[a-z_]+)={_VALUE}(?:\ of\ r[xl]\.(?:run|train|tune))?  # workers=2, record=
    | (?<![\w.(/-])(?P<of>[a-z_]+)\ of\ r[xl]\.(?:run|train|tune)\b               # workers of rx.run
    | \b(?P<kind>[A-Z]\w+)\.preset\([^()]*\)                                      # PPO.preset('CartPole-v1')
    | \brl\.(?P<algorithm>[A-Z]\w+)\b(?![\w.(])                                   # rl.PPO
    | (?<!\ of\ )\br[xl]\.(?P<command>run|train|tune)\b(?!\()                     # rl.train
    | (?<![\w.'"/-])(?P<word>[a-z]+_[a-z_]+)(?![\w('"=./])                        # no word of English
    """,
    re.VERBOSE,
)


def in_options(
    text: str, command: click.Command, but: Iterable[str] = (), others: Mapping[str, click.Command] | None = None
) -> str:
    """The text with this command's options where it names arguments; what it quotes, of those in `but`, stays.

    Calls become one of the `others`, which has its name.

    >>> options = ["--on-error"], ["--workers"], ["--pin/--no-pin"]
    >>> train = click.Command("train", params=[click.Option(each) for each in options])
    >>> in_options('fix it, or restart it with on_error="restart"', train)
    'fix it, or restart it with --on-error restart'
    >>> in_options("workers of rl.train is 0; say workers=, or pin=False; pin=True of rl.train is for 2", train)
    '--workers is 0; say --workers, or --no-pin; --pin is for 2'
    >>> in_options("on_error is for rl.Env", train)
    '--on-error is for rl.Env'
    >>> in_options("it raised ValueError: workers=3; say workers=2", train, but=["workers=3"])
    'it raised ValueError: workers=3; say --workers 2'
    >>> in_options("rl.train(..., workers=2) writes one", click.Command("diff"), others={"train": train})
    'reactors train --workers 2 writes one'
    """
    quoted = sorted({each for each in but if each}, key=len, reverse=True)
    for number, each in enumerate(quoted):
        text = text.replace(each, f"\0{number}\0")
    flags, calls = _flags(command), {name: _flags(other) for name, other in (others or {}).items()}
    algorithms = _algorithms() if "given" in flags else {}
    text = _ARGUMENT.sub(lambda found: _option(found, flags, algorithms, calls), text)
    for number, each in enumerate(quoted):
        text = text.replace(f"\0{number}\0", each)
    return text


def _flags(command: click.Command) -> dict[str, click.Option]:
    return {each.name: each for each in command.params if isinstance(each, click.Option) and each.name}


def _option(
    found: re.Match[str], flags: dict[str, click.Option], algorithms: Mapping[str, Any],
    calls: Mapping[str, dict[str, click.Option]],
) -> str:  # fmt: skip
    if found["call"] and found["named"] in (there := calls.get(found["function"], {})):
        return f"reactors {found['function']} {_with_value(there[found['named']], _plain(found['said']))}"
    if (name := found["of"] or found["word"]) in flags:
        return _flag(flags[name])
    if found["kind"] and "preset" in flags:
        return "--preset"
    if found["command"]:
        return f"reactors {found['command']}"
    if found["algorithm"] and found["algorithm"].lower() in algorithms:
        return found["algorithm"].lower()
    name, value = found["name"], _plain(found["value"] or "")
    if name in flags:
        return _with_value(flags[name], value)
    if value and any(each.name == name and each.init for kind in algorithms.values() for each in fields(kind)):
        return f"--set {name}={value}"
    return found[0]


def _plain(value: str) -> str:
    """A value as a command line has it; nothing where only dots stand for it."""
    return value.strip("\"'").removeprefix("...")


def _with_value(option: click.Option, value: str) -> str:
    if value == "False":
        return next(iter(option.secondary_opts), f"no {_flag(option)}")
    return _flag(option) if value in ("", "True") or option.is_flag else f"{_flag(option)} {value}"


def _flag(option: click.Option) -> str:
    return max(option.opts, key=len)


def _algorithms() -> dict[str, Any]:
    """Those that `--set` is for, by name; none where they have not been imported, which takes seconds."""
    settings = sys.modules.get("reactors.rl.runs.settings")
    return {} if settings is None else settings.algorithms()
