"""Mistakes in running: values on ports, shipping, the outcome, logs, steps, and what tests programs."""

from tests.mutants.planted import Mistake, Mistakes

MISTAKES = (
    Mistakes(
        "reactors/shipping/parcels.py",
        "tests/shipping/test_shipping.py",
        (
            Mistake(
                "an attribute that goes from 1 to True stays 1",
                "isinstance(now, _UNCHANGED) and now is before)",
                "isinstance(now, _UNCHANGED) and now == before)",
            ),
            Mistake("attributes that are gone come back", "[name for name in before if name not in now]", "[]"),
            Mistake(
                "the state of a C function does not come back",
                "        memory_of(graph, number)[...] = memory\n",
                "        pass\n",
            ),
            Mistake(
                "in another process, what is for a missed deadline takes the place of the C function",
                "len(image.parts[worker].reactions) + local, late",
                "local, late",
                "tests/semantics/test_deadlines_of_native_reactions.py",
            ),
            Mistake(
                "one attribute that cannot be sent loses all",
                "                    if error is not None:\n                        state[name] = Missing",
                "                    if True:\n                        state[name] = Missing",
            ),
            Mistake(
                "the error of a worker is the runtime's own",
                "    found.__cause__ = error.__cause__\n",
                "",
                "tests/faults/test_start.py tests/shipping/test_shipping.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/states.py",
        "tests/shipping/test_shipping.py",
        (
            Mistake(
                "attributes in slots stay with the worker",
                "            if hasattr(reactor, name):\n                found[name]",
                "            if False:\n                found[name]",
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/binding.py",
        "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/model/test_declare.py tests/execution/bad_programs",
        (
            Mistake(
                "ports stay alive after the run",
                "            thing.__class__ = rest\n",
                "",
                "tests/model/test_declare.py tests/execution/bad_programs tests/execution/test_testing.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/context.py",
        "tests/semantics/test_modes.py tests/execution/bad_programs",
        (
            Mistake(
                "a mode may be set that is not declared",
                "if not self._engine.set_mode(mode._index):",
                "if self._engine.set_mode(mode._index) is None:",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
            Mistake(
                "a deadline may be updated that there is not",
                "if self._engine.deadline() is None:",
                "if False:",
                "tests/semantics/test_deadlines.py tests/execution/bad_programs",
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/session.py",
        "tests/model/test_declare.py tests/execution/test_stepwise.py tests/execution/bad_programs",
        (
            Mistake(
                "reactors stay alive after the run",
                "            reactor._engine = None\n",
                "            pass\n",
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/live_ports.py",
        "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_multiports.py",
        (
            Mistake(
                "absent rows of a block are those of before",
                "block = np.zeros((len(self._channels), *layout.shape), layout.dtype)\n            for i",
                "block = np.empty((len(self._channels), *layout.shape), layout.dtype)\n            block[...] = 7\n            for i",
                "tests/semantics/test_multiports.py",
            ),
            Mistake(
                "a multiport takes fewer values than channels",
                "if given != len(self._channels):",
                "if given is None or given > len(self._channels):",
                "tests/execution/bad_programs tests/semantics/test_multiports.py",
            ),
            Mistake(
                "a value of a physical action stays in memory",
                "            self._sent.pop(self._shown, None)\n",
                "",
                "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "an event that is not accepted is reported as accepted",
                "        if not taken:\n            sent.pop(number, None)\n        return taken",
                "        return True",
                "tests/faults/test_exceptions.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/clock.py",
        "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
        (
            Mistake(
                "events of a virtual clock are in the order of calls",
                "sorted(self._events, key=lambda event: event[0])",
                "self._events",
            ),
        ),
    ),
    Mistakes(
        "reactors/reports/failures.py",
        "tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
        (
            Mistake(
                "what follows an abort takes the place of what caused it",
                "return aftermath, *error.tag, error.reaction",
                "return False, *error.tag, error.reaction",
                "tests/execution/bad_programs tests/execution/test_stepwise.py",
            ),
            Mistake(
                "the last failure is raised",
                "(cause, _), *others = sorted(failures, key=when)",
                "(cause, _), *others = sorted(failures, key=when, reverse=True)",
                "tests/execution/bad_programs tests/faults/test_exceptions.py tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/arena.py",
        "tests/execution/test_seeds.py",
        (Mistake("every run has the seed 0", "_rng = seed, None", "_rng = 0, None"),),
    ),
    Mistakes(
        "reactors/execution/in_threads.py",
        "tests/faults/test_start.py",
        (
            Mistake(
                "a failing thread lets the others go on",
                "            failures[worker] = error\n            engines.abort(memory, image)",
                "            failures[worker] = error",
            ),
        ),
    ),
    Mistakes(
        "reactors/launch.py",
        "tests/semantics/test_physical_time.py tests/execution/test_record.py",
        (
            Mistake(
                "a program with physical actions starves",
                "keepalive=physical and clock is None if keepalive is None else keepalive,",
                "keepalive=bool(keepalive),",
                "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
            ),
            Mistake(
                "a replay has the seed of its call",
                "seed, options.replay, options.fast, options.keepalive = recorded.seed,",
                "seed, options.replay, options.fast, options.keepalive = seed,",
                "tests/execution/test_record.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/elaboration/workers.py",
        "tests/execution/bad_programs",
        (
            Mistake("65 workers are taken", "    if given > MOST:\n", "    if given > MOST + 1:\n"),
            Mistake("no workers are taken", "or given < 1:", "or given < 0:"),
        ),
    ),
    Mistakes(
        "reactors/reports/recording.py",
        "tests/execution/test_record.py",
        (
            Mistake("a changed first line of a log is taken", "    if check != _check(head):\n", "    if False:\n"),
            Mistake(
                "a log goes on after its end",
                "        if stop is not None:\n            raise ReplayError",
                "        if False:\n            raise ReplayError",
            ),
            Mistake(
                "a log is taken for another program's",
                '    _compare(os.fspath(file), head["program"], description(graph))\n',
                "",
            ),
            Mistake(
                "programs that differ in deadlines have the same log",
                ' deadline {reaction.deadline}"',
                '"',
                "tests/execution/test_record.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/reports/result.py",
        "tests/model/test_reading.py tests/model/test_declare.py tests/command/test_cli.py",
        (
            Mistake(
                "connections of modes count as reactions",
                "reactions=sum(w.reactions for w in workers) - relayed,",
                "reactions=sum(w.reactions for w in workers),",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
            Mistake(
                "the digest depends on the order of reactors",
                "for path, number in sorted(own):",
                "for path, number in own[::-1]:",
                "tests/oracle/test_oracle.py tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/execution/test_testing.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/reports/summary.py",
        "tests/execution/test_summary.py",
        (
            Mistake(
                "the slowest member is the first", "slowest = max(self.members, key=mean)", "slowest = self.members[0]"
            ),
            Mistake(
                "classes of one list share a row",
                "without_indices(each.path), each.class_name)",
                'without_indices(each.path), "")',
            ),
            Mistake("a share is of one worker's time", "len({each.worker for each in members})", "1"),
            Mistake("a notebook gets what is not escaped", ">{escape(cell)}</", ">{cell}</"),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/planning/spreading.py",
        "tests/elaboration/test_placement.py",
        (
            Mistake("what runs once counts", "if any(program.elements[e].kind not in _ONCE", "if any(True"),
            Mistake("who may stop the program is forgotten", "if reaction.stop is not None:", "if False:"),
            Mistake("what values are old is forgotten", "if ns <= self.longest)", "if True)"),
            Mistake("what happens once is taken for a pipeline", "if recurs else 0  #", "if True else 0  #"),
            Mistake("times are taken for microsteps", "not (model.slack or", "not (False or"),
        ),
    ),
    Mistakes(
        "reactors/viewing/server.py",
        "tests/viewing/test_pages.py",
        (
            Mistake(
                "pages of others may ask by their own name",
                'if self.headers.get("Host") not in',
                'if False and self.headers.get("Host") not in',
            ),
            Mistake(
                "the token is not looked at", "elif not hmac.compare_digest(", "elif False and not hmac.compare_digest("
            ),
        ),
    ),
    Mistakes(
        "reactors/tracing/placing.py",
        "tests/tracing/test_predicting.py",
        (
            Mistake("who was placed by hand moves", 'if each["path"] in by_hand and', "if False and"),
            Mistake("nothing is improved", "found = search.improved(found)", "pass"),
        ),
    ),
    Mistakes(
        "reactors/tracing/model.py",
        "tests/tracing/test_predicting.py",
        (
            Mistake(
                "what was slow already is made slower again", "machine.share(self.trace.workers) / there", "1.0 / there"
            ),
            Mistake(
                "time before the first of the path is nobody's", "clock -= float(self.cost[at]) / 1e9", "clock = 0.0"
            ),
        ),
    ),
    Mistakes(
        "reactors/execution/debug_ports.py",
        "tests/execution/bad_programs",
        (
            Mistake(
                "debug mode takes values of any type",
                "if wanted is not None and not isinstance(value, wanted)",
                "if False and not isinstance(value, wanted)",
            ),
        ),
    ),
    Mistakes(
        "reactors/testing/__init__.py",
        "tests/execution/test_testing.py",
        (
            Mistake("outcomes are not compared", "        if not _equal(found[2], first[2]):\n", "        if False:\n"),
            Mistake(
                "NaN is unlike NaN",
                "isinstance(b, NUMBERS) and np.isnan(a) and np.isnan(b):",
                "isinstance(b, NUMBERS) and False:",
            ),
            Mistake(
                "dicts in another order are equal",
                "return list(a) == list(b) and all(",
                "return set(a) == set(b) and all(",
            ),
            Mistake(
                "threads that are left do not count",
                '*(f"{thread}" for thread in threading.enumerate() if thread not in before',
                '*(f"{thread}" for thread in () if thread not in before',
            ),
            Mistake(
                "steps come in the order in which workers made them",
                "for tag, number, late, written, path in sorted(noted, key=lambda each: each[:2]):",
                "for tag, number, late, written, path in noted:",
            ),
        ),
    ),
    Mistakes(
        "reactors/stepwise.py",
        "tests/execution/test_stepwise.py",
        (
            Mistake(
                "others do not hear that the run breaks off",
                "        self._end.detach()\n        engines.abort(self._memory, self._image)\n",
                "        self._end.detach()\n",
            ),
            Mistake("ports stay alive after the last step", "            self._session.binding.detach()\n", ""),
            Mistake(
                "a step that is paused says that it is over",
                "                if paused:\n                    return True",
                "                if paused:\n                    return False",
            ),
            Mistake(
                "the failure of another worker is not raised",
                "for report in self._outcome if report.error is not None]",
                "for report in self._outcome if False]",
            ),
        ),
    ),
)
