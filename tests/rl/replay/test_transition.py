"""Do the spaces of an environment become one record that fits its values?"""

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.replay.transition import write

SPACES = [
    gym.spaces.Box(-1, 1, (4,), np.float32),
    gym.spaces.Box(0, 255, (4, 8, 8), np.uint8),
    gym.spaces.Discrete(5, start=-2),
    gym.spaces.MultiDiscrete([3, 4]),
    gym.spaces.MultiBinary((2, 3)),
    gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Box(0, 1, ())]),
    gym.spaces.Dict(a=gym.spaces.Box(0, 1, (2,)), b=gym.spaces.Tuple([gym.spaces.Discrete(3), gym.spaces.Discrete(9)])),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_a_record_holds_what_the_space_has(space: gym.Space) -> None:
    space.seed(0)
    rows = np.zeros(2, rl.transition_dtype(space, gym.spaces.Discrete(2)))
    sample = space.sample()
    write(rows[1:]["obs"], sample)
    assert not rows[0]["obs"].tobytes().strip(b"\0")

    def same(kept: np.ndarray, given: object) -> bool:
        if isinstance(given, dict):
            return all(same(kept[name], value) for name, value in given.items())
        if isinstance(given, tuple):
            return all(same(kept[str(i)], value) for i, value in enumerate(given))
        return np.array_equal(kept, np.asarray(given))

    assert same(rows[1]["obs"], sample)


def test_the_fields_are_named_and_aligned() -> None:
    dtype = rl.transition_dtype(gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2))
    assert dtype.names == ("obs", "action", "reward", "next_obs", "terminated", "truncated")
    assert dtype.isalignedstruct
    assert dtype["reward"] == np.float32
    assert dtype["terminated"] == dtype["truncated"] == np.bool_


@pytest.mark.parametrize("space", [gym.spaces.Text(5), gym.spaces.Sequence(gym.spaces.Discrete(2)), gym.spaces.Dict()])
def test_a_space_without_a_fixed_size_is_refused(space: gym.Space) -> None:
    with pytest.raises(rx.ArgumentError, match=r"no fixed size|is empty"):
        rl.transition_dtype(space, gym.spaces.Discrete(2))
