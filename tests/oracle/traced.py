"""What do the bodies of test programs do? They write down what they see and throw dice that fall the same everywhere.

A body begins with `dice = saw(self, number, {name: input, ...})`. The log of a reactor, `self.log`, holds one entry for
every reaction that ran: `(tag, number, what was present)`. The dice depend on nothing but the salt of the program, the
reactor's path, the tag and what the reaction saw, so every run of a program makes the same decisions or shows where it
first saw something else.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# Dice that would go on forever do not: they say no after this time, this microstep, or so many reactions of a reactor.
LAST_TIME, LAST_MICROSTEP, MOST_REACTIONS = 20, 4, 100


class Dice:
    """Decisions and values that follow from the key alone."""

    def __init__(self, key: object, *, over: bool) -> None:
        self.random = random.Random(hashlib.blake2b(repr(key).encode(), digest_size=8).digest())
        self.over = over

    def __call__(self, percent: int) -> bool:
        return self.random.randrange(100) < percent and not self.over

    def number(self) -> int:
        return self.random.choice([0, 1, -1, self.random.randrange(100), self.random.randrange(-(2**62), 2**62)])

    def fraction(self) -> float:
        return self.random.choice([0.0, -0.5, self.random.random()])

    def word(self) -> str:
        return self.random.choice(
            ["", "x", "ä" * 3, hex(self.random.randrange(2**32)), "long" * self.random.randrange(2**10)]
        )

    def array(self, shape: tuple[int, ...], dtype: str) -> Any:
        return np.array([self.random.randrange(100) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)

    def thing(self) -> Any:
        kinds: list[Callable[[], Any]] = [
            self.number,
            self.word,
            self.fraction,
            lambda: None,
            lambda: (self.number(), self.word()),
            lambda: {"k": [self.number()]},
            lambda: self.array((2,), "i4"),
        ]
        return self.random.choice(kinds)()


def plain(value: Any) -> Any:
    """A value as it is kept, compared and hashed by its repr: an array with dtype and shape, what is long cut short."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.dtype.str, value.shape, value.tolist()
    text = repr(value)
    return value if len(text) < 100 else f"{text[:20]}... {hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def saw(reactor: Any, number: int, inputs: dict[str, Any], salt: int = 0) -> Dice:
    """Write down what reaction `number` sees, and give it dice that depend on that; a name with [] is a multiport."""
    seen: list[tuple[str, Any]] = []
    for name, element in inputs.items():
        if name.endswith("[]"):
            present = [k for k, channel in enumerate(element) if channel.is_present]
            assert list(element.present) == present
            seen += [(f"{name[:-1]}{k}]", plain(element[k].value)) for k in present]
        elif element.is_present:
            seen.append((name, plain(getattr(element, "value", None))))  # a timer has none
        else:
            assert getattr(element, "value", None) is None
    tag = tuple(reactor.tag)
    if "log" not in vars(reactor):
        reactor.log = []
    reactor.log.append((tag, number, seen))
    over = tag[0] > LAST_TIME or tag[1] > LAST_MICROSTEP or len(reactor.log) > MOST_REACTIONS
    return Dice((salt, reactor.path, number, tag, seen), over=over)


def counted(reactor: Any, name: str) -> None:
    """Write down the value of an attribute that may be renewed, and count it up."""
    value = getattr(reactor, name)
    reactor.log[-1][2].append((name, value))
    setattr(reactor, name, value + 1)


def stacked(port: Any) -> None:
    """The block of a typed multiport says the same as its channels; rows that were not sent are zero."""
    block = port.array
    assert len(block) == len(port)
    for row, channel in zip(block, port, strict=True):
        assert plain(row) == plain(channel.value) if channel.is_present else not row.any()


def scribble(port: Any) -> None:
    """Change what a mutable input carries, which no other reader sees."""
    for channel in [port] if port.width is None else port:
        value = channel.value
        if isinstance(value, np.ndarray):
            value[...] = 77
            assert (channel.value == 77).all()
        elif isinstance(value, dict):
            value["k"].append(77)
            assert channel.value["k"][-1] == 77
        elif channel.is_present:
            channel.value = 77
            assert channel.value == 77
