"""What becomes of an environment with many agents when its actor is stopped and goes on elsewhere?"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from reactors.rl.envs.env_state import HiddenStateError, lively, plain, restore, state_of
from reactors.rl.envs.simulation import seed_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.parallel_simulation import ParallelSimulation

_COUNTERS = ("steps", "restarts", "_began", "_number", "_fresh", "seed")
_SEEN = ("observations", "infos", "state", "waiting", "ended")


def agents_state(simulation: ParallelSimulation) -> dict[str, Any]:
    """All that there is to continue from; `hidden` says why, where that is not everything."""
    found: dict[str, Any] = {name: copy(getattr(simulation, name)) for name in _COUNTERS}
    found["returns"] = [simulation._returns[agent] for agent in simulation.possible]
    try:
        seen = {name: plain(getattr(simulation, name), name) for name in _SEEN}
        return {**found, "env": state_of(simulation.env), "hidden": [], "seen": seen}
    except HiddenStateError as error:
        return {**found, "env": [], "hidden": [str(error)], "seen": {}}


def agents_form(simulation: ParallelSimulation) -> dict[str, Any]:
    """What a state has to be like, but for the environment in it."""
    counters = {name: getattr(simulation, name) for name in _COUNTERS}
    return {**counters, "returns": [0.0 for _ in simulation.possible], "env": [], "hidden": [], "seen": {}}


def restore_agents(simulation: ParallelSimulation, state: Mapping[str, Any]) -> tuple[bool, str]:
    """Continue; the environment of `simulation` is made and reset already.

    Returns whether its episode goes on, and why not, if the environment has told its state.
    """
    for name in _COUNTERS:
        setattr(simulation, name, copy(state[name]))
    why = ""
    if state["env"]:
        try:
            restore(simulation.env, state["env"])
        except HiddenStateError as error:
            why = str(error)
            simulation.open_again()  # a part of its state is restored
        else:
            simulation._returns = dict(zip(simulation.possible, state["returns"], strict=True))
            for name, value in state["seen"].items():
                setattr(simulation, name, lively(value))
            return True, ""
    simulation.begin_with(None if simulation.seed is None else seed_of(simulation.seed, simulation.steps))
    return False, why
