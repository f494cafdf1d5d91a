"""What stands where something cannot be: a reactor of another worker, an attribute that could not come back.

Using one is an error that says why it is not there, and what to do.
"""

from __future__ import annotations

from typing import Any, NoReturn

from reactors.errors import ShippingError, StructureError


class Elsewhere:
    """A reactor that lives on another worker; only those of its ports are here that reactions of this worker use."""

    def __init__(self, number: int, path: str, kind: str, bank_index: int, worker: int) -> None:
        vars(self).update(path=path, bank_index=bank_index, _number=number, _kind=kind, _worker=worker)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python itself asks whether it can do something
            raise AttributeError(name)
        self._refuse(name)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        self._refuse(name)

    def __content__(self) -> str:
        """What counts of it in a value that is hashed: what counts of the reactor."""
        path: str = vars(self)["path"]
        return path

    def _refuse(self, name: str) -> NoReturn:
        raise ShippingError(
            f"{self.path}.{name}: {self.path}, a {self._kind}, lives on worker {self._worker} and not here; send what "
            f"is needed through a port that the reaction declares, or place both on one worker"
        )

    def __repr__(self) -> str:
        return f"<reactor {self.path} on worker {self._worker}>"


def made_already(self: object, *_: object, **__: object) -> NoReturn:
    """Stands for the `__init__` of a reactor whose class was sent to a worker."""
    raise StructureError(
        f"{self}: __init__ has run in the caller, once, and cannot be called in a reaction; move what is to happen "
        f"again into a method of its own"
    )


class Missing:
    """An attribute that stayed with the worker process. Printing it says why; using it is an error that does."""

    def __init__(self, path: str, why: str) -> None:
        vars(self).update(_why=f"{path} stayed on its worker: {why}; in a shutdown reaction, keep of it what is needed")

    def __reduce__(self) -> tuple[Any, ...]:
        return _missing, (self._why,)

    def __repr__(self) -> str:
        return f"<{self._why}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise ShippingError(self._why)

    __setattr__ = __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __contains__ = _refuse
    __int__ = __float__ = __index__ = __enter__ = __exit__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


def _missing(why: str) -> Missing:
    found = Missing.__new__(Missing)
    vars(found).update(_why=why)
    return found
