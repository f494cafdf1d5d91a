"""An algorithm of a user's own that does not keep the contract gets an error that names the method of the class."""

from __future__ import annotations

import itertools
import random
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.errors import ArgumentError, ReactionError
from reactors.rl.networks.layers import Adam, Flat, Inference, descend, inputs_of, mlp

pytestmark = pytest.mark.usefixtures("bare_runs")


class Softmax(rl.Policy):
    def __init__(self, actor: Any) -> None:
        self.infer = Inference(actor)
        self.size = self.infer.size

    def load(self, weights: Any) -> None:
        self.infer.load(weights)

    def act(self, observations: Any, rng: np.random.Generator, steps: int) -> Any:
        logits = self.infer(observations)
        return (logits + rng.gumbel(size=logits.shape)).argmax(1), {"logit": logits.max(1)}

    def greedy(self, observations: Any) -> Any:
        return self.infer(observations).argmax(1)


class Gradient(rl.Learning):
    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.flat = Flat(actor.parameters())
        self.optimizer = Adam(self.flat, 1e-2)
        self.updates = 0

    @property
    def flats(self) -> Any:
        return (self.flat,)

    def loss(self, batch: Any) -> Any:
        logs = torch.log_softmax(self.actor(batch["obs"].flatten(2)), 2)
        return -(logs.gather(2, batch["action"][..., None]).squeeze(2) * batch["reward"]).mean()

    def learn(self, batch: Any) -> Any:
        loss = self.loss(batch)
        yield from descend(loss, self.flat, self.optimizer)
        self.updates += 1
        return {"losses/policy_loss": loss.detach(), "updates": self.updates}

    def weights(self) -> Any:
        return self.flat.fetch()

    def state_dict(self) -> dict[str, Any]:
        optimizer = self.optimizer.state_dict()
        return {"weights": self.flat.weights.data, "optimizer": optimizer, "updates": self.updates}

    def load_state_dict(self, state: Any) -> None:
        self.flat.weights.data.copy_(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.updates = state["updates"]


@dataclass(frozen=True, kw_only=True)
class Reinforce(rl.Algorithm):
    name: ClassVar[str] = "REINFORCE"
    on_policy: ClassVar[bool] = True
    continuous: ClassVar[bool] = False

    num_envs: int = 2
    horizon: int = 4

    def actor(self, observation_space: Any, action_space: Any) -> Any:
        return mlp([inputs_of(observation_space), 4, int(action_space.n)])

    def policy(self, observation_space: Any, action_space: Any) -> Any:
        return Softmax(self.actor(observation_space, action_space))

    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any:
        return Gradient(self.actor(observation_space, action_space))

    def remembered(self, action_space: Any) -> dict[str, Any]:
        return {"logit": np.float32}


ENV = "CartPole-v1"
SEEN = "for 2 observations"  # one actor has both environments


def trained(**options: Any) -> rl.Trained:
    return rl.train(Reinforce(), ENV, total_steps=48, actors=1, **options)


def message(caught: pytest.ExceptionInfo[BaseException]) -> str:
    error: Any = caught.value
    return str(error.__cause__ if isinstance(error, ReactionError) else error)


def words(function: Any = trained) -> str:
    """What an error says that is there before anything runs."""
    with pytest.raises(ArgumentError) as caught:
        function()
    return str(caught.value)


def act(monkeypatch: pytest.MonkeyPatch, given: Any) -> None:
    monkeypatch.setattr(Softmax, "act", lambda self, obs, rng, steps: given(len(obs)))


def test_one_that_keeps_it_is_reported_so() -> None:
    report = rl.check_algorithm(Reinforce(), ENV)
    assert repr(report) == (
        "REINFORCE in CartPole-v1 keeps the contract of algorithms:\n"
        "- 3 rounds by hand: actions, what is remembered, gradients, figures and states are as they have to be\n"
        "- nothing is drawn from generators that others share\n"
        "- two runs of 6 rounds have the same digest, and so has one in processes\n"
        "- so has a run that goes on from a checkpoint after round 3"
    )
    assert report.digest == rl.train(Reinforce(), ENV, total_steps=48).digest


# ---- before anything runs ----

ACTING = {
    "no tuple": (
        lambda n: np.zeros(n, int),
        (
            "Softmax.act() of REINFORCE returned ndarray of shape (2,) and dtype int64; let it return actions, and a "
            "dict of what is remembered of each: return actions, {}"
        ),
    ),
    "undeclared": (
        lambda n: (np.zeros(n, int), {"logit": np.zeros(n, "f4"), "value": np.zeros(n, "f4")}),
        (
            "Softmax.act() of REINFORCE returned 'value', which Reinforce.remembered() does not declare; let it return "
            "{'value': np.float32}"
        ),
    ),
    "forgotten": (
        lambda n: (np.zeros(n, int), {}),
        (
            "Reinforce.remembered() declares 'logit', and Softmax.act() of REINFORCE does not return it; return it, or "
            "leave it out"
        ),
    ),
    "another shape": (
        lambda n: (np.zeros(n, int), {"logit": np.zeros((n, 1), "f4")}),
        (
            f"Softmax.act() of REINFORCE returned 'logit' of shape (2, 1) and dtype float32 {SEEN}, and "
            "Reinforce.remembered() declares shape (2,) and dtype float32"
        ),
    ),
    "actions of another shape": (
        lambda n: (np.zeros((n, 1), int), {"logit": np.zeros(n, "f4")}),
        (
            f"Softmax.act gave actions of shape (2, 1) {SEEN}; give an action of Discrete(2) for each, int64 of shape "
            "(2,)"
        ),
    ),
    "actions that there are not": (
        lambda n: (np.full(n, 2), {"logit": np.zeros(n, "f4")}),
        "Softmax.act gave the action 2, which is not in Discrete(2)",
    ),
}


@pytest.mark.parametrize("fault", ACTING)
def test_what_act_returns(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, wanted = ACTING[fault]
    act(monkeypatch, given)
    assert words() == wanted


SIGNATURES = {
    ("Softmax", "act"): (
        lambda self, o: None,
        "Softmax.act() of REINFORCE takes (o); write def act(self, observations, rng, steps)",
    ),
    ("Softmax", "greedy"): (
        lambda self: None,
        "Softmax.greedy() of REINFORCE takes (); write def greedy(self, observations)",
    ),
    ("Softmax", "load"): (
        lambda self, weights, strict: None,
        "Softmax.load() of REINFORCE takes (weights, strict); write def load(self, weights)",
    ),
    ("Softmax", "state_dict"): (
        {},
        "Softmax.state_dict() of REINFORCE is {}, and no method; write def state_dict(self)",
    ),
    ("Gradient", "learn"): (
        lambda self, batch, *, epochs: None,
        "Gradient.learn() of REINFORCE takes (batch, *, epochs); write def learn(self, batch)",
    ),
    ("Gradient", "weights"): (
        lambda self, device: None,
        "Gradient.weights() of REINFORCE takes (device); write def weights(self)",
    ),
    ("Reinforce", "policy"): (
        lambda self, spaces: None,
        "Reinforce.policy() of REINFORCE takes (spaces); write def policy(self, observation_space, action_space)",
    ),
    ("Reinforce", "learning"): (
        lambda self, observation_space, action_space, seed: None,
        (
            "Reinforce.learning() of REINFORCE takes (observation_space, action_space, seed); write def learning(self, "
            "observation_space, action_space, seed, device='cpu')"
        ),
    ),
    ("Reinforce", "remembered"): (
        lambda self: {},
        "Reinforce.remembered() of REINFORCE takes (); write def remembered(self, action_space)",
    ),
}


@pytest.mark.parametrize(("kind", "method"), SIGNATURES)
def test_methods_that_take_other_arguments(kind: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, wanted = SIGNATURES[kind, method]
    monkeypatch.setattr(globals()[kind], method, given)
    assert words() == wanted
    with pytest.raises((AssertionError, ArgumentError)) as caught:
        rl.check_algorithm(Reinforce(), ENV)
    assert str(caught.value) == wanted


MADE = {
    ("policy", "None"): "Reinforce.policy() returned None; let it return an rl.Policy",
    ("learning", "None"): "Reinforce.learning() returned None; let it return an rl.Learning",
}


@pytest.mark.parametrize("method", ["policy", "learning"])
def test_what_the_hyperparameters_make(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reinforce, method, lambda self, *given: None)
    assert words() == MADE[method, "None"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            lambda self: self.flat.fetch(7),
            (
                "Gradient.weights() of REINFORCE returned 7 numbers, and the size of Softmax is 30; let both be of "
                "what acts, and nothing else"
            ),
        ),
        (
            lambda self: self.flat.weights.data,
            (
                "Gradient.weights() of REINFORCE returned Tensor of shape (30,) and dtype torch.float32; let it return "
                "a float32 array with one axis, as networks.Flat.fetch does"
            ),
        ),
        (
            lambda self: self.flat.fetch().astype(np.float64),
            (
                "Gradient.weights() of REINFORCE returned ndarray of shape (30,) and dtype float64; let it return a "
                "float32 array with one axis, as networks.Flat.fetch does"
            ),
        ),
    ],
)
def test_what_weights_returns(given: Any, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "weights", given)
    assert words() == wanted


def test_a_policy_without_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(self: Any, actor: Any) -> None:
        self.infer = Inference(actor)

    monkeypatch.setattr(Softmax, "__init__", init)
    assert words() == "Softmax of REINFORCE has no size; let self.size be how many weights load() takes"


# ---- where the learner gets it ----


def plain(self: Any, batch: Any) -> Any:
    self.loss(batch).backward()
    return {"losses/policy_loss": 0.0}


def silent(self: Any, batch: Any) -> Any:
    yield from descend(self.loss(batch), self.flat, self.optimizer)


def figures(value: Any) -> Any:
    def learn(self: Any, batch: Any) -> Any:
        yield from descend(self.loss(batch), self.flat, self.optimizer)
        return {"charts/found": value}

    return learn


def detached(self: Any, batch: Any) -> Any:
    yield from descend(self.loss(batch).detach(), self.flat, self.optimizer)
    return {}


LEARNING = {
    "no generator": (
        plain,
        (
            "Gradient.learn() of REINFORCE returned a dict, and is no generator; let it yield from "
            "networks.descend(...), and then return its figures"
        ),
    ),
    "no figures": (
        silent,
        "Gradient.learn() of REINFORCE returned None; let it end with return {...}, its figures by name",
    ),
    "a word": (
        figures("much"),
        (
            "Gradient.learn() of REINFORCE returned 'much' as 'charts/found'; let it be a number, or a tensor of "
            "float, which stands for its mean"
        ),
    ),
    "several numbers": (
        figures(np.zeros(3)),
        (
            "Gradient.learn() of REINFORCE returned ndarray of shape (3,) and dtype float64 as 'charts/found'; let it "
            "be a number, or a tensor of float, which stands for its mean"
        ),
    ),
    "whole numbers": (
        figures(torch.ones(3, dtype=torch.int64)),
        (
            "Gradient.learn() of REINFORCE returned Tensor of shape (3,) and dtype torch.int64 as 'charts/found'; let "
            "it be a number, or a tensor of float, which stands for its mean"
        ),
    ),
    "no gradient": (
        detached,
        (
            "networks.descend is given a loss without a gradient; compute it from the parameters of a Flat, outside of "
            "torch.no_grad() and without detach() or item()"
        ),
    ),
}


@pytest.mark.parametrize("fault", LEARNING)
def test_what_learn_does(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learn, wanted = LEARNING[fault]
    monkeypatch.setattr(Gradient, "learn", learn)
    with pytest.raises(ReactionError) as caught:
        trained(backend="inline")
    assert message(caught) == wanted
    with pytest.raises(AssertionError) as refused:
        rl.check_algorithm(Reinforce(), ENV)
    assert str(refused.value) == wanted


def test_a_field_that_no_batch_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "learn", lambda _, batch: batch["rewards"])
    with pytest.raises(ReactionError) as caught:
        trained(backend="inline")
    wanted = (
        "a batch with obs, action, reward, next_obs, terminated, truncated, logit has no 'rewards'; did you mean "
        "'reward'?"
    )
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.args == (wanted,)


def test_errors_for_prioritized_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactors.rl.algorithms.dqn.DQNLearning.learn", silent_about_errors)
    algorithm = rl.DQN(num_envs=2, horizon=4, batch_size=4, learning_starts=0, hidden=(4,), prioritized=True)
    with pytest.raises(ReactionError) as caught:
        rl.train(algorithm, ENV, total_steps=16, backend="inline")
    assert message(caught) == (
        "DQNLearning.learn() of DQN returned no 'errors', and replay is prioritized; let them be a tensor of shape "
        "(4,), an error of each transition, or set prioritized=False"
    )


def silent_about_errors(self: Any, batch: Any) -> Any:
    yield from descend(self.net(batch["obs"]).mean(), self.flat, self.optimizer)
    return {}


def test_a_draw_in_a_later_round_is_noticed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(self: Any, batch: Any) -> Any:
        found = yield from usual(self, batch)
        if self.updates > 2:
            torch.rand(1)
        return found

    usual = Gradient.learn
    monkeypatch.setattr(Gradient, "learn", learn)
    with pytest.raises(ReactionError, match=r"Gradient of REINFORCE draws by torch's rand\(\)"):
        trained()


# ---- what only check_algorithm sees ----


def refused(algorithm: Any = None) -> str:
    with pytest.raises(AssertionError) as caught:
        rl.check_algorithm(algorithm or Reinforce(), ENV)
    return str(caught.value)


def learning_that(also: Any) -> Any:
    usual = Gradient.learn

    def learn(self: Any, batch: Any) -> Any:
        found = yield from usual(self, batch)
        return {**found, **(also(self) or {})}

    return learn


def test_a_view_of_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "weights", lambda self: self.flat.weights.detach().numpy())
    assert refused() == (
        "Gradient.weights() of REINFORCE returns memory of its own, which the next learn() changes; return a copy"
    )


@pytest.mark.parametrize(("draw", "whose"), [(np.random.rand, "NumPy's np.random"), (random.random, "Python's random")])
def test_draws_from_generators_of_numpy_and_python(draw: Any, whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Softmax.act
    monkeypatch.setattr(Gradient, "learn", learning_that(lambda self: {"x": draw()}))
    assert refused() == (
        f"Gradient.learn() of REINFORCE draws from {whose}, which all that runs in a process shares; let it have a "
        "generator of its own, made from its seed"
    )

    def acting(self: Any, observations: Any, rng: Any, steps: int) -> Any:
        draw()
        return usual(self, observations, rng, steps)

    monkeypatch.setattr(Softmax, "act", acting)
    assert refused() == (
        f"policy() or act() of REINFORCE draws from {whose}, which all that runs in a process shares; draw from the "
        "generator that act() is given"
    )


def test_draws_from_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "learn", learning_that(lambda self: {"x": float(torch.rand(1))}))
    assert refused() == (
        "Gradient.learn() of REINFORCE draws by torch's rand() from the generator that all threads share; let it have "
        "`draws = True`, or pass it a generator="
    )


def test_parameters_that_are_none_of_its_flats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "flats", property(lambda self: ()))
    assert refused() == (
        "Gradient.learn() of REINFORCE yielded a Flat that is none of its flats; let flats have all of them"
    )


def test_two_runs_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = itertools.count(1)
    monkeypatch.setattr(Gradient, "learn", learning_that(lambda self: {"charts/counted": next(counted)}))
    assert refused() == (
        "REINFORCE: charts/counted in round 1 is 4.0 in one run and 10.0 in another with the same seed; draw random "
        "numbers from the generator that act() is given and from ones of the learning's own, made from its seed, and "
        "compute nothing from times, id() or the order of a set"
    )


def test_a_state_that_is_not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "load_state_dict", lambda self, state: self.flat.weights.data.copy_(state["weights"]))
    said = refused()
    assert said.startswith("REINFORCE: losses/policy_loss in round 5 is ")
    assert said.endswith(
        "in one that went on from a checkpoint after round 3; let state_dict() of the learning and of the policy have "
        "all that the next learn() and act() depend on"
    )


def test_a_state_that_no_checkpoint_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gradient, "state_dict", lambda self: {"actor": self.actor})
    assert refused() == (
        "REINFORCE: state_dict() of Gradient.actor is a Chain, which no checkpoint can hold; let state_dict() give "
        "numbers, strings, arrays, tensors, generators, and lists, tuples and dicts of these"
    )


class Idle(Gradient):
    def loss(self, batch: Any) -> Any:
        return 0.0 * super().loss(batch)


@dataclass(frozen=True, kw_only=True)
class Lazy(Reinforce):
    def learning(self, observation_space: Any, action_space: Any, seed: int, device: str = "cpu") -> Any:
        return Idle(self.actor(observation_space, action_space))


def test_what_cannot_be_looked_at_and_what_may_be_an_oversight_is_noted() -> None:
    *notes, last = rl.check_algorithm(Lazy(num_envs=1), closed, rounds=4).notes
    assert notes == [
        (
            "all gradients of Idle were 0; let the loss be of the parameters that are in its flats: a Flat is made "
            "after to(device), and zero_grad() of torch's optimizers lets go of it"
        ),
        (
            "weights() of Idle are after 3 rounds what they were before, which is right only if there was nothing to "
            "learn from"
        ),
    ]
    assert last.startswith("runs that go on were not compared: environments of actors[0] do not tell their state")


class Closed(gym.Wrapper[Any, Any, Any, Any]):
    """Holds what no checkpoint can."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.engine = threading.Lock()


def closed() -> gym.Env[Any, Any]:
    return Closed(gym.make(ENV))


def test_rounds_that_have_no_middle() -> None:
    assert words(lambda: rl.check_algorithm(Reinforce(), ENV, rounds=1)) == (
        "rounds of rl.check_algorithm is 1; write a whole number, 4 or more: a checkpoint lies between"
    )
