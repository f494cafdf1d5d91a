"""The digest of a run: for every reactor a hash chain over what its reactions saw and set, at which tag."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .declaring import Port

if TYPE_CHECKING:
    from .declaring import Reaction, Reactor, Tag


class Digest:
    def __init__(self, reactors: list[Reactor]) -> None:
        self.chains = dict.fromkeys((reactor.path for reactor in reactors), 0)
        self.reactions = 0

    def add(self, tag: Tag, reaction: Reaction, *, late: bool) -> None:
        """A reaction has run: which of what it declares was present, by position, is in the hash; values are not."""
        ports = (effect for effect in reaction.effects if isinstance(effect, Port))
        seen = 0
        for k, element in enumerate([*reaction.triggers, *reaction.uses, *ports]):
            if element.is_present:
                seen = seen * 0x100000001B3 + k + 1
        event = mix(mix(0, tag.time), tag.microstep) + (reaction.number + 1) * 0x9E3779B97F4A7C15 + seen
        event += 0xD6E8FEB86659FD93 if late else 0
        path = reaction.reactor.path
        self.chains[path] = mix(self.chains[path], event)
        self.reactions += 1

    def text(self) -> str:
        total = hashlib.blake2b(digest_size=16)
        for path, chain in sorted(self.chains.items()):
            total.update(path.encode() + b"\0" + chain.to_bytes(8, "little") + b"\n")
        return total.hexdigest()


def mix(h: int, x: int) -> int:
    y = (h ^ x) % 2**64 * 0x9FB21C651E98DF25 % 2**64
    return y ^ y >> 32
