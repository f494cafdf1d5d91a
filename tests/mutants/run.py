"""Which planted mistakes do the tests notice? `make mutants` tries all, one at a time.

In a copy of the tree, each is planted, what has to be built is built, and the tests that should notice it run up to the
first that fails. A mistake that hangs is noticed if a test's own timeout ends it. At the end there is a table by area,
and the survivors; after a run of all it is in docs/decisions/mutants.md, too. Exit status 1 if fewer than 95 % were
noticed, 2 if the list is at fault, or a test that fails without any mistake.

    python -m tests.mutants.run [--only WORD]... [--jobs N]

`--only` takes an area (a file of tests/mutants/areas), a part of a file's path, or of a mistake's name.
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.mutants.planted import Planted, StaleError, planted
from tests.mutants.tree import ROOT, FaultyError, Outcome, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = ROOT / "docs" / "decisions" / "mutants.md"
PASS_MARK = 0.95


def chosen(words: Sequence[str]) -> list[Planted]:
    """The mistakes that any of the words is about; all if there are none."""
    return [
        each
        for each in planted()
        if not words or any(word == each.area or word in each.file or word in each.name for word in words)
    ]


def checked(tree: Tree, mistakes: Iterable[Planted], jobs: int) -> None:
    """The tests as they are: what fails without a mistake notices none."""
    tests = list(dict.fromkeys(test for each in mistakes for test in each.tests))
    in_c = [test for test in tests if test.endswith(".c")]
    in_python = [test for test in tests if not test.endswith(".c")]
    files = len({test.partition("::")[0] for test in tests})
    print(f"first without any mistake: the tests of {files} files, which should all pass", flush=True)
    failing = tree.first_failing(in_c)
    if not failing and in_python:
        failing = tree.fails_in_python(in_python, "-n", str(jobs))
    if failing and (again := [test for test in failing.split(", ") if "::" in test]):
        failing = tree.fails_in_python(again)  # alone, for it may have been short of time
    if failing:
        raise FaultyError(f"without any mistake these tests fail: {failing}")


def tried(mistakes: list[Planted], jobs: int) -> list[Outcome]:
    """What comes of each; says so as it goes."""
    trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
    every = [Tree(number) for number in range(jobs)]
    for tree in every:
        trees.put(tree)
    checked(every[0], mistakes, jobs)
    width = max(len(each.name) for each in mistakes)

    def one(mistake: Planted) -> Outcome:
        tree = trees.get()
        try:
            outcome = tree.tried(mistake)
        finally:
            trees.put(tree)
        found = outcome.by or (f"AT FAULT: {outcome.fault}" if outcome.fault else "SURVIVES")
        print(f"{mistake.area:12} {mistake.name:{width}} {outcome.seconds:5.0f} s  {found}", flush=True)
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        try:
            return list(pool.map(one, mistakes))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for tree in every:
                tree.stop()
            raise


def report(outcomes: Iterable[Outcome]) -> str:
    """The table by area, as Markdown, and the survivors."""
    rows: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        rows.setdefault(outcome.mistake.area, []).append(outcome)
        rows.setdefault("all", []).append(outcome)
    rows["all"] = rows.pop("all")
    lines = ["| area | planted | noticed | |", "| --- | ---: | ---: | ---: |"]
    for area, found in rows.items():
        noticed = sum(outcome.by is not None for outcome in found)
        lines.append(f"| {area} | {len(found)} | {noticed} | {noticed / len(found):.0%} |")
    survivors = [outcome.mistake for outcome in rows["all"] if outcome.by is None]
    lines += ["", *(f"- `{each.file}`: {each.name}" for each in survivors)] if survivors else []
    return "\n".join(lines)


def main() -> None:
    """Try them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    options = parser.parse_args()
    mistakes = chosen(options.only)
    if not mistakes:
        parser.error(f"no mistake has to do with {' or '.join(options.only)}")
    try:
        outcomes = tried(mistakes, options.jobs)
    except (FaultyError, StaleError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"\n{report(outcomes)}")
    if not options.only:
        before, begin, rest = PAGE.read_text().partition("<!-- result -->\n")
        _, end, after = rest.partition("<!-- end of result -->")
        PAGE.write_text(f"{before}{begin}{report(outcomes)}\n{end}{after}")
    if any(outcome.fault for outcome in outcomes):
        sys.exit(2)
    noticed = sum(outcome.by is not None for outcome in outcomes)
    sys.exit(noticed < PASS_MARK * len(outcomes))


if __name__ == "__main__":
    main()
