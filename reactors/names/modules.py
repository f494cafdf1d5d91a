"""What does a package say of a name that it does not have?"""

from __future__ import annotations

import dis
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from reactors_runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def refuse(package: dict[str, Any], name: str, known: Sequence[str]) -> NoReturn:
    """Raise what `package.name` or `from package import name` raises; to be called by its `__getattr__`."""
    word = package["__name__"]
    near = did_you_mean(name, known)
    if _imports(sys._getframe(2)):
        listed = near or f"; dir({word}) lists what there is"
        raise ImportError(f"cannot import name {name!r} from {word!r}{listed}", name=word, path=package["__file__"])
    raise AttributeError(f"module {word!r} has no attribute {name!r}{near}", name=name)


def _imports(frame: FrameType) -> bool:
    """Whether a frame executes `from ... import ...`, which to `__getattr__` looks like `module.name`."""
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM
