"""What a worker logs is handled in the caller's process, by the handlers of the caller's loggers.

A worker makes the records that the levels of the caller's loggers let through, and sends each at once, so that one that
is killed has lost nothing that it had logged. Filters and handlers see them at home.
"""

from __future__ import annotations

import logging
import pickle
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from reactors_runtime.processes.messages import WireEnd, pair, readable
from reactors_runtime.whereabouts import locate

if TYPE_CHECKING:
    from types import TracebackType

    from reactors_runtime.processes.remote_warnings import Warned

_AT_ONCE = 64  # records that are handled before the caller looks after something else
_PLAIN = {str, int, float, bool, bytes, complex, type(None)}
_KNOWN = {*vars(logging.makeLogRecord({})), "message", "asctime"}  # what a record has by itself


@dataclass(frozen=True, slots=True)
class Configuration:
    """What decides, in the caller, which records are made."""

    loggers: dict[str, tuple[int, bool]]  # the level, and whether it is disabled
    root: int
    disabled: int  # by logging.disable
    names: dict[int, str]  # of levels
    loaded: Any  # when logging was: the time from which `relativeCreated` counts
    raises: bool
    warnings: bool  # whether they are logged

    @classmethod
    def now(cls) -> Self:
        """The levels that loggers have now in this process."""
        loggers = list(logging.root.manager.loggerDict.items())
        return cls(
            {name: (each.level, each.disabled) for name, each in loggers if isinstance(each, logging.Logger)},
            logging.root.level,
            logging.root.manager.disable,
            {level: logging.getLevelName(level) for level in logging.getLevelNamesMapping().values()},
            logging._startTime,  # type: ignore[attr-defined]
            logging.raiseExceptions,
            logging._warnings_showwarning is not None,  # type: ignore[attr-defined]
        )

    def accept(self, home: logging.Handler) -> None:
        """Make it this worker's, and let `home` handle what loggers of the caller would.

        Handlers that modules gave to these when they were imported here are the caller's affair. A logger that the
        caller does not have keeps what it has, and so does one that a reaction changes.
        """
        for level, name in self.names.items():
            logging.addLevelName(level, name)
        for name, state in self.loggers.items():
            if name in logging.root.manager.loggerDict or state != (logging.NOTSET, False):
                logger = logging.getLogger(name)
                logger.level, logger.disabled = state
                logger.handlers, logger.filters, logger.propagate = [], [], True
        logging.root.handlers, logging.root.filters = [home], []
        logging._startTime = self.loaded  # type: ignore[attr-defined]
        logging.raiseExceptions = self.raises
        logging.captureWarnings(self.warnings)
        logging.disable(self.disabled)
        logging.root.setLevel(self.root)  # after which no logger remembers what it was enabled for


class Sender(logging.Handler):
    """Sends a worker's records home, over the descriptor of a `Records`."""

    def __init__(self, worker: int, descriptor: int) -> None:
        super().__init__()
        self._worker, self._home = worker, WireEnd(socket.socket(fileno=descriptor))

    def emit(self, record: logging.LogRecord) -> None:
        """Send it, whole, before the reaction goes on."""
        locate(record, self._worker)
        if record.processName == "MainProcess":
            record.processName = f"reactors worker {self._worker}"
        try:
            self._home.send("logged", _portable(record))
        except ConnectionError:  # the run is over
            pass
        except Exception:  # noqa: BLE001 - as any handler
            self.handleError(record)

    def warned(self, warning: Warned) -> None:
        """Send a warning, likewise."""
        self._home.send("warned", warning)


def _portable(record: logging.LogRecord) -> dict[str, Any]:
    """What to make it of at home. As with `QueueHandler`, the message is text, unless its arguments are plain."""
    fields = dict(vars(record))
    message = record.getMessage()
    arguments = record.args or ()
    if type(record.msg) is not str or not isinstance(arguments, tuple) or not all(map(_is_plain, arguments)):
        fields["msg"], fields["args"] = message, None
    if record.exc_info:
        fields["exc_text"] = record.exc_text or logging.Formatter().formatException(record.exc_info)
        fields["exc_info"] = None
    for name in fields.keys() - _KNOWN:
        if not _survives(fields[name]):
            fields[name] = repr(fields[name])
    return fields


def _is_plain(value: object) -> bool:
    return type(value) in _PLAIN


def _survives(value: object) -> bool:
    """Whether it can be sent, and read where it arrives."""
    if _is_plain(value):
        return True
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:  # noqa: BLE001 - any code runs when things are pickled
        return False
    return True


class Records:
    """What the workers of a run log, on its way to the loggers of this process, and what they warn of.

    The run must `forward` whenever poll finds `fileno()` readable; what is left is forwarded at the exit.
    """

    def __init__(self) -> None:
        self._ours, self._theirs = pair()

    @property
    def descriptor(self) -> int:
        """For a worker's `Sender`."""
        return self._theirs.fileno()

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._ours.fileno()

    def forward(self) -> None:
        """Handle some of what has come."""
        for _ in range(_AT_ONCE):
            if not readable([self.fileno()], 0):
                break
            self._handle()

    def _handle(self) -> None:
        (word, what), _ = self._ours.receive()
        if word == "warned":
            what.repeat()
        else:
            record = logging.makeLogRecord(what)
            logging.getLogger(record.name).handle(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._theirs.end()  # or what a process that outlives its worker logs would never end
            while True:
                self._handle()
        except EOFError:
            pass
        finally:
            self._theirs.close()
            self._ours.close()
