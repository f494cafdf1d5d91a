"""PettingZoo environments as reactors: agents that come and go, equal spaces or not, whatever the workers."""

import copy
import re
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest

import reactors as rx
from reactors import rl
from reactors.rl.envs.parallel_simulation import ParallelSimulation
from reactors.testing import assert_deterministic
from tests.rl.agents.rewriting import Rewriting

# The parallel environments of the package that need nothing but what `rl` installs.
REGISTRY = {
    "butterfly/cooperative_pong_v6": {},
    "butterfly/knights_archers_zombies_v11": {"max_cycles": 60},
    "butterfly/pistonball_v6": {"n_pistons": 3, "continuous": True},
    "classic/rps_v2": {"max_cycles": 7},
}


class Player(rx.Reactor):
    """One agent that acts at random and adds up what it sees."""

    action = rx.Output(space="action_space")
    observation = rx.Input(space="observation_space")
    reward = rx.Input(shape=(), dtype="f8")
    over = rx.Input(shape=(), dtype=bool)

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        # Environments give one space to several agents; what reactors share, and draw from, depends on where they are.
        self.observation_space, self.action_space = observation_space, copy.deepcopy(action_space)
        self.seen, self.total, self.acted, self.ended = 0.0, 0.0, 0, 0

    @rx.reaction(reward, over)
    def hear(self) -> None:
        self.total += float(self.reward.value)
        self.ended += bool(self.over.value)

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        if not self.acted:
            self.action_space.seed(self.seed % 2**32)
        self.acted += 1
        self.seen += float(np.sum(self.observation.value, dtype=np.float64))
        self.action.set(self.action_space.sample())


class Referee(rx.Reactor):
    episode = rx.Input(tuple)

    def __init__(self) -> None:
        self.episodes: list[rl.Episode] = []

    @rx.reaction(episode)
    def note(self) -> None:
        self.episodes += self.episode.value


class Play(rx.Reactor):
    def __init__(self, env: Any, **kwargs: Any) -> None:
        self.env = rl.MultiAgentEnv(env, **kwargs)
        self.referee = Referee()
        self.players = [
            Player(obs, act) for obs, act in zip(self.env.observation_spaces, self.env.action_spaces, strict=True)
        ]
        rx.connect(self.env.episode, self.referee.episode)
        for player, ports in zip(self.players, self.env.agent.values(), strict=True):
            rx.connect(ports.observation, player.observation)
            rx.connect(ports.reward, player.reward)
            rx.connect(ports.terminated, player.over)
            rx.connect(player.action, ports.action, after="1 us")

    def outcome(self) -> list[Any]:
        return [[p.seen, p.total, p.acted, p.ended] for p in self.players] + [list(map(list, self.referee.episodes))]


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.filterwarnings("ignore:The old environment creation API")  # PettingZoo's tests use it themselves
@pytest.mark.filterwarnings("ignore:.*render method without")  # cooperative_pong's reset draws
@pytest.mark.filterwarnings("ignore:Agent was given:UserWarning", "ignore:Live agent was not:UserWarning")
def test_environments_of_the_registry_pass_their_test_and_run(name: str) -> None:
    tests = pytest.importorskip("pettingzoo.test")
    env = pettingzoo.make("parallel", name, **REGISTRY[name])
    tests.parallel_api_test(env, num_cycles=20)
    env.close()
    steps = 300 if "rps" in name else 40
    main = Play(name, **REGISTRY[name])
    rx.run(main, fast=True, timeout=f"{steps} us", seed=1)
    assert sum(player.acted for player in main.players) > steps
    outcome = main.outcome()
    again = Play(name, **REGISTRY[name])
    rx.run(again, fast=True, timeout=f"{steps} us", seed=1, workers=2, backend="process")
    assert again.outcome() == outcome


class Relay(pettingzoo.ParallelEnv[str, Any, Any]):
    """Agents of different spaces: a scout that leaves after 2 steps, a carrier that comes then and leaves after 5."""

    metadata = {"name": "relay"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["scout", "carrier"]  # noqa: RUF012 - likewise
    spaces: ClassVar[dict[str, Any]] = {
        "scout": (gym.spaces.Box(-9, 9, (2,), np.float32), gym.spaces.Discrete(3, start=1)),
        "carrier": (gym.spaces.Dict(load=gym.spaces.Discrete(9)), gym.spaces.Box(-1, 1, (1,), np.float32)),
    }

    def __init__(self, breaks: int = -1, lost: bool = False, wide: int = -1) -> None:
        self.breaks, self.lost, self.wide, self.lived = breaks, lost, wide, 0
        self.buffer = np.zeros(2, np.float32)  # which all observations of the scout are

    def observation_space(self, agent: str) -> Any:
        return self.spaces[agent][0]

    def action_space(self, agent: str) -> Any:
        return self.spaces[agent][1]

    def observe(self) -> dict[str, Any]:
        self.buffer[:] = self.t
        return {"scout": self.buffer, "carrier": {"load": self.t}}

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.seed = seed
        self.t, self.agents = 0, ["scout"]
        return self.observe(), {"scout": {"seed": self.seed}}

    def step(self, actions: Any) -> Any:
        assert set(actions) == set(self.agents)
        if "scout" in actions:
            assert actions["scout"] in self.spaces["scout"][1]
        self.t += 1
        self.lived += 1
        if self.lived == self.breaks:
            raise OSError("no more fuel")
        over = {"scout": self.t == 2, "carrier": self.t == 5}
        self.agents = ["scout"] if self.t < 2 else ["carrier"] if self.t < 5 else []
        observations = {} if self.lost else self.observe()
        if self.lived == self.wide:
            observations["scout"] = np.zeros(3)
        rewards = {"scout": 1.0, "carrier": 10.0}
        return observations, rewards, over, dict.fromkeys(over, False), {}


class Log(rx.Reactor):
    """What comes out of a relay, tag by tag; acts for both agents."""

    scout = rx.Input(shape=(2,), dtype="f4")
    scout_next = rx.Input(shape=(2,), dtype="f4")
    carrier = rx.Input(shape=(), dtype=np.dtype([("load", "i8")], align=True))
    rewards = rx.Input(shape=(), dtype="f8", width=2)
    terminated = rx.Input(shape=(), dtype=bool, width=2)
    truncated = rx.Input(shape=(), dtype=bool, width=2)
    episode = rx.Input(tuple)
    run = rx.Output(dtype="i8")
    carry = rx.Output(shape=(1,), dtype="f4")

    def __init__(self, silent: bool = False) -> None:
        self.silent, self.lines, self.episodes = silent, list[Any](), list[rl.Episode]()

    @rx.reaction(scout, carrier, rewards, uses=(scout_next, terminated, truncated, episode), effects=(run, carry))
    def note(self) -> None:
        self.lines.append((
            None if self.scout.value is None else self.scout.value[0],
            None if self.carrier.value is None else int(self.carrier.value["load"]),
            [None if value is None else float(value) for value in self.rewards.value],
            [None if value is None else bool(value) for value in self.terminated.value],
            [None if value is None else bool(value) for value in self.truncated.value],
            None if self.scout_next.value is None else self.scout_next.value[1],
        ))  # fmt: skip
        if self.episode.is_present:
            self.episodes += self.episode.value
        if self.scout.is_present:
            self.run.set(3)
        if self.carrier.is_present and not self.silent:
            self.carry.set(np.zeros(1, np.float32))


class Race(rx.Reactor):
    def __init__(self, silent: bool = False, **kwargs: Any) -> None:
        self.env, self.log = rl.MultiAgentEnv(Relay, **kwargs), Log(silent)
        scout, carrier = self.env.agent["scout"], self.env.agent["carrier"]
        rx.connect(scout.observation, self.log.scout)
        rx.connect(scout.next_observation, self.log.scout_next)
        rx.connect(carrier.observation, self.log.carrier)
        rx.connect(self.env.reward, self.log.rewards)
        rx.connect(self.env.terminated, self.log.terminated)
        rx.connect(self.env.truncated, self.log.truncated)
        rx.connect(self.env.episode, self.log.episode)
        rx.connect(self.log.run, scout.action, after="1 us")
        rx.connect(self.log.carry, self.env.action[1], after="1 us")


def test_agents_of_different_spaces_come_and_go() -> None:
    main = Race(seed=7)
    rx.run(main, fast=True, timeout="6 us")
    nobody = [None, None]
    assert main.log.lines == [
        (0, None, nobody, nobody, nobody, None),
        (1, None, [1, None], [False, None], [False, None], 1),
        (None, 2, [1, None], [True, None], [False, None], 2),  # the scout's terminal observation; the carrier comes
        (None, 3, [None, 10], [None, False], [None, False], None),
        (None, 4, [None, 10], [None, False], [None, False], None),
        (0, None, [None, 10], [None, True], [None, False], None),  # no agent is left: the next episode
        (1, None, [1, None], [False, None], [False, None], 1),
    ]
    assert main.log.episodes == [rl.Episode(0, 0, 32.0, 5, 7, returns=(2.0, 30.0))]


class Reader(rx.Reactor):
    """Notes what an agent saw next, and infos, some of them later."""

    observation, next_observation = (
        rx.Input(shape=(), dtype=np.dtype([("0", "f4", (1,)), ("1", "i8")], align=True)) for _ in range(2)
    )
    info, late = rx.Input(dict), rx.Input(dict)
    action = rx.Output(dtype="i8")

    def __init__(self) -> None:
        self.led_to, self.said = list[float](), list[tuple[float, ...]]()

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        self.action.set(0)

    @rx.reaction(next_observation)
    def note(self) -> None:
        self.led_to.append(float(self.next_observation.value["0"][0]))

    @rx.reaction(info, late)
    def hear(self) -> None:
        self.said.append(tuple(float(each.value["a"]["at"][0]) for each in (self.info, self.late) if each.is_present))


def test_what_an_environment_writes_over_stays_as_it_was_told() -> None:
    class Read(rx.Reactor):
        def __init__(self) -> None:
            self.env, self.reader = rl.MultiAgentEnv(Rewriting), Reader()
            rx.connect(self.env.observation[0], self.reader.observation)
            rx.connect(self.env.next_observation[0], self.reader.next_observation)
            rx.connect(self.env.info, self.reader.info)
            rx.connect(self.env.info, self.reader.late, after="2 us")
            rx.connect(self.reader.action, self.env.action[0], after="1 us")

    main = Read()
    rx.run(main, fast=True, timeout="4 us", debug=True)
    assert main.reader.led_to == [1.0, 2.0, 3.0, 1.0]
    assert main.reader.said == [(0.0,), (1.0,), (2.0, 0.0), (0.0, 1.0), (1.0, 2.0)]


@pytest.mark.parametrize("fault", ["breaks", "wide"])
def test_a_broken_environment_is_made_again_and_all_agents_truncated(fault: str) -> None:
    faults: dict[str, Any] = {fault: 2}
    main = Race(seed=7, on_error="restart", **faults)
    rx.run(main, fast=True, timeout="3 us")
    assert main.log.lines[2] == (0, None, [0, None], [False, None], [True, None], 1)
    assert main.env.restarts == 1
    assert main.log.episodes == [rl.Episode(0, 0, 1.0, 2, 7, failed=True, returns=(1.0, 0.0))]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"breaks": 2}, r"main\.env \(seed 7, episode 0, step 2\) failed in step: OSError: no more fuel; fix it"),
        (
            {"wide": 2},
            r"main\.env \(seed 7, episode 0, step 2\) answered step wrongly: the observation of agent 'scout' is an .*",
        ),
        ({"lost": True}, r"main\.env \(seed 7, episode 0, step 1\) gave no answer for agent 'scout' in step"),
    ],
)
def test_an_error_names_the_reactor_and_the_seed(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(rx.ReactionError) as caught:
        rx.run(Race(seed=7, **kwargs), fast=True, timeout="9 us")
    error = caught.value.__cause__
    assert isinstance(error, rl.SimulationError)
    assert error.__cause__ is not None
    assert re.match(message, str(error))


@pytest.mark.filterwarnings("ignore:.*channel 1 of its 2 has no source:reactors.ReactorWarning")
def test_an_agent_that_does_not_act_with_the_others_is_named() -> None:
    class Once(rx.Reactor):
        out = rx.Output(dtype="i8")

        @rx.reaction(rx.startup, effects=out)
        def begin(self) -> None:
            self.out.set(1)

    class Lazy(rx.Reactor):
        def __init__(self) -> None:
            self.env, self.source = rl.MultiAgentEnv("classic/rps_v2"), Once()
            rx.connect(self.source.out, self.env.action[0], after="1 us")

    with pytest.raises(
        rx.ReactionError, match=r"main\.env\.action\[1\].* is absent at 1 us, though 'player_1' is there"
    ):
        rx.run(Lazy(), fast=True, timeout="9 us")


def test_agents_of_equal_spaces_are_one_block() -> None:
    class Together(rx.Reactor):
        observation = rx.Input(shape=(), dtype="i8", width=2)
        action = rx.Output(shape=(), dtype="i8", width=2)

        def __init__(self) -> None:
            self.blocks: list[Any] = []

        @rx.reaction(observation, effects=action)
        def act(self) -> None:
            self.blocks.append(self.observation.array.tolist())
            self.action.set(np.array([0, 1]))

    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.env, self.policy = rl.MultiAgentEnv("classic/rps_v2"), Together()
            rx.connect(self.env.observation, self.policy.observation)
            rx.connect(self.policy.action, self.env.action, after="1 us")

    main = Main()
    rx.run(main, fast=True, timeout="2 us")
    assert main.policy.blocks == [[3, 3], [1, 0], [1, 0]]  # what the other one did; 3: nothing yet


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("classic/rsp_v2",), "no environment 'classic/rsp_v2'; did you mean 'classic/rps-v2'"),
        (("classic/rps_v77",), r"'classic/rps_v77'; .*Available version: v2$"),
        ((5,), "is given 5, of type int"),
        ((lambda: gym.make("CartPole-v1"),), "no PettingZoo environment"),
    ],
)
def test_what_is_no_environment_of_many_agents_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(rx.ReactorError, match=message) as caught:
        rl.MultiAgentEnv(*arguments)
    assert len(str(caught.value)) < 300  # no lists of all that there is


BOARD = np.dtype([("action_mask", "i1", (9,)), ("observation", "i1", (3, 3, 2))], align=True)


class Mover(rx.Reactor):
    """Makes the first move that is allowed, from its turn's number on; `log` has its turns and what they came to."""

    observation = rx.Input(shape=(), dtype=BOARD)
    reward = rx.Input(shape=(), dtype="f8")
    over = rx.Input(shape=(), dtype=bool)
    action = rx.Output(shape=(), dtype="i8")

    def __init__(self) -> None:
        self.turns = 0
        self.log: list[Any] = []

    @rx.reaction(reward, over)
    def hear(self) -> None:
        self.log.append((float(self.reward.value), bool(self.over.value)))

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        move = moved(self.observation.value["action_mask"], self.turns)
        self.turns += 1
        self.log.append((self.observation.value["observation"].tolist(), move))
        self.action.set(move)


def moved(mask: Any, turns: int) -> int:
    allowed = np.flatnonzero(mask)
    return int(allowed[turns % len(allowed)])


class Board(rx.Reactor):
    def __init__(self) -> None:
        self.env, self.referee = rl.MultiAgentEnv("classic/tictactoe_v3"), Referee()
        self.players = [Mover() for _ in self.env.agents]
        for ports, player in zip(self.env.agent.values(), self.players, strict=True):
            rx.connect(ports.observation, player.observation)
            rx.connect(ports.reward, player.reward)
            rx.connect(ports.terminated, player.over)
            rx.connect(player.action, ports.action, after="1 us")
        rx.connect(self.env.episode, self.referee.episode)


def logs_of_games(moves: int) -> list[list[Any]]:
    """What PettingZoo's own loop says of as many moves, in the form of `Mover.log`."""
    env = pettingzoo.make("aec", "classic/tictactoe_v3")
    env.reset(seed=0)
    found: list[list[Any]] = [[] for _ in env.possible_agents]
    turns = [0, 0]
    for _ in range(moves):
        i = env.possible_agents.index(env.agent_selection)
        seen: Any = env.observe(env.agent_selection)
        move = moved(seen["action_mask"], turns[i])
        turns[i] += 1
        found[i].append((seen["observation"].tolist(), move))
        env.step(move)
        for log, agent in zip(found, env.possible_agents, strict=True):
            log.append((float(env.rewards[agent]), env.terminations[agent]))
        if any(env.terminations.values()):
            env.reset()
    return found


def test_agents_that_act_in_turn_are_absent_while_they_wait() -> None:
    moves = 40
    for how in ({"workers": 1}, {"workers": 2, "backend": "process"}):
        main = Board()
        rx.run(main, fast=True, timeout=f"{moves} us", **how)  # type: ignore[arg-type]
        logs = [[*player.log] for player in main.players]
        (i,) = [i for i, log in enumerate(logs) if isinstance(log[-1][0], list)]
        logs[i].pop()  # the turn after the last move
        assert logs == logs_of_games(moves)
        assert len(main.referee.episodes) > 4
        assert {episode.returns for episode in main.referee.episodes} <= {(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)}


def test_one_whose_turn_it_is_not_cannot_act_instead() -> None:
    class Second(rx.Reactor):
        out = rx.Output(dtype="i8")

        @rx.reaction(rx.startup, effects=out)
        def begin(self) -> None:
            self.out.set(1)

    class Hasty(rx.Reactor):
        def __init__(self) -> None:
            self.env, self.source = rl.MultiAgentEnv("classic/tictactoe_v3"), Second()
            rx.connect(self.source.out, self.env.action[1], after="1 us")

    with (
        pytest.warns(rx.ReactorWarning, match="has no source"),
        pytest.raises(
            rx.ReactionError, match=r"main\.env\.action\[0\].* is absent at 1 us, though 'player_1' is there"
        ),
    ):
        rx.run(Hasty(), fast=True, timeout="9 us")


def test_an_agent_that_there_is_not_is_reported_with_those_that_there_are() -> None:
    env = rl.MultiAgentEnv("classic/rps_v2")
    with pytest.raises(rx.ReactorError, match=r"has no agent 'player_2'; there are 'player_0', 'player_1'"):
        _ = env.agent["player_2"]


def test_an_action_of_an_agent_that_is_not_there_is_refused() -> None:
    sim = ParallelSimulation(lambda: pettingzoo.make("parallel", "classic/rps_v2"), seed=1, path="main.env")
    sim.reset()
    with pytest.raises(
        rl.SimulationError, match=r"main.env: an action for agent 'player_2', .* 'player_0', 'player_1'"
    ):
        sim.step({"player_0": 0, "player_1": 1, "player_2": 0})
    sim.close()


def test_a_reward_of_nan_is_a_wrong_answer() -> None:
    sim = ParallelSimulation(lambda: pettingzoo.make("parallel", "classic/rps_v2"), seed=1, path="main.env")
    sim.reset()
    step = sim.env.step
    sim.env.step = lambda actions: (step(actions)[0], dict.fromkeys(actions, float("nan")), *step(actions)[2:])
    with pytest.raises(
        rl.SimulationError, match=r"in step: ValueError: the reward of agent 'player_0' is nan, which is no"
    ):
        sim.step({"player_0": 0, "player_1": 1})
    sim.close()


class Break(pettingzoo.ParallelEnv[str, Any, Any]):
    """Both act, then one takes a break of two steps, is given 1 and 2 meanwhile, and dies or comes back."""

    metadata = {"name": "break"}  # noqa: RUF012 - as PettingZoo has it
    possible_agents = ["on", "off"]  # noqa: RUF012 - likewise

    def __init__(self, *, dies: bool) -> None:
        self.dies = dies

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.t, self.agents = 0, ["on", "off"]
        return dict.fromkeys(self.agents, 0), {}

    def step(self, actions: Any) -> Any:
        assert [*actions] == self.agents
        self.t += 1
        dead = self.dies and self.t >= 3
        self.agents = [["on"], ["on"], ["on"] if dead else ["on", "off"], []][self.t - 1]
        return (
            dict.fromkeys(("on", "off"), self.t), {"on": 0.0, "off": [0.0, 1.0, 2.0, 4.0][self.t - 1]},
            {"on": self.t == 4, "off": self.t == 4 or dead}, {"on": False, "off": False}, {},
        )  # fmt: skip


@pytest.mark.parametrize(("dies", "whole"), [(False, 7.0), (True, 3.0)])
def test_what_an_agent_is_given_that_waits_counts_and_what_it_is_given_after_its_end_does_not(
    dies: bool, whole: float
) -> None:
    sim = ParallelSimulation(lambda: Break(dies=dies), seed=1)
    sim.reset()
    told = []
    while sim.episode is None:
        told += [each[2:4] for each in sim.step(dict.fromkeys(sim.observations, 0)) if each.agent == "off"]
    assert sim.episode.returns == (0.0, whole)
    assert told == [(0.0, False), (1.0, False), (2.0, dies), *([] if dies else [(4.0, True)])]
    sim.close()


def test_what_an_agent_is_given_before_it_first_comes_counts_for_nothing() -> None:
    class Late(Break):
        """The other comes with the third step, for which it is given 2."""

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            super().reset()
            self.agents = ["on"]
            return {"on": 0}, {}

    sim = ParallelSimulation(lambda: Late(dies=False), seed=1)
    sim.reset()
    told = []
    while sim.episode is None:
        told += [each[2:4] for each in sim.step(dict.fromkeys(sim.observations, 0)) if each.agent == "off"]
    assert (sim.episode.returns, told) == ((0.0, 4.0), [(4.0, True)])
    sim.close()


def test_an_environment_that_wants_actions_of_those_that_have_ended_is_told_to_let_them_leave() -> None:
    class Insistent(Break):
        """Both are always listed, and asked."""

        def step(self, actions: Any) -> Any:
            found = super().step({agent: actions[agent] for agent in self.agents})
            self.agents = ["on", "off"]
            return found

    sim = ParallelSimulation(lambda: Insistent(dies=True), seed=1, path="main.env")
    sim.reset()
    for _ in range(3):
        sim.step(dict.fromkeys(sim.observations, 0))
    with pytest.raises(
        rl.SimulationError,
        match=r"\(seed 1, episode 0, step 4\) wants an action of agent 'off', which has ended, .*leave",
    ):
        sim.step(dict.fromkeys(sim.observations, 0))
    sim.close()


def test_programs_are_deterministic() -> None:
    assert_deterministic(
        lambda: Play("classic/rps_v2", max_cycles=5),
        outcome=Play.outcome,
        workers=(2,),
        fast=True,
        timeout="50 us",
        seed=3,
    )
