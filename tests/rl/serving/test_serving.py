"""Requests from outside are answered in batches, by the weights of the moment, and none is lost."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import ArgumentError, ReactionError, ValueMismatchError
from reactors.rl.errors import NotFiniteError, RunFolderError
from reactors.rl.serving import requests as serving
from reactors.rl.serving.requests import Requests

SPACE = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
WAYS: list[dict[str, Any]] = [
    {"workers": 1, "backend": "inline"},
    {"workers": 1, "backend": "process"},
    {"workers": 2, "backend": "thread", "placement": {"main.server": 1}},
    {"workers": 2, "backend": "process", "placement": {"main.server": 1}},
]
ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way['workers']} {way['backend']}")

pytestmark = pytest.mark.usefixtures("fonts")


class Scale(rl.Policy):
    """Acts with the sum of what it sees, times its one weight.

    `gate` holds it up, 666 is too much for it, and -666 the end of its process.
    """

    size = 1

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.scale, self.gate, self.calls = 1.0, gate, 0

    def __deepcopy__(self, memo: Any) -> "Scale":
        return Scale(self.gate)

    def load(self, weights: Any) -> None:
        self.scale = float(weights[0])

    def act(self, observations: Any, rng: Any, steps: int) -> Any:
        raise NotImplementedError

    def greedy(self, observations: Any) -> Any:
        if self.gate is not None:
            self.gate.wait(5)
        if (observations == -666).any():
            os._exit(3)
        if (observations == 666).any():
            raise ArithmeticError("too much")
        return observations.sum(1) * self.scale


class Learner(rx.Reactor):
    """Sends new weights at the start, and whenever they are given from outside."""

    given = rx.PhysicalAction(float)
    weights = rx.Output(shape=(1,), dtype=np.float32)

    @rx.reaction(rx.startup, given, effects=weights)
    def learn(self) -> None:
        self.weights.set(np.array([self.given.value or 1], np.float32))


class Main(rx.Reactor):
    def __init__(self, **options: Any) -> None:
        self.learner = Learner()
        self.server = rl.serve(options.pop("policy", Scale()), observation_space=SPACE, stoppable=True, **options)
        rx.connect(self.learner.weights, self.server.weights)


def during(main: Main, way: dict[str, Any], clients: Callable[[], object], **options: Any) -> rx.ReactorError | None:
    """Runs the program in a thread, while `clients` go on here; what it raised."""
    raised: list[rx.ReactorError] = []

    def run() -> None:
        try:
            rx.run(main, **way, **options)
        except rx.ReactorError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        main.server.wait(20)
        clients()
    finally:
        main.server.stop()
        thread.join()
    return raised[0] if raised else None


def settled(futures: list[Future[Any]]) -> list[Any]:
    return [future.exception(5) or future.result() for future in futures]


@ways
@pytest.mark.parametrize("fast", [False, True])
def test_requests_of_many_threads_are_answered_each_with_its_own(way: dict[str, Any], fast: bool) -> None:
    main = Main(max_batch=4, max_wait="1 ms")
    found: dict[int, list[float]] = {}

    def client(k: int) -> None:
        found[k] = [main.server.request([k, n, 0.5]).result(5) for n in range(20)]

    def clients() -> None:
        threads = [threading.Thread(target=client, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert during(main, way, clients, fast=fast) is None
    statistics = main.server.statistics()
    assert found == {k: [k + n + 0.5 for n in range(20)] for k in range(6)}
    assert (statistics.answered, statistics.refused) == (120, 0)
    assert statistics.largest <= 4
    assert statistics.p50 > 0
    assert "120 requests answered and 0 refused" in str(statistics)


@ways
def test_weights_of_a_learner_count_from_their_tag_on(way: dict[str, Any]) -> None:
    main = Main(max_wait=0)

    def clients() -> None:
        assert main.server.request([1, 2, 3]).result(5) == 6
        assert main.learner.given.schedule(10.0)
        while (found := main.server.request([1, 2, 3]).result(5)) == 6:
            pass
        assert found == 60

    assert during(main, way, clients) is None
    assert main.server.updates == 2


def test_a_batch_goes_when_it_is_full_and_its_followers_gather_meanwhile() -> None:
    gate = threading.Event()
    main = Main(policy=Scale(gate), max_batch=4, max_wait="10 s")

    def clients() -> None:
        futures = [main.server.request([n, 0, 0]) for n in range(15)]  # two batches on their way, and seven wait
        gate.set()
        assert settled(futures[:12]) == [*range(12)]
        assert not any(future.done() for future in futures[12:])  # until the server is stopped
        late.extend(futures[12:])

    late: list[Future[Any]] = []
    assert during(main, WAYS[0], clients) is None
    assert all(isinstance(error, rl.NotServingError) for error in settled(late))
    statistics = main.server.statistics()
    assert (statistics.batches, statistics.largest, statistics.answered, statistics.refused) == (3, 4, 12, 3)


def test_requests_go_when_the_first_of_them_has_waited_and_no_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(serving, "time", clock)
    sent: list[list[float]] = []
    requests = Requests(lambda batch: sent.append(batch[1].tolist()) is None, np.stack, max_batch=100, max_wait=0.25)
    requests.state = "serving"  # and there is no thread that looks at the clock
    for clock.now in (0.0, 0.125, 0.25, 0.375):
        requests.put(np.asarray(clock.now))
    assert sent == [[0.0, 0.125, 0.25]]
    requests.answered(1, np.zeros(3))
    assert len(sent) == 1
    clock.now = 0.625
    requests.put(np.asarray(clock.now))
    assert sent[1:] == [[0.375, 0.625]]


def test_the_first_does_not_wait_for_others() -> None:
    main = Main(max_batch=100, max_wait="1 ms")
    answers: list[float] = []
    assert during(main, WAYS[0], lambda: answers.append(main.server.request([1, 2, 3]).result(5))) is None
    assert answers == [6]
    assert main.server.statistics().batches == 1


class Unreadable:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        ([1.0, 2.0], ValueMismatchError, r"main.server takes observations of shape \(3,\).*list of shape \(2,\)"),
        (np.zeros(3, complex), ValueMismatchError, "dtype complex128; convert it first"),
        (["a", "b", "c"], ValueMismatchError, "convert it first"),
        ([1, np.nan, 2], NotFiniteError, "an observation with a number that is not finite"),
        ([1, 1e39, 2], NotFiniteError, "an observation with a number that is too large for float32"),
        ([1, [2, 3], 2], ValueMismatchError, r"was given list, which is no array \(.*\); convert it first"),
        ([1, 10**400, 2], NotFiniteError, "an observation with a number that is too large for float32"),
        (Unreadable(), ValueMismatchError, r"was given Unreadable, which is no array \(not today\)"),
    ],
)
def test_a_wrong_observation_is_refused_to_who_asked(observation: Any, error: Any, message: str) -> None:
    main = Main(max_wait=0)

    def clients() -> None:
        with pytest.raises(error, match=message):
            main.server.request(observation)
        assert main.server.request([1, 1, 1]).result(5) == 3

    assert during(main, WAYS[0], clients) is None
    assert main.server.statistics().refused == 1


class Short(Scale):
    def __deepcopy__(self, memo: Any) -> "Short":
        return Short()

    def greedy(self, observations: Any) -> Any:
        return super().greedy(observations)[:0]


def test_a_policy_that_does_not_answer_all_of_a_batch_is_named_and_no_request_waits_for_ever() -> None:
    main = Main(policy=Short(), max_wait=0)
    futures: list[Future[Any]] = []
    error = during(main, WAYS[0], lambda: futures.append(main.server.request([1, 1, 1])))
    assert "Short.greedy gave actions of shape (0,) for 1 observations; give one for each" in str(error)
    assert isinstance(futures[0].exception(5), rl.NotServingError)


@pytest.mark.parametrize(
    ("space", "observation", "message"),
    [
        (
            gym.spaces.Box(-9, 9, (1,), np.int8),
            [300],
            "takes observations of .* dtype int8, and was given a number that",
        ),
        (gym.spaces.Discrete(4), 4, "takes observations from 0 to 3, and was given 4"),
        (gym.spaces.Discrete(4, start=-2), -3, "takes observations from -2 to 1, and was given -3"),
        (
            gym.spaces.MultiDiscrete([2, 3]),
            [1, 3],
            r"takes observations from \[0 0\] to \[1 2\], and was given \[1 3\]",
        ),
        (gym.spaces.MultiBinary(2), np.array([0, 2], np.int8), "takes observations from 0 to 1"),
    ],
)
def test_an_integer_that_is_none_of_the_space_is_refused(space: Any, observation: Any, message: str) -> None:
    server = rl.serve(Scale(), observation_space=space)
    with pytest.raises(ValueMismatchError, match=message):
        server.request(observation)


@ways
def test_requests_that_are_pending_at_the_end_are_refused(way: dict[str, Any]) -> None:
    main = Main(max_batch=100, max_wait="1 h")
    futures: list[Future[Any]] = []
    assert during(main, way, lambda: futures.extend(main.server.request([n, 0, 0]) for n in range(5))) is None
    for error in settled(futures):
        assert isinstance(error, rl.NotServingError)
        assert str(error) == "main.server no longer serves: its program has ended"
    with pytest.raises(rl.NotServingError, match="no longer serves"):
        main.server.request([1, 2, 3])
    assert not main.server.wait()


@ways
def test_requests_are_refused_when_the_program_fails(way: dict[str, Any]) -> None:
    main = Main(max_batch=1, max_wait=0)
    futures: list[Future[Any]] = []
    raised = during(main, way, lambda: futures.extend(main.server.request([666, n, 0]) for n in range(1)))
    assert isinstance(raised, ReactionError)
    assert isinstance(raised.__cause__, ArithmeticError)
    assert isinstance(settled(futures)[0], rl.NotServingError)


def test_a_program_runs_again_and_serves_again() -> None:
    main = Main(max_wait=0)
    with pytest.raises(rl.NotServingError, match=r"Server does not serve yet: rx\.run has to run its program"):
        main.server.request([1, 2, 3])
    for way in (WAYS[0], WAYS[3]):
        assert during(main, way, lambda: settled([main.server.request([1, 2, 3])])) is None
        assert main.server.statistics().answered == 1


@ways
def test_a_run_that_comes_after_another_is_waited_for(way: dict[str, Any]) -> None:
    main = Main(max_wait=0)
    assert during(main, way, lambda: None) is None
    assert not main.server.wait(0)
    assert not main.server.wait()  # for which there is no end, if it is not run again
    with pytest.raises(rl.NotServingError, match=r"if it is run again, wait\(timeout\) of the server waits"):
        main.server.request([1, 2, 3])
    found: list[Any] = []
    waits = threading.Thread(target=lambda: found.append(main.server.wait(20)))
    waits.start()
    assert during(main, way, waits.join) is None
    assert found == [True]


def test_a_worker_that_dies_leaves_no_request_waiting() -> None:
    main = Main(max_batch=1, max_wait=0)
    futures: list[Future[Any]] = []
    raised = during(main, WAYS[3], lambda: futures.append(main.server.request([-666, 0, 0])))
    assert isinstance(raised, rx.WorkerDied)
    assert isinstance(settled(futures)[0], rl.NotServingError)


def test_what_was_asked_is_in_the_log_and_is_not_answered_again(tmp_path: Any) -> None:
    main, again = Main(max_wait=0), Main(max_wait=0)
    log = tmp_path / "log"
    assert (
        during(main, WAYS[0], lambda: settled([main.server.request([n, 0, 0]) for n in range(3)]), record=log) is None
    )
    result = rx.run(again, replay=log)
    (answers,) = [each.count for each in result.statistics if each.path == "main.server.answer"]
    assert answers == main.server.statistics().batches
    assert again.server.statistics().answered == 0


def test_a_request_that_is_cancelled_has_no_answer() -> None:
    gate = threading.Event()
    main = Main(policy=Scale(gate), max_batch=1, max_wait=0)

    def clients() -> None:
        futures = [main.server.request([n, 0, 0]) for n in range(3)]
        assert futures[1].cancel()
        gate.set()
        assert futures[2].result(5) == 2
        with pytest.raises(CancelledError):
            futures[1].result(5)

    assert during(main, WAYS[0], clients) is None


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (7, {}, ArgumentError, "rl.serve is given 7; give the folder of a run"),
        ("nowhere", {}, RunFolderError, "nowhere is no folder of a run: it does not exist"),
        (Scale(), {}, ArgumentError, "does not know what observations a policy takes; say observation_space="),
        (rl.PPO(), {}, ArgumentError, r"rl.serve\(PPO\(\.\.\.\)\) is to know the environment; say env="),
        (Scale(), {"env": "CartPole-v1"}, ArgumentError, "env of rl.serve is for algorithms; leave it out"),
        (Scale(), {"max_batch": 0}, ArgumentError, "max_batch of rl.serve is 0; write a whole number, 1 or more"),
        (Scale(), {"max_wait": "soon"}, ValueError, "max_wait of rl.serve"),
        *(
            (
                Scale(),
                {"observation_space": space},
                ArgumentError,
                f"of rl.serve is {words}.*, and a policy takes arrays",
            )
            for space, words in ((gym.spaces.Dict(at=SPACE), "Dict"), (gym.spaces.Text(3), "Text"))
        ),
    ],
)
def test_what_cannot_be_served_is_refused(source: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        rl.serve(source, **options)


def test_a_server_ends_its_program_only_if_it_may() -> None:
    server = rl.serve(Scale(), observation_space=SPACE)
    with pytest.raises(ArgumentError, match=r"Server cannot end its program; say rl.serve\(..., stoppable=True\)"):
        server.stop()


@pytest.mark.parametrize("kind", ["what training returned", "folder", "what was loaded"])
def test_the_policy_of_a_run_is_served(kind: str, tmp_path: Any) -> None:
    algorithm = rl.PPO(num_envs=2, horizon=16, epochs=1)
    done = rl.train(algorithm, "CartPole-v1", total_steps=64, out=tmp_path / "run")
    obs = np.array([0.01, -0.2, 0.03, 0.4], np.float32)
    sources = {"folder": tmp_path / "run", "what was loaded": rl.load(tmp_path / "run")}
    server = rl.serve(sources.get(kind, done), max_wait=0, stoppable=True)
    main: Any = rx.Reactor()
    main.server = server
    found: list[Any] = []
    assert during(main, WAYS[0], lambda: found.append(server.request(obs).result(5))) is None
    assert found == [done(obs)]


# ---- beside training ----


@pytest.mark.parametrize(("backend", "options"), [("thread", {}), ("process", {"mode": "pipelined", "workers": 2})])
def test_a_server_beside_training_gets_all_weights_and_changes_none(backend: Any, options: dict[str, Any]) -> None:
    algorithm = rl.PPO(num_envs=2, horizon=8, epochs=1, batch_size=16)
    server = rl.serve(algorithm, env="CartPole-v1", max_batch=2, max_wait=0)
    answers: list[int] = []

    def client() -> None:
        assert server.wait(20)
        try:
            while True:
                answers.append(server.request(np.zeros(4)).result(20))
        except rl.NotServingError:
            return

    thread = threading.Thread(target=client)
    thread.start()
    done = rl.train(algorithm, "CartPole-v1", total_steps=320, seed=5, backend=backend, serve=server, **options)
    thread.join()
    plain = rl.train(algorithm, "CartPole-v1", total_steps=320, seed=5, **options)
    assert done.digest == plain.digest
    assert server.updates == 20
    assert set(answers) <= {0, 1}
    assert f"main.serving: {server.statistics()}" == done.result.summary().splitlines()[-1]
    assert server.statistics().answered == len(answers) > 0


def test_a_run_goes_on_with_a_server_that_it_did_not_have(tmp_path: Any) -> None:
    algorithm = rl.PPO(num_envs=2, horizon=8, epochs=1, batch_size=16, anneal=False)
    rl.train(algorithm, "CartPole-v1", total_steps=32, out=tmp_path)
    server = rl.serve(algorithm, env="CartPole-v1")
    done = rl.train(algorithm, "CartPole-v1", total_steps=64, resume=tmp_path, serve=server)
    assert server.updates == 3  # those of the checkpoint come again
    assert done.digest == rl.train(algorithm, "CartPole-v1", total_steps=64).digest


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        (Scale(), r"serve of rl\.train is <.*Scale.*write rl\.serve\(algorithm, env=\.\.\.\)"),
        (rl.serve(Scale(), observation_space=SPACE), "a policy of 1 weights, but PPO learns 4610"),
    ],
)
def test_what_cannot_serve_beside_training_is_refused(serve: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rl.train(rl.PPO(), "CartPole-v1", serve=serve)


class Asks(rx.Reactor):
    def __init__(self, trained: Any) -> None:
        self.trained, self.action = trained, None

    @rx.reaction(rx.startup)
    def ask(self) -> None:
        self.action = self.trained([0.01, -0.2, 0.03, 0.4])


def test_what_was_trained_acts_in_a_reactor_of_another_process() -> None:
    done = rl.train(rl.PPO(num_envs=2, horizon=16, epochs=1), "CartPole-v1", total_steps=64)
    main: Any = rx.Reactor()
    main.asks = Asks(done)
    rx.run(main, workers=1, backend="process")
    assert main.asks.action == done([0.01, -0.2, 0.03, 0.4])
