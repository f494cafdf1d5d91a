"""Do the snippets of the documentation run as they stand, and does all else in it still hold?"""

import gc
import html
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from reactors.command.cli import main
from reactors.rl.runs.settings import algorithm_named, algorithms, with_settings
from tests.docs.algorithm_pages import ALGORITHMS, hyperparameters, kind_of, meaning, pages, renewed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXTS = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").glob("*.md"), ROOT / "tests" / "README.md"]


def blocks(text: str, language: str) -> list[str]:
    """Of code of this language, without what they are indented by."""
    found = re.findall(r"^ *```([a-z]*)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for kind, block in found if kind == language]


EXCERPT = re.compile(
    r"((?:^[^\n]+\n)+)\n```[a-z]+\n(.*?)^```$", re.DOTALL | re.MULTILINE
)  # a paragraph, and code below it


def excerpts(page: Path) -> Iterator[tuple[Path, str]]:
    """Code below a paragraph that links to a file of examples: that file, and the code; `...` is what is left out."""
    for paragraph, code in EXCERPT.findall(page.read_text()):
        if link := re.search(r"\]\(([^)]*examples/[\w/]+\.py)\)", paragraph):
            yield page.parent / link[1], code


def snippets(page: str) -> str:
    """What is to run as it stands, that is, all code of Python but excerpts."""
    path = DOCS / page
    taken = [textwrap.dedent(code) for _, code in excerpts(path)]
    return "\n\n".join(block for block in blocks(path.read_text(), "python") if block not in taken)


PAGES = (
    "../README.md", "start.md", "tutorial.md", "concepts.md", "model.md", "generated.md", "own_environment.md",
    "environments.md", "replay.md", "training.md", "runs.md",
    "scaling.md", "recurrent.md", "many_agents.md", "modes.md", "reproducibility.md", "serving.md",
    "own_algorithm.md", "logging.md", "notebooks.md", "debugging.md", "replaying_runs.md", "comparing.md",
    "observing.md", "machines.md", "migration/gymnasium.md", "migration/lingua_franca.md",
)  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run_one_after_another(page: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(snippets(page))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_page_has_snippets_that_no_test_runs() -> None:
    run = {(DOCS / page).resolve() for page in (*PAGES, *(f"algorithms/{page}.md" for page in ALGORITHMS))}
    assert {page for page in TEXTS if snippets(str(page))} == run


def test_programs_that_programs_write_need_no_module() -> None:
    exec(snippets("generated.md"), {})


# ---- excerpts ----


def strange(file: Path, code: str) -> list[str]:
    """The pieces of an excerpt that are not in the file, in this order."""
    text, found = "\n" + re.sub(r"  # type: ignore.*", "", file.read_text()), []
    for piece in re.split(r"^ *\.\.\.$", code, flags=re.MULTILINE):
        lines = piece.strip("\n")
        _, there, after = text.partition(f"\n{lines}\n")
        if there:
            text = f"\n{after}"
        else:
            found.append(lines)
    return found


def test_excerpts_are_what_the_files_have() -> None:
    found = {page.relative_to(ROOT): list(excerpts(page)) for page in TEXTS}
    wrong = [(str(page), piece) for page, each in found.items() for file, code in each for piece in strange(file, code)]
    assert wrong == []
    of = {str(page): len(each) for page, each in found.items() if each}
    migration = {f"docs/migration/{page}.md": 2 for page in ("ray", "sb3", "cleanrl")}
    assert of == {"README.md": 1, "docs/many_agents.md": 1, **migration}


def test_an_excerpt_that_a_file_does_not_have_is_found(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text("a = 1\nb = 2\nc = 3\n")
    assert strange(file, "a = 1\n...\nc = 3\n") == []
    assert strange(file, "c = 3\n...\na = 1\n") == ["a = 1"]
    assert strange(file, "a = 1\nc = 3\n") == ["a = 1\nc = 3"]


# ---- algorithms ----


@pytest.fixture
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("page", ALGORITHMS)
def test_the_example_of_an_algorithm_runs(page: str) -> None:
    exec(snippets(f"algorithms/{page}.md"), {})


def test_every_algorithm_has_a_page() -> None:
    assert {kind_of(page) for page in ALGORITHMS} == set(algorithms().values())
    for page in ALGORITHMS:
        assert (DOCS / "algorithms" / f"{page}.md").exists()


def test_what_pages_say_of_the_code_and_of_runs_is_up_to_date() -> None:
    old = [page for page in pages() if (DOCS / "algorithms" / f"{page}.md").read_text() != renewed(page)]
    assert old == [], "`make pages` writes them again"


def test_every_hyperparameter_is_explained() -> None:
    kinds = map(kind_of, ALGORITHMS)
    missing = [f"{kind.name}.{field.name}" for kind in kinds for field in fields(kind) if not meaning(kind, field.name)]
    assert missing == []


def test_tables_of_hyperparameters_have_meaning_and_remark() -> None:
    table = hyperparameters(kind_of("impala"))
    assert "| `value` | `0.5` | Weight of the value loss. The paper's table G.1, whose loss is halved" in table
    assert (
        "| `learning_starts` | `100` | Environment steps before the first update. Stable-Baselines3's. |"
        in hyperparameters(kind_of("sac"))
    )


# ---- pictures ----


def test_the_picture_of_the_rooms_is_up_to_date() -> None:
    program = runpy.run_path(str(DOCS / "pictures" / "architecture.py"))
    source: str = program["drawn"]().source
    arrows = set(re.findall(r'^\t"?([\w.]+)"? -> "?([\w.]+)"?', source, re.MULTILINE))
    drawn = html.unescape(program["PICTURE"].read_text())
    assert arrows
    assert arrows == set(re.findall(r"<title>([\w.]+)->([\w.]+)</title>", drawn)), "`make pictures` draws it again"


# ---- the gallery ----


def sections(text: str) -> dict[str, str]:
    """Of the gallery, by what each is about."""
    return dict(re.findall(r"^### \[([\w./]+)\]\([^)]*\)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE))


def test_every_example_is_in_the_gallery_with_something_to_see_and_to_change() -> None:
    found = sections((ROOT / "examples" / "README.md").read_text())
    files = [*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.ipynb")]
    assert set(found) == {file.name for file in files} | {"machines/"}
    assert [name for name, text in found.items() if "**Change first:**" not in text] == []
    assert [name for name, text in found.items() if "**Run time:**" not in text] == ["machines/"]
    assert [name for name, text in found.items() if not re.search(r"^(!\[|```)", text, re.MULTILINE)] == ["machines/"]


# ---- commands ----


def commands() -> Iterator[list[str]]:
    """Calls of `reactors` in the documentation."""
    for text in TEXTS:
        for line in "".join(blocks(text.read_text(), "")).replace("\\\n", "").splitlines():
            words = shlex.split(line, comments=True) if line.startswith("reactors ") else []
            if words and "..." not in words:
                yield words[1:]


def test_commands_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    found = list(commands())
    assert any("--lag" in words for words in found)
    for command, *words in found:
        for word in words:
            if word.startswith("runs/"):
                Path(word).mkdir(parents=True, exist_ok=True)
            elif word.endswith(".toml"):
                Path(word).touch()
        given = main.commands[command].make_context(command, words).params
        if command == "train" and given["algorithm"]:
            with_settings(algorithm_named(given["algorithm"]), given["given"])


# ---- form ----


def too_wide(text: str) -> list[str]:
    """Lines of prose; tables, formulas, pictures and code are as wide as they are."""
    prose = re.sub(r"^ *```.*?^ *```|^\$\$.*?\$\$$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for line in prose.splitlines() if len(line) > 100 and not line.startswith(("|", "!["))]


def test_prose_is_wrapped_at_100() -> None:
    pages = [page for page in TEXTS if page.name != "CHANGELOG.md"]  # an entry is a line
    assert [(page.name, line) for page in pages for line in too_wide(page.read_text())] == []
    assert too_wide("word " * 21) != []


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


def test_links_lead_somewhere() -> None:
    found = {str(page.relative_to(ROOT)): broken(page) for page in TEXTS}
    assert "README.md" in found
    assert {page: links for page, links in found.items() if links} == {}


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    good = "# A title, too\n[a](page.md#a-title-too) [b](#a-title-too) `[e](f)`"
    page.write_text(f"{good} [c](page.md#other) [d](none.md)\n")
    assert broken(page) == ["page.md#other", "none.md"]
