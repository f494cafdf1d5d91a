"""How does a reactor give its state to a checkpoint, and go on from one?

`save` asks for it, and it is sent at that tag. What all reactors are at the same tag is one state of the program, a
consistent cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.lowlevel import offered
from reactors.rl.checkpoints.files import going_on
from reactors.rl.encoding.state import Encoded, check_form, encode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


class Stateful(rx.Reactor):
    """A reactor that a checkpoint can save.

    `restored` is the state that it continues from, until that is loaded at the start, and `checkpoint` is where it was
    saved; `unrestored` says why the state of an environment could not be restored, and `failure`, in the end, what was
    wrong with one that had to be made again. `broken_off` says which environments of the run did not tell their state,
    and so begin new episodes: bool (environments,); None if all told it. `first` is the time, in ns, of the first
    round; 0 but for a program that goes on from a checkpoint.
    """

    save = rx.Input(bool)
    state = rx.Output(Encoded)
    offered(save, state)
    restored: Any = None
    checkpoint: Path | None = None
    broken_off: NDArray[np.bool_] | None = None
    first: int = 0
    unrestored: str = ""
    failure: str = ""

    def state_dict(self) -> dict[str, Any]:
        """All that there is to continue from; its arrays are copied."""
        raise NotImplementedError

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        raise NotImplementedError

    def form(self) -> dict[str, Any]:
        """What a state has to be like, so that it can be continued from: as the own one, at the start."""
        return self.state_dict()

    @rx.reaction(save, effects=state)
    def tell_state(self) -> None:
        """Send the state of this tag to the checkpoint."""
        self.state.set(encode(self.state_dict(), self.path.removeprefix("main.")))

    def go_on(self) -> None:
        """Take on what a checkpoint had, if there is one; to be called when all else is ready."""
        restored, self.restored = self.restored, None
        if restored is None:
            return
        assert self.checkpoint is not None
        with going_on(self.checkpoint, f"the state of {self.path}"):
            check_form(self.form(), restored, self.path)
            self.load_state_dict(restored)
