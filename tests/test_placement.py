"""Where reactors run."""

from typing import Any

import pytest

import reactors as rx
from tests.told import warned


class Leaf(rx.Reactor):
    @rx.reaction(rx.startup)
    def begin(self) -> None: ...


class Branch(Leaf):
    def __init__(self) -> None:
        self.leaf, self.leaves = Leaf(), rx.bank(2, Leaf)


class Tree(Leaf):
    def __init__(self) -> None:
        self.branch, self.branches, self.branching = Branch(), rx.bank(2, Branch), Leaf()


def workers(placement: Any, number: int = 3) -> dict[str, int]:
    result = rx.run(Tree(), workers=number, backend="thread", placement=placement)
    return {each.path.removesuffix(".begin").removeprefix("main."): each.worker for each in result.statistics}


BRANCH = ("", ".leaf", ".leaves[0]", ".leaves[1]")


@pytest.mark.parametrize("form", [lambda choice: choice, lambda choice: choice.get])
def test_what_a_reactor_contains_goes_where_it_goes(form: Any) -> None:
    """Unless it is placed itself; a name that only begins like that of the container is none of it."""
    found = workers(form({"main.branch": 2, "main.branch.leaves[0]": 1, "main.branches[0]": 2}))
    assert [found[f"branch{inner}"] for inner in BRANCH] == [2, 2, 1, 2]
    assert [found[f"branches[0]{inner}"] for inner in BRANCH] == [2, 2, 2, 2]
    assert [found[f"branches[1]{inner}"] for inner in BRANCH] == [1, 1, 1, 1]
    assert found["branching"] == found["main"] == 0


def test_all_is_contained_in_the_main_reactor() -> None:
    assert set(workers({"main": 1}).values()) == {1}


def test_a_bank_is_spread_and_an_outer_one_decides_for_those_inside() -> None:
    found = workers("auto", 2)
    assert [found[f"branch{inner}"] for inner in BRANCH] == [0, 0, 0, 1]
    assert [found[f"branches[1]{inner}"] for inner in BRANCH] == [1, 1, 1, 1]


def test_what_may_run_elsewhere_is_a_reactor_of_the_program_not_a_connection_of_a_mode() -> None:
    class Source(rx.Reactor):
        out = rx.Output(int)

        @rx.reaction(rx.startup, effects=out)
        def go(self) -> None: ...

    class Sink(rx.Reactor):
        inp = rx.Input(int)

        @rx.reaction(inp)
        def see(self) -> None: ...

    class Main(rx.Reactor):
        off = rx.Mode(initial=True)

        def __init__(self) -> None:
            self.source, self.sink = Source(), Sink()
            with self.off:
                rx.connect(self.source.out, self.sink.inp)

    assert warned(lambda: rx.run(Main(), workers=2, backend="thread", fast=True)) == [
        (
            "all 3 reactors of main run on worker 0, and the others have nothing to do: of itself, only a bank is "
            'spread; say placement={"main.sink": 1} for what is to run elsewhere'
        )
    ]


def test_neighbours_in_a_bank_share_a_worker() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.parts = rx.bank(7, Leaf)

    result = rx.run(Main(), workers=3, backend="thread")
    assert [each.worker for each in result.statistics if "parts" in each.path] == [0, 0, 0, 1, 1, 2, 2]


def test_workers_are_numbered_from_zero() -> None:
    with pytest.raises(rx.PlacementError, match=r"placement of main\.branch: 3; workers are whole numbers from 0 to 2"):
        workers({"main.branch": 3})
