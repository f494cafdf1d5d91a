"""Who learns, and where?

One learner, or several that share each batch and go by the mean of their gradients (PAL, arXiv 2110.01101), or two of
which one has the actor and the other the critics (Spreeze, arXiv 2312.06126), each on a device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reactors.errors import ArgumentError
from reactors.rl.algorithms.continuous import Continuous

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactors.rl.contract.algorithm import Algorithm
    from reactors.rl.learning.adaptation import Adaptation
    from reactors.rl.options import Options


@dataclass(frozen=True)
class Learners:
    """A learner for each of `devices`.

    With `exchange_every` there are two: the first has the actor, the second the critics, and after so many updates each
    gets the other's weights. With `adaptation` one finds out how large a batch should be, and the other takes the same.
    """

    devices: tuple[str, ...] = ("cpu",)
    exchange_every: int | None = None
    adaptation: Adaptation | None = None

    @property
    def parts(self) -> int:
        """How many share a batch."""
        return len(self.devices) if self.exchange_every is None else 1

    def __len__(self) -> int:
        """How many there are."""
        return len(self.devices)


def learners_of(algorithm: Algorithm, options: Options) -> Learners:
    """Those that `rl.train` is asked for."""
    devices, exchange_every = options.devices, options.exchange_every
    if options.actor_device is not None or options.critic_device is not None:
        halves = options.actor_device or devices[0], options.critic_device or devices[0]
        if devices != (type(options).device,) and not {*devices} <= {*halves}:
            raise ArgumentError(
                f"device of rl.train is {options.device!r}, but actor_device and critic_device name one for each; "
                "leave it out"
            )
        return apart(algorithm, options.learners, *halves, exchange_every)
    if exchange_every is not None:
        raise ArgumentError(
            f"exchange_every of rl.train is {exchange_every}, but actor and critics learn together; write actor_device "
            "and critic_device"
        )
    return several(algorithm, options.learners, devices)


def several(algorithm: Algorithm, learners: int, devices: Sequence[str], function: str = "rl.train") -> Learners:
    """So many, on one device or, where there are as many, each on its own; `function` was asked for them.

    `ArgumentError` and `ParameterError` where the algorithm's batches cannot be shared.
    """
    if learners > 1:
        algorithm.part(learners)
    devices = [checked(each, "device", function) for each in devices]
    if len(devices) not in {1, learners}:
        raise ArgumentError(
            f"device of {function} is {','.join(devices)!r}, {len(devices)} devices, and learners is {learners}; name "
            "one for all, or one for each"
        )
    return Learners(tuple(devices * (learners // len(devices))))


def apart(
    algorithm: Algorithm, learners: int, actor_device: str, critic_device: str, exchange_every: int | None
) -> Learners:
    """Actor and critics on two devices. `ArgumentError` where the algorithm has no such halves."""
    if not isinstance(algorithm, Continuous):
        raise ArgumentError(
            f"actor_device and critic_device of rl.train are for SAC, TD3 and DDPG, and {algorithm.name} has no halves "
            "that learn apart; write device="
        )
    if learners > 1:
        raise ArgumentError(
            f"learners of rl.train is {learners}, but with actor_device and critic_device there are two, of which each "
            "has its own networks; leave out one or the other"
        )
    updates = algorithm.updates
    every = updates if exchange_every is None else exchange_every
    if updates % every:
        raise ArgumentError(
            f"exchange_every of rl.train is {every}, but a round of {algorithm.name} has {updates} updates; let it "
            f"divide {updates}"
        )
    return Learners((checked(actor_device, "actor_device"), checked(critic_device, "critic_device")), every)


def checked(device: str, name: str, function: str = "rl.train") -> str:
    """A device that there is. `ArgumentError` if there is none."""
    import torch

    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ArgumentError(f"{name} of {function} is {device!r}: {str(error).splitlines()[0]}") from None
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count <= (found.index or 0):
            what = f"{count} CUDA devices" if count else "no CUDA"
            raise ArgumentError(f'{name} of {function} is {device!r}, but torch finds {what} here; write {name}="cpu"')
    return device
