"""Where in the user's source was something declared?"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from reactors_runtime.callers import belongs, user_frame

if TYPE_CHECKING:
    from types import FrameType

belongs(os.path.dirname(__file__), but="rl")  # noqa: PTH120 - compared with the names in code objects


class Location(NamedTuple):
    """A file and a line; printed relative to the working directory where that is shorter.

    >>> str(Location("/nowhere/train.py", 31))
    '/nowhere/train.py:31'
    """

    file: str
    line: int

    @classmethod
    def of(cls, frame: FrameType) -> Location:
        """The line that `frame` is executing, or the user's that led there, if it is in the core of this package."""
        frame = user_frame(frame)
        return cls(frame.f_code.co_filename, frame.f_lineno)

    @classmethod
    def caller(cls, depth: int = 1) -> Location:
        """The line that called the function that asks, or one `depth` calls further out."""
        return cls.of(sys._getframe(depth + 1))

    def __str__(self) -> str:
        from pathlib import Path

        path = Path(self.file)
        with suppress(ValueError, OSError):  # it lies elsewhere, or the directory is gone
            path = path.relative_to(Path.cwd())
        return f"{path}:{self.line}"


class Call(NamedTuple):
    """A call of ours in the user's source, as errors name it; spelt out only when one does."""

    name: str
    location: Location

    def __str__(self) -> str:
        return f"{self.name} ({self.location})"
