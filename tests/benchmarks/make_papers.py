"""`make papers`: the tables and figures of the five papers, scaled to this machine, into docs/papers.

    make papers ARGS="--only pal-k,spreeze --quick"

Each table stands between marks in the page of its paper, which says what the paper has there, and what differs here.
Below it are the command that made it and the commit.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))
from made_by import commit
from papers.table import put
from run import HERE, Bench, listed

if TYPE_CHECKING:
    from papers.table import Table

PAPERS = ("lf", "pal", "paac", "impala", "spreeze")


def main() -> None:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", type=listed, default=[], help="tables whose names begin with one of these")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions: for a first look only")
    parser.add_argument("--no-ray", action="store_true", help="leave Ray out: it takes most of the time")
    given = parser.parse_args()
    given.repetitions, given.seconds = (3, 0.2) if given.quick else (5, 1.0)
    given.peers = given.variants = []
    tables: list[Table] = [table for paper in PAPERS for table in importlib.import_module(f"papers.{paper}").TABLES]
    names = [table.name for table in tables]
    for each in given.only:
        if not any(name.startswith(each) for name in names):
            parser.error(f"no table is named {each}; there are {', '.join(names)}")
    chosen = [table for table in tables if not given.only or any(table.name.startswith(each) for each in given.only)]
    made_by = commit()  # before long measurements, in which something else may be checked out
    (HERE / "results").mkdir(exist_ok=True)
    with (HERE / "results" / "papers.log").open("w") as log:
        bench = Bench(given, log)
        for table in chosen:
            print(f"\n{table.name}", flush=True)
            rows = [list(map(str, row)) for row in table.make(bench, given)]
            command = f'make papers ARGS="--only {table.name}{" --quick" * given.quick}"'
            put(table, rows, f"`{command}`, commit {made_by}.")
            print(f"written to {table.page}", flush=True)


if __name__ == "__main__":
    main()
