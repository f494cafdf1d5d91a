"""Soft actor-critic with learned temperature: Haarnoja et al., 2018 (arXiv 1812.05905)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from reactors.errors import ArgumentError
from reactors.rl.algorithms.actor_and_critics import ActorAndCritics
from reactors.rl.algorithms.continuous import ActionBox, Continuous, RecurrentCritics
from reactors.rl.algorithms.off_policy import FromSequences
from reactors.rl.bounded import Count, Positive
from reactors.rl.contract.algorithm import Policy
from reactors.rl.contract.recurrent import RecurrentPolicy
from reactors.rl.encoding.state import count
from reactors.rl.estimates.returns import Course, within_sequences
from reactors.rl.networks.layers import Adam, Flat, Inference
from reactors.rl.networks.recurrent import RecurrentInference, Stretch, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from reactors.rl.contract.recurrent import States
    from reactors.rl.envs.spaces import Space
    from reactors.rl.networks.layers import Descent
    from reactors.rl.networks.recurrent import Recurrent

LEAST, MOST = -20.0, 2.0
"""ActionBox of the logarithm of the standard deviation, as in the authors' code."""


@dataclass(frozen=True, kw_only=True)
class SAC(FromSequences, Continuous):
    """Hyperparameters; the defaults are the paper's (table 1), and Stable-Baselines3's.

    >>> SAC(temperature=0.2).temperature
    0.2
    """

    name: ClassVar[str] = "SAC"

    gamma: float = 0.99
    """Stable-Baselines3's."""
    learning_starts: int = 100
    """Stable-Baselines3's."""
    target_every: Count = 1
    """Updates for one step of the target critics towards the critics. Haarnoja et al., 2018, table 1."""
    temperature: Positive | None = None
    """Weight of the entropy; learned by default, as in the paper's section 5."""
    target_entropy: float | None = None
    """The entropy for which the temperature is learned; by default minus the number of actions (appendix D)."""
    temperature_learning_rate: Positive | None = None
    """Of the temperature, in the place of `learning_rate`."""

    def __post_init__(self) -> None:
        """Also refuse a rate for a temperature that is not learned."""
        super().__post_init__()
        if self.temperature is not None and self.temperature_learning_rate is not None:
            raise ArgumentError(
                f"temperature_learning_rate of {type(self).__name__} is {self.temperature_learning_rate:g}, and "
                f"temperature is {self.temperature:g}, so that it is not learned; leave out one of the two"
            )

    def network(self, observation_space: Space, action_space: Space) -> Any:
        """From observations to means and log standard deviations."""
        outputs = 2 * ActionBox(action_space).size
        if self.recurrent:
            return self.recurrent_actor(observation_space, outputs, width_of(self.recurrent))
        return self.actor(observation_space, outputs)

    def policy(self, observation_space: Space, action_space: Space) -> SquashedPolicy:
        """Make a policy for an actor."""
        kind = RecurrentSquashedPolicy if self.recurrent else SquashedPolicy
        return kind(self, self.network(observation_space, action_space), action_space)

    def learning(self, observation_space: Space, action_space: Space, seed: int, device: str = "cpu") -> SACLearning:
        """Make the learner's networks and update."""
        kind = RecurrentSACLearning if self.recurrent else SACLearning
        return kind(self, observation_space, action_space, seed, device)


class SquashedPolicy(Policy):
    """Samples from a normal distribution, squashed into the bounds; random actions until `learning_starts`."""

    def __init__(self, config: SAC, actor: Any, action_space: Space) -> None:
        self.infer: Any = (RecurrentInference if config.recurrent else Inference)(actor)
        self.bounds, self.config, self.size = ActionBox(action_space), config, self.infer.size

    def load(self, weights: NDArray[np.float32]) -> None:
        """Take new weights."""
        self.infer.load(weights)

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Sample an action for each observation."""
        if steps < self.config.learning_starts:
            return self.any(len(observations), rng), {}
        return self.draw(self.infer(observations), rng), {}

    def greedy(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The mean of the normal distribution, squashed into the bounds of the actions."""
        return self.best(self.infer(observations))

    def any(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Sample n actions uniformly."""
        return self.bounds.outwards(rng.uniform(-1, 1, (n, self.bounds.size)).astype(np.float32))

    def draw(self, outputs: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Sample from the distributions that these outputs of the network describe."""
        n, size = len(outputs), self.bounds.size
        noise = np.exp(np.clip(outputs[:, size:], LEAST, MOST)) * rng.standard_normal((n, size), np.float32)
        return self.bounds.outwards(np.tanh(outputs[:, :size] + noise))

    def best(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """The means of these distributions."""
        return self.bounds.outwards(np.tanh(outputs[:, : self.bounds.size]))


class RecurrentSquashedPolicy(SquashedPolicy, RecurrentPolicy):
    """A `SquashedPolicy` with a memory, which also goes on while actions are random."""

    def __init__(self, config: SAC, actor: Any, action_space: Space) -> None:
        super().__init__(config, actor, action_space)
        self.width = actor.width

    def act(
        self, observations: NDArray[Any], rng: np.random.Generator, steps: int, states: States | None = None
    ) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Sample an action for each observation."""
        states = self.given(states, len(observations))
        before = states.copy()
        outputs = self.infer(observations, states)
        random = steps < self.config.learning_starts
        return self.any(len(outputs), rng) if random else self.draw(outputs, rng), {self.kept: before}

    def greedy(self, observations: NDArray[Any], states: States | None = None) -> NDArray[Any]:
        """The mean of the normal distribution, squashed into the bounds of the actions."""
        return self.best(self.infer(observations, self.given(states, len(observations))))


class SACLearning(ActorAndCritics):
    """Algorithm 1, without the acting: two critics, the actor, and the temperature, each optimized by Adam."""

    def __init__(self, config: SAC, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device, critics=2)
        self.target_every, self.updates = config.target_every, 0
        first = 1.0 if config.temperature is None else config.temperature
        self.log_temperature = nn.Parameter(torch.tensor([math.log(first)], device=device))
        self.flat["temperature"] = Flat([self.log_temperature])
        if config.temperature is None:
            given = config.temperature_learning_rate
            rate = config.learning_rate if given is None else given
            self.optimizers["temperature"] = Adam(self.flat["temperature"], rate)
        wanted = config.target_entropy
        self.target_entropy = -float(self.bounds.size) if wanted is None else wanted

    @property
    def of_actor(self) -> tuple[Flat, Flat]:
        """Also the temperature, which belongs to the actor's half."""
        return self.flat["actor"], self.flat["temperature"]

    def act(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """As `squashed`, for observations."""
        return self.squashed(self.actor(obs))

    def squashed(self, outputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions between -1 and 1, and their log-probabilities (appendix C)."""
        mean, log_std = outputs.chunk(2, 1)
        log_std = log_std.clamp(LEAST, MOST)
        noise = torch.empty_like(mean).normal_(generator=self.noise)
        draw = torch.addcmul(mean, log_std.exp(), noise)
        # log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)), which does not lose digits where tanh is near 1
        squash = 2 * (math.log(2) - draw - nn.functional.softplus(-2 * draw))
        constant = 0.5 * math.log(2 * math.pi)
        return draw.tanh(), (-0.5 * noise.square() - log_std - constant - squash).sum(1)

    def improve_critics(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """Equations 5 and 3, and the moving average of the target's weights."""
        following = self.inputs(batch["next_obs"])
        with torch.no_grad():
            actions, log_prob = self.act(following)
            temperature = self.log_temperature.exp()
            best = torch.addcmul(self.target_critics(following, actions).amin(0), temperature, log_prob, value=-1)
        squares, figures = self.squares(self.inputs(batch["obs"]), batch, best)
        loss = 0.5 * squares
        yield from self.descend_critics(loss)
        return figures | {"losses/qf_loss": loss.detach()}

    def descend_critics(self, loss: torch.Tensor) -> Iterator[Flat]:
        """One step of the critics' optimizer, and of the targets towards them if it is their turn."""
        yield from self.descend("critics", loss)
        self.updates += 1
        if self.updates % self.target_every == 0:
            self.follow("target_critics", "critics")

    def improve_actor(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """Equation 7; and equation 18 on the log temperature, as in the authors' code."""
        obs = self.inputs(batch["obs"])
        self.train_critics(False)
        return (yield from self.improve_actions(obs, self.actor(obs)))

    def improve_actions(self, obs: torch.Tensor, outputs: torch.Tensor) -> Descent:
        """Improve the actor, whose outputs these are, by the critics' values; the critics have no gradients now."""
        actions, log_prob = self.squashed(outputs)
        temperature = self.log_temperature.detach().exp()
        loss = (temperature * log_prob - self.critics(obs, actions).amin(0)).mean()
        yield from self.descend("actor", loss)
        self.train_critics(True)
        if "temperature" in self.optimizers:
            flat = self.flat["temperature"]
            flat.weights.grad = -(log_prob.detach().mean() + self.target_entropy).view(1)
            yield flat
            self.optimizers["temperature"].step()
        log_std = outputs.detach().chunk(2, 1)[1]
        return {
            "losses/actor_loss": loss.detach(), "losses/alpha": temperature, "losses/entropy": -log_prob.detach(),
            "policy/spread": lambda: log_std.clamp(LEAST, MOST).exp(), **self.figures_of_actor(actions.detach()),
        }  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """Also the temperature, and where targets wait, the number of updates."""
        waits = {"updates": self.updates} if self.target_every > 1 else {}
        return super().state_dict() | {"log_temperature": self.log_temperature.detach().clone(), **waits}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`."""
        super().load_state_dict(state)
        self.updates = count(state.get("updates", 0))
        with torch.no_grad():
            self.log_temperature.copy_(state["log_temperature"])


# ---- one that remembers, and learns from sequences ----


class RecurrentSACLearning(SACLearning):
    """The same losses, on all steps of sequences after the burn-in; actor and critics have a GRU each.

    The actor starts from the state that was stored with the sequence; the critics start from zeros.
    """

    actor: Any

    def __init__(self, config: SAC, observation_space: Space, action_space: Space, seed: int, device: str) -> None:
        super().__init__(config, observation_space, action_space, seed, device)
        self.config = config

    def critics_of(self, config: Any, observation_space: Space, n: int) -> Any:
        """Make n critics, and the GRU that they share."""
        width = width_of(config.recurrent)
        return RecurrentCritics(n, self.bounds.size, observation_space, config.layers_of_critics, config.torso, width)

    def along(self, batch: Mapping[str, torch.Tensor], *nets: Recurrent) -> tuple[dict[str, torch.Tensor], list[Any]]:
        """The steps (steps, sequences, ...) after the burn-in, and the state of each of these networks before them."""
        names, burn_in = ("obs", "action", "reward", "next_obs", "terminated", "truncated"), self.config.burn_in
        every = {name: batch[name].transpose(0, 1) for name in names}
        states = [batch["state"] if net is self.actor else torch.zeros_like(batch["state"]) for net in nets]
        if not burn_in:
            return every, states
        before = {name: each[:burn_in] for name, each in every.items()}
        going = Course.of(before).going
        found = [net.after(before["obs"], state, going) for net, state in zip(nets, states, strict=True)]
        return {name: each[burn_in:] for name, each in every.items()}, found

    def improve_critics(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """Equations 5 and 3 for each step."""
        config, mine, theirs = self.config, self.critics.recurrent, self.target_critics.recurrent
        along, (played, own, old) = self.along(batch, self.actor, mine, theirs)
        course = Course.of(along)
        with torch.no_grad():
            seen = Stretch(course.obs, played, course.going, course.apart)
            actions, log_prob = self.squashed(self.actor.head(self.actor.states(seen)))
            worth = self.target_critics(theirs.states(seen._replace(state=old)), actions).amin(0)
            following = course.split(worth - self.log_temperature.exp() * log_prob)[1]
            goal = within_sequences(along["reward"], following, course.alive, course.going, config.gamma, config.n_step)
        states = mine.states(Stretch(along["obs"].flatten(0, 1), own, course.going))
        values = self.critics(states, self.bounds.inwards(along["action"].flatten(0, 1)))
        errors = values.view(-1, *goal.shape) - goal
        squares = errors.square().mean(1)
        loss = 0.5 * (squares * batch["weights"] if self.prioritized else squares).mean(1).sum()
        yield from self.descend_critics(loss)
        figures = {"losses/qf_loss": loss.detach(), **self.figures_of_critics(values.detach(), errors.detach())}
        if not self.prioritized:
            return figures
        wrong = errors.detach().abs().mean(0)
        return figures | {"errors": config.eta * wrong.amax(0) + (1 - config.eta) * wrong.mean(0)}

    def improve_actor(self, batch: Mapping[str, torch.Tensor]) -> Descent:
        """Equations 7 and 18 for each step."""
        along, (played, own) = self.along(batch, self.actor, self.critics.recurrent)
        self.train_critics(False)
        seen = Stretch(along["obs"].flatten(0, 1), played, Course.of(along).going)
        states = self.critics.recurrent.states(seen._replace(state=own))
        return (yield from self.improve_actions(states, self.actor.head(self.actor.states(seen))))
