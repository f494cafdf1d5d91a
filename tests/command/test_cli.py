"""The command `reactors`, as a user at a terminal meets it."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import reactors as rx
from reactors.command import doctor
from reactors.command.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="the program dot is not installed")

COUNT = """
from dataclasses import dataclass
from typing import Literal

import reactors as rx


@dataclass
class Item:
    n: int


class Source(rx.Reactor):
    tick = rx.Timer(period="1 ms")
    item = rx.Output(Item)

    def __init__(self, first):
        self.n = first

    @rx.reaction(tick, effects=item)
    def emit(self):
        self.item.set(Item(self.n))
        self.n += 1


class Sink(rx.Reactor):
    item = rx.Input(Item)

    def __init__(self, worst):
        self.worst = worst

    @rx.reaction(item)
    def look(self):
        print("item", self.item.value.n)
        check(self.item.value, self.worst)


def check(item, worst):
    if item.n == worst:
        raise LookupError(f"{item} is the worst")


def sinks(n, worst):
    return rx.bank(n, Sink, worst)


class Count(rx.Reactor):
    def __init__(
        self,
        first: int,
        worst: int | None = None,
        size: tuple[int, int] = (1, 1),
        mode: Literal["up", "down"] = "up",
        loud: bool = False,
        seed="none",
    ):
        if loud:
            print(f"{first=} {size=} {mode=} {seed=}")
        self.source = Source(first)
        self.sinks = sinks(2, worst)
        rx.connect(self.source.item, self.sinks.item, broadcast=True)


if __name__ == "__main__":
    raise SystemExit("this is not for import")
"""


@pytest.fixture(autouse=True)
def modules(tmp_path: Path) -> Iterator[None]:
    """What a script leaves in this process goes with the test."""
    before, path = set(sys.modules), sys.path[:]
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        spec = sys.modules[name].__spec__
        if spec is not None and str(spec.origin).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    monkeypatch.chdir(tmp_path)

    def write(name: str = "count.py", text: str = COUNT) -> Path:
        Path(name).write_text(text)
        return Path(name)

    return write


def reactors(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    words = [sys.executable, "-m", "reactors", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)


FAST = ("--fast", "--timeout", "3 ms")


# What it runs


def test_run_prints_what_the_program_prints_and_a_summary(script: Callable[..., Path]) -> None:
    result = reactors("run", script(), *FAST, "--first", 5)
    assert result.exit_code == 0
    assert result.output.startswith("item 5\nitem 5\nitem 6")
    assert "12 reactions at 4 tags" in result.output


def test_json_is_the_last_line(script: Callable[..., Path]) -> None:
    result = reactors("run", script(), *FAST, "--first", 5, "--seed", 3, "--json")
    reported = json.loads(result.output.splitlines()[-1])
    assert (reported["tags"], reported["reactions"], reported["seed"], reported["backend"]) == (4, 12, 3, "inline")
    assert reported["final_tag"] == {"time": 3_000_000, "microstep": 0}


def test_the_classes_of_a_file_are_found_in_worker_processes(script: Callable[..., Path]) -> None:
    script()
    placement = ("--placement", "main.sinks[1]=1", "--placement", "main.sinks[0]=0")
    run = command("run", "count.py", *FAST, "--first", 5, "--workers", 2, "--json", *placement)
    assert run.returncode == 0, run.stderr
    reported = json.loads(run.stdout.splitlines()[-1])
    alone = json.loads(reactors("run", "count.py", *FAST, "--first", 5, "--json").output.splitlines()[-1])
    assert reported["backend"] == "process"
    assert reported["digest"] == alone["digest"]
    assert {row["path"]: row["worker"] for row in reported["statistics"]}["main.sinks[1].look"] == 1


@pytest.mark.parametrize("name", ["queue.py", "count.v2.py"])
def test_a_file_with_the_name_of_another_module_takes_the_place_of_none(script: Callable[..., Path], name: str) -> None:
    script(name)
    run = command("run", f"{name}:Count", *FAST, "--first", 5, "--workers", 2, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1])["reactions"] == 12


RUNS_ITSELF = """
import reactors as rx

class Count(rx.Reactor):
    @rx.reaction(rx.startup)
    def count(self):
        print("counted")

class Pair(rx.Reactor):
    def __init__(self):
        self.counts = rx.bank(2, Count)

print("before")
rx.run(Pair(), workers=2)
print("after")
"""


def test_a_file_that_runs_its_program_itself_is_imported_up_to_there(script: Callable[..., Path]) -> None:
    script("pair.py", RUNS_ITSELF)
    graph = command("graph", "pair.py", "-o", "pair.mmd")
    assert (graph.returncode, graph.stdout.splitlines()[0]) == (0, "before"), graph.stderr
    run = command("run", "pair.py", "--workers", 2)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split()[0] == "before"
    assert run.stdout.count("counted") == 2
    assert "after" not in run.stdout


def test_a_module_that_runs_its_program_when_it_is_imported_runs_it_once(script: Callable[..., Path]) -> None:
    script("pair.py", RUNS_ITSELF)
    lines = (
        "import pair, reactors as rx",
        "try: rx.run(pair.Pair(), workers=2)",
        "except rx.WorkerStartError as e: print(e)",
    )
    again = "\n".join(lines)
    run = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    first = run.stdout.partition("after")[0]
    assert sorted(first.split()) == ["before", "counted", "counted"]
    assert 'put this call under if __name__ == "__main__":' in run.stdout


def test_a_long_run_is_traced_whole(tmp_path: Path) -> None:
    class Ticking(rx.Reactor):
        tick = rx.Timer(0, "1 us")

        @rx.reaction(tick)
        def count(self) -> None: ...

    rx.run(Ticking(), fast=True, timeout="300 ms", trace=tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["args"]["time"] for event in events if event["ph"] == "X"] == [*range(0, 300_000_001, 1_000)]
    assert [*tmp_path.iterdir()] == [tmp_path / "trace.json"]


def test_a_run_is_recorded_and_replayed(script: Callable[..., Path]) -> None:
    run = ("run", script(), "--first", 1)
    recorded = reactors(*run, "--timeout", "5 ms", "--record", "run.rxlog", "--json")
    replayed = reactors(*run, "--replay", "run.rxlog", "--json")
    digests = [json.loads(each.output.splitlines()[-1])["digest"] for each in (recorded, replayed)]
    assert digests[0] == digests[1]
    other = reactors("run", script("other.py"), "--first", 1, "--replay", "nowhere.rxlog")
    assert other.exit_code == 1
    assert "the log 'nowhere.rxlog' cannot be read" in other.output


OPTIONS: dict[str, list[tuple[list[object], object]]] = {
    "workers": [(["--workers", 3], 3), ([], 1)],
    "backend": [(["--backend", "thread"], "thread"), ([], "auto")],
    "pin": [(["--pin"], True), (["--no-pin"], False), ([], "auto")],
    "fast": [(["--fast"], True), ([], False)],
    "timeout": [(["--timeout", "5 us"], "5 us"), ([], None)],
    "keepalive": [(["--keepalive"], True), (["--no-keepalive"], False), ([], None)],
    "seed": [(["--seed", 9], 9), ([], 0)],
    "placement": [
        (["--placement", "main.a=1", "--placement", "main.b=0"], {"main.a": 1, "main.b": 0}),
        (["--placement", "profile:run.rxt"], "profile:run.rxt"),
        (["--placement", "places.toml"], "places.toml"),
        ([], "auto"),
    ],
    "trace": [(["--trace", "trace.json"], Path("trace.json")), ([], None)],
    "live": [(["--live"], True), ([], False)],
    "record": [(["--record", "a.log"], Path("a.log")), ([], None)],
    "replay": [(["--replay", "b.log"], Path("b.log")), ([], None)],
    "journal": [(["--journal", "a.rxj"], Path("a.rxj")), ([], None)],
    "journal_states": [(["--journal-states", 5], 5), ([], None)],
    "digest": [(["--digest", "values"], "values"), ([], "behaviour")],
    "progress": [(["--progress"], True), (["--no-progress"], False), ([], False)],
    "debug": [(["--debug"], True), ([], False)],
    "max_microsteps": [(["--max-microsteps", 7], 7), ([], None)],
}


@pytest.mark.parametrize(
    ("name", "given", "expected"), [(name, *each) for name, cases in OPTIONS.items() for each in cases]
)
def test_every_option_of_run_arrives(
    name: str, given: list[object], expected: object, script: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all others left out, which are as they are by default."""
    calls: list[dict[str, object]] = []

    def run(main: rx.Reactor, **options: object) -> rx.Result:
        calls.append(options)
        return rx.run(main, fast=True, timeout=0)

    monkeypatch.setattr("reactors.command.cli.run", run)
    result = reactors("run", script(), "--first", 5, *given)
    assert result.exit_code == 0, result.output
    others = {other: cases[-1][1] for other, cases in OPTIONS.items()}
    assert calls == [{**others, name: expected}]


def test_run_has_an_option_for_every_argument_and_no_other() -> None:
    several = {"machines", "listen", "token_file", "certificate", "key"}  # of one argument, in tests/machines
    several |= {"traceback"}  # of every command
    arguments = set(inspect.signature(rx.run).parameters) - {"main", "clock"}  # which is an object
    assert {*OPTIONS, "machines"} == arguments
    options = {each.name for each in main.commands["run"].params} - {"target", "as_json"}
    assert options == arguments | several


def test_a_digest_of_values_is_printed_where_it_is_asked_for(script: Callable[..., Path]) -> None:
    run = ("run", script(), *FAST, "--first", 1)
    assert "of that and of all values" not in reactors(*run).output
    assert "of that and of all values" in reactors(*run, "--digest", "values").output


def test_a_trace_is_written(script: Callable[..., Path], tmp_path: Path) -> None:
    assert reactors("run", script(), *FAST, "--first", 1, "--trace", "trace.json").exit_code == 0
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


# Which class it is


def test_a_class_is_chosen_by_name(script: Callable[..., Path]) -> None:
    result = reactors("run", f"{script()}:Source", *FAST, "--first", 5, "--json")
    assert json.loads(result.output)["reactions"] == 4


def test_the_class_that_no_other_contains_is_the_program(script: Callable[..., Path]) -> None:
    text = COUNT.replace("class Count", "class Everything")
    assert "Parameters of Everything" in reactors("run", script(text=text), "--help").output


def test_a_class_named_like_the_file_or_main_is_the_program(script: Callable[..., Path]) -> None:
    text = "import reactors as rx\nclass One(rx.Reactor): ...\nclass {}(rx.Reactor): ...\n"
    assert reactors("graph", script("two_parts.py", text.format("TwoParts"))).exit_code == 0
    assert reactors("graph", script("other.py", text.format("Main"))).exit_code == 0


def test_several_classes_that_could_be_meant_are_listed(script: Callable[..., Path]) -> None:
    text = "import reactors as rx\nclass One(rx.Reactor): ...\nclass Two(rx.Reactor): ...\n"
    result = reactors("run", script("parts.py", text))
    assert result.exit_code == 2
    assert "it defines One, Two: write FILE:One" in result.output


# Parameters


def test_help_shows_the_parameters_of_the_class(script: Callable[..., Path]) -> None:
    lines = reactors("run", script(), "--help").output.partition("Parameters of Count:")[2].splitlines()
    shown = [" ".join(line.split()) for line in lines if line]
    assert shown == [
        "--first INTEGER [required]",
        "--worst INTEGER default: None",
        "--size <INTEGER INTEGER>... default: (1, 1)",
        "--mode [up|down] default: up",
        "--loud / --no-loud default: False",
        "--count-seed TEXT default: none",
    ]


def test_parameters_are_read_by_their_types(script: Callable[..., Path]) -> None:
    given = ("--first", "7", "--size", "3", "4", "--mode", "down", "--loud", "--count-seed", "5", "--seed", "6")
    result = reactors("run", *given, script(), *FAST)
    assert result.output.startswith("first=7 size=(3, 4) mode='down' seed='5'\n")
    assert "seed 6" in result.output


def test_parameters_without_a_type_are_python_literals(script: Callable[..., Path]) -> None:
    text = "import reactors as rx\nclass Main(rx.Reactor):\n    def __init__(self, what, *rest): print(repr(what))\n"
    text += "    @rx.reaction(rx.startup)\n    def begin(self): ...\n"
    script("untyped.py", text)
    for given, shown in (("[1, 2]", "[1, 2]"), ("10 ms", "'10 ms'"), ("3", "3")):
        assert reactors("run", "untyped.py", "--what", given).output.startswith(shown)


# What goes wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py"], "there is no file 'nowhere.py'"),
        (["count.py:Nothing"], "count.py has no reactor class 'Nothing'; it defines Count, Sink, Source"),
        (["count.py:Sauce"], "count.py has no reactor class 'Sauce'; did you mean 'Source'?\n"),
        (
            ["count.py", "--first", "1", "--backend", "threads"],
            "'threads'; write one of auto, inline, thread, process; did you mean 'thread'?\n",
        ),
        (["count.py", "--first", "1", "--mode", "upp"], "'upp'; write one of up, down; did you mean 'up'?\n"),
        (["count.py:Item"], "count.py has no reactor class 'Item'"),
        ([], "Missing argument 'FILE[:CLASS]'"),
        (["count.py"], "Missing option '--first'"),
        (["count.py", "--first", "x"], "Invalid value for '--first': 'x'; write a whole number, as in 100000 or 1e5"),
        (["count.py", "--first", "1", "--last", "2"], "No such option '--last'"),
        (["count.py", "--first", "1", "--timeout", "5"], "without a unit"),
        (["count.py", "--first", "1", "--placement", "main"], "write PATH=WORKER"),
        (
            ["count.py", "--first", "1", "--workers", "0"],
            "Invalid value for '--workers': '0'; write a number from 1 to 64, or auto for all cores",
        ),
        (["count.py", "--first", "1", "--seed", "-1"], "'-1'; write a whole number, 0 or more\n"),
        (["count.py", "--first", "1", "--trace", "nowhere/t.json"], "there is no folder 'nowhere'"),
    ],
)
def test_misuse_ends_with_2_and_says_why(script: Callable[..., Path], arguments: list[str], message: str) -> None:
    script()
    result = reactors("run", *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_a_file_that_ends_the_process_when_it_is_imported_is_named(script: Callable[..., Path]) -> None:
    script("quits.py", "import sys\nsys.exit(3)\n")
    result = reactors("run", "quits.py")
    assert result.exit_code == 2
    assert result.output.endswith(
        "Error: quits.py ends the process when it is imported (sys.exit(3)); put what is meant for running it as a "
        'script under if __name__ == "__main__":\n'
    )


def test_counts_are_written_as_people_write_them(script: Callable[..., Path]) -> None:
    script()
    assert (
        "first=100000 "
        in reactors("run", "count.py", "--first", "1e5", "--loud", "--max-microsteps", "1e3", *FAST).output
    )


def test_an_error_of_ours_is_its_message_alone(script: Callable[..., Path]) -> None:
    result = reactors("run", script(), "--first", 1, "--placement", "main.nobody=0")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: placement names 'main.nobody'")
    assert "Traceback" not in result.output


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_in_a_reaction_is_shown_from_the_users_own_lines(
    script: Callable[..., Path], workers: int
) -> None:
    run = command("run", script(), *FAST, "--first", 1, "--worst", 2, "--workers", workers)
    assert run.returncode == 1
    assert 'raise LookupError(f"{item} is the worst")' in run.stderr
    assert "in look" in run.stderr
    assert "reactors_runtime" not in run.stderr
    assert "/reactors/" not in run.stderr
    assert "\nerror: main.sinks[0].look at 1 ms raised LookupError: Item(n=2) is the worst" in run.stderr
    assert run.stderr.count("LookupError: Item") <= workers  # once for each that came to it


@pytest.mark.parametrize("workers", [1, 2])
def test_the_whole_traceback_is_shown_where_it_is_asked_for(script: Callable[..., Path], workers: int) -> None:
    run = command("run", script(), *FAST, "--first", 1, "--worst", 2, "--workers", workers, "--traceback")
    assert run.returncode == 1
    assert "reactors/launch.py" in run.stderr
    assert "in look" in run.stderr
    assert "\nerror: main.sinks[0].look at 1 ms raised LookupError: Item(n=2) is the worst\n" in run.stderr


def test_every_command_has_whole_tracebacks() -> None:
    for name, each in main.commands.items():
        assert "--traceback" in reactors(name, "--help").output, name
        assert sum(option.name == "traceback" for option in each.params) == 1


SPEECH = """
import reactors as rx

class Clock(rx.Reactor):
    def __init__(self, n=1):
        if n == 2:
            raise ValueError("seed=3")

    @rx.reaction(rx.startup)
    def start(self):
        pass

class Lonely(rx.Reactor):
    word = rx.Input(int)

    @rx.reaction(word)
    def read(self):
        pass

class Quoting(rx.Reactor):
    @rx.reaction(rx.startup)
    def start(self):
        raise ValueError("it is workers=3")
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["run", "Clock", "--replay", "a", "--record", "b"],
            "reactors run with --replay takes everything from the log",
        ),
        (["run", "Clock", "--backend", "inline", "--workers", 2], "--backend inline has one worker, and workers is 2"),
        (["run", "Clock", "--replay", "speech.py"], "is no log of this version; write one with reactors run --record"),
        (["run", "Quoting"], "raised ValueError: it is workers=3"),
        (["graph", "Clock", "--apg", "--depth", 2], "leave out --depth or --apg"),
    ],
)
def test_errors_are_in_the_words_of_the_command(script: Callable[..., Path], words: list[object], said: str) -> None:
    name, kind, *others = words
    result = reactors(name, f"{script('speech.py', SPEECH)}:{kind}", *others)
    assert result.exit_code == 1
    assert said in result.stderr


def test_warnings_are_in_the_words_of_the_command(script: Callable[..., Path]) -> None:
    run = command("run", f"{script('speech.py', SPEECH)}:Lonely", "--fast")
    assert run.stderr.startswith("warning: main.word (speech.py:14): the reaction read ")
    assert "ReactorWarning" not in run.stderr
    chain = (
        SPEECH
        + """
class Chain(rx.Reactor):
    def __init__(self):
        self.one, self.other = Clock(), Clock()
"""
    )
    run = command("run", f"{script('chain.py', chain)}:Chain", "--workers", 2)
    assert "or --placement says it\n" in run.stderr


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("x = (\n", "SyntaxError: '(' was never closed"),
        ("import nothing_at_all\n", "ModuleNotFoundError: No module named 'nothing_at_all'"),
        (
            "import reactors as rx\nclass Main(rx.Reactor):\n    def __init__(self): 1 / 0\n",
            "ZeroDivisionError: division by zero",
        ),
    ],
)
def test_an_exception_of_the_file_is_shown_without_our_lines(script: Callable[..., Path], text: str, last: str) -> None:
    result = reactors("run", script("broken.py", text))
    assert result.exit_code == 1
    assert result.stderr.rstrip().endswith(last)
    assert result.stderr.count("  File ") == 1
    assert "broken.py" in result.stderr


def test_ctrl_c_ends_with_130(script: Callable[..., Path]) -> None:
    """On one worker."""
    script()
    words = [sys.executable, "-u", "-m", "reactors", "run", "count.py", "--first", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.readline()
        os.kill(run.pid, signal.SIGINT)
        assert run.wait(60) == 130
        assert run.stderr.read() == "interrupted\n"


# Pictures


def test_graph_prints_dot_without_a_file(script: Callable[..., Path]) -> None:
    result = reactors("graph", script(), "--first", 1, "--expand", "--placement", "main.sinks[1]=1")
    assert result.exit_code == 0
    assert result.output.startswith("digraph {")
    assert "cluster main.sinks[1]" in result.output
    assert "worker 1" in result.output


def test_graph_shows_where_reactors_run_with_so_many_workers(script: Callable[..., Path]) -> None:
    result = reactors("graph", script(), "--first", 1, "--expand", "--workers", 2)
    assert result.exit_code == 0
    assert "worker 1" in result.output


def test_graph_closes_what_lies_deep(script: Callable[..., Path]) -> None:
    result = reactors("graph", script(), "--first", 1, "--depth", 1)
    assert result.exit_code == 0
    assert "cluster main.sinks" in result.output
    assert "reactions of main.sinks" not in result.output
    refused = reactors("graph", script(), "--first", 1, "--depth", 0)
    assert "Invalid value for '--depth': '0'; write a whole number, 1 or more\n" in refused.output


@needs_dot
def test_graph_writes_a_picture(script: Callable[..., Path], tmp_path: Path) -> None:
    result = reactors("graph", script(), "-o", "g.svg", "--first", 1, "--apg", "--workers", 2)
    assert result.output == "g.svg: <graph of 4 reactors and 3 reactions>\n"
    assert "level 1" in (tmp_path / "g.svg").read_text()


def test_graph_without_dot_says_what_to_install(script: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    script()
    monkeypatch.setenv("PATH", "")
    result = reactors("graph", "count.py", "-o", "g.svg", "--first", 1)
    assert result.exit_code == 1
    assert "apt install graphviz" in result.stderr
    assert reactors("graph", "count.py", "-o", "g.mmd", "--first", 1).exit_code == 0


def test_graph_refuses_other_suffixes(script: Callable[..., Path]) -> None:
    result = reactors("graph", script(), "-o", "g.gif", "--first", 1)
    assert result.exit_code == 2
    assert "a picture ends in .svg, .png, .pdf, .dot, .gv, .mmd" in result.output


# The machine


def test_doctor_has_a_verdict_and_a_remedy_for_everything() -> None:
    result = reactors("doctor", "--json")
    assert result.exit_code == 0
    findings = {finding["name"]: finding for finding in json.loads(result.output)}
    assert findings["core in C"]["verdict"] == findings["replay in C"]["verdict"] == "ok"
    assert {"python", "compiler", "dot", "torch", "numpy", "cores", "memory"} <= set(findings)
    assert {"processes", "descriptors", "locked memory"} <= set(findings)
    assert all(finding["remedy"] for finding in findings.values() if finding["verdict"] != "ok")
    assert "core in C" in reactors("doctor").output


def test_doctor_reports_what_an_issue_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("PYTHONPATH", str(Path.home() / "lib"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    output = reactors("doctor", "--report").output
    assert output.startswith(f"```text\nreactors {rx.__version__} on Linux-")
    assert output.endswith("```\n")
    assert f"numpy {version('numpy')}" in output
    assert "OMP_NUM_THREADS=3, PYTHONPATH=~/lib" in output
    assert "core in C" in output
    assert "hidden" not in output
    assert "pytest" not in output
    assert "exclude each other" in reactors("doctor", "--report", "--json").output


def test_doctor_notes_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    findings = {finding.name: finding for finding in doctor.examine()}
    assert findings["dot"].verdict == findings["compiler"].verdict == "note"
    assert "apt install graphviz" in findings["dot"].remedy


def test_doctor_reads_the_limits_of_a_process(tmp_path: Path) -> None:
    limits = tmp_path / "limits"
    limits.write_text(
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max processes             100                  100                  processes \n"
        "Max open files            1024                 524288               files     \n"
        "Max locked memory         unlimited            unlimited            bytes     \n"
    )
    findings = [(f.name, f.verdict, f.fact) for f in doctor.limits(limits)]
    assert findings == [
        ("processes", "note", "100"),
        ("descriptors", "ok", "1,024"),
        ("locked memory", "ok", "no limit"),
    ]


def test_doctor_notes_what_is_compiled_at_each_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "large"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (finding,) = doctor.bytecode("large")
    assert finding.verdict == "note"
    assert finding.fact == "large is compiled at each import: it has none, and PYTHONDONTWRITEBYTECODE is set"
    remedy = finding.remedy.partition(": ")[2]
    assert remedy == f"{sys.executable} -m compileall -q {package}"
    subprocess.run(remedy.split(), check=True)
    assert [each.verdict for each in doctor.bytecode("large")] == ["ok"]
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert [each.verdict for each in doctor.bytecode("email")] == ["ok"]
    assert not list(doctor.bytecode("nothing_of_that_name"))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("reactors_runtime._core", "core in C"),
        ("reactors_runtime._doors", "core in C"),
        ("reactors.rl._core", "replay in C"),
        ("reactors.rl._rows", "replay in C"),
    ],
)
def test_doctor_fails_without_what_is_compiled(module: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    result = reactors("doctor")
    assert result.exit_code == 1
    assert f"bad   {name}" in result.output
    assert "-> reinstall reactors" in result.output


def test_version() -> None:
    run = command("--version")
    assert run.stdout == f"reactors, version {rx.__version__}\n"
