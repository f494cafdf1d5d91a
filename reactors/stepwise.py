"""How does a program run in steps, one for each call from outside?

Its worker 0 is the caller's own thread. It runs on request, up to the end of a tag in which a reaction has called
`pause`. All other workers are processes, which meanwhile continue by themselves as far as they can.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import weakref
from typing import TYPE_CHECKING, NoReturn

from reactors.elaboration.claim import claimed
from reactors.elaboration.placing import placed
from reactors.elaboration.workers import Workers, counted
from reactors.execution import arena
from reactors.execution.arguments import whole
from reactors.execution.binding import Binding
from reactors.execution.in_threads import start
from reactors.execution.session import Session
from reactors.graph import Graph
from reactors.model.thread_state import Running
from reactors.reports.failures import failure, first, is_aftermath
from reactors.reports.result import Result, collect
from reactors_runtime import engine as engines
from reactors_runtime.engine import Engine, ReactionFailed
from reactors_runtime.planning import placement as placements
from reactors_runtime.planning.image import Image
from reactors_runtime.settings.value_settings import ValueSettings

if TYPE_CHECKING:
    from reactors.launch import Placement
    from reactors.model.reactor import Reactor
    from reactors_runtime.memory import Memory
    from reactors_runtime.processes.workers import Report


PATIENCE_S = 5.0  # after Ctrl-C, for workers to run their shutdown reactions, before they are killed


class Stepwise:
    """A run of `main` in fast mode, in steps.

    The reactors on worker 0, among them `main` itself, are the caller's own objects all the time. Raises what `rx.run`
    raises, from the call in which it happens; then the run is over, and nothing of it is left.

    >>> import reactors as rx
    >>> class Count(rx.Reactor):
    ...     tick = rx.Timer(0, 1)
    ...     n = 0
    ...     @rx.reaction(tick, effects=rx.stop)
    ...     def count(self):
    ...         self.n += 1
    ...         self.pause() if self.n < 3 else self.request_stop()
    >>> main = Count()
    >>> run = Stepwise(main)
    >>> main.pause = run.pause
    >>> run.advance(), main.n
    (True, 1)
    >>> run.advance(), main.n
    (True, 2)
    >>> run.advance(), main.n, run.result.reactions
    (False, 3, 3)
    """

    def __init__(
        self,
        main: Reactor,
        *,
        workers: Workers = 1,
        seed: int = 0,
        placement: Placement = "auto",
        debug: bool = False,
    ) -> None:
        self.result: Result | None = None
        workers = counted(workers, "Stepwise")
        with claimed(whole(main)):
            graph = self._graph = Graph(main, debug=debug)
        where = placements.gathered(graph.program, placed(graph.program, workers, placement))
        options = arena.options(workers, fast=True, keepalive=True, processes=workers > 1)
        image = self._image = Image(graph.program, where, workers, options)
        with arena.enough_files(graph.main.path):
            memory = arena.filled(graph, image, seed, spills=True)
        running = Running()
        self._memory, self._seed = memory, seed
        self._others: list[threading.Thread] = []  # one, which sees all other workers through, or none
        self._ended = threading.Event()  # set when no other worker runs any more
        self._outcome: list[Report] = []
        self._reports: dict[int, Report] = {}  # the same as they come
        self._end = weakref.finalize(self, _let_go, memory, image, running, self._others, self._ended, self._reports)
        try:
            with arena.enough_files(graph.main.path):
                if workers > 1:
                    self._start_others(debug=debug)
                binding = Binding(graph.elements, debug=debug)
                self._engine = Engine(image, 0, memory, {})
                mine = (reactor for reactor in graph.reactors if where[reactor._index] == 0)
                self._session = Session(self._engine, mine, binding, running)
                self._session.begin()
        except BaseException:
            self._end()
            raise
        self._inside = self._session.executing()
        self._steps = self._engine.steps(*graph.bodies_of(self._engine.reactions))

    def _start_others(self, *, debug: bool) -> None:
        """Start workers 1 and up, with a thread that waits for their end."""
        from reactors.shipping import parcels
        from reactors_runtime.processes import workers

        graph, image, memory, outcome = self._graph, self._image, self._memory, self._outcome
        reports, ended = self._reports, self._ended
        parts: dict[int, bytes] = {}
        modules: list[str] = []
        for worker in range(1, image.workers):
            parcel = parcels.pack(graph, image, worker, debug=debug)
            parts[worker] = parcel
            modules += parcel.modules

        values = ValueSettings.now()  # of this thread

        def see_through() -> None:
            try:
                outcome.extend(
                    workers.run(image, memory, parts, modules=dict.fromkeys(modules), reports=reports, values=values)
                )
            except BaseException as error:  # noqa: BLE001 - raised again where they are joined
                outcome.append(workers.Report(0, error=error))
                engines.abort(memory, image)
            finally:
                ended.set()

        thread = threading.Thread(target=see_through, name="reactors workers", daemon=True)
        start(thread, "the thread that sees to the other workers")
        self._others.append(thread)

    def pause(self) -> None:
        """Return from `advance` when this tag is over; for reactions on worker 0."""
        self._engine.pause()

    @property
    def over(self) -> bool:
        """Whether the program has ended, with or without an error."""
        return not self._end.alive

    def advance(self, timeout: float | None = None) -> bool:
        """Run up to the next pause; False if there was none before the timeout or the end of the program.

        The timeout does not interrupt a reaction that runs in this thread.
        """
        if not self._end.alive:
            return False
        due = None if timeout is None else time.monotonic() + timeout
        with self._inside:
            while True:
                try:
                    paused = next(self._steps)
                except StopIteration:
                    self._finish(None)
                    return False
                except BaseException as error:  # noqa: BLE001 - it is raised by `_finish`, as the user's
                    self._finish(error)
                    return False
                if paused:
                    return True
                if due is not None and time.monotonic() >= due:
                    return False

    def close(self, timeout: float | None = None) -> None:
        """Stop early: the shutdown reactions run, and nothing is left. Does nothing if the program is over.

        Raises `ReactionError` if a shutdown reaction does. With a `timeout`, processes that have not ended after so
        many seconds are killed, and errors on the way to the end are not reported any more.
        """
        if self.over:
            return
        self._end.detach()
        engines.abort(self._memory, self._image)
        error: BaseException | None = None
        try:
            with self._inside:
                for _ in self._steps:
                    pass
        except (KeyboardInterrupt, ReactionFailed) as found:
            error = found
        finally:
            try:
                self._rest(timeout)
            finally:
                self._memory.close()
        failed = [each for each in self._failures(error) if isinstance(each[0], ReactionFailed)]
        if failed and timeout is None:
            self._raise(failed)

    def _rest(self, timeout: float | None = None) -> None:
        """Wait for the others, and release everything but the final reactors."""
        self._end.detach()
        self._session.running.end()
        try:
            if self._others:
                from reactors.shipping import parcels

                _see_out(self._ended, self._reports, timeout)
                self._others[0].join()
                parcels.unpack(self._graph, self._image, self._outcome)
        finally:
            self._session.end()
            self._session.binding.detach()
            self._engine.close()

    def _finish(self, error: BaseException | None) -> None:
        if error is not None:  # Ctrl-C comes anywhere, also where the engine could not stop the others
            engines.abort(self._memory, self._image)
        try:
            self._rest(PATIENCE_S if isinstance(error, KeyboardInterrupt) else None)
            failures = self._failures(error)
            if not failures:
                self.result = collect(
                    self._graph, self._image, self._memory, self._seed, "process" if self._others else "inline"
                )
                return
        finally:
            self._memory.close()
        self._raise(failures)

    def _failures(self, error: BaseException | None) -> list[tuple[BaseException, bool]]:
        """The errors on this worker, and on the others."""
        failures = [(report.error, report.aftermath) for report in self._outcome if report.error is not None]
        return failures if error is None else [(error, is_aftermath(error)), *failures]

    def _raise(self, failures: list[tuple[BaseException, bool]]) -> NoReturn:
        what = first(self._graph, failures)
        if isinstance(what, ReactionFailed):
            raise failure(self._graph, what, "inline") from what.exception
        with arena.enough_files(self._graph.main.path):
            raise what


def _see_out(ended: threading.Event, reports: dict[int, Report], timeout: float | None) -> None:
    """Wait until all other workers have ended; kill them after `timeout` seconds, or at Ctrl-C.

    By an event: when a signal handler raises in `Thread.join`, Python before 3.13 takes a running thread for one that
    has ended.
    """
    try:
        ended.wait(timeout)
    finally:
        if not ended.is_set():
            for report in reports.values():
                if report.pid:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(report.pid, signal.SIGKILL)
            ended.wait()


def _let_go(
    memory: Memory,
    image: Image,
    running: Running,
    others: list[threading.Thread],
    ended: threading.Event,
    reports: dict[int, Report],
) -> None:
    """End the run of a `Stepwise` that was dropped, or that still exists at the end of the process."""
    engines.abort(memory, image)
    running.end()
    for thread in others:
        if thread is not threading.current_thread():  # garbage is collected in any
            _see_out(ended, reports, PATIENCE_S)
            thread.join()
    memory.close()
