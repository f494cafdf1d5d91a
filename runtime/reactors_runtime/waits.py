"""What does a worker wait for?"""

from __future__ import annotations

from reactors_runtime._core import lib

WAITS: dict[int, str] = {
    lib.RX_WAITED_CLOCK: "the clock",
    lib.RX_WAITED_TAG: "a tag of others",
    lib.RX_WAITED_INPUT: "inputs",
    lib.RX_WAITED_ROOM: "room",
    lib.RX_WAITED_OUTSIDE: "something to do",
    lib.RX_WAITED_START: "the start",
    lib.RX_WAITED_END: "the end of others",
}
"""By kind of span, in the order in which workers sum them up."""
