"""How is a value pickled that pickle alone cannot: a lambda, or an object of a class of `__main__`?"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

import cloudpickle

if TYPE_CHECKING:
    import pickle
    from collections.abc import Callable


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """As cloudpickle does it, which would send what is in an open file for the file."""

    def reducer_override(self, obj: Any) -> Any:
        """Refuse an open file."""
        if isinstance(obj, io.TextIOWrapper) and obj not in (sys.stdout, sys.stderr):
            raise TypeError("an open file belongs to one process")
        return super().reducer_override(obj)


def dumps(value: Any, take: Callable[[pickle.PickleBuffer], object]) -> bytes:
    """The pickle, in protocol 5; `take` gets the buffers beside it."""
    with io.BytesIO() as file:
        Pickler(file, 5, buffer_callback=take).dump(value)
        return file.getvalue()
