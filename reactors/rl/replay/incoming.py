"""Do the arrays that are added to a buffer fit its fields, and where do they lie?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from reactors.errors import ArgumentError
from reactors.lowlevel import NUMBERS, LostError, lossless
from reactors.rl._core import ffi

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from reactors.rl.replay.storage import Field


FLOATS = ffi.typeof("float[]")
FLOAT32 = np.dtype(np.float32)


class Incoming:
    """Pointers to the columns of the rows that are being added, in the form of the core; made once, and reused.

    Contiguous arrays of the right dtype are used in place; all others are converted, if no value is lost.
    """

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields
        self.pointers = ffi.new("void *[]", len(fields))
        self.strides = ffi.new("uint64_t[]", [field.bytes for field in fields])
        self._columns = [(i, field.name, field.dtype) for i, field in enumerate(fields)]
        self._shapes: list[Any] = [None] * (len(fields) + 1)  # the last shapes, and the number of rows
        self._contiguous = True  # strides are those of plain columns
        self._records: tuple[Any, list[int]] = None, []  # the record dtype seen last, and where our fields are in it
        self._kept: list[Any] = []

    def take(self, batch: Any) -> int:
        """Point at the rows of `batch`; returns their number."""
        if type(batch) is np.ndarray and batch.dtype.names is not None:
            return self._take_records(batch)
        if not isinstance(batch, Mapping):
            raise ArgumentError(
                f"rows are given as {type(batch).__name__}; give a mapping of arrays, a record array, or keywords: "
                f"{self.call()}"
            )
        if not self._contiguous:
            self._plain_strides()
        pointers, from_buffer, n, kept = self.pointers, ffi.from_buffer, -1, []
        shapes = self._shapes
        for i, name, dtype in self._columns:  # every operation here is a large part of the cost of adding
            try:
                column = batch[name]
            except KeyError:
                self._refuse_missing(batch)
            if type(column) is not np.ndarray or (column.dtype is not dtype and column.dtype != dtype):
                column = converted(column, self.fields[i])
                kept.append(column)
            if column.shape != shapes[i]:
                shapes = self._shapes_of(column, self.fields[i], n)
            try:
                pointers[i] = from_buffer(column)
            except (ValueError, BufferError, NotImplementedError):
                column = np.ascontiguousarray(column)
                kept.append(column)
                pointers[i] = ffi.cast("void *", column.ctypes.data)
            n = shapes[-1]
        if len(batch) != len(self._columns):
            self._refuse_unknown(batch)
        self._kept = kept
        return n

    def _shapes_of(self, column: NDArray[Any], field: Field, n: int) -> list[Any]:
        """The shapes of all columns, and the number of rows, from the first column; for this call and the next."""
        if column.ndim == 0 or column.shape[1:] != field.shape:
            _refuse_shape(column, field)
        if n >= 0:
            _refuse_length(len(column), n, field, self.fields[0])
        self._shapes = [*((len(column), *each.shape) for each in self.fields), len(column)]
        return self._shapes

    def _take_records(self, rows: NDArray[Any]) -> int:
        dtype = rows.dtype
        if dtype is not self._records[0]:
            self._records = dtype, self._offsets(dtype)
        if rows.ndim != 1:
            rows = rows.reshape(-1)
        elif not rows.flags.c_contiguous and rows.strides[0] < 0:
            rows = rows.copy()
        self.point(rows, self._records[1])
        return len(rows)

    def point(self, rows: NDArray[Any], offsets: list[int]) -> None:
        """Point at records that have our fields at these offsets, and keep them alive until the next call."""
        base, stride = rows.ctypes.data, rows.strides[0] if len(rows) else 0
        for i, offset in enumerate(offsets):
            self.pointers[i] = ffi.cast("void *", base + offset)
            self.strides[i] = stride
        self._contiguous = False
        self._kept = [rows]

    def _offsets(self, dtype: np.dtype[Any]) -> list[int]:
        given: dict[str, Any] = {str(name): place for name, place in (dtype.fields or {}).items()}
        if missing := [f.name for f in self.fields if f.name not in given]:
            self._refuse_missing(given, missing)
        if len(given) != len(self.fields):
            self._refuse_unknown(given)
        for field in self.fields:
            base, shape = given[field.name][0].subdtype or (given[field.name][0], ())
            if base != field.dtype or shape != field.shape:
                raise ArgumentError(
                    f"field {field.name!r} of the records is {base}{list(shape) if shape else ''}, but the buffer "
                    f"keeps {field}; make them of the same dtype, or give a mapping of arrays, which are converted"
                )
        return [given[field.name][1] for field in self.fields]

    def _plain_strides(self) -> None:
        for i, field in enumerate(self.fields):
            self.strides[i] = field.bytes
        self._contiguous = True

    def replace(self, i: int, at: Any, stride: int) -> None:
        """Use another address for column `i`."""
        self.pointers[i], self.strides[i] = at, stride
        self._contiguous = False

    def keep(self, array: object) -> None:
        """Keep an array that a pointer refers to alive until the next call."""
        self._kept.append(array)

    def call(self) -> str:
        """How to give the fields as keywords."""
        return f"add({', '.join(f'{field.name}=...' for field in self.fields)})"

    def _refuse_missing(self, batch: Any, missing: list[str] | None = None) -> NoReturn:
        missing = missing or [f.name for f in self.fields if f.name not in batch]
        extra = self._extra(batch)
        beside = f" and have {', '.join(map(repr, extra))}" if extra else ""
        raise ArgumentError(
            f"the rows lack {', '.join(map(repr, missing))}{beside}; the buffer keeps "
            f"{', '.join(map(str, self.fields))}{_ends(extra)}"
        )

    def _refuse_unknown(self, batch: Any) -> NoReturn:
        extra = self._extra(batch)
        raise ArgumentError(
            f"the rows have {', '.join(map(repr, extra))}, which the buffer does not keep; leave it out, or add it to "
            f"the fields{_ends(extra)}"
        )

    def _extra(self, batch: Any) -> list[str]:
        known = {field.name for field in self.fields}
        return [name for name in batch if name not in known]


def _ends(extra: list[str]) -> str:
    """What to write instead of the `done` flag of older interfaces."""
    done = next((name for name in extra if name in {"done", "dones"}), None)
    if done is None:
        return ""
    return (
        f". {done!r} does not say how an episode ended: give terminated (by its rules) and truncated (broken off), as "
        "step returns them"
    )


def converted(column: Any, field: Field) -> NDArray[Any]:
    """`column` in the dtype of the field; refused if a value would be lost, as defined by `lossless`."""
    if field.dtype.names is not None:
        return _record_column(column, field)
    return _fitting(column, field.dtype, field.name)


def _fitting(column: Any, dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    try:
        return lossless(column, dtype)
    except LostError as lost:
        where = f"row {lost.at[0]} of {name!r}" if lost.at else repr(name)
        given = np.asarray(column).dtype
        wider = f'declare the field as "{given}", or ' if given.kind in NUMBERS else ""
        raise ArgumentError(f"{where} has {lost}; {wider}convert it yourself") from None
    except TypeError:
        given = np.asarray(column).dtype
        raise ArgumentError(
            f"field {name!r} is given as {given}, and kept as {dtype}, which is of another kind; convert it yourself"
        ) from None
    except (ValueError, RuntimeError) as error:
        raise ArgumentError(f"field {name!r} is given as {type(column).__name__}: {error}") from None


def _record_column(column: Any, field: Field) -> NDArray[Any]:
    """Records from mappings, tuples or records of other dtypes, part by part."""

    def rows(value: Any) -> int:
        if isinstance(value, Mapping):
            return rows(next(iter(value.values())))
        return rows(value[0]) if isinstance(value, tuple) else len(value)

    def put(into: NDArray[Any], value: Any, name: str) -> None:
        if into.dtype.names is None:
            into[...] = _fitting(value, into.dtype, name)
            return
        by_name = isinstance(value, Mapping) or getattr(getattr(value, "dtype", None), "names", None) is not None
        for i, part in enumerate(into.dtype.names):
            put(into[part], value[part] if by_name else value[i], f"{name}.{part}")

    try:
        made = np.zeros((rows(column), *field.shape), field.dtype)
        put(made, column, field.name)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"field {field.name!r} does not fit {field.dtype}: {error!r}") from None
    return made


def _refuse_shape(column: NDArray[Any], field: Field) -> NoReturn:
    hint = f"; write one row of it as {field.name}=[value]" if column.shape == field.shape else ""
    raise ArgumentError(
        f"field {field.name!r} has shape {column.shape}, but rows of it have shape "
        f"({', '.join(map(str, ('n', *field.shape)))}{'' if field.shape else ','}){hint}"
    )


def _refuse_length(found: int, n: int, field: Field, first: Field) -> NoReturn:
    raise ArgumentError(f"field {field.name!r} has {found} rows, but {first.name!r} has {n}; give as many of each")


def checked_errors(given: Any, n: int, prioritized: int) -> Any:
    """Absolute TD errors in the form of the core: float32, one for each row."""
    if not prioritized:
        raise ArgumentError("a buffer that samples uniformly has no priorities; make it with prioritized=True")
    errors = given
    if type(errors) is not np.ndarray or errors.dtype is not FLOAT32 or not errors.flags.c_contiguous:
        try:
            errors = np.ascontiguousarray(given, np.float32)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ArgumentError(
                f"priorities are {type(given).__name__}, of which NumPy makes no floats: {error}"
            ) from None
    if errors.size != n:
        raise ArgumentError(f"there are {errors.size} priorities for {n} rows; give one for each")
    return ffi.from_buffer(FLOATS, errors)


def refuse_error(priorities: ArrayLike, row: int) -> NoReturn:
    """Raise an error about the priority of a row that the core refused."""
    found = np.asarray(priorities, np.float32).reshape(-1)[row]
    raise ArgumentError(
        f"the priority of row {row} is {found}; priorities are absolute TD errors, 0 or more and finite"
    )
