"""What is to be done as soon as a module has been imported, by whatever code?"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Awaited:
    """A finder that finds nothing by itself; it sees who asks first for a module."""

    def __init__(self) -> None:
        self.calls: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - that of a finder
        target: ModuleType | None = None,  # noqa: ARG002 - likewise
    ) -> ModuleSpec | None:
        call = self.calls.pop(name, None)
        spec = importlib.util.find_spec(name) if call is not None else None
        if call is None or spec is None or spec.loader is None or isinstance(spec.loader, type):
            return spec
        execute = spec.loader.exec_module

        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            call(module)

        spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]
        return spec


_awaited = _Awaited()


def when_imported(name: str, call: Callable[[ModuleType], None]) -> None:
    """Call it with the module: now if it has been imported, else when it is. The last call for a module counts."""
    if name in sys.modules:
        call(sys.modules[name])
        return
    _awaited.calls[name] = call
    if _awaited not in sys.meta_path:
        sys.meta_path.insert(0, _awaited)
