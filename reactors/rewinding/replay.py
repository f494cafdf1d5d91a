"""A run that one goes through, forward and back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self, overload

from reactors.errors import ArgumentError, ReactorWarning
from reactors.graph import Graph
from reactors.model.ports import Port
from reactors.model.reactor import Reactor
from reactors.names.keywords import spelled_out
from reactors.rewinding import origins
from reactors.rewinding.bisecting import bisected, is_before_tags
from reactors.rewinding.breakpoints import port_at, with_stop
from reactors.rewinding.counterfactual import counterfactual
from reactors.rewinding.one_execution import place_in
from reactors.rewinding.places import Breaks, Goal, Standing, tag_of
from reactors.rewinding.sending import received
from reactors.slicing.slice import slice_of, thing_at
from reactors.tag import Tag
from reactors.time import Duration, duration
from reactors_runtime import callers
from reactors_runtime.spelling import spell_tag
from reactors_runtime.values import dumps

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from reactors.execution.clock import VirtualClock
    from reactors.rewinding.bisecting import Bisected, Question
    from reactors.rewinding.counterfactual import Counterfactual
    from reactors.rewinding.origins import Origin
    from reactors.rewinding.timeline import Timeline
    from reactors.slicing.slice import Slice

_LAST = (1 << 63) - 1


class Replay:
    """Executes a program again, reaction by reaction, and goes back as well.

    `program` is a reactor or a graph, with what `rx.run` was given (`seed`, `timeout`, the log of what came from
    outside as `replay`, or a `clock`), or the folder of a training. It is executed on one worker, in a process of its
    own; what reactions print is not shown if it is `quiet`. Going back takes a snapshot from before, a copy of that
    process, and executes again from there.

    `main` is the program, with the state that it has where the run stands: before its first reaction at first. Its
    objects are the caller's own, brought up to date when they are asked for.

    Raises `ReplayError` for what no second run does like the first: events from outside without a log, the mode "free".

    >>> import reactors as rx
    >>> class Walk(rx.Reactor):
    ...     tick = rx.Timer(0, "1 ms")
    ...     def __init__(self):
    ...         self.x = 0
    ...     @rx.reaction(tick)
    ...     def step(self):
    ...         self.x += int(self.rng.integers(-5, 6))
    >>> with rx.Replay(Walk(), seed=1, timeout="1 s") as r:
    ...     there = r.to("500 ms").main.x
    ...     further = r.step("tag").main.x
    ...     r.back("tag").main.x == there != further
    True
    """

    @spelled_out("rx.Replay")
    def __init__(
        self,
        program: Reactor | Graph | str | os.PathLike[str],
        *,
        seed: int = 0,
        timeout: Duration | None = None,
        replay: str | os.PathLike[str] | None = None,
        clock: VirtualClock | None = None,
        quiet: bool = True,
        **training: Any,
    ) -> None:
        self._timelines: dict[int, Timeline] = {}  # by origin, once they were needed
        self._at = 0  # the origin whose timeline is the present one
        self._fresh = False  # main is as it is where the run stands
        self._warned: set[str] = set()
        if isinstance(program, Reactor | Graph):
            if training:
                raise ArgumentError(
                    f"rx.Replay of a program was given {', '.join(training)}; it takes seed, timeout, replay, clock "
                    "and quiet"
                )
            self._origins: list[Origin] = [
                origins.of_program(
                    program, seed=seed, timeout=timeout, replay=replay, clock=clock, quiet=quiet, debug=False
                )
            ]
        else:
            self._origins = origins.of_folder(program, quiet=quiet, **training)
        self._timeline_of(0)

    # ---- where it is ----

    @property
    def main(self) -> Any:
        """The program as it is here. What cannot be sent between processes says so when it is used: use `ask`."""
        if not self._fresh:
            self._timeline.take_home()
            self._fresh = True
        return self._timeline.graph.main

    @property
    def graph(self) -> Graph:
        """The program's graph."""
        return self._timeline.graph

    @property
    def tag(self) -> Tag | None:
        """The tag of the last reaction that was executed; None: none was."""
        return tag_of(self._standing.tag)

    @property
    def position(self) -> int:
        """How many reactions have been executed since the start, or the checkpoint that the run goes on from."""
        return self._standing.position

    @property
    def next(self) -> str | None:
        """The path of the reaction that comes next; None: there is none, the program is over."""
        number = self._standing.next
        return None if number < 0 else self.graph.names[number]

    @property
    def over(self) -> bool:
        """Whether the program is over."""
        return self._standing.next < 0

    @property
    def failed(self) -> str:
        """The traceback of the reaction that ended the program; "" if none did."""
        return "" if self._standing.failed is None else self._standing.failed[1]

    @property
    def stopped_by(self) -> str:
        """Why it stopped: a breakpoint, a condition, the end; "" if it is where it was to go."""
        return self._standing.why

    @property
    def inputs(self) -> dict[str, Any]:
        """What the next reaction will find at its triggers and uses: values by path."""
        if self.over:
            return {}
        found = self._timeline.ask("inputs")
        return {self.graph.program.elements[e].path: received(value) for e, value in found.items()}

    @property
    def written(self) -> dict[str, Any]:
        """What the reaction wrote that the last `step()` executed, or `back()` came to: values by path."""
        found = self._standing.written or {}
        return {self.graph.program.elements[e].path: received(value) for e, value in found.items()}

    @property
    def digest(self) -> str:
        """The digest of what has been executed so far: at the end that of `rx.run`, if it began at the start."""
        return str(self._timeline.ask("digest"))

    @property
    def hashes(self) -> dict[str, int]:
        """A hash of the state of each reactor, by path: of the content of its attributes."""
        found: dict[str, int] = self._timeline.ask("hashes")
        return found

    def __repr__(self) -> str:
        where = self._standing
        at = "before its first reaction" if where.tag is None else f"after {spell_tag(*where.tag)}"
        then = "at its end" if where.next < 0 else f"before {self.next} at {spell_tag(*(where.next_tag or (0, 0)))}"
        if where.failed is not None:
            then += f", for {self._blamed(where.failed[0])} raised {where.failed[1].strip().splitlines()[-1]}"
        why = f" ({where.why})" if where.why and where.next >= 0 else ""
        return f"<replay of {self.graph.main.path} {at}, {then}{why}>"

    def _blamed(self, reaction: int) -> str:
        return "the engine" if reaction < 0 else self.graph.names[reaction]

    def ask(self, question: Question) -> Any:
        """What a function of main returns, or an expression is worth, in the process of the run: `m` is main there.

        It is for what cannot be sent here: an environment, a generator, a compiled function. What is changed there
        stays changed from here on.
        """
        data = question if isinstance(question, str) else dumps(question)
        return received(self._timeline.ask("ask", data))

    # ---- going ----

    @overload
    def to(self, when: Tag | Duration, /) -> Self: ...
    @overload
    def to(self, when: str, n: int, /) -> Self: ...
    def to(self, when: Any, n: int | None = None, /) -> Self:
        """Go to where all of a tag, or of a time, is over; with `n`, to before the n-th execution of a reaction.

        Back or forward. A time is a duration since the start, as in "37 min"; executions are counted from 1.
        """
        if n is not None:
            place = place_in(self._origin_timeline().graph, when, n, what="to of rx.Replay")
            return self._went(self._origin_timeline(), Goal(reaction=place.reaction, n=n), _before_n(place.reaction, n))
        if isinstance(when, str) and when in self.graph.names:
            return self.to(when, 1)
        tag = when if isinstance(when, Tag) else Tag(duration(when, "time of rx.Replay.to"), _LAST)
        at = max(i for i, origin in enumerate(self._origins) if origin.first <= tag.time or i == 0)
        return self._went(self._timeline_of(at), Goal(tag=tag), lambda where: where.tag is None or where.tag <= tag)

    def end(self) -> Self:
        """Go to the end of the program, past all breakpoints; or to the reaction that raises."""
        return self._went(self._timeline, Goal(), lambda _: True)

    def go(self) -> Self:
        """Go on to the next breakpoint, or to the end."""
        return self._went(self._timeline, Goal(breaks=True), lambda _: True)

    def step(self, what: str = "reaction") -> Self:
        """Execute one reaction more, or, with "tag", all of the next tag."""
        where = self._standing
        if self._one(what) == "reaction":
            return self._went(self._timeline, Goal(position=where.position + 1), lambda _: True)
        return self._went(self._timeline, Goal(tags=where.tags + (where.tag != where.next_tag)), lambda _: True)

    def back(self, what: str = "reaction") -> Self:
        """Go back by one reaction, or, with "tag", to before all of the last tag."""
        where, timeline = self._standing, self._timeline
        if where.position == 0 and self._at > 0:  # before a checkpoint
            first = self._origins[self._at].first
            return self.to(Tag(first - 1, _LAST))
        if self._one(what) == "reaction":
            position = max(0, where.position - 1)
            return self._went(timeline, Goal(position=position), lambda there: there.position <= position)
        tags = max(0, where.tags - 1)
        return self._went(timeline, Goal(tags=tags), partial(is_before_tags, tags))

    def _one(self, what: str) -> str:
        if what not in ("reaction", "tag"):
            raise ArgumentError(f'a replay goes on or back by a "reaction" or a "tag", and was told {what!r}')
        return what

    def _went(self, timeline: Timeline, goal: Goal, is_before: Callable[[Standing], bool]) -> Self:
        self._at = next(at for at, each in self._timelines.items() if each is timeline)
        self._fresh = False
        where = timeline.go(goal, is_before)
        for complaint in where.complaints if goal.breaks and where.next < 0 else ():
            callers.warn(f"{self.graph.main.path}: stop_at: {complaint}", ReactorWarning)
        if where.hindrance and where.hindrance not in self._warned:
            self._warned.add(where.hindrance)
            callers.warn(
                f"{self.graph.main.path}: no snapshot can be made of what runs now, for {where.hindrance}; to go "
                "back it is executed again from the last snapshot before that, or from its start",
                ReactorWarning,
            )
        return self

    # ---- breakpoints ----

    def stop_at(
        self, *where: str | Port[Any] | Callable[[Any], bool], when: Callable[[Any], bool] | None = None
    ) -> Self:
        """Have `go` stop before a reaction, or after one that wrote to a port, or after which a condition holds.

        A reaction is given by its path, a port by its path or as it is, and `when` is a condition of its value. A
        condition is a function of main, or an expression in which main is `m`.
        """
        breaks = self._timeline.breaks
        for each in where:
            breaks = with_stop(breaks, self.graph, each, when)
        for timeline in self._timelines.values():
            timeline.breaks = breaks
        return self

    def forget_stops(self) -> Self:
        """Have `go` stop at the end alone."""
        for timeline in self._timelines.values():
            timeline.breaks = Breaks()
        return self

    # ---- why, what if, and since when ----

    def why(self, place: Port[Any] | str, *, most: int = 1000) -> Slice:
        """What made the value that a port or an attribute has here: a slice of the run, back to where it begins.

        All is executed again from the start, or from the checkpoint that the run goes on from, and what each reaction
        reads and changes is noted meanwhile. The last `most` executions are kept one by one, the others counted. Raises
        `ArgumentError` if there is no such place.

        >>> import reactors as rx
        >>> class Counter(rx.Reactor):
        ...     tick, count = rx.Timer(0, "1 ms"), rx.Output(int)
        ...     def __init__(self):
        ...         self.n, self.by = 0, 2
        ...     @rx.reaction(tick, effects=count)
        ...     def step(self):
        ...         self.n += self.by
        ...         self.count.set(self.n)
        >>> with rx.Replay(Counter(), timeout="9 ms") as r:
        ...     print(r.to("1 ms").why("main.count"))
        main.count was made by 2 executions of 1 reaction
          main.step at 1 ms made main.count of
            main.tick, a timer
            main.n, by main.step at 0 s
            main.by, as it was made
          main.step at 0 s made main.n of
            main.tick, a timer
            main.n, as it was made
            main.by, as it was made
        it begins with
          main.tick, a timer
          main.by, as it was made
          main.n, as it was made
        """
        path = place if isinstance(place, str) else place.path
        _ = self.main  # with the attributes that it has by now
        thing = thing_at(self.graph, path)
        return slice_of(self.graph, path, self._timeline.noticed(thing, most))

    def fork(
        self,
        edit: Mapping[str, Any] | None = None,
        *,
        drop: Port[Any] | str | Sequence[Port[Any] | str] = (),
        until: Tag | Duration | None = None,
    ) -> Counterfactual:
        """What would have been, had something been otherwise from here on; the replay itself stays where it is.

        `edit` are new values by place, as in {"main.learner.lr": 1e-4}: the place has to be there. `drop` are ports
        whose next message gets lost. Both runs, as it was and with the change, go on to the end, or to `until`. The
        same again has the same digests. Raises what is wrong with a place, and `ArgumentError`.

        >>> import reactors as rx
        >>> class Counter(rx.Reactor):
        ...     tick, count = rx.Timer(0, "1 ms"), rx.Output(int)
        ...     def __init__(self):
        ...         self.n, self.by = 0, 1
        ...     @rx.reaction(tick, effects=count)
        ...     def step(self):
        ...         self.n += self.by
        ...         self.count.set(self.n % 4)
        >>> with rx.Replay(Counter(), timeout="9 ms") as r:
        ...     print(r.to("4 ms").fork({"main.by": 3}))
        main.by = 3 after 4 ms
        digest ..., the same reactions ran
        main.count: 3 other values of 5, from 5 ms on
        other in the end: main
        """
        places = edit or {}
        ports = [drop] if isinstance(drop, str | Port) else [*drop]
        lost = dict(map(self._source, ports))
        end = until if until is None or isinstance(until, Tag) else Tag(duration(until, "until of fork"), _LAST)
        for place in places:
            if not place.isprintable() or place.split(".")[0].split("[")[0] not in ("main", "m"):
                raise ArgumentError(f"edit of fork has {place!r}; write a place in main, as in main.learner.lr")
        if end is not None and self.tag is not None and end < self.tag:
            raise ArgumentError(f"until of fork is {end}, which is before {self.tag}, where the run stands")
        return counterfactual(
            self._timeline, places, lost, {place: dumps(value) for place, value in places.items()}, end
        )

    def _source(self, port: Port[Any] | str) -> tuple[int, str]:
        """The port from which a message comes, by its number and path."""
        path = port if isinstance(port, str) else port.path
        element, elements = port_at(self.graph, path), self.graph.program.elements
        row = elements[element]
        if row.source in (-1, element):
            return element, path
        written = elements[row.source].path
        if not row.undelayed or any(
            each.source == row.source and each.path not in (path, written) for each in elements
        ):
            raise ArgumentError(
                f"drop of fork: what comes to {path} is written to {written}, for others or for a later tag, too; "
                "name that port, whose next message gets lost"
            )
        return row.source, written

    def bisect(self, check: Question) -> Bisected | None:
        """The first reaction after which `check` fails, a function of main or an expression; None if it never does.

        By halves: it is taken to hold up to some tag, and to fail from there on. After log2(n) + 2 executions of parts
        of the program at the most, of n tags, the replay stands right after that reaction: `back()` is before it.
        Where the check raises, it counts as one that holds, for what it asks for may be made later; at the end that
        comes out.

        >>> import reactors as rx
        >>> class Doubling(rx.Reactor):
        ...     tick = rx.Timer(0, "1 ms")
        ...     x = 1.0
        ...     @rx.reaction(tick)
        ...     def step(self):
        ...         self.x *= 2
        >>> with rx.Replay(Doubling(), timeout="2 s") as r:
        ...     print(r.bisect("np.isfinite(m.x)"))
        main.step at 1.023 s, after 10 executions
        """
        self._at, self._fresh = 0, False
        return bisected(self._origin_timeline(), check)

    # ---- its end ----

    @property
    def _timeline(self) -> Timeline:
        return self._timelines[self._at]

    @property
    def _standing(self) -> Standing:
        return self._timeline.standing

    def _origin_timeline(self) -> Timeline:
        return self._timeline_of(0)

    def _timeline_of(self, at: int) -> Timeline:
        if at not in self._timelines:
            self._timelines[at] = self._origins[at].begin()
        return self._timelines[at]

    def close(self) -> None:
        """End all processes of it. `main` stays as it was brought home last."""
        for timeline in self._timelines.values():
            timeline.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _before_n(reaction: int, n: int) -> Callable[[Standing], bool]:
    return lambda where: where.counts[reaction] < n
