"""On several machines, what talks within a tag is on one of them, as far as machines have equal shares."""

from __future__ import annotations

import random

import pytest

import reactors as rx
from reactors.elaboration.placing import placed
from tests.oracle.random_programs import random_program


class Simulator(rx.Reactor):
    tick, out, action = rx.Timer(0, "1 ms"), rx.Output(int), rx.Input(int)

    @rx.reaction(tick, effects=out)
    def step(self) -> None: ...

    @rx.reaction(action)
    def act(self) -> None: ...


class Model(rx.Reactor):
    """Predicts for some simulators."""

    out = rx.Output(int, width="n")
    given = rx.Input(int, width="n")
    segment = rx.Output(int)

    def __init__(self, n: int) -> None:
        self.n = n

    @rx.reaction(given, effects=[out, segment])
    def predict(self) -> None: ...


class Learner(rx.Reactor):
    segments = rx.Input(int, width="n")

    def __init__(self, n: int) -> None:
        self.n = n

    @rx.reaction(segments)
    def learn(self) -> None: ...


class Training(rx.Reactor):
    """The simulators are declared in an order that says nothing of whose model is whose."""

    def __init__(self, models: int, each: int, after: str | None) -> None:
        self.learner = Learner(models)
        self.simulators = rx.bank(models * each, Simulator)
        self.models = rx.bank(models, Model, each)
        for i, simulator in enumerate(self.simulators):
            model = self.models[i % models]
            rx.connect(simulator.out, model.given[i // models])
            rx.connect(model.out[i // models], simulator.action, after="1 ms")
        rx.connect(self.models.segment, self.learner.segments, after=after)


@pytest.mark.parametrize("after", [None, "1 ms"])
@pytest.mark.parametrize(("models", "each", "machines", "workers"), [(4, 2, 2, 4), (4, 1, 2, 2), (8, 3, 4, 4)])
def test_a_bank_is_with_what_it_talks_to(
    models: int, each: int, machines: int, workers: int, after: str | None
) -> None:
    program = rx.Graph(Training(models, each, after)).program
    machine_of = tuple(worker * machines // workers for worker in range(workers))
    where = placed(program, workers, "auto", machine_of)
    worker = {reactor.path: at for reactor, at in zip(program.reactors, where, strict=True)}
    of = {path: machine_of[at] for path, at in worker.items()}
    for i in range(models * each):
        assert of[f"main.simulators[{i}]"] == of[f"main.models[{i % models}]"]
    shares = [sum(of[f"main.models[{i}]"] == machine for i in range(models)) for machine in range(machines)]
    assert max(shares) - min(shares) <= 1
    assert worker["main.learner"] == 0
    assert {*worker.values()} == {*range(workers)}


def test_on_one_machine_nothing_is_grouped() -> None:
    program = rx.Graph(Training(4, 2, None)).program
    assert placed(program, 4, "auto", (0, 0, 0, 0)) == placed(program, 4, "auto")


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")  # random programs leave inputs open
@pytest.mark.parametrize("seed", range(40))
def test_every_reactor_has_a_worker_whatever_the_program(seed: int) -> None:
    dice = random.Random(seed)
    machines, each = dice.randint(2, 4), dice.randint(1, 3)
    program = rx.Graph(random_program(seed).main(rx)).program
    machine_of = tuple(worker // each for worker in range(machines * each))
    found = placed(program, machines * each, "auto", machine_of)
    assert len(found) == len(program.reactors)
    assert {*found} <= {*range(machines * each)}
