"""Is a user's torso fit for training, where only its parameters travel from the learner to actors?

It is made twice and given two observations; what would break training silently is refused, with its place and a remedy.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from reactors.errors import ParameterError
from reactors.rl.networks.seeded import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    import gymnasium as gym

STATISTICAL = (nn.modules.batchnorm._BatchNorm, nn.utils.parametrizations._SpectralNorm)
RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)
OTHER_SEED = 2**64 - 1  # which nobody trains with
written = attrgetter("_version")
"""How often a tensor, or a view of it, was written into. In inference mode, torch does not count."""


def tried(make: Callable[[gym.Space[Any]], Any], observation_space: gym.Space[Any]) -> nn.Module:
    """A module of a user's, made by `make`, after a trial that leaves no trace.

    Raises `ParameterError` for one that is not fit.
    """
    made = make(observation_space)
    sample = _sample(observation_space)
    _check_outputs(made, sample)
    with Seeded(OTHER_SEED):
        again = make(observation_space)
    _check_apart(made, again)
    _check_constants(made, again, sample)
    checked: nn.Module = made
    return checked


def _sample(observation_space: gym.Space[Any]) -> torch.Tensor:
    """Two observations of ones where the space has bounds above that, for zeros hide what is multiplied."""
    high = np.minimum(getattr(observation_space, "high", 0), 1)
    return torch.from_numpy(np.full((2, *(observation_space.shape or ())), high, observation_space.dtype))


def _check_outputs(made: Any, sample: torch.Tensor) -> None:
    """Refuse a module that does not do with these observations what it says, or not the same at each time."""
    name = type(made).__name__
    if not isinstance(made, nn.Module):
        raise ParameterError(f"the function for the torso makes a {name}; let it make a torch.nn.Module")
    features = getattr(made, "features", None)
    if not isinstance(features, int):
        raise ParameterError(f"the torso {name} does not say how many features it gives; let it have an int `features`")
    for path, layer in made.named_modules():
        if isinstance(layer, STATISTICAL):
            raise ParameterError(
                f"the torso {name} has a {_kind(layer, path)}, whose outputs depend on the other observations of a "
                "batch, or on statistics that do not travel to actors; take GroupNorm or LayerNorm, or leave it out"
            )
    buffers = {path: buffer.clone() for path, buffer in made.named_buffers()}
    with torch.no_grad(), Seeded(0) as seeded:
        try:
            given: Any = made(sample)
        except Exception as error:
            raise ParameterError(
                f"the torso {name} does not take observations of shape {tuple(sample.shape[1:])} and {sample.dtype}, "
                f"in batches of shape (n, {', '.join(map(str, sample.shape[1:]))}): {error}"
            ) from error
    if seeded.drawn is not None:
        layer, path = next(((each, at) for at, each in made.named_modules() if isinstance(each, RANDOM)), (made, ""))
        raise ParameterError(
            f"the torso {name} has a {_kind(layer, path)}, which draws from the generator that all of torch shares, so "
            "that weights would depend on who works when; leave it out"
        )
    for path, buffer in made.named_buffers():
        if path in buffers and not torch.equal(buffers[path], buffer):
            at = path.rpartition(".")[0]
            raise ParameterError(
                f"the torso {name} has a {_kind(made.get_submodule(at), at)}, which changes its "
                f"{path.rpartition('.')[2]!r} as it goes, and only parameters travel to actors; take GroupNorm or "
                "LayerNorm for it, or leave it out"
            )
    if written(sample):
        raise ParameterError(
            f"the torso {name} writes into the observations that it is given, which other networks see after it; let "
            "its first layer have inplace=False, or begin with obs.clone()"
        )
    if not isinstance(given, torch.Tensor) or given.shape != (2, features):
        shape = tuple(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
        raise ParameterError(
            f"the torso {name} makes {shape} of two observations of shape {tuple(sample.shape[1:])}, and its "
            f"`features` says (2, {features}); let `features` count what it gives for one"
        )


def _check_apart(made: nn.Module, again: Any) -> None:
    """Refuse a module that, made `again`, has the same parameters: actor, critics and targets each learn their own."""
    mine = {id(each) for each in made.parameters()}
    if (path := next((path for path, each in again.named_parameters() if id(each) in mine), None)) is not None:
        raise ParameterError(
            f"the function for the torso {type(made).__name__} gives the same parameter {path!r} each time, and "
            "networks that share it would write over each other's weights; let it make a new module, or return "
            "copy.deepcopy() of the one that it has"
        )


def _check_constants(made: nn.Module, again: Any, sample: torch.Tensor) -> None:
    """Refuse a module that, made `again` and given the same parameters, has other buffers or gives other outputs."""
    others = dict(again.named_buffers())
    other = next((at for at, each in made.named_buffers() if at not in others or not each.equal(others[at])), None)
    if other is None:
        with torch.no_grad():
            for its, mine in zip(again.parameters(), made.parameters(), strict=True):
                its.copy_(mine)
            if torch.allclose(again(sample), made(sample), equal_nan=True):
                return
    what = "a constant" if other is None else f"its buffer {other!r}"
    raise ParameterError(
        f"the torso {type(made).__name__} draws {what} when it is made, so that it acts by other numbers than it "
        "learns by: each actor makes one of its own, and only parameters travel; let it be an nn.Parameter with "
        "requires_grad=False, or draw it from a generator with a seed of its own"
    )


def _kind(layer: nn.Module, path: str) -> str:
    return f"{type(layer).__name__} ({path})" if path else f"layer of its own, {type(layer).__name__}"
