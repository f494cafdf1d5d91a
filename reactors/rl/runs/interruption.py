"""How does Ctrl-C end a run so that it can go on, or SIGTERM, with which Slurm, Docker and `timeout` end it?

The first one makes a file for which the program looks every round: it saves a round and ends after it. The second one
does what it would have done.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from reactors.lowlevel import Aside

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


class Interruption:
    """While entered, Ctrl-C and SIGTERM make the file; `asked` says whether they did. In the main thread alone.

    A handler that the user has installed stays.

    >>> import tempfile; from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, Interruption(Path(folder) / "stop") as interruption:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interruption.asked, interruption.file.exists()
    (True, True)
    """

    def __init__(self, file: Path | None) -> None:
        self.file, self.asked = file, False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self.file is not None and threading.current_thread() is threading.main_thread():
            for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
                if signal.getsignal(number) is usual:
                    self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        if self.asked or self.file is None:
            signal.signal(number, self._before.pop(number))
            signal.raise_signal(number)
            return
        self.asked = True
        self.file.touch()
        print("\nsaving; once more, and it stops at once", file=Aside(sys.stderr), flush=True)
