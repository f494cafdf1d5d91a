"""How does one know that a text, checksum included, is as it was written?

The text, JSON, has a place for its own checksum, that of `UNSEALED`, which counts as zeros. So no byte changes without
notice.
"""

from __future__ import annotations

import zlib

_ZEROS = "00000000"
UNSEALED = {"crc32": _ZEROS}
_BEGIN = b'"crc32": "'


def sealed(text: bytes) -> bytes:
    """The text with its checksum in the place of the first zeros that wait for one; as long as before.

    >>> sealed(b'{"crc32": "00000000", "round": 7}')
    b'{"crc32": "f6536229", "round": 7}'
    """
    at = text.index(_BEGIN + _ZEROS.encode()) + len(_BEGIN)
    return text[:at] + f"{zlib.crc32(text):08x}".encode() + text[at + 8 :]


def is_sealed(text: bytes) -> bool:
    """Whether every byte is as `sealed` gave it.

    >>> is_sealed(b'{"crc32": "f6536229", "round": 7}'), is_sealed(b'{"crc32": "f6536229", "round": 8}')
    (True, False)
    """
    at = text.find(_BEGIN) + len(_BEGIN)
    return at >= len(_BEGIN) and sealed(text[:at] + _ZEROS.encode() + text[at + 8 :]) == text
