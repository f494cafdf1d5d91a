"""What are things called here that are called otherwise in Stable-Baselines3, CleanRL or RLlib?

One table for hyperparameters, for the arguments of `rl.train` and for the options of the command, so that all of them
answer in the same words. It needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactors.lowlevel import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# What it is called here, and where: names of hyperparameters come before those of arguments.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    # steps and environments
    "n_steps": ("n_step", "horizon"), "num_steps": ("horizon",), "rollout_fragment_length": ("horizon",),
    "rollout_length": ("horizon",), "unroll_length": ("horizon",), "steps_per_epoch": ("horizon",),
    "n_envs": ("num_envs",), "n_env": ("num_envs",), "envs": ("num_envs",),
    "num_envs_per_worker": ("num_envs",), "num_envs_per_env_runner": ("num_envs",),
    "total_timesteps": ("total_steps",), "timesteps": ("total_steps",), "num_timesteps": ("total_steps",),
    "max_steps": ("total_steps",), "max_timesteps": ("total_steps",), "steps": ("total_steps",),
    "env_id": ("env",), "environment": ("env",), "env_name": ("env",), "gym_id": ("env",),
    "env_config": ("env_kwargs",),
    # optimizers
    "lr": ("learning_rate",), "policy_lr": ("learning_rate",), "actor_lr": ("learning_rate",),
    "pi_lr": ("learning_rate",), "q_lr": ("critic_learning_rate", "learning_rate"),
    "critic_lr": ("critic_learning_rate", "learning_rate"), "vf_lr": ("critic_learning_rate", "learning_rate"),
    "alpha_lr": ("temperature_learning_rate",), "anneal_lr": ("anneal",), "lr_schedule": ("anneal",),
    "grad_clip": ("max_grad_norm",), "max_norm": ("max_grad_norm",), "discount": ("gamma",),
    "discount_factor": ("gamma",), "adam_eps": ("eps",), "rms_prop_eps": ("eps",),
    # policy gradients
    "ent_coef": ("entropy", "temperature"), "entropy_coef": ("entropy", "temperature"),
    "entropy_coeff": ("entropy", "temperature"), "initial_alpha": ("temperature",), "autotune": ("temperature",),
    "vf_coef": ("value",), "value_coef": ("value",), "vf_loss_coeff": ("value",), "value_loss_coef": ("value",),
    "clip_range": ("clip",), "clip_coef": ("clip",), "clip_param": ("clip",), "clip_ratio": ("clip",),
    "n_epochs": ("epochs", "passes"), "num_epochs": ("epochs", "passes"), "update_epochs": ("epochs", "passes"),
    "num_sgd_iter": ("epochs", "passes"), "epochs": ("passes",),
    "clip_range_vf": ("clip_value",), "clip_vloss": ("clip_value",), "vf_clip_param": ("clip_value",),
    "gae_lambda": ("lam",), "lambda_": ("lam",), "lambda": ("lam",),
    "normalize_advantage": ("normalise",), "norm_adv": ("normalise",), "normalize": ("normalise",),
    "norm_obs": ("normalise_observations",), "normalize_observations": ("normalise_observations",),
    "norm_reward": ("normalise_rewards",), "normalize_rewards": ("normalise_rewards",),
    "normalize_reward": ("normalise_rewards",), "log_std_init": ("log_std",), "activation_fn": ("activation",),
    "fcnet_activation": ("activation",),
    "minibatch_size": ("batch_size",), "mini_batch_size": ("batch_size",), "sgd_minibatch_size": ("batch_size",),
    "train_batch_size": ("batch_size", "horizon"), "vtrace_clip_rho_threshold": ("rho",),
    # networks
    "net_arch": ("hidden",), "hidden_sizes": ("hidden",), "fcnet_hiddens": ("hidden",), "hiddens": ("hidden",),
    "hidden_size": ("hidden",), "features_extractor_class": ("torso",), "features_extractor": ("torso",),
    # replay and Q-learning
    "buffer_size": ("capacity",), "replay_size": ("capacity",), "memory_size": ("capacity",),
    "replay_buffer_size": ("capacity",), "start_steps": ("learning_starts",), "learning_start": ("learning_starts",),
    "train_freq": ("updates_per_step",), "train_frequency": ("updates_per_step",),
    "gradient_steps": ("updates_per_step",), "utd_ratio": ("updates_per_step",),
    "training_intensity": ("updates_per_step",),
    "target_update_interval": ("target_every",), "target_network_frequency": ("target_every",),
    "target_network_update_freq": ("target_every",), "target_update_freq": ("target_every",), "polyak": ("tau",),
    "exploration_final_eps": ("exploration_final",), "final_epsilon": ("exploration_final",),
    "end_e": ("exploration_final",), "eps_end": ("exploration_final",),
    "exploration_initial_eps": ("exploration_initial",), "start_e": ("exploration_initial",),
    "initial_epsilon": ("exploration_initial",), "optimize_memory_usage": ("frame_stack",),
    "framestack": ("frame_stack",), "clip_rewards": ("reward_clip",),
    "double_q": ("double",), "double_dqn": ("double",), "prioritized_replay": ("prioritized",),
    "prioritized_replay_alpha": ("alpha",), "prioritized_replay_beta": ("beta",),
    "final_prioritized_replay_beta": ("anneal_beta",),
    "action_noise": ("noise",), "exploration_noise": ("noise",), "policy_frequency": ("policy_delay",),
    "target_policy_noise": ("target_noise",), "policy_noise": ("target_noise",),
    "target_noise_clip": ("target_clip",), "noise_clip": ("target_clip",), "n_critics": ("critics",),
    # runs
    "num_workers": ("workers",), "n_jobs": ("workers",), "num_env_runners": ("workers",),
    "num_rollout_workers": ("workers",), "n_workers": ("workers",), "num_learners": ("learners",),
    "num_actors": ("actors",), "tensorboard_log": ("tensorboard",), "logdir": ("out",), "log_dir": ("out",),
    "save_path": ("out",), "output_dir": ("out",), "run_dir": ("out",), "storage_path": ("out",),
    "eval_freq": ("eval_every",), "evaluation_interval": ("eval_every",), "n_eval_episodes": ("eval_episodes",),
    "save_freq": ("checkpoint_every",), "checkpoint_freq": ("checkpoint_every",),
    "checkpoint_frequency": ("checkpoint_every",), "reward_threshold": ("stop_at",), "stop_reward": ("stop_at",),
    "callback": ("watch",), "callbacks": ("watch",), "capture_video": ("video",), "random_seed": ("seed",),
    "cuda": ("device",), "resume_from": ("resume",), "restore": ("resume",),
}  # fmt: skip

# What is called nothing here, and what there is instead.
_INSTEAD: dict[str, str] = {
    "policy": "the network follows from the observations, and from hidden and torso",
    "policy_kwargs": "what it would say of the network is said by hidden and torso themselves",
    "verbose": "`reactors train` shows how it goes, and `watch` of rl.train has functions that get rows of the journal",
    "progress_bar": "`reactors train` has one, and `watch` of rl.train has functions that get rows of the journal",
    "log_interval": "the journal has a row for each round",
    "num_minibatches": "batch_size counts the steps in one, num_envs * horizon / num_minibatches",
    "nminibatches": "batch_size counts the steps in one, num_envs * horizon / nminibatches",
    "target_kl": "no update stops early",
    "torch_deterministic": "runs are reproducible as they are",
    "eval_env": "evaluation has environments of its own, of the same kind",
    **dict.fromkeys(("use_sde", "sde_sample_freq"), "noise is drawn for each step, whatever the state is"),
    "ortho_init": "first weights are as in Stable-Baselines3 with its defaults",
    **dict.fromkeys(("optimizer", "optimizer_class", "optimizer_kwargs"), "each algorithm has an optimizer of its own"),
    "weight_decay": "weights do not decay",
}

# What is of another kind here: which hyperparameter there is instead, and what it does.
_OTHER_KIND: dict[str, tuple[str, str]] = {
    "tau": ("target_every", "the target network is replaced every target_every updates, all of it at once"),
    "target_every": (
        "policy_delay",
        "policy_delay counts the critics' updates for one of the actor and of all targets",
    ),
    "activation": ("hidden", "the layers in hidden have ReLU"),
}

_UNITS = {"updates_per_step": ", updates for each environment step", "target_every": ", in updates"}


def no_hyperparameter(
    name: str,
    algorithm: str,
    known: Sequence[str],
    arguments: Mapping[str, str],
    without: Mapping[str, str] | None = None,
) -> str:
    """What is said of a name that is no hyperparameter of `algorithm`, which has those `known`.

    `arguments` are those of `rl.train`, each with what the user is to write for it. `without` has reasons for names
    that similar algorithms have.

    >>> no_hyperparameter("lr", "PPO", ["learning_rate", "gamma"], {})
    "PPO has no hyperparameter 'lr': it is learning_rate here"
    >>> no_hyperparameter("total_timesteps", "PPO", ["gamma"], {"total_steps": "--total-steps"})
    "PPO has no hyperparameter 'total_timesteps': write --total-steps"
    >>> no_hyperparameter("target_update_interval", "SAC", ["gamma", "target_every"], {})
    "SAC has no hyperparameter 'target_update_interval': it is target_every here, in updates"
    """
    said = f"{algorithm} has no hyperparameter {name!r}"
    if without and name in without:
        return f"{said}: {without[name]}"
    for meant in _meant(name):
        if meant in known:
            return f"{said}: it is {meant} here{_UNITS.get(meant, '')}"
        if meant in arguments:
            return f"{said}: write {arguments[meant]}"
    for meant in _meant(name):
        there, instead = _OTHER_KIND.get(meant, ("", ""))
        if there in known:
            return f"{said}: {instead}"
    return f"{said}{_instead(name) or _nearest(name, known)}"


def no_attribute(name: str, known: Collection[str]) -> str:
    """What to add to the message that an algorithm has no attribute `name`, but those `known`.

    >>> no_attribute("n_steps", ["check", "horizon"]), no_attribute("horizn", ["check", "horizon"])
    (': it is horizon here', "; did you mean 'horizon'?")
    """
    if name in {"train", "learn", "fit"}:
        return "; write rl.train(algorithm, env, total_steps=...)"
    called = next((meant for meant in _meant(name) if meant in known), None)
    return did_you_mean(name, known) if called is None else f": it is {called} here"


def no_argument(
    said: str, name: str, known: Sequence[str], form: str = "", hyperparameters: Collection[str] = ()
) -> str:
    """What is said of a name that is no argument of a function, or no option of a command, that has those `known`.

    `hyperparameters` are of the algorithm that the function or command is about, if it is; `form` is how to write one.

    >>> no_argument("rl.train has no argument 'steps'", "steps", ["seed", "total_steps"], "rl.PPO({}=...)", ["horizon"])
    "rl.train has no argument 'steps': it is total_steps here"
    >>> no_argument("there is no option --n-steps", "--n-steps", ["--seed"], "--set {}=...", ["horizon"])
    'there is no option --n-steps: write --set horizon=...'
    """
    spelled = {each.lstrip("-").replace("-", "_"): each for each in known}
    for meant in _meant(name.lstrip("-").replace("-", "_")):
        if meant in spelled:
            return f"{said}: it is {spelled[meant]} here"
        if meant in hyperparameters:
            return f"{said}: write {form.format(meant)}"
    return f"{said}{(_instead(name) if form else '') or _nearest(name, known)}"


def is_option(name: str, known: Collection[str]) -> bool:
    """Whether a wrong name means, or is like, one of `known`, and is nothing that this module has other words for.

    >>> is_option("--total-timesteps", ["--total-steps"]), is_option("--sed", ["--seed"]), is_option("--lam", ["--lag"])
    (True, True, False)
    """
    word = name.lstrip("-").replace("-", "_")
    spelled = {each.lstrip("-").replace("-", "_") for each in known}
    if any(meant in spelled for meant in _meant(word)):
        return True
    return word not in _INSTEAD and word not in _HERE and len(_meant(word)) == 1 and closest(name, known) is not None


def _meant(name: str) -> tuple[str, ...]:
    return name, *_BY_LETTERS.get(_letters(name), ())


def _instead(name: str) -> str:
    instead = _INSTEAD.get(name.lstrip("-").replace("-", "_"))
    return "" if instead is None else f": {instead}"


def _nearest(name: str, known: Sequence[str]) -> str:
    if near := did_you_mean(name, known):
        return near
    foreign = {each: next((one for one in meant if one in known), None) for each, meant in _SYNONYMS.items()}
    if near := closest(name, [each for each, own in foreign.items() if own is not None]) or "":
        return f"; if {near} is meant, it is {foreign[near]} here"
    return f"; there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


_HERE = {name for meant in _SYNONYMS.values() for name in meant}
_BY_LETTERS = {_letters(name): meant for name, meant in _SYNONYMS.items()}


def spelled(kind: type) -> str:
    """A class as its users write it."""
    return f"rl.{kind.__name__}" if kind.__module__.startswith("reactors.") else kind.__name__
