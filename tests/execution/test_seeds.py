"""Random numbers of a reactor follow from the seed of the run and its path, and from nothing else."""

from typing import Any

import pytest

import reactors as rx

WAYS: list[dict[str, Any]] = [{}, {"workers": 2, "backend": "thread"}, {"workers": 2, "backend": "process"}]
every_way = pytest.mark.parametrize("way", WAYS, ids=["inline", "thread", "process"])


class Player(rx.Reactor):
    tick = rx.Timer(0, "1 ms")

    def __init__(self) -> None:
        self.drawn: list[int] = []

    @rx.reaction(tick)
    def draw(self) -> None:
        self.number = self.seed
        self.drawn.append(int(self.rng.integers(1 << 40)))


class Game(rx.Reactor):
    def __init__(self, players: int = 3) -> None:
        self.players = rx.bank(players, Player)


def played(seed: int, players: int = 3, **way: Any) -> dict[str, tuple[int, list[int]]]:
    game = Game(players)
    rx.run(game, fast=True, timeout="2 ms", seed=seed, **way)
    return {player.path: (player.number, player.drawn) for player in game.players}


@every_way
def test_seeds_and_draws_are_the_same_in_every_way_and_run(way: dict[str, Any]) -> None:
    assert played(5, **way) == played(5)


def test_every_reactor_has_a_seed_of_its_own_and_draws_of_its_own() -> None:
    found = played(5)
    assert len({seed for seed, _ in found.values()}) == 3
    assert len({number for _, drawn in found.values() for number in drawn}) == 9


def test_another_seed_of_the_run_gives_each_another_one() -> None:
    one, other = played(5), played(6)
    assert not {seed for seed, _ in one.values()} & {seed for seed, _ in other.values()}


def test_what_else_is_in_the_program_does_not_matter() -> None:
    assert played(5, players=2).items() <= played(5, players=3).items()


@every_way
def test_a_second_run_goes_on_with_the_attributes_of_the_first(way: dict[str, Any]) -> None:
    game = Game()
    for runs in (1, 2):
        rx.run(game, fast=True, timeout="2 ms", seed=5, **way)
        assert [len(player.drawn) for player in game.players] == [3 * runs] * 3


def test_a_second_run_draws_what_the_first_drew() -> None:
    game = Game()
    for _ in range(2):
        rx.run(game, fast=True, timeout="2 ms", seed=5)
    for player in game.players:
        assert player.drawn[:3] == player.drawn[3:]
