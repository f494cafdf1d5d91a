"""Which modules a server may import ahead of its workers.

Only installed ones: a user's own files may change between two runs, and a worker is to see them as they are then.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

_STANDARD = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120 - pathlib is an import of its own


def installed(module: ModuleType) -> bool:
    """Whether a module comes with Python or from a package that was installed.

    >>> import types
    >>> installed(os), installed(types.ModuleType("mine"))
    (True, False)
    """
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return isinstance(origin, str) and (origin in ("built-in", "frozen") or is_installed(origin))


def is_installed(file: str) -> bool:
    """Whether a file comes with Python or from a package that was installed."""
    return file.startswith((_STANDARD, "<frozen ")) or "/site-packages/" in file or "/dist-packages/" in file


def new_since(before: Iterable[str]) -> list[str]:
    """Installed modules imported by this process that are not in `before`, in the order of their import."""
    known = set(before)
    return [name for name, module in list(sys.modules.items()) if name not in known and installed(module)]
