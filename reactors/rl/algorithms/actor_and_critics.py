"""How do an actor for continuous actions and its critics learn, together or separately?

One update improves the critics, then the actor by the critics. Both halves may also run separately, each on its own
device (Spreeze, arXiv 2312.06126): then the critics use the actor from the last exchange of weights, and the actor the
critics from that time.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from reactors.rl.algorithms.continuous import ActionBox, Continuous, Critics, vectors
from reactors.rl.contract.algorithm import Learning
from reactors.rl.networks.layers import Adam, Flat, descend, inputs_of, torso
from reactors.rl.networks.vitals import biases, dead, deviation, saturated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


class ActorAndCritics(Learning):
    """An actor, several critics and their targets, an optimizer for each network, and the common part of losses."""

    def __init__(
        self, config: Continuous, observation_space: Space, action_space: Space, seed: int, device: str, *, critics: int
    ) -> None:
        self.bounds, self.tau, self.gamma, self.prioritized = (
            ActionBox(action_space), config.tau, config.gamma, config.prioritized,
        )  # fmt: skip
        self.max_grad_norm = config.max_grad_norm
        self.noise = torch.Generator(device).manual_seed(seed)
        self.actor = config.network(observation_space, action_space).to(device)
        self.critics = self.critics_of(config, observation_space, critics).to(device)
        self._trained = [each for each in self.critics.parameters() if each.requires_grad]
        self.target_critics = deepcopy(self.critics).requires_grad_(False)
        self.networks: dict[str, nn.Module] = {
            "actor": self.actor, "critics": self.critics, "target_critics": self.target_critics
        }  # fmt: skip
        self.flat = {name: Flat(net.parameters()) for name, net in self.networks.items()}
        self.units = {"actor": biases(self.actor)[:-1], "critics": self.critics.units()}  # of hidden layers
        of_critics = config.critic_learning_rate
        rates = {"actor": config.learning_rate, "critics": config.learning_rate if of_critics is None else of_critics}
        self.optimizers = {name: Adam(self.flat[name], rate) for name, rate in rates.items()}

    def critics_of(self, config: Any, observation_space: Space, n: int) -> Any:
        """Make n critics, which see observations through a shared torso, if there is one."""
        seeing: Any = torso(config.torso, observation_space)
        features: int = inputs_of(observation_space) if seeing is None else seeing.features
        return Critics(n, features + self.bounds.size, config.layers_of_critics, seeing)

    def train_critics(self, on: bool) -> None:
        """Compute gradients of the critics, or do not; what a user's torso has frozen stays frozen."""
        for each in self._trained:
            each.requires_grad_(on)

    @property
    def flats(self) -> Sequence[Flat]:
        """The flat weights of each optimizer, the actor's first."""
        return [self.flat[name] for name in self.optimizers]

    @property
    def of_actor(self) -> Sequence[Flat]:
        """The actor's weights that the critics need."""
        return (self.flat["actor"],)

    @property
    def of_critics(self) -> Sequence[Flat]:
        """The critics' weights that the actor needs."""
        return (self.flat["critics"],)

    @abstractmethod
    def improve_critics(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update of the critics and their targets; returns figures, with `errors` if replay is prioritized."""

    @abstractmethod
    def improve_actor(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update of the actor; returns figures."""

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One update of all; `errors` are the absolute temporal-difference errors, averaged over the critics."""
        figures = yield from self.improve_critics(batch)
        more = yield from self.improve_actor(batch)
        return figures | more

    def inputs(self, obs: torch.Tensor) -> torch.Tensor:
        """Observations as the networks take them: unchanged for a torso, otherwise as vectors."""
        return vectors(obs) if self.critics.torso is None else obs

    def squares(
        self, obs: torch.Tensor, batch: Mapping[str, torch.Tensor], following: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """The sum of all critics' mean squared errors; `following` are the values of the next observations."""
        discount: Any = batch.get("discount", self.gamma)
        goal = torch.addcmul(batch["reward"], discount * ~batch["terminated"], following)
        values = self.critics(obs, self.bounds.inwards(batch["action"]))
        errors = values - goal
        figures = self.figures_of_critics(values.detach(), errors.detach())
        if not self.prioritized:
            return errors.square().mean(1).sum(), figures
        loss = (errors.square() * batch["weights"]).mean(1).sum()
        return loss, figures | {"errors": errors.detach().abs().mean(0)}

    def figures_of_critics(self, values: torch.Tensor, errors: torch.Tensor) -> dict[str, Any]:
        """Figures of an update of the critics, from their values (critics, n) and the errors of these."""
        return {
            "losses/td_error": errors.abs, "values/mean": values, "values/spread": lambda: deviation(values.T),
            **self.figures_of("critics", "losses/qf_grad_norm"),
        }  # fmt: skip

    def figures_of_actor(self, actions: torch.Tensor) -> dict[str, Any]:
        """Figures of an update of the actor, from its actions (n, size), between -1 and 1."""
        return {
            "actions/spread": lambda: deviation(actions), "actions/saturated": lambda: saturated(actions),
            **self.figures_of("actor", "losses/actor_grad_norm"),
        }  # fmt: skip

    def figures_of(self, name: str, norm: str) -> dict[str, Any]:
        """The `norm` of the gradient of this network, and the share of its hidden units that get none."""
        units = self.units[name]
        return {
            norm: lambda: self.flat[name].grad_norm, **({f"{name}/dead": lambda: dead(units)} if units else {}),
        }  # fmt: skip

    def descend(self, name: str, loss: torch.Tensor) -> Iterator[Flat]:
        """One step of an optimizer."""
        return descend(loss, self.flat[name], self.optimizers[name], self.max_grad_norm)

    def follow(self, target: str, name: str) -> None:
        """Move a target towards its network."""
        self.flat[target].weights.data.lerp_(self.flat[name].weights.data, self.tau)

    def weights(self) -> NDArray[np.float32]:
        """The actor's weights, which are all that acting needs."""
        return self.flat["actor"].fetch()

    def reseed(self, seed: int) -> None:
        """Seed the noise on actions."""
        self.noise.manual_seed(seed)

    def state_dict(self) -> dict[str, Any]:
        """All weights, and the states of the optimizers and the generator."""
        return {
            "networks": {name: net.state_dict() for name, net in self.networks.items()},
            "optimizers": {name: each.state_dict() for name, each in self.optimizers.items()},
            "noise": self.noise.get_state(),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        for name, net in self.networks.items():
            net.load_state_dict(state["networks"][name])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])
        self.noise.set_state(state["noise"])
