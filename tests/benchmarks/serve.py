"""The process of a peer: it reads from a pipe which variant to open, and measures as often as it is asked.

Run by run.py as `python serve.py ROW PEER...`. One JSON object a line in both directions.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from row import Measure, Row


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what peers print goes to the log
    row: Row = importlib.import_module(sys.argv[1]).row
    opened = contextlib.ExitStack()
    measures: dict[str, Measure] = {}

    def obey(command: dict[str, Any]) -> dict[str, Any]:
        if command["do"] == "open":
            measures[command["peer"]] = opened.enter_context(row.peers[command["peer"]].setup(command["variant"]))
            return {}
        if command["do"] == "close":
            measures.clear()
            opened.close()
            return {}
        sample = measures[command["peer"]](command["rounds"])
        return {"seconds": sample.seconds, "check": sample.check}

    for line in sys.stdin:
        try:
            answer = obey(json.loads(line))
        except Exception as error:  # noqa: BLE001  (whatever a peer raises is its result)
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        answers.write(json.dumps(answer) + "\n")
    opened.close()


if __name__ == "__main__":
    main()
