"""All errors that this package raises on purpose.

They form one tree, so that `except rx.ReactorError` catches all of them. A message names the object by its path in the
program, and if possible by the file and line of its declaration; then it says what is wrong; then what to do. If Python
has a class for the same mistake (`TypeError`, `ValueError`, `AttributeError`), ours derives from it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactors.tag import Tag


class ReactorWarning(UserWarning):
    """A program that is legal but hardly intended: an input without a source, a reaction that nothing can trigger."""


class ReactorError(Exception):
    """The root of all errors of this package."""


# Declaring: when a class is made, or at the call.


class DeclarationError(ReactorError):
    """A reactor class with an invalid declaration: a name twice, a reaction with arguments, `rx.Input` uncalled."""


class ArgumentError(DeclarationError, TypeError):
    """An argument of the wrong kind: something that is no trigger, a value where a type is expected."""


class DurationError(DeclarationError, ValueError):
    """An invalid duration: negative, without a known unit, finer than a nanosecond, a bool or a float."""


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
    """A reactor in two places, or in none, or a class where a reactor is expected."""


class ParameterError(ElaborationError):
    """A string that stands for an attribute that does not exist, or whose value does not fit."""


# Running.


class OutsideReactionError(ReactorError, RuntimeError, AttributeError):
    """Something that only a running reaction can do: reading a port, setting it, asking for the tag.

    It is an `AttributeError`, so outside of a run `hasattr(reactor, "tag")` is false, `getattr` returns its default,
    and tools that look at all attributes of an object (`inspect.getmembers`, notebooks, debuggers) skip these.
    """


class StructureError(ReactorError, RuntimeError):
    """A reactor created, or a connection made, while the program runs: its graph is fixed by then."""


class RunWhileImported(StructureError):  # noqa: N818 - what happened
    """`rx.run` at the top level of a file that is imported for its definitions."""


class ValueMismatchError(ReactorError, TypeError):
    """A value set on a port whose type, shape or dtype does not allow it."""


class ActionValueError(ReactorError, ValueError):
    """A delay with which an action cannot be scheduled."""


class SharedValueError(ReactorError):
    """A value that was changed after it was set, by its writer or a reader (found in debug mode)."""


class PlacementError(ReactorError, ValueError):
    """A placement that names an unknown reactor or worker."""


class ReplayError(ReactorError):
    """A log that cannot be replayed with this program, or a value that cannot be recorded."""


class TraceError(ReactorError):
    """A file that is no trace, or a trace that lacks the requested information."""


class JournalError(ReactorError):
    """A file that is no journal, or two journals that cannot be compared."""


class WatchingError(ReactorError):
    """A run that cannot be watched: there is none, or it does not let others watch."""


class ReactionError(ReactorError):
    """An exception in a reaction: which reaction, at which tag; the exception itself is the `__cause__`.

    Attributes:
        reaction: its path.
        tag: when it ran.
        trail: the lines of your own code that led there, as Python prints them, even if they ran in another process.
    """

    def __init__(self, message: str, reaction: str = "", tag: Tag | None = None) -> None:
        super().__init__(message)
        self.reaction = reaction
        self.tag = tag
        self.trail = ""


class MicrostepLimitError(ReactorError):
    """Time stands still: there are too many microsteps at one time."""


class WorkerError(ReactorError):
    """Something is wrong with a worker process."""


class WorkerStartError(WorkerError):
    """A worker process could not start."""


class WorkerDied(WorkerError):  # noqa: N818 - it is what happened
    """A worker process ended too early: by a signal, by `os._exit`, or for lack of memory."""

    status: int | None = None
    """Its exit status or, negative, the signal that killed it, if that is known."""


class MachineError(ReactorError):
    """Machines that cannot run a program together: one did not connect, does not fit, or was interrupted."""


class MachineLost(MachineError):  # noqa: N818 - it is what happened
    """A machine died, froze or was disconnected while the program ran; the message names it and its reactors."""

    machines: frozenset[int] = frozenset()
    """The numbers of all that were lost; 0 is the one that leads, which is not among them."""


class ShippingError(ReactorError):
    """A reactor that cannot be sent to a worker process, or something in it that cannot be sent back."""


class MemoryTooSmall(ReactorError, MemoryError):  # noqa: N818 - it is what is wrong
    """The ports of the program need more memory than there is."""


class TooManyOpenFiles(ReactorError, OSError):  # noqa: N818 - likewise
    """A run needs more file descriptors than this process may have."""


# Packages.


class PackageMissing(ReactorError, ImportError):  # noqa: N818 - it is what is wrong
    """A package that only an extra of reactors brings is not installed."""


_RL = frozenset({"gymnasium", "matplotlib", "pettingzoo", "PIL", "rich", "safetensors", "torch"})


def missing(error: ModuleNotFoundError) -> PackageMissing | None:
    """The error to raise in its place, where a package is missing that comes with the extra rl.

    >>> print(missing(ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")))
    the package torch is missing; install reactors with its extra rl, in a clone pip install '.[rl]'
    """
    package = (error.name or "").partition(".")[0]
    if package not in _RL:
        return None
    extra = "install reactors with its extra rl, in a clone pip install '.[rl]'"
    return PackageMissing(f"the package {package} is missing; {extra}")


# Drawing.


class DrawingError(ReactorError):
    """A picture that cannot be made: the program `dot` is missing, or it failed."""
