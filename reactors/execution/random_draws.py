"""Who draws from the generators that all reactors of a process share?

What they give depends on who else draws from them there, and so on the placement. Debug mode compares their states
before and after each reaction.
"""

from __future__ import annotations

import random
import sys
from typing import Any, NamedTuple

import numpy as np


class Generator(NamedTuple):
    """One that a whole process shares: what it is called, and what a reactor takes instead."""

    name: str
    instead: str


GENERATORS = {
    "random": Generator("the module random", "random.Random(self.seed)"),
    "numpy": Generator("numpy.random", "self.rng"),
    "torch": Generator("torch", "with rl.Seeded(self.seed):, or generator=torch.Generator().manual_seed(self.seed)"),
}


def states() -> dict[str, Any]:
    """Their states, that of torch if it is imported by now, in a form that can be compared.

    >>> before = states()
    >>> _ = random.random()
    >>> [name for name, state in states().items() if state != before[name]]
    ['random']
    """
    found: dict[str, Any] = {"random": random.getstate()}
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - the shared one is meant
    words = (each.tobytes() if hasattr(each, "tobytes") else each for each in state["state"].values())
    found["numpy"] = (*words, state.get("has_gauss"), state.get("gauss"))
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_rng_state().numpy().tobytes()
    return found


def drawn(before: dict[str, Any]) -> list[Generator]:
    """Those that are not as they were."""
    now = states()
    return [GENERATORS[name] for name, state in before.items() if now[name] != state]
