"""A prompt where a run stands: IPython, if it is there, else Python's own."""

from __future__ import annotations

import code
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    from reactors.rewinding.replay import Replay

BANNER = 'r is the replay: r.step(), r.back(), r.to("3 min"), r.go(), r.fork(...); m is the program where r stands.'


def shell(r: Replay) -> None:
    """Read lines and execute them, until the end of the input; `m` is brought up to date before each."""
    names: dict[str, Any] = {"r": r, "m": r.main, "main": r.main}
    try:
        from IPython.terminal.embed import InteractiveShellEmbed  # noqa: T100 - it is what one asked for
    except ImportError:
        _Console(r, names).interact(f"{BANNER}\n{r!r}", exitmsg="")
        return
    made: Any = InteractiveShellEmbed
    prompt = made(user_ns=names, banner1=f"{BANNER}\n{r!r}\n", exit_msg="", confirm_exit=False)
    prompt.events.register("pre_run_cell", lambda _: names.update(_now(r)))
    prompt()


def _now(r: Replay) -> dict[str, Any]:
    return {"m": r.main, "main": r.main}


class _Console(code.InteractiveConsole):
    """Python's own prompt."""

    def __init__(self, r: Replay, names: dict[str, Any]) -> None:
        super().__init__(names)
        self.replay, self.names = r, names

    def runcode(self, code: CodeType) -> None:
        """Execute what was read, with the program as it is now."""
        self.names.update(_now(self.replay))
        super().runcode(code)
