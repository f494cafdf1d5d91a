"""What is checked only when asked to (`rx.run(..., debug=True)`), because it is too dear for every day?

Types of objects that are set; values that somebody changed after they were set; ports read that may be absent.
"""

from __future__ import annotations

import pickle
import warnings
from typing import TYPE_CHECKING, Any

from reactors.access import ObjectPort
from reactors.errors import ReactorWarning, SharedValueError, ValueMismatchError
from reactors_runtime.values import ObjectStore

if TYPE_CHECKING:
    from reactors_runtime.engine import Engine


class DebugPort(ObjectPort):
    """What costs too much for every day: types are checked, values that a reader changed are found."""

    _carried: Any  # of the port at rest
    _asked: tuple[Any, ...] | None = None
    _warned = False

    @property
    def value(self) -> Any:
        self._asked_before_reading()
        value = super().value
        if value is not None:
            self._check_seal()
        return value

    @property
    def is_present(self) -> bool:
        present = super().is_present
        self._asked = self._moment()
        return present

    def set(self, value: Any) -> None:
        wanted = self._carried().type
        if wanted is not None and not isinstance(value, wanted) and not (wanted is float and type(value) is int):
            raise ValueMismatchError(
                f"{self.where()} takes {getattr(wanted, '__name__', wanted)} and was given "
                f"{value!r}, of type {type(value).__name__}"
            )
        self._check_seal()
        super().set(value)
        self._sealable.seal = _sealed(self._store.value), self._store.value

    @property
    def _sealable(self) -> DebugStore:
        assert isinstance(self._store, DebugStore)
        return self._store

    def _check_seal(self) -> None:
        seal, value = self._sealable.seal
        if seal is not None and _sealed(value) != seal:
            self._sealable.seal = (None, None)
            raise SharedValueError(
                f"{self.where()}: its value was changed after it was set; readers share it with the writer: "
                f"copy it before changing it"
            )

    def _moment(self) -> tuple[Any, ...]:
        return (*self._engine.tag(), self._engine.running())

    def _asked_before_reading(self) -> None:
        running = self._engine.running()
        if running < 0 or self._asked == self._moment():
            return
        reaction = self._engine.image.program.reactions[running]
        if self._element in reaction.triggers or self._element in reaction.effects or self._warned:
            return
        self._warned = True
        path = f"{self._engine.image.program.reactors[reaction.reactor].path}.{reaction.name}"
        warnings.warn(
            f"{path} reads {self.where()} without asking for .is_present; it is no trigger of this reaction, "
            f"so it may be absent, and its value None",
            ReactorWarning,
            stacklevel=4,
        )


class DebugStore(ObjectStore):
    """Remembers a digest of the value, to find out that somebody changed it."""

    __slots__ = ("seal",)

    def __init__(self) -> None:
        super().__init__()
        self.seal: tuple[bytes | None, Any] = (None, None)


def _sealed(value: Any) -> bytes | None:
    try:
        return pickle.dumps(value, 5)
    except Exception:  # noqa: BLE001 - what cannot be pickled cannot be checked
        return None


def sealable(engine: Engine, store: ObjectStore) -> ObjectStore:
    """One store for the writer and its readers, as before, that remembers what was put into it."""
    found: ObjectStore | None = engine.debug_stores.get(id(store))
    if found is None:
        found = engine.debug_stores[id(store)] = DebugStore()
        found.value = store.value
    return found
