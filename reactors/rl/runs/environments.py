"""What does an algorithm play in? One for many agents is given names of PettingZoo's, others those of Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.contract.agents import MultiAgent
from reactors.rl.envs.agents.sources import agents_maker, cast_of
from reactors.rl.envs.sources import maker, spaces_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.envs.sources import Source


def maker_of(algorithm: Algorithm, env: Source, kwargs: Mapping[str, Any], path: str) -> Callable[[], Any]:
    """What makes its environments; names are looked up here."""
    return agents_maker(env, kwargs, path) if isinstance(algorithm, MultiAgent) else maker(env, kwargs, path)


def environment_of(
    algorithm: Algorithm, env: Source, kwargs: Mapping[str, Any], path: str
) -> tuple[Callable[[], Any], tuple[Any, Any]]:
    """What makes its environments, and their spaces; of many agents a `Cast`, and the spaces of their actions."""
    make = maker_of(algorithm, env, kwargs, path)
    return make, spaces_in(algorithm, make, path)


def spaces_in(algorithm: Algorithm, make: Callable[[], Any], path: str) -> tuple[Any, Any]:
    """Of observations and actions in what `make` makes."""
    if not isinstance(algorithm, MultiAgent):
        return spaces_of(make, path)
    cast = cast_of(make, path)
    return cast, cast.actions
