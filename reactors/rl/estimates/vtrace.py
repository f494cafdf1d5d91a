"""Which values and advantages would the experience have if it were the learner's own? V-trace of IMPALA.

Espeholt et al., 2018 (arXiv 1802.01561), section 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from reactors.rl.estimates.returns import accumulated

if TYPE_CHECKING:
    from reactors.rl.estimates.returns import Course


class VTrace(NamedTuple):
    """`targets` of the values (equation 1), and `advantages` for the policy gradient; float32 (steps, environments)."""

    targets: torch.Tensor
    advantages: torch.Tensor


def vtrace(
    log_ratios: torch.Tensor,
    rewards: torch.Tensor,
    values: torch.Tensor,
    following: torch.Tensor,
    course: Course,
    gamma: float,
    *,
    rho: float = 1.0,
    c: float = 1.0,
    rho_gradient: float = 1.0,
    lam: float = 1.0,
) -> VTrace:
    """V-trace of (steps, environments), all without gradients.

    `log_ratios` are log(pi / mu): the probabilities of the actions under the target policy, relative to those under the
    behaviour policy that chose them. `rho` and `c` truncate them in the temporal differences and in the trace,
    `rho_gradient` in the advantages; `lam` is that of remark 2. At a truncation, the trace is cut, and continues in the
    value of what followed.

    On the behaviour policy's own experience it is the n-step return:

    >>> from reactors.rl.estimates.returns import Course
    >>> zeros, ones = torch.zeros(2, 1), torch.ones(2, 1)
    >>> course = Course(zeros, zeros.bool(), ones, ones)
    >>> vtrace(zeros, ones, zeros, zeros, course, 0.5).targets[:, 0].tolist()
    [1.5, 1.0]
    """
    ratios = log_ratios.exp()
    deltas = ratios.clamp(max=rho) * (rewards + gamma * course.alive * following - values)
    targets = values + accumulated(deltas, gamma * lam * course.going * ratios.clamp(max=c))
    later = following.clone()
    later[:-1] = torch.where(course.going[:-1] > 0, targets[1:], following[:-1])
    return VTrace(targets, ratios.clamp(max=rho_gradient) * (rewards + gamma * course.alive * later - values))
