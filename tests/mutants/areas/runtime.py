"""Mistakes in the runtime: how a program becomes tables, the pull loop, worker processes and what becomes of them."""

from tests.mutants.planted import Mistake, Mistakes

TOGETHER = "tests/elaboration/test_wiring.py tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_multiports.py"

MISTAKES = (
    Mistakes(
        "runtime/reactors_runtime/planning/delays.py",
        TOGETHER,
        (
            Mistake(
                "the least delay between workers is that of the last tap",
                "if i != j and delay is not None and delay < (times[i, j], microsteps[i, j]):",
                "if i != j and delay is not None:",
                "tests/elaboration/test_wiring.py tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py",
            ),
            Mistake(
                "delays of a path add their microsteps whatever time passes",
                "steps = np.where(more > 0, microsteps[None, k, :], microsteps[:, k, None] + microsteps[None, k, :])",
                "steps = microsteps[:, k, None] + microsteps[None, k, :]",
                "tests/runtime/test_image.py",
            ),
            Mistake(
                "a wait is for the first of several writers",
                "max(waits.get((source.worker, offset), -1), source.writers[-1])\n    return waits\n\n\ndef before_tag",
                "max(waits.get((source.worker, offset), -1), source.writers[0])\n    return waits\n\n\ndef before_tag",
                TOGETHER + " tests/oracle/test_oracle.py",
            ),
            Mistake(
                "no worker waits for a stop",
                "if source.worker != worker:\n            waits",
                "if source.worker < 0:\n            waits",
                "tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/oracle/test_oracle.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/planning/plan.py",
        TOGETHER,
        (
            Mistake(
                "word and bit of a mode's reactions are those of the program",
                "1 << (local - part.first_of_word[-1])",
                "1 << (number - part.first_of_word[-1])",
                "tests/semantics/test_modes.py",
            ),
            Mistake(
                "rows of a multiport that lie apart are one block",
                "if row.block >= 0 or e.dtype != like.dtype or e.shape != like.shape:",
                "if row.block >= 0:",
                "tests/runtime/test_image.py",
            ),
            Mistake(
                "physical connections share a tap in a log",
                "e.mode, element if e.physical and self.options.plain else -1",
                "e.mode, -1",
                "tests/execution/test_record.py",
            ),
            Mistake(
                "an action that only outsiders schedule is not there",
                "self._door(self.placement[e.reactor], element)",
                "pass",
                "tests/semantics/test_physical_time.py",
            ),
            Mistake(
                "startup and reset of a mode share a cell",
                "known = self.mode_cells.get((e.mode, e.kind))",
                "known = self.mode_cells.get((e.mode, Kind.STARTUP))",
                "tests/semantics/test_modes.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/planning/filling.py",
        TOGETHER,
        (
            Mistake(
                "a physical connection is a logical one",
                '"physical": way.physical',
                '"physical": False',
                "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
            ),
            Mistake(
                "a deadline is left out of the tables",
                "deadline = FOREVER if reaction.deadline is None else reaction.deadline",
                "deadline = FOREVER",
                "tests/semantics/test_deadlines.py",
            ),
            Mistake(
                "a reaction with a deadline may share a batch",
                "flags |= lib.RX_ALONE if reaction.deadline is not None else 0",
                "flags |= 0",
                "tests/semantics/test_deadlines.py",
            ),
            Mistake(
                "the deadline of a native reaction is not looked at",
                "lib.RX_NATIVE if reaction.deadline is None else lib.RX_NATIVE_DUE",
                "lib.RX_NATIVE",
                "tests/semantics/test_deadlines_of_native_reactions.py",
            ),
            Mistake(
                "min_spacing is left out of the tables",
                '"min_spacing": e.min_spacing',
                '"min_spacing": -1',
                "tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "the policy is left out of the tables",
                '"policy": e.policy',
                '"policy": 0',
                "tests/semantics/test_timers_and_actions.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/planning/image.py",
        TOGETHER,
        (
            Mistake(
                "the timeout is forgotten",
                "image.timeout.time = FOREVER if options.timeout is None else options.timeout",
                "image.timeout.time = FOREVER",
                "tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
            Mistake(
                "keepalive is forgotten",
                "options.fast, options.keepalive\n",
                "options.fast, False\n",
                "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
            ),
            Mistake(
                "a replay ends at its timeout",
                "image.timeout.time, image.timeout.microstep = options.replay.stop",
                "pass",
                "tests/execution/test_record.py",
            ),
            Mistake(
                "every second slot of a block is another's",
                "row.data, row.stride = start + i * row.bytes, size",
                "row.data, row.stride = start + i * row.bytes, size - row.bytes",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/planning/ranks.py",
        "tests/runtime/test_overlap.py tests/oracle/test_oracle.py",
        (
            Mistake(
                "what needs other workers is not put last",
                "need = max(need, reactions[w].level + 1)",
                "need = max(need, 0)",
            ),
            Mistake("reactions of one reactor may change places", "need = last.get(reaction.reactor, 0)", "need = 0"),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/planning/placement.py",
        "tests/elaboration/test_graph.py tests/elaboration/test_wiring.py",
        (
            Mistake(
                "what a member of a bank contains is on worker 0",
                "if not (inside and reactor.path.startswith(inside)):",
                "if True:",
                "tests/elaboration/test_placement.py tests/elaboration/test_graph.py",
            ),
            Mistake(
                "what a placed reactor contains stays where it was",
                "if worker is None and container in chosen:",
                "if False:",
                "tests/elaboration/test_placement.py tests/elaboration/test_graph.py",
            ),
            Mistake(
                "placement by a dict reaches direct children alone",
                "placed[i] = chosen[reactor.path] = worker",
                "placed[i] = worker\n        if choice and not callable(choice) and reactor.path in choice:\n            chosen[reactor.path] = worker",
                "tests/elaboration/test_placement.py tests/elaboration/test_graph.py",
            ),
            Mistake(
                "members of a bank are dealt out in turn",
                "index * workers // width",
                "index % workers",
                "tests/elaboration/test_placement.py tests/elaboration/test_graph.py",
            ),
            Mistake(
                "what lies in a mode may be anywhere",
                "placed[i] = placed[program.modes[reactor.mode].reactor]",
                "pass",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
            Mistake(
                "one worker more can be named than there is",
                "not 0 <= worker < workers:",
                "not 0 <= worker <= workers:",
                "tests/elaboration/test_placement.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/engine.py",
        "tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
        (
            Mistake(
                "what fails after an abort looks like a failure of its own",
                "aftermath=self.failed, ",
                "aftermath=False, ",
                "tests/execution/bad_programs tests/faults/test_exceptions.py",
            ),
            Mistake(
                "a later failure takes the place of the first",
                "        if before is None:\n            return error\n",
                "        if True:\n            return error\n",
                "tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py tests/execution/bad_programs",
            ),
            Mistake(
                "others do not hear of a failure",
                "            lib.rx_abort(self.base, code)\n        lib.rx_fail",
                "            pass\n        lib.rx_fail",
                "tests/faults/test_exceptions.py tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
            Mistake(
                "the second Ctrl-C waits like the first",
                "if isinstance(failure, KeyboardInterrupt):  # the second",
                "if False:  # the second",
                "tests/faults/test_interrupts.py",
            ),
            Mistake(
                "a mode may be entered that was not declared",
                "if running < 0 or mode not in self.image.program.reactions[running].transitions:",
                "if running < 0:",
                "tests/execution/bad_programs tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
            Mistake(
                "any reaction may stop the program",
                "if reaction.reactor == reactor and self.doors[door] & lib.RX_WRITABLE:",
                "if reaction.reactor == reactor:",
                "tests/execution/bad_programs tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
            Mistake(
                "a deadline of zero is met when it is asked for",
                "missed = not deadline or self.physical_time()",
                "missed = self.physical_time()",
                "tests/semantics/test_deadlines.py",
            ),
            Mistake(
                "looks at a deadline are not counted",
                "self._looks[1] + 1 if self._looks[0] == look else 0",
                "0",
                "tests/execution/test_record.py",
            ),
            Mistake(
                "the log stays open",
                "                os.close(descriptor)\n",
                "                pass\n",
                "tests/execution/test_record.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/values.py",
        "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/elaboration/test_wiring.py",
        (
            Mistake(
                "two readers of an object have two",
                "        self._cached = key, value\n",
                "",
                "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/shipping/test_shipping.py",
            ),
            Mistake(
                "a value of another tag is read again",
                "key = where, self._engine.tag()",
                "key = where, (0, 0)",
                "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_tags.py tests/elaboration/test_wiring.py",
            ),
            Mistake(
                "two values of one tag are one object where they lay in one slot",
                "None if shared else self.engine.part.door_cells[self.engine.part.doors[element]]",
                "None if shared else -at_hand",
                "tests/runtime/test_slots.py",
            ),
            Mistake(
                "an object that outgrows its slot is cut off",
                "if record.capacity < len(data):",
                "if not record.capacity:",
                "tests/runtime/test_large_values.py",
            ),
            Mistake(
                "buffers of a pickle begin anywhere",
                "        at += -at % 64\n",
                "",
                "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/shipping/test_shipping.py",
            ),
            Mistake(
                "arrays that are read can be written",
                "    view.flags.writeable = False\n",
                "",
                "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/execution/bad_programs",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/encoding.py",
        "runtime/reactors_runtime/encoding.py tests/execution/test_record.py",
        (
            Mistake(
                "True comes back as False",
                'return kind == b"T", at',
                'return kind == b"F", at',
                "tests/runtime/test_encoding.py",
            ),
            Mistake(
                "a tuple comes back as a list",
                'return (items if kind == b"l" else tuple(items)), at',
                "return items, at",
                "tests/runtime/test_encoding.py",
            ),
            Mistake(
                "what follows the values is not noticed",
                "if end != len(data):",
                "if end > len(data):",
                "tests/runtime/test_encoding.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/processes/workers.py",
        "tests/faults",
        (
            Mistake(
                "the last error of a worker counts",
                "        if report.error is None:\n            self.errors += 1",
                "        if True:\n            self.errors += 1",
                "tests/faults/test_exceptions.py tests/execution/bad_programs",
            ),
            Mistake(
                "others go on when a worker has failed",
                "            report.error.add_note(engine.besides(self.image.program, error, aftermath=True))\n        self.stop(engine.ABORTED)",
                "            report.error.add_note(engine.besides(self.image.program, error, aftermath=True))",
                "tests/faults/test_exceptions.py tests/faults/test_death.py",
            ),
            Mistake(
                "Ctrl-C twice is Ctrl-C once",
                "        if count > 1:\n",
                "        if count > 2:\n",
                "tests/faults/test_interrupts.py",
            ),
            Mistake(
                "descriptors of crashes stay open",
                "                os.close(descriptor)\n        servers.prepare",
                "                pass\n        servers.prepare",
                "tests/faults/test_death.py tests/faults/test_exceptions.py",
            ),
            Mistake(
                "what workers imported is forgotten",
                "servers.prepare(self.server, self.modules)",
                "servers.prepare(self.server, ())",
                "tests/runtime/test_setting.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/processes/worker.py",
        "tests/runtime/test_setting.py tests/faults/test_exceptions.py tests/shipping/test_shipping.py",
        (
            Mistake(
                "a worker has the environment of its server",
                "    os.environ.clear()\n    os.environ.update(setting.environment)\n",
                "",
            ),
            Mistake("a worker is in another folder", "    os.chdir(setting.directory)\n", ""),
            Mistake("a worker has other arguments", "    sys.argv[:] = setting.arguments\n", ""),
            Mistake(
                "all workers draw the same numbers", '        sys.modules["numpy.random"].seed()\n', "        pass\n"
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/processes/stuck.py",
        "tests/faults/test_stuck.py",
        (
            Mistake(
                "who waits for others counts as stuck",
                'for sleeps in self._bells["sleeps"].tolist()]',
                'for _ in self._bells["sleeps"].tolist()]',
            ),
            Mistake(
                "who has ended is stuck", "if now - since >= AFTER_S and not finished", "if now - since >= AFTER_S"
            ),
            Mistake("a stuck run is reported again and again", "        self._said.add(what)\n", ""),
            Mistake(
                "whom a stopped program waits for is never said",
                "self._due = time.monotonic() + _NOTICE_S",
                "self._due = math.inf",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/processes/remote_logging.py",
        "tests/runtime/test_logging.py",
        (
            Mistake(
                "handlers of a module write on the worker, too",
                "                logger.handlers, logger.filters, logger.propagate = [], [], True\n",
                "",
            ),
            Mistake("levels are those of the server", "                logger.level, logger.disabled = state\n", ""),
            Mistake(
                "the last records of a run are lost",
                "            while True:\n                self._handle()\n",
                "            pass\n",
                "tests/runtime/test_logging.py::test_what_is_left_of_the_workers_records_when_a_run_ends_is_handled",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/settings/value_settings.py",
        "tests/runtime/test_value_settings.py",
        (
            Mistake(
                "each worker has a context of decimals by default",
                "        decimal.setcontext(decimal.Context(**self.decimals))\n",
                "",
            ),
            Mistake("filters of warnings stay behind", "        self._filter_warnings()\n", ""),
            Mistake(
                "torch keeps its defaults where it is imported later",
                '            when_imported("torch", self._accept_torch)\n',
                '            self._accept_torch(sys.modules["torch"]) if "torch" in sys.modules else None\n',
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/processes/server.py",
        "tests/faults/test_interrupts.py tests/faults/test_start.py tests/runtime/test_setting.py",
        (
            Mistake("workers outlive their server", "            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)\n", ""),
            Mistake(
                "a server that is left alone lives on",
                '                elif descriptor == self.caller:\n                    raise EOFError("the caller is gone")',
                "                elif descriptor == self.caller:\n                    continue",
                "tests/faults/test_interrupts.py::test_a_server_ends_with_its_caller_though_a_fork_of_that_lives_on",
            ),
            Mistake(
                "a module that starts a thread is imported for all",
                'if len(os.listdir("/proc/self/task")) > 1 or',
                "if False or",
            ),
            Mistake(
                "how a worker was killed is reported as its exit status",
                "else -end.si_status)",
                "else end.si_status)",
                "tests/faults/test_death.py",
            ),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/processes/servers.py",
        "tests/runtime/test_setting.py tests/faults/test_start.py",
        (
            Mistake("a server of another setting is lent", "if server.key == key and not readable", "if not readable"),
            Mistake(
                "a server that has died is lent",
                "if server.key == key and not readable([server.fileno()], 0):",
                "if server.key == key:",
            ),
            Mistake(
                "a second idle server is never ended",
                "        if surplus is not None:\n            surplus.close()",
                "        del surplus",
            ),
            Mistake("a fork shares the server of its parent", "os.register_at_fork(after_in_child=_idle.forget)\n", ""),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/memory.py",
        "tests/faults/test_start.py tests/execution/bad_programs tests/elaboration/bad_programs/test_too_large.py runtime/reactors_runtime/memory.py",
        (
            Mistake("memory that there is not is asked for", "if size > free:", "if False:"),
            Mistake(
                "the smallest shares are named", "key=lambda share: -share[1])[:5]", "key=lambda share: share[1])[:5]"
            ),
            Mistake("the descriptor of shared memory stays open", "            os.close(self.descriptor)\n", ""),
        ),
    ),
    Mistakes(
        "runtime/reactors_runtime/processes/interrupts.py",
        "tests/faults/test_interrupts.py",
        (
            Mistake(
                "Ctrl-C never works again",
                "            signal.signal(signal.SIGINT, signal.default_int_handler)\n",
                "            pass\n",
            ),
            Mistake(
                "a user's own handler is taken away",
                "            and signal.getsignal(signal.SIGINT) is signal.default_int_handler\n",
                "",
            ),
        ),
    ),
)
