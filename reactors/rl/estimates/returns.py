"""Returns, advantages and traces, which are all one recursion, backwards in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping


def accumulated(terms: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """y[t] = terms[t] + decay[t] * y[t + 1], where y is 0 after the last step; (steps, environments).

    >>> accumulated(torch.ones(3, 1), torch.full((3, 1), 0.5))[:, 0].tolist()
    [1.75, 1.5, 1.0]
    """
    found = terms.detach().cpu().numpy().copy()
    rates = decay.detach().cpu().numpy()
    for t in range(len(found) - 2, -1, -1):  # NumPy's calls cost a fifth of torch's
        found[t] += rates[t] * found[t + 1]
    return torch.from_numpy(found).to(terms.device)


def normalised(advantages: torch.Tensor) -> torch.Tensor:
    """Advantages with mean 0 and deviation 1; a single one, which has no deviation, stays as it is.

    >>> normalised(torch.tensor([1.0, 3.0])).tolist(), normalised(torch.tensor([3.0])).tolist()
    ([-0.7071067690849304, 0.7071067690849304], [3.0])
    """
    if len(advantages) < 2:
        return advantages
    deviation, mean = torch.std_mean(advantages)
    return (advantages - mean) / (deviation + 1e-8)


class Course(NamedTuple):
    """The structure of experience, (steps, environments): where values are needed, and where episodes end.

    A truncated episode continues in the value of its true next observation; after a termination, the value is 0.
    """

    obs: torch.Tensor
    """Of all steps, then those true next observations that are no step's observation."""
    apart: torch.Tensor
    """Where they belong: the last step, and truncations. bool."""
    alive: torch.Tensor
    """1 where the episode does not terminate. float32."""
    going: torch.Tensor
    """1 where the next step is of the same episode. float32."""

    @classmethod
    def of(cls, batch: Mapping[str, torch.Tensor]) -> Course:
        """The course of an on-policy batch."""
        apart = batch["truncated"].clone()
        apart[-1] = True
        alive = (~batch["terminated"]).float()
        going = alive * (~batch["truncated"]).float()
        return cls(torch.cat([batch["obs"].flatten(0, 1), batch["next_obs"][apart]]), apart, alive, going)

    def split(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The values of the steps, and of what follows them, from the values of `obs`; without gradients."""
        steps, envs = self.apart.shape
        n, values = steps * envs, values.detach()
        mine = values[:n].view(steps, envs)
        following = torch.empty_like(mine)
        following[:-1] = mine[1:]
        following[self.apart] = values[n:]
        return mine, following


def within_sequences(
    rewards: torch.Tensor, following: torch.Tensor, alive: torch.Tensor, going: torch.Tensor, gamma: float, n_step: int
) -> torch.Tensor:
    """n-step returns (steps, sequences), with fewer steps at the end of a sequence.

    `following` are the values after each step; `alive` and `going` are as in a `Course`.

    >>> one = torch.ones(3, 1)
    >>> within_sequences(one, 10 * one, one, one, gamma=0.5, n_step=2)[:, 0].tolist()
    [4.0, 4.0, 6.0]
    """
    discount = gamma * alive
    goal = rewards + discount * following
    for _ in range(n_step - 1):
        later = following.clone()
        later[:-1] = torch.where(going[:-1] > 0, goal[1:], following[:-1])
        goal = rewards + discount * later
    return goal


def advantages(
    rewards: torch.Tensor, values: torch.Tensor, following: torch.Tensor, course: Course, gamma: float, lam: float
) -> torch.Tensor:
    """Generalised advantages (Schulman et al., 2016, equation 16); with `lam` 1, n-step returns minus the values."""
    deltas = rewards + gamma * course.alive * following - values
    return accumulated(deltas, gamma * lam * course.going)
