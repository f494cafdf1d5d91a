"""Any module can be what sees observations, for every algorithm; one that would break training silently is refused."""

from __future__ import annotations

import copy
import gc
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from reactors import rl
from reactors.errors import ParameterError, ReactorWarning
from reactors.rl.networks.layers import Inference, NipsTorso, torso
from reactors.rl.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEEN = gym.spaces.Box(-1, 1, (3,))


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Graphs are cycles, and replay memory goes with them."""
    yield
    gc.collect()


class Spot(gym.Env[Any, Any]):
    """20x20 frames with a bright column, which the action should name."""

    observation_space = gym.spaces.Box(0, 255, (1, 20, 20), np.uint8)
    action_space = gym.spaces.Box(-1, 1, (1,))

    def frame(self) -> Any:
        self.column = int(self.np_random.integers(20))
        found = np.zeros((1, 20, 20), np.uint8)
        found[:, :, self.column] = 255
        return found

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        return self.frame(), {}

    def step(self, action: Any) -> Any:
        reward = -abs(float(action[0]) - self.column / 10 + 1)
        return self.frame(), reward, bool(self.np_random.random() < 0.1), bool(self.np_random.random() < 0.1), {}


class Columns(nn.Module):
    """A module of a user's: the mean of each column, and a layer."""

    features = 6

    def __init__(self, observation_space: gym.Space[Any]) -> None:
        super().__init__()
        shape: Any = observation_space.shape
        self.layer = nn.Linear(shape[-1], 6)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.layer(obs.float().mean((1, 2)) / 255))


SMALL: dict[str, Any] = {
    "num_envs": 2, "horizon": 4, "hidden": (8,), "learning_starts": 8, "batch_size": 4, "capacity": 100,
}  # fmt: skip
CASES: dict[str, Any] = {
    "SAC, nips": rl.SAC(**SMALL, torso="nips"),
    "SAC, own": rl.SAC(**SMALL, torso=Columns, prioritized=True, n_step=2),
    "TD3, own": rl.TD3(**SMALL, torso=Columns),
    "DDPG, own": rl.DDPG(**SMALL, torso=Columns),
}


def trained(name: str, **options: Any) -> rl.Trained:
    return rl.train(CASES[name], Spot, total_steps=64, seed=5, **options)


@pytest.mark.parametrize("mode", ["sync", "pipelined"])
@pytest.mark.parametrize("name", CASES)
def test_continuous_actions_from_frames_are_learned_the_same_on_one_and_two_workers(name: str, mode: Any) -> None:
    one, two = (trained(name, mode=mode, workers=n, backend="thread" if n > 1 else "inline") for n in (1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()
    assert one.digest == two.digest
    untrained = CASES[name].learning(*one.spaces, 5).weights()
    assert not np.array_equal(one.weights, untrained)


@pytest.mark.parametrize("name", ["SAC, nips", "TD3, own"])
def test_a_run_with_torsos_goes_on_as_if_it_had_never_stopped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    monkeypatch.setattr("reactors.rl.runs.curves.curve", lambda *_: None)
    full = trained(name, out=tmp_path / "full", checkpoint_every=4)
    again = trained(name, out=tmp_path / "again", resume=tmp_path / "full" / "checkpoints" / f"{32:012d}")
    assert full.weights.tobytes() == again.weights.tobytes()


@pytest.mark.parametrize("name", ["SAC, own", "TD3, own"])
def test_halves_apart_have_torsos_of_their_own(name: str) -> None:
    apart: dict[str, Any] = {"actor_device": "cpu", "critic_device": "cpu"}
    one, two = (trained(name, workers=n, backend="thread" if n > 1 else "inline", **apart) for n in (1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_each_loss_trains_its_torso_and_targets_follow(name: str) -> None:
    algorithm = CASES[name]
    learning: Any = algorithm.learning(Spot.observation_space, Spot.action_space, 1)
    nets = {"actor": learning.actor[0], "critics": learning.critics.torso, "target": learning.target_critics.torso}
    assert len({p.data_ptr() for net in nets.values() for p in net.parameters()}) == 3 * len(
        [*nets["actor"].parameters()]
    )
    before = {which: nn.utils.parameters_to_vector(net.parameters()).clone() for which, net in nets.items()}
    rng = np.random.default_rng(0)
    batch: dict[str, Any] = {
        "obs": rng.integers(0, 256, (4, 1, 20, 20), np.uint8),
        "next_obs": rng.integers(0, 256, (4, 1, 20, 20), np.uint8),
        "action": rng.uniform(-1, 1, (4, 1)).astype(np.float32), "reward": rng.random(4, np.float32),
        "terminated": np.zeros(4, bool), "weights": np.ones(4, np.float32),
    }  # fmt: skip
    descent = learning.learn({field: torch.from_numpy(each) for field, each in batch.items()})
    moved = []
    while True:
        try:
            next(descent)
        except StopIteration:
            break
        moved.append({which for which, net in nets.items() if _differs(net, before[which])})
    assert moved[0] == set()  # the critics' gradients are ready
    late = getattr(algorithm, "policy_delay", 1) > 1
    assert late or moved[1] == {"critics", "target"}  # the actor's are
    assert {which for which, net in nets.items() if _differs(net, before[which])} == (
        {"critics"} if late else {"actor", "critics", "target"}
    )


def _differs(net: Any, before: torch.Tensor) -> bool:
    return not torch.equal(nn.utils.parameters_to_vector(net.parameters()), before)


@pytest.mark.parametrize(
    ("shape", "last"),
    [
        ((4, 84, 84), False), ((84, 84, 3), True), ((210, 160, 3), True), ((3, 210, 160), False), ((10, 10, 7), True),
        ((7, 10, 10), False), ((10, 10, 10), False), ((1, 36, 40), False), ((6, 7, 2), True),
    ],
)  # fmt: skip
def test_channels_are_found_where_they_are(shape: tuple[int, ...], last: bool) -> None:
    seen: Any = torso(None, gym.spaces.Box(0, 1, shape, np.float32))
    assert seen.last == last
    assert seen(torch.zeros(2, *shape)).shape == (2, seen.features)


def test_frames_have_the_torso_that_fits_their_size_by_default_and_vectors_none() -> None:
    actions = Spot.action_space
    for side, name in {84: "NatureTorso", 64: "NatureTorso", 42: "SmallTorso", 10: "MinAtarTorso"}.items():
        frames = gym.spaces.Box(0, 255, (2, side, side), np.uint8)
        learning: Any = rl.SAC(hidden=(8,)).learning(frames, actions, 0)
        assert type(learning.critics.torso).__name__ == type(learning.actor[0]).__name__ == name
    plain: Any = rl.SAC(hidden=(8,)).learning(SEEN, actions, 0)
    assert plain.critics.torso is None
    assert Inference(plain.actor).in_numpy


@pytest.mark.parametrize("kind", [rl.PPO, rl.A2C, rl.IMPALA, rl.APPO])
@pytest.mark.parametrize(("space", "n"), [(SEEN, 6), (gym.spaces.Box(0, 255, (2, 36, 36), np.uint8), 5)])
def test_all_layers_of_policy_gradients_begin_orthogonal(kind: Any, space: gym.Space[Any], n: int) -> None:
    net = kind(value_scale=4.0).network(space, gym.spaces.Discrete(3))
    lengths = {net.actor[-1]: 0.01, net.critic[-1]: 1 / net.scale}
    layers = [each for each in net.modules() if isinstance(each, nn.Linear | nn.Conv2d)]
    assert len(layers) == n
    for layer in layers:
        weight = layer.weight.detach().flatten(1)
        products = weight @ weight.T if len(weight) <= weight.shape[1] else weight.T @ weight
        length = lengths.get(layer, 2**0.5)
        torch.testing.assert_close(products, torch.eye(len(products)) * length**2, atol=1e-5, rtol=1e-4)
        assert layer.bias is not None
        assert not layer.bias.any()


def test_a_torso_of_too_many_weights_is_warned_of_before_it_is_used() -> None:
    with pytest.warns(ReactorWarning, match=r"the torso 'nature' has 57 million weights for .* \(280, 480, 3\)"):
        torso("nature", gym.spaces.Box(0, 255, (280, 480, 3), np.uint8))
    torso("nature", gym.spaces.Box(0, 255, (4, 84, 84), np.uint8))


def test_a_torso_of_a_function_begins_as_it_was_made() -> None:
    class Halves(Columns):
        def __init__(self, space: gym.Space[Any]) -> None:
            super().__init__(space)
            nn.init.constant_(self.layer.weight, 0.5)

    net: Any = rl.PPO(torso=Halves).network(Spot.observation_space, Spot.action_space)
    assert (net.torso.layer.weight == 0.5).all()


def chain(*layers: nn.Module, features: Any = 4) -> Any:
    """A function of the space that makes these layers."""

    def make(space: gym.Space[Any]) -> nn.Module:
        made = nn.Sequential(nn.Linear(3, 4), *copy.deepcopy(layers))
        made.features = features
        return made

    return make


class Scaled(nn.Module):
    """A layer, and after it a product with a constant, which is a buffer if it has a `name`."""

    features = 3

    def __init__(self, constant: torch.Tensor, name: str = "", persistent: bool = True) -> None:
        super().__init__()
        self.layer, self.name = nn.Linear(3, 3), name or "constant"
        if name:
            self.register_buffer(name, constant, persistent)
        else:
            self.constant = constant

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        scale: torch.Tensor = getattr(self, self.name)
        return self.layer(obs) * scale


class Around(nn.Module):
    """New each time, and what it has is not."""

    features = 3

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layer(obs)
        return found


ONE = Around(nn.Linear(3, 3))


class Drawing(nn.Module):
    """Random in what it does, not in what it has."""

    features = 3

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return obs + torch.rand_like(obs)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (chain(nn.Dropout(0.1)), r"has a Dropout \(1\), which draws .* leave it out"),
        (chain(nn.Sequential(nn.RReLU())), r"has a RReLU \(1.0\), which draws"),
        (lambda _: Drawing(), "has a layer of its own, Drawing, which draws"),
        (
            lambda _: Scaled(torch.randn(3), "scale", persistent=False),
            "Scaled draws its buffer 'scale' when it is made, .* let it be an nn.Parameter with requires_grad=False",
        ),
        (lambda _: Scaled(torch.rand(3), "scale"), "draws its buffer 'scale'"),
        (lambda _: Scaled(torch.randn(3)), "Scaled draws a constant when it is made, so that it acts by other numbers"),
        (chain(nn.BatchNorm1d(4)), r"has a BatchNorm1d \(1\), .* take GroupNorm or LayerNorm"),
        (chain(nn.BatchNorm1d(4, track_running_stats=False)), "the other observations of a batch"),
        (
            chain(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))),
            r"has a _SpectralNorm \(1.param.*leave it out",
        ),
        (
            chain(nn.Unflatten(1, (2, 2)), nn.InstanceNorm1d(2, track_running_stats=True), nn.Flatten()),
            r"has a InstanceNorm1d \(2\), which changes its 'running_mean' as it goes",
        ),
        (chain(features=5), r"makes \(2, 4\) of two observations of shape \(3,\), and its `features` says \(2, 5\)"),
        (chain(features="many"), "does not say how many features"),
        (chain(nn.Linear(7, 4)), r"does not take observations of shape \(3,\) and torch.float32, .*: mat1 and mat2"),
        (chain()(SEEN), "the torso is a module, Sequential, .* give a function of the observation space that makes it"),
        (lambda _: ONE, "gives the same parameter 'layer.weight' each time, .* return copy.deepcopy"),
        (lambda _: Around(ONE.layer), "torso Around gives the same parameter 'layer.weight'"),
        (lambda _: 3, "makes a int; let it make a torch.nn.Module"),
    ],
)
def test_torsos_that_would_break_are_refused_with_the_layer_and_the_remedy(kind: Any, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        torso(kind, SEEN)
    with pytest.raises(ParameterError, match=what):
        rl.train(rl.SAC(torso=kind), "Pendulum-v1", total_steps=200)


@pytest.mark.parametrize(
    "constant",
    [
        lambda: nn.Parameter(torch.randn(3), requires_grad=False),
        lambda: torch.randn(3, generator=torch.Generator().manual_seed(1)),
        lambda: torch.full((3,), torch.nan),
    ],
)
def test_constants_that_travel_or_are_always_the_same_are_taken(constant: Any) -> None:
    assert isinstance(torso(lambda _: Scaled(constant()), SEEN), Scaled)


def test_what_has_no_parameters_may_be_one_module_for_all() -> None:
    nothing = Around(nn.Flatten())
    assert torso(lambda _: nothing, SEEN) is nothing


@pytest.mark.parametrize(
    "layers", [(nn.LayerNorm(4),), (nn.Dropout(0.0),), (nn.Unflatten(1, (4, 1)), nn.GroupNorm(2, 4), nn.Flatten())]
)
def test_the_trial_of_a_torso_leaves_no_trace(layers: tuple[nn.Module, ...]) -> None:
    make = chain(*layers)
    torch.manual_seed(3)
    made = make(SEEN)
    wanted = [each.clone() for each in (*made.state_dict().values(), torch.get_rng_state())]
    torch.manual_seed(3)
    tried: Any = torso(make, SEEN)
    found = [*tried.state_dict().values(), torch.get_rng_state()]
    assert all(torch.equal(*each) for each in zip(wanted, found, strict=True))
    assert tried.training
    assert all(p.grad is None for p in tried.parameters())


def test_a_network_acts_in_eval_mode() -> None:
    net = nn.Sequential(NipsTorso(1, 20), nn.Dropout())
    infer = Inference(net)
    frames = np.full((2, 1, 20, 20), 7, np.uint8)
    assert not net.training
    assert infer(frames).tobytes() == infer(frames).tobytes()
