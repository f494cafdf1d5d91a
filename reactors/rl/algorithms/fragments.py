"""From which experience does an asynchronous learner learn, and how often?

A *fragment* is one environment's steps of a round. New fragments may be mixed with stored ones, and their batches may
be learned from several times, in turn with others: the distributed replay and the minibatch ring of the improved
IMPALA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from reactors.rl.encoding.state import StateError, count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

Batch = dict[str, torch.Tensor]


def check_batch(batch: Mapping[str, torch.Tensor], row: Mapping[str, torch.Tensor], steps: int) -> None:
    """Raise `StateError` for anything that is no batch (steps, fragments, ...) with the fields of `row`."""
    sizes = {each.shape[:2] for each in batch.values()}
    for name, one in row.items():
        if name not in batch or (batch[name].dtype, batch[name].shape[2:]) != (one.dtype, one.shape[1:]):
            raise StateError(f"a batch with the fields {', '.join(batch)} has no {name!r} as it was played")
    if [size[0] for size in sizes] != [steps]:
        raise StateError(f"a batch is of {sizes} steps and fragments, and not of {steps} steps")


class FragmentReplay:
    """Stores the last `slots` fragments; for n new ones, `proportion` * n stored ones are drawn uniformly and added.

    >>> import numpy as np
    >>> replay = FragmentReplay(4, 0.5, np.random.default_rng(0))
    >>> [replay.mix({"reward": torch.ones(5, 2)})["reward"].shape[1] for _ in range(3)]
    [2, 3, 3]
    """

    def __init__(self, slots: int, proportion: float, rng: np.random.Generator) -> None:
        self.slots, self.proportion, self.rng = slots, proportion, rng
        self.kept: Batch = {}
        self.count = 0
        self.credit = 0.0

    def mix(self, batch: Batch) -> Batch:
        """New fragments (steps, fragments, ...), followed by stored ones; stores the new ones."""
        new = batch["reward"].shape[1]
        old: Batch = {}
        if self.count:
            self.credit += new * self.proportion
            n = int(self.credit + 1e-6)  # ten times 0.1 is less than 1
            self.credit = max(0.0, self.credit - n)
            chosen = torch.from_numpy(self.rng.integers(min(self.count, self.slots), size=n))
            old = {name: kept[:, chosen.to(kept.device)] for name, kept in self.kept.items()}
        self.keep(batch, new)
        return {name: torch.cat([each, old[name]], 1) for name, each in batch.items()} if old else batch

    def keep(self, batch: Batch, new: int) -> None:
        """Store these in the places of the oldest."""
        if not self.kept:
            self.kept = {
                name: each.new_zeros(each.shape[0], self.slots, *each.shape[2:]) for name, each in batch.items()
            }
        first = max(0, new - self.slots)
        places = (torch.arange(first, new) + self.count) % self.slots
        for name, each in batch.items():
            self.kept[name][:, places.to(each.device)] = each[:, first:]
        self.count += new

    def state_dict(self) -> dict[str, Any]:
        """The stored fragments; the generator belongs to the owner."""
        return {"kept": dict(self.kept), "count": self.count, "credit": self.credit}

    def load_state_dict(self, state: Mapping[str, Any], device: str = "cpu") -> None:
        """Resume from a `state_dict`, on a device."""
        self.kept = {name: each.to(device, copy=True) for name, each in state["kept"].items()}
        self.count, self.credit = count(state["count"]), state["credit"]
        if not 0 <= self.credit < 1 or any(each.shape[1] != self.slots for each in self.kept.values()):
            raise StateError(f"{state!r} is of no replay of {self.slots} fragments")


class MinibatchRing:
    """`slots` batches used in turn, `uses` times each; a used-up batch is replaced by the next new one.

    >>> ring = MinibatchRing(slots=2, uses=2)
    >>> [[int(b["n"]) for b in ring.turn({"n": torch.tensor(i)})] for i in range(4)]
    [[0], [1, 0, 1], [2], [3, 2, 3]]
    """

    def __init__(self, slots: int, uses: int) -> None:
        self.uses = uses
        self.batches: list[Batch] = [{} for _ in range(slots)]
        self.left = [0] * slots
        self.at = 0

    def turn(self, batch: Batch) -> Iterator[Batch]:
        """Take a new batch; yields all batches to learn from until another one is needed."""
        if len(self.left) > 1:  # it is kept for longer than its memory is valid
            batch = {name: each.clone() for name, each in batch.items()}
        self.batches[self.at], self.left[self.at] = batch, self.uses
        while self.left[self.at]:
            self.left[self.at] -= 1
            now, self.at = self.at, (self.at + 1) % len(self.left)
            yield self.batches[now]

    def state_dict(self) -> dict[str, Any]:
        """The contents of the slots, and whose turn it is."""
        held = {str(i): dict(batch) for i, batch in enumerate(self.batches) if self.left[i]}
        return {"batches": held, "left": list(self.left), "at": self.at}

    def load_state_dict(self, state: Mapping[str, Any], device: str = "cpu") -> None:
        """Resume from a `state_dict`, on a device."""
        slots = len(self.left)
        self.left, self.at = [count(each) for each in state["left"]], count(state["at"])
        if len(self.left) != slots or self.at >= slots or max(self.left) > self.uses:
            raise StateError(
                f"{self.left} and {self.at} are of no ring of {slots} batches, each used {self.uses} times"
            )
        for i, batch in state["batches"].items():
            self.batches[int(i)] = {name: each.to(device, copy=True) for name, each in batch.items()}
