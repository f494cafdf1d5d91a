"""A run that was stopped and goes on is held against one that never was."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors import rl

if TYPE_CHECKING:
    from pathlib import Path

    from reactors.lowlevel import Backend


def assert_it_goes_on_anywhere(algorithm: Any, env: Any, folder: Path, **env_kwargs: Any) -> None:
    """That what goes on with more workers, in threads or processes, is what one worker does that never stopped."""

    def trained(steps: int, **options: Any) -> Any:
        given = {"env_kwargs": env_kwargs, "seed": 1, "mode": "pipelined", "actors": 4, **options}
        return rl.train(algorithm, env, total_steps=steps, **given)

    whole = trained(192)
    trained(96, out=folder)
    ways: tuple[tuple[int, Backend], ...] = (2, "thread"), (4, "process")
    for workers, backend in ways:
        again = shutil.copytree(folder, folder.with_name(f"{workers}-{backend}"))
        on = trained(192, resume=again, workers=workers, backend=backend)
        assert not on.notes
        assert on.digest == whole.digest
        np.testing.assert_array_equal(on.weights, whole.weights)


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
