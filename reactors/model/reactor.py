"""What is a reactor?

It has state that no other reactor may touch, ports through which values come and go, and reactions that run in an order
that is fixed before the program starts. A subclass declares ports and reactions in its body, and sets up parameters and
structure in its `__init__`, which runs once, in the caller. Assigning a reactor to an attribute contains it.

What this package stores about a reactor is in slots (without `__dict__` among them: a class gets a faster one by
itself), so that `vars(reactor)` is the user's own, plus the bound ports. There is no `__setattr__`: it would slow down
every `self.n += 1`. Containment is read from `vars` when the program is elaborated.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, overload

from reactors.code.functions import own_code
from reactors.errors import ArgumentError, DeclarationError, OutsideReactionError, StructureError
from reactors.location import Call, Location
from reactors.model.actions import checked_duration
from reactors.model.classbody import complete, linear
from reactors.model.declaration import Declared, HasPorts, Owner, article, spelled
from reactors.model.modes import Mode, State, current, innermost, of_reactor
from reactors.model.native import Native
from reactors.model.reaction import Effects, Ends, Reaction, Triggers, Uses, checked_body
from reactors.model.thread_state import executing
from reactors.names.keywords import check_keywords, spelled_out
from reactors.names.lacking import explains, listed
from reactors.tag import Tag
from reactors.time import duration
from reactors_runtime.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    import numpy as np

    from reactors.time import Duration


_MAKING = ("__new__", "__init__", "__post_init__")  # what runs while a reactor is made
_WITHIN = ("<listcomp>", "<dictcomp>", "<genexpr>", "<lambda>")  # frames of their own, in CPython 3.11 all of them
_NO_STATES: Mapping[str, State[Any]] = {}
_new_tag = tuple.__new__  # half the time of Tag(...)


class Reactor(Owner):
    """The base class of reactors.

    >>> import reactors as rx
    >>> class Counter(rx.Reactor):
    ...     tick = rx.Timer(period="100 ms")
    ...     count = rx.Output(int)
    ...     def __init__(self, start=0):
    ...         self.n = start
    ...     @rx.reaction(tick, effects=count)
    ...     def on_tick(self):
    ...         self.n += 1
    ...         self.count.set(self.n)
    >>> Counter()
    <reactor Counter>
    """

    __slots__ = (
        "_added_reactions",
        "_bank_index",
        "_claimed",
        "_container",
        "_engine",
        "_index",
        "_made_at",
        "_made_in",
        "_mode",
        "_own_states",
        "_path",
        "_rng",
        "_run_seed",
    )

    _declarations: ClassVar[tuple[Declared, ...]] = ()  # ports, timers and actions of the class and its bases
    _reactions: ClassVar[tuple[Reaction[Any], ...]] = ()  # likewise, base reactions first
    _states: ClassVar[tuple[State[Any], ...]] = ()  # likewise

    _added_reactions: tuple[Reaction[Any], ...]  # reactions declared by call
    _bank_index: int
    _claimed: bool  # it runs, as the main reactor of a program
    _engine: Any  # what runs it, while something does
    _index: int  # in graph.reactors
    _made_at: Location
    _made_in: Reactor | None  # in whose method it was made, and which perhaps contains it
    _container: Reactor | None
    _mode: Mode | None  # of its container, in which it lies
    _own_states: Mapping[str, State[Any]]  # those that no class declares, by name
    _path: str | None
    _rng: np.random.Generator | None
    _run_seed: int | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check the body of every new class."""
        super().__init_subclass__(**kwargs)
        complete(cls, Location.caller(), _RESERVED)

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Self:
        """Create a reactor with its ports, timers and actions, whether or not `__init__` calls that of the base class.

        Arguments are those of `__init__`, and `mode`, a mode of the container, unless `__init__` has a parameter of
        that name.
        """
        self = object.__new__(cast("type[Self]", Bare) if cls is Reactor else cls)
        frame = sys._getframe(1)
        self._made_at, self._made_in = Location.of(frame), maker_in(frame)
        if executing.program:
            raise StructureError(
                f"{article(spelled(cls))} is made at {self._made_at} inside of a reaction, where nothing nests: the "
                "graph of the program is fixed by then, and no other program runs in it; make it in __init__ and let "
                "it wait for its first input, or before or after this program"
            )
        self._added_reactions, self._own_states = (), _NO_STATES
        self._bank_index = 0
        self._claimed = False
        if "mode" in kwargs:
            self._mode = of_reactor(cls, kwargs, Call(spelled(cls), self._made_at))
        else:
            self._mode = innermost()
        if (args or kwargs) and cls.__init__ is object.__init__ and (args or [*kwargs] != ["mode"]):
            given = [*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())]
            raise ArgumentError(
                f"{spelled(cls)} ({self._made_at}) has no __init__ that takes arguments, and is given "
                f"{', '.join(given)}; write one, or leave them out"
            )
        if kwargs:
            check_keywords(cls.__init__, kwargs, lambda: Call(spelled(cls), self._made_at), "its __init__")
        self._container = self._path = self._engine = self._run_seed = self._rng = None
        for declaration in cls._declarations:
            setattr(self, declaration.name, declaration._bind(self))
        return self

    if TYPE_CHECKING:

        def __init__(self, *, mode: Mode | None = None) -> None: ...

        # What a bank has, beside the ports of its class: see `BankOf`.
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Self]: ...
        @overload
        def __getitem__(self, i: int) -> Self: ...
        @overload
        def __getitem__(self, i: slice) -> list[Self]: ...
        def __getitem__(self, i: int | slice) -> Self | list[Self]: ...

    def __repr__(self) -> str:
        return f"<reactor {self.path}>"

    # Structure

    @property
    def path(self) -> str:
        """Its place in the program, such as "main.rollouts[3]"; its class before the program is elaborated."""
        return self._path or spelled(type(self))

    @property
    def bank_index(self) -> int:
        """Its index in its bank; 0 if it is in none."""
        return self._bank_index

    @spelled_out("add_reaction")
    def add_reaction(
        self,
        triggers: Triggers,
        body: Callable[[], object] | Native,
        *,
        uses: Uses = (),
        effects: Effects = (),
        deadline: Duration | None = None,
        late: Callable[[], object] | Native | None = None,
        mode: Mode | None = None,
    ) -> None:
        """Declare a reaction by a call in `__init__`: for ports of contained reactors, and for generated programs.

        `body`, and `late` after a missed deadline, are called without arguments. Reactions declared by a call come
        after those in the body of the class whose `__init__` declares them, in the order of the calls; a subclass's
        come after all of these.

        >>> import reactors as rx
        >>> class Source(rx.Reactor):
        ...     out = rx.Output(int)
        >>> class Watch(rx.Reactor):
        ...     def __init__(self):
        ...         self.source = Source()
        ...         self.add_reaction(self.source.out, self.look)
        ...     def look(self):
        ...         print(self.source.out.value)
        """
        where = Call(f"{self.path}.add_reaction", Location.caller())
        if executing.program or self._engine is not None:
            raise StructureError(f"{where} while the program runs; declare reactions in the class or in __init__")
        if (deadline is None) != (late is None):
            raise DeclarationError(f"{where}: deadline and late go together: how long, and what to run instead")
        declared: Reaction[Any] = Reaction(checked_body(body, where, "body"), Ends.of(triggers, uses, effects, where))
        declared._declare(sys._getframe(1))
        declared._mode = current(mode, where)
        declared._owner, declared.name = self, self._free_name(body)
        declared._among = self._class_that_runs(sys._getframe(1))
        if deadline is not None and late is not None:
            declared.limit = checked_duration(deadline, "deadline", where)
            declared.late = checked_body(late, where, "late")
        for end in (*declared.triggers, *declared.uses, *declared.effects):
            other = end._owner if isinstance(end, Declared) else None
            if other is not None and other is not self and other._container is None:
                other._container = self  # as far as is known: so that it is not run alone
        self._added_reactions = (*self._added_reactions, declared)

    def _class_that_runs(self, frame: FrameType | None) -> type:
        """The class whose `__init__`, or similar method, is running; from outside, the class of the reactor."""
        making = {
            function.__code__: kind
            for kind in type(self).__mro__
            for name in _MAKING
            if (function := own_code(vars(kind).get(name)))
        }
        while frame is not None:
            code = frame.f_code
            if code in making:
                first = frame.f_locals.get(next(iter(code.co_varnames), ""))
                if first is self or not isinstance(first, Reactor):  # a class, a tuple, or whatever it is by now
                    return making[code]
            frame = frame.f_back
        return type(self)

    def _in_order(self) -> list[Reaction[Any]]:
        """Its reactions in the order in which they run at a tag: base classes first, in each its body first."""
        rank = {kind: k for k, kind in enumerate(linear(type(self)))}
        return sorted((*self._reactions, *self._added_reactions), key=lambda reaction: rank[reaction._among])

    def _free_name(self, body: object) -> str:
        """A name for a reaction declared by a call: that of its body, with a number if it is taken."""
        body = body.cfunction if isinstance(body, Native) else body
        name: str = getattr(body, "__name__", "<lambda>")
        taken = {reaction.name for reaction in (*self._reactions, *self._added_reactions)}
        if not name.isidentifier():
            return f"reaction{len(taken) + 1}"
        return name if name not in taken else f"{name}{len(taken) + 1}"

    # In a reaction

    @property
    def tag(self) -> Tag:
        """The current tag: time in ns since the start, and microstep."""
        context = self._engine or self._running("tag")
        try:
            return _new_tag(Tag, context.now.tolist())
        except ValueError:  # another thread asks, and the run is over
            raise self._outside("tag") from None

    @property
    def physical_time(self) -> int:
        """The physical time in ns since the start."""
        time: int = self._running("physical_time").physical_time()
        if time < 0:
            raise self._outside("physical_time")
        return time

    @property
    def lag(self) -> int:
        """How far physical time is ahead of the tag's time, in ns."""
        self._running("lag")
        return self.physical_time - self.tag.time

    @property
    def start_time(self) -> int:
        """When tag (0, 0) began, in ns since 1970; with `rx.VirtualClock`, 0.

        Like `physical_time`, it is different in every run.
        """
        start: int = self._running("start_time").start_time()
        return start

    def check_deadline(self, *, handle: bool = False) -> bool:
        """Whether the running reaction has missed its deadline by now; False if it has none.

        With `handle`, what is declared to run instead runs at once if so, but only once in each execution: neither at a
        second call, nor if it makes the call itself.
        """
        missed: bool = self._running("check_deadline()").missed_deadline(handle=handle)
        return missed

    def trace(self, name: str, value: float | None = None) -> None:
        """Record an event, or the current `value` of something, in the timeline of `rx.run(..., trace=...)`.

        Without a trace, nothing happens. The last 65,536 records of each worker are kept. A value that is not finite is
        written as a string: "NaN", "Infinity", "-Infinity". Raises `ArgumentError` for a name that is empty or longer
        than 56 bytes, and for a value that is no number.
        """
        self._running("trace()").trace(self, name, value)

    def update_deadline(self, deadline: Duration) -> None:
        """Give the running reaction another deadline, for `check_deadline` and from its next execution on.

        This is only possible for a reaction that was declared with a deadline. The order of reactions stays the same.
        """
        context = self._running("update_deadline()")
        context.update_deadline(self, duration(deadline, "deadline of update_deadline", self.path))

    def request_stop(self) -> None:
        """End the program at the next microstep, or later, as `effects=rx.stop.after(...)` says."""
        self._running("request_stop()").request_stop(self)

    @property
    def seed(self) -> int:
        """A number that depends only on the seed of the run and the path of the reactor."""
        if self._run_seed is None:
            self._running("seed")
        from hashlib import blake2b

        return int.from_bytes(blake2b(f"{self._run_seed}:{self.path}".encode(), digest_size=8).digest()) >> 1

    @property
    def rng(self) -> np.random.Generator:
        """A NumPy generator seeded with `seed`, the same one throughout the run."""
        if self._rng is None:
            if self._run_seed is None:
                self._running("rng")
            import numpy as np

            self._rng = np.random.default_rng(np.random.SeedSequence(self.seed))
        return self._rng

    def _running(self, use: str) -> Any:
        context = self._engine  # once: a run may end in another thread
        if context is None:
            raise self._outside(use)
        return context

    def _outside(self, use: str) -> OutsideReactionError:
        where = f"{self.path} (made at {self._made_at}): .{use} outside of a reaction"
        if use == "request_stop()":
            return OutsideReactionError(f"{where}; call it in a reaction that declares effects=rx.stop")
        return OutsideReactionError(
            f"{where}; it is known only while the program runs: use it in a reaction, such as one to rx.startup"
        )

    # Its names

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name not in _RESERVED]

    def _lacks(self, name: str, seen: Mapping[str, object]) -> str:  # noqa: ARG002 - what has it is named in the message
        """What to add to the message when there is no attribute of this name."""
        near = did_you_mean(name, [known for known in dir(self) if not known.startswith("_")])
        if near:
            return near
        by_word: dict[str, list[str]] = {}
        for known, value in vars(self).items():
            if isinstance(value, Declared):
                by_word.setdefault(value.word, []).append(known)
            elif isinstance(value, HasPorts):
                by_word.setdefault("", []).append(known)
        contained = by_word.pop("", [])
        has = [f"the {word}{'s' * (len(names) > 1)} {listed(names)}" for word, names in by_word.items()]
        parts = [f"has {', '.join(has)}"] * bool(has) + [f"contains {listed(contained)}"] * bool(contained)
        return f"; it {' and '.join(parts)}" if parts else ""


explains(Reactor)

_RESERVED = frozenset(name for name in vars(Reactor) if not name.startswith("__"))


def maker_in(frame: FrameType | None) -> Reactor | None:
    """The reactor whose method `frame` executes, also from within an expression such as a comprehension."""
    while frame is not None and frame.f_code.co_name in _WITHIN:
        frame = frame.f_back
    if frame is None or not frame.f_code.co_argcount:
        return None
    first = frame.f_locals.get(frame.f_code.co_varnames[0])
    return first if isinstance(first, Reactor) else None


class Bare(Reactor):
    """What `rx.Reactor()` creates: a container without its own class, to which attributes can be assigned."""

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        if isinstance(value, Reactor):
            value._made_in = self
