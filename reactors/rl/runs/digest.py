"""When are two runs of training the same?"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from reactors.rl.encoding.state import CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray


def digest_of(rows: Iterable[Mapping[str, float]], weights: NDArray[np.float32]) -> str:
    """A hash of what the journal tells of each round, times and evaluations left out, and of the final weights.

    >>> import numpy as np
    >>> row = {"global_step": 8, "seconds": 0.1, "losses/td_loss": 0.5}
    >>> digest_of([row], np.ones(2, "f4")) == digest_of([row | {"seconds": 0.2}], np.ones(2, "f4"))
    True
    >>> digest_of([row], np.ones(2, "f4")) == digest_of([row | {"losses/td_loss": 0.25}], np.ones(2, "f4"))
    False
    """
    found = blake2b(digest_size=16)
    for row in rows:
        for name in sorted(row):
            if not name.startswith((*CLOCK, "eval/")):
                found.update(f"{name} {float(row[name]).hex()}\n".encode())
    found.update(weights.tobytes())
    return found.hexdigest()
