"""`python release.py v0.2.0`: may it go out? Prints its notes, which CHANGELOG.md has, or says what is missing."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(changelog: str, version: str) -> str:
    r"""The section of a version, without its title; "" if there is none, or it has no date yet.

    >>> notes("## [0.2.0] - 2027-01-05\n\n- New.\n\n## [0.1.0] - unreleased\n\n- All.\n", "0.2.0")
    '- New.'
    >>> notes("## [0.2.0] - unreleased\n\n- New.\n", "0.2.0")
    ''
    """
    found = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return found[1].strip() if found else ""


def missing(tag: str) -> list[str]:
    """What keeps a tag from being published."""
    settings = (ROOT / "pyproject.toml").read_text()
    version = tomllib.loads(settings)["project"]["version"]
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and pyproject.toml has version {version}")
    if not notes((ROOT / "CHANGELOG.md").read_text(), version):
        found.append(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    if ".invalid" in settings + (ROOT / "CITATION.cff").read_text():
        found.append("pyproject.toml and CITATION.cff name a host that does not exist: write the repository's address")
    return found


if __name__ == "__main__":
    if wrong := missing(sys.argv[1]):
        sys.exit("\n".join(wrong))
    print(notes((ROOT / "CHANGELOG.md").read_text(), sys.argv[1].removeprefix("v")))
