"""How do values of the user's come out of the process of a run, though some cannot be sent?"""

from __future__ import annotations

import pickle
from typing import Any

from reactors_runtime import values


def sent(value: Any) -> bytes:
    """A value for the user's process; what cannot be sent as text."""
    try:
        return values.dumps(value)
    except Exception:  # noqa: BLE001 - any code runs when things are pickled
        return pickle_of_text(value)


def pickle_of_text(value: Any) -> bytes:
    """Its `repr`, where the thing itself cannot be sent."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - likewise
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return values.dumps(Unsendable(text))


class Unsendable:
    """Stands for a value of which nothing but its `repr` could be sent."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def received(data: bytes) -> Any:
    """What `sent` sent."""
    try:
        return values.loads(data)
    except (pickle.UnpicklingError, ImportError, AttributeError) as error:
        return Unsendable(f"<a value that this process cannot make: {error}>")
