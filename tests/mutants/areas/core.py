"""Mistakes in the C core: the protocol between workers, events, modes, waiting; and its doors."""

from tests.mutants.planted import Mistake, Mistakes

PROTOCOL = "csrc/tests/test_channel.c csrc/tests/test_worker.c csrc/tests/test_random.c csrc/tests/test_stress.c"

MISTAKES = (
    Mistakes(
        "csrc/tag.h",
        "csrc/tests/test_tag.c",
        (
            Mistake(
                "time overflows",
                "return a > RX_FOREVER_NS - b ? RX_FOREVER_NS : a + b;",
                "return (int64_t)((uint64_t)a + (uint64_t)b);",
            ),
            Mistake(
                "a positive delay keeps the microstep",
                "rx__tag(time, time == RX_FOREVER_NS ? 0 : offset.microstep)",
                "rx__tag(time, time == RX_FOREVER_NS ? 0 : g.microstep + offset.microstep)",
            ),
            Mistake(
                "the latest tag that still arrives is too late",
                "rx__tag(offset.microstep <= g.microstep ? time : time - 1, UINT64_MAX)",
                "rx__tag(time, UINT64_MAX)",
            ),
        ),
    ),
    Mistakes(
        "csrc/queue.c",
        "csrc/tests/test_queue.c",
        (
            Mistake(
                "events of one tag come out last first", "return a->order < b->order;", "return a->order > b->order;"
            ),
            Mistake(
                "microsteps do not order events",
                "if (a->tag.microstep != b->tag.microstep) return a->tag.microstep < b->tag.microstep;\n",
                "",
            ),
            Mistake("an event rises to the wrong parent", "uint32_t up = (i - 1) / 4;", "uint32_t up = i / 4;"),
            Mistake(
                "the fourth child is never the least",
                "end = child + 4 < h->n ? child + 4 : h->n;",
                "end = child + 3 < h->n ? child + 3 : h->n;",
            ),
            Mistake(
                "what takes the place of a removed event only sinks",
                "if (at && rx__event_before(&last, &h->items[(at - 1) / 4])) rise(h, at, last);\n    else sink",
                "sink",
            ),
        ),
    ),
    Mistakes(
        "csrc/ready.h",
        "csrc/tests/test_ready.c",
        (
            Mistake(
                "a word that still has reactions is taken for empty", "if (!r->words[word]) r->summary", "r->summary"
            ),
            Mistake("only the first 64 words are found", "return (int64_t)r->at * 64 + ", "return "),
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
                "            p->idle_everywhere = 0;\n            p->own[b]",
                "            p->own[b]",
            ),
            Mistake(
                "a picture may be of different moments",
                "if (rx__get(&rx__line(w->base, i)->version) != versions[i]) return 0;",
                "(void)versions;",
            ),
            Mistake("a stop that others may prevent is certain", "p->stop_is_certain = 0;", "p->stop_is_certain = 1;"),
            Mistake(
                "a worker with an inbox is trusted by its head alone",
                "p->own[i] = tables[i].physical ? head_with_outside(w, i, head, clock) : head;",
                "p->own[i] = head;",
                "csrc/tests/test_inbox.c tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
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
        "csrc/modes.c",
        "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
        (
            Mistake(
                "an inner mode is active whatever is around it",
                "machine->current == m && is_active(w, machine->outer);",
                "machine->current == m;",
            ),
            Mistake(
                "what waits in a mode forgets which microstep it is at",
                "left ? e->tag.microstep : e->tag.microstep - w->tag.microstep",
                "e->tag.microstep",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/oracle/test_oracle.py",
            ),
            Mistake("reset does not begin timers again", "timers[i].started = 0;", "timers[i].started = 1;"),
            Mistake(
                "reset remembers the spacing of actions",
                "if (lies_in(w, w->cells[w->actions[i].cell].mode, around)) w->actions[i].last = rx__tag(-1, 0);",
                "",
            ),
            Mistake(
                "reset remembers what arrived last over physical connections",
                "w->taps[tap].last = rx__tag(0, 0);\n",
                "",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/oracle/test_oracle.py",
            ),
            Mistake(
                "startup runs at every entry",
                "if (!mode->entered && mode->startup != RX_NONE)",
                "if (mode->startup != RX_NONE)",
            ),
            Mistake("reset leaves modes inside where they are", "machine->current = machine->initial;\n", ""),
            Mistake(
                "reset keeps a transition that is asked for inside",
                "        machine->next = RX_NONE;\n        machine->current = machine->initial;",
                "        machine->current = machine->initial;",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/oracle/test_oracle.py",
            ),
            Mistake(
                "only active modes are shut down",
                "if (!mode->entered || mode->shutdown == RX_NONE) continue;",
                "if (!mode->active || mode->shutdown == RX_NONE) continue;",
            ),
            Mistake(
                "what waited comes back in another order",
                "    qsort(w->aside.items, w->aside.n, sizeof *w->aside.items, in_order);\n",
                "    (void)in_order;\n",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/oracle/test_oracle.py",
            ),
            Mistake(
                "what waited forgets the spacing",
                "if (w->cells[cell].action != RX_NONE) w->actions[w->cells[cell].action].last = tag;\n",
                "",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/oracle/test_oracle.py",
            ),
            Mistake(
                "the first of several modes counts",
                "    machine->next = mode;     ",
                "    if (machine->next == RX_NONE) machine->next = mode;     ",
            ),
        ),
    ),
    Mistakes(
        "csrc/reaction.c",
        "csrc/tests/test_random.c csrc/tests/test_worker.c tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py",
        (
            Mistake(
                "a missed deadline is not in the digest",
                "(late ? 0xD6E8FEB86659FD93ull : 0)",
                "(late ? 0 : 0)",
                "csrc/tests/test_worker.c tests/semantics/test_deadlines.py",
            ),
            Mistake(
                "the digest does not know which effects were present",
                "p = with_port(p, r->n_reads + k);",
                "p = with_port(p, r->n_reads);",
                "csrc/tests/test_worker.c tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py",
            ),
            Mistake(
                "the first of several writers sends",
                "if (s->writer == index) {",
                "if (s->writer >= index) {",
                "csrc/tests/test_random.c tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py",
            ),
            Mistake(
                "writing stays allowed after a failure",
                "for (uint32_t k = 0; k < r->n_writes; k++) w->doors[w->lists[r->writes + k]] = 0;\n",
                "",
                "csrc/tests/test_worker.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
            ),
            Mistake(
                "a deadline is missed when it is met",
                "rx__now(w) > rx__add_ns(w->tag.time, r->deadline)",
                "rx__now(w) >= rx__add_ns(w->tag.time, r->deadline)",
                "tests/semantics/test_deadlines.py",
            ),
            Mistake(
                "a deadline of zero can be met",
                "return !r->deadline || (w->started",
                "return (w->started",
                "tests/semantics/test_deadlines.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/record.c",
        "tests/execution/test_record.py",
        (
            Mistake(
                "values are under no checksum",
                "return logged->size ? mixed(h, value, logged->size) : h;",
                "(void)value;\n    return h;",
            ),
            Mistake("every reaction is late where one was", "if (all[low].number == reaction) return 1;", "return 1;"),
            Mistake(
                "a log that is cut short on a full disk goes unnoticed",
                "written == (ssize_t)(sizeof logged + size) ? 0 :",
                "written > 0 ? 0 :",
                "csrc/tests/test_worker.c",
            ),
        ),
    ),
    Mistakes(
        "csrc/solo.c",
        "csrc/tests/test_worker.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
        (
            Mistake(
                "alone, a program that is kept alive starves",
                "if (rx__idle(w) && !w->image->keepalive)",
                "if (rx__idle(w))",
                "csrc/tests/test_inbox.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
            Mistake(
                "alone, starvation is at the last tag",
                "g = w->stop = rx__least(w->stop, rx__next_microstep(w->tag));",
                "g = w->stop = rx__least(w->stop, rx__next_microstep(rx__next_microstep(w->tag)));",
            ),
            Mistake(
                "alone, nothing is heard of an abort",
                "} else if (rx__aborted(w)) {",
                "} else if (0) {",
                "csrc/tests/test_worker.c tests/faults/test_interrupts.py tests/execution/test_stepwise.py",
            ),
            Mistake(
                "alone, a reaction runs twice",
                "rx__ready_remove(&w->ready, (uint32_t)word, all ^ bits);",
                "rx__ready_remove(&w->ready, (uint32_t)word, all & ~bits & (all - 1));",
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
        "csrc/park.c",
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
                "an abort wakes worker 0 alone",
                "workers; i++) rx__ring_bell(base, i);",
                "workers && i < 1; i++) rx__ring_bell(base, i);",
                "tests/runtime/test_wakeups.py csrc/tests/test_shared.c",
            ),
        ),
    ),
    Mistakes(
        "csrc/worker.c",
        "csrc/tests/test_worker.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
        (
            Mistake("after a failure native reactions run", "if (r->flags & RX_NATIVE) return next_failed(w);\n", ""),
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
    Mistakes(
        "csrc/python/doors.c",
        "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_timers_and_actions.py",
        (
            Mistake(
                "an array is not frozen when it is set",
                "if (d->sets == KEEPS && (PyObject *)Py_TYPE(value) != array_type) {",
                "if (d->sets == KEEPS) {",
                "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/execution/bad_programs",
            ),
            Mistake(
                "a list of values that grows forgets those on their way",
                "for (uint64_t n = first; n < first + old; n++) {",
                "for (uint64_t n = first; n < old; n++) {",
            ),
            Mistake(
                "a number that is too large is cut off",
                "return !overflow;",
                "return 1;",
                "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/execution/bad_programs",
            ),
            Mistake(
                "a delay that is no int is none",
                "if (!delay) return 0;",
                "if (!delay || !PyLong_CheckExact(delay)) return 0;",
            ),
        ),
    ),
    Mistakes(
        "csrc/values.c",
        PROTOCOL,
        (
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
        "csrc/pending.c",
        PROTOCOL,
        (
            Mistake(
                "the first of several pending events is recalled",
                "(!payload || e->order > order)",
                "(!payload || e->order < order)",
                "tests/semantics/test_timers_and_actions.py::test_of_several_events_pending_at_one_tag_an_update_leaves_out_the_last_accepted",
            ),
            Mistake(
                "events at the stop tag are lost",
                "rx__less(w->stop, tag)) {",
                "!rx__less(tag, w->stop)) {",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "what lies beyond the stop does not keep the program going",
                "\n        w->beyond",
                "\n        uint64_t lost = 0;\n        lost",
                "csrc/tests/test_random.c csrc/tests/test_frontier.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py",
            ),
            Mistake(
                "the next microstep does not count as pending",
                "return w->soon.n ? rx__least(next, rx__next_microstep(w->tag)) : next;",
                "return next;",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "an event exactly at the spacing is too early",
                "(earliest > tag.time ||",
                "(earliest >= tag.time ||",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "what is over is still updated",
                "if (early && a->policy == RX_UPDATE && pending) {",
                "if (early && a->policy == RX_UPDATE) {",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "what is over is still replaced",
                "(a->policy == RX_REPLACE && pending))) {",
                "(a->policy == RX_REPLACE))) {",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "spacing counts from what was asked for",
                " a->last = tag;",
                " if (!early) a->last = tag;",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "events from outside reach inactive modes",
                "if (mode != RX_NONE && !w->modes[mode].active) { /*",
                "if (0) { /*",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
            Mistake(
                "what C functions schedule has no min_delay",
                "int64_t total = rx__add_ns(w->actions[number].min_delay, delay);",
                "int64_t total = delay;",
                "csrc/tests/test_worker.c tests/model/test_native.py",
            ),
            Mistake(
                "after a failure reactions still schedule",
                "if (w->failed) return RX_NOT_KEPT;\n",
                "",
                "csrc/tests/test_worker.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
            ),
            Mistake(
                "what comes under a virtual clock has no min_delay",
                "int64_t time = rx__add_ns(one->time, w->actions[one->action].min_delay);",
                "int64_t time = one->time;",
                "tests/semantics/test_physical_time.py tests/semantics/test_physical_actions.py tests/semantics/test_physical_connections.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/tags.c",
        PROTOCOL,
        (
            Mistake(
                "values are never given back when a tag is over",
                "if (rx__given_back(w, cell, payload)) hold(w, cell->tap, payload);\n",
                "",
                "csrc/tests/test_channel.c csrc/tests/test_random.c",
            ),
            Mistake(
                "a second arrival at one tag takes the place of the first",
                "rx__equal(nominal, w->tag) && cell->stamp != w->stamp)",
                "rx__equal(nominal, w->tag))",
                "csrc/tests/test_random.c tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_tags.py tests/oracle/test_oracle.py::test_corners",
            ),
            Mistake(
                "the period is a nanosecond longer",
                "rx__tag(rx__add_ns(w->tag.time, cell->period), 0)",
                "rx__tag(rx__add_ns(w->tag.time, cell->period + 1), 0)",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "timers of inactive modes run",
                "timers[i].started = mode == RX_NONE || w->modes[mode].active;",
                "timers[i].started = 1;",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
            ),
            Mistake(
                "the limit of microsteps is one too high",
                "if (w->tag.microstep < w->runaway) return 0;",
                "if (w->tag.microstep <= w->runaway) return 0;",
                "csrc/tests/test_worker.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/faults/test_exceptions.py",
            ),
            Mistake(
                "a pause is asked for once and for all", "    w->pausing = 0;\n", "", "tests/execution/test_stepwise.py"
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
)
