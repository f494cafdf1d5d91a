"""Which name may have been meant?"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def close(name: str, known: Iterable[str]) -> str:
    """What may have been meant, as the end of a sentence.

    >>> close("learning_rat", ["learning_rate", "gamma"])
    " (did you mean 'learning_rate'?)"
    """
    found = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""
