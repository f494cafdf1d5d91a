"""What is said of an attribute that a port, an action or a reactor does not have?

At rest it says so by itself; in a reaction, the error of the run does, also where it comes from another process.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

import reactors as rx
from tests.messages import Relay, Source, marked

WAYS = [("inline", 1), ("thread", 2), ("process", 1)]


pytestmark = pytest.mark.usefixtures("hints_at_rest")


class Meter(rx.Reactor):
    hits = rx.Input(int)  # @hits
    both = rx.Input(int, width=2)
    ring = rx.LogicalAction(int)
    tick = rx.Timer(0)
    out = rx.Output(int)

    def __init__(self, look: str = "") -> None:
        self.look = look
        self.parts = rx.bank(2, Relay)

    @rx.reaction(rx.startup, uses=[hits, both, tick, ring], effects=[out, ring])
    def start(self) -> None:
        eval(self.look)


LOOKS = [
    ("hits.values", "'Input' object has no attribute 'values'; did you mean {}.hits.value?"),
    ("hits.get", "'Input' object has no attribute 'get'; did you mean {}.hits.value?"),
    (
        "both.values",
        (
            "'Input' object has no attribute 'values'; did you mean {0}.both.value, one for each channel, or "
            "{0}.both.array, all as one block?"
        ),
    ),
    (
        "hits.gone",
        (
            "'Input' object has no attribute 'gone'; the input {}.hits (@hits) has .value, .is_present, .array, "
            ".tensor, .set(...) and .loan()"
        ),
    ),
    ("out.send", "'Output' object has no attribute 'send'; did you mean {}.out.set?"),
    ("ring.set", "'LogicalAction' object has no attribute 'set'; did you mean {}.ring.schedule?"),
    ("ring.engine", "'LogicalAction' object has no attribute 'engine'; the logical action "),
    ("tick.present", "'Timer' object has no attribute 'present'; did you mean {}.tick.is_present?"),
    ("hist", "'Meter' object has no attribute 'hist'; did you mean 'hits'?"),
    (
        "gone",
        (
            "'Meter' object has no attribute 'gone'; it has the inputs hits and both, the logical action ring, the "
            "timer tick, the output out and contains parts"
        ),
    ),
]


@pytest.mark.parametrize(("look", "words"), LOOKS)
def test_at_rest(look: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        eval(f"meter.{look}", {"meter": Meter()})
    assert marked(caught.value).startswith(words.format("Meter"))


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
@pytest.mark.parametrize(("backend", "workers"), WAYS)
def test_in_a_reaction(backend: Any, workers: int) -> None:
    """In the same words wherever it runs; afterwards it is at rest again."""
    for look, words in LOOKS:
        with pytest.raises(rx.ReactionError) as caught:
            rx.run(Meter(f"self.{look}"), backend=backend, workers=workers)
        word = "self" if "did you mean" in words else "main"  # what can be copied into the reaction
        expected = f"main.start at 0 s raised AttributeError: {words.format(word)}"
        assert marked(caught.value).startswith(expected)
    test_at_rest(*LOOKS[0])


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
@pytest.mark.parametrize(("backend", "workers"), WAYS)
@pytest.mark.parametrize(
    ("look", "words"),
    [
        ("'word'.spilt()", "AttributeError: 'str' object has no attribute 'spilt'; did you mean 'split'?"),
        ("slef", "NameError: name 'slef' is not defined; did you mean 'self'?"),
    ],
)
def test_what_is_not_ours(look: str, words: str, backend: Any, workers: int) -> None:
    """Python's suggestions, which it makes when it prints, come along from other processes."""
    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Meter(look), backend=backend, workers=workers)
    assert str(caught.value) == f"main.start at 0 s raised {words}"


@pytest.mark.parametrize(
    ("look", "words"),
    [
        ("Relay().outpp", "'Relay' object has no attribute 'outpp'; did you mean 'outp'?"),
        ("Source().gone", "'Source' object has no attribute 'gone'; it has the output out"),
        ("rx.bank(2, Relay).outpp", "the members of <bank of 2 Relay> have no port 'outpp'; did you mean 'outp'?"),
        (
            "rx.bank(2, Source).gone",
            "the members of <bank of 2 Source> have no port 'gone'; each has the output out",
        ),
        ("rx.Reactor().gone", "'Bare' object has no attribute 'gone'"),
    ],
)
def test_reactors_and_banks(look: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        eval(look, {"Relay": Relay, "Source": Source, "rx": rx})
    assert str(caught.value) == words


OUTSIDE = {
    "tag": "known only while the program runs: use it in a reaction, such as one to rx.startup",
    "lag": "known only while the program runs: use it in a reaction, such as one to rx.startup",
    "hits.value": "ports hold values only while a reaction that declares them runs",
    "both.array": "ports hold values only while a reaction that declares them runs",
    "tick.is_present": "a timer can be used only while a reaction that declares it runs",
    "ring.value": "a logical action can be used only while a reaction that declares it runs",
}


@pytest.mark.parametrize("look", OUTSIDE)
def test_what_only_a_reaction_can_ask_for_is_no_attribute_outside(look: str) -> None:
    """So defaults hold; who asks for it without one gets the whole story, once."""
    thing: Any = Meter()
    *way, name = look.split(".")
    for each in way:
        thing = getattr(thing, each)
    assert not hasattr(thing, name)
    assert getattr(thing, name, 7) == 7
    with pytest.raises(rx.OutsideReactionError) as caught:
        getattr(thing, name)
    words = str(caught.value)
    assert words.count(f".{name} outside of a reaction; ") == 1
    assert words.endswith(OUTSIDE[look])
    assert "did you mean" not in words


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
def test_all_attributes_can_be_looked_at_outside_of_a_run() -> None:
    """As notebooks and debuggers do, before a run and after it."""
    meter = Meter("0")
    for _ in range(2):
        things = (meter, meter.hits, meter.both, meter.both[0], meter.tick, meter.ring, meter.out, meter.parts, Meter)
        for thing in (*things, meter.parts.inp, Meter.hits, Meter.ring):
            assert inspect.getmembers(thing)
        assert "tag" not in dict(inspect.getmembers(meter))
        assert dict(inspect.getmembers(meter))["hits"] is meter.hits
        rx.run(meter)


def test_a_bank_says_what_its_members_say() -> None:
    bank = rx.bank(2, Relay)  # @bank
    with pytest.raises(rx.OutsideReactionError) as caught:
        _ = bank.tag
    assert marked(caught.value) == (
        "Relay (made at @bank): .tag outside of a reaction; it is known only while the program runs: use it in a "
        "reaction, such as one to rx.startup"
    )
    assert not hasattr(bank, "tag")


def test_an_interpreter_prints_one_suggestion() -> None:
    """Python would add one of its own, if it knew the object."""
    program = "import reactors as rx\nclass Relay(rx.Reactor):\n    outp = rx.Output(int)\nRelay().outpp"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    words = "AttributeError: 'Relay' object has no attribute 'outpp'; did you mean 'outp'?"
    assert done.stderr.splitlines()[-1] == words


def test_an_error_within_a_property_is_that_error() -> None:
    class Broken(rx.Reactor):
        @property
        def size(self) -> int:
            return self.lacking.size  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(AttributeError) as caught:
        Broken().size  # noqa: B018
    assert str(caught.value) == "'Broken' object has no attribute 'lacking'"


def test_dir_lists_what_is_for_users() -> None:
    """Of what is theirs, all; of what is ours, the API."""

    class Own(rx.Reactor):
        def __init__(self) -> None:
            self._own = 1

    assert "_own" in dir(Own())
    assert not {"_engine", "_made_at"} & {*dir(Own())}
    assert not [name for name in dir(Relay().inp) if name.startswith("_") and not name.startswith("__")]


class Watching(rx.Reactor):
    """Reads a port of a bank's member, by the way that `look` is written."""

    def __init__(self, look: str) -> None:
        self.look = look
        self.parts = rx.bank(2, Relay)
        self.add_reaction(rx.startup, self.read, uses=self.parts[1].outp)

    def read(self) -> None:
        eval(self.look)


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")
@pytest.mark.parametrize(("backend", "workers"), WAYS)
def test_a_port_of_a_contained_reactor_is_called_as_the_reaction_can(backend: Any, workers: int) -> None:
    for look, words in (
        ("self.parts[1].outp.values", "self.parts[1].outp.value"),
        ("(lambda whole: whole.parts[1].outp.values)(self)", "whole.parts[1].outp.value"),
        ("(lambda part: part.outp.values)(self.parts[1])", "part.outp.value"),
        ("(lambda port: port.values)(self.parts[1].outp)", "port.value"),
    ):
        with pytest.raises(rx.ReactionError) as caught:
            rx.run(Watching(look), backend=backend, workers=workers)
        assert str(caught.value).endswith(f"'Output' object has no attribute 'values'; did you mean {words}?")
