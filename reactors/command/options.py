"""What do several commands about training take, and how does an option of `rl.options` become one of a command?"""

from __future__ import annotations

import json
import tomllib
import typing
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import click

from reactors.command.parameters import reading
from reactors.command.tracebacks import reported, said, shown_whole, tell
from reactors.command.values import WHOLES, WORKERS, OneOf, Whole
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.options import Options, SharedOptions, default_words, flag, names, types_of, without_none
from reactors.rl.synonyms import is_option, no_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.runs.run_folder import RunFolder

Decorated = TypeVar("Decorated", bound="Callable[..., Any]")


def options(kind: type[SharedOptions], *only: str) -> Callable[[Decorated], Decorated]:
    """Decorates a command with the options that the fields of this class are, or with some of them.

    None of them has a default for click: what is not said is not passed on.
    """
    hints = types_of(kind)  # type: ignore[arg-type]
    found = [each for each in fields(kind) if each.metadata["command"] and (not only or each.name in only)]

    def decorated(command: Decorated) -> Decorated:
        for each in reversed(found):
            default = default_words(each)
            text = f"{each.metadata['help']}.{default and f'  [default: {default}]'}"
            no = f"/{flag('no_' + each.name)}" if each.type == "Pin" else ""
            reading = _reading(hints[each.name], each)
            command = click.option(flag(each.name) + no, default=None, help=text, **reading)(command)
        return command

    return decorated


def _reading(hint: Any, each: Any) -> dict[str, Any]:
    hint = without_none(hint)
    parts = typing.get_args(hint)
    if hint is bool or bool in parts:
        return {"is_flag": True}
    if Path in parts:
        return {"type": FOLDER, "metavar": "DIR"}
    if typing.get_origin(hint) is tuple:
        return {"type": WHOLES, "metavar": each.metadata["metavar"]}
    metavar = {"metavar": each.metadata["metavar"]} if each.metadata["metavar"] else {}
    if typing.get_origin(hint) is typing.Literal and each.metadata["wanted"]:
        return {"type": OneOf(parts, each.metadata["wanted"])}
    if each.type == "Workers":
        return {"type": WORKERS, "metavar": "N"}
    if typing.get_origin(hint) is Annotated and parts[0] is int:
        return {"type": Whole(int(parts[1].least)), "metavar": "N"}
    return {**reading(parts[0] if typing.get_origin(hint) is Annotated else hint), **metavar}


FOLDER = click.Path(file_okay=False, path_type=Path)
"""A folder, which need not be there."""

of_run = click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
of_own_algorithm = click.option(
    "--algorithm", metavar="FILE:CLASS", help="Your own algorithm, which is imported from there."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as one line of JSON, the last one.")
of_env = click.option(
    "--env",
    metavar="NAME",
    help="An id of Gymnasium's, module:Id, FILE:CLASS, module:CLASS, atari:GAME or minatar:GAME; of many agents an id "
    "of PettingZoo's, as classic/connect_four_v3, or module:name, as mpe2:simple_spread_v3.",
)


class File(NamedTuple):
    """A file of options, if one was given, and what it says."""

    path: Path | None
    settings: dict[str, Any]


def _file(_ctx: click.Context, _option: click.Parameter, value: Path | None) -> File:
    if value is None:
        return File(None, {})
    try:
        return File(value, tomllib.loads(value.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{value} is no TOML: {error}") from None


def _pairs(values: tuple[str, ...], example: str) -> dict[str, str]:
    found = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r}; write KEY=VALUE, as in {example}")
        found[name.strip()] = text.strip()
    return found


def _literals(values: tuple[str, ...]) -> dict[str, Any]:
    """Numbers, booleans and lists as JSON has them; all else is text."""
    found: dict[str, Any] = {}
    for name, text in _pairs(values, "difficulty=2").items():
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


def settings(command: Decorated) -> Decorated:
    """Decorates a command with `--config`, `--set`, `--env-kwargs` and `--preset`."""
    of_hyperparameter = click.option(
        "--set",
        "given",
        multiple=True,
        metavar="KEY=VALUE",
        callback=lambda _ctx, _option, values: _pairs(values, "learning_rate=1e-3"),
        help="A hyperparameter. Repeatable.",
    )
    of_env = click.option(
        "--env-kwargs",
        "env_given",
        multiple=True,
        metavar="KEY=VALUE",
        callback=lambda _ctx, _option, values: _literals(values),
        help="An argument of the environment. Repeatable.",
    )
    of_file = click.option(
        "--config",
        "file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        callback=_file,
        metavar="FILE.toml",
        help="Options as keys, hyperparameters in [hyperparameters], arguments of the environment in [env_kwargs].",
    )
    of_preset = click.option(
        "--preset/--no-preset", default=True, help="Begin with the preset of the environment, if it has one."
    )
    return of_file(of_hyperparameter(of_env(of_preset(command))))


class Asked(NamedTuple):
    """What the command line and the file say together; the command line comes first."""

    settings: dict[str, Any]
    said: dict[str, Any]
    """Of the command line alone."""
    hyperparameters: dict[str, Any]
    given: dict[str, str]
    """Hyperparameters of the command line."""
    env_kwargs: dict[str, Any]
    preset: bool
    """Whether the preset of the environment comes first."""

    @classmethod
    def of(
        cls,
        file: File,
        algorithm: str | None,
        env: str | None,
        given: dict[str, str],
        env_given: dict[str, Any],
        values: dict[str, Any],
        *,
        preset: bool,
    ) -> Asked:
        """All of it. Raises `ArgumentError` for keys that are none."""
        named = {"algorithm": algorithm, "env": env}
        found = {**file.settings, **{name: value for name, value in named.items() if value is not None}}
        hyperparameters, env_kwargs = found.pop("hyperparameters", {}), found.pop("env_kwargs", {})
        known = [name for name in names("program", "run") if _on_command_line(name)]
        for name in found:
            if name not in (*named, *known):
                also = (*named, *known, "hyperparameters", "env_kwargs")
                said = f"--config: there is no option {name!r}"
                form = "{} = ... below [hyperparameters]"
                raise ArgumentError(no_option(said, name, also, [str(found.get("algorithm"))], form))
        for name, value in (("hyperparameters", hyperparameters), ("env_kwargs", env_kwargs)):
            if not isinstance(value, dict):
                raise ArgumentError(f"--config: {name} is {value!r}; write a table, [{name}], and its keys below it")
        spoken = {name: value for name, value in values.items() if value is not None}
        return cls(found, spoken, hyperparameters, given, {**env_kwargs, **env_given}, preset)

    def made(self, example: str) -> tuple[Algorithm, str]:
        """The algorithm and the environment that are named."""
        from reactors.rl.contract.presets.tables import preset_of
        from reactors.rl.runs.environments import maker_of
        from reactors.rl.runs.settings import algorithm_named, with_settings

        if "algorithm" not in self.settings or "env" not in self.settings:
            missing = "the name of an algorithm" if "algorithm" not in self.settings else "--env"
            raise click.UsageError(f"{missing} is missing; write for instance: reactors {example}")
        kind, env = algorithm_named(str(self.settings["algorithm"])), str(self.settings["env"])
        preset = preset_of(kind, env) if self.preset else None
        known = {} if preset is None else preset.values
        made = with_settings(kind, self.hyperparameters, "--config")
        said = {key: getattr(made, key) for key in self.hyperparameters}
        made = with_settings(kind, {**known, **said, **self.given})
        if preset is not None:
            used = ", ".join(f"{key}={value}" for key, value in known.items() if key not in {**said, **self.given})
            tell(f"preset for {env}: {used} ({preset.source}); --no-preset leaves it out", err=True)
        maker_of(made, env, self.env_kwargs, "--env")  # refuses what is none
        return made, env

    @property
    def options(self) -> dict[str, Any]:
        """Options of the training itself."""
        own = {name: value for name, value in self.settings.items() if name not in {"algorithm", "env"}}
        return {**own, **self.said}


def _on_command_line(name: str) -> bool:
    return bool(Options.__dataclass_fields__[name].metadata["command"])


def run_in(folder: Path, algorithm: str | None, env: str | None, *, trains: bool = False) -> RunFolder:
    """A run's folder; the caller says where its own algorithm and environment are, if it has them.

    What `trains` takes its algorithm without an option.
    """
    from reactors.rl.runs.run_folder import ON_THE_COMMAND_LINE, TO_TRAIN, RunFolder
    from reactors.rl.runs.settings import algorithm_named

    made = None if algorithm is None else algorithm_named(algorithm)
    return RunFolder(folder, algorithm=made, env=env, asking=TO_TRAIN if trains else ON_THE_COMMAND_LINE)


def runs_in(folders: Sequence[Path], algorithm: str | None, env: str | None) -> dict[Path, RunFolder]:
    """As `run_in`, of several runs: the caller's own algorithm is that of the runs whose algorithm is none of ours.

    If there is none of these, it is that of the first run.
    """
    plain = {folder: run_in(folder, None, env) for folder in folders}
    if algorithm is None:
        return plain
    own = [folder for folder, run in plain.items() if not run.is_ours] or folders[:1]
    return {**plain, **{folder: run_in(folder, algorithm, env) for folder in own}}


@contextmanager
def misuse() -> Iterator[None]:
    """What makes no sense is the fault of the command, with exit status 2."""
    with reported():
        try:
            yield
        except (ArgumentError, ParameterError) as error:
            shown_whole(error)
            raise click.UsageError(said(error)) from None


class TrainingCommand(click.Command):
    """A command that knows what options are called elsewhere, and which of them are hyperparameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As ever, but for the words about an option that there is not."""
        words = list(args)  # which are taken out of args
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [option for each in self.params for option in each.opts if option.startswith("--")]
            said = no_option(f"there is no option {error.option_name}", error.option_name, known, words)
            raise click.UsageError(said, ctx) from None


def no_option(said: str, name: str, known: Iterable[str], words: Iterable[str], form: str = "--set {}=...") -> str:
    """What is said of an option that there is not; it may be a hyperparameter, of the algorithm that `words` name."""
    known = list(known)
    if is_option(name, known):  # algorithms take seconds to import
        return no_argument(said, name, known)
    from reactors.rl.runs.settings import algorithms

    every = algorithms()
    kinds = [every[word.lower()] for word in words if word.lower() in every] or [every["ppo"], *every.values()]
    found = list(dict.fromkeys(each.name for kind in kinds for each in fields(kind) if each.init))
    return no_argument(said, name, known, form, found)
