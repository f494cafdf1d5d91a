"""What does a program do when something goes wrong at one exact point?

A fault wraps the body of one reaction, and happens in one of its executions: the same one in every run, on any worker.
So you can test how a program reacts, with its deadlines, its defaults, its shutdown reactions, like everything else
that it does.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from reactors.errors import ArgumentError, ReactorError
from reactors.execution.arguments import whole
from reactors.graph import Graph
from reactors.model.native import Native
from reactors.model.ports import Port
from reactors.names.keywords import spelled_out
from reactors.rewinding.one_execution import Execution, place_in, without
from reactors.time import Duration, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reactors.model.reactor import Reactor
    from reactors.tag import Tag


@contextmanager
@spelled_out("inject")
def inject(
    main: Reactor | Graph,
    *,
    at: str | tuple[str, int | str | Tag],
    drop: bool | Port[Any] = False,
    delay: Duration | None = None,
    raises: BaseException | type[BaseException] | None = None,
    kill: bool = False,
) -> Iterator[Graph]:
    """Let something go wrong in one execution of a reaction, in runs of the graph that this context gives.

    `at` is the path of the reaction, for its first execution, or a tuple of the path and the number of an execution,
    counted from 1, or a tag, or a time. One of these happens there:

    - `drop`: nothing that it writes to its ports arrives (True), or nothing that it writes to this port;
    - `delay`: it begins later by this much, which deadlines see; with `rx.VirtualClock(sleep=True)` exactly;
    - `raises`: this exception, instead of its body;
    - `kill`: its worker process ends at once, by SIGKILL.

    Raises `ArgumentError` for an impossible fault, and `AssertionError` at the end if the fault did not happen,
    although nothing else went wrong: then the test tested nothing. Faults may be nested: `inject` takes a graph, too.

    >>> import reactors as rx
    >>> from reactors.testing import inject, trace
    >>> class Sensor(rx.Reactor):
    ...     tick, value = rx.Timer(0, "1 ms"), rx.Output(int)
    ...     @rx.reaction(tick, effects=value)
    ...     def read(self):
    ...         self.value.set(self.tag.time // 1_000_000)
    >>> with inject(Sensor(), at=("main.read", 2), drop=True) as program:
    ...     for step in trace(program, fast=True, timeout="2 ms"):
    ...         print(step.tag, step.written)
    0 s {'main.value': 0}
    1 ms {}
    2 ms {'main.value': 2}
    """
    graph = main if isinstance(main, Graph) else Graph(whole(main))
    reaction, when = (at, 1) if isinstance(at, str) else at
    place = place_in(graph, reaction, when, what="at of inject")
    if not isinstance(graph.bodies[place.reaction], Native):
        fault = _Fault(place, _checked(drop, delay, raises, kill=kill, graph=graph, place=place))
    else:
        raise ArgumentError(f"at of inject: {place.name} is a C function, which the core calls; name another reaction")
    number = place.reaction
    reactor = graph.reactors[graph.program.reactions[number].reactor]
    fault.reactor, fault.key = reactor, f"fault {len(vars(reactor))}"
    body, late, declared = graph.bodies[number], graph.late[number], graph.declarations[number]
    faulty = graph.declarations[number] = copy(declared)
    faulty._owner = reactor  # as if declared by call: processes are sent its body, not its place in the class
    faulty.body = graph.bodies[number] = _Faulty(body, fault)
    if late is not None and not isinstance(late, Native):
        faulty.late = graph.late[number] = _Faulty(late, fault)
    vars(reactor)[fault.key] = 0, False
    try:
        yield graph
    except BaseException:
        vars(reactor).pop(fault.key, None)
        raise
    else:
        ran, happened = vars(reactor).pop(fault.key, (0, False))
        if not happened and not kill:  # who is killed says nothing
            raise AssertionError(f"inject: nothing happened, for there was no {place}; {place.name} ran {ran:,} times")
    finally:
        graph.bodies[number], graph.late[number], graph.declarations[number] = body, late, declared


class _What(NamedTuple):
    """The kind of fault."""

    drops: frozenset[int]  # elements that become absent again
    delay_s: float
    raises: BaseException | type[BaseException] | None
    kills: bool


def _checked(
    drop: bool | Port[Any],
    delay: Duration | None,
    raises: BaseException | type[BaseException] | None,
    *,
    kill: bool,
    graph: Graph,
    place: Execution,
) -> _What:
    said = [drop is not False, delay is not None, raises is not None, kill is not False]
    if sum(said) != 1:
        raise ArgumentError(
            f"inject takes one of drop, delay, raises and kill, and was given {sum(said) or 'none'}; nest several"
        )
    written = {e: graph.elements[e] for e in graph.program.reactions[place.reaction].effects}
    ports = {e: port for e, port in written.items() if isinstance(port, Port)}
    drops = frozenset(ports) if drop is True else frozenset(e for e, port in ports.items() if _is(port, drop))
    if drop is not False and not drops:
        has = ", ".join(port.path for port in ports.values()) or "no port"
        raise ArgumentError(f"drop of inject is {drop!r}, and {place.name} writes {has}")
    if not (raises is None or isinstance(raises, BaseException) or _is_kind(raises)):
        raise ArgumentError(f"raises of inject is {raises!r}; write an exception, as in OSError('no such device')")
    seconds = 0.0 if delay is None else duration(delay, "delay of inject") / 1e9
    return _What(drops, seconds, raises, kill is not False)


def _is(port: Port[Any], given: object) -> bool:
    """Whether a port is the given one, or a channel of it."""
    return port is given or (port._multiport is not None and port._multiport is given)


def _is_kind(given: object) -> bool:
    return isinstance(given, type) and issubclass(given, BaseException)


class _Fault:
    """The fault of a reaction, and when it happens; it is sent to where the reaction runs."""

    reactor: Reactor
    key: str  # of the attribute of the reactor by which it comes home how often it ran, and whether this happened

    def __init__(self, place: Execution, what: _What) -> None:
        self.place, self.what, self.ran, self.caller = place, what, 0, os.getpid()

    def is_due(self) -> bool:
        """Whether the fault is due in this execution of its reaction."""
        self.ran += 1
        place = self.place
        due = self.ran == place.n if place.tag is None else self.reactor.tag == place.tag
        vars(self.reactor)[self.key] = self.ran, due or vars(self.reactor)[self.key][1]
        return due


class _Faulty:
    """The body of a reaction with a fault."""

    def __init__(self, body: Any, fault: _Fault) -> None:
        self.body: Callable[[], object] = body
        self.fault = fault

    def __call__(self) -> object:
        if not self.fault.is_due():
            return self.body()
        what = self.fault.what
        if what.kills:
            self._end_process()
        if what.raises is not None:
            raise what.raises
        if what.delay_s:
            time.sleep(what.delay_s)
        with without(what.drops):
            return self.body()

    def _end_process(self) -> None:
        if os.getpid() == self.fault.caller:
            raise ReactorError(
                f"inject: {self.fault.place.name} runs in the process that tests it, which nothing may kill; run it "
                'with backend="process"'
            )
        os.kill(os.getpid(), signal.SIGKILL)
