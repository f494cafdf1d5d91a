"""What tells a policy that learns from one that does not: the same figures for every policy gradient, in every row."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from reactors.rl.algorithms.actor_critic import ActorCritic
    from reactors.rl.networks.layers import Flat


class Seen(NamedTuple):
    """What an update has computed on its way to the loss, for n steps."""

    features: torch.Tensor
    """What both heads see, (n, features)."""
    log_prob: torch.Tensor
    """Of the actions, by the policy that learns."""
    before: torch.Tensor
    """Likewise, by the policy that acted."""
    values: torch.Tensor
    returns: torch.Tensor
    """What the values are drawn to."""
    advantages: torch.Tensor


def vitals(net: ActorCritic, flat: Flat, seen: Seen) -> dict[str, torch.Tensor]:
    """Figures of the last update of a round.

    `losses/grad_norm` is the norm of the gradient before it is scaled down; `losses/approx_kl` Schulman's estimate of
    how far the policy has moved from the one that acted (http://joschu.net/blog/kl-approx.html);
    `losses/explained_variance` how much of the returns the values explain, 1 at best, NaN where all returns are the
    same; `policy/spread` the distance between greatest and least logit, which grows in a policy that learns, or the
    standard deviation of continuous actions, which shrinks; `torso/dead` the share of a torso's features that are 0 for
    the whole batch.
    """
    with torch.no_grad():
        moved = seen.log_prob - seen.before
        found = {
            "losses/grad_norm": flat.grad_norm,
            "losses/approx_kl": (moved.exp() - 1 - moved).mean(),
            "losses/explained_variance": explained_variance(seen.returns, seen.values),
            "policy/spread": spread(net, seen.features),
            "values/mean": seen.values.mean(),
            "values/spread": _deviation(seen.values),
            "advantages/spread": _deviation(seen.advantages),
        }
        if net.torso is not None:
            found["torso/dead"] = (seen.features == 0).all(0).float().mean()
    return found


def explained_variance(returns: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """1 - Var[returns - values] / Var[returns]; NaN where that is 0."""
    if returns.numel() < 2 or not (whole := returns.var()) > 0:
        return torch.full((), float("nan"))
    return 1 - (returns - values).var() / whole


def spread(net: ActorCritic, features: torch.Tensor) -> torch.Tensor:
    """How much the actor prefers some actions to others."""
    if not net.discrete:
        return net.log_std.exp().mean()
    logits: torch.Tensor = net.actor(features)
    return (logits.amax(1) - logits.amin(1)).mean()


def _deviation(x: torch.Tensor) -> torch.Tensor:
    return x.std() if x.numel() > 1 else x.new_zeros(())
