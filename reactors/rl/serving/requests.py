"""Which requests make a batch?

Requests wait where they were made, in the caller's process, until `max_batch` of them are there or the first has
waited for `max_wait`; then they go into the program as one event. While a batch is on its way those that come later
gather, so batches grow with the load. At the end of the program, those that have no answer are refused.

The clock that counts here is that of the wall, and not the program's: with `fast=True`, logical time is another.
"""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from reactors.rl.errors import NotServingError
from reactors.rl.serving.answers import AnswerSender, PipeEnd, Receiver
from reactors.rl.serving.statistics import ServingStatistics, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

AHEAD = 2  # batches on their way: while one is evaluated, a full one may wait behind it

_HERE: weakref.WeakValueDictionary[str, Requests] = weakref.WeakValueDictionary()


class Request(NamedTuple):
    """One that waits for its answer."""

    made: float
    observation: Any  # as the server has checked it
    future: Future[Any]
    session: str | None
    first: bool


class Requests:
    """Those of one server, which `send` puts into the program: False if it takes no more.

    A batch is its number and what `gather` makes of the observations of all requests; if the server `remembers`, also
    their sessions, and which of them begin again, bool (n,).

    Any thread may use it. In another process it is a `AnswerSender`, and home from there it is itself again.
    """

    def __init__(
        self,
        send: Callable[[tuple[Any, ...]], bool],
        gather: Callable[[Sequence[Any]], Any],
        max_batch: int,
        max_wait: float,
        *,
        remembers: bool = False,
    ) -> None:
        self.send, self.gather, self.remembers = send, gather, remembers
        self.max_batch, self.max_wait = max_batch, max_wait
        self.path = "the server"
        self.state: Literal["idle", "serving", "over"] = "idle"
        lock = threading.RLock()
        self.due, self.turned = threading.Condition(lock), threading.Condition(lock)  # of requests, of states
        self.waiting: deque[Request] = deque()
        self.out: dict[int, list[Request]] = {}  # by number
        self.number = 0
        self.tally = Tally()
        self.timer: threading.Thread | None = None
        self.receiver: Receiver | None = None
        self.key = secrets.token_hex(16)
        _HERE[self.key] = self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.receiver is None or not self.receiver.thread.is_alive():  # that of a worker that died is of no use
            self.receiver = Receiver(self, f"answers of {self.path}")
        return _found, (self.key, self.receiver.place)

    def put(self, observation: Any, session: str | None = None, *, first: bool = False) -> Future[Any]:
        """One more. Raises `NotServingError`."""
        future: Future[Any] = Future()
        with self.due:
            if self.state != "serving":
                self.tally.refused += 1
                raise self._refusal("; if it is run again, wait(timeout) of the server waits for that")
            self.waiting.append(Request(time.perf_counter(), observation, future, session, first))
            refused = self._dispatch()
            if self.waiting:
                self.due.notify()
        self._refuse(refused)
        return future

    def refuse(self) -> None:
        """One that cannot be answered was refused."""
        with self.due:
            self.tally.refused += 1

    def wait(self, timeout: float | None) -> bool:
        """Wait for the server to begin; whether it serves.

        After its end it may begin again at any moment, or never: it is waited for only with a timeout.
        """
        with self.turned:
            again = self.state == "over" and timeout is not None
            ends = {"serving"} if again else {"serving", "over"}
            self.turned.wait_for(lambda: self.state in ends, timeout)
            return self.state == "serving"

    def statistics(self) -> ServingStatistics:
        """Counts, batches and percentiles of latency since the server began."""
        with self.due:
            return self.tally.statistics()

    # What the server, or a `Receiver`, says.

    def opened(self) -> None:
        """The server takes requests from now on."""
        with self.due:
            self.state, self.tally = "serving", Tally()
            self.timer = threading.Thread(target=self._keep_time, name=f"requests to {self.path}", daemon=True)
            self.timer.start()
            self.turned.notify_all()

    def answered(self, number: int, actions: NDArray[Any] | Sequence[Any]) -> None:
        """The actions for a batch."""
        with self.due:
            batch = self.out.pop(number, [])  # none if the program replays a log
            now = time.perf_counter()
            if batch:
                self.tally.note([now - request.made for request in batch])
            refused = self._dispatch()
            if self.waiting:
                self.due.notify()
        for request, action in zip(batch, actions, strict=False):
            if request.future.set_running_or_notify_cancel():
                request.future.set_result(action)
        self._refuse(refused)

    def closed(self) -> None:
        """It no longer serves."""
        with self.due:
            refused, timer = self._end(), self.timer
        self._refuse(refused)
        if timer is not None and timer is not threading.current_thread():
            timer.join()

    def home(self) -> Requests:
        """The worker that had the server is done."""
        receiver, self.receiver = self.receiver, None
        if receiver is not None:
            receiver.finish()
        return self

    def _dispatch(self) -> list[Request]:
        """Send what is ready to go; requests that cannot be answered any more."""
        while self.waiting:
            full = len(self.waiting) >= self.max_batch
            ripe = time.perf_counter() - self.waiting[0].made >= self.max_wait
            if not (full and len(self.out) < AHEAD) and not (ripe and not self.out):
                break
            batch = [self.waiting.popleft() for _ in range(min(len(self.waiting), self.max_batch))]
            self.number += 1
            self.out[self.number] = batch
            content: tuple[Any, ...] = self.number, self.gather([request.observation for request in batch])
            if self.remembers:
                content += tuple(each.session for each in batch), np.array([each.first for each in batch])
            if not self.send(content):
                return self._end()
        return []

    def _end(self) -> list[Request]:
        """Take no more; those without an answer."""
        left = [request for batch in self.out.values() for request in batch] + [*self.waiting]
        self.out.clear()
        self.waiting.clear()
        self.state = "over"
        self.tally.refused += len(left)
        self.turned.notify_all()
        self.due.notify_all()
        return left

    def _refuse(self, requests: list[Request]) -> None:
        for request in requests:
            if request.future.set_running_or_notify_cancel():
                request.future.set_exception(self._refusal())

    def _refusal(self, remedy: str = "") -> NotServingError:
        if self.state == "idle":
            return NotServingError(
                f"{self.path} does not serve yet: rx.run has to run its program; its wait() waits for that"
            )
        return NotServingError(f"{self.path} no longer serves: its program has ended{remedy}")

    def _keep_time(self) -> None:
        """Send what has waited for long enough."""
        refused: list[Request] = []
        with self.due:
            while self.state == "serving":
                left = None  # until another thread says that there is something to send
                if self.waiting and not self.out:
                    left = self.waiting[0].made + self.max_wait - time.perf_counter()
                if left is None or left > 0:
                    self.due.wait(left)
                refused += self._dispatch()
        self._refuse(refused)


def _found(key: str, place: PipeEnd) -> Requests | AnswerSender:
    """The object itself in the process that made it, and what tells it in any other."""
    here = _HERE.get(key)
    return AnswerSender(place, partial(_found, key, place)) if here is None else here.home()
