"""What may a line of a log say about where it comes from?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors_runtime.whereabouts import locate

if TYPE_CHECKING:
    from logging import LogRecord


class LogContext:
    """A filter for handlers of `logging` that lets all records through and gives them what a format may name.

    That is `worker`, its number; `reactor`, the path of the reactor whose reaction logs; `tag`, as in "1.5 s". What is
    logged outside of a program has "-" for all of them. What a record has already, by `extra=`, stays.

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
