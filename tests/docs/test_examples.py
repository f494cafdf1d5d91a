"""Every example runs from end to end, and those that learn do learn."""

import gc
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.dataflow import ROUND

EXAMPLES = Path(__file__).parents[2] / "examples"
PNG = b"\x89PNG\r\n\x1a\n"

Load = Callable[[str], Any]

pytestmark = pytest.mark.usefixtures("fonts")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports an example by name, as a script beside it could."""
    monkeypatch.syspath_prepend(EXAMPLES)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


@pytest.fixture
def call(example: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs the main function of an example with arguments, and returns what it prints."""

    def called(name: str, *arguments: str) -> str:
        module = example(name)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        monkeypatch.setenv("COLUMNS", "120")
        module.main()
        return capsys.readouterr().out

    return called


def line(output: str, start: str) -> str:
    """The line of the output that begins with `start`."""
    return next(each for each in output.splitlines() if each.startswith(start))


# ---- the small ones ----


def test_hello_counts_ten_times_a_second(example: Load, capsys: pytest.CaptureFixture[str]) -> None:
    rx.run(example("hello").Hello(), timeout="1 s", fast=True, debug=True)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 11
    assert printed[3].endswith(": 4")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_pingpong_plays_all_rounds(call: Callable[..., str], workers: str) -> None:
    output = call("pingpong", "100", "--workers", workers)
    assert "100 rounds" in output
    assert "201 reactions" in output  # the last serve finds nothing to serve


def test_native_bodies_give_the_same_sum(call: Callable[..., str]) -> None:
    output = call("native", "--ticks", "100")
    for bodies in ("python", "numba", "cffi"):
        assert "sum 5,050, 200 reactions" in line(output, bodies)


def test_native_says_what_is_missing(call: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    output = call("native", "--ticks", "3")
    assert "numba (pip install numba), which is not installed" in line(output, "numba")
    assert "a C compiler (cc), which is not installed" in line(output, "cffi")


SHORT = [
    "pingpong 10",
    "native --ticks 10",
    "qlearning --actors 2 --rounds 4 --horizon 4 --episodes 2 --env FrozenLake-v1 --out OUT",
    "dqn_blackjack --actors 2 --rounds 4 --horizon 4 --batch 4 --hands 2 --out OUT",
    "replay_dataflow --steps 60",
    "own_training --rounds 8",
    "pipeline --actors 2 --updates 4",
    "train_cartpole --out OUT",
    "train_and_serve --steps 512",
    "web --port 0 --clients 1 --steps 512",
    "from_ray --rounds 4",
    "from_sb3 --steps 512",
    "from_cleanrl --iterations 4",
    "multi_agent --steps 10",
    "multi_agent --steps 10 --batched",
    "multi_agent --steps 10 --serve",
    "multi_agent --steps 10 --train 200",
    "communication --agents 3 --junctions 2 --episodes 4",
    "pettingzoo_parallel --steps 50",
]


@pytest.mark.filterwarnings("ignore:The old environment creation API")
@pytest.mark.parametrize("command", SHORT, ids=lambda command: command.partition(" --out")[0])
def test_debug_mode_has_nothing_to_report(
    command: str, call: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as views that are kept: weights that one reaction plays with while another writes new ones."""
    run = rx.run
    monkeypatch.setattr(rx, "run", lambda *given, **named: run(*given, **{"debug": True, **named}))
    call(*command.replace("OUT", str(tmp_path)).split())


# ---- learning ----


def learned(program: Any, ways: list[dict[str, Any]], values: Callable[[Any], np.ndarray]) -> list[np.ndarray]:
    """What a program has learned, run in several ways; the digests must be equal."""
    outcomes, digests = [], set()
    for way in ways:
        main = program()
        digests.add(rx.run(main, fast=True, seed=3, **way).digest)
        outcomes.append(values(main))
    assert len(digests) == 1
    return outcomes


INLINE: dict[str, Any] = {"workers": 1}
PROCESSES: dict[str, Any] = {"workers": 2, "backend": "process"}


def test_qlearning_prints_draws_and_evaluates(call: Callable[..., str], tmp_path: Path) -> None:
    small = ("--actors", "2", "--rounds", "20", "--horizon", "20", "--episodes", "5", "--workers", "1")
    output = call("qlearning", *small, "--env", "FrozenLake-v1", "Taxi-v4", "--out", str(tmp_path))
    for env_id in ("FrozenLake-v1", "Taxi-v4"):
        assert (tmp_path / f"{env_id}-curve.png").read_bytes().startswith(PNG)
        graph = next(tmp_path.glob(f"{env_id}-graph.*")).read_text()
        assert "rollouts" in graph
        assert "the greedy policy has mean return" in line(output, f"{env_id}:")
    assert "round   20 of 20" in output
    said = r"^digest ([0-9a-f]{32}): what ran when, which is the same for every environment$"
    assert len(set(re.findall(said, output, re.MULTILINE))) == 1
    assert len(set(re.findall(r"^table  ([0-9a-f]{32}): what was learned$", output, re.MULTILINE))) == 2


def test_qlearning_draws_mermaid_without_dot(example: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    path = example("qlearning").draw(example("qlearning").QLearning(actors=2), tmp_path / "graph", workers=2)
    assert path.suffix == ".mmd"
    assert "rollouts" in path.read_text()


def test_qlearning_is_the_same_inline_and_on_processes(example: Load) -> None:
    module = example("qlearning")
    alone, together = learned(
        lambda: module.QLearning(actors=4, rounds=30, horizon=50), [INLINE, PROCESSES], lambda main: main.learner.q
    )
    assert alone.any()
    assert np.array_equal(alone, together)


@pytest.mark.parametrize(("env_id", "alpha", "bar"), [("FrozenLake-v1", 0.1, 0.70), ("Taxi-v4", 0.3, 7.5)])
def test_qlearning_reaches_the_known_optimum(example: Load, env_id: str, alpha: float, bar: float) -> None:
    module = example("qlearning")
    program = module.QLearning(env_id, rounds=120, alpha=alpha)
    rx.run(program, workers=2, fast=True, seed=0)
    assert module.evaluate(env_id, program.learner.q, episodes=1000, seed=1).mean() >= bar


def test_blackjack_prints_draws_and_evaluates(call: Callable[..., str], tmp_path: Path) -> None:
    small = ("--actors", "2", "--rounds", "50", "--horizon", "10", "--batch", "8", "--hands", "5", "--workers", "1")
    output = call("dqn_blackjack", *small, "--out", str(tmp_path))
    assert (tmp_path / "Blackjack-v1-curve.png").read_bytes().startswith(PNG)
    assert "replay" in next(tmp_path.glob("Blackjack-v1-graph.*")).read_text()
    assert "mean return" in line(output, "round   50")
    assert "over 5 hands" in line(output, "the greedy policy")


def test_blackjack_is_the_same_inline_and_on_processes(example: Load) -> None:
    module = example("dqn_blackjack")
    alone, together = learned(
        lambda: module.Blackjack(batch=16, rounds=12, actors=4, horizon=10),
        [INLINE, PROCESSES],
        lambda main: module.flat(main.learner.net),
    )
    assert np.array_equal(alone, together)


def test_blackjack_policy_acts_as_the_network_does(example: Load) -> None:
    torch, module = pytest.importorskip("torch"), example("dqn_blackjack")
    torch.manual_seed(0)
    net = module.network()
    policy = module.Policy(module.flat(net))
    for obs in np.random.default_rng(0).integers(0, 22, size=(200, 3)).astype(np.float32):
        assert policy.greedy(obs) == int(net(torch.from_numpy(obs)).argmax())


def test_blackjack_learns_to_play_better_than_chance(example: Load) -> None:
    module = example("dqn_blackjack")
    program = module.Blackjack(rounds=150, horizon=10)
    rx.run(program, workers=2, fast=True, seed=0)
    assert module.evaluate(program.learner.net, hands=2000, seed=1).mean() > -0.2  # by chance: -0.39


def test_replay_alone_trains_in_a_plain_loop(call: Callable[..., str]) -> None:
    output = call("replay_alone", "--steps", "700")
    assert output.startswith("101 updates")
    assert output.endswith("rows kept\n")


def test_a_replay_among_reactors_trains_the_same_on_two_workers(call: Callable[..., str]) -> None:
    outputs = [call("replay_dataflow", "--steps", "60", "--workers", workers) for workers in ("1", "2")]
    for start in ("weights", "the last"):
        assert line(outputs[0], start) == line(outputs[1], start)
    assert outputs[0].startswith("113 updates")
    gc.collect()  # the programs, with the memory of their buffers


def test_pieces_of_rl_train_wired_by_hand_learn_what_it_learns(example: Load) -> None:
    module, algorithm = example("own_training"), rl.DQN(num_envs=4, horizon=16, learning_starts=64, batch_size=16)
    steps, end = 8 * 64, 8 * ROUND - ROUND // 2
    trained = rl.train(algorithm, "MountainCar-v0", total_steps=steps, seed=3)
    weights = []
    for workers, bonus in ((1, 0.0), (2, 0.0), (2, 1.0)):
        program = module.Training(algorithm.scheduled(steps), "MountainCar-v0", seed=3, bonus=bonus)
        rx.run(program, workers=workers, fast=True, timeout=end, seed=3)
        weights.append(program.learner.learning.weights())
        assert program.experience.added == sum(program.curiosity.visits.values()) == steps
        program.experience.buffer.close()
    assert (weights[0] == trained.weights).all()
    assert (weights[1] == trained.weights).all()
    assert (weights[2] != trained.weights).any()


def test_pipeline_is_the_same_inline_and_on_processes(call: Callable[..., str]) -> None:
    small = ("--actors", "3", "--updates", "50")
    alone, together = call("pipeline", *small), call("pipeline", *small, "--workers", "2")
    for start in ("digest", "the best policy"):
        assert line(alone, start) == line(together, start)


def test_pipeline_learns_to_balance(example: Load) -> None:
    module = example("pipeline")
    program = module.Train(updates=300)
    rx.run(program, workers=2, fast=True, seed=0)
    assert program.evaluator.best >= 150  # by chance: 22


def test_vector_env_trains_the_same_on_any_number_of_workers(call: Callable[..., str]) -> None:
    small = ("--envs", "4", "--steps", "1024")
    alone, together = (call("vector_env", *small, "--workers", workers) for workers in ("1", "2"))
    assert "1,024 steps" in alone
    assert line(alone, "mean return") == line(together, "mean return")


def test_train_cartpole_goes_on_with_the_same_weights(call: Callable[..., str], tmp_path: Path) -> None:
    output = call("train_cartpole", "--out", str(tmp_path / "runs"))
    assert "resumed at 5,120 with 2 workers: the same weights, bit for bit" in output
    assert (tmp_path / "runs" / "again" / "curve.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("way", [("1", "thread"), ("1", "process"), ("2", "process")])
def test_train_and_serve_answers_clients_with_new_weights(call: Callable[..., str], way: tuple[str, str]) -> None:
    output = call("train_and_serve", "--steps", "1024", "--workers", way[0], "--backend", way[1])
    assert "1,024 steps, 4 times new weights for the server" in output
    match = re.search(r"main.serving: ([\d,]+) requests answered and \d refused", output)
    assert match
    assert int(match[1].replace(",", "")) > 5


def asked(port: int, what: str, body: bytes | None = None) -> tuple[int, Any]:
    """The status and the answer of the web service."""
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET" if body is None else "POST", what, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_web_answers_while_it_trains(call: Callable[..., str]) -> None:
    output = call("web", "--port", "0", "--clients", "2", "--steps", "1024")
    assert "1,024 steps, 4 times new weights" in output
    assert re.search(r"[\d,]+ answers over HTTP: p50 [\d.]+ ms, p99 [\d.]+ ms", output)


def test_web_says_what_is_wrong_with_a_request(example: Load) -> None:
    web, algorithm = example("web"), rl.PPO(num_envs=4, horizon=16)
    service = web.Service(rl.serve(algorithm, env="CartPole-v1", stoppable=True))
    good = b'{"observation": [0.0, 0.1, 0.0, -0.1]}'
    with web.listening(service.app, 0) as port:
        assert asked(port, "/act", good)[0] == 503  # not yet
        thread = threading.Thread(target=rx.run, args=(service.server,))
        thread.start()
        assert service.server.wait()
        status, answer = asked(port, "/act", good)
        assert status == 200
        assert answer["action"] in (0, 1)
        for wrong, said in ((b"x", "Expecting value"), (b'{"observation": [1.0]}', "shape"), (b"{}", "observation")):
            status, answer = asked(port, "/act", wrong)
            assert status == 400
            assert said in answer["error"]
        assert asked(port, "/statistics")[1]["answered"] == 1
        service.server.stop()
        thread.join()
        assert asked(port, "/act", good)[0] == 503


# ---- moved over ----


def test_from_ray_learns_the_same_on_any_number_of_workers(example: Load) -> None:
    train = example("from_ray").train
    (alone, curve), (together, _) = train(workers=1, rounds=12), train(workers=2, rounds=12)
    assert np.array_equal(alone, together)
    assert max(curve) > 3 * curve[0]


def test_from_sb3_trains(example: Load) -> None:
    assert example("from_sb3").train(steps=512, workers=1) > 0


def test_from_cleanrl_learns_the_same_on_any_number_of_workers(example: Load) -> None:
    train = example("from_cleanrl").train
    alone, together = train(iterations=4, workers=1), train(iterations=4, workers=2)
    assert alone == together
    assert len(alone) > 50


def test_what_changed_is_counted(example: Load) -> None:
    changes = example("before.comparison").changes
    before, after = example("before.cleanrl_ppo"), example("from_cleanrl")
    *lines, counts = changes(before.train, after.train, before.update)
    assert "+class Player(rx.Reactor):" in lines
    assert "-class Training:" in lines
    assert re.fullmatch(r"\d+ lines stay, \d+ go, \d+ come", counts)
    assert changes(before.train, before.train)[-1].endswith(" 0 go, 0 come")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("before.ray_actors", "players=2, tries=1, rounds=1"),
        ("before.sb3_ppo", "steps=256"),
        ("before.cleanrl_ppo", "iterations=1"),
    ],
)
def test_the_programs_before_run(name: str, settings: str) -> None:
    pytest.importorskip({"before.ray_actors": "ray", "before.sb3_ppo": "stable_baselines3"}.get(name, "torch"))
    program = f"from {name} import train; print('done', train({settings}) is not None)"
    done = subprocess.run([sys.executable, "-c", program], cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("done True\n")


# ---- many agents ----


@pytest.mark.filterwarnings("ignore:The old environment creation API")  # PettingZoo's tests use it themselves
@pytest.mark.parametrize("cars", [1, 4, 10])
def test_traffic_junction_is_a_parallel_environment(example: Load, cars: int) -> None:
    tests = pytest.importorskip("pettingzoo.test")
    module = example("traffic_junction")
    tests.parallel_api_test(module.TrafficJunction(cars), num_cycles=200)
    tests.parallel_seed_test(lambda: module.TrafficJunction(cars), num_cycles=50)


def test_traffic_junction_cars_come_late_and_leave_at_the_end_of_their_route(example: Load) -> None:
    env = example("traffic_junction").TrafficJunction(10)
    env.reset(seed=0)
    there = []
    while env.agents:
        there.append(set(env.agents))
        *_, terminated, truncated, _ = env.step(dict.fromkeys(env.agents, 1))
        assert not any(truncated.values())
        assert {agent for agent, over in terminated.items() if over}.isdisjoint(env.agents)
    assert set.union(*there) == set(env.possible_agents)
    assert len(there[0]) < 10
    assert all(env.progress[agent] == len(env.routes[env.way[agent]]) for agent in env.possible_agents)


def test_traffic_junction_punishes_collisions(example: Load) -> None:
    module = example("traffic_junction")
    env = module.TrafficJunction(2, arrival=1.0)
    env.reset(seed=0)
    env.agents, env.waiting = list(env.possible_agents), []
    env.way = dict.fromkeys(env.agents, 1)  # both straight on from the north
    env.progress = {"car_0": 3, "car_1": 2}
    observations, rewards, *_ = env.step({"car_0": 0, "car_1": 1})
    assert rewards == {agent: pytest.approx(module.COLLISION + module.DELAY) for agent in env.agents}
    _, rewards, *_ = env.step({"car_0": 1, "car_1": 0})
    assert rewards["car_0"] == pytest.approx(2 * module.DELAY)
    assert observations["car_0"].shape == env.observation_space("car_0").shape


def test_traffic_junction_tows_cars_that_do_not_move(example: Load) -> None:
    env = example("traffic_junction").TrafficJunction(1, patience=3)
    env.reset(seed=0)
    *_, first, _ = env.step({"car_0": 0})
    env.step({"car_0": 0})
    *_, last, _ = env.step({"car_0": 0})
    assert (first, last) == ({"car_0": False}, {"car_0": True})
    assert env.agents == []


def test_multi_agent_gives_no_action_for_agents_that_are_not_there(example: Load) -> None:
    program = example("multi_agent").MultiAgent(agents=10, steps=60)
    result = rx.run(program, fast=True, seed=0)
    acts = sum(each.count for each in result.statistics if each.path.endswith(".act"))
    assert program.world.decisions == acts
    assert 60 < acts < 600


def test_multi_agent_is_the_same_inline_on_threads_and_on_processes(example: Load) -> None:
    module = example("multi_agent")
    ways = [INLINE, {"workers": 2, "backend": "thread"}, PROCESSES]
    rewards = learned(lambda: module.MultiAgent(agents=4, steps=40), ways, lambda main: np.array(main.world.reward))
    assert len({float(reward) for reward in rewards}) == 1


def test_multi_agent_batched_is_the_same_inline_on_threads_and_on_processes(example: Load) -> None:
    module = example("multi_agent")
    ways = [INLINE, {"workers": 2, "backend": "thread"}, PROCESSES]
    rewards = learned(
        lambda: module.MultiAgent(agents=10, steps=60, batched=True), ways, lambda main: np.array(main.world.reward)
    )
    assert len({float(reward) for reward in rewards}) == 1


def test_multi_agent_runs_with_a_reaction_for_each_agent_or_one_for_all(call: Callable[..., str]) -> None:
    each, batched = call("multi_agent", "--steps", "50"), call("multi_agent", "--steps", "50", "--batched")
    assert "50 steps" in each
    assert "50 steps" in batched
    assert "main.agents.act \N{MULTIPLICATION SIGN}4" in each
    assert "main.agents.act" in batched


@pytest.mark.parametrize("way", [("1", "inline"), ("2", "thread"), ("2", "process")])
def test_multi_agent_answers_requests_while_the_simulation_runs(call: Callable[..., str], way: tuple[str, str]) -> None:
    output = call("multi_agent", "--serve", "--steps", "60", "--workers", way[0], "--backend", way[1])
    assert re.search(r"[1-9]\d* requests answered", output)
    assert "60 steps" in output


@pytest.mark.parametrize("rest", [(), ("--serve",)], ids=["in the program", "served"])
def test_multi_agent_says_what_cars_have_learned(call: Callable[..., str], rest: tuple[str, ...]) -> None:
    output = call("multi_agent", "--train", "800", "--agents", "3", "--steps", "60", *rest)
    said = re.findall(r"([\d.]+) collisions in a hundred steps, and ([\d.]+) cars that came through", output)
    assert len(said) == 2
    assert "before training" in output
    assert ("after 800 steps, served" if rest else "after 800 steps:") in output
    assert ("requests answered and 0 refused" in output) == bool(rest)


def test_cars_learn_not_to_collide_and_to_come_through(example: Load) -> None:
    module, small = example("traffic_junction"), {"cars": 3, "size": 6, "patience": 30, "arrival": 0.6}
    random = np.random.default_rng(0)

    def traffic(act: Callable[[dict[str, Any]], dict[str, Any]]) -> tuple[int, int]:
        env, collisions, through = module.TrafficJunction(**small), 0, 0
        observations, _ = env.reset(seed=7)
        for _ in range(400):
            observations, _, _, _, infos = env.step(act({car: observations[car] for car in env.agents}))
            collisions += sum(info.get("collided", False) for info in infos.values())
            through += sum(info.get("through", False) for info in infos.values())
            if not env.agents:
                observations, _ = env.reset()
        return collisions, through

    algorithm = rl.MAPPO(num_envs=8, horizon=25, learning_rate=2e-3)
    done = rl.train(algorithm, module.TrafficJunction, env_kwargs=small, total_steps=6400, seed=0)
    by_chance, _ = traffic(lambda seen: {car: int(random.integers(2)) for car in seen})
    at_full_speed, _ = traffic(lambda seen: dict.fromkeys(seen, module.GAS))
    learned, through = traffic(done)
    assert learned < at_full_speed / 3
    assert learned < by_chance / 3
    assert through > 20


def talking(module: ModuleType, junctions: int, cars: int, messages: bool = True) -> np.ndarray:
    """Episodes (time, junctions, cars) of cars with weights by chance, in which choices are far from equally likely."""

    class Recorded(rx.Reactor):
        episodes = rx.Input(shape=(module.LONGEST, cars), dtype=module.STEP, width=junctions)
        weights = rx.Output(shape=(module.SIZE,), dtype=np.float32)

        @rx.reaction(rx.startup, effects=weights)
        def begin(self) -> None:
            self.weights.set(np.random.default_rng(0).normal(size=module.SIZE) * 0.4)

        @rx.reaction(episodes)
        def note(self) -> None:
            self.steps = self.episodes.array.swapaxes(0, 1).copy()

    class Program(rx.Reactor):
        def __init__(self) -> None:
            first = np.zeros(module.SIZE, np.float32)
            self.crossings, self.recorded = rx.bank(junctions, module.Crossing, cars, first, messages), Recorded()
            rx.connect(self.crossings.episode, self.recorded.episodes, after=module.ROUND)
            rx.connect(self.recorded.weights, self.crossings.weights, broadcast=True)

    program = Program()
    rx.run(program, fast=True, timeout=module.ROUND, seed=1)
    return program.recorded.steps


@pytest.mark.parametrize("messages", [True, False], ids=["messages", "none"])
def test_a_learner_computes_what_talking_cars_computed(example: Load, messages: bool) -> None:
    torch, module = pytest.importorskip("torch"), example("communication")
    steps = talking(module, 3, 4, messages)
    there, spoke = steps["there"], steps["did"]["spoke"]
    assert 0 < there[1:20].mean() < 1  # some are absent
    assert 0 < (there & ~spoke).sum() < there.sum() or not messages  # some keep silent
    network = module.Network()
    weights = np.random.default_rng(0).normal(size=module.SIZE).astype(np.float32) * np.float32(0.4)
    module.vector_to_parameters(torch.from_numpy(weights), network.parameters())
    whole = module.Again(network, steps, torch.zeros(3, 4, module.HIDDEN), messages)
    assert steps["did"]["log_prob"][there].std() > 0.1
    assert whole.log_probs.detach().numpy()[there] == pytest.approx(steps["did"]["log_prob"][there], abs=2e-5)
    first = torch.stack(whole.before[:: module.STRETCH]).flatten(0, 1).detach()
    pieces = module.Again(network, module.in_stretches(steps), first, messages)
    again = module.in_stretches(whole.log_probs.detach().numpy())
    assert pieces.log_probs.detach().numpy() == pytest.approx(again, abs=1e-6)


def test_gradients_reach_who_spoke_from_who_heard(example: Load) -> None:
    torch, module = pytest.importorskip("torch"), example("communication")
    steps: Any = np.zeros((1, 1, 3), module.STEP)
    steps["there"] = [[[True, True, False]]]
    steps["did"]["spoke"] = [[[False, True, True]]]  # the last would have, had it been there
    with rl.Seeded(0):
        network = module.Network()
        before = torch.randn(1, 3, module.HIDDEN, requires_grad=True)
    value = module.Again(network, steps, before, messages=True).values
    heard = [torch.autograd.grad(value[0, 0, i], before, retain_graph=True)[0].abs().amax(-1)[0] > 0 for i in (0, 1)]
    assert heard[0].tolist() == [True, True, False]  # itself, and the one that spoke
    assert heard[1].tolist() == [False, True, False]


def test_talking_cars_learn_the_same_inline_on_threads_and_on_processes(example: Load) -> None:
    module = example("communication")
    end: dict[str, Any] = {"timeout": "3 ms"}
    ways = [INLINE | end, {"workers": 2, "backend": "thread"} | end, PROCESSES | end, PROCESSES | end | {"workers": 4}]
    alone, *others = learned(
        lambda: module.Communication(3, rounds=3, junctions=4),
        ways,
        lambda main: module.parameters_to_vector(main.learner.network.parameters()).detach().numpy(),
    )
    assert all(np.array_equal(alone, each) for each in others)
    assert not np.array_equal(alone, module.Communication(3).learner.first)


@pytest.mark.parametrize("rest", [(), ("--no-messages",)], ids=["messages", "none"])
def test_communication_says_what_cars_have_learned(call: Callable[..., str], rest: tuple[str, ...]) -> None:
    small = ("--agents", "2", "--junctions", "2", "--episodes", "4", *rest)
    alone, together = call("communication", *small), call("communication", *small, "--workers", "2")
    assert line(alone, "digest") == line(together, "digest")
    assert len(re.findall(r"[\d.]+ collisions in a hundred steps, and [\d.]+ cars through", alone)) == 2


def test_multi_agent_plays_an_environment_of_the_registry(call: Callable[..., str]) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("pymunk")
    output = call("multi_agent", "--env", "pistonball", "--agents", "4", "--steps", "5")
    assert "4.00 of 4 agents there on average" in output


@pytest.mark.filterwarnings("ignore:The old environment creation API")
def test_pettingzoo_parallel_is_the_same_on_two_workers(call: Callable[..., str]) -> None:
    alone = call("pettingzoo_parallel", "--steps", "200")
    together = call("pettingzoo_parallel", "--steps", "200", "--workers", "2")
    for start in ("player_0: score", "player_1: score", "8 matches over, digest"):
        assert line(alone, start) == line(together, start)
