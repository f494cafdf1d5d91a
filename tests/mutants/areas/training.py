"""Mistakes in training and serving."""

from tests.mutants.planted import Mistake, Mistakes

MISTAKES = (
    Mistakes(
        "reactors/rl/learning/learner.py",
        "tests/rl/learning/test_learners.py",
        (
            Mistake("learners go by the sum of gradients", "        mean.div_(len(self.received))\n", ""),
            Mistake(
                "all learners take the first share of a batch",
                "part, each = self.bank_index if self.parts > 1 else 0, n // self.parts",
                "part, each = 0, n // self.parts",
            ),
            Mistake("all learners draw the same noise", "self.learning.reseed(self.seed)", "self.learning.reseed(0)"),
            Mistake(
                "weights on their way are forgotten by a checkpoint",
                "        self.sent.append((self.tag.time, weights))\n",
                "",
                "tests/rl/checkpoints/test_checkpoint.py",
            ),
            Mistake(
                "a loss that is no number goes unnoticed",
                "        if wrong:\n",
                "        if False:\n",
                "tests/rl/checkpoints/test_checkpoint.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/dataflow/experience.py",
        "tests/rl/checkpoints/test_broken_off.py",
        (
            Mistake(
                "waiting steps are joined to a new episode after a resume",
                "            self.break_off(self.broken_off)\n",
                "            pass\n",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/dataflow/actor.py",
        "tests/rl/checkpoints/test_broken_off.py",
        (
            Mistake(
                "a policy remembers an episode that was broken off by a resume",
                "        self.acting.forget(self.rollout.begun)\n",
                "",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/learning/learner.py",
        "tests/rl/algorithms/test_own_algorithm.py",
        (Mistake("draws are looked for in the first round alone", " or round_of(self.tag) + 1 in WATCHED", ""),),
    ),
    Mistakes(
        "reactors/rl/contract/conformance.py",
        "tests/rl/algorithms/test_own_algorithm.py",
        (
            Mistake(
                "weights may be fewer than the policy takes", "if size != len(weights):", "if size < len(weights):"
            ),
            Mistake("what act() remembers may be undeclared", "if name not in declared:", "if False:"),
            Mistake("learn() may be no generator", "if not isinstance(running, GeneratorType):", "if False:"),
        ),
    ),
    Mistakes(
        "reactors/rl/learned_by_hand.py",
        "tests/rl/algorithms/test_own_algorithm.py",
        (Mistake("weights() may return a view", "if np.shares_memory(learning.weights(), before):", "if False:"),),
    ),
    Mistakes(
        "reactors/rl/dataflow/experience.py",
        "tests/rl/algorithms/test_algorithms.py tests/rl/checkpoints/test_checkpoint.py",
        (
            Mistake("learning starts a round late", "if self.added < ", "if self.added - rows.size < "),
            Mistake(
                "the ratio of updates forgets what was drawn", "self.drawn += self.updates", "self.drawn = self.updates"
            ),
            Mistake(
                "replay draws the same in every run",
                "self.buffer.rng = np.random.default_rng(self.seed)",
                "self.buffer.rng = np.random.default_rng(0)",
                "tests/rl/dataflow/test_dataflow.py tests/rl/checkpoints/test_checkpoint.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/algorithms/off_policy.py",
        "tests/rl/algorithms/test_algorithms.py",
        (
            Mistake(
                "experience is not prioritized",
                '{"prioritized": algorithm.prioritized, **(by_priority if algorithm.prioritized else {})}',
                '{"prioritized": False}',
                "tests/rl/algorithms/test_algorithms.py",
            ),
            Mistake(
                "returns are of one step whatever is said",
                "n_step=algorithm.n_step,",
                "n_step=1,",
                "tests/rl/dataflow/test_dataflow.py tests/rl/algorithms/test_algorithms.py tests/rl/checkpoints/test_checkpoint.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/monitoring/evaluator.py",
        "tests/command/test_train_command.py tests/command/test_runs_command.py tests/rl/algorithms/test_algorithms.py",
        (
            Mistake(
                "the evaluator plays the same episodes each time",
                "seed = seed_of(self.seed, round_of(self.tag))",
                "seed = seed_of(self.seed, 0)",
                "tests/rl/monitoring/test_evaluator.py tests/rl/algorithms/test_learning.py tests/rl/algorithms/test_hyperparameters.py",
            ),
            Mistake(
                "the evaluator plays one episode again and again",
                "seeds = [seed_of(seed, i) for i in range(episodes)]",
                "seeds = [seed_of(seed, 0) for i in range(episodes)]",
                "tests/rl/monitoring/test_evaluator.py tests/rl/algorithms/test_learning.py tests/rl/algorithms/test_hyperparameters.py",
            ),
            Mistake(
                "the last weights are the best",
                "if worth > self.highest:",
                "if True:",
                "tests/rl/dataflow/test_dataflow.py tests/rl/monitoring/test_evaluator.py tests/rl/algorithms/test_learning.py tests/rl/algorithms/test_hyperparameters.py",
            ),
            Mistake(
                "the evaluator explores",
                "chosen.checked(playing(sim.observations),",
                "chosen.checked(policy.act(sim.observations, np.random.default_rng(0), 10**9)[0],",
                "tests/rl/monitoring/test_evaluator.py tests/rl/algorithms/test_learning.py tests/rl/algorithms/test_hyperparameters.py",
            ),
            Mistake(
                "a later episode counts for the first",
                "if returns[episode.env] is None:",
                "if True:",
                "tests/rl/dataflow/test_dataflow.py tests/rl/monitoring/test_evaluator.py tests/rl/algorithms/test_learning.py tests/rl/algorithms/test_hyperparameters.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/dataflow/rollout.py",
        "tests/rl/dataflow/test_inference.py tests/rl/checkpoints/test_checkpoint.py",
        (
            Mistake(
                "all environments of an actor have one seed",
                "seeds = [seed_of(seed, self.first_env + i) for i in range(len(self.makers))]",
                "seeds = [seed_of(seed, self.first_env) for i in range(len(self.makers))]",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/dataflow/rollout.py",
        "tests/rl/checkpoints/test_checkpoint.py::test_an_episode_that_begins_with_no_number_is_named",
        (
            Mistake(
                "what is seen first after a truncation is not checked",
                'self.rows["terminated"][:-1] | self.rows["truncated"][:-1]',
                'self.rows["terminated"][:-1]',
            ),
            Mistake(
                "what is seen first after a termination is not checked",
                'self.rows["terminated"][:-1] | self.rows["truncated"][:-1]',
                'self.rows["truncated"][:-1]',
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/dataflow/acting.py",
        "tests/rl/algorithms/test_algorithms.py::test_training_explores_as_far_as_the_policy_says",
        (
            Mistake(
                "actors never explore",
                "actions, remembered = self.policy.act(observations, self.rng, number * self.steps, *given)",
                "actions, remembered = self.policy.greedy(observations), {}",
            ),
            Mistake("actions stay random", "self.rng, number * self.steps, *given)", "self.rng, 0, *given)"),
        ),
    ),
    Mistakes(
        "reactors/rl/learning/latest.py",
        "tests/rl/dataflow/test_acting.py",
        (
            Mistake(
                "weights that follow in a round are the same as before", "self.version += 1", "self.version = number"
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/learning/pace.py",
        "tests/rl/learning/test_pace.py::test_bounds_that_leave_no_choice_are_kept",
        (
            Mistake(
                "a round in which actors pause owes as much as any other",
                "self.owed += self.least * steps",
                "self.owed += self.least * 16",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/serving/requests.py",
        "tests/rl/serving/test_serving.py",
        (
            Mistake(
                "the last request decides how long the first waits",
                "ripe = time.perf_counter() - self.waiting[0].made",
                "ripe = time.perf_counter() - self.waiting[-1].made",
            ),
            Mistake("requests wait for a batch that is full", "(ripe and not self.out)", "(ripe and full)"),
            Mistake(
                "a batch is one too large",
                "min(len(self.waiting), self.max_batch))]",
                "min(len(self.waiting), self.max_batch + 1))]",
            ),
            Mistake(
                "requests at the end are never refused",
                "left = [request for batch in self.out.values() for request in batch] + [*self.waiting]",
                "left = []",
            ),
            Mistake(
                "answers are dealt out in reverse",
                "for request, action in zip(batch, actions, strict=False):",
                "for request, action in zip(batch[::-1], actions, strict=False):",
            ),
            Mistake(
                "a server that has served before has its old counts",
                'self.state, self.tally = "serving", Tally()',
                'self.state = "serving"',
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/serving/answers.py",
        "tests/rl/serving/test_serving.py",
        (
            Mistake(
                "the end of a server in another process is not heard",
                "        if opened and (found := listener()) is not None:\n            found.closed()\n",
                "",
            ),
            Mistake(
                "it is not noticed when a worker with a server dies",
                "                let_go()  # from here on",
                "                pass  # from here on",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/checkpoints/files.py",
        "tests/rl/checkpoints/test_checkpoint.py",
        (
            Mistake("one checkpoint is kept", "<= final.name][:-KEPT]", "<= final.name][:-1]"),
            Mistake("checkpoints of an abandoned course stay", "if other.name > saved.path.name:", "if False:"),
            Mistake("arrays of a checkpoint are under no checksum", " != checksum:", " != checksum and False:"),
            Mistake(
                "a resumed run makes its last round again",
                'return int(self.meta["round"]) + 1',
                'return int(self.meta["round"])',
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/encoding/unchanging.py",
        "tests/rl/envs/test_env_state.py",
        (
            Mistake(
                "what a function has by defaults is not looked at",
                "(*_cells(value), *(value.__defaults__ or ()), *named.values())",
                "(*_cells(value), *named.values())",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/envs/env_state.py",
        "tests/rl/envs/test_env_state.py",
        (
            Mistake(
                "a list that is as it was is written all the same",
                "if not _is_same(parts, [*found]):",
                "if True:",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/replay/own_sequences.py",
        "tests/rl/agents/test_recurrent.py",
        (
            Mistake(
                "who acts right after a sequence has forgotten all",
                '(rows["acted"] | rows["next_acted"]).argmax(1)',
                'rows["acted"].argmax(1)',
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/encoding/state.py",
        "tests/rl/envs/test_env_state.py tests/rl/checkpoints/test_checkpoint.py reactors/rl/encoding/state.py",
        (
            Mistake(
                "a tuple in a state comes back as a list",
                'return {"$tuple": parts} if isinstance(value, tuple) else parts',
                "return parts",
            ),
            Mistake(
                "a deque in a state has no greatest length",
                'deque(decode(parts, arrays), tree["maxlen"])',
                "deque(decode(parts, arrays))",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/dataflow/program.py",
        "tests/rl/algorithms/test_algorithms.py tests/rl/checkpoints/test_checkpoint.py tests/command/test_train_command.py",
        (
            Mistake(
                "weights are a round early",
                "after=lag * ROUND - later, broadcast=True)",
                "after=max(1, lag - 1) * ROUND - later, broadcast=True)",
                "tests/rl/dataflow/test_dataflow.py::test_actors_play_with_what_was_learned_so_many_rounds_before",
            ),
            Mistake(
                "an evaluator is forgotten by its run",
                "            rx.connect(self.to_evaluate.some, self.evaluator.weights)\n",
                "",
            ),
            Mistake(
                "every actor plays the first environments",
                "[maker] * each_plays, i * each_plays, *spaces",
                "[maker] * each_plays, 0, *spaces",
            ),
            Mistake(
                "environments that actors cannot share equally are left out",
                "if algorithm.num_envs % (parts * actors):",
                "if False:",
                "tests/rl/dataflow/test_dataflow.py::test_environments_that_cannot_be_shared_equally_are_refused",
            ),
        ),
    ),
)
