"""Programs on several machines, which are processes here: what comes of them, what is said when one is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import reactors as rx
from reactors_runtime.settings import cores
from tests.machines.lost import machine


class Source(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def go(self) -> None:
        self.out.set(self.tag.time)


class Adds(rx.Reactor):
    """Objects of all sizes: a slot has room for the small ones alone."""

    given = rx.Input(int)
    out = rx.Output(list)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(given, effects=out)
    def take(self) -> None:
        self.n += self.given.value
        self.out.set([self.n, "x" * (self.n // 1_000_000 % 100_000)])


class Sink(rx.Reactor):
    given = rx.Input(list)

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @rx.reaction(given)
    def take(self) -> None:
        self.seen.append((self.given.value[0], len(self.given.value[1])))


class Line(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.adds, self.sink = Source(), Adds(), Sink()
        self.source.out >> self.adds.given
        self.adds.out >> self.sink.given


def run(main: rx.Reactor, count: int = 2, workers: int = 2, **options: Any) -> rx.Result:
    given: dict[str, Any] = {"fast": True, "timeout": "200 ms", "machines": rx.Machines(count=count)} | options
    return rx.run(main, workers=workers, **given)


@pytest.mark.parametrize(("count", "workers"), [(2, 2), (2, 4), (3, 3)])
def test_a_program_does_the_same_on_several_machines(count: int, workers: int) -> None:
    alone, together = Line(), Line()
    expected = rx.run(alone, fast=True, timeout="200 ms")
    placement = {"main.adds": workers // 2, "main.sink": workers - 1}
    found = run(together, count, workers, placement=placement)
    assert (found.digest, found.reactions) == (expected.digest, expected.reactions)
    assert together.sink.seen == alone.sink.seen
    assert [each.worker for each in found.statistics if each.count] == [0, workers // 2, workers - 1]


def test_in_physical_time_machines_go_on_together() -> None:
    alone, together = Line(), Line()
    rx.run(alone, fast=True, timeout="20 ms")
    run(together, fast=False, timeout="20 ms", placement={"main.adds": 1, "main.sink": 1})
    assert together.sink.seen == alone.sink.seen


class Presses(rx.Reactor):
    """Something comes from outside, on the machine where it runs."""

    press = rx.PhysicalAction(int)
    out = rx.Output(int)

    def __init__(self) -> None:
        self.given: list[int] = []

    @rx.reaction(rx.startup, effects=press)
    def begin(self) -> None:
        for n in range(5):
            self.press.schedule(n)

    @rx.reaction(press, effects=out)
    def pressed(self) -> None:
        self.given.append(self.tag.time)
        self.out.set(self.press.value)


class Hears(rx.Reactor):
    given = rx.Input(int)

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    @rx.reaction(given)
    def hear(self) -> None:
        self.seen.append((self.tag.time, self.given.value))


class Outside(rx.Reactor):
    def __init__(self) -> None:
        self.presses, self.hears = Presses(), Hears()
        self.presses.out >> self.hears.given


@pytest.mark.parametrize("at", [0, 1])
def test_what_comes_from_outside_has_the_tags_of_the_machine_where_it_comes(at: int) -> None:
    main = Outside()
    run(main, fast=False, timeout="100 ms", placement={"main.presses": at, "main.hears": 1 - at})
    assert main.hears.seen == list(zip(main.presses.given, range(5), strict=True))


class Echoes(rx.Reactor):
    given, out = rx.Input(int), rx.Output(int)

    @rx.reaction(given, effects=out)
    def reply(self) -> None:
        self.out.set(self.given.value)


class LockStep(rx.Reactor):
    """Asks and hears at one tag."""

    def __init__(self) -> None:
        self.source, self.echoes, self.hears = Source(), Echoes(), Hears()
        self.source.out >> self.echoes.given
        self.echoes.out >> self.hears.given


def test_who_waits_for_another_machine_at_each_tag_is_told_what_that_costs() -> None:
    main = LockStep()
    placement = {"main.source": (0, 0), "main.echoes": (1, 0), "main.hears": (0, 0)}
    said = (
        r"main: at each tag, main, main\.source, main\.hears on machine 0 and main\.echoes on machine 1 wait for each "
        r"other, and a round trip takes [\d.]+ [mu]s; put them on one machine by placement=, or give"
    )
    with pytest.warns(rx.ReactorWarning, match=said):
        run(main, timeout="5 ms", placement=placement)
    assert main.hears.seen == [(n * 1_000_000, n * 1_000_000) for n in range(6)]


@pytest.mark.parametrize("place", [(2, 0), (1,), (1, 0, 0), ("a", 0), (True, 0)])
def test_a_place_that_there_is_not_is_refused(place: Any) -> None:
    said = f"placement of main.adds is {place}; write (machine, worker): there are machines 0 to 1"
    with pytest.raises(rx.PlacementError, match=re.escape(said)):
        run(Line(), placement={"main.adds": place})


# ---- what goes wrong -------------------------------------------------------------------------------------------


class Fails(rx.Reactor):
    given = rx.Input(int)

    def __init__(self, how: str, folder: str) -> None:
        self.how, self.folder = how, folder

    @rx.reaction(given)
    def take(self) -> None:
        if self.given.value != 50_000_000:
            return
        if self.how == "raises":
            raise KeyError("lost")
        if self.how == "exits":
            os._exit(3)
        Path(self.folder, "worker").write_text(f"{os.getpid()}\n")
        os.kill(machine(), signal.SIGKILL if self.how == "killed" else signal.SIGSTOP)
        time.sleep(60)

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        Path(self.folder, "end").touch()


class Failing(rx.Reactor):
    def __init__(self, how: str, folder: Path) -> None:
        self.source, self.fails, self.stays = Source(), Fails(how, str(folder)), Stays(str(folder))
        self.source.out >> self.fails.given


class Stays(rx.Reactor):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    @rx.reaction(rx.shutdown)
    def end(self) -> None:
        Path(self.folder, "stayed").touch()


def test_an_exception_comes_home_with_its_reaction(tmp_path: Path) -> None:
    with pytest.raises(rx.ReactionError, match=r"main\.fails\.take at 50 ms raised KeyError: 'lost'") as caught:
        run(Failing("raises", tmp_path), placement={"main.fails": 1})
    assert isinstance(caught.value.__cause__, KeyError)
    assert "in take" in "".join(caught.value.__cause__.__notes__)
    assert (tmp_path / "end").exists()
    assert (tmp_path / "stayed").exists()


def test_a_worker_that_dies_is_named(tmp_path: Path) -> None:
    with pytest.raises(rx.WorkerDied, match=r"worker 1 \(pid \d+; runs main\.fails\) ended with exit status 3"):
        run(Failing("exits", tmp_path), placement={"main.fails": 1})
    assert (tmp_path / "stayed").exists()


class Waits(rx.Reactor):
    pid, given = rx.Output(int), rx.Input(int)

    @rx.reaction(rx.startup, effects=pid)
    def begin(self) -> None:
        self.pid.set(os.getpid())

    @rx.reaction(given)
    def take(self) -> None:
        pass


class Kills(rx.Reactor):
    pid, out = rx.Input(int), rx.Output(int)

    @rx.reaction(pid, effects=out)
    def kill(self) -> None:
        os.kill(self.pid.value, signal.SIGKILL)
        self.out.set(1)


class Killing(rx.Reactor):
    def __init__(self) -> None:
        self.kills, self.waits = Kills(), Waits()
        self.waits.pid >> self.kills.pid
        rx.connect(self.kills.out, self.waits.given, after="1 ms")


def test_a_worker_that_is_killed_while_it_looks_on_is_named() -> None:
    with pytest.raises(rx.WorkerDied, match=r"worker 1 \(pid \d+; runs main\.waits\) was killed by SIGKILL"):
        run(Killing(), placement={"main.waits": 1})


@pytest.mark.parametrize(("how", "why"), [("killed", "it was cut"), ("frozen", "nothing was heard for too long")])
def test_a_machine_that_is_lost_is_named_with_its_reactors(how: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(rx.MachineLost, match=rf"machine 1 \(.*\), which runs main\.fails, is lost: {why}"):
        run(Failing(how, tmp_path), placement={"main.fails": 1})
    assert (tmp_path / "stayed").exists()


class Unsendable(rx.Reactor):
    def __init__(self) -> None:
        self.thing = sys.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": 3}, "workers of rx.run is 3, on 2 machines; it is how many there are on all of them"),
        ({"machines": 2}, "machines of rx.run is 2; write rx.Machines"),
        ({"backend": "thread"}, "backend of rx.run is 'thread' beside machines, on which each worker is a process"),
    ],
)
def test_what_machines_cannot_do_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(rx.ArgumentError, match=said):
        run(Line(), **({"fast": False} | options))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"count": 0}, "count of rx.Machines is 0"),
        ({"listen": "here"}, "listen of rx.Machines: 'here' is no address"),
        ({"listen": 7777}, "listen of rx.Machines is 7777; write an address"),
        ({"ray": True}, 'ray of rx.Machines is True; write "auto", or an address'),
        ({"listen": "127.0.0.1:0", "token_file": 3}, "token_file of rx.Machines is 3; write the name of a file"),
        ({"certificate": b"c"}, "certificate of rx.Machines is b'c'; write the name of a file"),
        ({"listen": "127.0.0.1:0"}, "listens without a token"),
        ({"listen": "127.0.0.1:0", "ray": "auto"}, "has listen and ray; leave one out"),
        ({"resources": {"GPU": 1}}, "resources of rx.Machines are for Ray"),
        ({"ray": "auto", "resources": {"GPU": -1}}, "resources of rx.Machines have -1 for 'GPU'; write how much"),
        ({"ray": "auto", "resources": ["GPU"]}, r"resources of rx.Machines are \['GPU'\]; write how much"),
        ({"ray": "auto", "resources": {"object_store_memory": 1e6}}, "which actors of Ray cannot ask for"),
        ({"ray": "auto", "resources": {"GPU": "a"}}, "resources of rx.Machines have 'a' for 'GPU'; write how much"),
        ({"ray": "auto", "resources": {3: 1}}, "resources of rx.Machines have 1 for 3; write how much"),
        ({"ray": "auto", "resources": {"GPU": 1e-5}}, "have 1e-05 for 'GPU'; Ray takes four decimals"),
        ({"ray": "auto", "resources": {"CPU": 0}}, "resources of rx.Machines are {'CPU': 0}, which is nothing; write"),
    ],
)
def test_machines_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(rx.ArgumentError, match=said):
        rx.Machines(**options)


# ---- joining ---------------------------------------------------------------------------------------------------

PROGRAM = """
import reactors as rx

class Says(rx.Reactor):
    given = rx.Input(int)

    @rx.reaction(given)
    def say(self):
        print("said", self.given.value, flush=True)

class Asks(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def ask(self):
        self.out.set(self.tag.time // 1_000_000)

class Main(rx.Reactor):
    def __init__(self):
        self.asks, self.says = Asks(), Says()
        self.asks.out >> self.says.given
"""


def command(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "reactors", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **options,
    )  # fmt: skip


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_machines_come_together_by_two_commands(tmp_path: Path) -> None:
    program, token = tmp_path / "program.py", tmp_path / "token"
    program.write_text(PROGRAM)
    token.write_text("a token of enough bytes\n")
    address = f"127.0.0.1:{free_port()}"
    joins = command("join", address, "--token-file", token, cwd=tmp_path)
    leads = command(
        "run", program, "--machines", "2", "--workers", "2", "--listen", address, "--token-file", token, "--fast",
        "--timeout", "2 ms", "--placement", "main.says=1", "--json", cwd=tmp_path,
    )  # fmt: skip
    out, errors = leads.communicate(timeout=60)
    there, complaints = joins.communicate(timeout=60)
    assert (leads.returncode, joins.returncode) == (0, 0), errors + complaints
    assert there.split("\n")[:3] == ["said 0", "said 1", "said 2"]
    assert '"digest"' in out


class Where(rx.Reactor):
    """Where its worker may run."""

    given = rx.Input(int)

    def __init__(self) -> None:
        self.cores: set[int] = set()

    @rx.reaction(given)
    def look(self) -> None:
        self.cores = os.sched_getaffinity(0)


class Apart(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.where = Source(), Where()
        self.source.out >> self.where.given


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_stay_on_cores_of_their_own_machine(workers: int, tmp_path: Path) -> None:
    """It has one, where this machine would have had another for that worker."""
    token, core = tmp_path / "token", cores.in_order()[0]
    token.write_text("a token of enough bytes\n")
    address = f"127.0.0.1:{free_port()}"
    joins = command("join", address, "--token-file", token, preexec_fn=partial(os.sched_setaffinity, 0, {core}))
    machines = rx.Machines(count=2, listen=address, token_file=token, patience="60 s")
    main = Apart()
    given: dict[str, Any] = {"workers": workers, "pin": True, "placement": {"main.where": workers // 2}}
    if workers == 2:
        found = rx.run(main, machines=machines, fast=True, timeout="2 ms", **given)
        assert main.where.cores == {core} == {found.workers[1].core}
        assert found.workers[1].pinned
        assert not joins.communicate(timeout=60)[1]
    else:
        with pytest.raises(rx.MachineError, match=r"machine 1 .* has gone again"):
            rx.run(main, machines=machines, fast=True, timeout="2 ms", **given)
        assert "pin=True gives each worker a core of its own; here would be 2 on 1" in joins.communicate(timeout=60)[1]


def test_who_has_another_token_does_not_get_in(tmp_path: Path) -> None:
    program, token, other = tmp_path / "program.py", tmp_path / "token", tmp_path / "other"
    program.write_text(PROGRAM)
    token.write_text("a token of enough bytes\n")
    other.write_text("another one of enough bytes\n")
    address = f"127.0.0.1:{free_port()}"
    script = (
        "import reactors as rx; from program import Main\n"
        f"rx.run(Main(), workers=2, machines=rx.Machines(listen={address!r}, token_file='token', patience='3 s'))\n"
    )
    leads = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    joins = command("join", address, "--token-file", other, cwd=tmp_path)
    _, complaints = joins.communicate(timeout=60)
    _, errors = leads.communicate(timeout=60)
    assert "is not who it should be: it has another token" in complaints
    assert "0 of 1 machines have joined at" in errors
    assert "refused: 127.0.0.1: it has another token" in errors


def test_a_machine_more_than_there_are_to_be_is_turned_away(tmp_path: Path) -> None:
    program, token = tmp_path / "program.py", tmp_path / "token"
    program.write_text(PROGRAM)
    token.write_text("a token of enough bytes\n")
    address = f"127.0.0.1:{free_port()}"
    joins = [command("join", address, "--token-file", token, "--patience", "10 s", cwd=tmp_path) for _ in range(3)]
    leads = command(
        "run", program, "--machines", "2", "--workers", "2", "--listen", address, "--token-file", token, "--fast",
        "--timeout", "2 ms", "--placement", "main.says=1", "--json", cwd=tmp_path,
    )  # fmt: skip
    _, errors = leads.communicate(timeout=60)
    complaints = sorted(each.communicate(timeout=60)[1] for each in joins)
    assert complaints[0] == ""
    assert leads.returncode == 0, errors
    assert sorted(each.returncode for each in joins) == [0, 1, 1], complaints


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short\n")
    joins = command("join", "127.0.0.1:1", "--token-file", tmp_path / "token")
    _, complaints = joins.communicate(timeout=60)
    assert "has 5 bytes, which can be guessed" in complaints
    assert joins.returncode == 1
