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
                "            if (rows[k].idle) rows[k].idle = RX_UNREAD;\n",
                "            rows[k].idle = 0;\n",
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
)
