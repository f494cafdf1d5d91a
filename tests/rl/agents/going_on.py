"""A run that was stopped and goes on is held against one that never was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reactors import rl

if TYPE_CHECKING:
    from pathlib import Path


def assert_it_goes_on(algorithm: Any, env: Any, folder: Path) -> None:
    """That weights, digest and evaluation are the same; no environment begins again."""

    def trained(steps: int, **options: Any) -> Any:
        return rl.train(algorithm, env, total_steps=steps, seed=1, mode="pipelined", actors=2, **options)

    whole = trained(256)
    trained(128, out=folder, checkpoint_every=2)
    on = trained(256, resume=folder)
    assert on.digest == whole.digest
    assert not on.notes
    loaded = rl.load(folder)
    np.testing.assert_array_equal(loaded.weights, whole.weights)
    assert loaded.evaluate(2) == whole.evaluate(2)
