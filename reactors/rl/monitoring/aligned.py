"""How do rows of words and numbers become a table of text?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], words: int) -> str:
    """A line for each row; the first `words` columns begin below each other, those of numbers end there.

    >>> print(aligned([("run", "return"), ("one", "5.00"), ("other", "-12.00")], words=1))
    run    return
    one      5.00
    other  -12.00
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(x.ljust(width) if i < words else x.rjust(width) for i, (x, width) in cells).rstrip())
    return "\n".join(lines)
