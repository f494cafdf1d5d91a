"""Under which names does a class keep what its `__slots__` name?"""

from __future__ import annotations


def slots(kind: type) -> list[str]:
    """The attributes of its own slots; a private name has its class in front, as in any class body.

    >>> class Pair:
    ...     __slots__ = ("__dict__", "left", "__right")
    >>> slots(Pair)
    ['left', '_Pair__right']
    """
    given = vars(kind).get("__slots__", ())
    names = [name for name in ((given,) if isinstance(given, str) else given) if not name.endswith("__")]
    prefix = "_" + kind.__name__.lstrip("_")
    return [prefix + name if name.startswith("__") and prefix != "_" else name for name in names]
