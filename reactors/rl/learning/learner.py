"""Where do weights come from?"""

from __future__ import annotations

import math
import time
from collections import deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

import reactors as rx
from reactors.errors import ParameterError, ReactorError
from reactors.lowlevel import offered
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.contract.conformance import descent, errors, numbers
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.encoding.state import check_form, count
from reactors.rl.errors import NotFiniteError
from reactors.rl.learning.latest import ALL
from reactors.rl.networks.layers import alone
from reactors.rl.networks.seeded import Seeded
from reactors.rl.networks.transfer import Upload
from reactors.rl.rounds import ROUND, round_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    import gymnasium as gym

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.learning.latest import Latest
    from reactors.rl.networks.layers import Descent, Flat


WATCHED = {4**k for k in range(32)}
"""Rounds in which draws are looked for, counted from 1: for looking costs half as much again as learning."""
NO_NUMBER = {"losses/explained_variance"}  # of returns that are all the same


class Exchange(NamedTuple):
    """What goes from learner to learner between updates: vectors of such sizes, received from so many."""

    offered: int
    received: int
    width: int


class Learner(Stateful):
    """Owns the networks, learns once a round, and says what they weigh then.

    It keeps the weights of the last `lag` rounds, which are still on their way to the actors: one that goes on from a
    checkpoint sends them `again`, each at its tag. Raises `NotFiniteError` for losses and weights that are not finite.

    Several have the same networks, and each learns from its part of a batch. Before each step of an optimizer each
    says its gradients, and goes on, a microstep later, with the mean of all: they stay equal bit for bit. The first
    sends weights.

    In the first round, and ever more rarely after that, it looks whether the algorithm draws from a generator that
    others share, and refuses that.
    """

    __remedy__ = "learners=2"  # where a trace finds that others wait for it

    again = rx.LogicalAction(int)
    weights = rx.Output(shape="size", dtype=np.float32)
    figures = rx.Output(dict)
    offered(figures)

    def __init__(
        self,
        algorithm: Algorithm,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        seed: int,
        size: int,
        *,
        device: str = "cpu",
        lag: int = 1,
        newest: Latest | None = None,
        parts: int = 1,
        exchange: Exchange | None = None,
    ) -> None:
        self.algorithm, self.device, self.size = algorithm.part(parts), device, size
        self.spaces = observation_space, action_space
        self.learner_seed, self.newest = seed, newest
        self.learning: Any = None
        self.seeded: Seeded | None = None
        self.running: Descent | None = None
        self.seconds, self.began = 0.0, 0.0
        self.steps = algorithm.horizon * algorithm.num_envs  # of a round
        self.sent: deque[tuple[int, Any]] = deque(maxlen=lag)  # when, in ns, and what
        self.parts, self.exchange = parts, exchange
        self.samplers = ALL  # in free mode: how many of the actors are to play
        if exchange is not None:
            self.offered = rx.Output(shape=(exchange.offered,), dtype=np.float32)
            self.received = rx.Input(shape=(exchange.received,), dtype=np.float32, width=exchange.width)
        self.add_reaction(rx.startup, self.open, effects=self.again)
        self.add_reaction(self.again, self.send_again, effects=self.weights)

    def learn_from(self, experience: Any, *effects: Any) -> None:
        """Learn at each value of this port."""
        effects = (self.weights, self.figures, *effects)
        if self.exchange is None:
            self.add_reaction(experience, self.learn, effects=effects)
        else:
            self.add_reaction(experience, self.begin, effects=(*effects, self.offered))
            self.add_reaction(self.received, self.take_and_go_on, effects=(*effects, self.offered))

    def round(self) -> Descent:
        """All that is to be learned at this tag; whatever is on ports is read before it yields."""
        raise NotImplementedError

    def learned(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """What the algorithm makes of a batch."""
        return descent(self.algorithm, self.learning, batch)

    def learn(self) -> None:
        """Learn all of a round, where there is no other learner."""
        self.began = time.perf_counter()
        with self.drawing():
            figures = alone(self.round())
        self.tell(figures)

    def begin(self) -> None:
        """A round, up to the first exchange."""
        self.began = time.perf_counter()
        self.running = self.round()
        self.descend()

    def descend(self) -> None:
        """On to the next exchange, or to the end of the round."""
        assert self.running is not None
        try:
            with self.drawing():
                flat = next(self.running)
        except StopIteration as end:
            self.running = None
            self.tell(end.value)
            return
        self.give(flat)

    def take_and_go_on(self) -> None:
        """What the others have given."""
        if self.running is None or len(self.received.present) < len(self.received):
            missing = sorted({*range(len(self.received))} - {*self.received.present})
            who = f"learners {missing}" if self.running is not None else "this one"
            raise ReactorError(
                f"{self.path}: {who} made fewer steps of the optimizer in this round than the others; let learn() of "
                f"{self.algorithm.name} yield as often whatever is in a batch"
            )
        self.take()
        self.descend()

    def give(self, flat: Flat) -> None:
        """Send the gradients that are ready to the other learners."""
        self.stepping, loan = flat, self.offered.loan()
        gradients: Any = flat.weights.grad
        put(gradients, loan)
        self.offered.set(loan)

    def take(self) -> None:
        """The mean of all gradients, added up in the order of learners."""
        mean: Any = self.stepping.weights.grad
        first, *others = self.received.tensor[:, : len(mean)]
        mean.copy_(first)
        for other in others:
            mean.add_(other.to(mean.device))
        mean.div_(len(self.received))

    def open(self) -> None:
        """Make the networks, from the seed, or as they were."""
        self.learning = self.algorithm.learning(*self.spaces, self.learner_seed, self.device)
        self.seeded = Seeded(self.seed)
        self.upload = Upload(self.device)
        if self.exchange is not None:
            self.learning.reseed(self.seed)
        self.go_on()

    def send_again(self) -> None:
        """Weights that were on their way."""
        self.weights.set(self.sent[self.again.value][1])

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimizers, random numbers, weights on their way, and the latest."""
        return {
            "learning": self.learning.state_dict(), "draws": {} if self.seeded is None else self.seeded.state_dict(),
            "times": [when for when, _ in self.sent], "sent": [weights for _, weights in self.sent],
            "seconds": self.seconds, "latest": self.learning.weights(),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from there, and have weights that were on their way sent again."""
        assert self.seeded is not None
        self.learning.load_state_dict(state["learning"])
        if self.broken_off is not None:
            self.learning.break_off(self.broken_off[self.share(len(self.broken_off))])
        self.seeded.load_state_dict(state["draws"])
        self.seconds = state["seconds"]
        last = self.first - ROUND * (self.sent.maxlen or 0)
        for when, weights in zip(state["times"], state["sent"], strict=True):
            check_form(state["latest"], weights, "sent")
            if count(when) >= last:
                self.again.schedule(len(self.sent), when)
                self.sent.append((when, weights))

    def share(self, n: int) -> slice:
        """Which of n environments or rows of a batch this one of several learners has."""
        part, each = self.bank_index if self.parts > 1 else 0, n // self.parts
        return slice(each * part, each * (part + 1))

    def drawing(self) -> AbstractContextManager[object]:
        """While it learns: what torch draws is this learner's own; of one that does not draw, in a few rounds."""
        watched = self.learning.draws or self.seconds == 0 or round_of(self.tag) + 1 in WATCHED
        return self.seeded if watched and self.seeded is not None else nullcontext()

    def check_draws(self) -> None:
        """Refuse draws of an algorithm that does not say that it draws."""
        if self.seeded is not None and self.seeded.drawn is not None and not self.learning.draws:
            raise ParameterError(
                f"{self.path}: {type(self.learning).__name__} of {self.algorithm.name} draws by torch's "
                f"{self.seeded.drawn}() from the generator that all threads share, so that what is learned would "
                "depend on who else draws; let it have `draws = True`, or pass it a generator="
            )

    def tell(self, figures: dict[str, Any]) -> None:
        """What the networks weigh now, and figures of how they came to it."""
        self.check_draws()
        reported = numbers(self.algorithm, self.learning, figures)
        wrong = [
            n for n, x in reported.items() if n.startswith("losses/") and not math.isfinite(x) and n not in NO_NUMBER
        ]
        if wrong:
            self.refuse(f"{wrong[0]} is {reported[wrong[0]]}")
        if self.bank_index == 0:
            self.tell_weights()
        spent = time.perf_counter() - self.began
        self.seconds += spent
        self.figures.set({**reported, "time/learn": rx.Measured(spent)})

    def tell_weights(self) -> None:
        """Send the weights to the actors, and keep them while they are on their way."""
        weights = self.checked_weights()
        self.weights.set(weights)
        if self.newest is not None:
            self.newest.put(weights, round_of(self.tag), self.samplers)
        self.sent.append((self.tag.time, weights))

    def checked_weights(self) -> Any:
        """What the networks weigh now, in finite numbers."""
        weights = self.learning.weights()
        if not np.isfinite(weights).all():
            self.refuse("a weight is no finite number")
        return weights

    def refuse(self, what: str) -> None:
        """Say where training has come to nothing."""
        step = (round_of(self.tag) + 1) * self.steps
        raise NotFiniteError(
            f"{self.path}: {what} at step {step:,}; a smaller learning rate, or scaled observations and rewards, "
            "may keep it finite"
        )


def put(vector: torch.Tensor, array: Any) -> None:
    """Into the beginning of an array that is at least as long."""
    torch.from_numpy(array)[: len(vector)].copy_(vector)


class RolloutLearner(Learner):
    """Learns once from every round of experience, and never again; each of several from its share of environments."""

    def __init__(self, algorithm: Algorithm, *args: Any, actors: int, num_envs: int, **kwargs: Any) -> None:
        super().__init__(algorithm, *args, **kwargs)
        dtype = experience_dtype(algorithm, *self.spaces)
        self.segments = rx.Input(shape=(algorithm.horizon, num_envs), dtype=dtype, width=actors)
        self.learn_from(self.segments)

    def round(self) -> Descent:
        """All that the algorithm makes of a round."""
        rows = self.segments.array  # (actors, steps, environments)
        mine = self.share(rows.shape[0] * rows.shape[2])
        batch = {}
        for name in rows.dtype.names or ():
            field = np.array(np.moveaxis(rows[name], 0, 1), order="C")  # of its own: torch takes no read-only ones
            field = field.reshape(field.shape[0], -1, *field.shape[3:])[:, mine]
            batch[name] = field
        return self.learned(self.upload(batch))


class ReplayLearner(Learner):
    """Learns from batches that replay has drawn, so many a round, and answers with their errors.

    Each of several takes its rows of each batch.
    """

    def __init__(self, algorithm: Any, *args: Any, batches: Any, **kwargs: Any) -> None:
        super().__init__(algorithm, *args, **kwargs)
        self.prioritized: bool = algorithm.prioritized
        self.rows: int = self.algorithm.batch_size  # type: ignore[attr-defined]
        self.batches = rx.Input(shape=batches.shape, dtype=batches.dtype)
        self.errors = rx.Output(shape=(*batches.shape, self.rows), dtype=np.float32)
        offered(self.errors)  # which uniform draws do not need
        self.learn_from(self.batches, self.errors)

    def drawn(self) -> Iterable[dict[str, torch.Tensor]]:
        """The batches of this tag."""
        mine = self.share(self.rows * self.parts)
        batches = (
            self.upload({name: record[name][mine].copy() for name in record.dtype.names or ()})
            for record in self.batches.value
        )
        return batches if self.exchange is None else list(batches)  # a later microstep could not read the port

    def round(self) -> Descent:
        """One update for each batch."""
        found, figures = [], {}
        for batch in self.drawn():
            figures = yield from self.learned(batch)
            if self.prioritized:
                found.append(errors(self.algorithm, self.learning, figures, self.rows))
        if self.prioritized:
            self.errors.set(torch.stack(found).cpu().numpy())
        return figures | self.counts

    @property
    def counts(self) -> dict[str, int]:
        """Of a round: updates, and transitions in their batches."""
        updates: int = self.batches.shape[0]  # type: ignore[index]
        return {"updates": updates, "frames": updates * self.rows * self.parts}
