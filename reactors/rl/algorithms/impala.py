"""IMPALA: Espeholt et al., 2018 (arXiv 1802.01561), extended as in "Accelerating Distributed Deep RL" (RLDM 2019).

Actors play with weights that lag behind, and V-trace corrects for that. The extensions are fragment replay, the
minibatch ring and the auto-encoder; each is off by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from reactors.errors import ArgumentError, ParameterError
from reactors.rl.algorithms.actor_critic import ActorCritic
from reactors.rl.algorithms.fragments import FragmentReplay, MinibatchRing, check_batch
from reactors.rl.algorithms.policy_gradient import PolicyGradient, PolicyGradientLearning, Seen, vitals
from reactors.rl.bounded import Count, Natural, NotNegative, Positive, Share
from reactors.rl.contract.rows import experience_dtype
from reactors.rl.estimates.returns import Course
from reactors.rl.estimates.vtrace import vtrace
from reactors.rl.networks.autoencoder import Decoder, Encoder
from reactors.rl.networks.layers import Flat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent


@dataclass(frozen=True, kw_only=True)
class IMPALA(PolicyGradient):
    """Hyperparameters; the defaults are the paper's for Atari (table G.1), with Adam instead of RMSProp.

    >>> IMPALA(replay_slots=100, replay_proportion=0.5).replay_slots
    100
    """

    name: ClassVar[str] = "IMPALA"
    shared: ClassVar[tuple[str, ...]] = ("num_envs", "fragments")

    num_envs: int = 16
    """Chosen here."""
    horizon: int = 20
    """Steps of a fragment: the paper's table G.1."""
    fragments: Count = 4
    """Fragments in an update; a round makes num_envs / fragments of them. Chosen here; 32 in the paper, of hundreds of
    actors."""
    learning_rate: float = 6e-4
    """The paper's table G.1."""
    entropy: float = 0.01
    """The paper's table G.1."""
    value: float = 0.5
    """The paper's table G.1, whose loss is halved, so that values weigh half as much there."""
    max_grad_norm: float = 40.0
    """The paper's table G.1, of a gradient that is a sum over a batch. Here it is a mean, and hardly ever so long."""
    rho: Positive = 1.0
    """Truncation of importance weights in the temporal differences. The authors' code has 1."""
    c: Positive = 1.0
    """Truncation of importance weights in the trace. The authors' code has 1."""
    lam: Share = 1.0
    """Lambda of the trace (remark 2). The paper's."""
    passes: Count = 1
    """How many times a batch is learned from. Once in the paper."""
    ring: Count = 1
    """Batches that take turns in these passes. RLlib's `pong-appo` has 4."""
    replay_slots: Natural = 0
    """Old fragments that are kept for replay; 100 in RLlib. None by default, as in the paper."""
    replay_proportion: NotNegative = 0.0
    """Old fragments for each new one in a batch. None by default, as in the paper."""
    latent: Count | None = None
    """Size of the auto-encoder's code, from which the policy acts. The `torso` comes before it, if there is one; with
    an auto-encoder, that is by default the NIPS torso for 84x84 frames, and none for other observations. By default
    there is no auto-encoder."""
    reconstruction: NotNegative = 1.0
    """Weight of the auto-encoder's loss. Usual."""

    def __post_init__(self) -> None:
        """Refuse only one of the two options of fragment replay."""
        super().__post_init__()
        if (self.replay_slots > 0) != (self.replay_proportion > 0):
            one, other = ("slots", "proportion") if self.replay_slots else ("proportion", "slots")
            raise ArgumentError(
                f"replay_{one} of {type(self).__name__} is {getattr(self, f'replay_{one}')!r}, and replay_{other} 0, "
                "so that no old fragment would be learned from; set both, or neither"
            )

    def check(self, observation_space: Space, action_space: Space) -> None:
        """Also refuse an auto-encoder of a recurrent network."""
        super().check(observation_space, action_space)
        if self.recurrent and self.latent is not None:
            raise ParameterError(
                f"{self.name} has an auto-encoder (latent={self.latent}), which makes observations again of what actor "
                "and critic see, and those of a recurrent network see more than one; leave out recurrent, or latent"
            )

    def network(self, observation_space: Space, action_space: Space) -> ActorCritic:
        """Actor and critic, on the code of the auto-encoder if there is one."""
        if self.latent is None:
            return super().network(observation_space, action_space)
        encoder = partial(Encoder, features=self.latent, hidden=self.hidden, kind=self.torso)
        return ActorCritic(
            observation_space, action_space, self.hidden, encoder,
            activation=self.activation, log_std=self.log_std, normalise=self.normalise_observations,
        )  # fmt: skip

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> IMPALALearning:
        """Make the learner's networks and update."""
        return IMPALALearning(self, observation_space, action_space, seed, device)


class IMPALALearning(PolicyGradientLearning):
    """The policy gradient with V-trace advantages, and V-trace targets for the values (section 4.2), by Adam."""

    def __init__(self, config: IMPALA, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device)
        self.config = config
        self.decoder: Decoder | None = None
        if config.latent is not None:
            self.decoder = Decoder(observation_space, config.latent).to(device)
            self.flat = Flat([*self.net.parameters_in_order(), *self.decoder.parameters()])
            self.optimizer = self.optimizer_of(config)
        row: Any = np.zeros(1, experience_dtype(config, observation_space, action_space))
        self.row = {name: torch.from_numpy(row[name].copy()) for name in row.dtype.names or ()}
        self.row["choice"] = self.row["action" if self.net.discrete else "draw"]
        self.last: Seen
        self.replay = FragmentReplay(config.replay_slots, config.replay_proportion, self.rng)
        self.ring = MinibatchRing(config.ring, config.passes)

    def learn(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """All updates that are due after a round."""
        config = self.config
        batch = self.prepare(batch, config)
        figures: dict[str, Any] = {}
        for first in range(0, batch["reward"].shape[1], config.fragments):
            part = {name: each[:, first : first + config.fragments] for name, each in batch.items()}
            for each in self.ring.turn(self.replay.mix(part) if config.replay_slots else part):
                figures = yield from self.update(each)
        figures |= vitals(self.net, self.flat, self.last)
        self.learned(batch)
        return {name: float(x) for name, x in figures.items()} | {"charts/learning_rate": self.learning_rate}

    def update(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """One step of the optimizer."""
        config, net, course = self.config, self.net, Course.of(batch)
        features = net.features(self.seen(batch, course))
        estimates = net.values(features)
        values, following = course.split(estimates)
        n = values.numel()
        actions, before = batch["choice"].flatten(0, 1), batch["log_prob"].flatten()
        log_prob, entropy = net.judge(features[:n], actions)
        target = self.target_log_prob(self.seen(batch, course, following=False), actions, log_prob)
        trace = vtrace(
            (target - before).view_as(values), batch["reward"], values, following, course, config.gamma,
            rho=config.rho, c=config.c, rho_gradient=config.rho, lam=config.lam,
        )  # fmt: skip
        policy_loss, figures = self.policy_loss(log_prob, before, target, trace.advantages.flatten())
        value_loss = torch.nn.functional.mse_loss(estimates[:n], trace.targets.flatten())
        loss = policy_loss + config.value / net.scale**2 * value_loss - config.entropy * entropy
        if self.decoder is not None:
            reconstruction = self.decoder.loss(features, net.normalised(course.obs))
            loss = loss + config.reconstruction * reconstruction
            figures["losses/reconstruction"] = reconstruction.detach()
        yield from self.descend(loss, config.max_grad_norm)
        last = features[:n], log_prob, before, estimates[:n], trace.targets.flatten(), trace.advantages.flatten()
        self.last = Seen(*(each.detach() for each in last))
        return figures | {
            "losses/policy_loss": policy_loss.detach(), "losses/value_loss": value_loss.detach(),
            "losses/entropy": entropy.detach(),
        }  # fmt: skip

    def target_log_prob(self, seen: Any, actions: torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
        """Log-probabilities by the policy that V-trace evaluates, without gradients: the learner's own policy."""
        del seen, actions
        return log_prob.detach()

    def policy_loss(
        self, log_prob: torch.Tensor, before: torch.Tensor, target: torch.Tensor, advantages: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss whose gradient is the policy gradient, and figures."""
        del before, target
        return -(log_prob * advantages).mean(), {}

    def state_dict(self) -> dict[str, Any]:
        """Also the stored fragments, the ring, and the decoder."""
        more: dict[str, Any] = {"replay": self.replay.state_dict(), "ring": self.ring.state_dict()}
        if self.decoder is not None:
            more["decoder"] = self.decoder.state_dict()
        return super().state_dict() | more

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        super().load_state_dict(state)
        kept = state["replay"]["kept"]
        for batch in [*([kept] if kept or state["replay"]["count"] else []), *state["ring"]["batches"].values()]:
            check_batch(batch, self.row, self.config.horizon)
        self.replay.load_state_dict(state["replay"], self.device)
        self.ring.load_state_dict(state["ring"], self.device)
        if self.decoder is not None:
            self.decoder.load_state_dict(state["decoder"])
