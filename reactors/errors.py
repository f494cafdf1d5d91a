"""Everything that this package raises on purpose.

One tree, so that `except rx.ReactorError` catches all of it. A message names the object by its path in the program and,
where there is one, the file and line of its declaration; then the fact; then what to do. Where Python has a word for
the same mistake (`TypeError`, `ValueError`, `AttributeError`), the class derives from that too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactors.tag import Tag


class ReactorWarning(UserWarning):
    """A program that is legal but hardly meant: an input without a source, a reaction that nothing can trigger."""


class ReactorError(Exception):
    """The root of all errors of this package."""


# Declaring: when a class is made, or at the call.


class DeclarationError(ReactorError):
    """A reactor class says something that cannot be: a name twice, a reaction with arguments, `rx.Input` uncalled."""


class ArgumentError(DeclarationError, TypeError):
    """An argument of the wrong kind: something that is no trigger, a value where a type is expected."""


class DurationError(DeclarationError, ValueError):
    """A duration that is none: negative, without a known unit, finer than a nanosecond, a bool or a float."""


class UndeclaredAccessError(DeclarationError):
    """A reaction uses a port, an action or the right to stop that it did not declare."""


# Elaboration: what only the whole program shows.


class ElaborationError(ReactorError):
    """The program as a whole cannot be run."""


class CausalityError(ElaborationError):
    """Reactions that wait for each other within one tag; the message shows the whole cycle."""


class WiringError(ElaborationError):
    """A connection that the hierarchy does not allow, or a port with two sources."""


class WidthError(WiringError):
    """The two sides of a connection have different numbers of channels."""


class MismatchError(WiringError, TypeError):
    """The two ends of a connection carry different types, shapes or dtypes."""


class ContainmentError(ElaborationError):
    """A reactor in two places, in none, or a class where a reactor is expected."""


class ParameterError(ElaborationError):
    """A string that stands for an attribute which does not exist, or holds something that does not fit."""


# Running.


class OutsideReactionError(ReactorError, RuntimeError, AttributeError):
    """Something that only a running reaction can do: reading a port, setting it, asking for the tag.

    It is an `AttributeError`, so outside of a run `hasattr(reactor, "tag")` is false, `getattr` gives its default, and
    what looks at all attributes of an object (`inspect.getmembers`, notebooks, debuggers) passes over these.
    """


class StructureError(ReactorError, RuntimeError):
    """A reactor made, or a connection drawn, while the program runs: its graph is fixed by then."""


class RunWhileImported(StructureError):  # noqa: N818 - what happened
    """`rx.run` at the top level of a file that is imported for what it defines."""


class ValueMismatchError(ReactorError, TypeError):
    """A value set on a port that its type, shape or dtype does not allow."""


class ActionValueError(ReactorError, ValueError):
    """A delay that an action cannot be scheduled with."""


class SharedValueError(ReactorError):
    """A value that was changed after it was set, by its writer or a reader (found in debug mode)."""


class PlacementError(ReactorError, ValueError):
    """A placement that names no reactor, or a worker that there is not."""


class ReplayError(ReactorError):
    """A log that cannot be replayed with this program, or a value that cannot be recorded."""


class TraceError(ReactorError):
    """A file that is no trace, or one from which what is asked for cannot be known."""


class JournalError(ReactorError):
    """A file that is no journal, or two journals that cannot be compared."""


class WatchingError(ReactorError):
    """A run that cannot be watched: there is none, or it does not let others look on."""


class ReactionError(ReactorError):
    """An exception in a reaction: which one, at which tag; the exception itself is the `__cause__`.

    Attributes:
        reaction: its path.
        tag: when it ran.
        trail: the lines of your own code that led there, as Python prints them, also where they ran in another process.
    """

    def __init__(self, message: str, reaction: str = "", tag: Tag | None = None) -> None:
        super().__init__(message)
        self.reaction = reaction
        self.tag = tag
        self.trail = ""


class MicrostepLimitError(ReactorError):
    """Time stands still: microsteps go on and on at one time."""


class WorkerError(ReactorError):
    """Something is wrong with a worker process."""


class WorkerStartError(WorkerError):
    """A worker process could not start."""


class WorkerDied(WorkerError):  # noqa: N818 - it is what happened
    """A worker process ended before its time: by a signal, by `os._exit`, for lack of memory."""

    status: int | None = None
    """Its exit status or, negative, the signal that killed it, if that is known."""


class MachineError(ReactorError):
    """Machines that are to run a program together and cannot: one has not come, or does not fit."""


class MachineLost(MachineError):  # noqa: N818 - it is what happened
    """A machine died, froze or was cut off while the program ran; the message names it and its reactors."""

    machines: frozenset[int] = frozenset()
    """The numbers of all that were lost; 0 is the one that leads, which is not among them."""


class ShippingError(ReactorError):
    """A reactor that cannot be sent to a worker process, or something in it that cannot come back."""


class MemoryTooSmall(ReactorError, MemoryError):  # noqa: N818 - it is what is wrong
    """The ports of the program need more memory than there is."""


class TooManyOpenFiles(ReactorError, OSError):  # noqa: N818 - likewise
    """A run needs more file descriptors than this process may have."""


# Drawing.


class DrawingError(ReactorError):
    """A picture that cannot be made: the program `dot` is missing, or has failed."""
