"""What else debug mode finds: draws from global generators, tensors with a graph. It changes no value."""

import random
from typing import Any

import numpy as np

import reactors as rx
from reactors import rl
from tests.execution.bad_programs.writer_and_reader import Deed, Main, Reader, every_way
from tests.messages import warned

# Draws


def draw(self: Any) -> None:
    import torch

    random.random(), np.random.rand(), torch.rand(1)  # noqa: NPY002
    self.number.set(1)


def draw_its_own(self: Any) -> None:
    import torch

    self.rng.random(), random.Random(self.seed).random()
    with rl.Seeded(self.seed):
        torch.rand(1)
    self.number.set(1)


def shared(generator: str, instead: str) -> str:
    return (
        f"while main.writer.write ran, the generator of {generator} was used, which all reactors of a process share, "
        f"so what it gives depends on the placement; take {instead}"
    )


DRAWN = [
    shared("the module random", "random.Random(self.seed)"),
    shared("numpy.random", "self.rng"),
    shared("torch", "with rl.Seeded(self.seed):, or generator=torch.Generator().manual_seed(self.seed)"),
]


@every_way
def test_draws_from_global_generators_are_reported_in_debug_mode(way: Any) -> None:
    def run(write: Deed, **options: Any) -> list[str]:
        words = warned(lambda: rx.run(Main(write), fast=True, timeout="2 ms", **options, **way))
        return [each for each in words if "nothing reads" not in each]

    assert run(draw, debug=True) == DRAWN
    assert run(draw_its_own, debug=True) == run(draw) == []


@every_way
def test_tensors_with_a_graph_are_reported_in_debug_mode(way: Any) -> None:
    def write(self: Any) -> None:
        import torch

        weight = torch.ones(2, requires_grad=True)
        self.thing.set({"weights": [weight * 2], "detached": weight.detach()})
        self.vector.set(weight)
        self.number.set(1)

    words = warned(lambda: rx.run(Main(write), fast=True, timeout="1 ms", debug=True, **way))
    assert [each for each in words if "nothing reads" not in each] == [
        f"main.writer.write sets main.writer.{port} to a tensor with requires_grad; its graph stays on the worker, so "
        "no gradient comes back: send tensor.detach()"
        for port in ("thing (@thing)", "vector (@vector)")
    ]


@every_way
def test_debug_mode_changes_no_value(way: Any) -> None:
    """Also where a port has readers on this worker and on another."""
    seen: dict[str, Any] = {}
    for debug in (False, True):
        main: Any = Main(lambda self: self.thing.set([7]), lambda self: setattr(self, "seen", self.thing.value))
        main.near = Reader(lambda self: setattr(self, "seen", self.thing.value))
        rx.connect(main.writer.thing, main.near.thing)
        words = warned(lambda main=main, debug=debug: rx.run(main, timeout=0, debug=debug, **way))  # type: ignore[misc]
        assert all("no connection leads there" in each or "nothing reads it" in each for each in words)
        seen[str(debug)] = vars(main.near)["seen"], vars(main.reader)["seen"]
    assert seen == {"False": ([7], [7]), "True": ([7], [7])}
