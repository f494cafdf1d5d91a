"""How does a reactor give its state to a checkpoint?

It is told by `save`, and says it at that tag. All that is told at the same tag says what it is then: that is all that a
consistent cut of a program needs.
"""

from __future__ import annotations

from typing import Any

import reactors as rx
from reactors.rl.training.state import Encoded, encode


class Stateful(rx.Reactor):
    """A reactor that a checkpoint can save; `restored` is what one had, until it is taken on at the start.

    `first` is the time, in ns, of the first round; 0 but for a program that goes on from a checkpoint.
    """

    save = rx.Input(bool)
    state = rx.Output(Encoded)
    restored: Any = None
    first: int = 0

    def state_dict(self) -> dict[str, Any]:
        """All that there is to continue from, as arrays of its own."""
        raise NotImplementedError

    @rx.reaction(save, effects=state)
    def tell_state(self) -> None:
        """Here it is."""
        self.state.set(encode(self.state_dict(), self.path.removeprefix("main.")))

    def taken(self) -> Any:
        """What is to be continued from, or None; it is not kept."""
        restored, self.restored = self.restored, None
        return restored
