"""Reactions that use what they did not declare, or what they may not."""

from typing import Any

import pytest

import reactors as rx
from tests.messages import Relay, Source, graph_of, refused, refused_class

# What a reaction may use


def test_reaction_sets_its_own_input() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            inp = rx.Input(int)

            @rx.reaction(inp)
            def step(self) -> None:
                self.inp.set(1)  # @ownset

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@ownset): self.inp.set, but inp is an input of its own, which is set from outside; a reaction "
        "can set outputs of its reactor and inputs of contained reactors"
    )


def test_reaction_declares_its_own_input_as_effect() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            inp = rx.Input(int)  # @owninp

            @rx.reaction(rx.startup, effects=inp)  # @owneffect
            def step(self) -> None: ...

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@owneffect) has the input Wrong.inp (@owninp) of its own reactor in effects, but that is set from "
        "outside; it can set outputs of its reactor, inputs of contained reactors, and schedule actions"
    )


def test_reaction_is_triggered_by_its_own_output() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            out = rx.Output(int)  # @ownout

            @rx.reaction(out)  # @ontrigger
            def step(self) -> None: ...

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@ontrigger) has the output Wrong.out (@ownout) of its own reactor in triggers, but that is read "
        "outside; it can read inputs of its reactor, outputs of contained reactors, timers and actions"
    )


def test_reaction_is_triggered_by_an_unrelated_port() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            @rx.reaction(Relay.inp)  # @unrelated
            def step(self) -> None: ...

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.step (@unrelated) has Relay.inp (@inp) in triggers, which Wrong does not declare; a reaction in a "
        "class can use what its class declares; for ports of contained reactors call self.add_reaction in __init__"
    )


def test_reaction_by_call_sets_the_output_of_another_reactor() -> None:
    def build(self: Any) -> None:
        self.a = Source()
        self.add_reaction(rx.startup, lambda: None, effects=self.a.out)  # @foreign

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@foreign): effects has the output main.a.out (@out), but a reaction can set its own outputs "
        "and inputs of reactors that its own contains"
    )


def test_reaction_by_call_reads_the_input_of_another_reactor() -> None:
    def build(self: Any) -> None:
        self.a = Relay()
        self.add_reaction(self.a.inp, lambda: None)  # @foreignread

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@foreignread): triggers has the input main.a.inp (@inp), but a reaction can read its own "
        "inputs and outputs of reactors that its own contains"
    )


def test_reaction_by_call_uses_the_timer_of_another_reactor() -> None:
    class Clock(rx.Reactor):
        tick = rx.Timer()  # @tick

    def build(self: Any) -> None:
        self.clock = Clock()
        self.add_reaction(self.clock.tick, lambda: None)  # @foreigntimer

    assert refused(rx.UndeclaredAccessError, graph_of(build)) == (
        "main.reaction1 (@foreigntimer): triggers has the timer main.clock.tick (@tick), but timers and actions are "
        "those of its own reactor"
    )


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("self.out.set(1)", "self.out.set, but out is not among the reaction's effects; add effects=out"),
        ("self.out.loan()", "self.out.loan, but out is not among the reaction's effects; add effects=out"),
        ("self.outs[i].set(1)", "self.outs.set, but outs is not among the reaction's effects; add effects=outs"),
        (
            "print(self.inp.value)",
            "self.inp.value, but inp is not among the reaction's triggers and uses; add uses=inp",
        ),
        (
            "(lambda: self.inp.value)()",
            "self.inp.value, but inp is not among the reaction's triggers and uses; add uses=inp",
        ),
        (
            "[self.inp.value for _ in 'x']",
            "self.inp.value, but inp is not among the reaction's triggers and uses; add uses=inp",
        ),
        (
            "self.tick.is_present",
            "self.tick.is_present, but tick is not among the reaction's triggers and uses; add uses=tick",
        ),
        ("self.act.schedule()", "self.act.schedule, but act is not among the reaction's effects; add effects=act"),
        ("self.act.value", "self.act.value, but act is not among the reaction's triggers and uses; add uses=act"),
        (
            "self.button.value",
            "self.button.value, but button is not among the reaction's triggers and uses; add uses=button",
        ),
        ("self.request_stop()", "self.request_stop(), but the reaction does not declare effects=rx.stop; add it"),
        ("self.out.value = 1", "self.out.value is assigned to; to send a value write self.out.set(...)"),
    ],
)
def test_reaction_uses_what_it_did_not_declare(use: str, words: str) -> None:
    """Found in the code of the reaction when the class is made."""
    text = f"""
class Wrong(rx.Reactor):
    inp = rx.Input(int)
    out = rx.Output(int)
    outs = rx.Output(int, width=2)
    tick = rx.Timer()
    act = rx.LogicalAction()
    button = rx.PhysicalAction()
    @rx.reaction(rx.startup)
    def step(self):
        i = 0
        {use}
"""
    assert refused_class(rx.UndeclaredAccessError, text) == f"Wrong.step (wrong.py:13): {words}"


def test_late_method_uses_what_its_reaction_did_not_declare() -> None:
    def program() -> None:
        class Wrong(rx.Reactor):
            out = rx.Output(int)

            @rx.reaction(rx.startup)
            def step(self) -> None: ...

            @step.deadline("1 ms")
            def late(self) -> None:
                self.out.set(1)  # @lateset

    assert refused(rx.UndeclaredAccessError, program) == (
        "Wrong.late (@lateset): self.out.set, but out is not among the reaction's effects; add effects=out"
    )


def test_method_added_as_reaction_uses_what_it_did_not_declare() -> None:
    """Found when the program is elaborated, for only then it is known what the method is used for."""

    class Wrong(rx.Reactor):
        out = rx.Output(int)

        def __init__(self) -> None:
            self.add_reaction(rx.startup, self.step)

        def step(self) -> None:
            self.out.set(1)  # @addedset

    assert refused(rx.UndeclaredAccessError, lambda: rx.Graph(Wrong())) == (
        "main.step (@addedset): self.out.set, but out is not among the reaction's effects; add effects=out"
    )
