"""How does Ctrl-C end a run so that it can go on?

The first one makes a file for which the program looks every round: it saves a round and ends after it. The second one
is Python's own.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


class Interruption:
    """While entered, Ctrl-C makes the file; `asked` says whether it did. In the main thread alone.

    >>> import tempfile; from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, Interruption(Path(folder) / "stop") as interruption:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interruption.asked, interruption.file.exists()
    (True, True)
    """

    def __init__(self, file: Path | None) -> None:
        self.file, self.asked = file, False

    def __enter__(self) -> Self:
        self._taken = (
            self.file is not None
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._taken:
            signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._taken:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked or self.file is None:
            raise KeyboardInterrupt
        self.asked = True
        self.file.touch()
        print("\nsaving; once more, and it stops at once", file=sys.stderr, flush=True)
