"""What a worker process warns of is a warning of the caller's.

The worker has the caller's filters (`value_settings.py`), so what they ignore is never sent, and what they make an
error is one in the reaction. Everything else is sent at once, as what is logged, and warned of again at home: there it
is shown or recorded, and what is to be shown once is, though several workers warn of it.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable


class Warned(NamedTuple):
    """A warning on its way home."""

    text: str
    message: bytes | None  # pickled, if that can be done
    kinds: list[tuple[str, str]]  # its class and those that it derives from: module and name of each
    file: str
    line: int
    module: str | None  # whose code warns, where that is known

    def repeat(self) -> None:
        """Warn of it in this process."""
        kind = self._kind()
        shown: dict[str, Any] = {}
        if self.module is not None:
            known = sys.modules.get(self.module)
            registry = _ELSEWHERE if known is None else vars(known).setdefault("__warningregistry__", {})
            shown = {"module": self.module, "registry": registry}
        warnings.warn_explicit(self._message(kind), kind, self.file, self.line, **shown)

    def _kind(self) -> type[Warning]:
        """The first of its classes that this process has."""
        for module, name in self.kinds:
            try:
                kind: type[Warning] = attrgetter(name)(sys.modules[module])
            except (KeyError, AttributeError):
                continue
            return kind
        return Warning

    def _message(self, kind: type[Warning]) -> Warning | str:
        try:
            message = None if self.message is None else pickle.loads(self.message)
        except Exception:  # noqa: BLE001 - any code runs when things are unpickled
            message = None
        if isinstance(message, kind):
            return message
        try:
            kind(self.text)
        except Exception:  # noqa: BLE001 - likewise
            message = kind.__new__(kind, self.text)  # its `__init__` takes something else
            message.args = (self.text,)
            return message
        return self.text


_ELSEWHERE: dict[Any, Any] = {}  # what was shown of modules that only workers have imported


def send_home(send: Callable[[Warned], None]) -> None:
    """From now on, have what this process warns of go home, and be shown here where that fails."""
    plain = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        try:
            send(_portable(message, category, filename, lineno))
        except Exception:  # noqa: BLE001 - a warning is never the reason that something fails
            plain(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def _portable(message: Warning | str, category: type[Warning], file: str, line: int) -> Warned:
    try:
        pickled = pickle.dumps(message)
    except Exception:  # noqa: BLE001 - its class may be the main script's
        pickled = None
    kinds = [(kind.__module__, kind.__qualname__) for kind in category.__mro__ if issubclass(kind, Warning)]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    module = frame.f_globals.get("__name__") if frame.f_code.co_filename == file else None
    return Warned(str(message), pickled, kinds, file, line, module)
