"""Which line of the user's has called us?

Frames of the core do not count, whose files lie side by side in two folders, nor those of `contextlib` between them.
Files of others, those of `reactors.rl` among them, do.
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

_CORE = {os.path.dirname(__file__)}  # noqa: PTH120 - compared with the names in code objects


def belongs(file: str) -> None:
    """The folder of this file is one of the core's."""
    _CORE.add(os.path.dirname(file))  # noqa: PTH120 - likewise


@cache
def _is_core(file: str) -> bool:
    return file == contextlib.__file__ or os.path.dirname(file) in _CORE  # noqa: PTH120 - likewise


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
