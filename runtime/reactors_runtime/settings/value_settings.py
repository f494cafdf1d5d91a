"""Which settings of a process, or of a thread, decide what a program computes?

Those of the caller hold on all its workers, so that a program has the same values inline, in threads and in processes:
of Python, its recursion limit, the longest integer it writes, the context of `decimal`, the locale, and the filters of
warnings, which make errors of some; of NumPy, what it does about floating-point errors; of torch, what
`torch_settings` has. What the caller has not imported has no settings, and what a worker imports later gets them then:
no worker imports torch for this.
"""

from __future__ import annotations

import decimal
import locale
import pickle
import sys
import warnings
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from reactors_runtime.settings import torch_settings
from reactors_runtime.settings.on_import import when_imported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


@dataclass(frozen=True, slots=True)
class ValueSettings:
    """Those of this process, and of the thread that asks for them.

    >>> before = ValueSettings.now()
    >>> before.accept()
    >>> ValueSettings.now() == before
    True
    """

    recursion: int
    digits: int  # of an integer that becomes a string, or is read from one
    locale: str
    filters: tuple[tuple[Any, ...], ...]  # of warnings; for their class, the module that has it and its name there
    decimals: dict[str, Any]
    float_errors: dict[str, Any]  # what NumPy does about them
    buffer: int  # how many elements NumPy converts at once, and so how it groups what it adds
    torch: bytes | None  # pickled, for it can be unpickled only where torch is

    @classmethod
    def now(cls) -> Self:
        """The settings of this thread, as they are now."""
        import numpy as np

        torch = sys.modules.get("torch")
        filters: Sequence[Any] = warnings.filters
        return cls(
            sys.getrecursionlimit(),
            sys.get_int_max_str_digits(),
            locale.setlocale(locale.LC_ALL),
            tuple(
                (action, message, (kind.__module__, kind.__qualname__), *rest)
                for action, message, kind, *rest in filters
            ),
            _parts(decimal.getcontext()),
            dict(np.geterr()),
            np.getbufsize(),
            None if torch is None else pickle.dumps(torch_settings.now(torch)),
        )

    def accept(self) -> None:
        """Make them those of this process, a worker, and of this thread, which runs it."""
        sys.setrecursionlimit(self.recursion)
        sys.set_int_max_str_digits(self.digits)
        if locale.setlocale(locale.LC_ALL) != self.locale:
            locale.setlocale(locale.LC_ALL, self.locale)
        self._filter_warnings()
        self._accept_numbers()
        if self.torch is not None:
            when_imported("torch", self._accept_torch)

    def accept_in_thread(self) -> None:
        """Make those that every thread has for itself this one's, which runs a worker beside the caller."""
        self._accept_numbers()
        if self.torch is not None:
            torch_settings.accept_in_thread(sys.modules["torch"], pickle.loads(self.torch))

    def _accept_numbers(self) -> None:
        import numpy as np

        decimal.setcontext(decimal.Context(**self.decimals))
        np.seterr(**self.float_errors)
        np.setbufsize(self.buffer)

    def _accept_torch(self, torch: ModuleType) -> None:
        assert self.torch is not None
        torch_settings.accept(torch, pickle.loads(self.torch))

    def _filter_warnings(self, first: Sequence[Any] = ()) -> None:
        """Have the caller's filters, behind those in `first`; and those for classes that are still to come, then."""
        filters: list[Any] = []
        awaited: dict[str, None] = {}
        for action, message, (module, name), *rest in self.filters:
            if module not in sys.modules:
                awaited[module] = None
                continue
            try:
                filters.append((action, message, attrgetter(name)(sys.modules[module]), *rest))
            except AttributeError:  # nothing here can warn of it
                continue
        warnings.resetwarnings()
        warnings.filters.extend([*(each for each in first if each not in filters), *filters])  # type: ignore[attr-defined]

        def again(_: ModuleType) -> None:
            self._filter_warnings([each for each in warnings.filters if each not in filters])

        for module in awaited:
            when_imported(module, again)


def _parts(context: decimal.Context) -> dict[str, Any]:
    """What makes such a context."""
    signals = context.traps
    return {
        **{name: getattr(context, name) for name in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")},
        "traps": [signal for signal in signals if context.traps[signal]],
        "flags": [signal for signal in signals if context.flags[signal]],
    }
