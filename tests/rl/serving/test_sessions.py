"""A recurrent policy answers each session by what it remembers of that one, and of no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest

import reactors as rx
from reactors import rl
from reactors.errors import ArgumentError
from reactors.rl.serving.sessions import Sessions
from tests.rl.serving.test_serving import WAYS, Learner, Main, during, settled

if TYPE_CHECKING:
    from pathlib import Path

SPACE = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)


class Sums(rl.RecurrentPolicy):
    """Acts with the sum of all that it has seen in an episode, times its one weight."""

    size, width = 1, 1

    def load(self, weights: Any) -> None:
        self.scale = float(weights[0])

    def act(self, observations: Any, rng: Any, steps: int, states: Any = None) -> Any:
        raise NotImplementedError

    def greedy(self, observations: Any, states: Any = None) -> Any:
        self.given(states, len(observations))[...] += observations
        return states[:, 0] * self.scale


class Remembering(Main):
    def __init__(self, **options: Any) -> None:
        self.learner = Learner()
        self.server = rl.serve(Sums(), observation_space=SPACE, stoppable=True, **options)
        rx.connect(self.learner.weights, self.server.weights)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[-1]], ids=["one worker", "two processes"])
def test_each_session_goes_on_from_its_own_state(way: dict[str, Any]) -> None:
    main, answers = Remembering(max_batch=4, max_wait="5 ms"), []

    def clients() -> None:
        ask = main.server.request
        asked = [ask([1], session="a"), ask([10], session="b"), ask([2], session="a"), ask([3], session="a")]
        asked += [ask([20], session="b", first=True), ask([4], session="a"), ask([5], session="c", first=True)]
        answers.extend(settled(asked))

    assert during(main, way, clients) is None
    assert answers == [1, 10, 3, 6, 20, 10, 5]


def test_states_outlive_new_weights_and_the_least_recent_session_is_forgotten() -> None:
    main, answers = Remembering(max_batch=1, max_sessions=2), []

    def clients() -> None:
        def ask(session: str, x: float) -> None:
            answers.append(main.server.request([x], session=session).result(5))

        ask("a", 1)
        ask("b", 2)
        main.learner.given.schedule(2.0)
        while main.server.updates < 2:
            pass
        ask("a", 1)  # the sum is 2
        ask("c", 3)  # b asked before a did
        ask("a", 1)
        ask("b", 2)

    assert during(main, WAYS[0], clients) is None
    assert answers == [1, 2, 4, 6, 6, 4]


def test_what_was_recorded_is_answered_again(tmp_path: Path) -> None:
    main, log = Remembering(max_batch=2), tmp_path / "log"

    def clients() -> None:
        settled([main.server.request([n], session=f"{n % 2}") for n in range(6)])

    assert during(main, WAYS[0], clients, record=log) is None
    again = Remembering(max_batch=2)
    rx.run(again, replay=log)
    states: list[Any] = []
    for server in (again.server, main.server):
        sessions = server.asked.sessions
        assert isinstance(sessions, Sessions)
        states.append({name: float(state[0]) for name, state in sessions.states.items()})
    assert states == [{"0": 6, "1": 9}] * 2


def test_a_request_without_a_session_is_refused_by_a_policy_that_remembers() -> None:
    main = Remembering()
    for session in (None, "", 5):
        with pytest.raises(ArgumentError) as refused:
            main.server.request([1], session=session)  # type: ignore[arg-type]
        assert str(refused.value) == (
            f"Server answers by a policy that remembers, and session of its request is {session!r}; name whose "
            'episode the observation is of, as in request(observation, session="robot 7")'
        )
    with pytest.raises(ArgumentError, match=r"max_sessions of rl.serve is 0; write a whole number, 1 or more"):
        rl.serve(Sums(), observation_space=SPACE, max_sessions=0)


def test_a_trained_policy_remembers_its_calls_until_it_is_reset() -> None:
    done = rl.train(rl.PPO(num_envs=2, horizon=16, epochs=1, recurrent=8), "CartPole-v1", total_steps=64)
    policy: Any = done.policy
    rng, states = np.random.default_rng(0), policy.fresh(1)
    policy.load(rng.normal(size=policy.size).astype(np.float32))
    seen = rng.normal(size=(40, 4)).astype(np.float32)
    wanted = [policy.greedy(each[None], states)[0] for each in seen]
    assert [done(each) for each in seen] == wanted
    done.reset()
    assert [done(each) for each in seen] == wanted
    assert [policy.greedy(each[None], policy.fresh(1))[0] for each in seen] != wanted
    with pytest.raises(ArgumentError) as refused:
        policy.greedy(seen)
    assert str(refused.value) == (
        "RecurrentActorPolicy remembers, and was given no states for 40 observations; give it states=policy.fresh(40) "
        "where episodes begin, and the same array from then on"
    )
