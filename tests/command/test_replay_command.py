"""`reactors replay` and `reactors bisect`."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from reactors.command.cli import main


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "program_to_replay.py"
    file.write_text(
        textwrap.dedent(
            """
            import reactors as rx

            class Main(rx.Reactor):
                tick, count = rx.Timer(0, "1 min"), rx.Output(int)
                def __init__(self):
                    self.n = 0
                @rx.reaction(tick, effects=count)
                def step(self):
                    self.n += 1
                    self.count.set(self.n)
            """
        )
    )
    return str(file)


def said(*words: str) -> str:
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_program_is_executed_up_to_somewhere_and_asked(program: str) -> None:
    assert said("replay", program, "--timeout", "99 min", "--to", "37 min", "--ask", "m.n").splitlines() == [
        "<replay of main after 2220 s, before main.step at 2280 s>",
        "38",
    ]
    there = said("replay", program, "--timeout", "99 min", "--to", "main.step", "--n", "12", "--ask", "m.n")
    assert there.splitlines()[1] == "11"
    assert "at its end" in said("replay", program, "--timeout", "99 min")
    picture = Path(program).parent / "why.dot"
    why = said("replay", program, "--timeout", "9 min", "--why", "main.n", "-o", str(picture)).splitlines()
    assert why[1].startswith("main.n was made by ")
    assert "penwidth=2" in picture.read_text()
    assert "(a condition)" in said("replay", program, "--timeout", "99 min", "--stop-at", "m.n == 5")


def test_a_question_that_raises_is_answered_in_a_line(program: str) -> None:
    asked = CliRunner().invoke(main, ["replay", program, "--timeout", "9 min", "--ask", "m.nn"])
    assert asked.exit_code == 1
    said = "error: --ask: 'm.nn' raises AttributeError: 'Main' object has no attribute 'nn'"
    assert asked.output.splitlines()[1:] == [said]


def test_what_a_check_says_since_when_is_found(program: str) -> None:
    found = said("bisect", program, "--timeout", "99 min", "--check", "m.n < 50")
    assert found == "since 2940 s: main.step, 3 executions\n"
    as_json = said("bisect", program, "--timeout", "99 min", "--check", "m.n < 50", "--json")
    assert json.loads(as_json)["found"]["reaction"] == "main.step"
    never = CliRunner().invoke(main, ["bisect", program, "--timeout", "9 min", "--check", "m.n < 50"])
    assert (never.exit_code, never.output) == (1, "m.n < 50 holds at the end\n")


@pytest.mark.parametrize("plain", [False, True], ids=["IPython", "Python"])
def test_a_prompt_shows_the_program_where_the_replay_stands(program: str, plain: bool) -> None:
    hidden = "import sys; sys.modules['IPython'] = None; " if plain else ""
    command = f"{hidden}from reactors.command.cli import main; main()"
    options = ("--timeout", "99 min", "--to", "37 min", "--shell")
    done = subprocess.run(
        [sys.executable, "-c", command, "replay", program, *options],
        input="m.n * 1000\nr.back()\nm.n * 1000\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "38000" in done.stdout
    assert "37000" in done.stdout


def test_what_is_no_program_is_named(tmp_path: Path) -> None:
    nothing = CliRunner().invoke(main, ["replay", str(tmp_path / "nothing.py")])
    assert nothing.exit_code == 2
    assert "there is no file" in nothing.output
    folder = CliRunner().invoke(main, ["replay", str(tmp_path)])
    assert folder.exit_code != 0
    assert "is no folder of a run" in folder.output


@pytest.mark.parametrize("option", [("--seed", "5"), ("--timeout", "1 min"), ("--log", __file__)])
def test_what_a_training_has_itself_is_refused_with_its_folder(option: tuple[str, str], tmp_path: Path) -> None:
    for command in (["replay"], ["bisect", "--check", "True"]):
        refused = CliRunner().invoke(main, [*command, str(tmp_path), *option])
        assert refused.exit_code == 2
        assert f"is the folder of a training, which has its own; leave out {option[0]}" in " ".join(
            refused.output.split()
        )
