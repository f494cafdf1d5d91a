"""Mistakes in losses, updates and policies."""

from tests.mutants.planted import Mistake, Mistakes

UPDATES = "tests/rl/algorithms/test_losses.py tests/rl/algorithms/test_algorithms.py"

MISTAKES = (
    Mistakes(
        "reactors/rl/algorithms/ppo.py",
        UPDATES,
        (
            Mistake("PPO takes the greater of both surrogates", "return torch.min(ratio", "return torch.max(ratio"),
            Mistake(
                "PPO is punished for entropy",
                "loss = loss - config.entropy * entropy",
                "loss = loss + config.entropy * entropy",
            ),
            Mistake("PPO clips above only", "ratio.clamp(1 - clip, 1 + clip)", "ratio.clamp(max=1 + clip)"),
            Mistake("PPO's clip does not fall", "self.left if self.config.anneal_clip else 1.0", "1.0"),
            Mistake(
                "PPO's clipped values are the better ones",
                "return torch.maximum((values - returns) ** 2",
                "return torch.minimum((values - returns) ** 2",
            ),
            Mistake(
                "PPO never ends a round early",
                "return False",
                "pass",
            ),
            Mistake("PPO's ratio is upside down", "logs = log_prob - before", "logs = before - log_prob"),
            Mistake(
                "PPO forgets the scale of values",
                "loss = config.value / self.net.scale**2 * value_loss - surrogate",
                "loss = config.value * value_loss - surrogate",
            ),
            Mistake(
                "PPO reports what is clipped above only",
                "((last.ratio - 1).abs() > self.clip)",
                "((last.ratio - 1) > self.clip)",
                "tests/rl/algorithms/test_losses.py::test_figures_of_ppo_by_hand",
            ),
            Mistake(
                "PPO does not normalise advantages",
                "normalised(advantage) if config.normalise else",
                "normalised(advantage) if False else",
            ),
            Mistake("PPO learns values without their advantages", "returns = found + values", "returns = values"),
            Mistake(
                "PPO takes the minibatches of all epochs in one order",
                "order = torch.from_numpy(self.rng.permutation(n)).to(self.device)\n            shuffled",
                "order = torch.arange(n)\n            shuffled",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/a2c.py",
        UPDATES,
        (
            Mistake(
                "A2C is punished for entropy",
                "loss = loss - config.entropy * entropy",
                "loss = loss + config.entropy * entropy",
            ),
            Mistake(
                "A2C climbs away from advantages",
                "policy_loss = -(log_prob * worth).mean()",
                "policy_loss = (log_prob * worth).mean()",
            ),
            Mistake(
                "A2C learns values from advantages",
                "returns, found, n = (found + values).flatten()",
                "returns, found, n = found.flatten()",
            ),
            Mistake(
                "A2C forgets the weight of values",
                "policy_loss + config.value / self.net.scale**2 * value_loss",
                "policy_loss + value_loss / self.net.scale**2",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/impala.py",
        UPDATES,
        (
            Mistake(
                "IMPALA is rewarded for certainty",
                "* value_loss - config.entropy * entropy",
                "* value_loss + config.entropy * entropy",
            ),
            Mistake(
                "IMPALA's importance weights are upside down",
                "(target - before).view_as(values)",
                "(before - target).view_as(values)",
            ),
            Mistake(
                "IMPALA truncates the trace by rho", "rho=config.rho, c=config.c,", "rho=config.rho, c=config.rho,"
            ),
            Mistake(
                "IMPALA's policy gradient has no sign",
                "return -(log_prob * advantages).mean(), {}",
                "return (log_prob * advantages).mean(), {}",
            ),
            Mistake(
                "IMPALA does not train its auto-encoder",
                "loss = loss + config.reconstruction * reconstruction",
                "pass",
                "tests/rl/algorithms/test_autoencoder.py",
            ),
            Mistake(
                "IMPALA learns from its first fragments alone",
                'for first in range(0, batch["reward"].shape[1], config.fragments):',
                "for first in range(0, config.fragments, config.fragments):",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/appo.py",
        UPDATES,
        (
            Mistake("APPO takes the greater of both surrogates", "surrogate = torch.min(", "surrogate = torch.max("),
            Mistake(
                "APPO's target is never refreshed", "if self.updates % self.config.target_every == 0:", "if False:"
            ),
            Mistake("APPO's weight is not truncated", ".exp().clamp(max=self.config.most) *", ".exp() *"),
            Mistake(
                "APPO weighs by the learner for the behaviour",
                "ratio = (before - target).exp()",
                "ratio = (target - before).exp()",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/policy_gradient.py",
        UPDATES,
        (
            Mistake("rewards are clipped above only", "reward.clamp(-clip, clip)", "reward.clamp(max=clip)"),
            Mistake(
                "what the critic does not explain is reported",
                "return 1 - (returns - values).var() / whole",
                "return (returns - values).var() / whole",
                "tests/rl/algorithms/test_vitals.py",
            ),
            Mistake(
                "a divergence of the wrong sign is reported",
                "(moved.exp() - 1 - moved).mean()",
                "(moved - moved.exp() + 1).mean()",
                "tests/rl/algorithms/test_vitals.py",
            ),
            Mistake(
                "dead units of one observation are reported",
                "(seen.features == 0).all(0)",
                "(seen.features == 0).any(0)",
                "tests/rl/algorithms/test_vitals.py",
            ),
            Mistake(
                "the learning rate does not fall",
                "self.learning_rate = config.learning_rate * self.left",
                "self.learning_rate = config.learning_rate",
            ),
            Mistake(
                "the optimizer never hears of the learning rate",
                "self.optimizer.learning_rate = self.learning_rate\n",
                "pass\n",
            ),
            Mistake(
                "probabilities are of the clipped action",
                '"choice": batch["action"] if self.net.discrete else batch["draw"],',
                '"choice": batch["action"],',
            ),
            Mistake(
                "a state forgets how far annealing is",
                '= state["rng"]\n        self.steps = ',
                '= state["rng"]\n        _ = ',
                "tests/rl/algorithms/test_algorithms.py tests/rl/checkpoints/test_checkpoint.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/actor_critic.py",
        UPDATES,
        (
            Mistake(
                "the entropy of discrete actions has no sign",
                "entropy = (logs.exp() * logs).sum() / -len(logs)",
                "entropy = (logs.exp() * logs).sum() / len(logs)",
            ),
            Mistake(
                "the density of normal actions forgets their spread",
                "log_prob = (-0.5 * deviation**2 - self.log_std - LOG_SQRT_2PI).sum(1)\n        return",
                "log_prob = (-0.5 * deviation**2 - LOG_SQRT_2PI).sum(1)\n        return",
            ),
            Mistake(
                "normal actions are drawn with a spread of one",
                "draw = outputs + np.exp(self.log_std) * noise",
                "draw = outputs + noise",
                "tests/rl/algorithms/test_algorithms.py::test_continuous_actions_are_drawn_with_the_spread_that_was_learned",
            ),
            Mistake("actions are taken to begin at 0", "actions[:, None] - self.start", "actions[:, None]"),
            Mistake(
                "what is remembered of a draw is its clipped form",
                '{"log_prob": log_prob, "draw": draw}',
                '{"log_prob": log_prob, "draw": np.clip(draw, *self.bounds)}',
            ),
            Mistake(
                "actors take the least of a cumulative sum",
                "chosen = (sums < drawn[:, None]).sum(1)",
                "chosen = (sums > drawn[:, None]).sum(1) - 1",
            ),
            Mistake(
                "the critic's scale is left out",
                "return found if self.scale == 1 else self.scale * found",
                "return found",
            ),
            Mistake(
                "actors keep the spread that they had",
                "self.log_std = weights[self.infer.size :].copy()",
                "self.log_std = 0 * weights[self.infer.size :]",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/estimates/returns.py",
        "tests/rl/algorithms/test_vtrace.py",
        (
            Mistake(
                "advantages look one step ahead and no further",
                "found[t] += rates[t] * found[t + 1]",
                "found[t] += rates[t] * terms[t + 1].item() if found.ndim == 1 else 0",
            ),
            Mistake(
                "a truncated episode is worth nothing more",
                'alive = (~batch["terminated"]).float()',
                'alive = (~(batch["terminated"] | batch["truncated"])).float()',
            ),
            Mistake(
                "a terminated episode is worth what follows",
                "deltas = rewards + gamma * course.alive * following - values",
                "deltas = rewards + gamma * following - values",
            ),
            Mistake("traces reach over a truncation", 'going = alive * (~batch["truncated"]).float()', "going = alive"),
            Mistake(
                "what follows a truncation is the next episode",
                "following[self.apart] = values[n:]",
                "following[-1:] = values[-envs:]",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/estimates/vtrace.py",
        "tests/rl/algorithms/test_vtrace.py",
        (
            Mistake(
                "V-trace does not truncate the trace",
                "* course.going * ratios.clamp(max=c))",
                "* course.going * ratios)",
            ),
            Mistake(
                "V-trace does not truncate the differences", "deltas = ratios.clamp(max=rho) *", "deltas = ratios *"
            ),
            Mistake(
                "V-trace's advantages have no weights",
                "VTrace(targets, ratios.clamp(max=rho_gradient) *",
                "VTrace(targets,",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/dqn.py",
        UPDATES,
        (
            Mistake(
                "DQN reports its goals for its values",
                '"losses/q_values": q,',
                '"losses/q_values": goal,',
                "tests/rl/algorithms/test_losses.py::test_figures_of_dqn_by_hand",
            ),
            Mistake(
                "DQN counts units of its output as hidden ones",
                "biases(self.net.acting)[:-1]",
                "biases(self.net.acting)",
                "tests/rl/algorithms/test_value_vitals.py",
            ),
            Mistake(
                "DQN discounts a return of several steps like one",
                'discount = batch.get("discount", config.gamma) * ~batch["terminated"]',
                'discount = config.gamma * ~batch["terminated"]',
            ),
            Mistake(
                "DQN goes on where an episode terminated and not where it was truncated",
                'config.gamma) * ~batch["terminated"]',
                'config.gamma) * ~batch["truncated"]',
            ),
            Mistake(
                "DQN leaves importance weights out",
                'reduction="none") * batch["weights"]).mean()',
                'reduction="none")).mean()',
            ),
            Mistake(
                "double DQN chooses by the target",
                "return values.gather(1, self.net(seen).argmax(1, keepdim=True)).squeeze(1)",
                "return values.gather(1, values.argmax(1, keepdim=True)).squeeze(1)",
            ),
            Mistake(
                "DQN's target is the network itself",
                "= self.target(seen)\n        if not",
                "= self.net(seen)\n        if not",
            ),
            Mistake(
                "DQN's target is refreshed once",
                "if self.updates % config.target_every == 0:",
                "if self.updates == config.target_every:",
            ),
            Mistake(
                "DQN's errors have a sign",
                '{"errors": (q.detach() - goal).abs()}',
                '{"errors": (q.detach() - goal).clamp(min=0)}',
            ),
            Mistake(
                "DQN's random actions leave the last one out",
                "rng.integers(self.start, self.start + self.n, len(chosen))",
                "rng.integers(self.start, self.start + self.n - 1, len(chosen))",
            ),
            Mistake(
                "a dueling head's greedy action is one too low",
                "values = outputs[:, 1:] if self.config.dueling else outputs",
                "values = outputs",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/actor_and_critics.py",
        UPDATES,
        (
            Mistake(
                "targets move by 1 - tau",
                "self.flat[name].weights.data, self.tau)",
                "self.flat[name].weights.data, 1 - self.tau)",
            ),
            Mistake(
                "critics leave importance weights out",
                'loss = (errors.square() * batch["weights"]).mean(1).sum()',
                "loss = errors.square().mean(1).sum()",
            ),
            Mistake(
                "critics discount a return of several steps like one",
                'discount: Any = batch.get("discount", self.gamma)',
                "discount: Any = self.gamma",
            ),
            Mistake(
                "critics go on where an episode terminated",
                'discount * ~batch["terminated"], following)',
                'discount * torch.ones_like(batch["reward"]), following)',
            ),
            Mistake(
                "critics see actions as environments do",
                'self.bounds.inwards(batch["action"])',
                'batch["action"].float()',
            ),
            Mistake(
                "critics tell the error of the first alone",
                '{"errors": errors.detach().abs().mean(0)}',
                '{"errors": errors.detach().abs()[0]}',
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/sac.py",
        UPDATES,
        (
            Mistake(
                "SAC's temperature falls where it should rise",
                "flat.weights.grad = -(log_prob",
                "flat.weights.grad = (log_prob",
            ),
            Mistake("SAC's targets never wait", "if self.updates % self.target_every == 0:", "if True:"),
            Mistake(
                "a checkpoint forgets how long SAC's targets have waited",
                'self.updates = count(state.get("updates", 0))',
                "pass",
                "tests/rl/checkpoints/test_checkpoint.py",
            ),
            Mistake(
                "SAC's actor avoids entropy",
                "loss = (temperature * log_prob - self.critics(obs, actions).amin(0)).mean()",
                "loss = (-temperature * log_prob - self.critics(obs, actions).amin(0)).mean()",
            ),
            Mistake(
                "SAC's critics are punished for entropy",
                "temperature, log_prob, value=-1)",
                "temperature, log_prob, value=1)",
            ),
            Mistake(
                "SAC's actor believes the best critic",
                "self.critics(obs, actions).amin(0)).mean()",
                "self.critics(obs, actions).amax(0)).mean()",
            ),
            Mistake(
                "SAC's critics believe the better target",
                "self.target_critics(following, actions).amin(0)",
                "self.target_critics(following, actions).amax(0)",
            ),
            Mistake(
                "SAC's density forgets that actions are squashed", "- constant - squash).sum(1)", "- constant).sum(1)"
            ),
            Mistake(
                "SAC wants entropy of the wrong sign",
                "self.target_entropy = -float(self.bounds.size)",
                "self.target_entropy = float(self.bounds.size)",
            ),
            Mistake(
                "SAC's draws forget the spread that was learned",
                "noise = np.exp(np.clip(outputs[:, size:], LEAST, MOST)) * rng",
                "noise = rng",
                "tests/rl/algorithms/test_algorithms.py::test_actions_of_sac_are_squashed_draws_of_the_spread_that_was_learned",
            ),
            Mistake(
                "SAC never draws",
                "np.tanh(outputs[:, :size] + noise)",
                "np.tanh(outputs[:, :size])",
                "tests/rl/algorithms/test_algorithms.py::test_actions_of_sac_are_squashed_draws_of_the_spread_that_was_learned",
            ),
            Mistake(
                "SAC acts greedily from the start",
                "if steps < self.config.learning_starts:",
                "if False:",
                "tests/rl/algorithms/test_algorithms.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/td3.py",
        UPDATES,
        (
            Mistake(
                "TD3's target noise is not clipped",
                "actions = (actions + noise.clamp_(-config.target_clip, config.target_clip)).clamp_(-1, 1)",
                "actions = (actions + noise).clamp_(-1, 1)",
            ),
            Mistake(
                "TD3 believes the better critic",
                "best = self.target_critics(following, actions).amin(0)",
                "best = self.target_critics(following, actions).amax(0)",
            ),
            Mistake(
                "TD3's actor descends where it should climb",
                "loss = -self.critics(obs, actions, 1).mean()",
                "loss = self.critics(obs, actions, 1).mean()",
            ),
            Mistake(
                "TD3's critics follow the actor that learns",
                "actions = self.target_actor(following)",
                "actions = self.actor(following)",
            ),
            Mistake("TD3's target actor stays", 'self.follow("target_actor", "actor")', "pass"),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/off_policy.py",
        "tests/rl/algorithms/test_algorithms.py::test_a_learning_rate_ends_with_the_last_update",
        (
            Mistake(
                "updates that are never made count",
                "return self.updates * math.floor((self.updates_per_step * learnable + 1e-6) / self.updates)",
                "return math.floor(self.updates_per_step * learnable + 1e-6)",
            ),
            Mistake(
                "the round in which there is enough does not count",
                "math.ceil(self.enough / a_round) - 1",
                "math.ceil(self.enough / a_round)",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/networks/perceptrons.py",
        UPDATES,
        (
            Mistake(
                "gradients pass units that were off",
                "gradient = torch.ops.aten.threshold_backward(gradient, given[i], 0)",
                "gradient = gradient + 0 * given[i]",
                "tests/rl/networks/test_perceptrons.py",
            ),
            Mistake(
                "the last bias is that of the first network",
                ".add_(biases[-1][:, 0])",
                ".add_(biases[-1][:1, 0])",
                "tests/rl/networks/test_perceptrons.py",
            ),
            Mistake(
                "a gradient of x is that of one network",
                "return gradient.sum(0) if ctx",
                "return gradient[0] if ctx",
                "tests/rl/networks/test_perceptrons.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/continuous.py",
        UPDATES,
        (
            Mistake(
                "actions have no noise",
                "self.infer(observations) + noise), {}",
                "self.infer(observations)), {}",
                "tests/rl/algorithms/test_algorithms.py::test_exploration_is_noise_of_the_spread_that_is_said_around_the_actors_action",
            ),
            Mistake(
                "all actions of a step have one noise",
                "noise = self.noise * rng.standard_normal((n, self.bounds.size), np.float32)",
                "noise = self.noise * rng.standard_normal((n, 1), np.float32)",
                "tests/rl/algorithms/test_algorithms.py::test_exploration_is_noise_of_the_spread_that_is_said_around_the_actors_action",
            ),
            Mistake(
                "critics begin with weights that are too small",
                "bound = 1 / math.sqrt(before)",
                "bound = 1 / before",
                "tests/rl/algorithms/test_algorithms.py::test_critics_begin_as_linear_layers_do",
            ),
            Mistake(
                "random actions come from the upper half",
                "return self.bounds.outwards(rng.uniform(-1, 1, (n, self.bounds.size)).astype(np.float32)), {}",
                "return self.bounds.outwards(rng.uniform(0, 1, (n, self.bounds.size)).astype(np.float32)), {}",
            ),
            Mistake(
                "actions lie around 0 and not around their centre",
                "self.centre + self.scale * actions",
                "self.scale * actions",
            ),
            Mistake(
                "greedy actions have noise",
                "        return self.bounds.outwards(self.infer(observations))\n",
                "        return self.bounds.outwards(self.infer(observations) + self.noise)\n",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/q_learning.py",
        "tests/rl/algorithms/test_losses.py",
        (
            Mistake("Q-learning goes on after the end", "goal = reward if end else reward +", "goal = reward +"),
            Mistake(
                "Q-learning does not discount", "config.gamma * float(table[after].max())", "float(table[after].max())"
            ),
            Mistake(
                "Q-learning goes all the way to its goal",
                "table[state, action] += config.learning_rate * error",
                "table[state, action] += error",
            ),
            Mistake(
                "DQN explores more and more",
                "return initial + min(1.0, steps / max(1.0, over)) * (final - initial)",
                "return final + min(1.0, steps / max(1.0, over)) * (initial - final)",
                UPDATES,
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/fragments.py",
        "tests/rl/algorithms/test_vtrace.py",
        (
            Mistake(
                "the oldest fragments are kept",
                "first = max(0, new - self.slots)\n",
                "first = 0\n        new = min(new, self.slots)\n",
            ),
            Mistake(
                "what is left of a fragment's share is forgotten",
                "self.credit = max(0.0, self.credit - n)",
                "self.credit = 0.0",
            ),
            Mistake(
                "a batch is used once more",
                "self.batches[self.at], self.left[self.at] = batch, self.uses",
                "self.batches[self.at], self.left[self.at] = batch, self.uses + 1",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/networks/layers.py",
        UPDATES + " tests/rl/learning/test_learners.py",
        (
            Mistake("gradients are scaled up, too", ".clamp_(max=1.0))", ")"),
            Mistake("gradients of updates add up", "    flat.clear()\n", ""),
            Mistake("RMSProp forgets the decay", "self.squares.mul_(self.smoothing).addcmul_", "self.squares.addcmul_"),
            Mistake(
                "RMSProp's eps is under the root",
                "self.squares.sqrt().add_(self.eps)",
                "self.squares.add(self.eps).sqrt()",
            ),
            Mistake(
                "bytes of frames are not scaled",
                "x = x.div_(255)",
                "pass",
                "tests/rl/algorithms/test_autoencoder.py tests/rl/networks/test_torsos.py",
            ),
            Mistake("gradients are not clipped", "        flat.clip(max_grad_norm)\n", "        pass\n"),
        ),
    ),
    Mistakes(
        "reactors/rl/networks/normalising.py",
        "tests/rl/networks/test_normalising.py",
        (
            Mistake("moments forget how far apart two means are", " + apart**2 * (self.count * n / total)", ""),
            Mistake("the mean goes half way", "self.mean += apart * (n / total)", "self.mean += apart / 2"),
            Mistake("returns go on beyond the end of an episode", "np.where(ended[t], 0.0, self.sums)", "self.sums"),
            Mistake(
                "actors do not clip what they see",
                "np.clip((x - mean) * scale, np.float32(-CLIP), np.float32(CLIP))",
                "(x - mean) * scale",
            ),
            Mistake("sums of rewards begin again with a checkpoint", 'self.sums = np.array(state["sums"])', "pass"),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/policy_gradient.py",
        "tests/rl/networks/test_normalising.py",
        (
            Mistake("what is observed is not learned", "self.observed.add(", "str("),
            Mistake(
                "a checkpoint forgets what was observed", 'self.observed.load_state_dict(state["observed"])', "pass"
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/sac.py",
        "tests/rl/algorithms/test_recurrent_losses.py",
        (
            Mistake(
                "critics begin with what the actor remembers",
                'if net is self.actor else torch.zeros_like(batch["state"])',
                'if net is self.actor else batch["state"]',
            ),
            Mistake("the burn-in is learned from", "each[burn_in:]", "each[:-burn_in]"),
            Mistake("targets go on from the critics' memory", "seen._replace(state=old)", "seen._replace(state=own)"),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/agents/looking.py",
        "tests/rl/agents/test_frames.py",
        (
            Mistake(
                "a linear head adds up the frame and who sees it",
                "self.hidden = tuple(hidden) if before or behind else ()",
                "self.hidden = ()",
            ),
            Mistake("frames are numbers of any kind", ".to(self.dtype)", ""),
        ),
    ),
    Mistakes(
        "reactors/rl/contract/presets/tables.py",
        "tests/rl/algorithms/test_presets.py",
        (
            Mistake("presets replace defaults of one's own", "own.update(get_annotations(each))", "pass"),
            Mistake("presets are for one name alone", "fnmatchcase(name, pattern)", "name == pattern"),
        ),
    ),
    Mistakes(
        "reactors/rl/dataflow/experience.py",
        "tests/rl/algorithms/test_replay_options.py",
        (Mistake("rewards are kept as they are", 'np.clip(rows["reward"], -clip, clip, out=rows["reward"])', "pass"),),
    ),
)
