"""A run of environments in lock-step, from start to end, and the errors of both."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from gymnasium.error import ClosedEnvironmentError

import reactors as rx
from reactors.lowlevel import CRASHES, STUCK_AFTER_S, apart, ending, in_words, say, stepwise
from reactors.rl.errors import SimulationError
from reactors.rl.vector.lockstep import Beat, Forms, Lockstep, Rows
from reactors.rl.vector.whereabouts import Whereabouts

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactors.rl.envs.simulation import OnError
    from reactors.rl.vector.share import Share


class LockstepRun:
    """The program behind a vector environment; each call advances it.

    Before a call, the caller gives its request to the `beat`, which holds the results afterwards. After an error, the
    program is gone, and `end` says why. `group` makes the group that begins with a given environment, `seeds` are those
    of the environments, for messages, and `path` is the name of the whole in errors.
    """

    def __init__(
        self,
        group: Callable[[int, int, Whereabouts], Share],
        forms: Forms,
        seeds: list[int | None],
        *,
        path: str,
        workers: int,
        on_error: OnError,
        isolate: bool,
        copy: bool = True,
        asynchronous: bool = False,
    ) -> None:
        self.seeds, self.path = seeds, path
        self.on_error: OnError = on_error
        self.end = ""
        self.overdue = False  # the last call is still running, but its caller no longer waits for it
        self._asynchronous = asynchronous
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        with apart():
            self._make(group, forms, workers=workers, copy=copy, isolate=isolate)
        self.beat.pause = self._run.pause
        self.go_on()  # makes the environments

    def _make(
        self,
        group: Callable[[int, int, Whereabouts], Share],
        forms: Forms,
        *,
        workers: int,
        copy: bool,
        isolate: bool,
    ) -> None:
        n, asynchronous = len(self.seeds), self._asynchronous
        room = -(-n // workers)
        firsts = range(0, n, room)
        self.beat = Beat(len(firsts), room, n, forms, copy=copy, asynchronous=asynchronous)
        where = self._whereabouts = Whereabouts(len(firsts))
        rows = self._rows = [Rows(group(i, room, where), forms, asynchronous=asynchronous) for i in firsts]
        first = 1 if isolate else 0
        try:
            self._run = stepwise.Stepwise(
                Lockstep(self.beat, rows, in_blocks=bool(forms.actions), asynchronous=asynchronous),
                workers=first + len(rows),
                placement={f"main.rows[{i}]": first + i for i in range(len(rows))},
            )
        except BaseException as error:
            self._gone(error)
            raise

    # ---- going on ----

    def call(self) -> None:
        """Send out the request in the beat."""
        if self._asynchronous:
            self.beat.turn.schedule()
        self.go_on()

    def order(self, *order: Any) -> list[Any]:
        """Have all groups obey an order; returns their replies."""
        self.beat.next_order = order
        self.call()
        self.go_on()
        return self.replies()

    def replies(self) -> list[Any]:
        """The replies of the groups to an order; raises the exception of a group that raised one."""
        replies: list[Any] = self.beat.replies
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def go_on(self, timeout: float | None = None) -> bool:
        """Run to the next pause; False after the timeout."""
        try:
            return self._run.advance(timeout) if not self._terminal else self._advanced(timeout)
        except rx.ReactionError as error:
            self._gone(error.__cause__ or error)
            cause = error.__cause__
            if isinstance(cause, SimulationError):
                raise cause from cause.__cause__
            raise
        except rx.WorkerDied as error:
            died = self._died(error)
            self._gone(died)
            raise died from None
        except (rx.WorkerStartError, KeyboardInterrupt) as error:
            self._gone(error)
            self._run.close(stepwise.PATIENCE_S)  # it is not over if Ctrl-C came just before it went on
            raise

    def _advanced(self, timeout: float | None) -> bool:
        """Run to the next pause; if that takes long, say once, on the terminal, which environments it waits for."""
        long = STUCK_AFTER_S
        if timeout is not None and timeout <= long:
            return self._run.advance(timeout)
        if self._run.advance(long) or self._run.over:
            return not self._run.over
        say(f"{self.path}: no answer for {long:g} s from {self.late() or 'its workers'}; Ctrl-C stops it")
        return self._run.advance(None if timeout is None else timeout - long)

    # ---- its end ----

    @property
    def restarts(self) -> int:
        """The number of restarts of environments."""
        if self._run.over:
            return sum(rows.group.restarts for rows in self._rows)
        return int(sum(self.order("restarted")))

    def close(self, timeout: float | None) -> None:
        """Close the environments and end the workers; kill those that take more than `timeout` seconds."""
        self._run.close(timeout)
        self._whereabouts.close()

    def refuse_ended(self, name: str) -> NoReturn:
        """Refuse a call of `name` after the end."""
        if self.end:
            raise ClosedEnvironmentError(
                f"Trying to operate on `{name}`, which has ended with an error; make another one. It was: {self.end}"
            )
        raise ClosedEnvironmentError(f"Trying to operate on `{name}`, after a call to `close()`.")

    def _gone(self, error: BaseException) -> None:
        self.end = in_words(error)
        self._whereabouts.close()

    def late(self) -> str:
        """The environments that have not answered, as far as they are known."""
        return self._spelled([rows.group for rows in self._rows if self._whereabouts.of(rows.group.number) is not None])

    def _died(self, error: rx.WorkerDied) -> rx.WorkerDied:
        """The error for a dead process, with its environments."""
        named = [rows.group for rows in self._rows if f"{rows.path})" in str(error)]
        what, status = self._spelled(named or [rows.group for rows in self._rows]), error.status
        how = f"died: {error}"
        if status is not None and named:
            how = f"{ending(status)}: {_why(status)}"
            if self.on_error == "raise":
                how += '; to go on, with all environments made again, say on_error="restart"'
        died = rx.WorkerDied(f"{self.path}: the process of {what}, {how}")
        died.status = status
        for note in getattr(error, "__notes__", ()):
            died.add_note(note)
        return died

    def _spelled(self, groups: list[Share]) -> str:
        """Groups of environments in words, with the environment that each was stepping."""
        texts = []
        for group in groups:
            text, at = f"environments {group.first} to {group.own.stop - 1}", self._whereabouts.of(group.number)
            if group.own.stop - group.first == 1:
                text = f"environment {group.first}"
            if at is not None:
                text += f", in environment {group.first + at} (seed {self.seeds[group.first + at]})"
            texts.append(text)
        return "; ".join(texts)


def _why(status: int) -> str:
    """Why a process of environments has ended, as far as its exit status shows."""
    if status >= 0:
        return "an environment ended it (os._exit, sys.exit in native code), and has to raise an exception instead"
    if status == -signal.SIGKILL:
        return "if no one killed it, the system was out of memory (see dmesg), so take fewer or smaller environments"
    if -status in CRASHES:
        return "native code of an environment crashed, which with workers=1 a debugger can follow"
    return "another process sent it this signal"
