"""Are rows that look along an episode right: n-step returns, sequences, stacked frames?"""

import threading
import tracemalloc

import numpy as np
import pytest

import reactors as rx
from reactors import rl

GAMMA = 0.9


def episodes(rng: np.random.Generator, streams: int, steps: int, mean: float) -> list[dict[str, np.ndarray]]:
    """Steps of all streams at once; obs is (stream, episode, step), and episodes end in either way."""
    at, out = np.zeros((streams, 3), "f4"), []
    at[:, 0] = np.arange(streams)
    for _ in range(steps):
        ends = rng.random(streams)
        nxt = at + np.array([0, 0, 1], "f4")
        terminated, truncated = ends < 0.5 / mean, ends > 1 - 0.5 / mean
        out.append({"obs": at.copy(), "action": rng.integers(5, size=streams),
                    "reward": rng.normal(size=streams).astype("f4"),
                    "next_obs": nxt, "terminated": terminated, "truncated": truncated})  # fmt: skip
        over = terminated | truncated
        at = np.where(over[:, None], at * [1, 0, 0] + (at[:, 1:2] + 1) * [0, 1, 0], nxt).astype("f4")
    return out


FIELDS = {"obs": ((3,), "f4"), "action": ((), "i8"), "reward": ((), "f4"), "next_obs": ((3,), "f4"),
          "terminated": ((), "?"), "truncated": ((), "?")}  # fmt: skip


def reference(steps: list[dict[str, np.ndarray]], stream: int, n: int) -> dict[tuple[float, ...], tuple[object, ...]]:
    """What a row of n steps is, by its first observation, straight from the definition."""
    rows = [{name: column[stream] for name, column in step.items()} for step in steps]
    found = {}
    for i, first in enumerate(rows):
        total, k = 0.0, 0
        while True:
            step = rows[i + k]
            total += GAMMA**k * float(step["reward"])
            k += 1
            over = step["terminated"] or step["truncated"]
            if over or k == n or i + k == len(rows):
                break
        if over or k == n:
            found[tuple(first["obs"])] = (int(first["action"]), total, tuple(step["next_obs"]),
                                          bool(step["terminated"]),
                                          bool(step["truncated"]), GAMMA**k)  # fmt: skip
    return found


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("way", ["together", "one by one", "segments"])
def test_rows_of_n_steps_are_those_of_the_definition(n: int, way: str) -> None:
    steps = episodes(np.random.default_rng(n), 3, 60, 6)
    buffer = rl.ReplayBuffer(600, FIELDS, num_envs=3, n_step=n, gamma=GAMMA, seed=0)
    if way == "together":
        for step in steps:
            buffer.add(step)
    elif way == "one by one":
        for step in steps:
            for env in range(3):
                buffer.add({name: column[env : env + 1] for name, column in step.items()}, envs=env)
    else:
        for env in range(3):
            for at in range(0, 60, 15):
                segment = {name: np.stack([s[name][env] for s in steps[at : at + 15]]) for name in FIELDS}
                buffer.add(segment, envs=env)
    expected = reference(steps, 0, n) | reference(steps, 1, n) | reference(steps, 2, n)
    assert len(buffer) == len(expected)
    batch = buffer.sample(4000)
    assert len({tuple(obs) for obs in batch.obs}) == len(expected)
    for i in range(4000):
        action, total, nxt, terminated, truncated, discount = expected[tuple(batch.obs[i])]
        assert (batch.action[i], tuple(batch.next_obs[i]), batch.terminated[i], batch.truncated[i]) == (
            action, nxt, terminated, truncated,
        )  # fmt: skip
        assert batch.reward[i] == pytest.approx(total, abs=1e-5)
        assert batch.discount[i] == pytest.approx(discount, rel=1e-6)


def test_rows_of_n_steps_take_no_priorities() -> None:
    buffer = rl.ReplayBuffer(60, FIELDS, n_step=2, prioritized=True)
    with pytest.raises(rx.ArgumentError, match="without priorities"):
        buffer.add(episodes(np.random.default_rng(0), 1, 1, 5)[0], priorities=[1])


def test_rows_of_n_steps_are_let_go_once_they_are_in_the_buffer() -> None:
    fields = FIELDS | {"obs": ((10_000,), "f4"), "next_obs": ((10_000,), "f4")}
    buffer = rl.ReplayBuffer(10, fields, n_step=2, seed=0)
    step = {"obs": np.zeros((1, 10_000), "f4"), "action": [0], "reward": np.zeros(1, "f4"),
            "next_obs": np.zeros((1, 10_000), "f4"), "terminated": [False], "truncated": [False]}  # fmt: skip
    tracemalloc.start()
    try:
        for _ in range(100):
            buffer.add(step)
        assert tracemalloc.get_traced_memory()[0] < 2_000_000
    finally:
        tracemalloc.stop()


def test_threads_that_add_to_streams_of_their_own_get_no_rows_of_each_other() -> None:
    n, fields = 5000, {"obs": ((), "i8"), "reward": ((), "f4"), "next_obs": ((), "i8"), "terminated": ((), "?"),
                       "truncated": ((), "?")}  # fmt: skip
    buffer = rl.ReplayBuffer(2 * n, fields, num_envs=2, n_step=2, seed=0)

    def write(stream: int) -> None:
        for k in range(n):
            at, never = np.array([2 * k + stream]), np.zeros(1, bool)
            buffer.add(obs=at, reward=np.zeros(1, "f4"), next_obs=at, terminated=never, truncated=never, envs=stream)

    threads = [threading.Thread(target=write, args=(stream,)) for stream in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    obs = buffer.state_dict()["obs"].reshape(2, n)[:, : n - 1]
    assert (obs == 2 * np.arange(n - 1) + np.array([[0], [1]])).all()


@pytest.mark.parametrize("dtype", ["?", "i4", "f4", "f8"])
def test_episodes_end_whatever_the_type_of_the_flag(dtype: str) -> None:
    buffer = rl.ReplayBuffer(100, {"x": ((), "i8"), "terminated": ((), dtype)}, seed=0)
    buffer.add(x=np.arange(50), terminated=np.arange(50) % 5 == 4)
    x = buffer.sample_sequences(200, 4)["x"]
    assert (x[:, 0] // 5 == x[:, -1] // 5).all()


def test_rows_of_n_steps_make_no_sequences() -> None:
    buffer = rl.ReplayBuffer(60, FIELDS, n_step=2)
    with pytest.raises(rx.ArgumentError, match="rows of n_step=2 make no sequences"):
        buffer.sample_sequences(1, 2)


@pytest.mark.parametrize("wrap", [False, True])
def test_sequences_stay_within_one_episode_and_all_are_drawn(*, wrap: bool) -> None:
    steps = episodes(np.random.default_rng(1), 2, 100, 12)
    kept = 30 if wrap else 100
    buffer = rl.ReplayBuffer(2 * kept, FIELDS, num_envs=2, seed=0)
    for step in steps:
        buffer.add(step)
    batch = buffer.sample_sequences(3000, 4)
    assert batch.obs.shape == (3000, 4, 3)
    assert batch.indices.shape == (3000, 4)
    first = batch.obs[:, :1]
    np.testing.assert_array_equal(
        batch.obs - first, np.broadcast_to(np.arange(4)[:, None] * [0, 0, 1], batch.obs.shape)
    )
    assert not (batch.terminated | batch.truncated)[:, :-1].any()
    there = [tuple(s["obs"][env]) for env in range(2) for s in steps[-kept:]]
    possible = {k for k in there if (k[0], k[1], k[2] + 3) in set(there)}
    assert {tuple(obs) for obs in batch.obs[:, 0]} == possible
    assert buffer.statistics().drawn_again == 0  # nothing was copied in vain
    with pytest.raises(rx.ReactorError, match=r"no episode has 90 rows"):
        buffer.sample_sequences(1, 90)


def test_sequences_are_drawn_however_rare_they_are_and_all_alike() -> None:
    n, fields = 1_000_000, {"x": ((), "i8"), "terminated": ((), "?")}
    goes_on = np.isin(np.arange(n), [n // 3, n // 2, n // 2 + 1])  # an episode of two rows, and one of three
    buffer, again = (rl.ReplayBuffer(n, fields, seed=0) for _ in range(2))
    for each in (buffer, again):
        each.add(x=np.arange(n), terminated=~goes_on)
    drawn = [each.sample_sequences(60, 2)["x"] for each in (buffer, again)]
    assert (drawn[0] == drawn[1]).all()
    first, counts = np.unique(drawn[0][:, 0], return_counts=True)
    assert first.tolist() == [n // 3, n // 2, n // 2 + 1]
    assert (counts > 8).all()
    assert (buffer.sample_sequences(2, 3)["x"] == n // 2 + np.arange(3)).all()
    with pytest.raises(rx.ReactorError, match="no episode has 4 rows"):
        buffer.sample_sequences(1, 4)


def test_rows_are_drawn_where_nearly_all_streams_are_empty() -> None:
    n = 50_000
    buffer = rl.ReplayBuffer(2 * n, {"x": ((), "i8"), "terminated": ((), "?")}, num_envs=n, seed=0)
    with pytest.raises(rx.ReactorError, match="is empty and is sampled"):
        buffer.sample_sequences(1, 2)
    buffer.add(x=np.arange(2), terminated=np.zeros(2, bool), envs=n - 1)
    for _ in range(10):
        assert {*buffer.sample(9)["x"].tolist()} <= {0, 1}
        assert buffer.sample_sequences(1, 2)["x"].tolist() == [[0, 1]]


STACKED = {"obs": ((4, 6, 6), "u1"), "action": ((), "i8"), "reward": ((), "f4"), "next_obs": ((4, 6, 6), "u1"),
           "terminated": ((), "?"), "truncated": ((), "?")}  # fmt: skip


class Frames:
    """A game whose frames all differ; the first one of an episode is repeated or preceded by zeros."""

    def __init__(self, stream: int, *, zeros: bool) -> None:
        self.rng, self.zeros, self.k = np.random.default_rng(stream), zeros, 0
        self.reset()

    def frame(self) -> np.ndarray:
        return self.rng.integers(256, size=(6, 6), dtype=np.uint8)

    def reset(self) -> None:
        first = self.frame()
        before = np.zeros_like(first) if self.zeros else first
        self.obs = np.stack([before, before, before, first])

    def step(self) -> dict[str, object]:
        nxt = np.concatenate([self.obs[1:], self.frame()[None]])
        end = self.rng.random()
        row = {
            "obs": self.obs,
            "action": self.k,
            "reward": 1.0,
            "next_obs": nxt,
            "terminated": end < 0.05,
            "truncated": end > 0.95,
        }
        self.k, self.obs = self.k + 1, nxt
        if row["terminated"] or row["truncated"]:
            self.reset()
        return row


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("prioritized", [False, True])
def test_frames_are_put_together_as_they_were(*, zeros: bool, n_step: int, prioritized: bool) -> None:
    games = [Frames(i, zeros=zeros) for i in range(2)]
    buffer = rl.ReplayBuffer(80, STACKED, num_envs=2, frame_stack=4, n_step=n_step, prioritized=prioritized, seed=0)
    plain = rl.ReplayBuffer(80, STACKED, num_envs=2, n_step=n_step, prioritized=prioritized, seed=0)
    for i in range(150):
        steps = [game.step() for game in games]
        rows = {
            name: np.stack([np.asarray(step[name], dtype) for step in steps]) for name, (_, dtype) in STACKED.items()
        }
        buffer.add(rows)
        plain.add(rows)
        if i in {10, 40, 149}:
            batch = buffer.sample(100)
            np.testing.assert_array_equal(batch.obs, plain.take(batch.indices).obs)
            np.testing.assert_array_equal(batch.next_obs, plain.take(batch.indices).next_obs)
    assert 40 < len(buffer) <= 80
    assert len(set(buffer.sample(2000).indices)) == len(buffer)


@pytest.mark.parametrize("side", [32, 61])
def test_large_frames_are_put_together_wherever_they_lie(side: int) -> None:
    shape = (4, side, side)
    fields = {**STACKED, "obs": (shape, "u1"), "next_obs": (shape, "u1")}
    buffer = rl.ReplayBuffer(24, fields, frame_stack=4, seed=0)
    every = np.random.default_rng(side).integers(256, size=(84, side, side), dtype=np.uint8)
    stacks = np.stack([every[i : i + 4] for i in range(81)])
    for first in range(0, 80, 8):
        rows = slice(first, first + 8)
        buffer.add(obs=stacks[rows], next_obs=stacks[first + 1 : first + 9], action=np.arange(first, first + 8),
                   reward=np.zeros(8), terminated=np.zeros(8, bool), truncated=np.zeros(8, bool))  # fmt: skip
        batch = buffer.sample(100)
        np.testing.assert_array_equal(batch.obs, stacks[batch.action])
        np.testing.assert_array_equal(batch.next_obs, stacks[batch.action + 1])
        assert len(set(batch.action)) > 5


def test_rows_whose_frames_are_overwritten_are_gone() -> None:
    buffer = rl.ReplayBuffer(64, STACKED, frame_stack=4, prioritized=True, seed=0)
    rng = np.random.default_rng(0)
    for i in range(200):  # every step an episode of its own: five frames each
        obs = rng.integers(256, size=(1, 4, 6, 6), dtype=np.uint8)
        nxt = np.concatenate([obs[:, 1:], rng.integers(256, size=(1, 1, 6, 6), dtype=np.uint8)], 1)
        buffer.add(obs=obs, action=[i], reward=[0.0], next_obs=nxt, terminated=[True], truncated=[False])
    n = len(buffer)
    assert 10 < n < 30
    batch = buffer.sample(500)
    assert set(batch.action) == set(range(200 - n, 200))
    with pytest.raises(rx.ReactorError, match="row 150 is not there"):
        buffer.take([150])


def test_a_million_atari_transitions_cost_little() -> None:
    atari = {**STACKED, "obs": ((4, 84, 84), "u1"), "next_obs": ((4, 84, 84), "u1")}
    buffer = rl.ReplayBuffer(2000, atari, frame_stack=4, prioritized=True)
    assert buffer.nbytes <= 0.27 * 2000 * 2 * 4 * 84 * 84


def test_frames_that_do_not_continue_are_kept_as_they_are() -> None:
    buffer = rl.ReplayBuffer(64, STACKED, frame_stack=4, seed=0)
    plain = rl.ReplayBuffer(64, STACKED, seed=0)
    rng = np.random.default_rng(0)
    rows = {"obs": rng.integers(256, size=(12, 4, 6, 6), dtype=np.uint8), "action": np.arange(12),
            "reward": np.zeros(12), "next_obs": rng.integers(256, size=(12, 4, 6, 6), dtype=np.uint8),
            "terminated": np.zeros(12, bool), "truncated": np.zeros(12, bool)}  # fmt: skip
    buffer.add(rows)
    plain.add(rows)  # twelve times eight frames; there is room for 88
    batch = buffer.sample(500)
    assert set(batch.action) == set(range(1, 12))
    np.testing.assert_array_equal(batch.next_obs, plain.take(batch.indices).next_obs)
    np.testing.assert_array_equal(batch.obs, rows["obs"][batch.action])


def test_a_row_is_gone_when_the_first_of_its_frames_is() -> None:
    buffer = rl.ReplayBuffer(64, STACKED, frame_stack=4, seed=0)
    plain = rl.ReplayBuffer(64, STACKED, seed=0)
    rng = np.random.default_rng(0)
    stacks = rng.integers(256, size=(24, 4, 6, 6), dtype=np.uint8)
    stacks[22] = stacks[21]  # eleven times eight frames fill the ring; the twelfth row goes on, which takes one more
    stacks[23] = np.concatenate([stacks[22, 1:], stacks[23, :1]])
    rows = {"obs": stacks[::2], "action": np.arange(12), "reward": np.zeros(12), "next_obs": stacks[1::2],
            "terminated": np.zeros(12, bool), "truncated": np.zeros(12, bool)}  # fmt: skip
    buffer.add(rows)
    plain.add(rows)
    batch = buffer.sample(500)
    assert set(batch.action) == set(range(1, 12))
    np.testing.assert_array_equal(batch.obs, plain.take(batch.indices).obs)


def test_an_episode_that_begins_with_the_last_frame_of_another_has_its_own_frames_before_it() -> None:
    buffer = rl.ReplayBuffer(64, STACKED, frame_stack=4, seed=0)
    stacks = np.random.default_rng(0).integers(256, size=(4, 4, 6, 6), dtype=np.uint8)
    stacks[2, -1] = stacks[1, -1]
    for i in range(2):
        buffer.add(obs=stacks[2 * i, None], action=[i], reward=[0.0], next_obs=stacks[2 * i + 1, None],
                   terminated=[True], truncated=[False])  # fmt: skip
    np.testing.assert_array_equal(buffer.take([0, 1]).obs, stacks[::2])
