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


def environment_of(
    algorithm: Algorithm, env: Source, kwargs: Mapping[str, Any], path: str
) -> tuple[Callable[[], Any], tuple[Any, Any]]:
    """What makes its environments, and their spaces; of many agents a `Cast`, and the spaces of their actions."""
    if not isinstance(algorithm, MultiAgent):
        make = maker(env, kwargs, path)
        return make, spaces_of(make, path)
    make = agents_maker(env, kwargs, path)
    cast = cast_of(make, path)
    return make, (cast, cast.actions)
