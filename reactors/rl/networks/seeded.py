"""How are networks initialised from a seed, although all threads of a process share torch's generator?

A dispatch mode of torch sees every operation of the thread that entered it, and gives its own generator to operations
that draw random numbers. So other threads' draws do not interfere, no other generator is changed, and a user's torso or
algorithm uses `torch.nn.Linear` as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from reactors.rl.public import public

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


@public("rl.Seeded")
class Seeded(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within `with`, all random numbers that torch draws in this thread follow from `seed`, an int from 0 to 2**64 - 1.

    They are the numbers that `torch.manual_seed(seed)` would give in a process with one thread, but torch's own
    generator is not touched. Entered again, it continues where it was. Operations that are given a generator keep it;
    fused dropout on CUDA takes none. `drawn` names the first operation to which it gave a generator.

    >>> def first() -> float:
    ...     with Seeded(1):
    ...         return torch.nn.Linear(2, 1).weight[0, 0].item()
    >>> before, found = torch.get_rng_state(), first()
    >>> first() == found, torch.equal(torch.get_rng_state(), before)
    (True, True)
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed
        self.drawn: str | None = None
        self._generators: dict[str, torch.Generator] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Without this, torch imports its compiler at the first operation, which takes more than a second."""
        return False

    def __enter__(self) -> Self:
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation; one that draws without a generator gets the generator of its device."""
        del types
        given: dict[str, Any] = kwargs or {}
        drawing, at = _FORMS.get(func) or _drawing(func)
        if drawing is None or given.get("generator", args[at] if len(args) > at else None) is not None:
            return func(*args, **given)
        device = str(next((each.device for each in args if isinstance(each, torch.Tensor)), given.get("device")))
        if device == "meta":  # its tensors have no values
            return func(*args, **given)
        self.drawn = self.drawn or func._schema.name.partition("::")[2].rstrip("_")
        return drawing(*args[:at], **{**given, "generator": self._generator(device)})

    def _generator(self, device: str) -> torch.Generator:
        device = "cpu" if device == "None" else device
        if device not in self._generators:
            self._generators[device] = torch.Generator(device).manual_seed(self.seed)
        return self._generators[device]

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The states of its generators, by device."""
        return {device: generator.get_state() for device, generator in self._generators.items()}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Resume from a `state_dict`."""
        for device, each in state.items():
            self._generator(device).set_state(each)


_FORMS: dict[Any, tuple[Any, int]] = {}  # of `_drawing`; a dict, as torch.compile warns about functools.cache


def _drawing(operation: Any) -> tuple[Any, int]:
    """For an operation that draws: its form that takes a generator, and that argument's position; else None."""
    found: tuple[Any, int] = None, 0
    if torch.Tag.nondeterministic_seeded in operation.tags:
        packet, wanted = operation.overloadpacket, {*_names(operation), "generator"}
        for other in [operation, *(getattr(packet, name) for name in packet.overloads())]:
            if {*_names(other)} == wanted:
                found = other, _names(other).index("generator")
                break
    return _FORMS.setdefault(operation, found)


def _names(operation: Any) -> list[str]:
    return [each.name for each in operation._schema.arguments]
