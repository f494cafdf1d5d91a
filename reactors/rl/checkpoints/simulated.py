"""What becomes of the environments of an actor when it is stopped and goes on elsewhere?

Those that tell their state go on in the middle of their episodes. Of the others it is noted why they do not, and they
begin a new episode, seeded with a number of its own.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from reactors.rl.envs.env_state import HiddenStateError, restore, state_of
from reactors.rl.envs.simulation import seed_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.simulation import Simulation

_COUNTERS = ("steps", "restarts", "_totals", "_began", "_numbers", "_fresh", "seeds")


def simulation_state(simulation: Simulation) -> dict[str, Any]:
    """All that there is to continue from; `hidden` says why, where that is not everything."""
    found: dict[str, Any] = {name: copy(getattr(simulation, name)) for name in _COUNTERS}
    found["observations"] = simulation.observations.copy()
    envs: list[Any] = []
    hidden: list[str] = []
    for env in simulation.envs:
        try:
            envs.append(state_of(env))
        except HiddenStateError as error:
            envs.append(None)
            hidden.append(str(error))
    return {**found, "envs": envs, "hidden": hidden[:1]}


def simulation_form(simulation: Simulation) -> dict[str, Any]:
    """What a state has to be like, but for the environments in it."""
    counters = {name: getattr(simulation, name) for name in _COUNTERS}
    return {**counters, "observations": simulation.observations, "envs": [], "hidden": []}


def restore_simulation(simulation: Simulation, state: Mapping[str, Any]) -> tuple[list[bool], str]:
    """Continue; the environments of `simulation` are made and reset already.

    Returns which of them begin new episodes, and why one of these cannot go on that has told its state.
    """
    for name in _COUNTERS:
        setattr(simulation, name, copy(state[name]))
    begun, why = [True] * len(simulation.envs), ""
    for i, (env, seed) in enumerate(zip(state["envs"], simulation.seeds, strict=True)):
        if env is not None:
            try:
                restore(simulation.envs[i], env)
            except HiddenStateError as error:
                why = why or str(error)
                simulation.make_again(i)  # a part of its state is restored
            else:
                simulation.observations[i] = state["observations"][i]
                begun[i] = False
                continue
        simulation.reset(i, seed=None if seed is None else seed_of(seed, simulation.steps))
    return begun, why
