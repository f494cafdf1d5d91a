"""What is legal in a program, but hardly meant: warnings.

The numbers are rows of the table of bad programs; what the `@marks` are is said in `messages.py`.
"""

import warnings
from typing import Any

import pytest

import reactors as rx
from tests.messages import Main, Relay, Source, graph_of, warned


def test_input_without_a_source() -> None:
    assert warned(graph_of(lambda self: setattr(self, "a", Relay()))) == [
        (
            "main.a.inp (@inp): the reaction relay (@relay) is triggered by it, but no connection leads there and no "
            "reaction sets it; connect it, or remove it there"
        )
    ]


def test_inputs_without_a_source_are_reported_once_for_all() -> None:
    assert warned(graph_of(lambda self: setattr(self, "a", rx.bank(10, Relay)))) == [
        (
            "main.a[0].inp, main.a[1].inp, main.a[2].inp and 7 more (@inp): the reaction relay (@relay) is triggered "
            "by it, but no connection leads there and no reaction sets it; connect it, or remove it there"
        )
    ]


def test_input_connected_to_what_nothing_sets() -> None:
    class Idle(rx.Reactor):
        out = rx.Output(int)

    def build(self: Any) -> None:
        self.idle, self.relay = Idle(), Relay()
        self.idle.out >> self.relay.inp

    assert warned(graph_of(build)) == [
        (
            "main.relay.inp (@inp): the reaction relay (@relay) is triggered by it, but no reaction sets "
            "main.idle.out, to which it is connected; let one do so"
        )
    ]


@pytest.mark.parametrize(
    ("connected", "words"),
    [
        ([1], ["channels 0 and 2 of its 3 have no source"]),
        ([0, 1], ["channel 2 of its 3 has no source"]),
        ([0, 1, 2], []),
    ],
)
def test_multiport_of_which_some_channels_have_no_source(connected: list[int], words: list[str]) -> None:
    class Sum(rx.Reactor):
        terms = rx.Input(int, width=3)  # @terms

        @rx.reaction(terms)  # @add
        def add(self) -> None: ...

    def build(self: Any) -> None:
        self.source, self.sum = Source(), Sum()
        for channel in connected:
            self.source.out >> self.sum.terms[channel]

    assert warned(graph_of(build)) == [
        (
            f"main.sum.terms (@terms): the reaction add (@add) is triggered by it, but {each}; connect all, or declare "
            "a smaller width"
        )
        for each in words
    ]


def test_reaction_that_nothing_can_trigger() -> None:
    class Idle(rx.Reactor):
        act = rx.LogicalAction()

        @rx.reaction(act)  # @idle
        def wait(self) -> None: ...

        @rx.reaction()  # @empty
        def never(self) -> None: ...

    assert warned(graph_of(lambda self: setattr(self, "a", Idle()))) == [
        "nothing can trigger main.a.wait (@idle): no reaction schedules main.a.act; name it in the effects of one",
        "nothing can trigger main.a.never (@empty): it has no triggers; name some",
    ]


def test_reactions_that_trigger_only_each_other() -> None:
    class Idle(rx.Reactor):
        act = rx.LogicalAction()

        @rx.reaction(act, effects=act)  # @again
        def again(self) -> None: ...

    assert warned(graph_of(lambda self: setattr(self, "a", Idle()))) == [
        (
            "nothing can trigger main.a.again (@again): it triggers only itself; let it be triggered by rx.startup or "
            "a timer"
        )
    ]


def test_what_follows_from_a_silent_input_is_not_told_again() -> None:
    def build(self: Any) -> None:
        self.a, self.b = Relay(), Relay()
        self.a.outp >> self.b.inp

    assert len(warned(graph_of(build))) == 1


def test_output_that_nothing_reads_is_reported_in_debug_mode() -> None:
    main = Main(lambda self: setattr(self, "a", Source()))
    assert warned(lambda: rx.Graph(main)) == []
    assert warned(lambda: rx.Graph(main, debug=True)) == [
        "main.a.out (@out) is set, but nothing reads it; connect it, or remove it"
    ]


def test_globals_that_reactions_set_are_reported_of_in_debug_mode() -> None:
    """Every worker process has its own, silently."""
    text = (
        "import reactors as rx\n"
        "total = last = 0\n"
        "class Counting(rx.Reactor):\n"
        "    @rx.reaction(rx.startup)\n"
        "    def count(self):\n"
        "        global total\n"
        "        total += 1\n"
        "        self.note()\n"
        "    def note(self):\n"
        "        global last\n"
        "        def inner():\n"
        "            global last\n"
        "            last = 2\n"
        "        inner()\n"
        "        print(total)\n"
        "    def not_a_reaction(self):\n"
        "        global total\n"
        "        total = 5\n"
        "class Counters(rx.Reactor):\n"
        "    def __init__(self):\n"
        "        self.counters = rx.bank(2, Counting)\n"
    )
    names: dict[str, Any] = {"__name__": "counting"}
    exec(compile(text, "counting.py", "exec"), names)

    def words(debug: bool, main: type) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rx.Graph(main(), debug=debug)
        assert all(each.category is rx.ReactorWarning and each.filename == "counting.py" for each in caught)
        return [str(each.message) for each in caught]

    why = (
        "of which every worker process has its own, and the caller another; keep it in an attribute of self, or send "
        "it through an output"
    )
    assert words(True, names["Counting"]) == [
        f"main.count (counting.py:7) sets the global total, {why}",
        f"main.count (counting.py:13) sets the global last, {why}",
    ]
    assert words(True, names["Counters"]) == [
        f"main.counters[0].count, main.counters[1].count (counting.py:7) set the global total, {why}",
        f"main.counters[0].count, main.counters[1].count (counting.py:13) set the global last, {why}",
    ]
    assert words(False, names["Counters"]) == []
