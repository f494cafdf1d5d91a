import ctypes
import os
import signal
from collections.abc import Callable

import pytest

import reactors as rx
from tests.faults.programs import Actor, Pair, run


def kill(actor: Actor) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash(actor: Actor) -> None:
    ctypes.string_at(0)


def leave(actor: Actor) -> None:
    os._exit(3)


@pytest.mark.parametrize(
    ("deed", "how", "remedy"),
    [
        (kill, "was killed by SIGKILL", "out of memory"),
        (crash, "was killed by SIGSEGV", "native code"),
        (leave, "ended with exit status 3", r"os\._exit"),
    ],
)
def test_a_worker_that_dies_is_reported_with_its_reactors_and_where_it_was(
    deed: Callable[[Actor], None], how: str, remedy: str
) -> None:
    with pytest.raises(rx.WorkerDied) as caught:
        run(Pair(deed))
    assert caught.match(rf"worker 1 \(pid \d+; runs main\.actor\) {how} in main\.actor\.act at tag 2 ms; ")
    assert caught.match(remedy)


def test_a_crash_is_shown_with_its_line() -> None:
    with pytest.raises(rx.WorkerDied) as caught:
        run(Pair(crash))
    assert "in crash" in "\n".join(getattr(caught.value, "__notes__", []))


def test_the_shutdown_reactions_of_the_others_run() -> None:
    main = Pair(kill)
    with pytest.raises(rx.WorkerDied):
        run(main)
    assert main.bystander.closed
    assert not main.actor.closed


def test_what_a_dead_worker_had_is_as_it_was_before_the_run() -> None:
    main = Pair(kill)
    with pytest.raises(rx.WorkerDied):
        run(main)
    assert main.actor.ticks == 0


def test_the_next_run_is_none_the_worse() -> None:
    with pytest.raises(rx.WorkerDied):
        run(Pair(kill))
    main = Pair(Actor.request_stop)
    run(main)
    assert main.actor.closed
