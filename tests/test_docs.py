"""Do the snippets of the documentation run as they stand?"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["model.md", "tutorial.md", "generated.md", "training.md"])
def test_the_snippets_of_a_page_run_one_after_another(page: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
