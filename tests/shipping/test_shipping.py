import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import reactors as rx
from tests.faults.programs import run

torch = pytest.importorskip("torch")


class Holder(rx.Reactor):
    """Has whatever attributes it is given, and does what a test asks of it at startup."""

    out = rx.Output()

    def __init__(self, deed: Any = None, **attributes: Any) -> None:
        self.deed = deed
        vars(self).update(attributes)

    @rx.reaction(rx.startup, effects=out)
    def start(self) -> None:
        if self.deed is not None:
            self.deed(self)


class Quiet(rx.Reactor):
    """Fills the first worker."""


class Reader(rx.Reactor):
    inp = rx.Input()

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @rx.reaction(inp)
    def read(self) -> None:
        self.seen.append(self.inp.value)


class Main(rx.Reactor):
    def __init__(self, deed: Any = None, **attributes: Any) -> None:
        self.bystander = Reader()
        self.actor = Holder(deed, **attributes)
        rx.connect(self.actor.out, self.bystander.inp)


def one(deed: Any = None, **attributes: Any) -> Any:
    """The holder after a run on a worker process."""
    main = Main(deed, **attributes)
    run(main)
    return main.actor


# What cannot be sent.


def test_an_open_file_is_refused_by_its_path() -> None:
    with Path("/dev/null").open() as file, pytest.raises(rx.ShippingError) as caught:
        one(log=file)
    assert caught.match(
        r"main\.actor\.log cannot be sent to worker 1: it is a TextIOWrapper .*; make it in .*rx\.startup"
    )


def test_the_part_of_an_attribute_that_cannot_be_sent_is_named() -> None:
    with pytest.raises(rx.ShippingError, match=r"main\.actor\.settings\['locks'\]\[1\] cannot be sent .* it is a lock"):
        one(settings={"locks": [1, threading.Lock()]})


def test_a_lambda_over_a_socket_is_refused_with_the_name_of_the_socket() -> None:
    with (
        socket.socket() as line,
        pytest.raises(rx.ShippingError, match=r"main\.actor\.send, which uses line, cannot be"),
    ):
        one(send=lambda: line.send(b""))


def test_a_body_that_uses_what_cannot_be_sent_is_refused() -> None:
    class Inner(rx.Reactor):
        def __init__(self) -> None:
            lock = threading.Lock()
            self.add_reaction(rx.startup, lambda: lock.acquire() and None)

    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Inner()

    with pytest.raises(rx.ShippingError, match=r"the body of main\.actor\..*, which uses lock, cannot be sent"):
        run(Outer())


def test_what_a_class_and_its_code_bring_along_is_named() -> None:
    """Of a script, the globals that its code uses go along."""
    script = """
import threading
import reactors as rx

LOCK = threading.Lock()
SETTINGS = {"locks": [LOCK]}

def use_a_lock():
    return SETTINGS["locks"][0].locked()

class UsesGlobal(rx.Reactor):
    @rx.reaction(rx.startup)
    def start(self):
        (lambda: use_a_lock())()

class HasProperty(rx.Reactor):
    @property
    def locked(self):
        return LOCK.locked()

class Base:
    shared = (1, LOCK)

class Derived(rx.Reactor, Base):
    pass

class Defaulted(rx.Reactor):
    def ask(self, lock=LOCK):
        return lock.locked()

for kind in (UsesGlobal, HasProperty, Derived, Defaulted):
    main = rx.Reactor()
    main.actor = kind()
    try:
        rx.run(main, backend="process")
    except rx.ShippingError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    end = (
        " cannot be sent to worker 0: it is a lock (cannot pickle '_thread.lock' object); make it in a reaction to "
        "rx.startup, which runs on the worker, and keep it in an attribute, because what code finds in globals or in "
        "its class goes along with it"
    )
    places = [
        "UsesGlobal.start, which uses the global use_a_lock, which uses the global SETTINGS['locks'][0],",
        "HasProperty.locked, which uses the global LOCK,",
        "Derived, which derives from Base.shared[1],",
        "Defaulted.ask, which has a default argument,",
    ]
    assert done.stdout.splitlines() == [f"the class of main.actor, {place}{end}" for place in places]


def test_a_tensor_on_a_gpu_is_refused() -> None:
    class OnGpu(torch.Tensor):  # type: ignore[misc, name-defined]
        is_cuda = True

    OnGpu.__module__ = "torch"
    with pytest.raises(rx.ShippingError, match=r"main\.actor\.weights\[0\] cannot be sent .*GPU"):
        one(weights=[torch.zeros(1).as_subclass(OnGpu)])


def test_nothing_runs_when_something_cannot_be_sent(tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    with pytest.raises(rx.ShippingError):
        one(lambda _: witness.touch(), lock=threading.Lock())
    assert not witness.exists()


# What comes back.


def test_attributes_come_back_changed_new_and_gone() -> None:
    def change(holder: Any) -> None:
        holder.number += 1
        holder.table[3] = 7
        holder.fresh = {"a": [1, 2]}
        del holder.old

    holder = one(change, number=1, table=np.zeros(5), old="old")
    assert holder.number == 2
    assert holder.table.tolist() == [0, 0, 0, 7, 0]
    assert holder.fresh == {"a": [1, 2]}
    assert not hasattr(holder, "old")


def test_what_is_one_object_stays_one_object() -> None:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    def train(holder: Any) -> None:
        holder.net(torch.ones(1, 2)).sum().backward()
        holder.optimizer.step()

    net = Net()
    before = net.layer.weight.detach().clone()
    holder = one(train, net=net, optimizer=torch.optim.SGD(net.parameters(), 0.1))
    assert isinstance(holder.net, Net)
    assert holder.optimizer.param_groups[0]["params"][0] is holder.net.layer.weight
    assert not torch.equal(holder.net.layer.weight, before)


def test_a_class_made_in_a_function_comes_back_as_itself_and_unchanged() -> None:
    calls: list[int] = []

    class Local:
        number = 0

        def call(self) -> None:
            calls.append(1)

    method = Local.call

    def change(holder: Any) -> None:
        holder.thing.number = 5

    holder = one(change, thing=Local())
    assert type(holder.thing) is Local
    assert Local.call is method
    assert holder.thing.number == 5


GENERATED = """
import dataclasses
import reactors as rx

Point = dataclasses.make_dataclass("Point", ["x"], namespace={"twice": lambda self: 2 * self.x})

def init(self):
    self.tick = rx.Timer(0)
    self.point = Point(3)
    self.add_reaction(self.tick, lambda: setattr(self, "found", self.point.twice()))

Called = type("Called", (rx.Reactor,), {"__init__": init})

class Stated(rx.Reactor):
    __init__ = init
"""


@pytest.mark.parametrize("names", [{}, {"__name__": "__main__"}, {"__name__": "notation"}])
def test_classes_that_code_made_in_bare_globals_go_by_value(names: dict[str, Any]) -> None:
    made = dict(names)
    exec(GENERATED, made)
    for kind in (made["Called"], made["Stated"]):
        main: Any = rx.Reactor()
        main.quiet, main.made = Quiet(), kind()
        rx.run(main, workers=2, placement={"main.made": 1}, fast=True, timeout=0)
        assert main.made.found == 6
        assert type(main.made) is kind
        assert type(main.made.point) is made["Point"]


def test_ports_and_reactors_in_attributes_come_back_as_the_callers_own() -> None:
    def remember(holder: Any) -> None:
        holder.notes = {"port": holder.out, "me": holder}

    holder = one(remember)
    assert holder.notes["port"] is holder.out
    assert holder.notes["me"] is holder


class Produces(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    out, outs = rx.Output(shape=(3,), dtype=np.float32), rx.Output(int, width=2)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(tick, effects=(out, outs))
    def go(self) -> None:
        self.n += 1
        self.out.set(np.full(3, self.n, np.float32))
        self.outs[1].set(self.n)


class Sums(rx.Reactor):
    inp, inps = rx.Input(shape=(3,), dtype=np.float32), rx.Input(int, width=2)

    def __init__(self) -> None:
        self.sum = 0.0

    @rx.reaction(inp, inps)
    def add(self) -> None:
        self.sum += float(np.sum(self.inp.value)) + (self.inps[1].value or 0)


class Another(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.sums = Produces(), rx.bank(2, Sums)
        rx.connect(self.source.out, self.sums.inp, broadcast=True)
        rx.connect(self.source.outs, self.sums[0].inps)


@pytest.mark.filterwarnings("ignore::reactors.ReactorWarning")  # one input of the bank is not connected
@pytest.mark.parametrize("ran", [False, True])
def test_another_program_in_an_attribute_travels_whole_and_runs_when_it_is_back(ran: bool) -> None:
    another = Another()
    if ran:
        rx.run(another, fast=True, timeout="1 ms")
    back = one(kept=SimpleNamespace(program=another)).kept.program
    assert back is not another
    expected = rx.run(another, fast=True, timeout="2 ms")
    assert rx.run(back, fast=True, timeout="2 ms").digest == expected.digest
    assert [each.sum for each in back.sums] == [each.sum for each in another.sums]
    assert back.source.n == another.source.n == (5 if ran else 3)


class OfTwoError(Exception):
    """Is pickled with one argument, and takes two."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_an_attribute_that_cannot_be_read_back_is_missing_alone() -> None:
    def keep(holder: Any) -> None:
        whole, error = [4], OfTwoError(1, 2)
        holder.first, holder.errors, holder.again = [whole], [whole, error, (5,)], {"whole": whole, "error": error}
        holder.number, holder.last = 3, [holder.first]
        del holder.gone

    holder = one(keep, number=1, name="before", gone=None)
    assert (holder.number, holder.name, holder.first) == (3, "before", [[4]])
    assert not hasattr(holder, "gone")
    assert holder.last[0] is holder.first
    assert holder.again["whole"] is holder.first[0]
    said = "<main.actor.errors stayed on its worker: it cannot be unpickled here (TypeError: "
    for value in (holder.errors, holder.again["error"]):  # which was one object, and is not half of it now
        assert repr(value).startswith(said)


def test_what_cannot_be_read_back_is_missing_in_all_attributes_that_have_it() -> None:
    class Half:
        number = 0

        def __setstate__(self, state: Any) -> None:
            raise LookupError("no state")

    def keep(holder: Any) -> None:
        holder.one = Half()
        holder.one.number = 1
        holder.two, holder.three = holder.one, {"one": holder.one, "other": "whole"}

    holder = one(keep)
    assert holder.three["other"] == "whole"
    for value in (holder.one, holder.two, holder.three["one"]):
        with pytest.raises(rx.ShippingError, match=r"main\.actor\.one .*\(LookupError: no state\)"):
            _ = value.number


def test_what_cannot_come_back_says_so_when_it_is_used() -> None:
    def open_things(holder: Any) -> None:
        holder.log = Path("/dev/null").open()  # noqa: SIM115
        holder.number = 3

    holder = one(open_things)
    assert holder.number == 3
    assert "main.actor.log stayed on its worker" in repr(holder.log)
    for use in (lambda: holder.log.write("x"), holder.log, lambda: len(holder.log), lambda: holder.log[0]):
        with pytest.raises(rx.ShippingError, match=r"main\.actor\.log stayed on its worker: .*TextIOWrapper"):
            use()


def test_what_cannot_be_read_back_says_so_when_it_is_used() -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return int, ("no number",)

    def trap(holder: Any) -> None:
        holder.trap = Trap()

    holder = one(trap, trap=[])
    with pytest.raises(rx.ShippingError, match=r"main\.actor\.trap .*ValueError: invalid literal"):
        _ = holder.trap.anything


def test_a_second_run_goes_on_from_what_the_first_left() -> None:
    def count(holder: Any) -> None:
        holder.number += 1

    main: Any = Main(count, number=0)
    for _ in range(3):
        run(main)
    assert main.actor.number == 3


def test_attributes_in_slots_travel_too() -> None:
    class Plain(rx.Reactor):
        pass

    class Slotted(Plain):
        __slots__ = ("__private", "inside")

        def __init__(self) -> None:
            self.inside, self.__private = 1, [2]

        @rx.reaction(rx.startup)
        def start(self) -> None:
            self.inside += 1
            self.__private.append(3)

        def private(self) -> list[int]:
            return self.__private

    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Slotted()

    main = Outer()
    run(main)
    assert main.actor.inside == 2
    assert main.actor.private() == [2, 3]


def test_much_data_comes_back() -> None:
    def fill(holder: Any) -> None:
        holder.big = np.arange(10_000_000)

    assert one(fill).big[-1] == 9_999_999


# What a reactor sees of the others.


def test_the_state_of_a_reactor_on_another_worker_cannot_be_read() -> None:
    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Holder(secret=1)

        @rx.reaction(rx.startup)
        def peek(self) -> None:
            _ = self.actor.secret  # type: ignore[attr-defined]

    with pytest.raises(rx.ReactionError) as caught:
        run(Outer())
    assert isinstance(caught.value.__cause__, rx.ShippingError)
    assert "main.actor.secret: main.actor, a Holder, lives on worker 1" in str(caught.value.__cause__)


def test_the_ports_of_a_contained_reactor_on_another_worker_can_be_used() -> None:
    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Holder(lambda holder: holder.out.set(5))
            self.seen: list[Any] = []
            self.add_reaction(self.actor.out, self.look)

        def look(self) -> None:
            self.seen.append(self.actor.out.value)

    main = Outer()
    run(main)
    assert main.seen == [5]


class Message:
    def __init__(self, text: str) -> None:
        self.text = text


def test_objects_of_the_programs_own_classes_pass_between_workers() -> None:
    main = Main(lambda holder: holder.out.set(Message("hello")))
    run(main)
    assert [message.text for message in main.bystander.seen] == ["hello"]
    assert type(main.bystander.seen[0]) is Message


def test_all_reactions_of_a_worker_read_the_same_object() -> None:
    class Twice(Reader):
        @rx.reaction(Reader.inp)
        def read_again(self) -> None:
            self.same = self.seen[-1] is self.inp.value

    class TwoReads(rx.Reactor):
        def __init__(self) -> None:
            self.bystander, self.actor = Twice(), Holder(lambda holder: holder.out.set(Message("hello")))
            rx.connect(self.actor.out, self.bystander.inp)

    main = TwoReads()
    run(main)
    assert main.bystander.same


def test_a_bound_reaction_can_be_kept_and_called() -> None:
    class Repeating(rx.Reactor):
        def __init__(self) -> None:
            self.count = 0
            self.again = self.start

        @rx.reaction(rx.startup)
        def start(self) -> None:
            self.count += 1
            if self.count < 3:
                self.again()

    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Repeating()

    main = Outer()
    run(main)
    assert main.actor.count == 3


# Reactions in C.


def in_c(body: Any) -> Any:
    """A function (data, present, state), compiled."""
    numba = pytest.importorskip("numba")
    types = numba.types
    return numba.cfunc(types.void(types.CPointer(types.voidptr), types.voidptr, types.voidptr))(body)


def test_a_c_function_of_a_library_runs_in_a_worker_and_its_state_comes_back() -> None:
    numba = pytest.importorskip("numba")

    @in_c
    def count(data: Any, present: Any, state: Any) -> None:
        numba.carray(state, 1, np.int64)[0] += 1

    class Counter(rx.Reactor):
        tick = rx.Timer(period="1 ms")

        def __init__(self) -> None:
            self.counts = np.zeros(1, np.int64)
            self.add_reaction(self.tick, rx.native(count, self.counts))

    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Counter()

    main = Outer()
    counts = main.actor.counts
    for n in (1, 2):
        run(main, timeout="9 ms", fast=True)
        assert main.actor.counts is counts
        assert counts[0] == 10 * n


def test_what_a_c_function_only_reads_may_be_read_only() -> None:
    @in_c
    def nothing(data: Any, present: Any, state: Any) -> None:
        pass

    class Table(rx.Reactor):
        def __init__(self) -> None:
            self.table = np.frombuffer(bytes(8), np.int64)
            self.started = 0
            self.add_reaction(rx.startup, rx.native(nothing, self.table))
            self.add_reaction(rx.startup, self.start)

        def start(self) -> None:
            self.started += 1

    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Table()

    main = Outer()
    table = main.actor.table
    run(main)
    assert main.actor.table is table
    assert main.actor.started == 1


def test_a_c_function_that_only_this_process_has_is_refused() -> None:
    import cffi

    ffi = cffi.FFI()

    @ffi.callback("void(void **, unsigned char *, void *)")  # type: ignore[untyped-decorator]
    def nothing(data: object, present: object, state: object) -> None: ...

    class Native(rx.Reactor):
        def __init__(self) -> None:
            self.add_reaction(rx.startup, rx.native(nothing))

    class Outer(rx.Reactor):
        def __init__(self) -> None:
            self.bystander = Quiet()
            self.actor = Native()

    with pytest.raises(rx.ShippingError, match=r"the body of main\.actor\..* cannot be sent .*in no library"):
        run(Outer())


def test_a_class_of_a_script_can_be_the_type_of_a_port() -> None:
    script = """
import pickle
import reactors as rx

class Message:
    def __init__(self, number):
        self.number = number

class Writer(rx.Reactor):
    out = rx.Output(Message)
    @rx.reaction(rx.startup, effects=out)
    def write(self):
        pickle.dumps(Message(1))  # by reference, and so as fast as it can be
        self.out.set(Message(7))

class Reader(rx.Reactor):
    inp = rx.Input(Message)
    @rx.reaction(inp)
    def read(self):
        self.got, self.same = self.inp.value, type(self.inp.value) is Message

class Main(rx.Reactor):
    def __init__(self):
        self.writer, self.reader = Writer(), Reader()
        rx.connect(self.writer.out, self.reader.inp)

main = Main()
rx.run(main, workers=2, backend="process", placement={"main.reader": 1})
print(main.reader.got.number, main.reader.same, type(main.reader.got) is Message)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("7 True True\n", "")


def test_a_function_with_a_cache_travels_without_what_is_in_it() -> None:
    script = textwrap.dedent("""
    import functools
    import reactors as rx

    @functools.lru_cache(maxsize=5)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    class Member(rx.Reactor):
        found = 0

        @functools.cache
        def table(self):
            return 7

        @rx.reaction(rx.startup)
        def begin(self):
            self.found = fib(20) + self.table() + fib.cache_parameters()["maxsize"]

    class Main(rx.Reactor):
        def __init__(self):
            self.members = rx.bank(2, Member)

    fib(10)
    main = Main()
    rx.run(main, workers=2, backend="process")
    print([m.found for m in main.members], fib.cache_info().currsize)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[6777, 6777] 5", done.stderr


class Changing(rx.Reactor):
    """Ends with values that are equal to those it began with, and are other ones."""

    def __init__(self) -> None:
        self.one, self.yes, self.zero, self.three = 1, True, 0.0, 3
        self.inside, self.text = [1, 0.0], "a"

    @rx.reaction(rx.startup)
    def change(self) -> None:
        self.one, self.yes, self.zero, self.three = True, 1, -0.0, 3.0
        self.inside, self.text = [True, -0.0], str(b"a", "ascii")


@pytest.mark.parametrize(("backend", "workers"), [("inline", 1), ("thread", 2), ("process", 1), ("process", 2)])
def test_attributes_come_back_that_are_equal_to_what_they_were_and_are_not_the_same(backend: Any, workers: int) -> None:
    main: Any = rx.Reactor()
    main.a, main.b = Changing(), Changing()
    rx.run(main, backend=backend, workers=workers, placement={"main.b": workers - 1})
    for each in (main.a, main.b):
        assert repr((each.one, each.yes, each.zero, each.three)) == "(True, 1, -0.0, 3.0)"
        assert repr(each.inside) == "[True, -0.0]"


@pytest.mark.parametrize("deep", [False, True])
def test_an_open_file_on_a_port_is_not_sent_as_what_is_in_it(deep: bool) -> None:
    def send(holder: Any) -> None:
        with Path("/dev/null").open() as file:
            holder.out.set({"deep": [file]} if deep else file)

    with pytest.raises(rx.ReactionError) as caught:
        one(send)
    assert (
        f"a {'dict' if deep else 'TextIOWrapper'} cannot be sent to another process (an open file belongs to one "
        "process); send plain data, or place both reactors on one worker"
    ) in str(caught.value)


def test_standard_output_on_a_port_is_that_of_the_worker() -> None:
    one(lambda holder: holder.out.set((sys.stdout, lambda: 3)))
