"""Against which opponents do agents learn? The options for that, and what Elo predicts about who wins.

This module imports nothing heavy, because options use it.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from reactors.errors import ArgumentError
from reactors.lowlevel import did_you_mean
from reactors.rl.bounded import Count, Rate, accepts, words
from reactors.rl.public import public

BEGIN = 1000.0
"""The rating of a policy that has not learned yet."""
STEP = 8.0
"""How far a game moves a rating at most. Chosen here: a round has many games; for people it is 10 to 40."""


@public("rl.Past")
@dataclass(frozen=True)
class Past:
    """Play against a pool of past policies of the learning agents.

    >>> from reactors import rl
    >>> rl.Past(every=20, choose="elo").size
    20
    >>> str(rl.Past.of("past:every=20"))
    'past:every=20,choose=uniform,size=20,chance=0.5'
    """

    every: Count = 50
    """Rounds after which the current policy is added to the pool. The pool begins with the initial policy."""
    choose: Literal["uniform", "latest", "elo"] = "uniform"
    """Which past policy plays the next episode: any with equal probability ("uniform", as in Bansal et al., 2018,
    arXiv 1710.03748), the "latest", or with "elo" in proportion to its probability of winning (prioritised
    fictitious self-play: Vinyals et al., 2019)."""
    size: Count = 20
    """How many policies the pool keeps; the oldest is dropped first."""
    chance: Rate = 0.5
    """The probability that an episode is played against a past policy; in all others, every agent learns."""

    def __post_init__(self) -> None:
        """Check all fields. Raises `ArgumentError` for values out of bounds."""
        hints = typing.get_type_hints(type(self), include_extras=True)
        for each in fields(self):
            value = getattr(self, each.name)
            if not accepts(hints[each.name], value):
                raise ArgumentError(f"{each.name} of rl.Past is {value!r}; write {words(hints[each.name])}")

    def __str__(self) -> str:
        """As written on a command line."""
        return f"past:{','.join(f'{each.name}={getattr(self, each.name)}' for each in fields(self))}"

    @classmethod
    def of(cls, given: object) -> Past | None:
        """From what can be given as opponents: a `Past`, text, or a table of a file. Raises `ArgumentError`."""
        if given is None or isinstance(given, Past):
            return given
        said = f"opponents is {given!r}"
        remedy = 'write rl.Past(every=50), or "past:every=50,choose=elo"'
        if isinstance(given, str):
            word, _, rest = given.partition(":")
            pairs = [pair.partition("=") for pair in rest.split(",") if pair]
            if word.strip() != "past" or not all(equals for _, equals, _ in pairs):
                raise ArgumentError(f"{said}; {remedy}")
            given = {name.strip(): text.strip() for name, _, text in pairs}
        if not isinstance(given, Mapping):
            raise ArgumentError(f"{said}; {remedy}")
        known: dict[str, Any] = {each.name: type(each.default) for each in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                raise ArgumentError(f"{said}: rl.Past has no {name!r}{did_you_mean(name, known)}; {remedy}")
            try:
                values[name] = known[name](value) if isinstance(value, str) else value
            except ValueError:
                raise ArgumentError(f"{said}: {name} is {value!r}; {remedy}") from None
        return cls(**values)

    def weights(self, rating: float, ratings: Sequence[float]) -> list[float]:
        """How often each policy of the pool, oldest first, is to play against a learning policy with this `rating`.

        >>> from reactors import rl
        >>> rl.Past(choose="latest").weights(1000, [900, 1000])
        [0.0, 1.0]
        >>> [round(x, 2) for x in rl.Past(choose="elo").weights(1000, [600, 1000])]
        [0.09, 0.5]
        """
        if self.choose == "elo":
            return [expected(each, rating) for each in ratings]
        last = len(ratings) - 1
        return [float(self.choose == "uniform" or i == last) for i in range(len(ratings))]


def expected(mine: float, other: float) -> float:
    """The expected score of a rating against another: the probability of a win, plus half that of a draw.

    Elo, 1978, with chess's base of 10 and 400 points.

    >>> expected(1000, 1000), round(expected(1400, 1000), 3)
    (0.5, 0.909)
    """
    return float(1 / (1 + 10 ** ((other - mine) / 400)))
