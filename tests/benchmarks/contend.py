"""One contender does one task: `python contend.py MODULE[:WAY] TASK` prints the answer, as JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import asdict

from contenders.watch import Task


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    module, _, way = sys.argv[1].partition(":")
    answer = importlib.import_module(f"contenders.{module}").run(Task(**json.loads(sys.argv[2])), way)
    print(json.dumps(asdict(answer)), file=out, flush=True)
    os._exit(0)  # whatever threads and processes there are


if __name__ == "__main__":
    main()
