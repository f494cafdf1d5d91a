"""Does replay between actors and a learner give the same on any workers, and do processes share a buffer?"""

from __future__ import annotations

import gc
import math
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.replay.incoming import Incoming
from reactors.rl.replay.storage import SharedBlock
from reactors.testing import assert_deterministic

if TYPE_CHECKING:
    from collections.abc import Iterator

ROW = rl.transition_dtype(gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(4))


@pytest.fixture(autouse=True)
def no_program_is_left() -> Iterator[None]:
    """A program is made of cycles, so the memory of its buffers goes when the garbage is collected."""
    yield
    gc.collect()


class Actor(rx.Reactor):
    """Makes rows that tell who made them, and in which order."""

    def __init__(self, number: int, rounds: int = 30, rows: int | None = 5) -> None:
        self.number, self.rounds, self.rows, self.k = number, rounds, rows, 0
        self.out = rx.Output(shape=() if rows is None else (rows,), dtype=ROW)
        self.tick = rx.Timer(0, "1 ms")
        self.add_reaction(self.tick, self.act, effects=self.out)

    def act(self) -> None:
        if self.k == self.rounds or self.rng.random() < 0.2:  # not all send at every tag
            return
        rows = self.out.loan()
        rows["obs"] = self.number
        rows["action"] = self.k
        rows["reward"] = self.rng.random(rows.shape)
        rows["next_obs"] = rows["obs"] + 1
        rows["terminated"], rows["truncated"] = False, self.k % 3 == 2
        self.k += 1
        self.out.set(rows)


class Learner(rx.Reactor):
    """Keeps what it is given, and answers with errors that depend on it."""

    batch = rx.Input()

    def __init__(self, n: int) -> None:
        self.errors = rx.Output(shape=(n,), dtype="f4")
        self.seen: list[list[float]] = []
        self.add_reaction(self.batch, self.learn, effects=self.errors)

    def learn(self) -> None:
        batch = self.batch.value
        assert batch["obs"].flags.c_contiguous
        tensors = rl.batch_tensors(batch)
        assert tensors["obs"].data_ptr() == batch["obs"].ctypes.data
        np.testing.assert_array_equal(batch["next_obs"], batch["obs"] + 1)
        assert set(batch["discount"]) <= {np.float32(0.99**k) for k in (1, 2, 3)}
        self.seen.append([*batch["reward"].tolist(), *batch["weights"].tolist(), *batch["indices"].tolist()])
        self.errors.set(np.abs(batch["reward"]) * self.rng.random())


class Program(rx.Reactor):
    def __init__(self, *, actors: int = 3, rows: int | None = 5, prioritized: bool = True, **options: Any) -> None:
        self.actors = rx.bank(actors, Actor, lambda i: i, rows=rows)
        self.replay = rl.Replay(
            200,
            ROW,
            batch_size=16,
            actors=actors,
            rows=rows,
            prioritized=prioritized,
            **{"row_streams": False, **options},
        )
        self.learner = Learner(16)
        rx.connect(self.actors.out, self.replay.transitions)
        rx.connect(self.replay.batch, self.learner.batch)
        if prioritized:
            rx.connect(self.learner.errors, self.replay.priorities, after=0)


@pytest.mark.parametrize("options", [
    {"learning_starts": 40, "train_every": 4}, {"n_step": 3, "prioritized": False}, {"rows": None},
    {"row_streams": True},
], ids=str)  # fmt: skip
def test_the_same_seed_gives_the_same_batches_on_any_workers(options: dict[str, Any]) -> None:
    outcomes = []

    def outcome(program: Program) -> object:
        outcomes.append(len(program.learner.seen))
        return program.learner.seen

    assert_deterministic(lambda: Program(**options), workers=(1, 3), backends=("thread", "process"), outcome=outcome,
                         fast=True, timeout="25 ms", seed=4)  # fmt: skip
    assert min(outcomes) > 20


def test_batches_follow_the_rows_by_their_ratio() -> None:
    program = Program(actors=1, learning_starts=20, train_every=2)
    rx.run(program, fast=True, timeout="50 ms", seed=1)
    rows = program.actors[0].k * 5
    assert abs(len(program.learner.seen) - (rows - 15) / 2) <= 1
    assert len(program.replay.buffer) == min(rows, 200)
    assert not program.replay.draws.unanswered


class Rows(rx.Reactor):
    tick, row = rx.Timer("1 ms", "1 ms"), rx.Output(dtype=[("x", "i8")], shape=())

    @rx.reaction(tick, effects=row)
    def send(self) -> None:
        self.row.set(np.zeros((), [("x", "i8")]))


class Counted(rx.Reactor):
    def __init__(self, train_every: float) -> None:
        self.rows, self.batches = Rows(), rx.Input()
        self.replay = rl.Replay(100, {"x": ((), "i8")}, batch_size=1, train_every=train_every)
        self.at: list[int] = []
        rx.connect([self.rows.row], self.replay.transitions)
        self.add_reaction(self.replay.batch, self.note)

    def note(self) -> None:
        self.at.append(self.tag.time // 1_000_000)


@pytest.mark.parametrize("every", [10, 7, 2.5])
def test_each_batch_comes_with_the_row_that_makes_it_due(every: float) -> None:
    main = Counted(every)
    rx.run(main, fast=True, timeout="99 ms", seed=0)
    assert main.at == [math.ceil(k * every - 1e-9) for k in range(1, math.floor(99 / every + 1e-9) + 1)]


def test_a_run_that_is_continued_draws_what_one_run_draws() -> None:
    program = Program(actors=1)
    rx.run(program, fast=True, timeout="10 ms", seed=1)
    state = program.replay.state_dict()
    other = Program(actors=1)
    other.replay.load_state_dict(state)
    a, b = (p.replay.buffer.sample(50, copy=True) for p in (program, other))
    np.testing.assert_array_equal(a.indices, b.indices)
    np.testing.assert_array_equal(a.weights, b.weights)
    assert other.replay.state_dict()["added"] == state["added"] == program.actors[0].k * 5


def test_answers_go_to_the_batch_that_waits_longest() -> None:
    """Two batches of a row each are sent at the start, and answered later with 1 and 2."""

    class Late(rx.Reactor):
        batch, tick = rx.Input(), rx.Timer("1 ms", "1 ms")

        def __init__(self) -> None:
            self.errors = rx.Output(shape=(1,), dtype="f4")
            self.rows: list[int] = []
            self.answers = 0
            self.add_reaction(self.tick, self.answer, effects=self.errors)
            self.add_reaction(self.batch, self.keep)

        def keep(self) -> None:
            self.rows += self.batch.value["indices"].tolist()

        def answer(self) -> None:
            self.answers += 1
            self.errors.set(np.full(1, self.answers, "f4"))

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.actor, self.learner = Actor(0, rounds=1, rows=4), Late()
            self.replay = rl.Replay(10, ROW, batch_size=1, rows=4, train_every=2, prioritized=True, alpha=1, eps=0)
            rx.connect([self.actor.out], self.replay.transitions)
            rx.connect(self.replay.batch, self.learner.batch)
            rx.connect(self.learner.errors, self.replay.priorities)

    main = Main()
    rx.run(main, fast=True, timeout="2 ms", seed=0)
    assert len(set(main.learner.rows)) == 2
    assert main.replay.buffer.priorities(main.learner.rows).tolist() == [1, 2]


# ---- free running ----


class Inserter(rx.Reactor):
    """Adds straight into the shared buffer, as fast as it goes."""

    out = rx.Output(int)

    def __init__(self, number: int, buffer: rl.ReplayBuffer) -> None:
        self.number, self.buffer = number, buffer

    @rx.reaction(rx.startup, effects=out)
    def insert(self) -> None:
        for k in range(400):
            value = self.number * 1000 + k
            wide = np.repeat(np.arange(value, value + 8)[:, None], 40, 1)
            self.buffer.add(obs=wide.astype("f4"), action=np.arange(value, value + 8))
        self.out.set(self.number)


class Sampler(rx.Reactor):
    """Samples beside them, and checks that rows are whole."""

    def __init__(self, buffer: rl.ReplayBuffer, inserters: int) -> None:
        self.buffer, self.inserters, self.sampled = buffer, inserters, 0
        self.done = rx.Input(int, width=inserters)
        self.add_reaction(rx.startup, self.look)

    def look(self) -> None:
        while not len(self.buffer):
            pass
        for _ in range(300):
            batch = self.buffer.sample(64)
            assert (batch.obs == batch.action[:, None]).all()
            self.sampled += 64
            self.buffer.update_priorities(batch, np.ones(64, "f4"))


class Free(rx.Reactor):
    def __init__(self) -> None:
        self.buffer = rl.ReplayBuffer(500, {"obs": ((40,), "f4"), "action": "i8"}, prioritized=True, seed=0)
        self.inserters = rx.bank(2, Inserter, lambda i: i, self.buffer)
        self.sampler = Sampler(self.buffer, 2)
        rx.connect(self.inserters.out, self.sampler.done)


@pytest.mark.parametrize("backend", ["thread", "process"])
def test_actors_insert_straight_into_a_buffer_that_a_learner_samples(backend: str) -> None:
    program = Free()
    rx.run(program, workers=3, backend=backend, fast=True)  # type: ignore[arg-type]  # one of them
    assert program.sampler.sampled == 300 * 64
    buffer = program.buffer
    assert len(buffer) == 500
    assert buffer.add(obs=np.zeros((1, 40), "f4"), action=[0])[0] == 2 * 400 * 8
    batch = buffer.sample(500)
    assert (batch.obs == batch.action[:, None]).all()


ROWS = np.dtype([("obs", np.float32, (4,)), ("action", np.int64)])


class Playing(rx.Reactor):
    """Rows as records, and as columns."""

    tick = rx.Timer(0, "1 ms")
    rows = rx.Output(shape=(8,), dtype=ROWS)
    obs = rx.Output(shape=(8, 4), dtype=np.float32)
    action = rx.Output(shape=(8,), dtype=np.int64)

    @rx.reaction(tick, effects=(rows, obs, action))
    def play(self) -> None:
        self.rows.set(np.zeros(8, ROWS))
        self.obs.set(np.zeros((8, 4), np.float32))
        self.action.set(np.zeros(8, np.int64))


class Keeping(rx.Reactor):
    """Counts how often the buffer has to look at a dtype of records again, and to convert or copy a column."""

    rows = rx.Input(shape=(8,), dtype=ROWS)
    obs = rx.Input(shape=(8, 4), dtype=np.float32)
    action = rx.Input(shape=(8,), dtype=np.int64)

    def __init__(self, buffer: rl.ReplayBuffer) -> None:
        self.buffer, self.looked, self.copied = buffer, 0, 0

    @rx.reaction(rx.startup)
    def watch(self) -> None:
        offsets = Incoming._offsets

        def counted(incoming: Incoming, dtype: Any) -> list[int]:
            self.looked += 1
            return offsets(incoming, dtype)

        Incoming._offsets = counted  # type: ignore[method-assign]  # in this process alone

    @rx.reaction(rows, uses=(obs, action))
    def keep(self) -> None:
        self.buffer.add(self.rows.value)
        self.buffer.add(obs=self.obs.value, action=self.action.value)
        self.copied += len(self.buffer._desk().incoming._kept)


class Kept(rx.Reactor):
    def __init__(self) -> None:
        buffer = rl.ReplayBuffer(500, {"obs": ((4,), np.float32), "action": np.int64})
        self.playing, self.keeping = Playing(), Keeping(buffer)
        for name in ("rows", "obs", "action"):
            rx.connect(getattr(self.playing, name), getattr(self.keeping, name))


def test_what_comes_over_ports_is_inserted_where_it_lies_in_worker_processes_too() -> None:
    program = Kept()
    rx.run(program, workers=2, backend="process", fast=True, timeout="19 ms", placement={"main.keeping": 1})
    assert len(program.keeping.buffer) == 2 * 20 * 8
    assert (program.keeping.looked, program.keeping.copied) == (1, 0)
    program.keeping.buffer.close()


# ---- what does not fit ----


def test_an_answer_too_many_is_refused() -> None:
    class Wrong(rx.Reactor):
        def __init__(self) -> None:
            self.replay, self.actor = rl.Replay(10, ROW, batch_size=2, prioritized=True), Actor(0, rows=None)
            rx.connect([self.actor.out], self.replay.transitions)
            self.errors = rx.Timer(0)
            self.add_reaction(self.errors, self.send, effects=self.replay.priorities)

        def send(self) -> None:
            self.replay.priorities.set(np.ones(2, "f4"))

    with pytest.raises(rx.ReactionError) as error:
        rx.run(Wrong(), fast=True)
    assert "main.replay: priorities came, but every batch" in str(error.value.__cause__)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(rx.ArgumentError, match="batch_size is 0"):
        rl.Replay(10, ROW, batch_size=0)
    with pytest.raises(rx.ArgumentError, match="train_every is 0"):
        rl.Replay(10, ROW, batch_size=1, train_every=0)
    with pytest.raises(rx.ArgumentError, match="train_every is nan"):
        rl.Replay(10, ROW, batch_size=1, train_every=float("nan"))
    with pytest.raises(rx.ArgumentError, match="learning_starts is -1"):
        rl.Replay(10, ROW, batch_size=1, learning_starts=-1)


def test_streams_follow_from_the_ports() -> None:
    with pytest.raises(rx.ArgumentError, match=r"num_envs=3 is given to rl\.Replay.*write actors="):
        rl.Replay(100, ROW, batch_size=4, num_envs=3)


@pytest.mark.parametrize("workers", [1, 2])
def test_training_gives_the_memory_of_its_replay_back_when_it_ends(workers: int) -> None:
    gc.collect()
    before = set(SharedBlock._open)
    gc.disable()
    try:
        algorithm = rl.DQN(num_envs=4, horizon=4, batch_size=8, learning_starts=16, capacity=200)
        rl.train(algorithm, "CartPole-v1", total_steps=64, workers=workers)
        assert set(SharedBlock._open) <= before
    finally:
        gc.enable()


def test_rows_of_several_environments_are_reported_from_rows_of_one() -> None:
    with pytest.raises(rx.ArgumentError, match="row_streams=True if they are steps of 3 environments"):
        rl.Replay(100, ROW, batch_size=4, rows=3, n_step=3)
