"""How does a network see frames, when all its inputs are one vector?

One part of the vector is the agent's observation. A torso replaces it by features; what comes before and after, such as
the one-hot index of the agent, stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from reactors.errors import ParameterError
from reactors.rl.envs.spaces import is_frames
from reactors.rl.networks.layers import inputs_of, torso
from reactors.rl.networks.normalising import normaliser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactors.rl.envs.agents.cast import Team
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Torso


class Looking(nn.Module):
    """From vectors (n, size) to `features`: the observation in each vector is replaced by a torso's features of it.

    The torso gets observations in their own shape and dtype; with `normalise`, minus their mean, as float32. A head on
    it has the layers `hidden` if the vector has more than the observation: a linear head could only add that up.

    >>> where = gym.spaces.Box(0, 255, (12, 12, 3), np.uint8)
    >>> looking = Looking(torso("minatar", where), where, behind=2)
    >>> looking.features, looking(torch.zeros(5, 12 * 12 * 3 + 2)).shape
    (130, torch.Size([5, 130]))
    """

    def __init__(
        self, torso: Any, space: Space, *, before: int = 0, behind: int = 0, hidden: Sequence[int] = (),
        normalise: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.torso, self.features = torso, before + torso.features + behind
        self.hidden = tuple(hidden) if before or behind else ()
        self.normalise = normaliser(space) if normalise else None
        self.before, self.behind, self.shape = before, before + inputs_of(space), space.shape or ()
        self.dtype = torch.from_numpy(np.zeros(0, space.dtype)).dtype

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        """What comes before the observation, the features of the torso, and what comes after."""
        observed = seen[:, self.before : self.behind].reshape(-1, *self.shape).to(self.dtype)
        if self.normalise is not None:
            observed = self.normalise(observed)
        return torch.cat([seen[:, : self.before], self.torso(observed), seen[:, self.behind :]], 1)


def looking(
    kind: Torso, space: Space, hidden: Sequence[int], *, before: int = 0, behind: int = 0, normalise: bool = False,
    make: Callable[[Torso, Space], Any] = torso,
) -> Looking | None:  # fmt: skip
    """A `Looking` for frames, and for other observations if a `kind` of torso is given; None for plain vectors.

    >>> looking(None, gym.spaces.Box(0, 1, (6, 7, 2), np.int8), (64,)) is None
    True
    """
    if kind is None and not is_frames(space):
        return None
    return Looking(make(kind, space), space, before=before, behind=behind, hidden=hidden, normalise=normalise)


def normalised_part(packed: torch.Tensor, normalise: Any) -> torch.Tensor:
    """The part of packed vectors (n, ...) that is normalised: their beginning, in the shape of the mean."""
    mean: torch.Tensor = normalise.mean
    return packed[:, : mean.numel()].reshape(-1, *mean.shape)


def check_looks(algorithm: Any, team: Team) -> None:
    """Refuse a torso for observations without a shape."""
    if algorithm.torso is not None and isinstance(team.observation_space, gym.spaces.Discrete):
        raise ParameterError(
            f"torso of {algorithm.name}: a torso sees arrays, and observations of group {team.name!r} are "
            f"{team.observation_space}; leave it out"
        )
