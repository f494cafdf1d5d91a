"""How does a program that runs on several workers come to one state, without any of them waiting?

By the semantics: all that happens at a tag sees the same. Half a round after round n this reactor says that round
n + lag is to be saved; the word arrives half a round after that one, when all of its events are over, and every reactor
says its state at that tag. What is on its way then are weights of the last `lag` rounds, which the learner remembers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.lowlevel import offered
from reactors.rl.checkpoints.files import write
from reactors.rl.encoding.state import Encoded
from reactors.rl.rounds import HALF, ROUND, STOP, round_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass
class Saving:
    """Where to and when, and what is said of the program there."""

    folder: Path
    stop: Path
    """A file by whose existence the run is asked to come to an end."""
    every: int | None
    """Rounds; None for the end alone."""
    rounds: int
    """Of the run."""
    meta: dict[str, Any] = field(default_factory=dict)


class Checkpoint(rx.Reactor):
    """Writes a checkpoint every so many rounds, after the last, and when the run is asked to end.

    `states` are of the reactors named by `names`, of which those of `whose_weights` give the weights. The first `slack`
    rounds cannot be saved, as no word can reach them.
    """

    rounds = rx.Timer("half", ROUND)
    states = rx.Input(Encoded, width="width")
    enough = rx.Input(bool)
    save = rx.Output(bool)
    offered(enough)

    def __init__(
        self, names: Sequence[str], whose_weights: Sequence[str], saving: Saving, *, slack: int, steps: int, first: int
    ) -> None:
        self.whose_weights = list(whose_weights)
        self.names, self.width, self.saving, self.slack, self.steps = list(names), len(names), saving, slack, steps
        self.half = first + HALF
        self.ending, self.stopped = False, False
        self.written: list[str] = []
        self.seconds = 0.0
        self.add_reaction(self.enough, self.end)
        self.add_reaction(self.rounds, self.decide, effects=(self.save, rx.stop.after(slack * ROUND + STOP - HALF)))
        self.add_reaction(self.states, self.write)

    def end(self) -> None:
        """The journal stops the run."""
        self.ending = True

    def decide(self) -> None:
        """Whether to save a later round."""
        number, saving = round_of(self.tag) + self.slack, self.saving
        if self.stopped:
            return
        if self.ending or saving.stop.exists():
            self.stopped = True
            self.save.set(True)
            if not self.ending:
                self.request_stop()
        elif number == saving.rounds - 1 or (saving.every is not None and (number + 1) % saving.every == 0):
            self.save.set(True)

    def write(self) -> None:
        """All states of one tag."""
        began = time.perf_counter()
        states = {name: port.value for name, port in zip(self.names, self.states, strict=True)}
        number = round_of(self.tag)
        notes = [
            f"{name}: {why}"
            for name, state in states.items()
            for simulation in state.tree.get("simulations", ())
            for why in simulation["hidden"]
        ]
        meta = {
            **self.saving.meta, "tag": [*self.tag], "round": number, "global_step": (number + 1) * self.steps,
            "notes": notes,
        }  # fmt: skip
        weights = np.concatenate([states[name].arrays[f"{name}.latest"] for name in self.whose_weights])
        self.written.append(str(write(self.saving.folder, meta, states, weights)))
        self.seconds += time.perf_counter() - began
