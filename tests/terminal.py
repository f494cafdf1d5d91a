"""A program on a terminal, and a user who types."""

import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Sequence

PATIENCE_S = 60.0
_TERMINAL = (
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"  # of the program's session, so that Ctrl-C arrives
)


def typed(program: str, *arguments: str, moves: Sequence[tuple[str, str]] = ()) -> str:
    """All that a program shows on a terminal of its own, to its end.

    Each of `moves` is what to wait for, and what to type then; "\\x03" is Ctrl-C.
    """
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[3] |= termios.NOFLSH  # else Ctrl-C also discards what is on its way to the terminal
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    with subprocess.Popen(
        [sys.executable, "-c", _TERMINAL + program, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown, seen, left = "", 0, list(moves)
        try:
            while select.select([ours], [], [], PATIENCE_S)[0]:
                try:
                    shown += os.read(ours, 4096).decode().replace("\r", "")
                except OSError:  # the last process on the terminal has ended
                    return shown
                while left and (at := shown.find(left[0][0], seen)) >= 0:
                    seen = at + len(left[0][0])
                    os.write(ours, left.pop(0)[1].encode())
            raise AssertionError(f"it waits for something, having shown {shown}")
        finally:
            process.kill()
            os.close(ours)
