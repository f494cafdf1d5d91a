"""A worker process, from its fork to its end.

It takes on the caller's setting, loads its part of the program, runs it, and sends home what became of it. Words it
says: started, failed, done. Whatever happens, it never returns into the server that forked it.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import os
import pickle
import sys
import traceback
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, NoReturn, Protocol

from reactors_runtime import imports
from reactors_runtime.callers import RUNTIME, Raised, raised, text_of
from reactors_runtime.memory import Memory
from reactors_runtime.processes import terminal
from reactors_runtime.processes.messages import WireEnd, mapped
from reactors_runtime.settings import cores, numeric_threads
from reactors_runtime.suggestions import completed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors_runtime.engine import Engine
    from reactors_runtime.processes.inheritance import Inheritance
    from reactors_runtime.processes.remote_logging import Configuration, Sender
    from reactors_runtime.settings.value_settings import ValueSettings


class Shipment(Protocol):
    """A worker's share of the program; made, and pickled, by the caller of the runtime."""

    def attach(self, engine: Engine) -> tuple[list[Callable[[], None]], list[Callable[[], None] | None]]:
        """Make the reactors. The bodies of their reactions, and what runs instead when a deadline is missed."""
        ...

    def detach(self, engine: Engine, file: BinaryIO) -> None:
        """Write down what the reactors' attributes are now."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What a worker takes over from the caller as it is when the run starts."""

    environment: dict[str, str]
    path: list[str]  # sys.path
    arguments: list[str]  # sys.argv
    directory: str
    inheritance: Inheritance
    values: ValueSettings
    logging: Configuration
    links: list[int]  # the machines that this one is linked with
    encoding: str  # of standard output
    errors: str  # what to do with characters that it does not have


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception on its way home."""

    when: str  # "start", "run" or "end"
    reaction: int | None  # which reaction raised it; None: none did
    tag: tuple[int, int] | None
    exception: bytes | None  # pickled, if that can be done
    said: str  # its class and text
    text: str  # the traceback
    late: bool  # what runs when a deadline is missed raised it
    aftermath: bool  # in a shutdown reaction, after something else had ended the program
    where: Raised  # by which line of the user's
    absent: tuple[int, ...]  # elements that the reaction declares to read, and that were not there

    @classmethod
    def of(cls, when: str, error: BaseException) -> Failure:
        """Make it fit for the journey; of the traceback, the runtime's own frames are left out."""
        reaction = tag = None
        late = aftermath = False
        where: Raised | None = None
        absent: tuple[int, ...] = ()
        if when == "run":
            from reactors_runtime.engine import ReactionFailed

            if isinstance(error, ReactionFailed):
                reaction, tag, late, aftermath = error.reaction, error.tag, error.late, error.aftermath
                where, absent = error.where, error.absent
                error = error.exception
        frames = error.__traceback__
        while frames and frames.tb_next and frames.tb_frame.f_code.co_filename.startswith(RUNTIME):
            frames = frames.tb_next
        text = "".join(traceback.format_exception(type(error), error, frames))
        kind = type(error)
        name = (
            kind.__qualname__
            if kind.__module__ in {"builtins", "__main__"}
            else f"{kind.__module__}.{kind.__qualname__}"
        )
        words = f"{name}: {text_of(error)}"
        try:
            import cloudpickle

            exception = cloudpickle.dumps(completed(error), protocol=5)
        except Exception:  # noqa: BLE001 - the text has to do
            exception = None
        return cls(when, reaction, tag, exception, words, text, late, aftermath, where or raised(error), absent)


loading = False  # whether this process is a worker that is yet to get its part of the program


def main(number: int, setting: Setting, wire: WireEnd, descriptors: list[int]) -> NoReturn:
    """Be worker `number`.

    The descriptors: image, part, arena, where records go, a socket for each link, standard output and error, and input
    if there is one.
    """
    try:
        # The pages of a memfd outlive us in the caller's hands: it reads there where a crash was.
        with open(os.memfd_create("reactors", os.MFD_CLOEXEC), "wb", buffering=0) as crash:  # noqa: PTH123
            faulthandler.enable(crash, all_threads=False)
            wire.send("started", number, os.getpid(), descriptors=[crash.fileno()])
            _live(number, setting, wire, *descriptors)
            faulthandler.disable()
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()  # a forked process does not by itself
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(0)


def _live(
    number: int,
    setting: Setting,
    wire: WireEnd,
    image_at: int,
    part_at: int,
    arena_at: int,
    records_at: int,
    *rest: int,
) -> None:
    global loading  # noqa: PLW0603 - of this process
    loading = True
    before = list(sys.modules)
    when = "start"
    sockets, out = rest[: len(setting.links)], rest[len(setting.links) :]
    try:
        _settle(setting, *out)
        from reactors_runtime.engine import Engine
        from reactors_runtime.processes.remote_logging import Sender
        from reactors_runtime.processes.remote_warnings import send_home

        home = Sender(number, records_at)
        send_home(home.warned)
        _take_over(setting, home)

        with mapped(image_at) as pickled:
            image = pickle.loads(pickled)
        memory = Memory.attach(arena_at, image.size)
        terminal.debug_here(memory, number)
        engine = Engine(image, number, memory)
        for machine, descriptor in zip(setting.links, sockets, strict=True):
            engine.use_link(machine, descriptor)
        with mapped(part_at) as pickled:
            part: Shipment = pickle.loads(pickled)
        loading = False
        bodies, late = part.attach(engine)
        _take_over(setting, home)  # again, for modules that the part needs have changed what they wished
        gc.freeze()  # all of this lives to the end; the server had collection off, so loading it was fast
        gc.enable()
        when = "run"
        reported: list[BaseException] = []

        def report(error: BaseException) -> None:
            reported.append(error)
            wire.send("failed", number, Failure.of("run", error))

        engine.on_failure = report  # at once: the worker may not survive its shutdown reactions
        try:
            with cores.stay(image.options.core(number)):
                engine.run(bodies, late)
        except BaseException as error:  # noqa: BLE001 - the attributes go home all the same
            if error not in reported:
                report(error)
        when = "end"
        with open(os.memfd_create("reactors", os.MFD_CLOEXEC), "wb") as file:  # noqa: PTH123
            part.detach(engine, file)
            file.flush()
            wire.send("done", number, imports.new_since(before), descriptors=[file.fileno()])
    except BaseException as error:  # noqa: BLE001 - there is no caller to raise it to
        if when == "start" and isinstance(error, SystemExit):
            error = _left(error)
        with contextlib.suppress(ConnectionError):  # the caller is gone, and so shall we be
            wire.send("failed", number, Failure.of(when, error))


def _take_over(setting: Setting, home: Sender) -> None:
    """Have what the caller has set in its process, whatever was imported here."""
    setting.values.accept()
    setting.logging.accept(home)


def _left(error: SystemExit) -> ImportError:
    """What a module has done that ends the process when it is imported, and where."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = "" if trace is None else trace.tb_frame.f_code.co_filename
    where = f" at {file}:{trace.tb_lineno}" if trace is not None and not file.startswith(RUNTIME) else ""
    return ImportError(
        f"sys.exit({error.code!r}){where} ends the process when a file is imported; put what is meant for running "
        'it as a script under if __name__ == "__main__":'
    )


def _settle(setting: Setting, standard_output: int, standard_error: int, *standard_input: int) -> None:
    """Make this process a place like the caller's."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False  # what it would finalize is the server's
    os.environ.clear()
    os.environ.update(setting.environment)
    setting.inheritance.accept()
    numeric_threads.settle_worker()
    os.chdir(setting.directory)
    sys.path[:] = setting.path
    sys.argv[:] = setting.arguments
    for target, source, name in ((1, standard_output, "stdout"), (2, standard_error, "stderr")):
        os.dup2(source, target)
        os.close(source)
        stream = open(  # noqa: SIM115 - it stays open to the end
            target, "w", buffering=1, encoding=setting.encoding, errors=setting.errors, closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    for source in standard_input:
        os.dup2(source, 0)
        os.close(source)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it stays open to the end
    if "numpy.random" in sys.modules:  # otherwise all forks of one server would draw the same numbers
        sys.modules["numpy.random"].seed()
