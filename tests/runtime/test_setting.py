"""Workers find things as they are in the caller when the run starts."""

import contextlib
import io
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import reactors as rx
from reactors_runtime.processes import servers, workers
from reactors_runtime.settings import numeric_threads
from tests.faults.programs import Actor, Pair, run, stop


def seen(look: Any) -> Any:
    """What `look()` returns in a worker."""

    def deed(actor: Any) -> None:
        actor.seen = look()
        actor.request_stop()

    main: Any = Pair(deed)
    run(main)
    return main.actor.seen


def test_the_environment_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACTORS_TEST", "first")
    assert seen(lambda: os.environ.get("REACTORS_TEST")) == "first"
    monkeypatch.setenv("REACTORS_TEST", "second")
    assert seen(lambda: os.environ.get("REACTORS_TEST")) == "second"
    monkeypatch.delenv("REACTORS_TEST")
    assert seen(lambda: os.environ.get("REACTORS_TEST")) is None
    monkeypatch.setenv("COLUMNS", "77")  # for which no new server is started
    assert seen(lambda: os.environ["COLUMNS"]) == "77"


def test_the_working_directory_applies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert seen(os.getcwd) == str(tmp_path)


def test_the_search_path_applies_also_to_what_reactions_import(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def number() -> int:
        import a_module_of_this_test  # type: ignore[import-not-found]

        return a_module_of_this_test.NUMBER  # type: ignore[no-any-return]

    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "a_module_of_this_test.py").write_text("NUMBER = 1")
    assert seen(number) == 1
    (tmp_path / "a_module_of_this_test.py").write_text("NUMBER = 1234")  # a user's own file is read again
    assert seen(number) == 1234


def test_arguments_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["program", "--option"])
    assert seen(lambda: sys.argv) == ["program", "--option"]


def test_a_mask_of_permissions_applies() -> None:
    def mask() -> int:
        now = os.umask(0)
        os.umask(now)
        return now

    before = mask()
    try:
        for wanted in (0o22, 0o2, 0o77, 0):
            os.umask(wanted)
            assert seen(mask) == wanted
            assert mask() == wanted
    finally:
        os.umask(before)


def test_limits_of_resources_apply() -> None:
    def limit() -> tuple[int, int]:
        return resource.getrlimit(resource.RLIMIT_NOFILE)

    soft, hard = limit()
    try:
        for less in (1, 2, 0):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft - less, hard))
            assert seen(limit) == (soft - less, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def of_the_thread() -> tuple[int, set[int], set[signal.Signals | int]]:
    return os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_what_is_the_own_of_the_thread_that_runs_the_program_applies() -> None:
    """Its niceness, its processors, and the signals that it blocks."""
    found: list[Any] = []

    def work() -> None:
        os.setpriority(os.PRIO_PROCESS, 0, 3)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        found.extend((of_the_thread(), seen(of_the_thread)))

    here = seen(of_the_thread)
    assert here == of_the_thread()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0] == found[1] != here
    assert seen(of_the_thread) == here


class Counting(rx.Reactor):
    """Counts the threads of NumPy's BLAS and of torch."""

    @rx.reaction(rx.startup)
    def count(self) -> None:
        self.threads = threads()


class Counters(rx.Reactor):
    def __init__(self) -> None:
        self.counters = rx.bank(2, Counting)


def threads() -> dict[str, int]:
    """By library."""
    import torch
    from threadpoolctl import threadpool_info

    loaded = {library["filepath"]: library["num_threads"] for library in threadpool_info()}
    return {"torch": torch.get_num_threads(), **loaded}


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
@pytest.mark.parametrize("number", [None, 2])
def test_numeric_libraries_use_one_thread_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, backend: Literal["inline", "thread", "process"], number: int | None
) -> None:
    pytest.importorskip("torch")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if number:
        monkeypatch.setenv("OMP_NUM_THREADS", str(number))
    before = threads()
    main = Counters()
    rx.run(main, workers=1 if backend == "inline" else 2, backend=backend)
    for member in main.counters:
        assert set(member.threads.values()) == {number or 1}, member.threads
    assert threads() == before


class Waiting(rx.Reactor):
    """Says that it is there, waits until it may go on, and counts then."""

    def __init__(self, there: threading.Event, may: threading.Event) -> None:
        self.there, self.may, self.threads = there, may, dict[str, int]()

    @rx.reaction(rx.startup)
    def count(self) -> None:
        self.there.set()
        assert self.may.wait(60)
        self.threads = threads()


@pytest.mark.parametrize("first", [0, 1])
def test_runs_at_once_are_limited_until_each_ends_and_the_last_puts_back_what_was_there(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """Whichever of them ends first."""
    torch = pytest.importorskip("torch")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    number = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        before = threads()
        runs = [Waiting(threading.Event(), threading.Event()) for _ in range(2)]
        callers = [threading.Thread(target=rx.run, args=(each,), kwargs={"backend": "inline"}) for each in runs]
        for each, caller in zip(runs, callers, strict=True):
            caller.start()
            assert each.there.wait(60)
        for i in (first, 1 - first):
            runs[i].may.set()
            callers[i].join()
            assert set(runs[i].threads.values()) == {1}
        assert threads() == before
    finally:
        torch.set_num_threads(number)


def test_a_workers_thread_that_is_stuck_holds_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before, limited, over = threads(), threading.Event(), threading.Event()

    def worker() -> None:
        numeric_threads.limit()
        limited.set()
        over.wait(60)

    stuck = threading.Thread(target=worker)
    try:
        with numeric_threads.limited():
            stuck.start()
            assert limited.wait(60)
        assert threads() == before
        with numeric_threads.limited():
            assert set(threads().values()) == {1}
        assert threads() == before
    finally:
        over.set()
        stuck.join()


class Factor(rx.Reactor):
    """Factors a matrix by torch's own LAPACK, and adds up by OpenMP: last bits depend on the number of threads."""

    @rx.reaction(rx.startup)
    def compute(self) -> None:
        import torch

        numbers = torch.randn(90_000, generator=torch.Generator().manual_seed(0))
        self.found = torch.linalg.qr(numbers.view(300, 300))[0].numpy().tobytes() + numbers.mean().numpy().tobytes()


RUNS = """
{first}
import reactors as rx
from tests.runtime.test_setting import Factor

if __name__ == "__main__":
    for how in ({{"backend": "{backend}"}}, {{"backend": "inline"}}, {{"workers": 2}}, {{"workers": 2}}):
        main = Factor()
        rx.run(main, **how)
        print(hash(main.found))
"""


@pytest.mark.parametrize(
    "first",
    ["import torch", "", "import torch; torch.set_num_threads(2)"],
    ids=["loaded before", "loaded by a reaction", "with a number of its own"],
)
@pytest.mark.parametrize(
    ("backend", "environment"),
    [("thread", {}), ("inline", {}), ("thread", {"OMP": "2"}), ("inline", {"OMP": "2", "MKL": "1"})],
)
def test_however_many_threads_compute_all_backends_find_the_same_bits(
    tmp_path: Path, first: str, backend: str, environment: dict[str, str]
) -> None:
    """In a process of its own, for a library reads the environment when it is loaded."""
    pytest.importorskip("torch")
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    said = {f"{name}_NUM_THREADS": number for name, number in environment.items()}
    program = tmp_path / "program.py"
    program.write_text(RUNS.format(first=first, backend=backend))
    where = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, program], env=kept | said | where, capture_output=True, text=True, check=True
    )
    assert len(set(done.stdout.split())) == 1, done.stdout


def numbers_said() -> dict[str, str | None]:
    return {name: os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}


class Waits(rx.Reactor):
    """Says what the environment has once `go` is set."""

    def __init__(self, there: threading.Event, go: threading.Event) -> None:
        self.there, self.go = there, go

    @rx.reaction(rx.startup)
    def look(self) -> None:
        self.there.set()
        assert self.go.wait(20)
        self.said = numbers_said()


def test_runs_that_overlap_say_how_many_threads_until_the_last_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in numbers_said():
        monkeypatch.delenv(f"{name}_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "many")  # what is no number is as if it were not there
    before = numbers_said()
    waiting = [Waits(threading.Event(), threading.Event()) for _ in range(2)]
    threads = [threading.Thread(target=rx.run, args=(each,), kwargs={"backend": "inline"}) for each in waiting]
    for thread, each in zip(threads, waiting, strict=True):
        thread.start()
        assert each.there.wait(20)
    filled = dict.fromkeys(before, "1")
    for thread, each in zip(threads, waiting, strict=True):
        assert numbers_said() == filled
        assert {name: servers.environment().get(f"{name}_NUM_THREADS") for name in before} == before
        each.go.set()
        thread.join()
        assert each.said == filled
    assert numbers_said() == before


def test_what_a_program_says_itself_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    class Says(rx.Reactor):
        @rx.reaction(rx.startup)
        def say(self) -> None:
            os.environ["OMP_NUM_THREADS"] = "5"

    for name in numbers_said():
        monkeypatch.setenv(f"{name}_NUM_THREADS", "1")  # so that what is said now is taken back, too
        monkeypatch.delenv(f"{name}_NUM_THREADS")
    rx.run(Says(), backend="inline")
    assert numbers_said() == {"OMP": "5", "MKL": None, "OPENBLAS": None, "NUMEXPR": None}


def test_that_holds_where_torch_was_given_a_number_of_threads_before(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        main = Counters()
        rx.run(main, workers=2, backend="thread")
        for member in main.counters:
            assert set(member.threads.values()) == {1}, member.threads
    finally:
        torch.set_num_threads(before)


def test_a_worker_has_one_thread_and_few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    tasks, files = seen(lambda: (os.listdir("/proc/self/task"), os.listdir("/proc/self/fd")))  # noqa: PTH208
    assert len(tasks) == 1
    assert len(files) < 12


def test_a_server_that_is_warmed_up_twice_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACTORS_TEST", "a server of its own")
    servers.close_server()
    servers.warm_up()
    servers.warm_up()
    assert seen(lambda: 1) == 1


def test_two_workers_draw_different_numbers_from_numpys_global_generator() -> None:
    def draw() -> float:
        return np.random.rand()  # noqa: NPY002

    assert len({seen(draw) for _ in range(3)}) == 3  # from the second run on, NumPy was there before the worker


# What workers print.


def say(actor: Actor) -> None:
    print("out, from the worker: \u2713")
    print("err, from the worker", file=sys.stderr)
    actor.request_stop()


def test_prints_come_out_after_what_the_caller_printed_before(capfd: pytest.CaptureFixture[str]) -> None:
    print("before", end=" ")
    run(Pair(say))
    print("after")
    out, err = capfd.readouterr()
    assert out == "before out, from the worker: \u2713\nafter\n"
    assert err == "err, from the worker\n"


def test_prints_reach_a_stream_that_is_no_file_as_in_a_notebook() -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        run(Pair(say))
    assert out.getvalue() == "out, from the worker: \u2713\n"
    assert err.getvalue() == "err, from the worker\n"


def test_much_output_does_not_block() -> None:
    def shout(actor: Actor) -> None:
        print("x" * 1_000_000)
        actor.request_stop()

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run(Pair(shout))
    assert len(out.getvalue()) == 1_000_001


def test_prints_reach_a_file(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w", encoding="utf-8") as log, contextlib.redirect_stdout(log):
        print("before")
        run(Pair(say))
    assert (tmp_path / "log").read_text(encoding="utf-8") == "before\nout, from the worker: \u2713\n"


def test_a_caller_without_standard_output_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    main = Pair(say)
    run(main)
    assert main.actor.closed


# The server.


def test_one_server_serves_run_after_run() -> None:
    run(Pair(stop))
    server = workers.idle_server()
    assert server is not None
    run(Pair(stop))
    assert workers.idle_server() is server


def test_runs_in_several_threads_at_once_do_not_meet() -> None:
    programs = [Pair(stop) for _ in range(3)]
    threads = [threading.Thread(target=run, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(program.actor.closed and program.bystander.closed for program in programs)


def test_a_closed_server_is_started_again() -> None:
    workers.close_server()
    assert workers.idle_server() is None
    main = Pair(stop)
    run(main)
    assert main.actor.closed


def test_a_server_that_was_killed_is_replaced() -> None:
    run(Pair(stop))
    server = workers.idle_server()
    assert server is not None
    os.kill(server.pid, 9)
    main = Pair(stop)
    run(main)
    assert main.actor.closed


def test_a_server_that_has_ended_is_replaced_when_one_is_warmed_up() -> None:
    run(Pair(stop))
    server = workers.idle_server()
    assert server is not None
    os.kill(server.pid, signal.SIGKILL)
    select.select([server], [], [])  # until it has ended
    servers.warm_up()
    another = workers.idle_server()
    assert another is not None
    assert another.pid != server.pid


def test_a_module_that_starts_a_thread_when_imported_is_imported_by_the_workers_themselves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "busy_at_import.py").write_text(
        "import os, threading\nWHERE = os.getpid()\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    monkeypatch.syspath_prepend(str(package))

    def where() -> tuple[int, int]:
        import busy_at_import  # type: ignore[import-not-found]

        return busy_at_import.WHERE, os.getpid()

    for _ in range(3):
        imported, here = seen(where)
        assert imported == here


def test_an_installed_module_is_imported_by_the_server_from_the_second_run_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "quiet_at_import.py").write_text("import os\nWHERE = os.getpid()\n")
    monkeypatch.syspath_prepend(str(package))

    def where() -> tuple[int, int]:
        import quiet_at_import  # type: ignore[import-not-found]

        return quiet_at_import.WHERE, os.getppid()

    imported, server = seen(where)
    assert imported != server
    imported, server = seen(where)
    assert imported == server


def test_a_fork_of_the_caller_has_a_server_of_its_own() -> None:
    run(Pair(stop))
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            assert workers.idle_server() is None
            main = Pair(stop)
            run(main)
            status = 0 if main.actor.closed else 2
            workers.close_server()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    run(Pair(stop))


class Endless(rx.Reactor):
    """Counts until it is stopped, which it notes; sends the caller a signal on the way, if it is given one."""

    tick = rx.Timer(period="1 ms")

    def __init__(self, sent: signal.Signals | None = None) -> None:
        self.other = rx.Reactor()  # on the first worker
        self.sent, self.caller, self.n, self.ended = sent, os.getpid(), 0, False

    @rx.reaction(tick)
    def count(self) -> None:
        self.n += 1
        if self.sent is not None and self.n == 10:
            os.kill(self.caller, self.sent)
        time.sleep(0.001)

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        self.ended = True


WAYS: list[dict[str, Any]] = [
    {"backend": "inline"},
    {"backend": "thread", "workers": 2, "placement": {"main.other": 0, "main": 1}},
    {"backend": "process", "workers": 2, "placement": {"main.other": 0, "main": 1}},
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way["backend"])
def test_what_a_run_calls_while_it_waits_may_fail(way: dict[str, Any]) -> None:
    def fail(tag: rx.Tag, *_: Any) -> None:
        if tag.time > 5_000_000:
            raise LookupError("from progress")

    main = Endless()
    with pytest.raises(LookupError, match="from progress"):
        rx.run(main, fast=True, progress=fail, **way)
    assert main.n >= 5
    assert main.ended


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way["backend"])
def test_what_a_signal_handler_raises_comes_out_of_the_run(way: dict[str, Any]) -> None:
    def fail(*_: Any) -> None:
        raise LookupError("from the handler")

    main, before = Endless(signal.SIGUSR1), signal.signal(signal.SIGUSR1, fail)
    try:
        with pytest.raises(LookupError, match="from the handler"):
            rx.run(main, fast=True, **way)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert main.n >= 10
    assert main.ended


def test_a_worker_is_waited_for_whatever_a_signal_handler_interrupts() -> None:
    """In one run of ten, Python's own `Thread.join` would take it for one that has ended."""
    for _ in range(30):
        test_what_a_signal_handler_raises_comes_out_of_the_run(WAYS[1])


def test_a_program_can_be_run_from_a_string_without_a_main_guard() -> None:
    assert rx.Reactor.__module__ == "reactors.model.reactor"
