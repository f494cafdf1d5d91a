"""Which context can a line of a log show?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors_runtime.whereabouts import locate

if TYPE_CHECKING:
    from logging import LogRecord


class LogContext:
    """A filter for `logging` handlers that lets all records through and adds attributes that a format may use.

    These are `worker`, its number; `reactor`, the path of the reactor whose reaction logs; `tag`, such as "1.5 s".
    Outside of a program, all of them are "-". Attributes that a record already has, by `extra=`, are kept.

    >>> import logging, sys, reactors as rx
    >>> handler = logging.StreamHandler(sys.stdout)
    >>> handler.addFilter(rx.LogContext())
    >>> handler.setFormatter(logging.Formatter("%(levelname)s, worker %(worker)s, %(reactor)s at %(tag)s: %(message)s"))
    >>> log = logging.getLogger("sensors")
    >>> log.addHandler(handler)
    >>> class Sensor(rx.Reactor):
    ...     tick = rx.Timer("2 ms")
    ...     @rx.reaction(tick)
    ...     def read(self):
    ...         log.warning("no answer")
    >>> _ = rx.run(Sensor(), fast=True)
    WARNING, worker 0, main at 2 ms: no answer
    >>> log.warning("over")
    WARNING, worker -, - at -: over
    >>> log.removeHandler(handler)
    """

    def filter(self, record: LogRecord) -> bool:
        """Called by a handler for each record."""
        locate(record)
        return True
