"""What reactions log is handled by the caller's loggers, wherever they run."""

from __future__ import annotations

import logging
import logging.handlers
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.stepwise import Stepwise
from reactors_runtime.processes.remote_logging import Records, Sender
from tests.faults.programs import Actor, Pair, run, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Backend = Literal["inline", "thread", "process"]
log = logging.getLogger("tested")


class Lines(logging.Handler):
    """Keeps records, and the lines that they make."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.lines.append(self.format(record))


@contextmanager
def handled(form: str = "%(message)s", level: int = logging.INFO) -> Iterator[Lines]:
    """What reaches a handler of the logger `tested` meanwhile, with the attributes of LogContext."""
    lines = Lines()
    lines.addFilter(rx.LogContext())
    lines.setFormatter(logging.Formatter(form))
    log.addHandler(lines)
    log.setLevel(level)
    log.propagate = False
    try:
        yield lines
    finally:
        log.removeHandler(lines)
        log.setLevel(logging.NOTSET)
        log.propagate = True


def logged(deed: Callable[[Actor], object], **options: Any) -> list[str]:
    """The lines that `deed` causes on a worker process."""

    def deed_and_stop(actor: Actor) -> None:
        deed(actor)
        actor.request_stop()

    with handled(**options) as found:
        run(Pair(deed_and_stop))
    return found.lines


def test_what_is_left_of_the_workers_records_when_a_run_ends_is_handled() -> None:
    """More than are forwarded at a time."""
    with handled() as found:
        with Records() as records:
            sender = Sender(1, os.dup(records.descriptor))
            for k in range(100):
                sender.emit(log.makeRecord("tested", logging.INFO, __file__, 1, "%d", (k,), None))
            records.forward()
            assert 0 < len(found.lines) < 100
            sender._home.close()
        assert found.lines == [str(k) for k in range(100)]


# ---- what lines say ----


class Teller(rx.Reactor):
    tick = rx.Timer("1 ms", "2 ms")

    @rx.reaction(tick)
    def tell(self) -> None:
        log.info("%d and %s", 1, "two")


class Tellers(rx.Reactor):
    def __init__(self) -> None:
        self.tellers = rx.bank(2, Teller)


@pytest.mark.parametrize("backend", ["inline", "thread", "process"])
def test_lines_are_the_same_everywhere_and_name_worker_reactor_and_tag(backend: Backend) -> None:
    form = "%(levelname)s %(name)s [%(worker)s %(reactor)s at %(tag)s] %(message)s (%(filename)s, %(funcName)s)"
    with handled(form) as found:
        log.info("before")
        workers = 1 if backend == "inline" else 2
        rx.run(Tellers(), workers=workers, backend=backend, fast=True, timeout="3 ms")
        log.info("after")
    before, *between, after = found.lines
    here = "(test_logging.py, test_lines_are_the_same_everywhere_and_name_worker_reactor_and_tag)"
    assert (before, after) == (f"INFO tested [- - at -] before {here}", f"INFO tested [- - at -] after {here}")
    assert sorted(between) == sorted(
        f"INFO tested [{i if workers == 2 else 0} main.tellers[{i}] at {tag} ms] 1 and two (test_logging.py, tell)"
        for i in range(2)
        for tag in (1, 3)
    )


def test_a_record_says_which_process_it_is_from() -> None:
    with handled() as found:
        rx.run(Tellers(), workers=2, backend="process", fast=True, timeout="1 ms")
    names = {record.processName: record.process for record in found.records}
    assert sorted(names, key=str) == ["reactors worker 0", "reactors worker 1"]
    assert len({*names.values(), os.getpid()}) == 3
    assert all(record.relativeCreated > 0 for record in found.records)


def test_what_a_record_has_already_is_not_replaced() -> None:
    def deed(actor: Actor) -> None:
        log.info("as given", extra={"worker": "mine", "tag": 7})

    assert logged(deed, form="%(worker)s %(reactor)s %(tag)s") == ["mine main.actor 7"]


def test_a_thread_of_the_users_in_a_worker_has_its_worker_and_no_reactor() -> None:
    def deed(actor: Actor) -> None:
        thread = threading.Thread(target=log.info, args=("from a thread",), name="mine")
        thread.start()
        thread.join()

    assert logged(deed, form="%(worker)s %(reactor)s %(threadName)s %(message)s") == ["1 - mine from a thread"]


def test_an_exception_keeps_its_traceback() -> None:
    def deed(actor: Actor) -> None:
        try:
            _ = {}["missing"]
        except KeyError:
            log.exception("it is %s", "gone")

    (text,) = logged(deed, form="%(message)s!")
    first, second, *_, last = text.splitlines()
    assert (first, second, last) == ("it is gone!", "Traceback (most recent call last):", "KeyError: 'missing'")
    assert "in deed" in text


def test_arguments_that_cannot_be_sent_are_formatted_on_the_worker() -> None:
    def deed(actor: Actor) -> None:
        class Local:
            def __str__(self) -> str:
                return "a local one"

        lock = threading.Lock()
        log.info("%s, and %s", Local(), len("four"))
        log.info(Local())
        log.info("%(a)s", {"a": (1, Local().__str__())})
        log.info("extra", extra={"lock": lock, "sizes": [1, 2]})
        log.info("array %s", np.arange(3))

    with handled() as found:
        run(Pair(lambda actor: (deed(actor), stop(actor))))
    assert found.lines == ["a local one, and 4", "a local one", "(1, 'a local one')", "extra", "array [0 1 2]"]
    extra: Any = found.records[3]
    assert extra.lock.startswith("<unlocked _thread.lock object")
    assert extra.sizes == [1, 2]


def test_plain_arguments_stay_apart_from_the_message() -> None:
    with handled() as found:
        run(Pair(lambda actor: (log.info("%d of %s", 3, "ten"), stop(actor))))
    assert [(record.msg, record.args) for record in found.records] == [("%d of %s", (3, "ten"))]


def test_a_message_that_cannot_be_formatted_is_reported_as_in_one_process(capfd: pytest.CaptureFixture[str]) -> None:
    assert logged(lambda actor: (log.info("%d", "three"), log.info("and on"))) == ["and on"]
    err = capfd.readouterr().err
    assert err.startswith("--- Logging error ---\n")
    assert "Message: '%d'\nArguments: ('three',)\n" in err


# ---- which records ----


def test_levels_are_the_callers() -> None:
    def deed(actor: Actor) -> None:
        for name in ("tested", "tested.fine", "tested.coarse", "tested.off", "tested.new"):
            for level in (logging.DEBUG, logging.INFO, 25, logging.ERROR):
                logging.getLogger(name).log(level, "%s", name)

    fine, coarse, off = (logging.getLogger(f"tested.{name}") for name in ("fine", "coarse", "off"))
    logging.addLevelName(25, "NOTICE")
    fine.setLevel(logging.DEBUG)
    coarse.setLevel(logging.ERROR)
    off.disabled = True
    try:
        assert logged(deed, form="%(levelname)s %(message)s") == [
            *("INFO tested", "NOTICE tested", "ERROR tested"),
            *("DEBUG tested.fine", "INFO tested.fine", "NOTICE tested.fine", "ERROR tested.fine"),
            "ERROR tested.coarse",
            *("INFO tested.new", "NOTICE tested.new", "ERROR tested.new"),
        ]
        fine.setLevel(logging.NOTSET)  # the next run has the levels of then
        logging.disable(logging.INFO)
        assert logged(deed, form="%(levelname)s %(message)s") == [
            *("NOTICE tested", "ERROR tested", "NOTICE tested.fine", "ERROR tested.fine", "ERROR tested.coarse"),
            *("NOTICE tested.new", "ERROR tested.new"),
        ]
    finally:
        logging.disable(logging.NOTSET)
        coarse.setLevel(logging.NOTSET)
        off.disabled = False


def test_filters_of_loggers_and_handlers_are_the_callers() -> None:
    refused: list[str] = []

    def refuse(record: logging.LogRecord) -> bool:
        if record.getMessage() == "no":
            refused.append(f"{record.name} {os.getpid()}")
        return record.getMessage() != "no"

    log.addFilter(refuse)
    try:
        assert logged(lambda actor: (log.info("yes"), log.info("no"))) == ["yes"]
    finally:
        log.removeFilter(refuse)
    assert refused == [f"tested {os.getpid()}"]


def test_handlers_of_modules_that_the_caller_has_imported_do_not_write_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "module_with_a_handler.py").write_text(
        "import logging, sys\n"
        "log = logging.getLogger('tested.module')\n"
        "log.addHandler(logging.StreamHandler(sys.stdout))\n"
        "def deed(actor):\n"
        "    log.info('from the module')\n"
        "    actor.request_stop()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import module_with_a_handler  # type: ignore[import-not-found]

    try:
        with handled() as found:
            run(Pair(module_with_a_handler.deed))
    finally:
        logging.getLogger("tested.module").handlers.clear()
    assert found.lines == ["from the module"]
    assert capfd.readouterr().out == "from the module\n"


def test_a_handler_that_a_reaction_adds_works_on_its_worker(tmp_path: Path) -> None:
    def deed(actor: Actor) -> None:
        handler = logging.FileHandler(tmp_path / "worker.log")
        log.addHandler(handler)
        log.info("both")

    assert logged(deed) == ["both"]
    assert (tmp_path / "worker.log").read_text() == "both\n"


def test_a_reaction_may_change_levels_of_its_worker() -> None:
    def deed(actor: Actor) -> None:
        log.setLevel(logging.DEBUG)
        log.debug("detail")

    assert logged(deed) == ["detail"]
    assert log.level == logging.NOTSET


def test_warnings_are_logged_if_the_caller_has_that() -> None:
    py_warnings, lines = logging.getLogger("py.warnings"), Lines()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        py_warnings.addHandler(lines)
        py_warnings.propagate = False
        try:
            run(Pair(lambda actor: (warnings.warn("careful", stacklevel=1), stop(actor))))
        finally:
            py_warnings.removeHandler(lines)
            py_warnings.propagate = True
            logging.captureWarnings(False)
    (line,) = lines.lines
    assert "UserWarning: careful" in line


# ---- nothing is lost ----


def test_much_is_logged_in_order_up_to_the_end() -> None:
    class Much(Teller):
        @rx.reaction(rx.shutdown)
        def close(self) -> None:
            for n in range(2000):
                log.info("%d", n)
            log.info("x" * 100_000)

    class All(rx.Reactor):
        def __init__(self) -> None:
            self.all = rx.bank(2, Much)

    with handled("%(worker)s %(message)s") as found:
        rx.run(All(), workers=2, backend="process", fast=True, timeout=0)
    for worker in range(2):
        mine = [line for line in found.lines if line.startswith(f"{worker} ")]
        assert mine == [*(f"{worker} {n}" for n in range(2000)), f"{worker} {'x' * 100_000}"]


def fail(actor: Actor) -> None:
    log.info("it fails now")
    raise LookupError("as it said")


def kill(actor: Actor) -> None:
    log.info("it dies now")
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_logged_before_a_failure_is_there_when_it_comes_out() -> None:
    with handled() as found:
        with pytest.raises(rx.ReactionError, match="as it said"):
            run(Pair(fail))
        assert found.lines == ["it fails now"]
        with pytest.raises(rx.WorkerDied, match="SIGKILL"):
            run(Pair(kill))
        assert found.lines == ["it fails now", "it dies now"]


def test_what_is_logged_while_a_worker_loads_its_part_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_that_logs.py").write_text(
        "import logging\nlogging.getLogger('tested').info('imported')\n"
        "logging.getLogger('tested').setLevel('ERROR')\ndef deed(actor):\n"
        "    logging.getLogger('tested').info('runs')\n    actor.request_stop()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with handled("%(worker)s %(reactor)s %(message)s") as found:
        import module_that_logs  # type: ignore[import-not-found]

        log.setLevel(logging.INFO)
        run(Pair(module_that_logs.deed))
    assert found.lines == ["- - imported", "1 - imported", "1 main.actor runs"]


def test_a_process_that_a_reaction_starts_logs_as_well() -> None:
    def deed(actor: Actor) -> None:
        child = multiprocessing.get_context("fork").Process(target=log.info, args=("from a child",), name="child")
        child.start()
        child.join()

    assert logged(deed, form="%(worker)s %(processName)s %(message)s") == ["1 child from a child"]


def test_a_process_that_outlives_the_run_does_not_hold_it_up() -> None:
    def deed(actor: Actor) -> None:
        if os.fork() == 0:
            try:
                for _ in range(60):
                    log.info("still here")
                    time.sleep(0.01)
            finally:
                os._exit(0)

    lines = logged(deed)
    assert set(lines) <= {"still here"}
    assert logged(stop) == []


def test_a_handler_that_fails_ends_the_run() -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("no room for this line")

    broken = Broken()
    log.addHandler(broken)
    try:
        with handled(), pytest.raises(OSError, match="no room for this line"):
            run(Pair(lambda actor: log.info("one line")))
    finally:
        log.removeHandler(broken)


PROGRAM = """
import logging, sys
import reactors as rx

{before}

class Busy(rx.Reactor):
    tick = rx.Timer(0, "10 ms")
    @rx.reaction(tick)
    def work(self):
        {work}
    @rx.reaction(rx.shutdown)
    def close(self):
        logging.getLogger("busy").warning("closed")

try:
    rx.run(Busy(), backend=sys.argv[1], timeout={timeout})
except KeyboardInterrupt:
    logging.getLogger("busy").warning("interrupted")
"""


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_without_configuration_warnings_go_to_standard_error(backend: str) -> None:
    work = 'logging.getLogger("busy").info("hidden"); logging.getLogger("busy").warning("seen")'
    program = PROGRAM.format(before="", work=work, timeout=0)
    done = subprocess.run([sys.executable, "-c", program, backend], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "seen\nclosed\n")


@pytest.mark.parametrize("backend", ["inline", "process"])
def test_nothing_is_lost_on_ctrl_c(backend: str) -> None:
    before = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "logging.basicConfig(stream=sys.stdout, format='%(levelname)s %(message)s')"
    )
    program = PROGRAM.format(before=before, work='logging.warning("at work")', timeout=None)
    with subprocess.Popen([sys.executable, "-c", program, backend], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "WARNING at work\n"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert rest.removeprefix("WARNING at work\n" * rest.count("at work")) == "WARNING closed\nWARNING interrupted\n"


# ---- what is built on it ----


def test_steps_from_outside_log_on_both_sides() -> None:
    class Steps(rx.Reactor):
        tick = rx.Timer(0, 1)

        def __init__(self) -> None:
            self.teller = Teller()

        @rx.reaction(tick, effects=rx.stop)
        def step(self) -> None:
            log.info("a step")
            self.pause() if self.tag.time < 1 else self.request_stop()

        def pause(self) -> None: ...

    main = Steps()
    with handled("%(worker)s %(reactor)s %(tag)s %(message)s") as found:
        steps = Stepwise(main, workers=2, placement={"main.teller": 1})
        main.pause = steps.pause  # type: ignore[method-assign]
        assert steps.advance()
        log.info("between")
        assert not steps.advance()
    assert found.lines == ["0 main 0 s a step", "- - - between", "0 main 1 ns a step"]


class Talkative(gym.Env[Any, Any]):
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        log.info("reset")
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(2, np.float32), 1.0, False, False, {}


def test_environments_of_a_vector_environment_and_of_training_log() -> None:
    with handled("%(worker)s %(message)s") as found:
        envs = rl.VectorEnv([Talkative] * 2, workers=3)
        envs.reset()
        envs.close()
        assert {*found.lines} == {"0 reset", "1 reset"}  # one of the two is with the caller
        found.lines.clear()
        rl.train(rl.A2C(num_envs=2, hidden=(4,)), Talkative, total_steps=40, workers=2, backend="process")
    assert {line.split()[1] for line in found.lines} == {"reset"}
