"""Does a replay buffer keep what it is given, draw it as it should, and refuse what does not fit?"""

import copy
import pickle
import weakref
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

import reactors as rx
from reactors import rl
from reactors.rl.algorithms.off_policy import memory_of
from reactors.rl.replay import storage
from reactors.rl.replay.batch import batch_dtype

FIELDS = {"obs": ((3,), "f4"), "action": ((), "i8"), "reward": ((), "f4"), "done": ((), "?")}


def rows(n: int, first: int = 0) -> dict[str, np.ndarray]:
    """Rows whose fields all tell which one it is."""
    k = np.arange(first, first + n)
    return {"obs": np.stack([k, k + 0.25, k + 0.5], 1).astype("f4"), "action": k, "reward": k.astype("f4") / 2,
            "done": k % 5 == 4}  # fmt: skip


def assert_whole(batch: dict[str, np.ndarray]) -> np.ndarray:
    k = batch["action"]
    for name, column in rows(1).items():
        expected = np.stack([rows(1, int(i))[name][0] for i in k.flat]).reshape(*k.shape, *column.shape[1:])
        np.testing.assert_array_equal(batch[name], expected)
    return k


@pytest.mark.parametrize("small", [0, 512])
@pytest.mark.parametrize("prioritized", [False, True])
def test_what_is_sampled_is_what_was_added(*, prioritized: bool, small: int) -> None:
    buffer = rl.ReplayBuffer(100, FIELDS, prioritized=prioritized, seed=1, small=small)
    np.testing.assert_array_equal(buffer.add(rows(70)), np.arange(70))
    assert len(buffer) == 70
    np.testing.assert_array_equal(buffer.add(**rows(90, 70)), np.arange(70, 160))
    assert len(buffer) == buffer.capacity == 100
    k = assert_whole(buffer.sample(500))
    np.testing.assert_array_equal(k, buffer.sample(1).indices if len(k) == 1 else k)
    assert set(k) <= set(range(60, 160))
    assert len(set(k)) > 60
    np.testing.assert_array_equal(np.sort(buffer.fields["action"]), np.arange(60, 160))


@pytest.mark.parametrize("size", [4095, 4096, 4159, 28224, 70001])
def test_images_come_out_as_they_went_in(size: int) -> None:
    given = np.random.default_rng(size).integers(256, size=(20, size), dtype=np.uint8)
    buffer = rl.ReplayBuffer(20, {"obs": ((size,), "u1"), "k": "i4"}, seed=0)
    buffer.add(obs=given, k=np.arange(20))
    for n in (1, 7, 64):
        batch = buffer.sample(n)
        np.testing.assert_array_equal(batch.obs, given[batch.k])


def test_a_buffer_in_a_program_that_is_gone_makes_room_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "TIDY", 0)

    class Holder:  # as reactors, whose parts refer to one another
        def __init__(self) -> None:
            self.buffer, self.me = rl.ReplayBuffer(10, FIELDS), self

    memory = weakref.ref(Holder().buffer._block)
    assert memory() is not None
    rl.ReplayBuffer(10, FIELDS)
    assert memory() is None


def test_indices_are_those_that_add_gave() -> None:
    buffer = rl.ReplayBuffer(10, FIELDS, seed=0)
    buffer.add(rows(7))
    buffer.add(rows(8, 7))
    batch = buffer.sample(64)
    np.testing.assert_array_equal(batch.indices, batch.action)
    np.testing.assert_array_equal(buffer.take([14, 5]).action, [14, 5])
    with pytest.raises(rx.ReactorError, match="row 4 is not there"):
        buffer.take([4])


def test_records_are_taken_as_they_lie() -> None:
    dtype = np.dtype([("done", "?"), ("obs", "f4", 3), ("reward", "f4"), ("action", "i8")], align=True)
    given = np.zeros((2, 6), dtype)
    for name, column in rows(12).items():
        given[name] = column.reshape(2, 6, *column.shape[1:])
    buffer = rl.ReplayBuffer(20, FIELDS, seed=0)
    assert len(buffer.add(given)) == 12
    assert len(buffer.add(given[0, ::2])) == 3
    assert len(buffer.add(given[1, ::-1])) == 6
    buffer.add({name: column[:5] for name, column in rows(9).items()})  # columns again
    np.testing.assert_array_equal(
        buffer.fields["action"], [4, 5, 6, 7, 8, 9, 10, 11, 0, 2, 4, 11, 10, 9, 8, 7, 6, 0, 1, 2][-20:]
    ) if len(buffer) < 20 else None
    assert_whole(buffer.sample(200))


def test_other_arrays_are_converted_if_nothing_gets_lost() -> None:
    buffer = rl.ReplayBuffer(20, FIELDS, seed=0)
    given = rows(4)
    buffer.add(obs=given["obs"].astype("f8").tolist(), action=given["action"].astype("i4"),
               reward=torch.from_numpy(given["reward"]), done=given["done"].tolist())  # fmt: skip
    buffer.add(obs=np.asfortranarray(given["obs"]), action=rows(8)["action"][::2] // 2, reward=given["reward"],
               done=given["done"])  # fmt: skip
    assert_whole(buffer.sample(50))


def test_uniform_draws_are_uniform() -> None:
    buffer = rl.ReplayBuffer(16, {"x": "i8"}, seed=3)
    buffer.add(x=np.arange(16))
    counts = np.bincount(buffer.sample(16_000).x, minlength=16)
    assert (abs(counts - 1000) < 5 * np.sqrt(1000)).all()


def test_stratified_draws_take_one_row_of_each_part_of_the_priorities() -> None:
    buffer = rl.ReplayBuffer(8, {"x": "i8"}, prioritized=True, seed=3)
    buffer.add(x=np.arange(8))  # all of one priority
    for _ in range(20):
        assert sorted(buffer.sample(8).x) == [*range(8)]


@pytest.mark.parametrize("stratified", [False, True])
def test_draws_follow_the_priorities_and_weights_make_up_for_them(*, stratified: bool) -> None:
    buffer = rl.ReplayBuffer(8, {"x": "i8"}, prioritized=True, alpha=0.5, eps=0, stratified=stratified, seed=3)
    errors = np.array([0, 1, 4, 9, 16, 25, 0, 1], "f4")
    indices = buffer.add(x=np.arange(8), priorities=errors)
    p = np.sqrt(errors)
    np.testing.assert_allclose(buffer.priorities(indices), p, rtol=1e-5)
    batch = buffer.sample(16_000, beta=0.7)
    expected = 16_000 * p / p.sum()
    assert (abs(np.bincount(batch.x, minlength=8) - expected) <= 5 * np.sqrt(expected)).all()
    chances = 8 * p[batch.x] / p.sum()
    np.testing.assert_allclose(batch.weights, chances**-0.7 / (chances**-0.7).max(), rtol=1e-4)
    assert (buffer.sample(10, beta=0).weights == 1).all()


ROW = {"obs": ((3,), "f4"), "reward": ((), "f4"), "next_obs": ((3,), "f4"), "terminated": "?", "truncated": "?"}


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"prioritized": True, "beta": 0.7}, {"prioritized": True, "beta": 0.7, "weights": "buffer"}],
    ids=str,
)
def test_what_is_sampled_into_a_record_is_what_a_batch_has(options: dict[str, Any], n_step: int) -> None:
    rng = np.random.default_rng(0)
    steps = {"obs": rng.random((40, 3)), "next_obs": rng.random((40, 3)), "reward": rng.random(40)}
    found = []
    for _ in range(2):
        buffer = rl.ReplayBuffer(50, ROW, n_step=n_step, gamma=0.5, seed=3, **options)
        indices = buffer.add(**steps, terminated=np.arange(40) % 7 == 6, truncated=np.arange(40) % 11 == 10)
        if options:
            buffer.update_priorities(indices, np.arange(len(indices)) % 5 + 1)
        found.append(buffer)
    record = np.zeros((), batch_dtype(found[0].config.fields, 16))
    for _ in range(2):
        record["weights"], record["discount"] = 7, 7  # of an earlier batch in the same memory
        batch = found[0].sample(16)
        found[1].sample_into(record, 16)
        assert set(record.dtype.names or ()) == {*batch}
        for name, column in batch.items():
            np.testing.assert_array_equal(record[name], column, err_msg=name)
        assert (len({*record["weights"].tolist()}) > 3) == bool(options)


def test_the_memory_of_an_algorithm_draws_and_weighs_as_its_hyperparameters_say() -> None:
    algorithm = rl.DQN(prioritized=True, alpha=0.5, beta=0.25, n_step=3, gamma=0.5, num_envs=1, capacity=20)
    buffer = memory_of(algorithm, gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2))
    step = {"obs": [0.0], "next_obs": [0.0], "action": 0, "reward": 1.0, "terminated": False, "truncated": False}
    rows = np.concatenate([buffer.add(**{name: [each] for name, each in step.items()}) for _ in range(6)])
    errors = np.array([1.0, 4.0, 9.0, 16.0])
    buffer.update_priorities(rows, errors)
    np.testing.assert_allclose(buffer.priorities(rows), np.sqrt(errors), rtol=1e-5)
    batch = buffer.sample(100)
    assert set(batch.indices) == set(rows)
    np.testing.assert_allclose(batch.weights, np.sqrt(errors)[batch.indices] ** -0.25, rtol=1e-5)
    assert set(batch.reward) == {1 + 0.5 + 0.25}
    assert set(batch.discount) == {0.125}


def test_weights_of_the_buffer_are_relative_to_the_least_priority_of_all() -> None:
    buffer = rl.ReplayBuffer(8, {"x": "i8"}, prioritized=True, alpha=1, eps=0, weights="buffer", seed=3)
    rows = buffer.add(x=np.arange(4), priorities=[1, 2, 0, 4])
    for least in (1, 0.5):
        buffer.update_priorities(rows[:1], [least])
        for _ in range(20):
            batch = buffer.sample(2, beta=0.5)
            np.testing.assert_allclose(batch.weights, np.sqrt(least / buffer.priorities(batch.indices)), rtol=1e-5)


def test_new_rows_get_the_greatest_priority() -> None:
    buffer = rl.ReplayBuffer(8, {"x": "i8"}, prioritized=True, alpha=1, eps=0, seed=0)
    assert buffer.priorities(buffer.add(x=[0])) == 1
    buffer.update_priorities([0], [7.0])
    buffer.update_priorities([0], [2.0])
    np.testing.assert_allclose(buffer.priorities(buffer.add(x=[1, 2])), 7, rtol=1e-6)


def test_an_update_of_a_row_that_is_gone_changes_nothing() -> None:
    buffer = rl.ReplayBuffer(4, {"x": "i8"}, prioritized=True, alpha=1, eps=0, seed=0)
    buffer.add(x=np.arange(4))
    batch = buffer.sample(50)
    new = buffer.add(x=[4, 5], priorities=[0.25, 0.5])
    there = buffer.update_priorities(batch, np.full(50, 9, "f4"))
    assert there == (batch.indices >= 2).sum() < 50
    assert buffer.late_updates == 50 - there
    np.testing.assert_allclose(buffer.priorities(new), [0.25, 0.5], rtol=1e-6)
    assert (buffer.priorities([0, 1]) == 0).all()
    np.testing.assert_allclose(buffer.priorities([2, 3]), 9, rtol=1e-6)


def test_a_batch_of_another_buffer_changes_nothing_where_there_is_no_such_row() -> None:
    large = rl.ReplayBuffer(100_000, {"x": "i8"}, prioritized=True, seed=0)
    large.add(x=np.arange(100_000))
    buffer = rl.ReplayBuffer(4, {"x": "i8"}, prioritized=True, alpha=1, eps=0, seed=0)
    new = buffer.add(x=np.arange(4))
    assert buffer.update_priorities(large.sample(50), np.full(50, 9, "f4")) == 0
    assert (buffer.priorities(new) == 1).all()


@pytest.mark.parametrize("num_envs", [1, 2])
def test_indices_below_0_are_of_no_row(num_envs: int) -> None:
    buffer = rl.ReplayBuffer(8, {"x": "i8"}, prioritized=True, num_envs=num_envs, seed=0)
    buffer.add(x=[7], envs=0)
    assert buffer.update_priorities([-1, -2, -(2**62)], [100, 100, 100]) == 0
    assert (buffer.priorities([-1, -2, -(2**62)]) == 0).all()
    assert buffer.sample(50).x.tolist() == [7] * 50
    assert buffer.statistics()[1:] == (3, 0, 0)


def test_of_an_index_that_comes_twice_the_last_priority_counts() -> None:
    buffer = rl.ReplayBuffer(4, {"x": "i8"}, prioritized=True, alpha=1, eps=0, seed=0)
    buffer.add(x=[0])
    buffer.update_priorities(np.zeros(1000, int), np.arange(1, 1001))
    np.testing.assert_allclose(buffer.priorities([0]), 1000, rtol=1e-6)


@pytest.mark.parametrize("prioritized", [False, True])
def test_the_same_seed_gives_the_same_samples(*, prioritized: bool) -> None:
    def run() -> list[list[int]]:
        buffer, seen = rl.ReplayBuffer(50, FIELDS, prioritized=prioritized, seed=7), []
        for i in range(20):
            buffer.add(rows(4, 4 * i))
            batch = buffer.sample(8)
            seen.append(batch.action.tolist())
            if prioritized:
                buffer.update_priorities(batch, batch.reward)
        return seen

    assert run() == run()


def test_the_memory_of_a_batch_is_used_again_by_the_next_but_one() -> None:
    buffer = rl.ReplayBuffer(50, FIELDS, seed=7)
    buffer.add(rows(50))
    first, second, kept = buffer.sample(8), buffer.sample(8), buffer.sample(8, copy=True)
    before = first.action.copy(), second.action.copy(), kept.action.copy()
    third = buffer.sample(8)
    assert third is first
    assert not np.array_equal(first.action, before[0])
    np.testing.assert_array_equal(second.action, before[1])
    np.testing.assert_array_equal(kept.action, before[2])
    tensors = third.tensors()
    assert tensors["obs"].data_ptr() == third.obs.ctypes.data
    assert buffer.tensors["obs"].shape == (50, 3)
    with pytest.raises(AttributeError, match="has no 'act'"):
        third.act  # noqa: B018


def test_a_batch_names_the_fields_that_it_has() -> None:
    buffer = prioritized()
    with pytest.raises(KeyError, match="a batch with obs, action, reward, done, indices, weights has no 'rewards'"):
        buffer.sample(3)["rewards"]
    assert buffer.sample(3).get("rewards") is None


def test_rows_of_one_step_have_a_discount_as_rows_of_several_have() -> None:
    spaces = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2)
    rows = {"obs": np.zeros((9, 2)), "action": np.zeros(9, int), "reward": np.ones(9), "next_obs": np.zeros((9, 2)),
            "terminated": np.arange(9) == 8, "truncated": np.zeros(9, bool)}  # fmt: skip
    for n_step, discounts in ((1, {0.5}), (2, {0.5, 0.25})):
        buffer = rl.ReplayBuffer.of(*spaces, 20, n_step=n_step, gamma=0.5, seed=0)
        buffer.add(rows)
        assert n_step > 1 or buffer.sample_sequences(5, 2).discount.shape == (5, 2)
        for batch in (buffer.sample(200), buffer.take([3, 8])):
            assert set(batch.discount) == discounts
            assert batch.discount.dtype == np.float32
            assert batch.tensors()["discount"].shape == batch.reward.shape
    own = rl.ReplayBuffer(5, {"reward": "f4", "terminated": "?", "discount": "f4"})
    own.add(reward=[1.0], terminated=[False], discount=[0.75])
    assert own.sample(1).discount == 0.75


def test_a_closed_buffer_says_so_and_gives_its_memory_back() -> None:
    with prioritized() as buffer:
        batch, view = buffer.sample(3), buffer.fields["action"]
        memory = weakref.ref(buffer._block)
    assert memory() is None
    assert_whole(batch)
    assert set(view[:3]) == {0, 1, 2}
    for use in (len, lambda b: b.sample(3), lambda b: b.add(rows(1)), pickle.dumps, copy.deepcopy):
        with pytest.raises(rx.ReactorError, match=r"ReplayBuffer\(.*\) was closed; use it before"):
            use(buffer)
    assert "closed" in repr(buffer)
    buffer.close()
    with pytest.raises(AttributeError, match="has no 'sampel'"):
        buffer.sampel  # type: ignore[attr-defined]  # noqa: B018


def test_spaces_of_records_and_their_tensors() -> None:
    space = gym.spaces.Dict(at=gym.spaces.Box(-1, 1, (2,)), grid=gym.spaces.Box(0, 255, (30, 30), np.uint8))
    buffer = rl.ReplayBuffer.of(space, gym.spaces.Discrete(4), 64, seed=0)
    k = np.arange(5)
    obs = {"at": np.stack([k, -k], 1), "grid": np.broadcast_to(k[:, None, None], (5, 30, 30))}
    buffer.add(obs=obs, action=k, reward=k, next_obs=obs, terminated=k > 3, truncated=k > 9)
    batch = buffer.sample(10)
    assert (batch.obs["at"][:, 0] == batch.action).all()
    assert (batch.next_obs["grid"] == batch.action[:, None, None]).all()
    assert batch.tensors()["obs"]["at"].shape == (10, 2)


def test_streams_share_the_capacity() -> None:
    buffer = rl.ReplayBuffer(12, {"x": "i8"}, num_envs=3, seed=0, prioritized=True)
    for i in range(7):
        buffer.add(x=np.array([i, 100 + i, 200 + i]))
    buffer.add(x=[107], envs=1)
    assert len(buffer) == 12
    seen = set(buffer.sample(500).x)
    assert seen == {3, 4, 5, 6, 104, 105, 106, 107, 203, 204, 205, 206}
    assert set(rl.ReplayBuffer(12, {"x": "i8"}, num_envs=3).add(x=[1, 2], envs=[2, 2]) % 3) == {2}


def test_uniform_draws_from_streams_of_different_lengths_are_uniform() -> None:
    buffer = rl.ReplayBuffer(64, {"x": "i8"}, num_envs=4, seed=0)
    buffer.add(x=np.arange(10), envs=2)
    buffer.add(x=np.arange(10, 12), envs=0)
    counts = np.bincount(buffer.sample(12_000).x)
    assert (abs(counts - 1000) < 5 * np.sqrt(1000)).all()


# ---- what does not fit ----


def prioritized() -> rl.ReplayBuffer:
    buffer = rl.ReplayBuffer(10, FIELDS, prioritized=True, seed=0)
    buffer.add(rows(3))
    return buffer


def less(name: str) -> dict[str, np.ndarray]:
    return {other: column for other, column in rows(3).items() if other != name}


WRONG = {
    "the rows lack 'reward'": lambda b: b.add(less("reward")),
    "the rows have 'extra'": lambda b: b.add({**rows(3), "extra": np.zeros(3)}),
    r"'obs' has shape \(3, 4\), but rows of it have shape \(n, 3\)": lambda b: b.add(
        {**rows(3), "obs": np.zeros((3, 4))}
    ),
    r"; write one row of it as obs=\[value\]$": lambda b: b.add({**rows(3), "obs": np.zeros(3)}),
    "'reward' has 2 rows, but 'obs' has 3": lambda b: b.add({**rows(3), "reward": np.zeros(2)}),
    r"row 2 of 'action' has 1\.5, which int64 does not hold; declare the field as \"float64\", or convert it you": (
        lambda b: b.add({**rows(3), "action": [0, 1, 1.5]})
    ),
    "row 0 of 'action' has nan, which int64 does not hold": lambda b: b.add({**rows(3), "action": np.full(3, np.nan)}),
    r"row 1 of 'reward' has 1e\+300, which float32 does not hold; declare the field as \"float64\"": lambda b: b.add(
        {**rows(3), "reward": [0, 1e300, 1]}
    ),
    r"row 2 of 'obs' has -1e\+39, which float32 does not hold": lambda b: b.add(
        {**rows(3), "obs": np.array([[0, 1, 2], [3, 4, 5], [6, -1e39, 7]])}
    ),
    "row 1 of 'done' has 2, which bool does not hold": lambda b: b.add({**rows(3), "done": np.array([0, 2, 1])}),
    "field 'reward' is given as <U1, and kept as float32, which is of another kind; convert it yourself": lambda b: (
        b.add({**rows(3), "reward": ["1", "2", "3"]})
    ),
    r"rows are given as 3 arguments without names; name the fields: add\(obs=\.\.\., action=\.\.\.": lambda b: b.add(
        [1], [2], [3]
    ),
    "rows are given as one argument and by the name 'reward' as well; give them all in one mapping": lambda b: b.add(
        less("reward"), reward=np.zeros(3)
    ),
    "11 rows are added at once": lambda b: b.add(rows(11)),
    r"priority of row 1 is -1\.0": lambda b: b.add(rows(3), priorities=[1, -1, 1]),
    "priority of row 2 is nan": lambda b: b.update_priorities([0, 1, 2], [1, 1, np.nan]),
    "priority of row 0 is inf": lambda b: b.update_priorities([0], [np.inf]),
    "2 priorities for 3 rows": lambda b: b.update_priorities([0, 1, 2], [1, 1]),
    "indices are whole numbers": lambda b: b.update_priorities([0.5], [1]),
    "beta of a replay buffer is nan": lambda b: b.sample(2, beta=np.nan),
    "beta of a replay buffer is 'x'": lambda b: b.sample(2, beta="x"),
    "n is 0": lambda b: b.sample(0),
    r"n is 2\.0": lambda b: b.sample(2.0),
    "envs is 'x'": lambda b: b.add(rows(3), envs="x"),
    "row 0 is of stream 1": lambda b: b.add(rows(3), envs=1),
    "rows are given as list": lambda b: b.add([1, 2]),
    r"field 'obs' of the records is float64\[3\]": lambda b: b.add(
        np.zeros(2, [("obs", "f8", 3), ("action", "i8"), ("reward", "f4"), ("done", "?")])
    ),
    "alpha of a replay buffer is 2": lambda _: rl.ReplayBuffer(5, FIELDS, prioritized=True, alpha=2),
    r"alpha=0\.5 is given to a replay buffer that samples uniformly": lambda _: rl.ReplayBuffer(5, FIELDS, alpha=0.5),
    "stratified=False is given": lambda _: rl.ReplayBuffer(5, FIELDS, stratified=False),
    "weights is 'all'": lambda _: rl.ReplayBuffer(5, FIELDS, prioritized=True, weights="all"),  # type: ignore[arg-type]
    "capacity is 0": lambda _: rl.ReplayBuffer(0, FIELDS),
    "field 'x' is described by 'nonsense'": lambda _: rl.ReplayBuffer(5, {"x": "nonsense"}),
    "field 'x' is of object": lambda _: rl.ReplayBuffer(5, {"x": "O"}),
    "a field is named 'indices'": lambda _: rl.ReplayBuffer(5, {"indices": "f4"}),
    "the fields of a replay buffer are given as 5": lambda _: rl.ReplayBuffer(5, 5),  # type: ignore[arg-type]
    "n_step > 1 takes a field 'reward'": lambda _: rl.ReplayBuffer(5, {"x": "f4"}, n_step=2),
    "frame_stack=4 takes fields 'obs' and 'next_obs'": lambda _: rl.ReplayBuffer(5, FIELDS, frame_stack=4),
}


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words[:40])
def test_what_does_not_fit_is_refused_in_words(words: str) -> None:
    buffer = prioritized()
    with pytest.raises(rx.ArgumentError, match=words):
        WRONG[words](buffer)
    assert len(buffer) == 3
    assert_whole(buffer.sample(20))


LOSSES = [
    ("i1", [300], "300"), ("i1", np.array([1, -129], "i2"), "-129"), ("i4", [2**40], "1099511627776"),
    ("u8", [-1], "-1"), ("i8", [2**64], "18446744073709551616"), ("i8", [2.0**63], "9.223372036854775808e+18"),
    ("i4", np.array([0.5], "f2"), "0.5"), ("f4", [2**200], "1.60693804425899e+60"),
    ("f2", np.array([70000.0], "f4"), "70000.0"), ("?", [0, 1, 2], "2"), ("c8", [1e300j], "1e+300j"),
]  # fmt: skip
KEPT = [
    ("i1", [127.0]), ("i4", [True]), ("?", [1.0]), ("f4", [0.1, np.inf, np.nan, 1e-300]), ("f4", [2**70]), ("f2", [1]),
    ("i8", np.array([7], ">i8")), ("f4", []), ("c8", [1.5]),
]  # fmt: skip


def test_only_values_that_the_dtype_of_their_field_holds_are_taken() -> None:
    for dtype, given, value in LOSSES:
        with rl.ReplayBuffer(8, {"x": dtype}) as buffer:
            with pytest.raises(rx.ArgumentError, match=r"row . of 'x' has (.*), which .* does not hold") as caught:
                buffer.add(x=given)
            found = str(caught.value).split(" has ")[1].split(",")[0]
            assert complex(found) == complex(value) or float(found) == pytest.approx(float(value)), found
            assert len(buffer) == 0
    for dtype, given in KEPT:
        with rl.ReplayBuffer(8, {"x": dtype}) as buffer:
            buffer.add(x=given)
            np.testing.assert_array_equal(buffer.fields["x"][: len(given)], np.array(given).astype(dtype))


def test_a_value_that_is_lost_is_found_in_parts_of_records() -> None:
    fields = np.dtype([("obs", [("at", "f4"), ("door", "i1")])])
    with rl.ReplayBuffer(8, fields) as buffer:
        for given, words in (
            ({"at": [0.5], "door": [300]}, "row 0 of 'obs.door' has 300, which int8 does not hold"),
            ({"at": [1e300], "door": [3]}, r"row 0 of 'obs.at' has 1e\+300, which float32 does not hold"),
            (([1], [3.5]), "row 0 of 'obs.door' has 3.5, which int8 does not hold"),
            (np.array([(1, 300)], [("at", "f8"), ("door", "i4")]), "row 0 of 'obs.door' has 300"),
        ):
            with pytest.raises(rx.ArgumentError, match=words):
                buffer.add(obs=given)
        assert len(buffer) == 0
        buffer.add(obs=np.array([(3, 0.5)], [("door", "i8"), ("at", "f8")]))
        assert buffer.fields["obs"][0].tolist() == (0.5, 3)


def test_the_flag_of_older_interfaces_is_explained() -> None:
    with rl.ReplayBuffer(8, {"terminated": "?", "truncated": "?"}) as buffer:
        with pytest.raises(rx.ArgumentError) as caught:
            buffer.add(done=[True])
        assert str(caught.value) == (
            "ReplayBuffer(8, terminated, truncated): the rows lack 'terminated', 'truncated' and have 'done'; the "
            "buffer keeps 'terminated' bool, 'truncated' bool. 'done' does not say how an episode ended: give "
            "terminated (by its rules) and truncated (broken off), as step returns them"
        )
        with pytest.raises(rx.ArgumentError, match=r"the rows have 'dones', .* 'dones' does not say how"):
            buffer.add(terminated=[True], truncated=[False], dones=[True])


def test_an_empty_buffer_and_one_without_priorities_give_no_samples() -> None:
    with pytest.raises(rx.ReactorError, match=r"^ReplayBuffer\(.*\) is empty and is sampled; add rows first"):
        rl.ReplayBuffer(5, FIELDS).sample(1)
    buffer = rl.ReplayBuffer(5, FIELDS, prioritized=True, eps=0)
    with pytest.raises(rx.ReactorError, match=r"^ReplayBuffer\(.*\) is empty and is sampled; add rows first"):
        buffer.sample(1)
    buffer.add(rows(2), priorities=[0, 0])
    with pytest.raises(rx.ReactorError, match="all priorities are 0"):
        buffer.sample(1)
    with pytest.raises(rx.ArgumentError, match="prioritized=True"):
        rl.ReplayBuffer(5, FIELDS).update_priorities([0], [1])


def test_too_little_memory_is_an_error_that_says_what_would_fit() -> None:
    with pytest.raises(rx.MemoryTooSmall, match=r"needs .* TiB, but .* are free; .*'obs' uint8\[84, 84\].*would fit"):
        rl.ReplayBuffer(10**9, {"obs": ((84, 84), "u1")})


def test_errors_name_the_buffer_by_its_size_and_fields() -> None:
    buffer = rl.ReplayBuffer(10, {"a": ((), "f4"), "b": ((2,), "f4")})
    one, two = np.zeros(1, "f4"), np.zeros((1, 2), "f4")
    wrong: list[tuple[Any, str]] = [
        (
            lambda: buffer.add(a=1, b=[1, 2]),
            "field 'a' has shape (), but rows of it have shape (n,); write one row of it as a=[value]",
        ),
        (
            lambda: buffer.add(a=one, b=[1, 2]),
            "field 'b' has shape (2,), but rows of it have shape (n, 2); write one row of it as b=[value]",
        ),
        (
            lambda: buffer.add(a=one, b=np.zeros((2, 2), "f4")),
            "field 'b' has 2 rows, but 'a' has 1; give as many of each",
        ),
        (lambda: buffer.add(a=one), "the rows lack 'b'; the buffer keeps 'a' float32, 'b' float32[2]"),
        (
            lambda: buffer.add(a=one, b=two, priorities=[1.0]),
            "a buffer that samples uniformly has no priorities; make it with prioritized=True",
        ),
        (
            lambda: buffer.update_priorities([0], [1.0]),
            "a buffer that samples uniformly has no priorities; make it with prioritized=True",
        ),
        (lambda: buffer.take([3]), "row 3 is not there: it was overwritten, or never added"),
    ]
    for call, words in wrong:
        with pytest.raises(rx.ReactorError) as caught:
            call()
        assert str(caught.value) == f"ReplayBuffer(10, a, b): {words}"
    assert buffer.add(a=[1.0], b=[[1, 2]]).tolist() == [0]


@pytest.mark.parametrize("streams", [1, 2])
def test_priorities_of_rows_that_were_taken_are_set(streams: int) -> None:
    buffer = rl.ReplayBuffer(20, {"x": ((), "i8")}, prioritized=True, alpha=1, eps=0, num_envs=streams, seed=0)
    indices = buffer.add(x=np.arange(10), envs=np.arange(10) % streams)
    assert buffer.update_priorities(buffer.take(indices[3:7]), [5, 6, 7, 8]) == 4
    np.testing.assert_allclose(buffer.priorities(indices[3:7]), [5, 6, 7, 8], rtol=1e-6)
