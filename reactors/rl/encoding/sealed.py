"""How does one know that a text, checksum included, is as it was written?

The text has a place for its own checksum, `MARK`, which counts as zeros. So no byte changes without notice.
"""

from __future__ import annotations

import zlib

MARK = '"crc32": "00000000"'
_BEGIN, _ZEROS = MARK[:-9].encode(), b"00000000"


def sealed(text: bytes) -> bytes:
    """The text with its checksum in the place of the zeros of the first `MARK`; as long as before.

    >>> sealed(b'{"crc32": "00000000", "round": 7}')
    b'{"crc32": "f6536229", "round": 7}'
    """
    at = text.index(MARK.encode()) + len(_BEGIN)
    return text[:at] + f"{zlib.crc32(text):08x}".encode() + text[at + 8 :]


def is_sealed(text: bytes) -> bool:
    """Whether every byte is as `sealed` gave it.

    >>> is_sealed(b'{"crc32": "f6536229", "round": 7}'), is_sealed(b'{"crc32": "f6536229", "round": 8}')
    (True, False)
    """
    at = text.find(_BEGIN) + len(_BEGIN)
    return at >= len(_BEGIN) and sealed(text[:at] + _ZEROS + text[at + 8 :]) == text
