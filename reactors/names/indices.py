"""What do members of banks and lists, which are alike, have for a name together?"""

from __future__ import annotations

import re

_INDEX = re.compile(r"\[\d+\]")


def without_indices(path: str) -> str:
    """A path as all members have it.

    >>> without_indices("main.pools[2].actors[3].play")
    'main.pools.actors.play'
    """
    return _INDEX.sub("", path)
