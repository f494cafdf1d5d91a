"""Is the site made without a warning, with every public name, and does it need nothing from elsewhere?"""

import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import nbformat
import pytest

import reactors as rx
from reactors import rl, testing
from reactors.command.cli import main
from tests.viewing.browser import Browser, needs_browser

ROOT = Path(__file__).parents[2]
ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["'](?:https?:)?//""")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # the site takes half a minute on a quiet machine


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a warning of Sphinx is an error, a link within it that leads nowhere among them."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-d", folder / "trees", "."]
    done = subprocess.run([*command, folder / "html"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def documented(site: Path) -> set[str]:
    """The names that the reference has, by the inventory that Sphinx writes for other projects."""
    *head, rest = (site / "objects.inv").read_bytes().split(b"\n", 4)  # four lines, then compressed ones
    assert head[0] == b"# Sphinx inventory version 2"
    return {line.split()[0] for line in zlib.decompress(rest).decode().splitlines() if " py:" in line}


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    found = documented(site)
    for module in (rx, rl, testing):
        missing = [name for name in module.__all__ if f"{module.__name__}.{name}" not in found]
        assert missing == []
    assert "reactors.Result.summary" in found


def test_every_command_and_its_options_are_in_the_reference(site: Path) -> None:
    page = (site / "docs" / "reference" / "commands.html").read_text()
    for name, command in main.commands.items():
        assert f'id="reactors-{name}"' in page
        for option in (each for parameter in command.params for each in parameter.opts if each.startswith("--")):
            assert option in page


def test_names_lead_to_their_entries_and_to_those_of_others(site: Path) -> None:
    page = (site / "docs" / "reference" / "runs.html").read_text()
    assert 'href="#reactors.Result"' in page
    assert 'href="errors.html#reactors.WorkerDied"' in page
    assert 'href="https://docs.python.org/3/library/stdtypes.html#str"' in page
    environments = (site / "docs" / "reference" / "rl.html").read_text()
    assert "https://gymnasium.farama.org/api/vector/#gymnasium.vector.VectorEnv" in environments


def test_links_to_files_lead_to_their_source(site: Path) -> None:
    assert 'href="../../reactors/rl/algorithms/ppo.py.html"' in (site / "docs" / "algorithms" / "ppo.html").read_text()
    assert "class PPO" in re.sub("<[^>]*>", "", (site / "reactors" / "rl" / "algorithms" / "ppo.py.html").read_text())


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 70
    assert [page.name for page in pages if ELSEWHERE.search(page.read_text())] == []


def test_formulas_are_mathml(site: Path) -> None:
    page = (site / "docs" / "algorithms" / "ppo.html").read_text()
    assert "<mfrac>" in page
    assert "$" not in re.sub(r"<pre.*?</pre>|<script.*?</script>", "", page, flags=re.DOTALL)


@needs_browser
def test_the_search_works_without_a_server(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open((site / "search.html").as_uri() + "?q=deadline")
        browser.until("document.querySelectorAll('#search-results li a').length > 3")
        assert browser.problems == []


@needs_browser
def test_no_page_is_wider_than_the_screen(site: Path, tmp_path: Path) -> None:
    pages = [page for page in site.rglob("*.html") if "docs" in page.parts or page.name == "README.html"]
    with Browser(tmp_path) as browser:
        for page in pages:
            browser.open(page.as_uri())
            browser.until(f"document.readyState == 'complete' && location.href.endsWith({page.name!r})")
            for width in (390, 1280):
                screen: dict[str, Any] = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                browser.call("Emulation.setDeviceMetricsOverride", **screen)
                wide = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wide == 0, (page, width)


# ---- the notebook ----


EXECUTE = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300).execute()
nbformat.write(notebook, sys.argv[2])
"""


def test_the_notebook_runs_and_shows_what_is_stored_in_it(tmp_path: Path) -> None:
    stored, run = ROOT / "examples" / "tour.ipynb", tmp_path / "tour.ipynb"
    command = [sys.executable, "-c", EXECUTE, stored, run]  # apart, for a kernel's client leaves descriptors behind
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cells = [nbformat.read(file, as_version=4).cells for file in (stored, run)]
    said = [[printed(cell) for cell in each if cell.cell_type == "code"] for each in cells]
    assert said[0] == said[1]
    assert any("True True" in each for each in said[0])


def printed(cell: nbformat.NotebookNode) -> str:
    """What a cell printed, and its value as text, without what belongs to one run or to one kind of processor.

    Files and lines of the kernel and times are of a run; what a policy learned, to the last bit, is of the processor
    and of the algorithm, which other tests are about.
    """
    outputs = [str(output.get("text", output.get("data", {}).get("text/plain", ""))) for output in cell.outputs]
    return re.sub(
        r"/\S*ipykernel\S*|wall_time.*|(?<=steps, digest )\w+|^\d+\.\d+ [01]$",
        "",
        "\n".join(outputs),
        flags=re.MULTILINE,
    )
