import os
import re
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import reactors as rx
from reactors.execution import inline
from reactors.stepwise import Stepwise
from reactors_runtime.engine import Engine
from reactors_runtime.planning.image import Image
from reactors_runtime.processes import workers
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


def test_a_module_that_ends_the_process_when_it_is_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "here_only.py"
    module.write_text(f"import os, sys\nif os.getpid() != {os.getpid()}: sys.exit(4)\nclass Kept: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    main = Main()
    main.actor.fragile = import_module("here_only").Kept()
    with pytest.raises(rx.WorkerStartError) as caught:
        run(main)
    assert str(caught.value).endswith(
        f"could not load its part of the program: ImportError: sys.exit(4) at {module}:2 ends the process when a file "
        'is imported; put what is meant for running it as a script under if __name__ == "__main__":'
    )


def test_an_interpreter_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    words = (
        r"\(/bin/false, pid \d+\) ended with exit status 1 and printed nothing; it is sys.executable, which has to be "
        "a Python like this one$"
    )
    with pytest.raises(rx.WorkerStartError, match=words):
        run(Main())


def test_an_import_error_in_what_is_sent_is_the_workers_own_and_comes_out() -> None:
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
    workers.close_server()
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(rx.WorkerStartError, match=program):
        run(Pair(stop))


def test_a_python_that_cannot_find_its_library_is_shown_with_what_it_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.close_server()
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with pytest.raises(rx.WorkerStartError, match=r"(?s)ended with exit status 1; it printed:.*/nowhere"):
        run(Pair(stop))


def test_a_refused_fork_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os\ndef fork():\n    raise BlockingIOError(11, 'Resource temporarily unavailable')\nos.fork = fork\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(rx.WorkerStartError, match=r"worker 0 could not be started: .*unavailable; use fewer workers"):
        run(Pair(stop))


def no_more_threads(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The system refuses the thread of this name."""
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == name:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)


def test_a_refused_thread_is_an_error_with_a_remedy_and_the_others_end(monkeypatch: pytest.MonkeyPatch) -> None:
    no_more_threads(monkeypatch, "reactors worker 1")
    main = Pair(stop)
    with pytest.raises(
        rx.WorkerStartError, match=r"worker 1 could not be started: can't start new thread; .*ulimit -u"
    ):
        run(main, backend="thread")
    assert not main.bystander.ticks  # the others have not begun


@pytest.mark.parametrize("wanted", [True, lambda *_: None])
def test_a_run_without_a_thread_for_progress_goes_on_without(wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    no_more_threads(monkeypatch, "reactors progress")
    main = Pair(stop)
    words = r"^main runs without progress, for which the system refuses a thread \(can't start new thread\)$"
    with pytest.warns(rx.ReactorWarning, match=words) as caught:
        rx.run(main, progress=wanted)
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]
    assert main.actor.closed


def test_a_worker_without_memory_for_its_tables_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Second(Engine):
        def __init__(self, image: Image, worker: int, *given: Any) -> None:
            if worker == 1:
                raise MemoryError("worker 1: no memory for its tables")
            super().__init__(image, worker, *given)

    monkeypatch.setattr(inline, "Engine", Second)
    main = Pair(stop)
    with pytest.raises(MemoryError, match="worker 1"):
        run(main, backend="thread")
    assert not main.bystander.ticks


def test_a_step_by_step_program_whose_thread_is_refused_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    no_more_threads(monkeypatch, "reactors workers")
    with pytest.raises(rx.WorkerStartError, match=r"could not be started: can't start new thread; .*ulimit -u"):
        Stepwise(Pair(stop), workers=2)


def test_a_step_by_step_program_whose_workers_do_not_start_says_so_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker 0, the caller's thread, waits for the others at the start."""
    workers.close_server()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    program = Stepwise(Pair(stop), workers=2, placement={"main.actor": 1})
    with pytest.raises(rx.WorkerStartError, match="/bin/false"):
        program.advance()
    assert program.over


def test_memory_that_there_is_not_is_refused_before_the_start_with_the_largest_ports() -> None:
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


LIMITED = """
import resource, sys
import numpy as np
import reactors as rx
from pathlib import Path

class Sender(rx.Reactor):
    block = rx.Output(shape=(int(sys.argv[3]) << 20,), dtype="u1")
    thing = rx.Output()
    @rx.reaction(rx.startup, effects=(block, thing))
    def send(self):
        self.thing.set(bytes(1 << 20))

class Reader(rx.Reactor):
    thing = rx.Input()
    @rx.reaction(thing)
    def read(self):
        print(len(self.thing.value))

class Main(rx.Reactor):
    def __init__(self):
        self.sender, self.reader = Sender(), Reader()
        rx.connect(self.sender.thing, self.reader.thing)

used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
most = (used if sys.argv[1] == "RLIMIT_AS" else 0) + (int(sys.argv[2]) << 20)
resource.setrlimit(getattr(resource, sys.argv[1]), (most, most))
rx.run(Main(), workers=2, placement={"main.reader": 1}, fast=True)
"""


def limited(limit: str, mebibytes: int, block: int) -> subprocess.CompletedProcess[str]:
    """What becomes of a program with a port of so many MiB in a process that is limited to so many more."""
    command = [sys.executable, "-c", LIMITED, limit, str(mebibytes), str(block)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("limit", "mebibytes"), [("RLIMIT_AS", 2000), ("RLIMIT_FSIZE", 64)])
def test_where_a_process_is_limited_a_program_reserves_less(limit: str, mebibytes: int) -> None:
    done = limited(limit, mebibytes, 1)
    assert done.stderr == ""
    assert done.stdout == f"{1 << 20}\n"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("RLIMIT_AS", r"of shared memory, but .* of address space are left to process \d+; raise .* \(ulimit -v\)"),
        ("RLIMIT_FSIZE", r"of shared memory, but no file may have more than 64\.0 MiB here; raise .* \(ulimit -f\)"),
    ],
)
def test_a_limit_that_is_too_low_is_named_and_not_the_shapes_of_ports(limit: str, words: str) -> None:
    done = limited(limit, 64, 100)
    assert re.search(rf"MemoryTooSmall: main: the program needs .* {words}$", done.stderr.strip())


def test_no_worker_is_started_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.close_server()
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(rx.WorkerStartError, match=r'need Linux .*backend="thread"'):
        run(Pair(Actor.request_stop))
