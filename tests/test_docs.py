"""Do the snippets of the documentation run as they stand, and does all else in it still hold?"""

import gc
import re
import shlex
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from reactors.cli import main
from reactors.rl.training.settings import algorithm_named, with_settings
from tests.algorithm_pages import ALGORITHMS, hyperparameters, kind_of, meaning, pages, renewed

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXTS = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").glob("*.md")]


def snippets(page: str) -> str:
    found = re.findall(r"^ *```python\n(.*?)^ *```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    return "\n\n".join(map(textwrap.dedent, found))


PAGES = (
    "model.md", "tutorial.md", "generated.md", "environments.md", "replay.md", "training.md", "modes.md",
    "reproducibility.md",
)  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run_one_after_another(page: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(snippets(page))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_programs_that_programs_write_need_no_module() -> None:
    exec(snippets("generated.md"), {})


# ---- algorithms ----


@pytest.fixture
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("page", ALGORITHMS)
def test_the_example_of_an_algorithm_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        exec(snippets(f"algorithms/{page}.md"), {})
    assert "nan" not in capsys.readouterr().out


def test_every_algorithm_has_a_page() -> None:
    assert {page.stem for page in (DOCS / "algorithms").glob("*.md")} == set(pages())
    assert (DOCS / "pictures" / "algorithms").is_dir()


@pytest.mark.parametrize("page", [*pages()])
def test_what_pages_say_of_the_code_and_of_runs_is_up_to_date(page: str) -> None:
    now = (DOCS / "algorithms" / f"{page}.md").read_text()
    assert now == renewed(page), "`make pages` writes it anew"


@pytest.mark.parametrize("page", ALGORITHMS)
def test_every_hyperparameter_is_explained(page: str) -> None:
    kind = kind_of(page)
    assert [field.name for field in fields(kind) if not meaning(kind, field.name)] == []


def test_tables_of_hyperparameters_have_meaning_and_remark() -> None:
    table = hyperparameters(kind_of("impala"))
    assert "| `value` | `0.5` | Weight of the value loss. The paper's table G.1. |" in table
    assert "| `learning_starts` | `100` | Transitions before the first update, whose" in hyperparameters(kind_of("sac"))


# ---- commands ----


def commands() -> Iterator[tuple[str, list[str]]]:
    """Calls of `reactors` in blocks of the documentation; without what the shell makes of them."""
    for text in TEXTS:
        for block in re.findall(r"^```(?:sh)?\n(.*?)^```", text.read_text(), re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                while words and "=" in words[0]:
                    words.pop(0)
                if words[:1] == ["reactors"] and "..." not in words:
                    yield f"{text.relative_to(ROOT)}: {line}", words[1:]


@pytest.mark.parametrize("words", [pytest.param(words, id=line) for line, words in commands()])
def test_commands_are_understood(words: list[str]) -> None:
    command = main.commands[words[0]]
    given = command.make_context(words[0], words[1:]).params
    if words[0] == "train" and given["algorithm"]:
        with_settings(algorithm_named(given["algorithm"]), given["given"])


# ---- links ----


def anchors(text: str) -> set[str]:
    """Of headings, as GitHub makes them."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    """Links and pictures that lead nowhere in this repository."""
    prose = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            found.append(link)
    return found


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title, too\n[a](page.md#a-title-too) [b](#a-title-too) [c](page.md#other) [d](none.md) `[e](f)`\n")
    assert broken(page) == ["page.md#other", "none.md"]
