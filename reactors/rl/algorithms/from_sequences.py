"""What do algorithms with recurrent networks learn from in replay, and how much of that only warms the networks up?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.bounded import Count, Natural, Share  # noqa: TC001 - read where hyperparameters are checked
from reactors.rl.networks.recurrent import width_of

if TYPE_CHECKING:
    from reactors.rl.algorithms.off_policy import OffPolicy
    from reactors.rl.envs.spaces import Space

    Base = OffPolicy
else:
    Base = object  # `OffPolicy` has fields, whose defaults would replace those of an algorithm that comes after this


@dataclass(frozen=True, kw_only=True)
class FromSequences(Base):
    """Hyperparameters of recurrent networks that learn from sequences: a base beside `OffPolicy`, and before it."""

    recurrent: Count | bool = False
    """Numbers that the network remembers of an episode: the state of a gated recurrent unit (Cho et al., 2014, arXiv
    1406.1078) after the torso, or after the layers `hidden`. True is 64, as in QMIX's networks (arXiv 1803.11485). Then
    replay has sequences, and `batch_size` counts those, as in R2D2 (Kapturowski et al., ICLR 2019). By default nothing.
    """
    sequence: Count = 40
    """Of a recurrent network: steps of a sequence that are learned from. R2D2's, table 2 and section 3."""
    burn_in: Natural = 40
    """Of a recurrent network: steps before these, which only bring the stored state up to date. R2D2's value."""
    eta: Share = 0.9
    """Of a recurrent network: the priority of a sequence is eta times the largest error of its steps, plus 1 - eta
    times their mean error. R2D2's, section 2.3."""

    def __post_init__(self) -> None:
        """Refuse frames that are kept once of sequences, which are kept whole."""
        super().__post_init__()
        if self.recurrent and self.frame_stack is not None:
            raise ArgumentError(
                f"frame_stack of {type(self).__name__} is {self.frame_stack}, and a recurrent network learns from "
                "sequences, which are kept whole; leave it out"
            )

    @property
    def stretch(self) -> tuple[int, int] | None:
        """Of a recurrent network: sequences overlap by their first steps, from which nothing is learned."""
        return (self.burn_in + self.sequence, self.sequence) if self.recurrent else None

    def remembered(self, action_space: Space) -> dict[str, Any]:
        """Of a recurrent network, the state when an action was chosen."""
        width = width_of(self.recurrent)
        return {**super().remembered(action_space), **({"state": np.dtype((np.float32, (width,)))} if width else {})}
