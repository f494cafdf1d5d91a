"""`breakpoint()` in a worker, a process or a thread: it has the terminal of the caller, one worker at a time."""

import re
import subprocess
import sys

import pytest

from tests.terminal import typed

PROGRAM = """
import sys
import reactors as rx

class Actor(rx.Reactor):
    tick = rx.Timer(0)
    def __init__(self, number):
        self.number, self.found = number, 0
    @rx.reaction(tick)
    def work(self):
        found = 40 + self.number
        breakpoint()
        self.found = found
    @rx.reaction(rx.shutdown)
    def close(self):
        self.closed = True

class Main(rx.Reactor):
    def __init__(self):
        self.actors = rx.bank(2, Actor, lambda i: i)

main = Main()
try:
    rx.run(main, workers=2, backend="process", placement={"main.actors[1]": 1}, fast=True, progress=True)
except rx.ReactorError as error:
    print("refused:", error)
except KeyboardInterrupt:
    print("interrupted")
print([actor.found for actor in main.actors], all(actor.closed for actor in main.actors))
"""
PROMPT = ") "  # (Pdb on worker 0)
IN_THREADS = PROGRAM.replace('"process"', '"thread"')
in_either = pytest.mark.parametrize("program", [PROGRAM, IN_THREADS], ids=["process", "thread"])


@in_either
def test_a_debugger_in_each_worker_has_the_terminal_until_the_reaction_is_over(program: str) -> None:
    steps = [(PROMPT, "found = 7 + self.number\n"), (PROMPT, "n\n"), (PROMPT, "n\n")]
    shown = typed(program, moves=2 * steps)
    prompts = [line.partition(")")[0] for line in shown.splitlines() if line.startswith("(Pdb")]
    assert prompts[0] != prompts[-1]
    assert prompts == sorted(prompts, reverse=prompts[0] > prompts[-1])  # one after the other
    assert "[7, 8] True\n" in shown


@in_either
def test_a_worker_goes_on_after_the_breakpoint(program: str) -> None:
    shown = typed(program, moves=2 * [(PROMPT, "c\n")])
    assert shown.count("(Pdb on worker 0) ") == shown.count("(Pdb on worker 1) ") == 1
    assert "[40, 41] True\n" in shown


@in_either
def test_to_quit_the_debugger_ends_the_program(program: str) -> None:
    shown = typed(program, moves=2 * [(PROMPT, "q\n")])
    assert "refused: main.actors[" in shown
    assert "raised BdbQuit: the debugger was left with q, which ends the program; c goes on with it\n" in shown
    assert "[0, 0] True\n" in shown


def test_ctrl_c_twice_kills_a_worker_at_the_prompt() -> None:
    program = PROGRAM.replace("print([", "# ").replace("KeyboardInterrupt:", "KeyboardInterrupt as error:")
    program = program.replace('print("interrupted")', 'print("interrupted:", error.__cause__)')
    shown = typed(program, moves=[(PROMPT, "\x03"), ("kills it", "\x03")])
    waits = r"^stopping; waiting for worker . .*; c or q leaves the debugger, Ctrl-C kills it$"
    assert re.search(waits, shown, re.MULTILINE)
    died = r"^interrupted: worker . .* was killed by SIGKILL in main.actors.* at tag 0 s; the second Ctrl-C killed it$"
    assert re.search(died, shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            PROGRAM,
            "in a worker process a debugger needs the terminal: run it on one, or with workers=1, backend='inline'",
        ),
        (IN_THREADS, ENDED := "a debugger ends where its input does, and standard input is no terminal: run it on one"),
        (PROGRAM.replace('workers=2, backend="process", placement={"main.actors[1]": 1}, ', ""), ENDED),
    ],
    ids=["process", "thread", "inline"],
)
def test_without_a_terminal_the_error_says_where_a_debugger_works(program: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    assert f"raised BdbQuit; {said}\n" in done.stdout


def test_threads_leave_the_hook_of_others_alone() -> None:
    words = "import sys\nsys.breakpointhook = lambda: print('hooked')\n"
    assert typed(words + IN_THREADS).count("hooked") == 2
    assert typed(
        IN_THREADS + "print(sys.breakpointhook is sys.__breakpointhook__)", moves=2 * [(PROMPT, "c\n")]
    ).endswith("True\n")
