"""What can a program be run with, and when can it not be run at all?"""

from __future__ import annotations

import os
import sys

from reactors.errors import ArgumentError, ContainmentError, RunWhileImported
from reactors.execution.clock import VirtualClock
from reactors.model.bank import Bank
from reactors.model.reactor import Reactor
from reactors.model.thread_state import executing
from reactors.time import LONGEST


def not_while_importing() -> None:
    """Refuse to run what a file runs when all that is wanted of it is what it defines."""
    worker = sys.modules.get("reactors_runtime.processes.worker")  # which is imported in one, if nowhere else
    loading = worker is not None and worker.loading
    if executing.definitions or loading:
        what = "the program's classes are imported by a worker" if loading else "the file is imported"
        raise RunWhileImported(
            f'rx.run while {what}: everything in the file is run then; put this call under if __name__ == "__main__":'
        )


def checked(seed: object, max_microsteps: object) -> None:
    """Refuse what `run` cannot be called with."""
    for name, value, least in (("seed", seed, 0), ("max_microsteps", max_microsteps, 1)):
        if value is None and name == "max_microsteps":
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ArgumentError(f"{name} of rx.run is {value!r}; write a whole number, {least} or more")
        if name == "max_microsteps" and value > LONGEST:
            raise ArgumentError(f"{name} of rx.run is {value}, more than 64 bits hold; leave it out for no limit")


def switches(**given: object) -> None:
    """Refuse what is neither on nor off."""
    for name, value in given.items():
        if not isinstance(value, bool) and not (value is None and name == "keepalive"):
            raise ArgumentError(f"{name} of rx.run is {value!r}, of type {type(value).__name__}; write True or False")


def writable(file: str | os.PathLike[str] | None, what: str) -> None:
    """Refuse before the run what could not be written after it."""
    if file is None:
        return
    if not isinstance(file, str | os.PathLike):
        raise ArgumentError(f"{what} of rx.run is {file!r}; write the name of a file, as in 'run.rxt'")
    from pathlib import Path

    if not (folder := Path(file).parent).is_dir():
        raise ArgumentError(f"{what} of rx.run is {os.fspath(file)!r}, but there is no folder {str(folder)!r}; make it")


def different(**files: str | os.PathLike[str] | None) -> None:
    """Refuse one file for two things: each would write over the other, or over what is read."""
    from pathlib import Path

    known: dict[Path, str] = {}
    for what, file in files.items():
        if file is not None and (other := known.setdefault(Path(file).resolve(), what)) != what:
            raise ArgumentError(
                f"{other} and {what} of rx.run are both {os.fspath(file)!r}; give each a file of its own"
            )


def outside_world(fast: bool, clock: object, record: str | os.PathLike[str] | None, replay: object) -> None:
    """Refuse what cannot go together."""
    writable(record, "record")
    if clock is not None and not isinstance(clock, VirtualClock):
        raise ArgumentError(f"clock of rx.run is {clock!r}; give an rx.VirtualClock, or leave it out")
    if clock is not None and fast:
        raise ArgumentError(
            "rx.run with fast=True does not look at the clock, so a VirtualClock has no effect; drop one"
        )
    if replay is not None and (record is not None or clock is not None):
        raise ArgumentError("rx.run with replay= takes everything from the log; leave clock= and record= out")


def to_compare(digest: object, journal: str | os.PathLike[str] | None, states: object, machines: object) -> None:
    """Refuse what cannot be hashed, or kept in a journal."""
    if digest not in ("behaviour", "values"):
        raise ArgumentError(f'digest of rx.run is {digest!r}; write "values", or leave it out')
    writable(journal, "journal")
    if states is not None and (isinstance(states, bool) or not isinstance(states, int) or states < 1):
        raise ArgumentError(f"journal_states of rx.run is {states!r}; write how many executions lie between two states")
    if states is not None and journal is None:
        raise ArgumentError('journal_states of rx.run is for a journal; say which file, as in journal="run.rxj"')
    if machines is not None and (journal is not None or digest == "values"):
        raise ArgumentError(
            "rx.run on several machines keeps no journal and hashes no values yet; run it on one, with as many "
            "workers: the outcome is the same"
        )


def several(machines: object, backend: str) -> None:
    """Refuse what are no machines, and a backend that has none."""
    if not hasattr(machines, "gathered"):
        raise ArgumentError(f"machines of rx.run is {machines!r}; write rx.Machines(count=2)")
    if backend not in {"auto", "process"}:
        raise ArgumentError(
            f"backend of rx.run is {backend!r} beside machines, on which each worker is a process; leave it out"
        )


def chosen(backend: str, workers: int) -> str:
    """The backend that "auto" stands for."""
    if backend == "auto":
        backend = "inline" if workers == 1 else "process"
    if backend == "inline" and workers != 1:
        raise ArgumentError(f'backend="inline" has one worker, and workers is {workers}; use "thread" or "process"')
    return backend


def whole(main: object) -> Reactor:
    """`main`, if it is a reactor that stands by itself."""
    if isinstance(main, type) and issubclass(main, Reactor):
        raise ContainmentError(
            f"rx.run takes a reactor, and was given the class {main.__qualname__}; write rx.run({main.__qualname__}())"
        )
    if not isinstance(main, Reactor):
        several = isinstance(main, Bank | list | tuple) and len(main)
        raise ArgumentError(
            f"rx.run takes a reactor or an rx.Graph, and was given {main!r}, of type {type(main).__name__}; "
            + (
                "to run several, assign them to attributes of one"
                if several
                else "make one: a class derived from rx.Reactor, called"
            )
        )
    return main
