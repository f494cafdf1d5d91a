"""How do the values of a Gymnasium space lie in memory, and how do they get there and back?

A `Box`, `Discrete`, `MultiDiscrete` or `MultiBinary` is an array of one shape and dtype. A `Tuple` or `Dict` of such is
one structured record, nested as the space is (`rl.transition.space_dtype`). Anything without a fixed size
(`Text`, `Graph`, `Sequence`, `OneOf`, Boxes of objects) stays an object.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium import spaces

from reactors.errors import ArgumentError, ParameterError
from reactors.rl.replay.transition import space_dtype

if TYPE_CHECKING:
    from types import EllipsisType

    from numpy.typing import NDArray

Space: TypeAlias = spaces.Space[Any]
Write: TypeAlias = Callable[[Any, int, Any], None]
Read: TypeAlias = Callable[[Any], Any]
Check: TypeAlias = Callable[[Any], None]


class WrongValueError(ValueError):
    """A value that is none of its space by form."""


class ArrayType(NamedTuple):
    """Where values of a space lie: in arrays of this dtype and shape; both None for objects."""

    dtype: np.dtype[Any] | None
    shape: tuple[int, ...] | None


OBJECT = ArrayType(None, None)


def array_type(space: Space) -> ArrayType:
    """Dtype and shape of the values of a space.

    >>> from gymnasium.spaces import Box, Dict, Discrete, Text
    >>> array_type(Box(0, 1, (3, 2)))
    ArrayType(dtype=dtype('float32'), shape=(3, 2))
    >>> array_type(Dict(at=Box(0, 1, (2,)), door=Discrete(2))).dtype.names
    ('at', 'door')
    >>> array_type(Text(5))
    ArrayType(dtype=None, shape=None)
    """
    if not isinstance(space, spaces.Space):
        raise ParameterError(f"{space!r}, of type {type(space).__name__}, is no Gymnasium space; give one")
    try:
        dtype = space_dtype(space)
    except ArgumentError:  # no fixed size
        return OBJECT
    return OBJECT if dtype.hasobject else ArrayType(dtype.base, dtype.shape)


def is_frames(space: Space) -> bool:
    """Whether values are frames of bytes, of which a network sees nothing without a torso.

    >>> is_frames(spaces.Box(0, 255, (84, 84, 3), np.uint8)), is_frames(spaces.Box(0, 1, (6, 7, 2), np.int8))
    (True, False)
    """
    return len(space.shape or ()) == 3 and space.dtype == np.uint8


def parts(space: spaces.Tuple[Any] | spaces.Dict) -> list[tuple[str, Space]]:
    """The parts of a compound space with the names of their fields."""
    if isinstance(space, spaces.Tuple):
        return [(str(i), part) for i, part in enumerate(space.spaces)]
    return [(str(key), part) for key, part in space.spaces.items()]


def rows(where: ArrayType, n: int) -> Any:
    """Room for n values: an array, or a list of objects."""
    return [None] * n if where.dtype is None else np.zeros((n, *(where.shape or ())), where.dtype)


def writer(space: Space) -> Write:
    """A function that puts a value of the space into row i of a block; `WrongValueError`, if it is none by form.

    Values of the right shape are converted as NumPy's "same_kind" allows.

    >>> from gymnasium.spaces import Box
    >>> block = np.zeros((2, 3), np.float32)
    >>> put = writer(Box(0, 1, (3,)))
    >>> put(block, 1, [1, 2, 3])
    >>> block[1]
    array([1., 2., 3.], dtype=float32)
    >>> put(block, 1, np.zeros(4))
    Traceback (most recent call last):
    reactors.rl.envs.spaces.WrongValueError: an array of shape (4,) and dtype float64, which is not of shape (3,) ...
    """
    where = array_type(space)
    if where.dtype is None:
        return _keep
    if isinstance(space, spaces.Dict):
        return _mapping_writer([(key, str(key), writer(part)) for key, part in space.spaces.items()])
    if isinstance(space, spaces.Tuple):
        return _tuple_writer([(name, writer(part)) for name, part in parts(space)])
    if isinstance(space, spaces.Discrete):
        return _number_writer(int(space.start), int(space.start + space.n))
    return _array_writer(where.dtype, where.shape or ())


def rows_writer(space: Space) -> Callable[[Any, list[int] | EllipsisType, list[Any]], bool]:
    """A function that puts values of the space into rows of a block at once, if they are arrays as they lie there.

    The rows are a list of indices, or `...` for all. It returns whether they are; if not, it has written nothing, and
    `writer` knows what each of them is.

    >>> from gymnasium.spaces import Box
    >>> block = np.zeros((3, 2), np.float32)
    >>> put_together = rows_writer(Box(0, 1, (2,)))
    >>> put_together(block, [0, 2], [np.ones(2, np.float32), np.ones(2, np.float32)])
    True
    >>> put_together(block, [1], [[1, 1]]), block[:, 0]
    (False, array([1., 0., 1.], dtype=float32))
    """
    dtype, shape = array_type(space)

    def write(block: Any, places: list[int] | EllipsisType, values: list[Any]) -> bool:
        for value in values:
            if value.__class__ is not np.ndarray or not shape or value.dtype != dtype or value.shape != shape:
                return False  # a single number may have bounds
        if values:
            block[places] = values
        return True

    return write


def checker(space: Space) -> Check:
    """A function that raises `WrongValueError` for a value that the `writer` of the space would not write.

    >>> from gymnasium.spaces import Discrete
    >>> checker(Discrete(2))(2)
    Traceback (most recent call last):
    reactors.rl.envs.spaces.WrongValueError: 2, which is not in 0 to 1
    """
    dtype, shape = where = array_type(space)
    if dtype is None:
        return lambda _: None
    put, room = writer(space), rows(where, 1)

    def check(value: Any) -> None:
        if not shape or value.__class__ is not np.ndarray or value.dtype != dtype or value.shape != shape:
            put(room, 0, value)

    return check


def _keep(block: Any, i: int, value: Any) -> None:
    block[i] = copy.deepcopy(value)  # environments may go on writing into what they gave


def _array_writer(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Write:
    def write(block: Any, i: int, value: Any) -> None:
        if value.__class__ is np.ndarray and value.dtype == dtype and value.shape == shape:
            block[i] = value
            return
        array = np.asarray(value)
        if array.shape != shape or not np.can_cast(array.dtype, dtype, "same_kind"):
            exact = array.astype(dtype) if array.shape == shape and not isinstance(value, np.ndarray) else None
            if exact is None or not np.array_equal(exact, array):  # Python numbers pass if they fit
                raise WrongValueError(
                    f"an array of shape {array.shape} and dtype {array.dtype}, "
                    f"which is not of shape {shape} and dtype {dtype}"
                )
            array = exact
        block[i] = array

    return write


def _number_writer(low: int, beyond: int) -> Write:
    def write(block: Any, i: int, value: Any) -> None:
        try:
            number = index(value)
        except TypeError:
            raise WrongValueError(f"{value!r}, of type {type(value).__name__}, which is no whole number") from None
        if not low <= number < beyond:
            raise WrongValueError(f"{number}, which is not in {low} to {beyond - 1}")
        block[i] = number

    return write


def _mapping_writer(fields: list[tuple[Any, str, Write]]) -> Write:
    def write(block: Any, i: int, value: Any) -> None:
        try:
            if len(value) != len(fields):
                raise WrongValueError(f"{len(value)} entries, which are not {len(fields)}")
            for key, name, put in fields:
                put(block[name], i, value[key])
        except (KeyError, TypeError) as error:
            keys = ", ".join(name for _, name, _ in fields)
            raise WrongValueError(f"{_brief(value)}, which is no mapping with the keys {keys} ({error!r})") from error

    return write


def _tuple_writer(fields: list[tuple[str, Write]]) -> Write:
    def write(block: Any, i: int, value: Any) -> None:
        if not isinstance(value, tuple | list | np.ndarray) or len(value) != len(fields):
            raise WrongValueError(f"{_brief(value)}, which is no tuple of {len(fields)}")
        for (name, put), part in zip(fields, value, strict=True):
            put(block[name], i, part)

    return write


def _brief(value: object) -> str:
    text = f"{value!r}, of type {type(value).__name__}"
    return text if len(text) < 200 else f"a {type(value).__name__}"


def within(box: spaces.Box, actions: NDArray[Any]) -> NDArray[Any]:
    """Actions as a box takes them: in its bounds and of its dtype, the nearest whole numbers where that has no others.

    >>> within(spaces.Box(0, 3, (2,), np.int64), np.array([1.6, 9.0]))
    array([2, 3])
    """
    found: NDArray[Any] = np.clip(actions, box.low, box.high)
    return (np.rint(found) if np.issubdtype(box.dtype, np.integer) else found).astype(box.dtype, copy=False)


def reader(space: Space) -> Read | None:
    """A function that makes a value of the space out of one element of a block; None where that is the element itself.

    >>> from gymnasium.spaces import Discrete, Tuple
    >>> space = Tuple([Discrete(3), Discrete(2, start=5)])
    >>> block = rows(array_type(space), 1)
    >>> writer(space)(block, 0, (2, 6))
    >>> reader(space)(block[0]) == (2, 6)
    True
    """
    if array_type(space).dtype is None:
        return None
    if isinstance(space, spaces.Dict):
        named = [(key, str(key), reader(part) or _itself) for key, part in space.spaces.items()]
        return lambda record: {key: read(record[name]) for key, name, read in named}
    if isinstance(space, spaces.Tuple):
        fields = [(name, reader(part) or _itself) for name, part in parts(space)]
        return lambda record: tuple(read(record[name]) for name, read in fields)
    return None


def _itself(value: Any) -> Any:
    return value
