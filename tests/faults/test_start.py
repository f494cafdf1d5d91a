import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import reactors as rx
from reactors_runtime import workers
from tests.faults.programs import Actor, Bystander, Pair, run, stop


class Fragile:
    """Is pickled well and cannot be unpickled in a worker."""

    def __reduce__(self) -> Any:
        return __import__, ("a_module_that_is_nowhere",)


class Delivered(Bystander):
    def __init__(self) -> None:
        super().__init__()
        self.fragile = Fragile()


class Main(rx.Reactor):
    def __init__(self) -> None:
        self.bystander = Bystander()
        self.actor = Delivered()


def test_an_import_error_in_what_is_sent_is_the_workers_own_and_comes_out() -> None:
    """Row 35."""
    main = Main()
    with pytest.raises(rx.WorkerStartError) as caught:
        run(main)
    assert caught.match(
        r"worker 1 \(pid \d+; runs main\.actor\) could not load its part of the program: ModuleNotFound"
    )
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert "a_module_that_is_nowhere" in "\n".join(caught.value.__cause__.__notes__)
    assert not main.bystander.ticks  # the others have not begun


def test_a_module_that_only_the_caller_could_import_goes_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("made_by_hand")
    exec("def deed(actor):\n    actor.ticks = helper()\ndef helper():\n    return 100", vars(module))
    monkeypatch.setitem(sys.modules, "made_by_hand", module)
    main = Pair(lambda actor: (module.deed(actor), stop(actor)))
    run(main)
    assert main.actor.ticks == 100


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/python"])
def test_a_python_that_does_not_start_is_named(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 35."""
    workers.close_server()
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(rx.WorkerStartError, match=program):
        run(Pair(stop))


def test_a_python_that_cannot_find_its_library_is_shown_with_what_it_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 35."""
    workers.close_server()
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with pytest.raises(rx.WorkerStartError, match=r"(?s)ended with exit status 1; it printed:.*/nowhere"):
        run(Pair(stop))


def test_a_refused_fork_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Row 35."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\ndef fork():\n    raise BlockingIOError(11, 'Resource temporarily unavailable')\nos.fork = fork\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(rx.WorkerStartError, match=r"worker 0 could not be started: .*unavailable; use fewer workers"):
        run(Pair(stop))


def test_memory_that_there_is_not_is_refused_before_the_start_with_the_largest_ports() -> None:
    """Row 36."""

    class Huge(rx.Reactor):
        picture = rx.Output(shape=(1 << 20, 1 << 20), dtype="f8")
        label = rx.Output(shape=(1 << 20, 4), dtype="f8")

        def __init__(self) -> None:
            self.ticks = 0

        @rx.reaction(rx.startup, effects=(picture, label))
        def start(self) -> None:
            self.ticks += 1

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Bystander()
            self.actor = Huge()

    main = Main()
    with pytest.raises(
        rx.MemoryTooSmall, match=r"need 8\.0 TiB .* are free; the largest: main\.actor\.picture 8\.0 TiB"
    ):
        run(main)
    assert not main.actor.ticks


def test_no_worker_is_started_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.close_server()
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(rx.WorkerStartError, match=r'need Linux .*backend="thread"'):
        run(Pair(Actor.request_stop))
