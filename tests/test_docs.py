"""Do the snippets of the documentation run as they stand?"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def snippets(page: str) -> str:
    return "\n\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL))


PAGES = ("model.md", "tutorial.md", "generated.md", "environments.md", "replay.md", "training.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run_one_after_another(page: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(snippets(page))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_programs_that_programs_write_need_no_module() -> None:
    exec(snippets("generated.md"), {})
