"""A run that you can step through, forward and back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self, overload

from reactors.errors import ArgumentError, ReactorWarning, ReplayError
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
from reactors.rewinding.timeline import closed
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
    """Runs a program again, reaction by reaction, and can also go back.

    `program` is a reactor or a graph, with the arguments that `rx.run` had (`seed`, `timeout`, the log of external
    events as `replay`, or a `clock`), or the folder of a training. It runs on one worker, in a process of its own; with
    `quiet`, what reactions print is not shown. To go back, it takes an earlier snapshot, which is a copy of that
    process, and runs again from there.

    `main` is the program with its state at the current position, which at first is before the first reaction. It
    consists of the caller's own objects, updated on access.

    Raises `ReplayError` for what no second run can repeat: external events without a log, the mode "free". A training
    that went on with another `total_steps` follows the schedules of then; what is between that place and its oldest
    checkpoint is refused.

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
        self._closed = False
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
        if cut := self._origins[0].cut:
            callers.warn(cut, ReactorWarning)
        self._timeline_of(0)

    # ---- where it is ----

    @property
    def main(self) -> Any:
        """The program at this position. What cannot be sent between processes says so when used: use `ask` for it."""
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
        """The tag of the last executed reaction; None if there is none."""
        return tag_of(self._standing.tag)

    @property
    def position(self) -> int:
        """The number of reactions executed since the start, or since the checkpoint from which the run was resumed."""
        return self._standing.position

    @property
    def next(self) -> str | None:
        """The path of the next reaction; None if there is none, because the program is over."""
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
        """Why it stopped: a breakpoint, a condition, the end; "" if it reached its destination."""
        return self._standing.why

    @property
    def inputs(self) -> dict[str, Any]:
        """What the next reaction will read from its triggers and uses: values by path."""
        if self.over:
            return {}
        found = self._timeline.ask("inputs")
        return {self.graph.program.elements[e].path: received(value) for e, value in found.items()}

    @property
    def written(self) -> dict[str, Any]:
        """What the reaction wrote that was executed by the last `step()`, or reached by `back()`: values by path."""
        found = self._standing.written or {}
        return {self.graph.program.elements[e].path: received(value) for e, value in found.items()}

    @property
    def digest(self) -> str:
        """The digest of everything executed so far: at the end that of `rx.run`, if the replay began at the start."""
        return str(self._timeline.ask("digest"))

    @property
    def hashes(self) -> dict[str, int]:
        """A hash of each reactor's state, by path: of the content of its attributes."""
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
        """The result of a function of main, or of an expression in which main is `m`, in the process of the run.

        It is for what cannot be sent here: an environment, a generator, a compiled function. Changes made there persist
        from here on.
        """
        data = question if isinstance(question, str) else dumps(question)
        return received(self._timeline.ask("ask", data))

    # ---- going ----

    @overload
    def to(self, when: Tag | Duration, /) -> Self: ...
    @overload
    def to(self, when: str, n: int, /) -> Self: ...
    def to(self, when: Any, n: int | None = None, /) -> Self:
        """Go to the end of a tag, or of a time; with `n`, to before the n-th execution of a reaction.

        It goes back or forward. A time is a duration since the start, such as "37 min"; executions are counted from 1.
        """
        if n is not None:
            place = place_in(self._origin_timeline().graph, when, n, what="to of rx.Replay")
            return self._went(self._origin_timeline(), Goal(reaction=place.reaction, n=n), _before_n(place.reaction, n))
        if isinstance(when, str) and when in self.graph.names:
            return self.to(when, 1)
        tag = when if isinstance(when, Tag) else Tag(duration(when, "time of rx.Replay.to"), _LAST)
        at = max(i for i, origin in enumerate(self._origins) if origin.first <= tag.time or i == 0)
        if (origin := self._origins[at]).cut and tag.time > origin.ends:
            raise ReplayError(origin.cut)
        return self._went(self._timeline_of(at), Goal(tag=tag), lambda where: where.tag is None or where.tag <= tag)

    def end(self) -> Self:
        """Go to the end of the program, past all breakpoints; or to the reaction that raises an exception."""
        cut = self._origins[self._at].cut
        at = next((at for at, origin in enumerate(self._origins) if not origin.cut), None) if cut else self._at
        if at is None:
            raise ReplayError(cut)
        return self._went(self._timeline_of(at), Goal(), lambda _: True)

    def go(self) -> Self:
        """Continue to the next breakpoint, or to the end."""
        return self._went(self._timeline, Goal(breaks=True), lambda _: True)

    def step(self, what: str = "reaction") -> Self:
        """Execute one more reaction, or with "tag" all of the next tag."""
        where = self._standing
        if self._one(what) == "reaction":
            return self._went(self._timeline, Goal(position=where.position + 1), lambda _: True)
        return self._went(self._timeline, Goal(tags=where.tags + (where.tag != where.next_tag)), lambda _: True)

    def back(self, what: str = "reaction") -> Self:
        """Go back by one reaction, or with "tag" to before all reactions of the last tag."""
        where, timeline = self._standing, self._timeline
        if where.position == 0 and self._at > 0:  # before a checkpoint
            first = self._origins[self._at].first
            return self.to(Tag(first - 1, _LAST))
        if self._one(what) == "reaction":
            position = max(0, where.position - 1)
            return self._went(timeline, Goal(position=position), partial(_executes_up_to, position))
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
        """Let `go` stop before a reaction, after a write to a port, or when a condition holds after a reaction.

        Give a reaction by its path, a port by its path or as itself; `when` is a condition on its value. A condition is
        a function of main, or an expression in which main is `m`.
        """
        breaks = self._timeline.breaks
        for each in where:
            breaks = with_stop(breaks, self.graph, each, when)
        for timeline in self._timelines.values():
            timeline.breaks = breaks
        return self

    def forget_stops(self) -> Self:
        """Let `go` stop only at the end."""
        for timeline in self._timelines.values():
            timeline.breaks = Breaks()
        return self

    # ---- why, what if, and since when ----

    def why(self, place: Port[Any] | str, *, most: int = 1000) -> Slice:
        """What made the current value of a port or an attribute: a slice of the run, back to its origins.

        Everything is executed again from the start, or from the checkpoint from which the run was resumed, and
        meanwhile everything that reactions read and change is recorded. The last `most` executions are kept one by one,
        the others are counted. Raises `ArgumentError` if there is no such place.

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
        """What would have happened with a change at this position; the replay itself stays where it is.

        `edit` has new values by place, such as {"main.learner.lr": 1e-4}; the place must exist. `drop` are ports whose
        next message is lost. Both runs, without and with the change, continue to the end, or to `until`. The same call
        again gives the same digests. Raises an error for an invalid place, and `ArgumentError`.

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
        """The port from which a message comes: its number and path."""
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
        """The first reaction after which `check` fails, a function of main or an expression; None if it never fails.

        It searches by halves, on the assumption that the check holds up to some tag, and fails from there on. For n
        tags it takes at most log2(n) + 2 executions of parts of the program. Then the replay stands right after that
        reaction; `back()` goes to before it. If the check raises an exception, it counts as holding, because what it
        asks for may not exist yet; at the end of the program, the exception is raised.

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
            if self._closed:
                raise closed(self.graph)
            self._timelines[at] = self._origins[at].begin()
        return self._timelines[at]

    def close(self) -> None:
        """End all processes of the replay. `main` keeps its last state."""
        self._closed = True
        for timeline in self._timelines.values():
            timeline.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _executes_up_to(position: int, where: Standing) -> bool:
    """Whether the last execution before a position is still to come, so that it is known what that writes."""
    return where.position < position or where.position == 0


def _before_n(reaction: int, n: int) -> Callable[[Standing], bool]:
    return lambda where: where.counts[reaction] < n
