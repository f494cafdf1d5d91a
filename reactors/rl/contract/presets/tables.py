"""Which presets are there?

The tables are the files beside this one; they also say where each number comes from.
"""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from inspect import get_annotations
from typing import Any, NamedTuple

from reactors.errors import ParameterError
from reactors.lowlevel import did_you_mean
from reactors.rl.public import public


class Preset(NamedTuple):
    """Hyperparameters of an algorithm for environments whose names match one of several patterns."""

    algorithm: str
    environments: tuple[str, ...]
    source: str
    values: dict[str, Any]

    def suits(self, env: str) -> bool:
        """Whether it is for an environment of this name, before which a module may stand: "module:CartPole-v1"."""
        names = env, env.rpartition(":")[2]
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.environments)


@cache
def tables() -> tuple[Preset, ...]:
    """All presets, by file and in the file's order."""
    found = []
    for file in sorted(files(__name__.rpartition(".")[0]).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            for algorithm, of_one in tomllib.loads(file.read_text()).items():
                found += [_preset(algorithm, name, dict(table)) for name, table in of_one.items()]
    return tuple(found)


def _preset(algorithm: str, name: str, table: dict[str, Any]) -> Preset:
    environments, source = table.pop("environments", [name]), table.pop("source")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return Preset(algorithm, tuple(environments), source, values)


def preset_of(kind: type[Any], env: str) -> Preset | None:
    """The algorithm's preset for an environment; None if there is none.

    An algorithm that extends another one inherits its presets, except for fields with defaults of its own.
    """
    own: set[str] = set()
    for each in kind.__mro__:
        name = vars(each).get("name")
        for preset in tables():
            if preset.algorithm == name and preset.suits(env):
                return preset._replace(values={key: preset.values[key] for key in preset.values if key not in own})
        own.update(get_annotations(each))
    return None


def needed_preset(kind: type[Any], env: str) -> Preset:
    """The algorithm's preset for an environment. Raises `ParameterError`, which names the ones that exist."""
    if not isinstance(env, str):
        raise ParameterError(f"presets of {kind.__name__} are found by the name of an environment, and this is {env!r}")
    found = preset_of(kind, env)
    if found is not None:
        return found
    kinds = [vars(each).get("name") for each in kind.__mro__]
    patterns = dict.fromkeys(each for preset in tables() if preset.algorithm in kinds for each in preset.environments)
    own = [re.sub(r"\[.*(.)\]", r"\1", each) for each in patterns]  # of some versions the last
    meant = did_you_mean(env, own) or f"; there are some for {', '.join(own) or 'none of its environments'}"
    raise ParameterError(f"{kind.__name__} has no preset for {env!r}{meant}; rl.presets() has all")


@public("rl.presets")
def presets() -> dict[str, dict[str, str]]:
    """All presets, by algorithm and environment, with the source of the numbers; a name may be a pattern.

    `rl.PPO.preset("Hopper-v5")` makes an algorithm from a preset. An algorithm that extends another one also takes the
    other's where it has none of its own, as DDPG does TD3's.

    >>> from reactors import rl
    >>> rl.presets()["PPO"]["CartPole-v1"]
    'RL Zoo, ppo.yml, CartPole-v1'
    """
    found: dict[str, dict[str, str]] = {}
    for preset in tables():
        found.setdefault(preset.algorithm, {}).update(dict.fromkeys(preset.environments, preset.source))
    return found
