"""What is said of a keyword argument that there is not?"""

from __future__ import annotations

from typing import Any

import pytest

import reactors as rx
from tests.messages import Source, marked, refused


class Scaled(rx.Reactor):
    def __init__(self, n: int = 1, *, scale: float = 1.0) -> None:
        self.n, self.scale = n, scale


class Open(rx.Reactor):
    """Passes on what it is given, as its own base class takes it."""

    def __init__(self, **others: Any) -> None:
        self.others = others


CALLS = [
    ("rx.run(Source(), worker=2)", "rx.run (wrong.py:1) has no parameter 'worker'; did you mean 'workers'?"),
    (
        "rx.connect(Source().out, Source().out, aftr=1)",
        "rx.connect (wrong.py:1) has no parameter 'aftr'; did you mean 'after'?",
    ),
    ("rx.Timer(perod='1 s')", "rx.Timer (wrong.py:1) has no parameter 'perod'; did you mean 'period'?"),
    ("rx.Output(int, witdh=2)", "rx.Output (wrong.py:1) has no parameter 'witdh'; did you mean 'width'?"),
    ("rx.Input(int, mutabel=True)", "rx.Input (wrong.py:1) has no parameter 'mutabel'; did you mean 'mutable'?"),
    (
        "rx.LogicalAction(min_dely=1)",
        "rx.LogicalAction (wrong.py:1) has no parameter 'min_dely'; did you mean 'min_delay'?",
    ),
    ("rx.Mode(start=True)", "rx.Mode (wrong.py:1) has no parameter 'start'; it takes initial"),
    ("rx.State(0, mod=None)", "rx.State (wrong.py:1) has no parameter 'mod'; did you mean 'mode'?"),
    ("rx.VirtualClock(slep=True)", "rx.VirtualClock (wrong.py:1) has no parameter 'slep'; did you mean 'sleep'?"),
    ("rx.Graph(Source(), dbug=True)", "rx.Graph (wrong.py:1) has no parameter 'dbug'; did you mean 'debug'?"),
    ("rx.native(None, stat=1)", "rx.native (wrong.py:1) has no parameter 'stat'; did you mean 'state'?"),
    (
        "rx.Graph(Source()).mermaid(dept=1)",
        "the picture of a graph (wrong.py:1) has no parameter 'dept'; did you mean 'depth'?",
    ),
    (
        "Source().add_reaction(rx.startup, print, efects=())",
        "add_reaction (wrong.py:1) has no parameter 'efects'; did you mean 'effects'?",
    ),
    ("rx.bank(2, Scaled, m=3)", "Scaled (wrong.py:1) has no parameter 'm'; its __init__ takes n and scale"),
    ("rx.bank(2, Scaled, scal=3)", "Scaled (wrong.py:1) has no parameter 'scal'; did you mean 'scale'?"),
    ("Scaled(m=3)", "Scaled (wrong.py:1) has no parameter 'm'; its __init__ takes n and scale"),
    ("rx.Timer(colour=1)", "rx.Timer (wrong.py:1) has no parameter 'colour'; it takes offset, period and mode"),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_it_is_named_with_what_was_meant(call: str, words: str) -> None:
    known = {"rx": rx, "Source": Source, "Scaled": Scaled}
    assert refused(rx.ArgumentError, lambda: eval(compile(call, "wrong.py", "eval"), known)) == words


def test_a_mode_is_a_parameter_of_every_reactor() -> None:
    """Once one of its class was made in a mode, the class takes it, and is asked as before."""

    wrong: Any = {"m": 3}

    class Main(rx.Reactor):
        on = rx.Mode(initial=True)

        def __init__(self) -> None:
            self.scaled = Scaled(2, mode=self.on)  # type: ignore[call-arg]

    assert Main().scaled.n == 2
    assert Scaled(n=3).n == 3
    assert refused(rx.ArgumentError, lambda: rx.bank(1, Scaled, **wrong)) == (  # @call
        "Scaled (@call) has no parameter 'm'; its __init__ takes n, scale and mode"
    )


def test_what_takes_any_keyword_is_not_asked() -> None:
    assert Open(anything=1).others == {"anything": 1}


def test_a_run_warns_at_the_line_of_its_call() -> None:
    """Though a check of its keywords lies in between."""
    with pytest.warns(rx.ReactorWarning) as caught:
        rx.run(rx.Reactor())  # @call
    assert [(each.filename, marked(f"{each.filename}:{each.lineno}")) for each in caught] == [(__file__, "@call")]
