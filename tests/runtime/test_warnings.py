"""What reactions warn of is a warning of the caller, wherever they run."""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any, Literal

import pytest

import reactors as rx

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS: list[tuple[Literal["inline", "thread", "process"], int]] = [("inline", 1), ("thread", 2), ("process", 2)]
DRAWN = (
    "while main.actors[{}].act ran, the generator of the module random was used, which all reactors of a process "
    "share, so what it gives depends on the placement; take random.Random(self.seed)"
)


class Coded(UserWarning):
    """One whose class takes no text."""

    def __init__(self, code: int) -> None:
        super().__init__(code)


class Actor(rx.Reactor):
    def __init__(self, deed: Callable[[rx.Reactor], object]) -> None:
        self.deed = deed

    @rx.reaction(rx.startup)
    def act(self) -> None:
        self.deed(self)


class Main(rx.Reactor):
    def __init__(self, deed: Callable[[rx.Reactor], object]) -> None:
        self.actors = rx.bank(2, Actor, lambda _: deed)


def recorded(action: Any, deed: Callable[[rx.Reactor], object], way: Any, **options: Any) -> list[str]:
    """What is recorded where the caller's filter is `action`; those of one worker are in order."""
    backend, workers = way
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        rx.run(Main(deed), backend=backend, workers=workers, **options)
    assert {each.filename for each in found} <= {__file__}
    return sorted(f"{each.category.__name__}: {each.message}" for each in found)


@pytest.mark.parametrize("way", WAYS)
def test_debug_mode_warns_the_caller(way: Any) -> None:
    found = recorded("always", lambda _: random.random(), way, debug=True)
    assert found == [f"ReactorWarning: {DRAWN.format(i)}" for i in range(2)]


@pytest.mark.parametrize("way", WAYS)
def test_the_filters_are_those_of_the_caller(way: Any) -> None:
    """By its one registry: what two workers warn of is shown once, if it would be of two reactors on one."""

    def deed(_: rx.Reactor) -> None:
        warnings.warn("careful", UserWarning, stacklevel=1)

    assert recorded("always", deed, way) == ["UserWarning: careful"] * 2
    assert recorded("default", deed, way) == ["UserWarning: careful"]
    assert recorded("once", deed, way) == ["UserWarning: careful"]
    assert recorded("ignore", deed, way) == []
    with pytest.raises(rx.ReactionError) as caught:
        recorded("error", deed, way)
    assert str(caught.value).endswith(".act at 0 s raised UserWarning: careful")
    assert type(caught.value.__cause__) is UserWarning


@pytest.mark.parametrize("way", WAYS)
def test_classes_of_the_users_own(way: Any) -> None:
    """Also one that a worker knows by value alone, or that is made of something else than a text."""

    class Local(UserWarning):
        pass

    def deed(reactor: rx.Reactor) -> None:
        if reactor.bank_index:
            warnings.warn(Coded(7), stacklevel=1)
        else:
            warnings.warn("mine", Local, stacklevel=1)

    local = "UserWarning" if way[0] == "process" else "Local"  # which no name leads to
    assert recorded("always", deed, way) == sorted(["Coded: 7", f"{local}: mine"])


def test_what_a_reaction_records_itself_stays_with_it() -> None:
    def deed(reactor: Any) -> None:
        with warnings.catch_warnings(record=True) as found:
            warnings.warn("inside", stacklevel=1)
        reactor.found = [str(each.message) for each in found]
        warnings.warn("outside", stacklevel=1)

    assert recorded("always", deed, ("process", 2)) == ["UserWarning: outside"] * 2
