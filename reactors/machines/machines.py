"""On which machines does a program run, and how do they connect?"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactors.errors import ArgumentError, MachineError, PlacementError, ReactorWarning
from reactors.time import Duration, duration
from reactors_runtime.machines.channel import LEAST_TOKEN, address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reactors_runtime.machines.encryption import Identity
    from reactors_runtime.machines.leading import Gathering


@dataclass(frozen=True)
class Machines:
    """Several machines for one program, including this one: `rx.run(..., machines=rx.Machines(count=2), workers=2)`.

    `count` is the number of machines, including this one. The others connect to `listen`, "10.0.0.1:7777", by `reactors
    join`, and know the token in the file `token_file`. With a `certificate` and its `key`, PEM files, all traffic
    between them is encrypted (`reactors join --ca`). Or Ray starts them: with `ray="auto"`, in the cluster that this
    process is connected to, or finds; otherwise at that address. Each gets `resources`, by default one CPU for each of
    its workers. With neither, the others are processes of this machine, for trying things out. All have to connect
    within `patience`, and run the same versions of Python and of this package.

    Raises `ArgumentError` for invalid arguments.

    >>> Machines(count=2, listen="10.0.0.1", token_file="t")
    Traceback (most recent call last):
    reactors.errors.ArgumentError: listen of rx.Machines: '10.0.0.1' is no address; write host:port, as in 10.0.0.1:7777
    """

    count: int = 2
    listen: str | None = None
    token_file: str | os.PathLike[str] | None = None
    certificate: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    ray: str | None = None
    resources: Mapping[str, float] | None = None
    patience: Duration = "60 s"

    def __post_init__(self) -> None:
        count: object = self.count
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ArgumentError(f"count of rx.Machines is {self.count!r}; write how many there are, this one included")
        self._check_names()
        if self.listen is not None:
            if self.ray is not None:
                raise ArgumentError("rx.Machines has listen and ray; leave one out: Ray's machines find this one alone")
            with _named("listen"):
                address_of(self.listen)
            if self.token_file is None:
                raise ArgumentError(
                    "rx.Machines listens without a token, so anyone could join; write token_file=, the name of a file "
                    "that all machines have (reactors join --token-file)"
                )
        if self.key is not None and self.certificate is None:
            raise ArgumentError("rx.Machines has a key and no certificate; write certificate=, or leave it out")
        if self.certificate is not None and self.listen is None:
            raise ArgumentError("certificate of rx.Machines is for who joins; write listen= and token_file=, too")
        if self.resources is not None and self.ray is None:
            raise ArgumentError("resources of rx.Machines are for Ray; write ray='auto', too, or leave them out")
        self._check_resources()
        duration(self.patience, "patience of rx.Machines")

    def _check_names(self) -> None:
        for name, wanted in (("listen", 'an address, "10.0.0.1:7777"'), ("ray", '"auto", or an address')):
            given = getattr(self, name)
            if given is not None and not isinstance(given, str):
                raise ArgumentError(f"{name} of rx.Machines is {given!r}; write {wanted}")
        for name in ("token_file", "certificate", "key"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, str | os.PathLike):
                raise ArgumentError(f"{name} of rx.Machines is {given!r}; write the name of a file")

    def _check_resources(self) -> None:
        wanted = 'write how much each machine needs of what, {"GPU": 1}'
        given: object = self.resources
        if given is not None and not isinstance(given, Mapping):
            raise ArgumentError(f"resources of rx.Machines are {given!r}; {wanted}")
        amounts: Mapping[Any, object] = self.resources or {}
        if "object_store_memory" in amounts:
            raise ArgumentError("resources of rx.Machines have object_store_memory, which actors of Ray cannot ask for")
        if amounts.get("CPU") == 0 and not any(amounts.values()):
            raise ArgumentError(f"resources of rx.Machines are {given!r}, which is nothing; {wanted}")
        for name, amount in amounts.items():
            is_number = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < math.inf
            if not isinstance(name, str) or not is_number:
                raise ArgumentError(f"resources of rx.Machines have {amount!r} for {name!r}; {wanted}")
            if isinstance(amount, float) and round(amount, 4) != amount:
                raise ArgumentError(f"resources of rx.Machines have {amount!r} for {name!r}; Ray takes four decimals")

    def machine_of(self, workers: int) -> tuple[int, ...]:
        """The machine of each of `workers` workers, which are shared out equally. Raises `ArgumentError`.

        >>> Machines(count=2).machine_of(4)
        (0, 0, 1, 1)
        """
        if workers % self.count:
            raise ArgumentError(
                f"workers of rx.run is {workers}, on {self.count} machines; it is how many there are on all of them, "
                f"so write a multiple of {self.count}"
            )
        return tuple(worker * self.count // workers for worker in range(workers))

    def here(self, workers: int) -> int:
        """How many of `workers` workers run on this very machine: all, if the other machines are processes on it.

        >>> Machines(count=2).here(4), Machines(count=2, ray="auto").here(4)
        (4, 2)
        """
        return workers if self.listen is None and self.ray is None else workers // self.count

    def numbered(self, placement: Any, workers: int) -> Any:
        """A placement whose values may be pairs, machine and worker there; these become the numbers of the workers.

        >>> Machines(count=2).numbered({"main.a": (1, 0), "main.b": 1}, 4)
        {'main.a': 2, 'main.b': 1}
        """
        if not isinstance(placement, Mapping):
            return placement
        each = workers // self.count
        found = {}
        for path, where in placement.items():
            if isinstance(where, tuple):
                machine, worker = where if len(where) == 2 else (-1, -1)
                if not (_below(machine, self.count) and _below(worker, each)):
                    raise PlacementError(
                        f"placement of {path} is {where}; write (machine, worker): there are machines 0 to "
                        f"{self.count - 1}, with workers 0 to {each - 1} each"
                    )
                found[path] = machine * each + worker
            else:
                found[path] = where
        return found

    @contextlib.contextmanager
    def gathered(self, workers: int) -> Iterator[Gathering]:
        """The machines, once all are connected. Raises `MachineError`."""
        from reactors_runtime.machines.leading import Gathering, MachinesMissing

        identity = None if self.certificate is None else read_identity(self.certificate, self.key)
        token = None if self.token_file is None else read_token(self.token_file)
        address = ("127.0.0.1", 0)
        if self.listen is not None:
            address = address_of(self.listen)
        elif self.ray is not None:
            from reactors.machines.on_ray import own_address

            address = own_address(self.ray)
        try:
            gathering = Gathering(self.count, address, token, identity)
        except OSError as error:
            raise MachineError(f"rx.Machines cannot listen at {address[0]}:{address[1]}: {error}") from None
        with contextlib.closing(gathering), self._others(gathering, workers) as look:
            try:
                gathering.wait(duration(self.patience, "patience") / 1e9, look)
            except MachinesMissing as missing:
                raise MachineError(f"{missing}; start the others, or raise patience of rx.Machines") from None
            for difference in gathering.differences():
                warnings.warn(
                    f"{difference}: what NumPy and torch calculate may differ in the last bits, so the result may "
                    "depend on which machine runs what",
                    ReactorWarning,
                    stacklevel=5,
                )
            yield gathering

    def _others(
        self, gathering: Gathering, workers: int
    ) -> contextlib.AbstractContextManager[Callable[[], None] | None]:
        """Starts the other machines, and takes care of their end."""
        if self.listen is not None:
            return contextlib.nullcontext()
        if self.ray is not None:
            from reactors.machines.on_ray import on_ray

            patience = duration(self.patience, "patience") / 1e9
            return on_ray(self.ray, gathering, workers // self.count, self.resources, 0.9 * patience)
        from reactors.machines.local import local

        return local(gathering)


def _below(number: object, limit: int) -> bool:
    return not isinstance(number, bool) and isinstance(number, Integral) and 0 <= int(number) < limit


def read_token(file: str | os.PathLike[str]) -> bytes:
    """The token in a file, without surrounding whitespace. Raises `MachineError`."""
    try:
        token = Path(file).read_bytes().strip()
    except OSError as error:
        raise MachineError(f"the token cannot be read: {error}") from None
    if len(token) < LEAST_TOKEN:
        raise MachineError(
            f"the token in {os.fspath(file)} has {len(token)} bytes, which can be guessed; write {LEAST_TOKEN} or "
            "more, as `openssl rand -hex 32` makes them"
        )
    return token


def read_identity(certificate: str | os.PathLike[str], key: str | os.PathLike[str] | None) -> Identity:
    """How a machine identifies itself to others that connect. Raises `MachineError`."""
    from reactors_runtime.machines.encryption import Identity, NoCertificate

    try:
        return Identity.read(certificate, key)
    except NoCertificate as error:
        raise MachineError(str(error)) from None


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ArgumentError(f"{what} of rx.Machines: {error}") from None
