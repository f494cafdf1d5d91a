"""Are the random programs worth running? They have a bit of everything, and most of them do something."""

import pytest

from tests import reference
from tests.oracle.declarations import Action
from tests.oracle.random_programs import random_program

PROGRAMS = [random_program(seed) for seed in range(100)]
TEXTS = [str(program) for program in PROGRAMS]


@pytest.mark.parametrize(
    ("part", "least"),
    {
        "rx.bank(": 60,
        "width=": 60,
        "broadcast=True": 30,
        "after=0": 40,
        "after=4": 20,
        ".loan()": 20,
        "block[...] = 100": 15,
        "stacked(": 20,
        ".schedule(": 70,
        "rx.startup": 70,
        "rx.shutdown": 40,
        "rx.stop.after(": 15,
        "uses=": 60,
        "self.add_reaction(": 60,
        "self.i0 = rx.Input": 20,
        "rx.Mode(": 25,
        ".history": 10,
        ".reset": 10,
        "min_spacing": 50,
        "mutable=True": 20,
        "interleaved=True": 3,
        "physical=True": 4,
        "deadline": 3,
        "rx.PhysicalAction": 6,
        "time.sleep(": 5,
        "rx.State(": 15,
        "super().__init__()": 20,
        "raise AssertionError": 10,
        "Answers()": 8,
    }.items(),
)
def test_a_program_has_a_bit_of_everything(part: str, least: int) -> None:
    assert sum(part in text for text in TEXTS) >= least


def test_some_reactions_schedule_a_physical_action_and_change_the_mode() -> None:
    found = [
        reaction
        for program in PROGRAMS
        for cls in program.classes
        for reaction in cls.reactions
        if reaction.transitions
        and any(isinstance(x, Action) and x.moments is not None and x.mode for x in reaction.effects)
    ]
    assert len(found) >= 3


def test_most_programs_do_something() -> None:
    reactions, tags = [], []
    for program in PROGRAMS:
        main = program.main(reference)
        clock = program.clock(reference, main)
        result = reference.run(main, timeout=program.timeout, keepalive=program.keepalive, clock=clock)
        reactions.append(result.reactions)
        tags.append(result.tags)
    assert sum(n < 5 for n in reactions) <= 25
    assert sum(n > 50 for n in reactions) >= 20
    assert max(reactions) <= 5_000
    assert sum(n > 10 for n in tags) >= 20


def test_a_program_is_the_same_every_time() -> None:
    assert [str(random_program(seed)) for seed in range(3)] == TEXTS[:3]
