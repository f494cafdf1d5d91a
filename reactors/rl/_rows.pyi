# csrc/rl/rows.c says what it does.

from collections.abc import Callable, Sequence
from typing import Any

def walk(
    calls: list[Callable[[Any], Any]],
    actions: Sequence[Any],
    first: int,
    block: Any,
    rewards: Any,
    totals: Any,
    terminated: Any,
    truncated: Any,
    ended: list[int],
    at: Any,
    /,
) -> tuple[int, Any] | None: ...
def joined(blocks: Any, n: int, /) -> Any: ...
