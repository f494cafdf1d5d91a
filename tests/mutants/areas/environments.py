"""Mistakes in stepping environments."""

from tests.mutants.planted import Mistake, Mistakes

MISTAKES = (
    Mistakes(
        "csrc/rl/rows.c",
        "tests/rl/envs/test_env.py tests/rl/vector/test_vector_env.py tests/rl/vector/test_halves_of_calls.py tests/rl/vector/test_failing_environments.py",
        (
            Mistake("returns of episodes are not summed", "    *(double *)entry(to->totals, i) += number;\n", ""),
            Mistake(
                "infos are dropped",
                "if (!PyDict_CheckExact(info) || PyDict_Size(info)) return 0;",
                "if (!PyDict_CheckExact(info)) return 0;",
            ),
            Mistake(
                "a reward of NaN is one", "if (number != number || (number", "if ((number", "tests/rl/envs/test_env.py"
            ),
            Mistake("truncation is overlooked", "truncated = truth(PyTuple_GetItem(answer, 3));", "truncated = 0;"),
        ),
    ),
    Mistakes(
        "reactors/rl/vector/vector_env.py",
        "tests/rl/vector/test_vector_env.py tests/rl/vector/test_halves_of_calls.py tests/rl/vector/test_failing_environments.py",
        (
            Mistake(
                "a reset without seeds forgets those before",
                "self._run.seeds = [old if new is None else new for old, new in zip(self._run.seeds, seeds, strict=True)]",
                "self._run.seeds = seeds",
                "tests/rl/vector/test_failing_environments.py::test_an_error_names_the_seed_of_the_last_reset_that_had_one",
            ),
            Mistake(
                "a timeout forgets that the step goes on",
                "self._run.overdue = not done",
                "self._run.overdue = False",
                "tests/rl/vector/test_halves_of_calls.py::test_timeouts",
            ),
            Mistake(
                "episodes of a process that died terminate",
                "ended = np.zeros(n, bool), np.ones(n, bool)",
                "ended = np.ones(n, bool), np.zeros(n, bool)",
                "tests/rl/vector/test_failing_environments.py::test_environments_whose_process_dies_or_hangs_are_made_again",
            ),
            Mistake(
                "environments that were made again do not count",
                "self._lost += n",
                "self._lost += 0",
                "tests/rl/vector/test_failing_environments.py::test_environments_whose_process_dies_or_hangs_are_made_again",
            ),
            Mistake(
                "what was received is still pending",
                "self._pending -= {answer.env_id for answer in answers}",
                "pass",
                "tests/rl/vector/test_halves_of_calls.py::test_environments_are_stepped_at_their_own_pace",
            ),
            Mistake(
                "answers say who was asked and not who answered",
                'infos["env_id"] = np.array([answer.env_id for answer in answers])',
                'infos["env_id"] = np.arange(len(answers))',
                "tests/rl/vector/test_halves_of_calls.py::test_environments_are_stepped_at_their_own_pace",
            ),
            Mistake(
                "what is received twice is the same",
                "answers, beat.ready = beat.ready[:n], beat.ready[n:]",
                "answers = beat.ready[:n]",
                "tests/rl/vector/test_halves_of_calls.py::test_environments_are_stepped_at_their_own_pace",
            ),
            Mistake(
                "last observations are not marked",
                'infos["_final_obs"][i] = infos["_final_info"][i] = True',
                'infos["_final_info"][i] = True',
                "tests/rl/vector/test_vector_env.py tests/rl/vector/test_halves_of_calls.py tests/rl/vector/test_failing_environments.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/vector/arguments.py",
        "tests/rl/vector/test_vector_env.py",
        (
            Mistake(
                "max_concurrency bounds nothing",
                "63 if oversubscribe else cores, most or n))",
                "63 if oversubscribe else cores, n))",
                "tests/rl/vector/test_vector_env.py::test_max_concurrency_bounds_the_workers",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/vector/batches.py",
        "tests/rl/vector/test_vector_env.py",
        (
            Mistake(
                "a caller's list of actions is not copied",
                "for action in deepcopy(given)]",
                "for action in given]",
                "tests/rl/vector/test_vector_env_actions.py::test_actions_are_those_of_the_call_though_the_caller_changes_them",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/envs/sources.py",
        "tests/rl/vector/test_vector_env.py::test_seeds",
        (
            Mistake(
                "all environments are reset with one seed",
                "[int(seed) + i for i in range(k)]",
                "[int(seed) for i in range(k)]",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/vector/lockstep.py",
        "tests/rl/vector/test_vector_env.py tests/rl/vector/test_halves_of_calls.py tests/rl/vector/test_failing_environments.py tests/rl/vector/test_vector_env_alike.py tests/rl/vector/test_vector_env_actions.py tests/rl/vector/test_carried.py",
        (
            Mistake(
                "environments write into the actions of others",
                "self.step_with(actions if self.of_numbers else actions.copy())",
                "self.step_with(actions)",
                "tests/rl/vector/test_vector_env_actions.py::test_actions_arrive_as_they_are",
            ),
            Mistake(
                "actions of all groups are the first ones",
                "actions = self.actions.value[self.group.own]",
                "actions = self.actions.value[: len(self.group.makers)]",
                "tests/rl/vector/test_vector_env_actions.py::test_actions_arrive_as_they_are",
            ),
            Mistake(
                "listed actions of all groups are the first ones",
                "for action in self.listed.value[self.group.own]])",
                "for action in self.listed.value[: len(self.group.makers)]])",
                "tests/rl/vector/test_vector_env_actions.py::test_actions_arrive_as_they_are",
            ),
            Mistake(
                "infos of a step are those of the first group",
                "said = [self.infos[i].value for i in self.infos.present]",
                "said = [self.infos[i].value for i in self.infos.present[:1]]",
                "tests/rl/vector/test_vector_env.py::test_every_step_is_the_same",
            ),
            Mistake(
                "infos stay after their step",
                "        self.noted: Infos = []\n        self.refusal",
                "        self.refusal",
                "tests/rl/vector/test_vector_env.py::test_every_step_is_the_same",
            ),
            Mistake(
                "rewards are overwritten by the next step",
                "joined(self.rewards.array, n), ",
                "self.rewards.array.reshape(-1)[:n], ",
                "tests/rl/vector/test_vector_env.py::test_what_a_step_gave_stays_as_it_was",
            ),
            Mistake(
                "terminations and truncations are swapped",
                "joined(self.terminated.array, n), joined(self.truncated.array, n)",
                "joined(self.truncated.array, n), joined(self.terminated.array, n)",
                "tests/rl/vector/test_vector_env.py::test_every_step_is_the_same",
            ),
            Mistake(
                "observations are overwritten by the next step",
                "self.batch = joined(self.observations.array, self.num_envs)",
                "self.batch[...] = joined(self.observations.array, self.num_envs)",
                "tests/rl/vector/test_vector_env.py::test_what_a_step_gave_stays_as_it_was",
            ),
            Mistake(
                "last observations are overwritten by the next step",
                '"final_obs": last[row].copy()',
                '"final_obs": last[row]',
                "tests/rl/vector",
            ),
            Mistake(
                "a wait for some answers is for one more",
                "if before < self.wanted <= len(self.ready):",
                "if before < self.wanted < len(self.ready):",
                "tests/rl/vector/test_halves_of_calls.py::test_environments_are_stepped_at_their_own_pace",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/envs/owned.py",
        "tests/rl/vector/test_vector_env_alike.py tests/rl/vector/test_vector_env_actions.py tests/rl/vector/test_carried.py",
        (
            Mistake(
                "environments share what their functions carry",
                "    return found\n",
                "    return make\n",
                "tests/rl/vector/test_carried.py::test_what_functions_carry_is_each_environments_own",
            ),
            Mistake(
                "classes that carry nothing are copied, too",
                "elif not isinstance(part, type | ModuleType) or self.carries(part, set()):",
                "elif not isinstance(part, type | ModuleType) or self.has_no_name(part):",
                "tests/rl/vector/test_carried.py::test_classes_that_carry_nothing_are_not_copied",
            ),
            Mistake(
                "an environment of two rows is known by its wrapper",
                'base = getattr(env, "unwrapped", env)',
                "base = env",
                "tests/rl/vector/test_carried.py::test_an_environment_in_two_wrappers_is_refused_by_name",
            ),
            Mistake(
                "two rows may have one environment",
                "if owner is not None:",
                "if False:",
                "tests/rl/vector/test_carried.py::test_an_environment_of_two_rows_is_refused_by_name",
            ),
            Mistake(
                "an environment is never let go of",
                "_claims: weakref.WeakValueDictionary[int, Claim] = weakref.WeakValueDictionary()",
                "_claims: dict[int, Claim] = {}",
                "tests/rl/vector/test_carried.py::test_an_environment_of_two_rows_is_refused_by_name",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/sb3.py",
        "tests/rl/test_sb3.py",
        (
            Mistake(
                "what terminates at its limit counts as cut off",
                "(truncated & ~terminated).tolist()",
                "truncated.tolist()",
                "tests/rl/test_sb3.py::test_every_step_is_that_of_dummy_vec_env",
            ),
            Mistake(
                "what is cut off is not done",
                "dones = terminated | truncated",
                "dones = terminated",
                "tests/rl/test_sb3.py::test_every_step_is_that_of_dummy_vec_env",
            ),
            Mistake(
                "rewards are float64",
                "rewards.astype(np.float32)",
                "rewards",
                "tests/rl/test_sb3.py::test_every_step_is_that_of_dummy_vec_env",
            ),
            Mistake(
                "infos of a reset are those of the first",
                "                self.reset_infos[i] = info\n",
                "",
                "tests/rl/test_sb3.py::test_every_step_is_that_of_dummy_vec_env",
            ),
            Mistake(
                "an episode's last infos are lost",
                '{**info.pop("final_info"), "terminal_observation"',
                '{"terminal_observation"',
                "tests/rl/test_sb3.py::test_every_step_is_that_of_dummy_vec_env",
            ),
            Mistake(
                "seeds are used again",
                "        self._reset_seeds()\n",
                "",
                "tests/rl/test_sb3.py::test_seeds_and_options_are_used_once",
            ),
            Mistake(
                "options are used again",
                "        self._reset_options()\n",
                "",
                "tests/rl/test_sb3.py::test_seeds_and_options_are_used_once",
            ),
            Mistake(
                "options of the first environment are those of all",
                "if all(each == options[0] for each in options):",
                "if True:",
                "tests/rl/test_sb3.py::test_seeds_and_options_are_used_once",
            ),
            Mistake(
                "answers come in the order of the environments",
                "return [found[i] for i in which]",
                "return [found[i] for i in sorted(which)]",
                "tests/rl/test_sb3.py::test_environments_are_asked_by_index",
            ),
            Mistake(
                "environments are asked by any number",
                "which = [range(n)[i] for i in given]",
                "which = [i - 1 if i < 0 else i for i in given]",
                "tests/rl/vector/test_vector_env_alike.py::test_stable_baselines_indices_may_count_from_the_end",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/envs/simulation.py",
        "tests/rl/envs/test_env.py tests/rl/vector/test_vector_env.py tests/rl/vector/test_halves_of_calls.py tests/rl/vector/test_failing_environments.py",
        (
            Mistake(
                "the length of an episode is one too high",
                "total, length = float(self._totals[i]), self.steps - self._began[i]",
                "total, length = float(self._totals[i]), self.steps - self._began[i] + 1",
            ),
            Mistake(
                "returns add up over episodes",
                "self._began[i], self._totals[i] = self.steps, 0.0",
                "self._began[i] = self.steps",
            ),
            Mistake(
                "an environment made again has the seed with which it broke",
                "self.seeds[i] = self._fresh[i] = None if seed is None else seed_of(seed, self._numbers[i])",
                "self._fresh[i] = seed",
            ),
            Mistake(
                "every reset has the first seed", "seed, self._fresh[i] = self._fresh[i], None", "seed = self._fresh[i]"
            ),
            Mistake(
                "what a reset raises in place of a step is that of the step",
                "        if isinstance(error, ResetError):\n",
                "        if False:\n",
                "tests/rl/vector/test_vector_env_words.py",
            ),
            Mistake(
                "an episode that breaks terminates",
                "rewards[i], terminated[i], truncated[i] = 0.0, False, True",
                "rewards[i], terminated[i], truncated[i] = 0.0, True, False",
            ),
            Mistake(
                "what follows an end is the next episode's beginning",
                "        self.observations[:] = following\n",
                "        self.observations = following\n",
            ),
            Mistake(
                "a transition has what followed for what was observed",
                'rows["obs"][...] = self.observations',
                'rows["obs"][...] = rows["next_obs"]',
                "tests/rl/envs/test_env.py tests/rl/dataflow/test_inference.py tests/rl/checkpoints/test_checkpoint.py",
            ),
            Mistake(
                "termination and truncation are swapped",
                'rewards, rows["terminated"], rows["truncated"])',
                'rewards, rows["truncated"], rows["terminated"])',
                "tests/rl/envs/test_env.py tests/rl/dataflow/test_dataflow.py tests/rl/checkpoints/test_checkpoint.py",
            ),
            Mistake(
                "environments stay open",
                "                env.close()\n            except Exception as error:\n                if not self.restarting:",
                "                pass\n            except Exception as error:\n                if not self.restarting:",
            ),
            Mistake(
                "infos of ends are those of beginnings",
                "self.final_infos[i] = snapshot(self.infos.pop(i))",
                "self.infos.pop(i)",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/envs/vector_simulation.py",
        "tests/rl/envs/test_batched.py",
        (
            Mistake(
                "steps that are none count",
                "            self.valid = None if self._over is None else np.logical_not(self._over)\n            self._over = over",
                "            self.valid = None\n            self._over = over",
            ),
            Mistake(
                "truncation ends no episode",
                "over = np.logical_or(terminated, truncated)",
                "over = np.asarray(terminated, bool)",
            ),
            Mistake(
                "true last observations are those after the reset",
                "for i in over.nonzero()[0]:\n                    self.put",
                "for i in over.nonzero()[0][:0]:\n                    self.put",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/envs/env.py",
        "tests/rl/envs/test_env.py",
        (
            Mistake(
                "environments of a row share a seed",
                "[seed_of(self.seed, i) if given is None else given",
                "[seed_of(self.seed, 0) if given is None else given",
            ),
            Mistake(
                "transitions swap the ends of episodes",
                'terminated[...], truncated[...] = record["terminated"], record["truncated"]',
                'truncated[...], terminated[...] = record["terminated"], record["truncated"]',
            ),
        ),
    ),
)
