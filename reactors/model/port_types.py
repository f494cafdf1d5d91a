"""Is the type of a port written where the port itself is meant?

`out = rx.Output[int]` and `out: rx.Output[int]` look like declarations, and declare nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin

from reactors.model.actions import LogicalAction, PhysicalAction, Timer
from reactors.model.ports import Input, Output

if TYPE_CHECKING:
    from collections.abc import Mapping

_DECLARING = (Input, Output, Timer, LogicalAction, PhysicalAction)
_SPELT = re.compile(rf"(?:rx\.|reactors\.)?({'|'.join(kind.__name__ for kind in _DECLARING)})(?:\[(.*)\])?")


def meant(alias: object) -> tuple[str, str] | None:
    """How a type of ours is written, and how what it is the type of is declared; None if it is none of ours.

    >>> import reactors as rx
    >>> meant(rx.Output[int]), meant("rx.Input[list[int]]"), meant(rx.Input), meant(list[int])
    (('rx.Output[int]', 'rx.Output(int)'), ('rx.Input[list[int]]', 'rx.Input(list)'), ('rx.Input', 'rx.Input()'), None)
    """
    if isinstance(alias, str):
        found = _SPELT.fullmatch(alias)
        if found is None:
            return None
        name, inner = found[1], found[2] or ""
    else:
        kind: Any = get_origin(alias) or alias
        if not isinstance(kind, type) or kind not in _DECLARING:
            return None
        name, inner = kind.__name__, ", ".join(getattr(each, "__name__", str(each)) for each in get_args(alias))
    written = f"rx.{name}[{inner}]" if inner else f"rx.{name}"
    return written, f"rx.{name}({inner.partition('[')[0]})"


@cache
def annotated(cls: type) -> Mapping[str, Any]:
    """The names of a class and its bases that are annotated, but given no value there."""
    notes: dict[str, Any] = {}
    for kind in reversed(cls.__mro__):
        notes.update(_annotations(kind))
    return {name: note for name, note in notes.items() if not hasattr(cls, name)}


def _annotations(kind: type) -> Mapping[str, Any]:
    try:
        notes: Mapping[str, Any] = vars(kind).get("__annotations__") or vars(kind)["__annotate_func__"](1)
    except Exception:  # noqa: BLE001 - since 3.14 they are code, which may fail
        return {}
    return notes
