"""Does the processor's counter keep time?"""

from __future__ import annotations

import contextlib
from pathlib import Path


def counts_steadily() -> bool:
    """Whether the system itself keeps time by that counter: then it is the same on all cores."""
    with contextlib.suppress(OSError):
        return Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip() == "tsc"
    return False
