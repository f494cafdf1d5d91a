"""Which line of the user's has called us?

Frames of the core do not count, nor those of `contextlib` between them. Files of others, those of `reactors.rl` among
them, do.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

RUNTIME = os.path.join(os.path.dirname(__file__), "")  # noqa: PTH118, PTH120 - compared with the names in code objects
"""The folder of this package, as names of files begin that are its."""

_CORE = [RUNTIME]
_OTHERS: list[str] = []


def belongs(folder: str, *, but: str) -> None:
    """All that lies in this folder is the core's, but for what lies in a folder of it."""
    _CORE.append(os.path.join(folder, ""))  # noqa: PTH118 - likewise
    _OTHERS.append(os.path.join(folder, but, ""))  # noqa: PTH118 - likewise
    _is_core.cache_clear()


@cache
def _is_core(file: str) -> bool:
    return file == contextlib.__file__ or (file.startswith(tuple(_CORE)) and not file.startswith(tuple(_OTHERS)))


def is_ours(file: str) -> bool:
    """Whether a file is of this project, what is built on the core included."""
    return file.startswith(tuple(_CORE))


def user_frame(frame: FrameType) -> FrameType:
    """This frame, or the first one further out that is the user's; this one if none is."""
    outer: FrameType | None = frame
    while outer is not None and _is_core(outer.f_code.co_filename):
        outer = outer.f_back
    return frame if outer is None or outer.f_code.co_filename.startswith("<frozen") else outer


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's that has called us."""
    frame = user_frame(sys._getframe(1))
    module, registry = (
        frame.f_globals.get("__name__", "<string>"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)
