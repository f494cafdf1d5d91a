"""Mistakes in replay, from its tree in C to the reactor around it."""

from tests.mutants.planted import Mistake, Mistakes

REPLAY = "csrc/rl/tests/test_replay.c tests/rl/replay/test_replay_buffer.py tests/rl/replay/test_replay_episodes.py"

MISTAKES = (
    Mistakes(
        "csrc/rl/sumtree/tree.inc",
        "csrc/rl/tests/test_sumtree.c tests/rl/replay/test_sum_tree.py",
        (
            Mistake(
                "a search ends in a slot without priority",
                "left = (OF(vector))((OF(mask))left | (OF(mask))(right == none));",
                "(void)none;",
            ),
            Mistake(
                "a mass at the border belongs to the left",
                "pair_mask beyond = mass >= left;",
                "pair_mask beyond = mass > left;",
            ),
            Mistake("rows of two levels are taken for one", "        numbered += t->entries[i] >> t->shift;\n", ""),
            Mistake(
                "NaN is a priority",
                "if ((uint64_t)slots[i] >= t->capacity || !(v >= 0 && v < (REAL)INFINITY)) return i;",
                "if ((uint64_t)slots[i] >= t->capacity || v < 0 || v == (REAL)INFINITY) return i;",
            ),
            Mistake(
                "sums that others changed meanwhile stay as they are",
                "    if (is_alone(t, w)) return;\n",
                "    return;\n",
            ),
            Mistake("the least priority is 0", "v = (OF(vector))((OF(mask))v | (OF(mask))(v == none));", "(void)none;"),
        ),
    ),
    Mistakes(
        "csrc/rl/sumtree/sumtree.c",
        "csrc/rl/tests/test_sumtree.c tests/rl/replay/test_sum_tree.py",
        (Mistake("all strata are one", "((double)i + x) / (double)n * total;", "x * total;"),),
    ),
    Mistakes(
        "csrc/rl/replay/rows.c",
        REPLAY,
        (
            Mistake(
                "an earlier row takes the place of a later one",
                "        if (old >> RX__NUMBER > number + 1) return 0;\n",
                "",
            ),
            Mistake(
                "a priority goes to the row that took the place",
                "if (old >> RX__NUMBER != number + 1 || old & RX__WRITING) return 0;",
                "if (old & RX__WRITING) return 0;",
            ),
            Mistake(
                "a row whose priority changes may be written over",
                "} while (!rx__swap_if(word, &old, old + RX__HELD));\n    return 1;",
                "} while (0);\n    return 1;",
            ),
            Mistake(
                "a row that was updated stays held",
                "} while (!rx__swap_if(word, &old, old - RX__HELD));",
                "} while (0);",
            ),
            Mistake("updates do not raise the greatest priority", "        note_greatest(r, m, p);\n", ""),
            Mistake(
                "late updates are not counted", "if (there < n) rx__add(&r->header->late, (uint64_t)(n - there));\n", ""
            ),
            Mistake(
                "rows that are gone have a priority",
                ">> RX__NUMBER != number + 1) priorities[i] = 0;",
                ">> RX__NUMBER == 0) priorities[i] = 0;",
            ),
            Mistake(
                "positions in an episode go on after its end",
                "ends_at(r, from, strides, first) ? 0 : step + 1",
                "step + 1",
            ),
            Mistake(
                "a row whose frames are gone is there",
                "if (last + 1 - r->shape.stack + r->shape.n_frames < written) return 1;",
                "if (last + r->shape.n_frames < written) return 1;",
            ),
        ),
    ),
    Mistakes(
        "csrc/rl/replay/sample.c",
        REPLAY,
        (
            Mistake("rows that are being written are sampled", "&& !((now | words[i]) & RX__WRITING);", ";"),
            Mistake(
                "rows that changed while they were copied are sampled",
                "number && number == words[i] >> RX__NUMBER &&",
                "number &&",
            ),
            Mistake(
                "importance weights are upside down",
                "(float)(least / priorities[i]);",
                "(float)(priorities[i] / least);",
            ),
            Mistake(
                "the least priority of the batch does not count",
                "least = priorities[i] < least ? priorities[i] : least;",
                "least = least;",
            ),
            Mistake(
                "streams that are short are drawn like long ones",
                "        if (k < next - first) return slot_of(r, stream, first + k);\n        uniform",
                "        if (next - first) return slot_of(r, stream, first + k % (next - first));\n        uniform",
            ),
            Mistake(
                "sequences reach over the end of an episode",
                "__atomic_load_n(&row->step, __ATOMIC_RELAXED) < steps || ",
                "",
            ),
            Mistake(
                "sequences begin before what is left", " || number - 1 < first + steps) return -1;", ") return -1;"
            ),
            Mistake("sequences that are rare are not found", ": last_by_count(r, steps, *uniform);", ": -1;"),
            Mistake("of sequences that are rare the first is drawn", "if (!k--) break;", "break;"),
            Mistake("rows of a rare stream are not found", "return draw_by_count(r, uniform);", "return -1;"),
            Mistake(
                "the last row is never drawn",
                "uint64_t all = e.longest * r->n_streams;",
                "uint64_t all = e.longest > 1 ? e.longest * r->n_streams - 1 : r->n_streams;",
            ),
        ),
    ),
    Mistakes(
        "csrc/rl/replay/fold.c",
        REPLAY,
        (
            Mistake("the first reward of a return is discounted", "double factor = 1;", "double factor = a->gamma;"),
            Mistake(
                "returns of several steps reach over a truncation",
                "int over = *((const uint8_t *)from[a->terminated] + (uint64_t)i * strides[a->terminated]) ||",
                "int over = *((const uint8_t *)from[a->terminated] + (uint64_t)i * strides[a->terminated]) || 0 &&",
            ),
            Mistake(
                "the discount of what follows is one step short",
                "for (uint32_t step = j; step < waiting; step++) end",
                "for (uint32_t step = j + 1; step < waiting; step++) end",
            ),
            Mistake(
                "what follows is the first step's",
                "            overlay(a, offsets, bytes, roles, 1, from, strides, i, row);\n",
                "",
            ),
            Mistake(
                "environments share a queue",
                "uint64_t stream = streams ? (uint64_t)streams[i] : 0;",
                "uint64_t stream = 0;",
            ),
        ),
    ),
    Mistakes(
        "csrc/rl/replay/frames.c",
        REPLAY,
        (
            Mistake(
                "frames are taken to continue",
                "int goes_on = !memcmp(next, obs + bytes, (k - 1) * bytes);",
                "int goes_on = 1;",
            ),
            Mistake("frames that rows still need are written over", "if (number >= r->shape.n_frames) {", "if (0) {"),
            Mistake(
                "the last frame alone says what is there",
                "for (uint64_t i = n; i-- > 0;)      /*",
                "for (uint64_t i = n; i-- > n - 1;)      /*",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/replay/replay.py",
        "tests/rl/replay/test_replay.py",
        (
            Mistake("a batch is due every row", "self._learnable / self.train_every + 1e-6", "self._learnable + 1e-6"),
            Mistake(
                "rows before the start count for the ratio",
                "            self._learnable = 0\n            return",
                "            return",
            ),
            Mistake(
                "one batch is drawn however many are due",
                "            if due > self._drawn:\n                self.more",
                "            if False:\n                self.more",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/replay/draws.py",
        "tests/rl/dataflow/test_experience.py",
        (
            Mistake(
                "answers go to the newest batch",
                "self.unanswered.popleft()",
                "self.unanswered.pop()",
                "tests/rl/replay/test_replay.py tests/rl/dataflow/test_experience.py",
            ),
            Mistake("priorities come to the wrong rows", "popleft(), priorities)", "popleft(), priorities[::-1])"),
        ),
    ),
    Mistakes(
        "reactors/rl/replay/buffer.py",
        "tests/rl/replay/test_replay_buffer.py tests/rl/replay/test_replay.py tests/rl/replay/test_replay_episodes.py",
        (
            Mistake(
                "a batch in a program has no importance weights",
                '"beta"), into, slots, indices, priorities, weights',
                '"beta"), into, slots, indices, priorities, ffi.NULL',
            ),
            Mistake(
                "a batch in a program has no discount",
                '            record["discount"] = self.config.gamma\n',
                "            pass\n",
            ),
            Mistake(
                "a uniform batch in a program has weights of nothing",
                '            record["weights"] = 1\n',
                "            pass\n",
            ),
            Mistake(
                "stratified draws are not",
                "self._how = (2 if config.stratified else 1) if config.prioritized else 0",
                "self._how = 1 if config.prioritized else 0",
            ),
        ),
    ),
    Mistakes(
        "reactors/rl/replay/n_step.py",
        "tests/rl/replay/test_replay_episodes.py tests/rl/replay/test_replay_saving.py",
        (
            Mistake(
                "truncation is that of the first step",
                'LAST = ("next_obs", "next_acted", "next_masks", "next_state", "terminated", "truncated")',
                'LAST = ("next_obs", "next_acted", "next_masks", "next_state", "terminated")',
            ),
            Mistake("a saved buffer forgets what waits", "            array[:] = state[name]\n", "            pass\n"),
        ),
    ),
    Mistakes(
        "reactors/lossless.py",
        "tests/rl/replay/test_replay_buffer.py tests/rl/algorithms/test_chosen.py",
        (
            Mistake("parts of whole numbers are lost", "(rounds and a % 1 != 0)", "(a % 1 != 0)"),
            Mistake("2**63 is an int64", "int(np.iinfo(dtype).max)\n", "int(np.iinfo(dtype).max) + 1\n"),
            Mistake(
                "finite numbers become infinite", "~(np.isinf(there) & np.isfinite(given))", "np.isfinite(given) | True"
            ),
        ),
    ),
)
