"""Mistakes in the half of the C core that is one worker by itself (csrc/engine.h): events, modes, reactions, doors."""

from tests.mutants.areas.peers import PROTOCOL
from tests.mutants.planted import Mistake, Mistakes

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
                "end = child + 4 < q->n ? child + 4 : q->n;",
                "end = child + 3 < q->n ? child + 3 : q->n;",
            ),
            Mistake(
                "what takes the place of a removed event only sinks",
                "if (at && before(&last, &q->heap[(at - 1) / 4])) rise(q, at, last);\n    else sink",
                "sink",
            ),
            Mistake(
                "a list that was popped goes on growing",
                "if (rx__equal(q->heap[0].tag, q->recent)) q->last = 0;",
                "",
            ),
            Mistake(
                "of several events of a tag the first is removed",
                "if (q->pool[at].cell == cell) found = at, *list = i;",
                "if (q->pool[at].cell == cell && !found) found = at, *list = i;",
            ),
            Mistake(
                "what is filtered is not asked in order",
                "    if (q->n) qsort(q->heap, q->n, sizeof *q->heap, in_order);",
                "    (void)in_order;",
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
        "csrc/pending.c",
        PROTOCOL,
        (
            Mistake(
                "events at the stop tag are lost",
                "int beyond = rx__less(w->stop, tag) &&",
                "int beyond = !rx__less(tag, w->stop) &&",
                "csrc/tests/test_worker.c csrc/tests/test_random.c tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/semantics/test_timers_and_actions.py",
            ),
            Mistake(
                "what a mode holds beyond the stop is only counted",
                " && w->cells[cell].mode == RX_NONE;",
                ";",
                "tests/semantics/test_time_in_modes.py",
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
        "csrc/modes.c",
        "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py",
        (
            Mistake(
                "an inner mode is active whatever is around it",
                "modal->current == m && is_active(w, modal->outer);",
                "modal->current == m;",
            ),
            Mistake(
                "what waits in a mode forgets which microstep it is at",
                "left ? tag.microstep : tag.microstep - w->tag.microstep",
                "tag.microstep",
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
            Mistake("reset leaves modes inside where they are", "modal->current = modal->initial;\n", ""),
            Mistake(
                "reset keeps a transition that is asked for inside",
                "        modal->next = RX_NONE;\n        modal->current = modal->initial;",
                "        modal->current = modal->initial;",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/oracle/test_oracle.py",
            ),
            Mistake(
                "only active modes are shut down",
                "if (!mode->entered || mode->shutdown == RX_NONE) continue;",
                "if (!mode->active || mode->shutdown == RX_NONE) continue;",
            ),
            Mistake(
                "what waited forgets the spacing",
                "if (cell->action != RX_NONE) w->actions[cell->action].last = tag;\n",
                "",
                "tests/semantics/test_modes.py tests/semantics/test_time_in_modes.py tests/semantics/test_modes_inside_of_modes.py tests/semantics/test_parts_of_modes.py tests/oracle/test_oracle.py",
            ),
            Mistake(
                "the first of several modes counts",
                "    modal->next = mode;     ",
                "    if (modal->next == RX_NONE) modal->next = mode;     ",
            ),
        ),
    ),
    Mistakes(
        "csrc/tags.c",
        PROTOCOL,
        (
            Mistake(
                "values are never given back when a tag is over",
                "        w->holds[w->n_holds++] = number;\n",
                "",
                "csrc/tests/test_channel.c csrc/tests/test_random.c",
            ),
            Mistake(
                "what its last reader has given back is given back again when the tag is over",
                "rx__give_back(w, w->holds[i]);",
                "w->held[w->holds[i]] = 1, rx__give_back(w, w->holds[i]);",
                "csrc/tests/test_channel.c",
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
                "a pause is asked for once and for all",
                "    if (w->pausing) {\n        w->pausing = 0;\n",
                "    if (w->pausing) {\n",
                "tests/execution/test_stepwise.py",
            ),
            Mistake(
                "a pause is forgotten where a mode begins again",
                "if (w->pausing) w->pausing = RX_DUE;",
                "w->pausing = 0;",
                "tests/execution/test_stepwise.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/reaction.c",
        "csrc/tests/test_random.c csrc/tests/test_worker.c tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py",
        (
            Mistake(
                "after a failure, shutdown reactions write over what others read",
                "        if (w->failed) s->slot = s->slots; ",
                "        if (w->failed) s->slot = s->slots - 1; ",
                "tests/runtime/test_slots.py",
            ),
            Mistake(
                "a batch runs up to its last but one", "if (++w->at < w->n_batch) {", "if (++w->at + 1 < w->n_batch) {"
            ),
            Mistake(
                "it is not known which reaction runs",
                "    *w->current = index;\n    return body;",
                "    return body;",
                "tests/semantics/test_deadlines.py tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/execution/bad_programs",
            ),
            Mistake(
                "the last reader of a value keeps it until the tag is over",
                "if (w->last_reader[cell] == index) rx__give_back(w, cell);",
                "(void)cell, (void)index;",
                "csrc/tests/test_channel.c",
            ),
            Mistake(
                "what took long once stands for others",
                "if (w->heavy[index] && ns > HEAVY_NS) s->known++",
                "if (0) s->known++",
                "tests/execution/test_summary.py",
            ),
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
            Mistake(
                "a native reaction runs, though it is late",
                "run(w, r, index, late);\n            if",
                "run(w, r, index, 0);\n            if",
                "csrc/tests/test_worker.c",
            ),
            Mistake(
                "nothing counts how often a native reaction was late",
                "    w->stats[index].late += (uint64_t)late;\n    w->bell",
                "    w->bell",
                "csrc/tests/test_worker.c",
            ),
        ),
    ),
    Mistakes(
        "csrc/spans.c",
        "csrc/tests/test_spans.c",
        (
            Mistake(
                "a tag for which there is no room is there in part",
                "    w->spanned = trace->written;\n    return 0;",
                "    return 0;",
                "csrc/tests/test_spans.c",
            ),
            Mistake(
                "tags that are left out are not counted",
                "trace->tags_left_out + 1",
                "trace->tags_left_out",
                "csrc/tests/test_spans.c",
            ),
            Mistake(
                "a wait for inputs is one for a tag",
                "w->in_tag ? RX_WAITED_INPUT : RX_WAITED_TAG",
                "RX_WAITED_TAG",
                "tests/tracing/test_traced_runs.py",
            ),
        ),
    ),
    Mistakes(
        "csrc/drain.c",
        "csrc/tests/test_spans.c",
        (
            Mistake(
                "a block ends before the name of what was noted last",
                "if (last == RX_NOTED || last == RX_VALUED) n++;",
                "",
                "tests/tracing/test_traced_runs.py",
            ),
            Mistake(
                "what came last is not written",
                "last = (int)rx__get32(&d->stop);             /* asked before",
                "if ((last = (int)rx__get32(&d->stop))) break; /* asked before",
                "csrc/tests/test_spans.c",
            ),
        ),
    ),
    Mistakes(
        "csrc/makespan.c",
        "tests/tracing/test_makespan.py",
        (
            Mistake(
                "what another worker may still write is not waited for",
                "if (W == 1 || m->present[i]) return at;",
                "return at;",
            ),
            Mistake("a hop takes no time", "(its == me ? 0 : hop(r, its, me))", "0"),
            Mistake("who comes before who comes before is forgotten", "its = r->last[from * W + i];", "its = 0;"),
            Mistake(
                "a tag begins before others are done with what leads to it", "later(may_begin(r, me, tag),", "later(0,"
            ),
            Mistake("the way of two delays is none", "rx_tag way = rx__plus(", "rx_tag way = rx__greatest("),
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
                "if (bits) rx__ready_add(&w->ready, (uint32_t)word, bits);",
                "rx__ready_add(&w->ready, (uint32_t)word, bits | others);",
            ),
        ),
    ),
    Mistakes(
        "csrc/python/doors.c",
        "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_timers_and_actions.py",
        (
            Mistake(
                "scalars of other byte orders are copied as they are",
                "    if (!PyArray_ISNBO(PyArray_DESCR(to)->byteorder)) return 0;\n",
                "",
                "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/model/test_declare.py",
            ),
            Mistake(
                "an array is not frozen when it is set",
                "if (d->sets == KEEPS && (PyObject *)Py_TYPE(value) != array_type) is_set",
                "if (d->sets == KEEPS) is_set",
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
        "csrc/python/loop.c",
        "tests/semantics/test_ports.py tests/semantics/test_values_on_ports.py tests/semantics/test_delayed_connections.py tests/semantics/test_end.py tests/semantics/test_stops.py tests/semantics/test_shutdown.py tests/execution/bad_programs",
        (
            Mistake(
                "what a reaction returns is not looked at",
                "returned == Py_None ? Py_NewRef(Py_None) :",
                "1 ? Py_NewRef(Py_None) :",
            ),
        ),
    ),
)
