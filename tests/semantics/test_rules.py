"""Has every rule of the catalogue a test, and does every test say which rule it is?

The docstring of a test begins with the sections and numbers of its rules: "Timers 1, 6: ...". A section is a table of
the catalogue of what Lingua Franca does, and the number a row of it.
"""

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent

SECTIONS = {  # how many rules each has
    "tags": 8,
    "one tag": 8,
    "the end": 10,
    "timers": 6,
    "actions": 15,
    "ports": 14,
    "wiring": 11,
    "precedence": 9,
    "deadlines": 7,
    "modes": 17,
    "classes": 8,
}
ELSEWHERE = {
    "tags 8": "how durations are written: tests/model/test_time.py",
    "the end 10": "Ctrl-C: tests/faults/test_interrupts.py; shutdown reactions run here, then it comes out",
    "wiring 7": "widths that do not match are refused: tests/elaboration/bad_programs/test_fitting.py",
    "precedence 8": "levels are no semantics: tests/elaboration/test_graph.py",
    "modes 15": "it is not known which attributes a mode should renew; what is to be renewed is an rx.State",
    "modes 17": "there are neither federations nor enclaves here",
    "classes 7": "a preamble is what a Python module and class have",
    "classes 8": "an import is Python's",
}


def rules_of(docstring: str) -> list[str]:
    """The rules that a docstring names."""
    cited, _, _ = docstring.partition(":")
    found = []
    for section, numbers in re.findall(r"([a-z ]+?) ((?:\d+(?:-\d+)?(?:, )?)+)", cited.lower()):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", numbers):
            found += [f"{section.strip()} {n}" for n in range(int(first), int(last or first) + 1)]
    return found


def test_every_rule_has_a_test_and_every_test_a_rule() -> None:
    named: set[str] = set()
    for file in HERE.glob("test_*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and file.name != Path(__file__).name:
                rules = rules_of(ast.get_docstring(node) or "")
                assert rules, f"{file.name}: {node.name} names no rule"
                named.update(rules)
    rules = {f"{section} {n}" for section, most in SECTIONS.items() for n in range(1, most + 1)}
    assert named <= rules
    assert sorted(rules - named) == sorted(ELSEWHERE)
