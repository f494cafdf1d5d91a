"""Where workers run: pinned, or moving off where two of them meet; it changes no result."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import pytest

import reactors as rx
from reactors import rl
from reactors_runtime.settings import cores
from tests.faults.programs import Actor, Pair, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CORES = os.sched_getaffinity(0)
PINS: list[Any] = ["auto", True, False]
two_cores = pytest.mark.skipif(len(CORES) < 2, reason="a core for each of two workers")


@pytest.fixture(autouse=True)
def nothing_stays_pinned() -> Iterator[None]:
    yield
    assert os.sched_getaffinity(0) == CORES


class Place(rx.Reactor):
    """Passes a number on, and keeps where it was."""

    inp, out = rx.Input(int), rx.Output(int)

    def __init__(self, *, begins: bool = False, rounds: int = 20) -> None:
        self.begins, self.rounds = begins, rounds
        self.mask: set[int] = set()
        self.seen: list[int] = []

    @rx.reaction(rx.startup, effects=out)
    def begin(self) -> None:
        self.mask = os.sched_getaffinity(0)
        if self.begins:
            self.out.set(0)

    @rx.reaction(inp, effects=out)
    def pass_on(self) -> None:
        assert self.inp.value is not None
        self.seen.append(self.inp.value)
        if self.inp.value < self.rounds:
            self.out.set(self.inp.value + 1)


class Circle(rx.Reactor):
    def __init__(self, n: int = 2) -> None:
        self.places = [Place(begins=k == 0) for k in range(n)]
        for k, place in enumerate(self.places):
            rx.connect(place.out, self.places[(k + 1) % n].inp, after=0 if k == n - 1 else None)


def circle(workers: int, n: int = 2, **options: Any) -> tuple[Circle, rx.Result]:
    main = Circle(n)
    placement = {f"main.places[{k}]": k % workers for k in range(n)}
    return main, rx.run(main, workers=workers, placement=placement, fast=True, **options)


# Pinned


@two_cores
@pytest.mark.parametrize("backend", ["thread", "process"])
def test_each_pinned_worker_has_a_core_of_its_own(backend: Literal["thread", "process"]) -> None:
    main, result = circle(2, backend=backend, pin=True)
    masks = [place.mask for place in main.places]
    assert [len(mask) for mask in masks] == [1, 1]
    assert masks[0] != masks[1]
    assert [{worker.core} for worker in result.workers] == masks
    assert all(worker.pinned for worker in result.workers)
    assert f"({backend}, pinned)" in result.summary()


def test_a_pinned_worker_in_this_thread_gives_it_back() -> None:
    main, result = circle(1, pin=True)
    assert result.backend == "inline"
    assert [len(place.mask) for place in main.places] == [1, 1]


@pytest.mark.parametrize("backend", ["inline", "thread"])
def test_a_failure_gives_the_thread_back(backend: Literal["inline", "thread"]) -> None:
    class Failing(rx.Reactor):
        @rx.reaction(rx.startup)
        def fail(self) -> None:
            assert len(os.sched_getaffinity(0)) == 1
            raise OSError("as it was to")

    with pytest.raises(rx.ReactionError, match="as it was to"):
        rx.run(Failing(), backend=backend, pin=True)


def test_ctrl_c_gives_the_thread_back() -> None:
    class Interrupted(rx.Reactor):
        @rx.reaction(rx.startup)
        def interrupt(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rx.run(Interrupted(), pin=True)


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_a_core_that_there_is_not_ends_the_run(
    backend: Literal["inline", "thread", "process"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "in_order", lambda: (9999, 9998))
    with pytest.raises(OSError, match=r"a worker cannot be kept on core 999. \(.*\); leave pin=True out"):
        circle(1 if backend == "inline" else min(2, len(CORES)), backend=backend, pin=True)


def test_processors_that_share_a_core_come_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for processor in range(6):
        (tmp_path / str(processor)).write_text(f"{processor % 3},{processor % 3 + 3}\n")
    monkeypatch.setattr(cores, "_SIBLINGS", f"{tmp_path}/{{}}")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 3, 4, 5})
    assert cores.in_order() == (0, 1, 5, 3, 4)
    monkeypatch.setattr(cores, "_SIBLINGS", f"{tmp_path}/nowhere/{{}}")
    assert cores.in_order() == (0, 1, 3, 4, 5)
    monkeypatch.undo()


# Not pinned


@pytest.mark.parametrize("backend", ["thread", "process"])
@pytest.mark.parametrize("pin", ["auto", False])
def test_by_default_workers_may_run_everywhere(pin: Any, backend: Literal["thread", "process"]) -> None:
    main, result = circle(2, backend=backend, pin=pin)
    assert [place.mask for place in main.places] == [CORES, CORES]
    assert not any(worker.pinned for worker in result.workers)
    assert {worker.core for worker in result.workers} <= CORES
    assert f"({backend})" in result.summary()


@pytest.mark.parametrize("pin", ["auto", False])
def test_more_workers_than_cores(pin: Any) -> None:
    many = len(CORES) + 2
    alone, result = circle(1, many)
    main, other = circle(many, many, pin=pin, backend="thread")
    assert other.digest == result.digest
    assert [place.seen for place in main.places] == [place.seen for place in alone.places]
    assert [worker.moves for worker in other.workers] == [0] * many


@pytest.mark.parametrize("backend", ["thread", "process"])
def test_workers_that_begin_on_one_core_end_alike(backend: Literal["thread", "process"]) -> None:
    """Where the system left them, or elsewhere."""

    class Meeting(Place):
        @rx.reaction(rx.startup, effects=Place.out)
        def begin(self) -> None:
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {min(before)})
            os.sched_setaffinity(0, before)
            if self.begins:
                self.out.set(0)

    class Met(Circle):
        def __init__(self) -> None:
            self.places = [Meeting(begins=k == 0, rounds=500) for k in range(2)]
            rx.connect(self.places[0].out, self.places[1].inp)
            rx.connect(self.places[1].out, self.places[0].inp, after=0)

    digests = set()
    for pin in ("auto", False):
        main = Met()
        placement = {"main.places[0]": 0, "main.places[1]": 1}
        result = rx.run(main, workers=2, backend=backend, placement=placement, fast=True, pin=pin)
        digests.add(result.digest)
        assert main.places[0].seen == [*range(1, 501, 2)]
        if not pin:
            assert [worker.moves for worker in result.workers] == [0, 0]
    assert len(digests) == 1


# Whatever it is


@two_cores
@pytest.mark.parametrize("backend", ["thread", "process"])
def test_results_do_not_depend_on_cores(backend: Literal["thread", "process"]) -> None:
    alone, first = circle(1, 4)
    for pin in PINS:
        main, result = circle(2, 4, backend=backend, pin=pin)
        assert result.digest == first.digest
        assert [place.seen for place in main.places] == [place.seen for place in alone.places]


@pytest.mark.parametrize("pin", [2, 1, "yes", None, "True"])
def test_what_pins_nothing_is_refused(pin: Any) -> None:
    with pytest.raises(rx.ArgumentError, match=f"pin of rx.run is {pin!r}; write True, False or 'auto'"):
        rx.run(Circle(), pin=pin)
    with pytest.raises(rx.ArgumentError, match=f"pin of rl.train is {pin!r}"):
        rl.train(rl.PPO(), "CartPole-v1", pin=pin)


def test_more_pinned_workers_than_cores_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5})
    said = (
        "gives each worker a core of its own, and there are 2 workers and 1 core that this process may use; take fewer"
    )
    with pytest.raises(rx.ArgumentError, match=f"pin=True of rx.run {said}"):
        rx.run(Circle(), workers=2, pin=True)
    with pytest.raises(rx.ArgumentError, match=f"pin=True of rl.train {said}"):
        rl.train(rl.PPO(), "CartPole-v1", workers=2, pin=True)
    monkeypatch.undo()


def test_a_viewer_needs_a_core_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5})
    with pytest.raises(rx.ArgumentError, match=r"pin=True of rl.train .* 2 workers and 1 core"):
        rl.train(rl.PPO(num_envs=2), "CartPole-v1", pin=True, view_every=1, out=tmp_path / "run")
    monkeypatch.undo()
    assert not (tmp_path / "run").exists()


@two_cores
def test_training_is_the_same_on_pinned_workers() -> None:
    def weights(**options: Any) -> bytes:
        small = rl.PPO(num_envs=4, horizon=8, epochs=1, hidden=(8,))
        return rl.train(small, "CartPole-v1", total_steps=64, seed=1, **options).weights.tobytes()

    assert weights() == weights(workers=2, pin=True) == weights(workers=2, backend="thread", pin=False)


def test_a_reaction_may_choose_its_cores_itself() -> None:
    def choose(actor: Actor) -> None:
        os.sched_setaffinity(0, {max(CORES)})
        actor.request_stop()

    result = run(Pair(choose))
    assert len(result.workers) == 2
