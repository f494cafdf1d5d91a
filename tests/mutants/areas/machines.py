"""Mistakes in what links machines (csrc/link.h), and in what they believe of one another."""

from tests.mutants.planted import Mistake, Mistakes

PROGRAMS = "csrc/tests/test_link.c tests/machines/test_relayed.py tests/machines/test_random_programs.py"

MISTAKES = (
    Mistakes(
        "csrc/tell.c",
        PROGRAMS,
        (
            Mistake(
                "a state goes before the messages that it counts as sent",
                "if (!put_messages(l, patient) || !put_releases(l, patient) || !put_state(l, patient)) return 0;",
                "if (!put_state(l, patient) || !put_messages(l, patient) || !put_releases(l, patient)) return 0;",
            ),
            Mistake(
                "a value that is there already is sent again",
                "if (carried && !rx__equal(*carried, body.sent)) {",
                "if (carried) {",
            ),
            Mistake(
                "what a worker has yet to take is an event of its own",
                "            if (rows[k].idle != RX_BUSY) rows[k].idle = RX_UNREAD;\n",
                "            rows[k].idle = RX_BUSY;\n",
            ),
            Mistake(
                "a ring is emptied when its messages are sent",
                "if (!put_messages(l, patient) || !put_releases(l, patient) || !put_state(l, patient)) return 0;",
                "if (!put_messages(l, patient)) return 0;\n    for (uint32_t i = 0; i < l->n_out; i++)\n        rx__put(&rx__ring_between(l, l->out[i].producer, l->out[i].consumer)->head, l->tails[i]);\n    if (!put_releases(l, patient) || !put_state(l, patient)) return 0;",
            ),
            Mistake(
                "what has come is acknowledged before it is taken",
                "counts[i] = rx__get(&rx__ring_between(l, l->taken[i].producer, l->taken[i].consumer)->head);",
                "counts[i] = rx__get(&rx__ring_between(l, l->taken[i].producer, l->taken[i].consumer)->tail);",
            ),
            Mistake(
                "workers are looked at one after the other, at no one moment",
                "        if (rx__get(&rx__line(l->base, l->mine[k])->version) != versions[k]) return 0;\n    return 1;",
                "        (void)k;\n    return 1;",
            ),
            Mistake(
                "messages between workers of a machine are no events of theirs",
                "            rows[k].own = rx__least(rows[k].own, arrival);\n            rows[k].events = rx__least(rows[k].events, arrival);\n",
                "",
            ),
        ),
    ),
    Mistakes(
        "csrc/hear.c",
        PROGRAMS,
        (
            Mistake(
                "half a state can be seen, its lines without its rings",
                "    note_rings(l, rings, counts);\n    for (uint32_t k = 0; k < l->n_theirs; k++) {\n        rx_line *line = rx__line(l->base, l->theirs[k]);\n        rx__put_fenced(&line->version, line->version + 1);\n    }\n",
                "    for (uint32_t k = 0; k < l->n_theirs; k++) {\n        rx_line *line = rx__line(l->base, l->theirs[k]);\n        rx__put_fenced(&line->version, line->version + 1);\n    }\n    rx__pause();\n    note_rings(l, rings, counts);\n",
            ),
            Mistake(
                "a value is given back while it is in use",
                "        held->count++;\n        rx__add32(RX_AT(uint32_t, l->base, sub->refs) + m->payload, 1);",
                "        held->count++;",
            ),
        ),
    ),
    Mistakes(
        "csrc/frontier.c",
        PROGRAMS,
        (
            Mistake(
                "what other machines say of one another is always of one moment",
                "if (received < rx__get(&passage->acknowledged)) return 0;",
                "",
            ),
            Mistake(
                "what is on its way between other machines does not count",
                "            p->own[b] = rx__least(p->own[b], arrival);\n            p->events[b] = rx__least(p->events[b], arrival);\n        }\n    return 1;\n}\n\n/* A worker",
                "        }\n    return 1;\n}\n\n/* A worker",
            ),
        ),
    ),
    Mistakes(
        "csrc/team.c",
        PROGRAMS,
        (
            Mistake(
                "a tag of a machine without which no other can go on is passed over",
                "                if (p->mate[i]) g = rx__least(g, p->events[i]);",
                "                (void)i;",
            ),
            Mistake(
                "who waits does not say how far it is",
                "                if (!c) {\n                    rx__progress(w, index);\n",
                "                if (!c) {\n",
            ),
        ),
    ),
    Mistakes(
        "csrc/channel.c",
        PROGRAMS,
        (
            Mistake(
                "a value arrives by a clock that is behind before it was sent",
                "if (!w->image->fast)  ",
                "if (0)  ",
                "tests/machines/test_logs.py::test_nothing_arrives_before_it_was_sent_where_clocks_differ",
            ),
            Mistake(
                "a message is gone before the head is lowered",
                "        rx__publish(w, w->in_tag ? p->head : rx__least(p->head, rx__own_next(w)), p->line->passed, p->line->rank);\n        rx__put(&ring->head, tail);\n        rx__publish(w, p->head, p->line->passed, p->line->rank);\n",
                "        rx__put(&ring->head, tail);\n        rx__publish(w, w->in_tag ? p->head : rx__least(p->head, rx__own_next(w)), p->line->passed, p->line->rank);\n",
            ),
        ),
    ),
)
