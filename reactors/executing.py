"""What is this thread doing?"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactors.modes import Mode


class Executing(threading.local):
    """Whether it executes a program, or a file for the sake of its classes; and the modes whose `with` it is in."""

    program = False
    definitions = False
    modes: tuple[Mode, ...] = ()


executing = Executing()
