"""Does a buffer go on elsewhere as it would have here: in another process, from a file, from a state?"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from safetensors import safe_open

import reactors as rx
from reactors import rl
from tests.rl.test_replay_episodes import FIELDS, STACKED, Frames, episodes

if TYPE_CHECKING:
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
        "has the format": whole.replace(b"ReplayBuffer 1", b"ReplayBuffer 7"),
    }
    for words, data in damage.items():
        path.write_bytes(data)
        with pytest.raises(rx.ArgumentError, match=words):
            rl.ReplayBuffer.load(path)


def test_a_state_of_another_buffer_is_refused() -> None:
    with pytest.raises(rx.ArgumentError, match="of other fields, sizes or options"):
        made({}).load_state_dict(rl.ReplayBuffer(61, FIELDS).state_dict())


def test_a_buffer_unpickled_here_is_over_the_same_memory() -> None:
    buffer = rl.ReplayBuffer(10, {"x": "i8"}, seed=0)
    same = pickle.loads(pickle.dumps(buffer))
    same.add(x=[7])
    assert buffer.sample(3).x.tolist() == [7, 7, 7]
    assert same._block is buffer._block


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
