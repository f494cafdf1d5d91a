"""How does a connection of a mode carry nothing while its reactor is in another one?

It is a reaction: a relay, which belongs to the mode, reads the one end and sets the other. So several modes may connect
to one port. With a delay there are two relays, one at each end of it: what is under way waits while the mode does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.model.ports import Input, Output, Port
from reactors.model.reactor import Reactor

if TYPE_CHECKING:
    from reactors.location import Location


class Relay(Reactor):
    """Passes on what it gets, to a port of its own or to the target of the connection."""

    value = Input[Any]()
    out = Output[Any]()

    def __init__(self, source: Port[Any], target: Port[Any] | None) -> None:
        self.value._layout = self.out._layout = source._carried()
        self.target = self.out if target is None else target
        self.add_reaction(self.value, self.pass_on, effects=self.target)

    def pass_on(self) -> None:
        """Set the target."""
        self.target.set(self.value.value)


def relay(source: Port[Any], target: Port[Any] | None, location: Location) -> Relay:
    """A relay that stands for a connection which was made at that line."""
    made = Relay(source, target)
    made._made_at = made._added_reactions[0]._location = location
    return made
