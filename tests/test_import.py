"""What `import reactors` brings along."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["torch", "gymnasium", "networkx", "graphviz", "cloudpickle", "cffi", "typing_extensions"]
)
def test_import_is_free_of(module: str) -> None:
    code = f"import reactors, sys; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
