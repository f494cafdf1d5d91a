"""How does experience get from actors to learners?

`ReplayBuffer` is a plain object that works without any reactor: `add`, `sample`, `update_priorities`. Any number of
actors may add, in any order. Each method is one call of the C core (csrc/rl/replay), on memory that other processes may
share; there is no lock. Prioritized sampling follows Schaul et al., "Prioritized Experience Replay" (2015), with the
K-ary sum tree of Zhang et al., "Parallel Actors and Learners" (2021); n-step returns are those of Sutton and Barto,
section 7.1.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Never, NoReturn, Self

import numpy as np

from reactors.errors import ArgumentError, ReactorError
from reactors.lowlevel import did_you_mean
from reactors.rl._core import ffi, lib
from reactors.rl.encoding.generators import rng_state
from reactors.rl.public import public
from reactors.rl.replay import saving
from reactors.rl.replay.batch import Batch, of_one_step, tensor_of
from reactors.rl.replay.config import Config, rate, whole
from reactors.rl.replay.incoming import Incoming, checked_errors, refuse_error
from reactors.rl.replay.n_step import NStep
from reactors.rl.replay.storage import Field, SharedBlock, opened
from reactors.rl.replay.transition import transition_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import gymnasium as gym
    from numpy.typing import ArrayLike, NDArray

NOTHING, REFUSED = -12, -100  # the same as in api.inc
INDICES, STREAMS, DOUBLES, FRAMES = map(ffi.typeof, ("int64_t[]", "int32_t[]", "double[]", "uint64_t[]"))
BESIDES = (("int64_t *", "indices"), ("float *", "weights"))  # of a batch, besides the fields
KEPT = 8  # batch sizes whose memory is kept for reuse


class BufferStatistics(NamedTuple):
    """Counters of a buffer, over all processes that share it."""

    rows: int
    """Rows in the buffer now."""
    late_updates: int
    """Priorities that were dropped, because their rows had been overwritten when they arrived."""
    drawn_again: int
    """Rows that changed while they were being sampled, and were replaced by others."""
    taken_over: int
    """Slots whose writer died in the middle of a row."""


class _Desk:
    """The working memory of one thread, so that threads need not wait for each other."""

    def __init__(self, given: tuple[Field, ...], kept: tuple[Field, ...]) -> None:
        self.incoming = Incoming(given)
        self.complete = Incoming(kept)  # n-step rows that are whole now
        self.batches: dict[object, list[Batch]] = {}


@public("rl.ReplayBuffer")
class ReplayBuffer:
    """Keeps the latest `capacity` transitions in shared memory, and samples them uniformly or by priority.

    `fields` are the fields of a transition: a record dtype (`rl.transition_dtype`), or names with shapes and dtypes.
    The canonical names are `obs, action, reward, next_obs, terminated, truncated`; `ReplayBuffer.of` derives them from
    spaces. Fields with other names are stored as well.

    With `prioritized=True`, priorities are absolute TD errors. A row is drawn with a probability proportional to
    `(|error| + eps)^alpha`; a new row gets the greatest priority so far. Importance weights correct the bias with the
    exponent `beta`. They are normalised by the greatest weight in the `"batch"` (Schaul et al., section 3.4), or in the
    whole `"buffer"`, as `weights` says. With `"buffer"`, a row's weight does not depend on the rest of its batch, but
    each update costs more. `stratified` draws one row from each of n equal parts of the total priority. `fanout` of the
    sum tree is a power of two from 2 to 64. The defaults are alpha 0.6, beta 0.4, eps 1e-6, weights by batch,
    stratified draws, and a fan-out of 16.

    With `num_envs=n`, the rows belong to n streams, each with an equal share of the capacity (rounded up to a multiple
    of n). Streams matter for `n_step`, `frame_stack` and `sample_sequences`, which follow an episode: for these, the
    rows of a stream must be added in order, by one thread at a time. With `n_step=k`, up to k steps are combined to one
    row when they are added: `reward` is the discounted sum, and `next_obs`, `terminated` and `truncated` are those of
    the last step. Batches of a buffer with `reward` and `terminated` always have a `discount`, gamma^steps, so that the
    target is `reward + discount * (1 - terminated) * value(next_obs)`. With `frame_stack=k`, observations, whose first
    axis is k frames, are stored as single frames.

    Any number of threads and processes may add, sample and update at the same time. Pickled to another process of this
    machine and user, the buffer uses the same memory; `copy.deepcopy` makes a buffer with its own memory. Draws come
    from `rng`, made from `seed` (an int, a Generator or None), so the same calls give the same samples.

    Raises `ArgumentError` for invalid fields, sizes and rates, and `MemoryTooSmall`, which says how much is needed.

    >>> buffer = ReplayBuffer(1000, {"obs": ((2,), "f4"), "reward": ((), "f4")}, prioritized=True, seed=0)
    >>> buffer.add(obs=np.zeros((3, 2), "f4"), reward=np.arange(3, dtype="f4"))
    array([0, 1, 2])
    >>> batch = buffer.sample(4)
    >>> batch.obs.shape, batch.weights
    ((4, 2), array([1., 1., 1., 1.], dtype=float32))
    >>> buffer.update_priorities(batch, np.abs(batch.reward))
    4
    """

    def __init__(
        self,
        capacity: int,
        fields: Mapping[str, Any] | np.dtype[Any],
        *,
        prioritized: bool = False,
        alpha: float | None = None,
        beta: float | None = None,
        eps: float | None = None,
        stratified: bool | None = None,
        weights: Literal["batch", "buffer"] | None = None,
        fanout: int | None = None,
        num_envs: int = 1,
        n_step: int = 1,
        gamma: float = 0.99,
        frame_stack: int | None = None,
        seed: int | np.random.Generator | np.random.SeedSequence | None = None,
        small: int = 512,
    ) -> None:
        config = Config.of(
            capacity, fields, prioritized=prioritized, alpha=alpha, beta=beta, eps=eps, stratified=stratified,
            weights=weights, fanout=fanout, num_envs=num_envs, n_step=n_step, gamma=gamma, frame_stack=frame_stack,
            small=small,
        )  # fmt: skip
        block = SharedBlock.reserve(config.plan(), config.fields, config.slots)
        self._set_up(config, block, np.random.default_rng(seed), fresh=True)

    @classmethod
    def of(cls, observation_space: gym.Space[Any], action_space: gym.Space[Any], capacity: int, **options: Any) -> Self:
        """A buffer for transitions of an environment with these spaces; `options` are those of the class.

        >>> import gymnasium as gym
        >>> list(ReplayBuffer.of(gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2), 100, n_step=3).fields)
        ['obs', 'action', 'reward', 'next_obs', 'terminated', 'truncated', 'discount']
        """
        return cls(capacity, transition_dtype(observation_space, action_space), **options)

    def _set_up(self, config: Config, block: SharedBlock, rng: np.random.Generator, *, fresh: bool) -> None:
        self.config, self.rng = config, rng
        self.beta = config.beta
        self._block, self._plan = block, config.plan()
        self._core, self._shape = opened(
            block, self._plan, config.fields, config.num_envs, config.share, tree=config.tree, fresh=fresh
        )
        self._how = (2 if config.stratified else 1) if config.prioritized else 0
        self._n_step = NStep(config) if config.n_step > 1 else None
        given = config.fields if self._n_step is None else config.fields[:-1]
        self._given = given
        self._of_one_step = of_one_step(config.fields)
        self._desks: dict[int, _Desk] = {}
        self._every_env = np.arange(config.num_envs, dtype=np.int32)

    # ---- lifetime

    def close(self) -> None:
        """Release the memory, except where a view or another process still uses it; later calls raise `ReactorError`.

        No other thread may be using the buffer. A buffer without references closes itself. In a program of reactors,
        whose parts refer to one another, it does so at Python's next garbage collection, at the latest when memory for
        another large buffer is reserved.
        """
        for name in ("_core", "_block", "_desks"):
            vars(self).pop(name, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    if not TYPE_CHECKING:  # so that type checkers know the attributes

        def __getattr__(self, name: str) -> Any:
            if name in {"_core", "_block", "_desks"}:
                raise ReactorError(f"{self._title} was closed; use it before close(), or make another")
            known = [each for each in dir(type(self)) if not each.startswith("_")]
            near = "" if name.startswith("_") else did_you_mean(name, known)
            raise AttributeError(f"a replay buffer has no {name!r}{near}", name=name)

    # ---- properties

    @property
    def capacity(self) -> int:
        """The maximum number of rows."""
        return self.config.slots

    @property
    def nbytes(self) -> int:
        """The total size of its shared memory in bytes."""
        return self._plan.bytes

    def __len__(self) -> int:
        return int(lib.rx_replay_length(self._core))

    def __repr__(self) -> str:
        kind = "prioritized" if self.config.prioritized else "uniform"
        fields = ", ".join(map(str, self.config.fields))
        rows = f"{len(self)} of {self.capacity} rows" if "_core" in vars(self) else "closed"
        return f"<{kind} ReplayBuffer, {rows}: {fields}>"

    @property
    def _title(self) -> str:
        """Its name in errors: its capacity and its fields."""
        return f"ReplayBuffer({', '.join([str(self.capacity), *(field.name for field in self._given)])})"

    def _named(self, error: ArgumentError) -> ArgumentError:
        return ArgumentError(f"{self._title}: {error}")

    @property
    def fields(self) -> dict[str, NDArray[Any]]:
        """Views of all slots, by field: row k of stream s is at `s * share + k % share`. Stacked frames have none."""
        return {
            field.name: self._block.view(field.dtype, (self.capacity, *field.shape), offset, stride)
            for field, offset, stride in zip(self.config.fields, self._plan.offsets, self._plan.strides, strict=True)
            if not field.stacked
        }

    @property
    def tensors(self) -> dict[str, Any]:
        """The same views as torch tensors."""
        return {name: tensor_of(array, name) for name, array in self.fields.items()}

    @property
    def late_updates(self) -> int:
        """Number of priorities that arrived after their rows had been overwritten."""
        return self.statistics().late_updates

    def statistics(self) -> BufferStatistics:
        """Counters over all processes that share the memory."""
        counters = [ffi.new("uint64_t *") for _ in range(3)]
        lib.rx_replay_counters(self._core, *counters)
        return BufferStatistics(len(self), *(int(counter[0]) for counter in counters))

    def _desk(self) -> _Desk:
        me = threading.get_ident()
        desk = self._desks.get(me)
        if desk is None:
            if len(self._desks) > 64:  # some may belong to threads that have ended
                self._desks.clear()
            desk = self._desks[me] = _Desk(self._given, self.config.fields)
        return desk

    # ---- adding

    def add(
        self,
        batch: Mapping[str, Any] | NDArray[Any] | None = None,
        /,
        *more: Never,
        priorities: ArrayLike | None = None,
        envs: ArrayLike | None = None,
        **columns: Any,
    ) -> NDArray[np.int64]:
        """Add rows: a mapping of arrays with a leading axis, a record array, or the fields as keywords.

        Record arrays and arrays of the right dtypes are copied once, into their slots. `priorities` (absolute errors)
        replace the default, which is the greatest priority so far. `envs` is the stream of each row: an int, or one for
        each row; by default, row i belongs to stream i. Returns the indices (int64) that identify the rows until they
        are overwritten; with `n_step`, one for each row that became complete.

        Values of other dtypes are converted: floats may be rounded, but a finite number stays finite, and an integer
        keeps its exact value.

        Raises `ArgumentError` for missing and unknown fields, wrong shapes, values that do not fit their dtypes, more
        rows than the capacity, and priorities that are negative or not finite.
        """
        if priorities is not None and self._n_step is not None:
            raise ArgumentError(
                f"{self._title}: rows of n_step > 1 are put together later: add them without priorities"
            )
        try:
            desk = self._desk()
            rows = desk.incoming
            if batch is None:
                batch = columns
            elif columns or more:
                self._refuse_mixed(rows, columns, 1 + len(more))
            n = rows.take(batch)
            if n > self.config.share:
                self._refuse_too_many(n, envs)
            config = self.config
            if envs is None and config.num_envs == 1:
                streams, each = ffi.NULL, None
            else:
                each = self._streams(n, envs)
                streams = ffi.from_buffer(STREAMS, each)
            errors = ffi.NULL
            if priorities is not None:
                errors = checked_errors(priorities, n, self._how)
            if config.frame_stack > 1:
                self._keep_frames(rows, n, streams)
            if self._n_step is not None:
                n, each = self._n_step.fold(rows, n, streams, desk.complete)
                streams = ffi.from_buffer(STREAMS, each)
                rows = desk.complete
            indices = np.empty(n, np.int64)
            if n:
                done = lib.rx_replay_insert(
                    self._core, n, rows.pointers, rows.strides, streams, errors, config.eps, config.alpha,
                    ffi.from_buffer(INDICES, indices),
                )  # fmt: skip
                if priorities is not None and done <= REFUSED:
                    refuse_error(priorities, REFUSED - done)
                if done < 0:
                    raise self._stuck()
        except ArgumentError as error:
            raise self._named(error) from None
        return indices

    @staticmethod
    def _refuse_mixed(rows: Incoming, columns: Mapping[str, Any], by_position: int) -> NoReturn:
        if by_position > 1:
            raise ArgumentError(
                f"rows are given as {by_position} arguments without names; name the fields: {rows.call()}"
            )
        raise ArgumentError(
            f"rows are given as one argument and by the name {next(iter(columns))!r} as well; give them all in one "
            f"mapping, or name all: {rows.call()}"
        )

    def _refuse_too_many(self, n: int, envs: ArrayLike | None) -> None:
        if n > self.capacity or self.config.num_envs == 1 or (envs is not None and np.ndim(envs) == 0):
            raise ArgumentError(
                f"{n} rows are added at once to a buffer that keeps {self.config.share} of a stream; add fewer at once"
            )

    def _streams(self, n: int, envs: ArrayLike | None) -> NDArray[np.int32]:
        number = self.config.num_envs
        if envs is None:
            if n != number:
                raise ArgumentError(
                    f"{n} rows are added to a buffer with num_envs={number}: say with envs=... which stream each is of"
                )
            return self._every_env
        given = np.asarray(envs)
        if given.dtype.kind not in "iu" or given.shape not in {(), (n,)}:
            raise ArgumentError(f"envs is {envs!r}; write one number of a stream, or one for each of the {n} rows")
        wrong = np.flatnonzero((given < 0) | (given >= number))
        if wrong.size:
            raise ArgumentError(
                f"row {wrong[0]} is of stream {given.flat[wrong[0]]}, but there are {number}: 0 to {number - 1}"
            )
        return np.ascontiguousarray(np.broadcast_to(given, (n,)), np.int32)

    def _keep_frames(self, rows: Incoming, n: int, streams: Any) -> None:
        """Store the observations as frames; replace `obs` and `next_obs` by the numbers of these frames."""
        names = [field.name for field in self._given]
        first, last = names.index("obs"), names.index("next_obs")
        numbers = np.empty((2, n), np.uint64)
        into = [ffi.from_buffer(FRAMES, row) for row in numbers]
        done = lib.rx_replay_frames(
            self._core, n, streams, rows.pointers[first], rows.strides[first], rows.pointers[last], rows.strides[last],
            *into,
        )  # fmt: skip
        if done < 0:
            raise self._stuck()
        for at, row in zip((first, last), into, strict=True):
            rows.replace(at, row, 8)
        rows.keep(numbers)

    # ---- sampling

    def sample(self, n: int, *, beta: float | None = None, copy: bool = False) -> Batch:
        """Draw `n` rows, with replacement: a `Batch` of arrays.

        Its memory is reused by the call after next of this thread with the same `n`; `copy=True` gives a batch with its
        own memory. `beta` is the exponent of the importance weights. Raises `ReactorError` if there are no rows, or if
        all priorities are 0.
        """
        batch = self._batch(whole(n, "n")) if copy else self._lent(n)
        self.rng.random(out=batch._uniforms)
        into, uniforms, slots, indices, priorities, weights = batch._core
        beta = rate(self.beta if beta is None else beta, "beta")
        done = lib.rx_replay_sample(
            self._core, n, uniforms, self._how, beta, into, slots, indices, priorities, weights
        )  # fmt: skip
        if done != n:
            raise self._nothing(done)
        return batch

    def sample_into(self, record: NDArray[Any], n: int) -> NDArray[Any]:
        """Draw `n` rows straight into the columns of a record of `replay.batch_dtype`, in any memory."""
        lent, names = self._lent(n), [field.name for field in self.config.fields]
        base, offsets = record.ctypes.data, self._offsets_in(record.dtype)
        into = ffi.new("void *[]", [ffi.cast("void *", base + offsets[name][1]) for name in names])
        indices, weights = (ffi.cast(kind, base + offsets[name][1]) for kind, name in BESIDES)
        self.rng.random(out=lent._uniforms)
        _, uniforms, slots, _, priorities, _ = lent._core
        if not self._how:
            record["weights"] = 1
        if self._of_one_step:
            record["discount"] = self.config.gamma
        done = lib.rx_replay_sample(
            self._core, n, uniforms, self._how, rate(self.beta, "beta"), into, slots, indices, priorities, weights
        )  # fmt: skip
        if done != n:
            raise self._nothing(done)
        return record

    @staticmethod
    def _offsets_in(dtype: np.dtype[Any]) -> dict[str, Any]:
        return {str(name): place for name, place in (dtype.fields or {}).items()}

    def _batch(self, n: int, *lead: int) -> Batch:
        return Batch(self.config.fields, n, *lead, gamma=self.config.gamma)

    def _lent(self, n: int) -> Batch:
        pairs = self._desk().batches
        pair = pairs.get(n)
        if pair is None:
            whole(n, "n")
            if len(pairs) >= KEPT:
                del pairs[next(iter(pairs))]
            pair = pairs[n] = [self._batch(n) for _ in range(2)]
        pair.reverse()
        return pair[0]

    def sample_sequences(self, n: int, length: int) -> Batch:
        """Draw `n` sequences of `length` consecutive rows of one episode: arrays of shape (n, length, ...).

        All such sequences in the buffer are equally likely, whatever their priorities. The ends of episodes are known
        from `terminated` and `truncated`, and each row's position in its episode is stored, so rows are searched only
        where hardly any of them ends such a sequence. Memory is reused as by `sample`. Raises `ReactorError` if no
        episode has that many rows, and `ArgumentError` for `n_step` rows, of which the last ones of an episode all end
        with it.
        """
        if self._n_step is not None:
            raise ArgumentError(
                f"{self._title}: rows of n_step={self.config.n_step} make no sequences: several of them end with an "
                "episode's last step; keep single steps (n_step=1), and sum the rewards of a sequence yourself"
            )
        pairs, key = self._desk().batches, (n, length)
        pair = pairs.get(key)
        if pair is None:
            whole(n, "n")
            whole(length, "length")
            if len(pairs) >= KEPT:
                del pairs[next(iter(pairs))]
            pair = pairs[key] = [self._batch(n, n, length) for _ in range(2)]
        pair.reverse()
        batch = pair[0]
        self.rng.random(out=batch._uniforms)
        into, uniforms, slots, indices = batch._core[:4]
        if lib.rx_replay_windows(self._core, n, length, uniforms, into, slots, indices) != n:
            if not len(self):
                raise self._nothing(NOTHING)
            raise ReactorError(
                f"{self._title}: no episode has {length} rows in succession; take shorter sequences, or add more first"
            )
        return batch

    def take(self, indices: ArrayLike) -> Batch:
        """The rows with these indices, in a batch of its own; `ReactorError` if one of them has been overwritten."""
        wanted = _indices(indices)
        batch = self._batch(len(wanted))
        batch["indices"][:] = wanted
        into, _, slots, numbers = batch._core[:4]
        done = lib.rx_replay_take(self._core, len(wanted), numbers, into, slots)
        if done != len(wanted):
            raise ReactorError(f"{self._title}: row {wanted[done]} is not there: it was overwritten, or never added")
        return batch

    def _nothing(self, code: int) -> ReactorError:
        if not len(self):
            return ReactorError(
                f"{self._title} is empty and is sampled; add rows first, or wait for them with len(buffer)"
            )
        if code in {NOTHING, -1}:
            return ReactorError(
                f"{self._title}: no row can be drawn, because all priorities are 0, or all rows are being written"
            )
        return ReactorError(
            f"{self._title}: no row can be drawn, because its priorities add up to more than float32 holds"
        )

    def _stuck(self) -> ReactorError:
        return ReactorError(
            f"{self._title}: a slot has been in use by another writer for ten seconds; is its process stopped?"
        )

    # ---- priorities

    def update_priorities(self, batch: Batch | ArrayLike, priorities: ArrayLike) -> int:
        """Set the priorities of sampled rows to these absolute TD errors; `batch` is the batch or its indices.

        Rows that were overwritten since then keep the priority of their new content; they are counted in
        `late_updates`. If an index occurs twice, the last priority counts. Returns the number of rows that were still
        there. Raises `ArgumentError` for priorities that are negative or not finite, and for a buffer that samples
        uniformly.
        """
        try:
            if type(batch) is Batch:
                slots, indices = batch._core[2:4]
                n = len(slots)
            else:
                wanted = _indices(batch)
                slots, indices, n = ffi.NULL, ffi.from_buffer(INDICES, wanted), len(wanted)
            errors = checked_errors(priorities, n, self._how)
            config = self.config
            done = lib.rx_replay_update(self._core, n, indices, slots, errors, config.eps, config.alpha)
            if done < 0:
                refuse_error(priorities, -1 - done)
        except ArgumentError as error:
            raise self._named(error) from None
        return int(done)

    def priorities(self, indices: ArrayLike) -> NDArray[np.float64]:
        """The sampling priorities of rows, `(|error| + eps)^alpha`; 0 for rows that are gone."""
        wanted = _indices(indices)
        found = np.ones(len(wanted))
        if self._how:
            numbers, into = ffi.from_buffer(INDICES, wanted), ffi.from_buffer(DOUBLES, found)
            lib.rx_replay_priorities(self._core, len(wanted), numbers, into)
        return found

    # ---- pickling, copying, saving

    def __reduce__(self) -> Any:
        pending = None if self._n_step is None else self._n_step.state()
        return _attached, (type(self), self.config, self._block.address(), self.rng, pending, self.beta)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copy = type(self).__new__(type(self))
        memo[id(self)] = copy
        config = self.config
        block = SharedBlock.reserve(config.plan(), config.fields, config.slots)
        copy._set_up(config, block, self.rng, fresh=True)
        saving.restore(copy, self.state_dict())
        return copy

    def state_dict(self) -> dict[str, Any]:
        """The complete state, in new arrays, and the state of `rng`; after `load_state_dict` all continues bit for bit.

        Others may add at the same time, but rows that they are just writing are not included.
        """
        return saving.snapshot(self) | {"rng": rng_state(self.rng), "beta": self.beta}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take the state of another buffer with the same fields and sizes; `ArgumentError` if they differ."""
        saving.restore(self, state)

    def save(self, path: str | Path) -> None:
        """Write a safetensors file with the complete state; a file at `path` is replaced atomically.

        Fields are tensors with their names, over all slots. Nothing may be added meanwhile.
        """
        saving.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The buffer that `save` wrote; it continues bit for bit. `ArgumentError` for damaged and foreign files."""
        return saving.load(cls, path)


def _attached(
    cls: type[ReplayBuffer], config: Config, address: Any, rng: np.random.Generator, pending: Any, beta: float
) -> ReplayBuffer:
    buffer = cls.__new__(cls)
    buffer._set_up(config, SharedBlock.at(address), rng, fresh=False)
    buffer.beta = beta
    if buffer._n_step is not None:
        buffer._n_step.restore(pending)
    return buffer


def _indices(given: Any) -> NDArray[np.int64]:
    indices = np.ascontiguousarray(given)
    if indices.dtype.kind not in "iu":
        raise ArgumentError(f"indices are whole numbers, as add and sample give them, not {indices.dtype}")
    return indices.astype(np.int64, copy=False).reshape(-1)
