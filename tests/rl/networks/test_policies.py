"""Many agents evaluated as one act as they would one by one."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import reactors as rx
from reactors import rl
from reactors.errors import ArgumentError, ParameterError
from reactors.rl.networks.layers import flat
from reactors.rl.networks.policies import sample
from reactors.rl.networks.stacked import StackedChains, StackedModules, stacked

SHAPE = (4, 10, 10)


class Noisy(nn.Module):
    """What no chain is: branches, a buffer, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.norm = nn.Linear(6, 5), nn.Linear(6, 5, bias=False), nn.BatchNorm1d(5)
        self.norm.running_mean = torch.randn(5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = nn.functional.dropout(self.norm(self.left(x) * self.right(x)), 0.5, self.training)
        return result


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16, bias=False), nn.Tanh(), nn.Linear(16, 5))


def frames() -> nn.Module:
    return nn.Sequential(nn.Conv2d(4, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(192, 5))


MAKES = {"chain": (small, (6,)), "module": (Noisy, (6,)), "frames": (frames, SHAPE)}


def one_by_one(networks: list[nn.Module], x: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return np.stack(
            [net.eval()(torch.from_numpy(row)[None])[0].numpy() for net, row in zip(networks, x, strict=True)]
        )


@pytest.mark.parametrize("name", MAKES)
def test_all_are_evaluated_as_one_by_one_which_are_there(name: str) -> None:
    make, shape = MAKES[name]
    torch.manual_seed(0)
    networks = [make() for _ in range(7)]
    x = np.random.default_rng(0).standard_normal((7, *shape)).astype(np.float32)
    every = stacked(networks, vectors=len(shape) == 1)
    assert isinstance(every, StackedChains if name == "chain" else StackedModules)
    expected = one_by_one(networks, x)
    np.testing.assert_allclose(every(x), expected, rtol=1e-4, atol=1e-5)
    which = [1, 4, 6]
    np.testing.assert_allclose(every(x[which], which), expected[which], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MAKES)
def test_weights_of_one_are_replaced_and_read(name: str) -> None:
    make, shape = MAKES[name]
    torch.manual_seed(0)
    networks = [make() for _ in range(3)]
    every = stacked(networks, vectors=len(shape) == 1)
    other = make()
    other.load_state_dict(networks[1].state_dict() | dict(other.named_parameters()))  # buffers stay the agent's
    every.load(1, flat(other))
    for i, network in enumerate([networks[0], other, networks[2]]):
        assert (every.weights(i) == flat(network)).all()
    x = np.random.default_rng(0).standard_normal((3, *shape)).astype(np.float32)
    expected = one_by_one([networks[0], other, networks[2]], x)
    np.testing.assert_allclose(every(x), expected, rtol=1e-4, atol=1e-5)


class World(rx.Reactor):
    """Shows agent i every (i + 1)th step, or all of them one block; agent 2 has other weights from step 3 on."""

    step = rx.Timer(0, 1)
    observation = rx.Output(shape=(6,), dtype=np.float32, width="agents")
    block = rx.Output(shape=("agents", 6), dtype=np.float32)
    weights = rx.Output(shape=("size",), dtype=np.float32)
    action = rx.Input(shape=(5,), dtype=np.float32, width="agents")
    actions = rx.Input(shape=("agents", 5), dtype=np.float32)

    def __init__(self, agents: int, other: np.ndarray, *, sparse: bool) -> None:
        self.agents, self.sparse, self.other, self.size = agents, sparse, other, len(other)
        self.seen: list[dict[int, Any]] = []
        self.blocks = 0

    @rx.reaction(step, effects=(observation, block, weights))
    def show(self) -> None:
        n = self.tag.time
        if not self.sparse:
            self.block.set(observations(n))
        else:
            for i, row in enumerate(observations(n)):
                if n % (i + 1) == 0:
                    self.observation[i].set(row)
        if n == 3:
            self.weights.set(self.other)

    @rx.reaction(action, uses=actions)
    def see(self) -> None:
        self.seen.append({i: self.action[i].value.copy() for i in self.action.present})
        if self.actions.is_present:
            self.blocks += 1
            assert (self.actions.value == self.action.array).all()


def observations(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((4, 6)).astype(np.float32)


class Program(rx.Reactor):
    def __init__(self, *, sparse: bool) -> None:
        torch.manual_seed(0)
        self.networks, self.other = [small() for _ in range(4)], small()
        self.world = World(4, flat(self.other), sparse=sparse)
        self.policies = rl.Policies(self.networks, shape=(6,), choose=None)
        if sparse:
            rx.connect(self.world.observation, self.policies.observation)
        else:
            rx.connect(self.world.block, self.policies.observations)
        rx.connect(self.world.weights, self.policies.weights[2])
        rx.connect(self.policies.action, self.world.action)
        rx.connect(self.policies.actions, self.world.actions)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(("workers", "backend"), [(1, "inline"), (2, "thread"), (2, "process")])
def test_agents_that_are_there_act_and_have_weights_of_their_own(sparse: bool, workers: int, backend: Any) -> None:
    main = Program(sparse=sparse)
    where = {"main.policies": workers - 1}
    rx.run(main, fast=True, timeout=6, workers=workers, backend=backend, placement=where)
    assert main.world.blocks == (1 if sparse else 7)  # sparse, all are there at 0, and then at 12
    for n, seen in enumerate(main.world.seen):
        networks = [*main.networks[:2], main.other if n >= 3 else main.networks[2], main.networks[3]]
        expected = one_by_one(networks, observations(n))
        assert [*seen] == [i for i in range(4) if not sparse or n % (i + 1) == 0]
        for i, action in seen.items():
            np.testing.assert_allclose(action, expected[i], rtol=1e-4, atol=1e-5)
    assert (main.policies.weights_of(2) == flat(main.other)).all()


def test_weights_are_loaded_before_the_run() -> None:
    torch.manual_seed(0)
    policies = rl.Policies([small(), small()], shape=(6,))
    policies.load(0, policies.weights_of(1))
    assert (policies.weights_of(0) == policies.weights_of(1)).all()
    with pytest.raises(ArgumentError, match=r"agent 1 of Policies has 453 weights, and was given \(7,\)"):
        policies.load(1, np.zeros(7, np.float32))


def test_choices() -> None:
    nets: list[nn.Module] = [nn.Linear(6, 3) for _ in range(2)]
    assert rl.Policies(nets, shape=(6,)).action[0].dtype == np.int64
    assert rl.Policies(nets, shape=(6,), choose=None).action[0].shape == (3,)
    clipped = rl.Policies(nets, shape=(6,), choose=lambda outputs, rng: outputs.clip(-1, 1)[:, :2])
    assert clipped.action[1].shape == (2,)
    logits = np.log(np.array([[0.7, 0.2, 0.1]] * 20_000))
    found = np.bincount(sample(logits, np.random.default_rng(0)), minlength=3) / 20_000
    np.testing.assert_allclose(found, [0.7, 0.2, 0.1], atol=0.02)


@pytest.mark.parametrize(
    ("networks", "options", "message"),
    [
        ([], {}, "is given no networks; give one for each agent"),
        (
            [nn.Linear(6, 3), nn.Linear(6, 4)],
            {},
            r"network 1 is Linear\(.*out_features=4.*let all have one architecture",
        ),
        (
            [nn.Linear(6, 3).double()],
            {"dtype": np.float64},
            r"weight of network 0 is torch.float64 on cpu.*network.float",
        ),
        ([nn.Linear(5, 3)], {}, r"cannot take observations of shape \(6,\) and dtype float32 .*first layer fit"),
        ([nn.Linear(6, 3)], {"choose": "best"}, "choose of Policies is 'best'; write 'greedy', 'sample'"),
        ([nn.Linear(6, 3)], {"choose": lambda x, rng: 7}, "choose of Policies makes int of outputs"),
    ],
)
def test_what_cannot_be_is_refused(networks: list[nn.Module], options: dict[str, Any], message: str) -> None:
    with pytest.raises((ArgumentError, ParameterError), match=message):
        rl.Policies(networks, shape=(6,), **options)
