"""Effects that a reaction did not declare, or that are used when it is over or on another thread."""

import threading
from functools import partial
from typing import Any

import pytest

import reactors as rx
from tests.execution.bad_programs.writer_and_reader import Deed, Main, every_way, failed
from tests.messages import marked, refused

# Effects in the wrong hands


class Thief(rx.Reactor):
    """Two reactions of which only the first declares the effects; the second does what a test asks of it."""

    tick = rx.Timer()
    out = rx.Output(int)  # @loot
    act = rx.LogicalAction()  # @lootact
    spare = rx.LogicalAction()  # @spare

    def __init__(self, deed: Deed) -> None:
        self.deed = deed

    @rx.reaction(tick, effects=(out, act, rx.stop))
    def own(self) -> None: ...

    @rx.reaction(tick)
    def steal(self) -> None:
        self.deed(self)


def on_a_thread(deed: Deed, self: Any) -> None:
    errors: list[Exception] = []

    def work() -> None:
        try:
            deed(self)
        except rx.ReactorError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    for error in errors:
        raise error


@every_way
@pytest.mark.parametrize("by", [lambda deed: deed, lambda deed: partial(on_a_thread, deed)], ids=["reaction", "thread"])
@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (
            lambda self: self.out.set(1),
            (
                "main.out (@loot): .set while the reaction main.steal runs, which does not declare it; name it in the "
                "effects of the reaction that uses it"
            ),
        ),
        (
            lambda self: self.act.schedule(),
            (
                "main.act (@lootact): .schedule while the reaction main.steal runs, which does not declare it; name it "
                "in the effects of the reaction that uses it"
            ),
        ),
        (
            lambda self: self.spare.schedule(),
            (
                "main.spare (@spare): .schedule while the program runs, but no reaction declares it; name it in the "
                "effects of the reaction that uses it"
            ),
        ),
        (lambda self: self.request_stop(), "main.steal: request_stop() needs effects=rx.stop"),
        (
            lambda self: self.update_deadline(5),
            "main.steal: update_deadline() needs a reaction that declares a deadline",
        ),
    ],
    ids=["set", "schedule", "nobody's", "stop", "deadline"],
)
def test_effect_used_by_who_did_not_declare_it(way: Any, by: Any, deed: Deed, words: str) -> None:
    """The port and the reaction that runs."""
    error = failed(Thief(by(deed)), **{**way, "placement": "auto"})
    assert error.reaction == "main.steal"
    assert isinstance(error.__cause__, rx.UndeclaredAccessError)
    assert marked(error.__cause__).startswith(words)


@pytest.mark.parametrize(
    "port_of",
    [
        lambda self: lambda: self.number,
        lambda self: lambda port=self.number: port,
    ],
    ids=["through its reactor", "itself"],
)
def test_effect_used_by_a_thread_that_outlives_its_reaction(port_of: Any) -> None:
    words: list[str] = []

    def leave(self: Any) -> None:
        if self.kept is not None:
            return
        late, port = threading.Event(), port_of(self)

        def work() -> None:
            late.wait()
            words.append(refused(rx.OutsideReactionError, lambda: port().set(1)))

        self.kept = late, threading.Thread(target=work)
        self.kept[1].start()

    main = Main(leave)
    rx.run(main, fast=True, timeout=0)
    late, thread = main.writer.kept
    late.set()
    thread.join()
    assert words[0].startswith("main.writer.number (@number): .set outside of a reaction; ")


def test_method_of_a_port_that_was_kept_before_the_run() -> None:
    """Does what it does in the reaction that declares it."""

    def keep(self: Any) -> None:
        self.kept(5)

    main = Main(keep, lambda self: setattr(self, "seen", self.number.value))
    main.writer.kept = main.writer.number.set
    rx.run(main, timeout=0)
    assert main.reader.seen == 5  # type: ignore[attr-defined]
