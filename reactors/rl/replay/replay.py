"""How does a program use a replay buffer between actors and a learner, with the same result on any number of workers?

`Replay` is a reactor around a `ReplayBuffer`: it receives transitions from many actors, copied only once, into their
slots; it sends batches and takes priorities back. When a batch is drawn depends on the rows received, never on time.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError, ReactorError
from reactors.rl.public import public
from reactors.rl.replay.buffer import ReplayBuffer
from reactors.rl.replay.config import whole
from reactors.rl.replay.draws import Draws
from reactors.rl.replay.storage import Field, checked_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    import gymnasium as gym


UNANSWERED = 10_000  # batches whose priorities may be outstanding


@public("rl.Replay")
class Replay(rx.Reactor):
    """Stores what `actors` send, and draws a batch of `batch_size` for every `train_every` rows received.

    `fields` and `options` are those of `rl.ReplayBuffer` (or use `Replay.of` with spaces). Ports:

    - `transitions`: input of width `actors`. Each channel takes an array of `rows` records (one record without axis, if
      `rows` is None) whose dtype has the fields: what `rl.Env.transition` sends. The rows of a channel are successive
      steps of one environment; with `row_streams`, each row is a step of another environment.
    - `batch`: output, one record whose fields are whole columns: `batch.value["obs"]` is a contiguous array of shape
      (batch_size, ...), and `batch_tensors` makes torch views. It has `indices`, `weights` and `discount`, as
      `rl.Batch`.
    - `priorities`: input, if `prioritized`: float32 (batch_size,), absolute TD errors, one array for each batch, in the
      order in which batches were sent. Connect it with a delay (`after=0` is enough), unless the learner is in no cycle
      with the actors.

    No batch is drawn before `learning_starts` rows have been received. If several batches are due at one tag, they
    follow in successive microsteps, so that priorities that come back with `after=0` count for the next batch. Draws
    come from a generator seeded with the reactor's `seed`: the same seed gives the same batches, with any workers. The
    memory is reserved when the reactor is made. `state_dict` and `load_state_dict` let it continue elsewhere.

    >>> class Source(rx.Reactor):
    ...     tick = rx.Timer(0, "1 ms")
    ...     def __init__(self):
    ...         self.row = rx.Output(shape=(2,), dtype=[("obs", "f4")])
    ...         self.add_reaction(self.tick, self.send, effects=self.row)
    ...     def send(self):
    ...         self.row.set(np.full(2, self.tag.time // 10**6, [("obs", "f4")]))
    >>> class Main(rx.Reactor):
    ...     def __init__(self):
    ...         self.source, self.seen = Source(), []
    ...         self.replay = Replay(10, {"obs": "f4"}, batch_size=3, rows=2, train_every=2, learning_starts=4)
    ...         rx.connect([self.source.row], self.replay.transitions)
    ...         self.add_reaction(self.replay.batch, self.see)
    ...     def see(self):
    ...         self.seen.append(self.replay.batch.value["obs"].shape)
    >>> main = Main()
    >>> _ = rx.run(main, fast=True, timeout="3 ms", seed=0)
    >>> main.seen
    [(3,), (3,), (3,)]
    """

    more = rx.LogicalAction()

    def __init__(
        self,
        capacity: int,
        fields: Mapping[str, Any] | np.dtype[Any],
        *,
        batch_size: int,
        actors: int = 1,
        rows: int | None = None,
        row_streams: bool | None = None,
        train_every: float = 1.0,
        learning_starts: int = 1,
        **options: Any,
    ) -> None:
        given = checked_fields(fields)
        self.actors, self.batch_size = whole(actors, "actors"), whole(batch_size, "batch_size")
        if row_streams is None:
            plain = {"n_step": 1, "frame_stack": None}
            along = [name for name in plain if options.get(name, plain[name]) != plain[name]]
            if along and rows is not None and rows > 1:
                raise ArgumentError(
                    f"{along[0]} looks along episodes, and {rows} rows come at a time; say row_streams=True if they "
                    f"are steps of {rows} environments, as from rl.Env with num_envs={rows}, or row_streams=False if "
                    "they follow one another in a single one"
                )
            row_streams = False
        self.row_streams = row_streams
        every: Any = train_every
        if not isinstance(every, int | float | np.number) or not 0 < every < np.inf:
            raise ArgumentError(f"train_every is {train_every!r}; write how many rows there are to a batch, above 0")
        starts: Any = learning_starts
        if not isinstance(starts, int | np.integer) or starts < 0:
            raise ArgumentError(f"learning_starts is {learning_starts!r}; write a whole number of rows, 0 or more")
        self.train_every, self.learning_starts = train_every, learning_starts
        if "num_envs" in options:
            raise ArgumentError(
                f"num_envs={options['num_envs']!r} is given to rl.Replay, which has its streams from its ports: write "
                "actors=, one for each channel of transitions, and rows= with row_streams=True if each sends the steps "
                "of so many environments"
            )
        per_actor = whole(rows, "rows") if row_streams and rows is not None else 1
        self.buffer = ReplayBuffer(capacity, fields, num_envs=self.actors * per_actor, **options)
        dtype = fields if isinstance(fields, np.dtype) else _record(given)
        self.transitions = rx.Input(shape=() if rows is None else (rows,), dtype=dtype, width=self.actors)
        self.draws = Draws(self.buffer, self.batch_size)
        self.batch = rx.Output(shape=(), dtype=self.draws.dtype)
        if self.buffer.config.prioritized:
            self.priorities = rx.Input(shape=(self.batch_size,), dtype=np.float32)
        count = rows or 1
        envs = np.arange(self.actors * count if row_streams else self.actors, dtype=np.int32)
        self._envs = envs.reshape(self.actors, -1)
        self._added = 0
        self._learnable: float = 0  # rows since there have been enough
        self._drawn = 0  # batches for these
        self.add_reaction(rx.startup, self.begin)
        if self.buffer.config.prioritized:
            self.add_reaction(self.priorities, self.answer)
        self.add_reaction((self.transitions, self.more), self.add_and_draw, effects=(self.batch, self.more))

    @classmethod
    def of(
        cls, observation_space: gym.Space[Any], action_space: gym.Space[Any], capacity: int, **options: Any
    ) -> Replay:
        """A `Replay` for the transitions of an environment with these spaces."""
        from reactors.rl.replay.transition import transition_dtype

        return cls(capacity, transition_dtype(observation_space, action_space), **options)

    def begin(self) -> None:
        """Seed the draws with the reactor's seed, unless a state was loaded."""
        if not self._added:
            self.buffer.rng = np.random.default_rng(self.seed)

    def answer(self) -> None:
        """Set the new priorities of the batch that has waited longest."""
        if not self.draws.unanswered:
            raise ReactorError(f"{self.path}: priorities came, but every batch that was sent has its answer")
        self.draws.answer(self.priorities.value)

    def add_and_draw(self) -> None:
        """Add the received rows, actor by actor, and draw a batch if one is due."""
        for i in self.transitions.present:
            rows = self.transitions[i].value
            n = self._added
            self.buffer.add(rows.reshape(-1), envs=self._envs[i] if self.row_streams else self._envs[i, 0])
            self._added = n + rows.size
            self._learnable += rows.size
        if self._added < self.learning_starts or not len(self.buffer):
            self._learnable = 0
            return
        due = math.floor(self._learnable / self.train_every + 1e-6)
        if due > self._drawn:
            self._drawn += 1
            self._draw()
            if due > self._drawn:
                self.more.schedule()

    def _draw(self) -> None:
        if len(self.draws.unanswered) == UNANSWERED:
            raise ReactorError(
                f"{self.path}: {UNANSWERED} batches were sent and no priorities came; connect the learner's errors to "
                f"{self.path}.priorities, or sample uniformly"
            )
        record = self.batch.loan()
        self.draws.draw(record)
        self.batch.set(record)

    def state_dict(self) -> dict[str, Any]:
        """The buffer's state, the batches that are due, and those that wait for priorities."""
        sent = [indices.copy() for indices in self.draws.unanswered]
        return {
            "buffer": self.buffer.state_dict(), "added": self._added, "learnable": self._learnable,
            "drawn": self._drawn, "sent": sent,
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; call it before `rx.run`, or in a reaction of this reactor."""
        self.buffer.load_state_dict(state["buffer"])
        self._added = state["added"]
        if "credit" in state:  # of version 0.1.0: the batches that were due
            self._learnable, self._drawn = state["credit"] * self.train_every, 0
        else:
            self._learnable, self._drawn = state["learnable"], state["drawn"]
        self.draws.unanswered = deque(indices.copy() for indices in state["sent"])


def _record(fields: tuple[Field, ...]) -> np.dtype[Any]:
    return np.dtype([(field.name, field.dtype, field.shape) for field in fields], align=True)
