"""Is what a release consists of consistent, and does what stands before it refuse one that is not?"""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION: str = SETTINGS["project"]["version"]


def index_page() -> str:
    """README.md as an index shows it."""
    text = (ROOT / "README.md").read_text()
    for each in SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text.replace("$HFPR_VERSION", VERSION)


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE))


def test_one_version_everywhere() -> None:
    assert re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE) == [VERSION]
    assert re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == VERSION


def test_an_index_shows_no_link_that_is_relative() -> None:
    host = SETTINGS["project"]["urls"]["Repository"]
    within = [link for link in links((ROOT / "README.md").read_text()) if not re.match("[a-z]+:|#", link)]
    shown = links(index_page())
    assert within
    assert [link for link in shown if not re.match("[a-z]+:|#", link)] == []
    assert f"{host}/raw/v{VERSION}/docs/pictures/qlearning.svg" in shown
    assert f"{host}/blob/v{VERSION}/docs/observing.md" in shown
    assert len([link for link in shown if link.startswith(f"{host}/")]) == len(within)


def addresses(text: str) -> set[str]:
    """Of repositories of this name, with an owner or without."""
    return set(re.findall(r"https://[^\s()]*?/reactors\b", text))


def test_all_addresses_are_of_one_repository() -> None:
    urls = SETTINGS["project"]["urls"]
    texts = [*urls.values(), (ROOT / "CITATION.cff").read_text(), index_page()]
    assert set().union(*map(addresses, texts)) == {urls["Repository"]}


def test_an_address_may_have_an_owner() -> None:
    found = addresses("https://forge.example/owner/reactors/blob/main/README.md and https://other.example/reactors")
    assert found == {"https://forge.example/owner/reactors", "https://other.example/reactors"}


def test_only_what_has_passed_its_tests_is_published() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    called = {jobs[name]["uses"] for name in jobs["publish"]["needs"]}
    assert called == {"./.github/workflows/tests.yml", "./.github/workflows/wheels.yml"}
    assert {jobs[name]["needs"] for name in jobs["publish"]["needs"]} == {"check"}


def test_every_extra_is_described() -> None:
    described = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "installing.md").read_text(), re.MULTILINE)
    assert set(SETTINGS["project"]["optional-dependencies"]) - {"all"} <= set(described)


def pins(file: str) -> dict[str, str]:
    """Exact versions, by the names that an index compares."""
    found = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / file).read_text(), re.MULTILINE)
    return {re.sub("[-_.]+", "-", name).lower(): version for name, version in found}


@pytest.mark.parametrize("file", ["tests/benchmarks/requirements.txt", "tests/wheels/requirements.txt"])
def test_what_is_installed_under_the_constraints_wants_no_other_versions(file: str) -> None:
    ours, wanted = pins("constraints.txt"), pins(file)
    assert wanted
    assert {name: version for name, version in wanted.items() if ours.get(name, version) != version} == {}


def test_nobody_is_told_to_install_a_name_of_an_index() -> None:
    kinds = {".md", ".py", ".sh", ".yaml", ".yml", ".ipynb"}
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*"), *(ROOT / "examples").rglob("*")]
    texts = [path for path in [*texts, *(ROOT / "reactors").rglob("*.py")] if path.suffix in kinds]
    told = {
        str(path)
        for path in texts
        if re.search(r"pip install [^\n]*['\" ]reactors(?!-)\b|`reactors\[\w+\]`", path.read_text())
    }
    assert told == set()


# ---- .github/release.py, which the workflow of a release asks first ----

RELEASE = ROOT / ".github" / "release.py"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A tree that may be released as it is."""
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "release.py").write_text(RELEASE.read_text())
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changes\n\n## [1.2.0] - 2027-01-05\n\n- New.\n\n## [1.1.0] - 2026-12-01\n\n- Old.\n"
    )
    return tmp_path


def asked(tree: Path, tag: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, tree / ".github" / "release.py", tag], capture_output=True, text=True, check=False
    )


def test_a_release_has_the_notes_of_its_version(release: Path) -> None:
    done = asked(release, "v1.2.0")
    assert (done.returncode, done.stdout) == (0, "- New.\n")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("pyproject.toml", "1.2.0", "1.2.1", "the tag is v1.2.0, and pyproject.toml has version 1.2.1"),
        ("CHANGELOG.md", "2027-01-05", "unreleased", "no section '## [1.2.0] - YYYY-MM-DD'"),
        ("CITATION.cff", "version", "url: https://reactors.invalid\nversion", "name a host that does not exist"),
    ],
)
def test_a_release_that_is_not_ready_is_refused(release: Path, file: str, old: str, new: str, said: str) -> None:
    path = release / file
    path.write_text(path.read_text().replace(old, new))
    done = asked(release, "v1.2.0")
    assert done.returncode == 1
    assert said in done.stderr


def test_the_notes_of_this_version_are_there() -> None:
    notes = runpy.run_path(str(RELEASE))["notes"]
    dated = (ROOT / "CHANGELOG.md").read_text().replace(f"[{VERSION}] - unreleased", f"[{VERSION}] - 2027-01-05")
    assert "### Upgrading" in notes(dated, VERSION)
