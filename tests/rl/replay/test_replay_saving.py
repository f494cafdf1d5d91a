"""Does a buffer go on elsewhere as it would have here: in another process, from a file, from a state?"""

from __future__ import annotations

import copy
import itertools
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from safetensors import safe_open

import reactors as rx
from reactors import rl
from reactors.rl.encoding.generators import rng_state, rng_with_state
from reactors.rl.encoding.sealed import sealed
from reactors.rl.encoding.tensors import KINDS
from tests.rl.replay.test_replay_episodes import FIELDS, STACKED, Frames, episodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OPTIONS = [
    {},
    {"prioritized": True, "num_envs": 2, "weights": "buffer", "stratified": False},
    {"n_step": 3, "num_envs": 2, "prioritized": True},
    {"frame_stack": 4, "n_step": 2, "num_envs": 2},
]


def drive(buffer: rl.ReplayBuffer, first: int, last: int) -> list[object]:
    """Steps from `first` to `last` of the same two games, and what is sampled meanwhile."""
    if "frame_stack" in repr(buffer.config) and buffer.config.frame_stack > 1:
        games = [Frames(i, zeros=False) for i in range(2)]
        every = [[game.step() for game in games] for _ in range(last)]
        steps = [{n: np.stack([np.asarray(s[n], d) for s in both]) for n, (_, d) in STACKED.items()} for both in every]
    else:
        steps = episodes(np.random.default_rng(3), 2, last, 9)
    seen: list[object] = []
    for step in steps[first:last]:
        buffer.add(step, envs=None if buffer.config.num_envs == 2 else 0)
        if len(buffer) > 4:
            batch = buffer.sample(6)
            seen += [batch.indices.tolist(), batch.weights.tolist(), batch.reward.tolist(), batch.obs.tolist()]
            if buffer.config.prioritized:
                buffer.update_priorities(batch, np.abs(batch.reward))
    return seen


def made(options: dict[str, Any]) -> rl.ReplayBuffer:
    return rl.ReplayBuffer(60, STACKED if "frame_stack" in options else FIELDS, seed=5, **options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_loaded_buffer_continues_bit_for_bit(options: dict[str, Any], tmp_path: Path) -> None:
    buffer = made(options)
    drive(buffer, 0, 50)
    buffer.save(tmp_path / "buffer.safetensors")
    state = buffer.state_dict()
    expected = drive(buffer, 50, 80)
    assert drive(rl.ReplayBuffer.load(tmp_path / "buffer.safetensors"), 50, 80) == expected
    other = made(options)
    other.load_state_dict(state)
    assert drive(other, 50, 80) == expected
    assert list(tmp_path.iterdir()) == [tmp_path / "buffer.safetensors"]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_deep_copy_has_memory_of_its_own_and_continues_bit_for_bit(options: dict[str, Any]) -> None:
    buffer = made(options)
    drive(buffer, 0, 50)
    other = copy.deepcopy(buffer)
    expected = drive(buffer, 50, 80)
    assert drive(other, 50, 80) == expected


def test_others_can_read_the_file(tmp_path: Path) -> None:
    buffer = made({"prioritized": True})
    drive(buffer, 0, 20)
    buffer.save(tmp_path / "buffer")
    with safe_open(tmp_path / "buffer", "numpy") as file:
        for name, column in buffer.fields.items():
            np.testing.assert_array_equal(file.get_tensor(name), column)


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    buffer = made({})
    drive(buffer, 0, 20)
    buffer.save(path)
    whole = path.read_bytes()
    damage = {
        "cut off": whole[:-100],
        "is damaged: the checksum of": whole[:-2000] + bytes([whole[-2000] ^ 1]) + whole[-1999:],
        "is no safetensors file": b"PK\x03\x04 something else",
        "no JSON": (50).to_bytes(8, "little") + b"x" * 60,
        "no replay buffer": (2).to_bytes(8, "little") + b"{}",
        "has the format": whole.replace(b"ReplayBuffer 2", b"ReplayBuffer 7"),
    }
    for words, data in damage.items():
        path.write_bytes(data)
        with pytest.raises(rx.ArgumentError, match=words):
            rl.ReplayBuffer.load(path)


def tiny(options: dict[str, Any]) -> rl.ReplayBuffer:
    """A buffer whose file is short, with a row that waits for its next step where rows have several."""
    buffer = rl.ReplayBuffer(
        4, {"obs": ((2,), "f4"), "reward": "f4", "terminated": "?", "truncated": "?"}, seed=5, **options
    )
    for i in range(7):
        buffer.add(obs=np.full((1, 2), i), reward=[i], terminated=[i == 3], truncated=[False])
    return buffer


def test_every_byte_of_a_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    options = {"prioritized": True, "n_step": 2, "gamma": 0.5}
    tiny(options).save(path)
    whole = path.read_bytes()
    with path.open("r+b", buffering=0) as file:
        for at in range(len(whole)):
            os.pwrite(file.fileno(), bytes([whole[at] ^ 1 << at % 8]), at)
            with pytest.raises(rx.ArgumentError):
                rl.ReplayBuffer.load(path)
            os.pwrite(file.fileno(), whole[at : at + 1], at)
    for other in (*(whole[:at] for at in range(0, len(whole), 19)), whole + b"\0", whole + whole):
        path.write_bytes(other)
        with pytest.raises(rx.ArgumentError):
            rl.ReplayBuffer.load(path)
    path.write_bytes(whole)
    assert len(rl.ReplayBuffer.load(path)) == len(tiny(options))


class Forged:
    """A file whose checksums are right, whatever it says."""

    def __init__(self, whole: bytes) -> None:
        size = int.from_bytes(whole[:8], "little")
        self.entries = json.loads(whole[8 : 8 + size])
        self.metadata = self.entries["__metadata__"]
        self.data = bytearray(whole[8 + size :])

    def array(self, name: str) -> Any:
        """A view of the numbers of a tensor."""
        entry = self.entries[name]
        begin, end = entry["data_offsets"]
        return np.frombuffer(memoryview(self.data)[begin:end], KINDS[entry["dtype"]]).reshape(entry["shape"])

    def say(self, word: str, **changes: Any) -> None:
        """Change what a word of the metadata says."""
        self.metadata[word] = json.dumps({**json.loads(self.metadata[word]), **changes})

    def bytes(self) -> bytes:
        """The whole file."""
        tensors = {name: entry["data_offsets"] for name, entry in self.entries.items() if name != "__metadata__"}
        self.say("sums", **{name: f"{zlib.crc32(self.data[a:b]):08x}" for name, (a, b) in tensors.items()})
        self.metadata["crc32"] = "00000000"
        text = json.dumps(self.entries).encode()
        return sealed(len(text).to_bytes(8, "little") + text) + self.data


def forgeries(forged: Forged) -> Iterator[tuple[str, Callable[[], object]]]:
    """Tensors with values that no buffer has: which one the refusal names, and how to change it."""
    for value in (0, 1 << 32, 0x7F800000, 0x7FC00000, 0x80000000, 2**64 - 1):
        yield "core.greatest", partial(forged.array("core.greatest").__setitem__, 0, value)
    for column, value in ((0, 2**63), (0, 2**40), (1, 8), (1, 2**64 - 1), (2, 2**63)):
        yield "core.streams", partial(forged.array("core.streams").__setitem__, (0, column), value)
    for value in (1 << 63, 100 << 24, 5 << 24, 1, 2**64 - 1):
        yield "core.words", partial(forged.array("core.words").__setitem__, 3, value)
    for value in (np.nan, np.inf, -1.0):
        yield "core.priorities", partial(forged.array("core.priorities").__setitem__, 1, value)
    for value in (2, 255):
        yield "terminated", partial(forged.array("terminated").view(np.uint8).__setitem__, 1, value)
    for value in (2, 2**32 - 1):
        yield "pending.counts", partial(forged.array("pending.counts").__setitem__, 0, value)


def test_values_that_lead_out_of_the_memory_are_refused_whatever_the_checksums(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    buffer = tiny({"prioritized": True, "n_step": 2})
    buffer.save(path)
    whole = path.read_bytes()
    rows, count = buffer.state_dict(), len(list(forgeries(Forged(whole))))
    for i in range(count):
        forged = Forged(whole)
        name, change = list(forgeries(forged))[i]
        change()
        path.write_bytes(forged.bytes())
        with pytest.raises(rx.ArgumentError, match=name):
            rl.ReplayBuffer.load(path)
        with pytest.raises(rx.ArgumentError, match=name):
            buffer.load_state_dict({**rows, name: forged.array(name)})
        for kept, array in buffer.state_dict().items():
            assert np.array_equal(array, rows[kept]), "what is refused changes nothing"
    path.write_bytes(Forged(whole).bytes())
    assert rl.ReplayBuffer.load(path).sample(3).indices.tolist() == buffer.sample(3).indices.tolist()


def test_frames_that_there_are_not_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    buffer = made({"frame_stack": 4, "num_envs": 2})
    drive(buffer, 0, 50)
    buffer.save(path)
    whole = path.read_bytes()
    for value in (0, 2, 2**40, 2**64 - 1, 2**64 - 3):
        forged = Forged(whole)
        forged.array("core.last_frame.next_obs")[4] = value
        path.write_bytes(forged.bytes())
        with pytest.raises(rx.ArgumentError, match="last_frame"):
            rl.ReplayBuffer.load(path)


LIES: list[dict[str, Any]] = [
    {"share": 2**40}, {"share": 0}, {"share": -4}, {"share": 2.0}, {"share": "4"}, {"num_envs": 2}, {"num_envs": 2**62},
    {"num_envs": True}, {"n_step": 3}, {"n_step": 2**40}, {"frame_stack": 4}, {"gamma": 2}, {"alpha": "x"},
    {"weights": 3}, {"small": -1}, {"prioritized": False}, {"prioritized": "no"},
    {"fields": []}, {"fields": [["obs", "O", [2], False]]}, {"fields": [["obs", "<f4", [-2], False]]}, {"unknown": 1},
    {"fields": [["obs", "<f4", [2**40], False]]}, {"fields": [["core.head", "<f4", [], False]]}, {"fields": 7},
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_a_file_that_says_to_be_another_buffer_than_it_is_is_refused(lie: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    tiny({"prioritized": True, "n_step": 2}).save(path)
    forged = Forged(path.read_bytes())
    forged.say("config", **lie)
    path.write_bytes(forged.bytes())
    with pytest.raises(rx.ArgumentError):
        rl.ReplayBuffer.load(path)


GENERATORS = [np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64]


@pytest.mark.parametrize("kind", GENERATORS)
def test_any_generator_of_numpy_goes_on_from_a_file(kind: Any, tmp_path: Path) -> None:
    buffer = rl.ReplayBuffer(4, {"x": "i8"}, seed=np.random.Generator(kind(3)))
    buffer.add(x=[1, 2, 3])
    buffer.sample(5)
    buffer.save(tmp_path / "buffer")
    again = rl.ReplayBuffer.load(tmp_path / "buffer")
    assert again.sample(9).indices.tolist() == buffer.sample(9).indices.tolist()


def test_a_generator_that_would_read_beyond_its_numbers_is_refused() -> None:
    for kind, name, values in ((np.random.MT19937, "pos", (-1, 625, 2**20)), (np.random.Philox, "buffer_pos", (-5, 5))):
        for value in values:
            state = rng_state(np.random.Generator(kind(1)))
            (state["state"] if name in state["state"] else state)[name] = value
            with pytest.raises(rx.ArgumentError, match="a state of random numbers is none"):
                rng_with_state(state)
    for name in ("seed", "Generator", "shuffle"):
        with pytest.raises(rx.ArgumentError, match="a state of random numbers is none"):
            rng_with_state({"bit_generator": name, "state": {}})


@pytest.mark.parametrize("options", [{}, {"prioritized": True, "n_step": 2, "weights": "buffer"}], ids=str)
def test_a_forged_file_is_refused_or_gives_a_buffer_that_works(options: dict[str, Any], tmp_path: Path) -> None:
    path, dice, accepted = tmp_path / "buffer", np.random.default_rng(7), 0
    tiny(options).save(path)
    whole = path.read_bytes()
    for _ in range(150):
        forged = Forged(whole)
        for _ in range(dice.integers(1, 4)):
            at = int(dice.integers(len(forged.data)))
            forged.data[at] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, int(dice.integers(256))])
        path.write_bytes(forged.bytes())
        try:
            buffer = rl.ReplayBuffer.load(path)
        except rx.ArgumentError:
            continue
        accepted += 1
        for i in range(5):
            buffer.add(obs=np.full((1, 2), i), reward=[i], terminated=[i == 3], truncated=[False])
        assert buffer.sample(8).indices.max() < buffer.state_dict()["core.streams"][0, 0]
        if buffer.config.n_step == 1:
            buffer.sample_sequences(2, 1)
    assert accepted > 20


def test_a_row_that_was_being_written_is_gone_in_what_is_restored() -> None:
    buffer = tiny({"prioritized": True})
    state = buffer.state_dict()
    state["core.words"][0] |= 1234 << 1 | 1  # its writer has died
    state["core.words"][1] += 2  # so has one who was changing a priority
    buffer.load_state_dict(state)
    assert 4 not in buffer.sample(200).indices
    assert set(buffer.sample(200).indices) == {3, 5, 6}
    buffer.update_priorities(np.array([5]), [0.5])
    np.testing.assert_allclose(buffer.priorities([4, 5]), [0, 0.5**0.6], rtol=1e-4)
    buffer.add(obs=np.zeros((4, 2)), reward=np.zeros(4), terminated=np.zeros(4, bool), truncated=np.zeros(4, bool))


@pytest.mark.parametrize("options", [{}, {"prioritized": True}, {"frame_stack": 2}], ids=str)
def test_a_state_that_is_taken_while_others_add_has_whole_rows_only(options: dict[str, Any]) -> None:
    frames = {"obs": ((2, 40), "f4"), "next_obs": ((2, 40), "f4")}
    fields = frames | {"reward": ((), "f4"), "terminated": ((), "?"), "truncated": ((), "?")}
    buffer = rl.ReplayBuffer(4000, fields, num_envs=2, seed=0, **options)
    stop = threading.Event()

    def write(env: int) -> None:
        entrance, never = copy.copy(buffer), np.zeros(5, bool)
        for k in itertools.count(step=5):
            if stop.is_set():
                return
            row = np.arange(k, k + 5, dtype="f4")
            seen = np.repeat(np.stack([row, row + 1, row + 2], 1)[:, :, None], 40, 2)
            entrance.add(obs=seen[:, :2], next_obs=seen[:, 1:], reward=row, terminated=never, truncated=never, envs=env)
            time.sleep(0.001)  # or all rows are others by the time that a state is taken

    writers = [threading.Thread(target=write, args=(env,)) for env in (0, 1)]
    for each in writers:
        each.start()
    found = 0
    try:
        while len(buffer) < 1000:
            time.sleep(0.001)
        for _ in range(30):
            batch = copy.deepcopy(buffer).sample(300)
            row = batch.reward[:, None, None]
            assert (batch.obs == row + np.array([0, 1])[:, None]).all()
            assert (batch.next_obs == row + np.array([1, 2])[:, None]).all()
            found += len(set(batch.indices))
    finally:
        stop.set()
        for each in writers:
            each.join()
    assert found > 30 * 100


def test_a_state_that_is_taken_while_rows_are_given_up_can_be_loaded() -> None:
    """Frames of short episodes run out before their slots do."""
    image = ((4, 16, 16), "u1")
    fields = {"obs": image, "next_obs": image, "reward": ((), "f4"), "terminated": ((), "?"), "truncated": ((), "?")}
    buffer, other = (rl.ReplayBuffer(2000, fields, frame_stack=4, prioritized=True, seed=0) for _ in range(2))
    stop = threading.Event()

    def write() -> None:
        entrance, dice = copy.copy(buffer), np.random.default_rng(0)
        seen = dice.integers(255, size=(40, 16, 16), dtype="u1")
        for k in itertools.count():
            if stop.is_set():
                return
            at = 2 * k % 30
            obs, nxt = seen[None, at : at + 4], seen[None, at + 1 : at + 5]
            entrance.add(obs=obs, next_obs=nxt, reward=[0.0], terminated=[True], truncated=[False])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(buffer) < 200:
            time.sleep(0.001)
        for _ in range(60):
            other.load_state_dict(buffer.state_dict())
    finally:
        stop.set()
        writer.join()


def test_what_is_restored_weighs_as_what_was_saved_did() -> None:
    buffer, other = (rl.ReplayBuffer(20, {"x": ((), "i8")}, prioritized=True, seed=0) for _ in range(2))
    buffer.update_priorities(buffer.add(x=np.arange(10)), np.arange(1.0, 11.0))
    buffer.beta = 1.0
    other.load_state_dict(buffer.state_dict())
    np.testing.assert_array_equal(other.sample(4).weights, buffer.sample(4).weights)


def test_a_state_of_another_buffer_is_refused() -> None:
    with pytest.raises(rx.ArgumentError, match="of other fields, sizes or options"):
        made({}).load_state_dict(rl.ReplayBuffer(61, FIELDS).state_dict())


def test_a_buffer_unpickled_here_is_over_the_same_memory() -> None:
    buffer = rl.ReplayBuffer(10, {"x": "i8"}, seed=0)
    same = pickle.loads(pickle.dumps(buffer))
    same.add(x=[7])
    assert buffer.sample(3).x.tolist() == [7, 7, 7]
    assert same._block is buffer._block


def test_a_pickled_buffer_goes_on_with_the_steps_that_wait() -> None:
    buffer = rl.ReplayBuffer(10, FIELDS, n_step=2, gamma=0.5, seed=0)
    first, second = episodes(np.random.default_rng(0), 1, 2, 1e9)
    buffer.add(first)
    other = pickle.loads(pickle.dumps(buffer))
    other.add(second)
    row = other.take([0])
    np.testing.assert_array_equal(row.obs, first["obs"])
    np.testing.assert_allclose(row.reward, first["reward"] + 0.5 * second["reward"], rtol=1e-6)


CHILD = """
import pickle, sys
buffer = pickle.loads(sys.stdin.buffer.read())
assert buffer.sample(2).x.tolist() == [5, 5]
print(buffer.add(x=[8, 9]).tolist())
"""


def test_another_process_has_the_same_memory_while_its_owner_lives() -> None:
    buffer = rl.ReplayBuffer(10, {"x": "i8"}, seed=0)
    buffer.add(x=[5])
    data = pickle.dumps(buffer)
    child = subprocess.run([sys.executable, "-c", CHILD], input=data, capture_output=True, check=True)
    assert child.stdout == b"[1, 2]\n"
    assert set(buffer.sample(50).x.tolist()) == {5, 8, 9}
    del buffer
    with pytest.raises(rx.ArgumentError, match="has ended or closed it"):
        pickle.loads(data)


def test_a_place_where_nothing_can_be_saved_is_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with rl.ReplayBuffer(8, {"x": "f4"}) as buffer:
        with pytest.raises(rx.ArgumentError, match=r"saved as 'no/b', but there is no folder 'no'; make it$"):
            buffer.save("no/b")
        with pytest.raises(rx.ArgumentError, match=f"saved as '{tmp_path}', which is a folder; name a file in it$"):
            buffer.save(tmp_path)
        name = "x" * 300
        with pytest.raises(OSError, match=f"'{name}'$"):  # and not that of the file beside it
            buffer.save(name)
    assert not [*tmp_path.iterdir()]
