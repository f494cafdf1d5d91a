"""Mistakes in the half of the C core that deals with other workers (csrc/peers.h): values, waiting, the protocol."""

from tests.mutants.planted import Mistake, Mistakes

PROTOCOL = "csrc/tests/test_channel.c csrc/tests/test_worker.c csrc/tests/test_random.c csrc/tests/test_stress.c"

MISTAKES = (
    Mistakes(
        "csrc/values.c",
        PROTOCOL,
        (
            Mistake(
                "a value that was sent is kept though its event is over",
                "        no_need_of(w, payload);\n",
                "",
                "csrc/tests/test_inbox.c",
            ),
            Mistake(
                "what is copied out keeps its slot",
                "    rx__add32(refs_of(w, sub->refs, slot), UINT32_MAX);\n    return value;",
                "    return value;",
            ),
            Mistake(
                "a value with several readers keeps its slot for ever",
                "payload), sub->n_taps - 1);",
                "payload), sub->n_taps);",
                PROTOCOL,
            ),
            Mistake(
                "a value is given back by its first reader",
                "if (sub->mode == RX_SLOTS && sub->n_taps > 1)",
                "if (0)",
                PROTOCOL,
            ),
            Mistake(
                "a slot that is in use is written over",
                "if (!rx__get32(refs_of(w, s->refs, slot))) {",
                "if (slot + 1 == s->slots || !rx__get32(refs_of(w, s->refs, slot))) {",
                PROTOCOL,
            ),
            Mistake(
                "values that others still need are given back",
                "w->taps[i].done < least) least",
                "w->taps[i].done > least) least",
                "csrc/tests/test_channel.c csrc/tests/test_random.c tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/oracle/test_oracle.py::test_corners",
            ),
            Mistake(
                "a copy has no header",
                "return rx__copy_at(cell->payload) + 1;",
                "return rx__copy_at(cell->payload);",
                "csrc/tests/test_channel.c tests/model/test_native.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/bell.c",
        "csrc/tests/test_shared.c csrc/tests/test_random.c csrc/tests/test_stress.c",
        (
            Mistake(
                "no worker is concerned by another's progress",
                "if (producer != w->index) return",
                "return 0;\n    if (producer != w->index) return",
                "tests/runtime/test_wakeups.py csrc/tests/test_shared.c",
            ),
            Mistake(
                "a mate is not woken when another begins the tag",
                "rx__less(rx__get_tag(&rx__line(w->base, sleeper)->passed), p->head)) return 1;",
                "rx__less(rx__get_tag(&rx__line(w->base, sleeper)->passed), p->head)) return 0;",
                "tests/runtime/test_wakeups.py csrc/tests/test_shared.c",
            ),
            Mistake(
                "an abort wakes worker 0 alone",
                "workers; i++) rx__ring_bell(base, i);",
                "workers && i < 1; i++) rx__ring_bell(base, i);",
                "tests/runtime/test_wakeups.py csrc/tests/test_shared.c",
            ),
            Mistake(
                "virtual time passes while a worker is busy",
                "if (rx__get_fenced(&bell->looked) < changes) return 0;",
                "",
                "csrc/tests/test_inbox.c tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py tests/semantics/test_deadlines.py",
            ),
            Mistake(
                "virtual time jumps to the last that any worker waits for",
                "if (its < *until) *until = its;",
                "if (its != INT64_MAX) *until = its;",
                "csrc/tests/test_inbox.c tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py tests/semantics/test_deadlines.py",
            ),
            Mistake(
                "who is rung counts as asleep until it runs",
                "    rx__clear_bits(&rx__image(base)->sleepers, 1ull << worker);\n",
                "",
                "csrc/tests/test_cores.c",
            ),
        ),
    ),
    Mistakes(
        "csrc/cores.c",
        "csrc/tests/test_cores.c",
        (
            Mistake(
                "a waiter spins where another worker is to run",
                "== rx__peers_of(w)->core) return 1;",
                "== rx__peers_of(w)->core) return 0;",
            ),
            Mistake(
                "a sleeper is in the way",
                "if (i != w->index && !(asleep >> i & 1) &&",
                "if (i != w->index &&",
            ),
            Mistake(
                "who has moved off may not come back",
                "    sched_setaffinity(0, sizeof all, &all);\n",
                "",
            ),
            Mistake(
                "moving in vain costs no patience",
                "p->patience *= 2;",
                "p->patience += 0;",
            ),
            Mistake(
                "patience that was lost does not come back",
                "p->patience > RX_PATIENCE) p->patience--;",
                "p->patience > 2 * MOST_PATIENCE) p->patience--;",
            ),
            Mistake(
                "a worker moves off though it may not",
                "if (!w->image->moves_off || ",
                "if (",
            ),
        ),
    ),
    Mistakes(
        "csrc/line.c",
        PROTOCOL,
        (
            Mistake(
                "a publisher wakes no sleeper",
                "    p->head = head;\n    rx__wake(w);",
                "    p->head = head;",
                "csrc/tests/test_shared.c tests/runtime/test_wakeups.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/inbox.c",
        "csrc/tests/test_inbox.c tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
        (
            Mistake(
                "a physical action has no extra delay",
                "rx__add_ns(now, rx__add_ns(min_delay, delay));",
                "rx__add_ns(now, min_delay);",
            ),
            Mistake(
                "a physical action has no min_delay",
                "rx__add_ns(now, rx__add_ns(min_delay, delay));",
                "rx__add_ns(now, delay);",
            ),
            Mistake(
                "an inbox that is full takes one more",
                "- rx__get(&inbox->head) == inbox->capacity;",
                "- rx__get(&inbox->head) > inbox->capacity;",
            ),
            Mistake(
                "a send rings no bell",
                "if (open > 0) rx__ring_bell(base, worker);\n",
                "",
                "csrc/tests/test_inbox.c tests/runtime/test_wakeups.py",
            ),
            Mistake(
                "an event from outside has a tag that is over",
                "rx__greatest(rx__tag(e->time, 0), soonest)",
                "rx__tag(e->time, 0)",
            ),
            Mistake(
                "after the end events are still taken",
                "int open = (int)rx__get32(&inbox->open) && !rx__get32(&image->abort);",
                "int open = 1;",
                "csrc/tests/test_inbox.c tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/frontier.c",
        "csrc/tests/test_frontier.c csrc/tests/test_random.c csrc/tests/test_stress.c",
        (
            Mistake(
                "a channel is complete before its writer has run",
                "p->rank[from] > wait->writer) return 1;",
                "p->rank[from] >= wait->writer) return 1;",
            ),
            Mistake(
                "a channel is complete when its producer begins the tag",
                "if (rx__less(last, p->passed[from])) return 1;",
                "if (!rx__less(p->passed[from], last)) return 1;",
            ),
            Mistake(
                "what arrives at this very tag does not count",
                "return rx__less(g, rx__plus(p->may[from], wait->offset));",
                "return !rx__less(rx__plus(p->may[from], wait->offset), g);",
            ),
            Mistake(
                "the kept bound leaves the echo out",
                "        bound = rx__least(bound, rx__plus(p->own[j], rx__plus(p->delays[j * n + m], p->delays[m * n + j])));\n",
                "",
            ),
            Mistake(
                "messages on their way do not bound others",
                "            p->own[b] = rx__least(p->own[b], rx__plus(sent, p->direct[a * n + b]));\n",
                "",
            ),
            Mistake(
                "messages on their way do not keep the program going",
                "            p->idle_everywhere = 0;\n            p->own[b] = rx__least(p->own[b], rx__plus(sent, ",
                "            p->own[b] = rx__least(p->own[b], rx__plus(sent, ",
            ),
            Mistake(
                "a picture may be of different moments",
                "if (rx__get(&rx__line(w->base, i)->version) != versions[i]) return 0;",
                "(void)versions;",
            ),
            Mistake("a stop that others may prevent is certain", "p->stop_is_certain = 0;", "p->stop_is_certain = 1;"),
            Mistake(
                "a worker with an inbox is trusted by its head alone",
                "else p->own[i] = tables[i].physical ? rx__head_with_outside(w->base, i, head, p->passed[i], clock) : head;",
                "else p->own[i] = head;",
                "csrc/tests/test_inbox.c tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/channel.c",
        PROTOCOL,
        (
            Mistake(
                "a message wakes no sleeper",
                "p->sent_to |= 1ull << sub->consumer;\n",
                "",
                "tests/runtime/test_wakeups.py csrc/tests/test_channel.c",
            ),
            Mistake(
                "a ring has room for a message of a tag that sends several",
                "if (!rx__ring_fits(p->out[consumer], p->most[consumer])) return 0;",
                "if (!rx__ring_fits(p->out[consumer], 1)) return 0;",
            ),
            Mistake(
                "nothing is copied out of the upper half",
                "if (sub->mode == RX_SLOTS && !soon && payload >= sub->slots / 2)",
                "if (sub->mode == RX_SLOTS && !soon && payload > sub->slots)",
                PROTOCOL
                + " tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py tests/oracle/test_oracle.py::test_corners",
            ),
            Mistake(
                "what arrives over a physical connection overtakes what was sent before",
                "arrival = tap->last = rx__greatest(arrival, rx__next_microstep(tap->last));",
                "tap->last = arrival;",
                "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
            ),
            Mistake(
                "an arrival over a physical connection is not recorded",
                "if (w->record >= 0) rx__log_arrival(w, tap, arrival);\n",
                "",
                "tests/execution/test_record.py",
            ),
            Mistake(
                "the last request to stop counts",
                "w->stop = rx__least(w->stop, arrival);",
                "w->stop = arrival;",
                "csrc/tests/test_worker.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
            Mistake(
                "a worker says that it has passed what it has yet to run",
                "if (w->sources[w->unsent[i]].writer < position)",
                "if (w->sources[w->unsent[i]].writer <= position)",
                "csrc/tests/test_random.c csrc/tests/test_stress.c tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/elaboration/test_wiring.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/team.c",
        "csrc/tests/test_random.c csrc/tests/test_frontier.c csrc/tests/test_stress.c",
        (
            Mistake(
                "the program starves at the tag of the slowest",
                "last = rx__greatest(last, p->passed[i]);",
                "last = p->passed[i];",
            ),
            Mistake(
                "complete is not yet in the queue",
                "if (p->looked) rx__drain(w);                     /* complete means: in the ring */\n",
                "",
            ),
            Mistake(
                "reactions that messages might trigger are not looked at",
                "    p->visiting = !all_late;\n",
                "    p->visiting = 0;\n",
            ),
            Mistake("a reaction that was not triggered runs", "if (!(w->triggered[word] & bit)) {", "if (0) {"),
            Mistake(
                "triggers of the last tag are remembered",
                "            memset(w->triggered, 0, w->t->n_words * sizeof *w->triggered);\n",
                "",
            ),
            Mistake(
                "who waits for a channel does not say for which",
                "    p->want = rx__minus(g, wait->offset);\n    p->want_rank",
                "    p->want_rank",
                "tests/runtime/test_wakeups.py",
            ),
            Mistake(
                "in a team a program that is kept alive starves",
                "&& !p->knows_starved && !w->image->keepalive, looked = 0;",
                "&& !p->knows_starved, looked = 0;",
                "csrc/tests/test_inbox.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
            Mistake(
                "a mate's earlier tag is passed over", "if (p->mate[i]) g = rx__least(g, p->events[i]);", "(void)i;"
            ),
        ),
    ),
    Mistakes(
        "csrc/worker.c",
        "csrc/tests/test_worker.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
        (
            Mistake(
                "the first reader of a value is taken for the last",
                "if (*last != RX_NONE || cell->tap == RX_NONE ||",
                "if (cell->tap == RX_NONE ||",
                "csrc/tests/test_channel.c",
            ),
            Mistake(
                "after a failure native reactions do not run",
                "        if (rx__run_unheard(w, index)) continue;\n",
                "        if (w->calls[index].code.function) continue;\n",
                "csrc/tests/test_worker.c",
            ),
            Mistake(
                "shutdown reactions of modes are left out after a failure",
                "    rx__trigger(w, shutdown);\n    rx__shut_modes(w);",
                "    rx__trigger(w, shutdown);",
                "csrc/tests/test_worker.c tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
            ),
            Mistake(
                "after a failure everything else still runs",
                "    memset(w->ready.words, 0, w->t->n_words * sizeof *w->ready.words);\n",
                "",
            ),
            Mistake(
                "who is done lets others wait for room",
                "    rx__drain(w);\n    for (uint32_t i = 0; i < w->workers; i++) {\n        if (i == w->index) continue;",
                "    for (uint32_t i = 0; i < w->workers; i++) {\n        if (i == w->index) continue;",
                "csrc/tests/test_shared.c",
            ),
        ),
    ),
)
