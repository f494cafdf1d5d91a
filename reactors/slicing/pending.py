"""Which execution scheduled the event that fires? The queue of one action, as csrc/pending.c keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors_runtime.program import SpacingPolicy

if TYPE_CHECKING:
    from reactors_runtime.program import Element

AsTag = tuple[int, int]


class Pending:
    """The events of an action that are still to come, with who scheduled them, in the order in which they will."""

    def __init__(self, action: Element) -> None:
        self.spacing, self.policy = action.min_spacing, action.policy
        self.last: AsTag | None = None  # the tag of the last event that was accepted, where there is a spacing
        self.events: list[tuple[AsTag, int]] = []

    def schedule(self, now: AsTag, tag: AsTag, by: int) -> None:
        """An execution asks for an event at a tag."""
        if self.spacing >= 0:
            last = self.last
            if last is not None and (last[0] + self.spacing, not self.spacing) > (tag[0], False):
                pending = now < last
                if self.policy == SpacingPolicy.DROP:
                    return
                if self.policy == SpacingPolicy.REPLACE and pending:
                    self._take(last)
                    self._add(last, by)
                    return
                if self.policy == SpacingPolicy.UPDATE and pending:
                    self._take(last)
                else:
                    after = max(now, last)
                    tag = max((last[0] + self.spacing, 0), (after[0], after[1] + 1))
            self.last = tag
        self._add(tag, by)

    def fire(self, tag: AsTag) -> int:
        """Who scheduled the event that fires at a tag; -1: no execution that was noted."""
        due = [event for event in self.events if event[0] <= tag]
        if not due:
            return -1
        fired = next((event for event in due if event[0][0] == tag[0]), due[-1])
        del self.events[: self.events.index(fired) + 1]  # those before it fired where no reaction was to hear it
        return fired[1]

    def _add(self, tag: AsTag, by: int) -> None:
        self.events.append((tag, by))
        self.events.sort(key=lambda event: event[0])

    def _take(self, tag: AsTag) -> None:
        """Take away the last event of a tag, if it is there."""
        for n in reversed(range(len(self.events))):
            if self.events[n][0] == tag:
                del self.events[n]
                return
