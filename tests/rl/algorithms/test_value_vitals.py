"""What the journal of algorithms that learn values from replay says of how they learn."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from reactors import rl
from reactors.rl.contract.conformance import numbers
from reactors.rl.networks.layers import alone
from reactors.rl.networks.vitals import FORBIDDEN, spread

SEEN = gym.spaces.Box(-1, 1, (3,), np.float32)
THREE = gym.spaces.Discrete(3)
BOX = gym.spaces.Box(-2, 2, (2,), np.float32)
FRAMES = gym.spaces.Box(0, 255, (1, 42, 42), np.uint8)
SMALL: dict[str, Any] = {
    "num_envs": 2, "horizon": 8, "hidden": (8,), "capacity": 64, "learning_starts": 16, "batch_size": 8
}  # fmt: skip
OF_MANY: dict[str, Any] = {**SMALL, "sequence": 4, "burn_in": 0}
CHOOSES = {
    "losses/td_error", "losses/grad_norm", "losses/q_values", "values/spread", "policy/spread", "network/dead"
}  # fmt: skip
JUDGED = {
    "losses/td_error", "losses/qf_grad_norm", "losses/actor_grad_norm", "values/mean", "values/spread",
    "actions/spread", "actions/saturated", "actor/dead", "critics/dead",
}  # fmt: skip
DRAWS = JUDGED | {"policy/spread", "losses/alpha", "losses/entropy"}
SPREAD = "mpe2:simple_spread_v3"


@pytest.mark.parametrize(
    ("algorithm", "env", "told"),
    [
        (rl.DQN(**SMALL, updates_per_step=1), "CartPole-v1", CHOOSES),
        (rl.DQN(**SMALL, recurrent=4, sequence=4, burn_in=2), "CartPole-v1", CHOOSES),
        (rl.TD3(**SMALL), "Pendulum-v1", JUDGED),
        (rl.DDPG(**SMALL), "Pendulum-v1", JUDGED),
        (rl.SAC(**SMALL), "Pendulum-v1", DRAWS),
        (rl.SAC(**SMALL, recurrent=4, sequence=4, burn_in=2), "Pendulum-v1", DRAWS),
        (rl.IDQN(**SMALL), SPREAD, CHOOSES),
        (rl.VDN(**SMALL), SPREAD, CHOOSES),
        (rl.QMIX(**OF_MANY, recurrent=4), SPREAD, CHOOSES),
    ],
    ids=lambda x: x.name if isinstance(x, rl.Algorithm) else "",
)
def test_every_row_has_them(algorithm: Any, env: Any, told: set[str]) -> None:
    done = rl.train(algorithm, env, total_steps=64, seed=1)
    rows = [row for row in done.journal if "losses/td_error" in row]
    assert rows
    for row in rows:
        assert row.keys() >= told
        assert all(np.isfinite(row[name]) for name in told)
        assert all(row[name] > 0 for name in told if name.endswith("grad_norm"))


def batch(n: int, space: Any, actions: Any) -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 3, n) if actions is THREE else rng.uniform(-2, 2, (n, 2)).astype(np.float32)
    seen = [torch.from_numpy(rng.uniform(-1, 1, (n, *space.shape)).astype(space.dtype)) for _ in range(2)]
    return {
        "obs": seen[0], "next_obs": seen[1], "action": torch.from_numpy(drawn), "reward": torch.ones(n),
        "terminated": torch.zeros(n, dtype=torch.bool), "truncated": torch.zeros(n, dtype=torch.bool),
    }  # fmt: skip


def learned(config: Any, learning: Any, given: dict[str, torch.Tensor]) -> dict[str, float]:
    return numbers(config, learning, alone(learning.learn(given)))


@pytest.mark.parametrize(("kind", "actions"), [(rl.DQN, THREE), (rl.TD3, BOX), (rl.DDPG, BOX), (rl.SAC, BOX)])
def test_who_looks_at_figures_changes_nothing_that_is_learned(kind: Any, actions: Any) -> None:
    weights = []
    for looks in (True, False):
        config = kind(**SMALL)
        torch.manual_seed(0)
        learning = config.learning(SEEN, actions, 0)
        for _ in range(4):
            figures = alone(learning.learn(batch(8, SEEN, actions)))
            if looks:
                numbers(config, learning, figures)
        weights.append(learning.weights())
    np.testing.assert_array_equal(*weights)


def test_figures_of_dqn_by_hand() -> None:
    config = rl.DQN(**{**SMALL, "hidden": ()}, gamma=0.5, updates_per_step=1)
    learning: Any = config.learning(SEEN, THREE, 0)
    for flat in (learning.flat, learning.old):
        flat.weights.data.zero_()
    for net in (learning.net, learning.target):
        with torch.no_grad():
            net.head[-1].bias.copy_(torch.tensor([1.0, 2.0, 4.0]))
    given = batch(2, SEEN, THREE) | {"action": torch.tensor([0, 2]), "reward": torch.tensor([0.0, 0.5])}
    told = learned(config, learning, given)  # values 1 and 4, goals 2 and 2.5
    assert told["losses/td_error"] == pytest.approx((1 + 1.5) / 2)
    assert told["losses/q_values"] == 2.5
    assert told["values/spread"] == pytest.approx(4.5**0.5)
    assert told["policy/spread"] == 3
    assert "network/dead" not in told  # there is no hidden layer


def test_actions_that_are_not_allowed_do_not_count_as_bad_ones() -> None:
    assert spread(torch.tensor([[1.0, FORBIDDEN, 3.0], [FORBIDDEN, 5.0, FORBIDDEN]])).tolist() == [2, 0]


@pytest.mark.parametrize("space", [SEEN, FRAMES], ids=["vectors", "frames"])
def test_units_of_dqn_that_no_observation_wakes(space: Any) -> None:
    config = rl.DQN(**SMALL, updates_per_step=1)
    learning: Any = config.learning(space, THREE, 0)
    *hidden, _ = [layer for layer in learning.net.modules() if hasattr(layer, "bias")]
    with torch.no_grad():
        for layer in hidden:
            layer.weight.abs_()
            layer.bias.fill_(10)
        hidden[-1].bias[:2] = -1e6
    told = learned(config, learning, batch(8, space, THREE))
    assert told["network/dead"] == pytest.approx(2 / sum(len(layer.bias) for layer in hidden))


@pytest.mark.parametrize("kind", [rl.SAC, rl.DDPG])
def test_units_of_actor_and_critics_that_no_observation_wakes(kind: Any) -> None:
    config = kind(**SMALL)
    learning: Any = config.learning(SEEN, BOX, 0)
    with torch.no_grad():
        learning.actor[0].bias.fill_(1.0)
        learning.actor[0].weight.zero_()
        learning.actor[0].bias[:2] = -1.0
        learning.critics.biases[0].fill_(100.0)
        learning.critics.biases[0][0, 0, :4] = -100.0
    told = learned(config, learning, batch(8, SEEN, BOX))
    assert told["actor/dead"] == 2 / 8
    assert told["critics/dead"] == 4 / (8 * len(learning.critics.biases[0]))


@pytest.mark.parametrize("kind", [rl.SAC, rl.DDPG])
def test_actions_are_those_of_the_policy_and_saturate_at_their_bounds(kind: Any) -> None:
    config = kind(**SMALL, **({"temperature": 0.1} if kind is rl.SAC else {}))
    learning: Any = config.learning(SEEN, BOX, 0)
    outputs = learning.actor[2]  # of SAC two means, then the logarithms of two deviations
    with torch.no_grad():
        outputs.weight.zero_()
        outputs.bias.copy_(torch.tensor([0.1, 9.0, *([-7.0, -7.0] if kind is rl.SAC else [])]))
    told = learned(config, learning, batch(8, SEEN, BOX))
    assert told["actions/saturated"] == 0.5
    assert told["actions/spread"] < 0.01
    if kind is rl.SAC:
        assert told["policy/spread"] == pytest.approx(np.exp(-7.0), rel=1e-5)


def test_values_and_errors_of_critics_by_hand() -> None:
    config = rl.TD3(**SMALL, gamma=0.5)
    learning: Any = config.learning(SEEN, BOX, 0)
    for name in ("critics", "target_critics"):
        learning.flat[name].weights.data.zero_()
        learning.networks[name].biases[-1].data.copy_(torch.tensor([2.0, 4.0]).view(2, 1, 1))
    told = learned(config, learning, batch(8, SEEN, BOX))  # the goal is 1 + 2 / 2
    assert told["values/mean"] == 3
    assert told["values/spread"] == 0  # of each critic
    assert told["losses/td_error"] == pytest.approx(1)


def test_updates_that_td3_skips_say_nothing_of_the_actor() -> None:
    """Its gradients are those of an earlier update, which a run that goes on from a checkpoint would not have."""
    config = rl.TD3(**SMALL)
    learning = config.learning(SEEN, BOX, 0)
    skipped, made = (learned(config, learning, batch(8, SEEN, BOX)) for _ in range(2))
    assert "losses/actor_grad_norm" not in skipped
    assert "actor/dead" not in skipped
    assert made.keys() >= JUDGED
    assert skipped.keys() >= {"losses/actor_loss", "losses/qf_grad_norm"}


def test_few_updates_of_dqn_have_all_figures_in_some_rows() -> None:
    done = rl.train(rl.DQN(**SMALL), "CartPole-v1", total_steps=160, seed=1)  # 4 updates a round
    rows = [row for row in done.journal if "losses/td_loss" in row]
    assert ["network/dead" in row for row in rows] == [i % 4 == 0 for i in range(10)]
    assert all(row["losses/grad_norm"] > 0 for row in rows)


def test_a_function_among_figures_is_called_only_for_the_last_update_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    figures = type(rl.DQN(**SMALL).learning(SEEN, THREE, 0)).figures

    def counted(self: Any, *args: Any) -> dict[str, Any]:
        updates = self.updates
        return figures(self, *args) | {"charts/asked": lambda: calls.append(updates) or 7}

    monkeypatch.setattr("reactors.rl.algorithms.dqn.DQNLearning.figures", counted)
    done = rl.train(rl.DQN(**SMALL), "CartPole-v1", total_steps=64, seed=1)  # 4 updates a round
    asked = [row["charts/asked"] for row in done.journal if "losses/td_loss" in row]
    assert asked == [7] * len(calls)
    assert calls == [4 * (i + 1) for i in range(len(calls))]
