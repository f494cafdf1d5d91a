"""Several workers of this process, with the caller's own objects: a thread for each."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from reactors.errors import WorkerStartError
from reactors.execution.binding import Binding
from reactors.execution.inline import work
from reactors.reports.failures import first, is_aftermath
from reactors_runtime import engine as engines
from reactors_runtime.processes import faults, terminal
from reactors_runtime.processes.interrupts import Interrupts
from reactors_runtime.processes.stuck import Stopping
from reactors_runtime.settings import numeric_threads
from reactors_runtime.settings.value_settings import ValueSettings

if TYPE_CHECKING:
    from reactors.graph import Graph
    from reactors.reports.progress import Progress
    from reactors_runtime.memory import Memory
    from reactors_runtime.planning.image import Image


def in_threads(graph: Graph, image: Image, memory: Memory, line: Progress, debug: bool) -> None:
    """A thread per worker, all with the user's own objects."""
    binding = Binding(graph.elements, debug=debug)
    shared: dict[int, Any] = {}
    failures: dict[int, BaseException] = {}
    values = ValueSettings.now()

    def see_through(worker: int) -> None:
        try:
            values.accept_in_thread()
            numeric_threads.limit()
            work(graph, image, memory, worker, binding, shared)
        except BaseException as error:  # noqa: BLE001 - raised again where they are joined
            failures[worker] = error
            engines.abort(memory, image)
            stopping.begin()
        finally:
            running.discard(worker)
            locks[worker].release()

    # What never returns cannot be ended in a thread; as a daemon it ends with the process.
    threads = [
        threading.Thread(target=see_through, args=(w,), name=f"reactors worker {w}", daemon=True)
        for w in range(image.workers)
    ]
    # Not `join`: when a signal handler raises in it, Python before 3.13 takes a running thread for one that has ended.
    running: set[int] = set()
    locks = [threading.Lock() for _ in threads]  # each is held until its worker has ended
    stopping = Stopping(image, memory, "Ctrl-C leaves it behind")

    def go_on() -> bool:
        """After a little while: whether there is a worker to wait for. Not after a second Ctrl-C."""
        waited_for = sorted(running)
        if waited_for:
            locks[waited_for[0]].acquire(timeout=0.02)
        stopping.look(dict.fromkeys(waited_for))
        return bool(waited_for) and interrupts.count < 2

    try:
        with numeric_threads.limited(), Interrupts() as interrupts, terminal.debug_threads(threads):
            try:
                for worker, thread in enumerate(threads):
                    running.add(worker)
                    locks[worker].acquire()
                    try:
                        start(thread, f"worker {worker}")
                    except WorkerStartError:
                        running.discard(worker)
                        raise
                while go_on():
                    line.look()
                    if interrupts.count:
                        engines.abort(memory, image, engines.INTERRUPTED)
                        stopping.begin()
            except BaseException:  # from `progress`, a signal handler of the user, or there are no more threads
                engines.abort(memory, image)
                stopping.begin()
                while go_on():
                    pass
                raise
    finally:
        for worker, thread in enumerate(threads):
            if thread.ident is not None and worker not in running:
                thread.join()
        binding.detach()
    found = [*([KeyboardInterrupt()] if interrupts.count else []), *failures.values()]
    if found:
        raise first(graph, ((error, is_aftermath(error)) for error in found))


def start(thread: threading.Thread, what: str) -> None:
    """Start a thread; `WorkerStartError` if the system refuses."""
    try:
        thread.start()
    except RuntimeError as error:
        raise WorkerStartError(str(faults.not_started(what, str(error)))) from error
