"""Mistakes in declaring and elaborating: connections, levels, banks, modes, durations, layouts."""

from tests.mutants.planted import Mistake, Mistakes

WIRING = "tests/elaboration/test_wiring.py tests/semantics/test_wiring.py"

MISTAKES = (
    Mistakes(
        "reactors/elaboration/connections.py",
        WIRING,
        (
            Mistake(
                "after=0 is no delay",
                "return (ns, 0) if ns else (0, 1)",
                "return (ns, 0)",
                "tests/elaboration/test_wiring.py",
            ),
            Mistake(
                "banks are not interleaved",
                "for channel in alternating(bank)]",
                "for port in bank for channel in _channels([port])]",
            ),
            Mistake(
                "a broadcast repeats each channel in place",
                "return given * (len(taken) // len(given))",
                "return [each for each in given for _ in range(len(taken) // len(given))]",
            ),
            Mistake(
                "a connection may skip a level",
                "return a._container is b._container if isinstance(target, Input) else a._container is b",
                "return True",
                "tests/elaboration/bad_programs/test_connecting.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/elaboration/relays.py",
        "tests/semantics/test_modes.py",
        (
            Mistake(
                "what is under way in a mode arrives while another is active",
                "behind, under_way=wire.mode)",
                "behind)",
            ),
        ),
    ),
    Mistakes(
        "reactors/elaboration/wiring.py",
        "tests/elaboration/bad_programs/test_connecting.py",
        (
            Mistake(
                "a port may have two sources",
                "if other.connection is not each.connection or other.source != each.source:",
                "if False:",
            ),
        ),
    ),
    Mistakes(
        "reactors/elaboration/sources.py",
        WIRING,
        (
            Mistake(
                "a positive delay keeps microsteps gathered before it",
                ", then[1]\n",
                ", first[1] + then[1]\n",
                "reactors/elaboration/sources.py tests/elaboration/test_wiring.py tests/semantics/test_wiring.py",
            ),
            Mistake(
                "microsteps of a path do not add up",
                "return first[0], first[1] + then[1]",
                "return first[0], max(first[1], then[1])",
                "reactors/elaboration/sources.py " + WIRING,
            ),
            Mistake(
                "a way through two connections has the delay of the last",
                "offset, physical = compose(over.offset, later), over.physical or wire.physical",
                "offset, physical = later, over.physical or wire.physical",
            ),
            Mistake(
                "what is behind a physical connection is logical",
                "offset, physical = compose(over.offset, later), over.physical or wire.physical",
                "offset, physical = compose(over.offset, later), wire.physical",
                "tests/semantics/test_physical_time.py",
            ),
            Mistake(
                "layouts are compared with those of the port before",
                "_fitting(tree, elements, tops[below], below, wire)",
                "_fitting(tree, elements, wire.source, below, wire)",
                "tests/elaboration/bad_programs/test_fitting.py tests/elaboration/test_wiring.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/model/connect.py",
        WIRING,
        (
            Mistake(
                "interleaving drops what is behind the shortest",
                "zip_longest(*rows)",
                "zip(*rows)",
                "tests/elaboration/test_wiring.py tests/semantics/test_wiring.py tests/semantics/test_multiports.py",
            ),
            Mistake(
                "an arrow belongs to no mode",
                '"target", location), location, mode=innermost()))',
                '"target", location), location))',
                "tests/elaboration/test_wiring.py",
            ),
            Mistake(
                "connections may be drawn while the program runs",
                "    if executing.program:\n        raise _too_late(connection)\n",
                "",
                "tests/model/bad_programs",
            ),
        ),
    ),
    Mistakes(
        "reactors/elaboration/precedence.py",
        "tests/semantics/test_precedence.py tests/elaboration/test_graph.py tests/oracle/test_oracle.py",
        (
            Mistake(
                "what a reaction uses may be written after it",
                "for ends in (reaction.triggers, reaction.uses):",
                "for ends in (reaction.triggers,):",
            ),
            Mistake(
                "deadlines are not inferred",
                "min([deadlines[r], *(deadlines[after] for after in followers[r])])",
                "deadlines[r]",
                "tests/semantics/test_deadlines.py tests/elaboration/test_graph.py tests/semantics/test_precedence.py",
            ),
            Mistake(
                "a cycle is not noticed",
                "return levels if len(done) == len(followers) else None",
                "return levels",
                "tests/elaboration/bad_programs/test_connecting.py tests/elaboration/test_graph.py",
            ),
            Mistake(
                "reactions of one mode are in no order",
                "            elif own in last:\n                yield last[own], r\n",
                "",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/model/actions.py",
        "tests/semantics/test_timers_and_actions.py",
        (
            Mistake(
                "a timer without a period fires again",
                "return first, 0\n",
                "return first, first\n",
            ),
            Mistake(
                "a timer begins with its period",
                'first = resolved_duration(declared._offset, "offset", self, self._owner)',
                'first = resolved_duration(declared._period or declared._offset, "offset", self, self._owner)',
            ),
            Mistake(
                "an action has no delay of its own",
                'return resolved_duration(self._declared._min_delay, "min_delay", self, self._owner)',
                "return 0",
            ),
            Mistake(
                "an action without a spacing has one of zero",
                "return -1 if given is None",
                "return 0 if given is None",
            ),
            Mistake("every policy defers", "POLICIES[policy]", 'POLICIES["defer"]'),
            Mistake(
                "a policy without a spacing is taken",
                'if policy != "defer" and min_spacing is None:',
                "if False:",
                "tests/model/bad_programs/test_durations.py::test_policies_of_an_action",
            ),
            Mistake(
                "a period of zero is taken where a name stands for it",
                "if period == 0:",
                "if False:",
                "tests/model/bad_programs/test_durations.py::test_zero_or_negative_duration_in_a_parameter",
            ),
            Mistake(
                "an event before the run counts as accepted",
                "            return False\n        return self.schedule(value, delay)",
                "            return True\n        return self.schedule(value, delay)",
                "tests/semantics/test_physical_actions.py::test_an_event_before_the_run_is_not_accepted",
            ),
        ),
    ),
    Mistakes(
        "reactors/model/reactor.py",
        "tests/semantics/test_rules.py tests/model/test_declare.py tests/semantics/test_timers_and_actions.py",
        (
            Mistake(
                "all reactors have one seed",
                'f"{self._run_seed}:{self.path}".encode()',
                'f"{self._run_seed}".encode()',
                "tests/execution/test_seeds.py",
            ),
            Mistake(
                "the seed of the run does not matter",
                'f"{self._run_seed}:{self.path}".encode()',
                'f"{self.path}".encode()',
                "tests/execution/test_seeds.py",
            ),
            Mistake(
                "every look at rng begins again",
                "            self._rng = np.random.default_rng(np.random.SeedSequence(self.seed))\n",
                "            return np.random.default_rng(np.random.SeedSequence(self.seed))\n",
                "tests/execution/test_seeds.py",
            ),
            Mistake(
                "lag has the wrong sign",
                "self.physical_time - self.tag.time",
                "self.tag.time - self.physical_time",
                "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py tests/semantics/test_deadlines.py reactors/execution/clock.py",
            ),
            Mistake(
                "reactors may be made while the program runs",
                '        if executing.program:\n            raise StructureError(\n                f"{article(spelled(cls))}',
                '        if False:\n            raise StructureError(\n                f"{article(spelled(cls))}',
                "tests/model/bad_programs",
            ),
        ),
    ),
    Mistakes(
        "reactors/model/bank.py",
        "tests/model/test_declare.py tests/elaboration/test_wiring.py",
        (
            Mistake(
                "all members of a bank are the first",
                "member._bank_index, member._made_at, member._made_in = i, made",
                "member._bank_index, member._made_at, member._made_in = 0, made",
            ),
            Mistake(
                "nested banks are wired inner index first",
                "members = [member for row in rows for member in row]",
                "members = [row[i] for i in range(max(map(len, rows), default=0)) for row in rows]",
            ),
        ),
    ),
    Mistakes(
        "reactors/model/modes.py",
        "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
        (
            Mistake(
                "history is reset", "return Transition(self, by_reset=False)", "return Transition(self, by_reset=True)"
            ),
            Mistake(
                "reactors share the first value of a state", "else copy.deepcopy(self._initial)", "else self._initial"
            ),
            Mistake(
                "a `with` does not end",
                "        _within.modes = _within.modes[:-1]\n",
                "        pass\n",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
        ),
    ),
    Mistakes(
        "reactors/time.py",
        "tests/model/test_time.py",
        (
            Mistake(
                "a minute has 100 seconds",
                '("min mins minute minutes", 60_000_000_000)',
                '("min mins minute minutes", 100_000_000_000)',
            ),
            Mistake(
                "days of a timedelta do not count", "(value.days * 86_400_000_000 + value.seconds", "(value.seconds"
            ),
            Mistake("what is finer than a nanosecond is rounded", "if ns != int(ns):", "if False:"),
            Mistake("a minus sign is overlooked", "    if ns < 0:\n", "    if ns < -(10**18):\n"),
        ),
    ),
    Mistakes(
        "reactors/model/layout.py",
        "tests/model/test_declare.py tests/elaboration/bad_programs/test_fitting.py",
        (
            Mistake(
                "arrays of any shape fit",
                "return self.dtype == other.dtype and self.shape == other.shape",
                "return self.dtype == other.dtype",
            ),
            Mistake(
                "a port takes values of a base class",
                "return other.type is None or _is_a(other.type, self.type)",
                "return other.type is None or _is_a(other.type, self.type) or _is_a(self.type, other.type)",
            ),
        ),
    ),
    Mistakes(
        "reactors/elaboration/tree.py",
        "tests/elaboration/test_graph.py tests/model/test_declare.py tests/semantics/test_rules.py",
        (
            Mistake(
                "children are elaborated last first",
                "for each in reversed(contents.children))",
                "for each in contents.children)",
            ),
            Mistake(
                "one reactor may be contained twice",
                "if id(reactor) in seen:",
                "if False:",
                "tests/elaboration/bad_programs/test_containing.py",
            ),
            Mistake(
                "two initial modes are taken",
                "if modes and len(initial) != 1:",
                "if modes and not initial:",
                "tests/elaboration/bad_programs/test_containing.py tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
        ),
    ),
)
