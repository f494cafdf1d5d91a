/* What does one worker do with a program? Each reaction here leaves a letter and the tag in a trail; the trail is the
 * whole behaviour. Where it matters how a reaction is run, it runs both ways: by rx_next, and by the caller. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>

static char trail[4096];

typedef struct { const char *letter; int n_reads, n_writes; } noted;

static void note(void **data, unsigned char *present, void *state)
{
    (void)data, (void)present;
    size_t n = strlen(trail);
    const noted *one = state;
    snprintf(trail + n, sizeof trail - n, "%s@%lld.%llu ", one->letter, (long long)now().time, (unsigned long long)now().microstep);
}

/* Leaves its letter, and does all that it may: sets its ports, schedules its actions, asks to stop. */
static void note_and_do(void **data, unsigned char *present, void *state)
{
    const noted *one = state;
    note(data, present, state);
    for (int k = 0; k < one->n_writes; k++) present[one->n_reads + k] = 1;
}

static void note_late(void **data, unsigned char *present, void *state)
{
    strcat(trail, "late:");
    note_and_do(data, present, state);
}

/* All ways the trail must be as expected, and digests and counts of missed deadlines the same. */
static void leaves(program *p, const char *expected)
{
    uint64_t digests[3][16] = {{0}}, late[3][16] = {{0}};
    noted notes[16];
    for (int i = 0; i < p->n_reactions; i++) {
        reaction *r = &p->reactions[i];
        notes[i] = (noted){r->state, reads_of(r).n, r->effects.n + stops(r)};
        r->state = &notes[i];
    }
    for (int native = 0; native < 3; native++) {
        for (int i = 0; i < p->n_reactions; i++) p->reactions[i].native = native;
        run *r = new_run(p);
        trail[0] = 0;
        go(r);
        if (strcmp(trail, expected)) fprintf(stderr, "found:    %s\nexpected: %s\n", trail, expected);
        assert(!strcmp(trail, expected));
        assert(r->runners[0].result == RX_DONE);
        for (int i = 0; i < p->n_reactors; i++) digests[native][i] = digest_of(r, i);
        const rx_tables *t = RX_AT(rx_tables, r->b->base, rx__image(r->b->base)->tables);
        for (uint32_t i = 0; i < t->n_reactions; i++) late[native][i] = RX_AT(rx_stats, r->b->base, t->stats)[i].late;
        end_run(r);
    }
    for (int native = 1; native < 3; native++) {
        assert(!memcmp(digests[0], digests[native], sizeof digests[0]));
        assert(!memcmp(late[0], late[native], sizeof late[0]));
    }
    free(p);
}

/* ---- when -------------------------------------------------------------------------------------------------- */

static void test_a_program_with_nothing_to_do_ends_a_microstep_later(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(p->startup[a]), NOTHING, NOTHING, note, "start");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    leaves(p, "start@0.0 end@0.1 ");
}

static void test_a_timer_fires_at_its_offset_and_then_every_period(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(timer(p, a, 2, 3)), NOTHING, NOTHING, note, "t");
    react(p, a, OF(timer(p, a, 4, 0)), NOTHING, NOTHING, note, "once");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    p->timeout = 8;
    leaves(p, "t@2.0 once@4.0 t@5.0 t@8.0 end@8.0 ");
}

static void test_nothing_happens_beyond_the_timeout(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), later = action(p, a, 6);
    react(p, a, OF(timer(p, a, 0, 5)), NOTHING, OF(later), note_and_do, "t");
    react(p, a, OF(later), NOTHING, NOTHING, note, "later");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    p->timeout = 10;
    leaves(p, "t@0.0 t@5.0 later@6.0 t@10.0 end@10.0 ");
}

static void test_a_program_with_nothing_left_ends_before_its_timeout(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(timer(p, a, 4, 0)), NOTHING, NOTHING, note, "t");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    p->timeout = 10;
    leaves(p, "t@4.0 end@4.1 ");
}

static void test_what_would_have_happened_later_keeps_a_program_to_its_timeout(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(timer(p, a, 0, 4)), NOTHING, NOTHING, note, "t");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    p->timeout = 10;
    leaves(p, "t@0.0 t@4.0 t@8.0 end@10.0 ");
}

static void test_keepalive_goes_on_to_the_timeout(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(p->startup[a]), NOTHING, NOTHING, note, "start");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    p->timeout = 1000000;
    p->keepalive = 1;
    leaves(p, "start@0.0 end@1000000.0 ");
}

static void test_real_time_makes_no_difference_to_tags(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(timer(p, a, 0, 400000)), NOTHING, NOTHING, note, "t");
    p->timeout = 1000000;
    p->real_time = 1;
    leaves(p, "t@0.0 t@400000.0 t@800000.0 ");
}

/* ---- actions ----------------------------------------------------------------------------------------------- */

static void test_an_action_without_delay_is_for_the_next_microstep(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), soon = action(p, a, 0), later = action(p, a, 3);
    react(p, a, OF(timer(p, a, 1, 0)), NOTHING, OF(soon, later), note_and_do, "t");
    react(p, a, OF(soon), NOTHING, NOTHING, note, "soon");
    react(p, a, OF(later), NOTHING, NOTHING, note, "later");
    leaves(p, "t@1.0 soon@1.1 later@4.0 ");
}

static void test_a_second_event_of_one_tag_moves_on_by_a_microstep(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), later = action(p, a, 5), soon = action(p, a, 0);
    react(p, a, OF(timer(p, a, 1, 0), soon), NOTHING, OF(later), note_and_do, "a");
    react(p, a, OF(timer(p, a, 1, 0)), NOTHING, OF(later, soon), note_and_do, "b");
    react(p, a, OF(later), NOTHING, NOTHING, note, "later");
    leaves(p, "a@1.0 b@1.0 a@1.1 later@6.0 later@6.1 later@6.2 ");
}

static void test_a_feedback_through_an_action_goes_on_by_microsteps(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), again = action(p, a, 0);
    react(p, a, OF(p->startup[a], again), NOTHING, OF(again), note_and_do, "x");
    react(p, a, OF(again), NOTHING, NOTHING, note, "y");
    p->reactions[0].stop = rx__tag(0, 1);
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    leaves(p, "x@0.0 x@0.1 y@0.1 end@0.1 ");
}

/* ---- ports ------------------------------------------------------------------------------------------------- */

static void test_reactions_of_a_tag_run_by_level_then_in_order_of_declaration(void)
{
    program *p = new_program();
    int first = reactor_on(p, 0), sink = reactor_on(p, 0), source = reactor_on(p, 0);
    int out = output(p, source, 8), through = output(p, first, 8);
    react(p, first, OF(input(p, first, out, AT_ONCE)), NOTHING, OF(through), note_and_do, "b");
    react(p, first, OF(p->startup[first]), NOTHING, NOTHING, note, "c");
    react(p, sink, OF(input(p, sink, through, AT_ONCE)), OF(input(p, sink, out, AT_ONCE)), NOTHING, note, "d");
    react(p, source, OF(p->startup[source]), NOTHING, OF(out), note_and_do, "a");
    leaves(p, "a@0.0 b@0.0 c@0.0 d@0.0 ");
}

static void test_a_port_that_is_not_set_triggers_nobody(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = output(p, a, 8), unwritten = output(p, a, 8);
    react(p, a, OF(p->startup[a]), NOTHING, OF(out), note, "a");
    react(p, a, OF(input(p, a, out, AT_ONCE)), NOTHING, NOTHING, note, "b");
    react(p, a, OF(input(p, a, unwritten, AT_ONCE)), NOTHING, NOTHING, note, "c");
    leaves(p, "a@0.0 ");
}

static void test_two_writers_of_a_port_are_one_event(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = output(p, a, 8);
    react(p, a, OF(p->startup[a]), NOTHING, OF(out), note_and_do, "a");
    react(p, a, OF(p->startup[a]), NOTHING, OF(out), note_and_do, "b");
    react(p, a, OF(input(p, a, out, AT_ONCE)), NOTHING, NOTHING, note, "c");
    react(p, a, OF(input(p, a, out, rx__tag(2, 0))), NOTHING, NOTHING, note, "later");
    leaves(p, "a@0.0 b@0.0 c@0.0 later@2.0 ");
}

static void test_a_delayed_connection_delivers_later(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = output(p, a, 8);
    react(p, a, OF(timer(p, a, 1, 0)), NOTHING, OF(out), note_and_do, "t");
    react(p, a, OF(input(p, a, out, rx__tag(0, 1))), NOTHING, NOTHING, note, "soon");
    react(p, a, OF(input(p, a, out, rx__tag(0, 3))), NOTHING, NOTHING, note, "sooner");
    react(p, a, OF(input(p, a, out, rx__tag(4, 0))), NOTHING, NOTHING, note, "later");
    react(p, a, OF(input(p, a, out, rx__tag(4, 2))), NOTHING, NOTHING, note, "last");
    leaves(p, "t@1.0 soon@1.1 sooner@1.3 later@5.0 last@5.2 ");
}

static void test_arrivals_of_one_connection_at_one_tag_spread_over_microsteps(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = output(p, a, 8), again = action(p, a, 0), more = action(p, a, 0);
    react(p, a, OF(timer(p, a, 1, 0)), NOTHING, OF(out, again), note_and_do, "t");
    react(p, a, OF(again), NOTHING, OF(out, more), note_and_do, "u");
    react(p, a, OF(more), NOTHING, OF(out), note_and_do, "v");
    react(p, a, OF(input(p, a, out, rx__tag(4, 0))), NOTHING, NOTHING, note, "x");
    leaves(p, "t@1.0 u@1.1 v@1.2 x@5.0 x@5.1 x@5.2 ");
}

/* ---- values ------------------------------------------------------------------------------------------------ */

static uint64_t counted, received[64];
static int n_received;

static void count(void **data, unsigned char *present, void *state)
{
    (void)state;
    fill(data[1], 64, counted += 10);
    present[1] = 1;
}

static void receive(void **data, unsigned char *present, void *state)
{
    (void)state;
    assert(present[0]);
    received[n_received++] = filled(data[0], 64);
}

/* The values of a timer of one ns arrive in order, whole, [delay] later: at once, from a slot, or from a copy of one. */
static void check_values(int port_kind, rx_tag delay)
{
    for (int native = 0; native < 1 + !port_kind; native++) {
        program *p = new_program();
        int a = reactor_on(p, 0), out = port_kind ? object_output(p, a, 64) : output(p, a, 64);
        react(p, a, OF(timer(p, a, 0, 1)), NOTHING, OF(out), count, NULL);
        react(p, a, OF(input(p, a, out, delay)), NOTHING, NOTHING, receive, NULL);
        p->timeout = 60;
        p->reactions[0].native = p->reactions[1].native = native;
        counted = 0;
        n_received = 0;
        run *r = new_run(p);
        go(r);
        assert(n_received == 61 - (int)delay.time - (delay.microstep > 0));
        for (int i = 0; i < n_received; i++) assert(received[i] == (uint64_t)(i + 1) * 10);
        end_run(r);
        free(p);
    }
}

static void test_values_arrive_whole_however_long_they_travel(void)
{
    for (int port_kind = 0; port_kind < 2; port_kind++) {
        check_values(port_kind, AT_ONCE);
        check_values(port_kind, rx__tag(0, 1));
        check_values(port_kind, rx__tag(0, 2));
        check_values(port_kind, rx__tag(3, 0));
        check_values(port_kind, rx__tag(40, 0));     /* more under way than there are slots */
    }
}

/* ---- stopping ---------------------------------------------------------------------------------------------- */

static void test_a_request_to_stop_is_for_the_next_microstep(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), soon = action(p, a, 0), later = action(p, a, 1);
    react(p, a, OF(timer(p, a, 3, 3)), NOTHING, OF(soon, later), note_and_do, "t");
    p->reactions[0].stop = rx__tag(0, 1);
    react(p, a, OF(soon), NOTHING, NOTHING, note, "soon");
    react(p, a, OF(later), NOTHING, NOTHING, note, "later");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    leaves(p, "t@3.0 soon@3.1 end@3.1 ");
}

static void test_the_earliest_request_to_stop_counts(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(timer(p, a, 1, 0)), NOTHING, NOTHING, note_and_do, "late");
    p->reactions[0].stop = rx__tag(9, 0);
    react(p, a, OF(timer(p, a, 2, 0)), NOTHING, NOTHING, note_and_do, "early");
    p->reactions[1].stop = rx__tag(5, 0);
    react(p, a, OF(timer(p, a, 0, 3)), NOTHING, NOTHING, note, "t");
    react(p, a, OF(timer(p, a, 7, 0)), NOTHING, NOTHING, note, "last");
    react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
    p->timeout = 8;
    leaves(p, "t@0.0 late@1.0 early@2.0 t@3.0 t@6.0 last@7.0 end@7.0 ");
}

static void test_what_would_have_happened_later_keeps_a_program_to_its_stop(void)
{
    for (int64_t last = 3; last < 30; last += 17) {              /* queued before, or refused after, the stop was known */
        program *p = new_program();
        int a = reactor_on(p, 0), later = action(p, a, last);
        react(p, a, OF(timer(p, a, 1, 0)), NOTHING, NOTHING, note_and_do, "t");
        p->reactions[0].stop = rx__tag(5, 0);
        react(p, a, OF(timer(p, a, 2, 0)), NOTHING, OF(later), note_and_do, "u");
        react(p, a, OF(timer(p, a, 20, 0), later), NOTHING, NOTHING, note, "v");
        react(p, a, OF(p->shutdown[a]), NOTHING, NOTHING, note, "end");
        leaves(p, last == 3 ? "t@1.0 u@2.0 v@5.0 end@6.0 " : "t@1.0 u@2.0 end@6.0 ");
    }
}

static void test_an_object_due_before_the_stop_outlives_one_due_beyond_it(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = object_output(p, a, 64);
    react(p, a, OF(timer(p, a, 0, 2)), NOTHING, OF(out), count, NULL);
    react(p, a, OF(input(p, a, out, rx__tag(5, 0))), NOTHING, NOTHING, receive, NULL);
    p->reactions[0].native = p->reactions[1].native = 0;
    p->timeout = 10;
    counted = 0;
    n_received = 0;
    run *r = new_run(p);
    go(r);
    assert(n_received == 3 && received[0] == 10 && received[1] == 20 && received[2] == 30);
    end_run(r);
    free(p);
}

static void test_what_is_for_a_missed_deadline_runs_instead_of_the_reaction(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = output(p, a, 8), soon = action(p, a, 1);
    react(p, a, OF(timer(p, a, 0, 5)), NOTHING, OF(out, soon), note_and_do, "a");
    react(p, a, OF(input(p, a, out, AT_ONCE)), NOTHING, NOTHING, note, "b");
    react(p, a, OF(soon), NOTHING, NOTHING, note, "c");
    p->reactions[0].deadline = 0;
    p->reactions[1].deadline = INT64_MAX - 1;
    for (int i = 0; i < 2; i++) p->reactions[i].late = note_late;
    p->timeout = 9;
    leaves(p, "late:a@0.0 b@0.0 c@1.0 late:a@5.0 b@5.0 c@6.0 ");
}

/* ---- what the caller of rx_next sees ------------------------------------------------------------------------ */

/* Which of them are due together depends on what took how long, and must not be seen: not by who touches what it did not
 * declare, nor by two reactions of a reactor that write one port. */
static void test_reactions_of_one_level_come_each_once_and_with_their_own_doors_only(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), t = timer(p, a, 0, 1);
    int outputs[150];
    for (int i = 0; i < 150; i++) {
        int r = reactor_on(p, 0);
        outputs[i] = output(p, r, 8);
        react(p, r, OF(t), NOTHING, OF(outputs[i]), note, "x");
    }
    p->timeout = 40;
    runner *m = by_hand(p);
    int ran[150] = {0};
    for (int64_t given; (given = rx_next(m->core)) != RX_DONE; ran[given]++)
        for (int i = 0; i < 150; i++) assert((m->core->doors[m->run->b->parts[0].door_of[outputs[i]]] != 0) == (i == given));
    for (int i = 0; i < 150; i++) assert(ran[i] == 41 && m->core->stats[i].count == 41);
    assert(m->core->bell->reactions == 41 * 150 && m->core->bell->tags == 41);
    end_by_hand(m);
}

static void test_a_missed_deadline_gives_the_late_method(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(timer(p, a, 0, 0)), NOTHING, NOTHING, note, "late");
    p->reactions[0].deadline = 0;
    react(p, a, OF(timer(p, a, 0, 0)), NOTHING, NOTHING, note, "on time");
    p->reactions[1].deadline = INT64_MAX - 1;
    runner *m = by_hand(p);
    assert(rx_next(m->core) == 2 && rx_next(m->core) == 1 && rx_next(m->core) == RX_DONE);
    assert(m->core->stats[0].late == 1 && m->core->stats[1].late == 0);
    end_by_hand(m);
}

static void test_only_its_own_reaction_may_schedule_an_action(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), act = action(p, a, 2);
    react(p, a, OF(p->startup[a]), NOTHING, OF(act), note, NULL);
    react(p, a, OF(act), NOTHING, NOTHING, note, NULL);
    p->timeout = 10;
    runner *m = by_hand(p);
    assert(rx_schedule(m->core, 0, 0, 0) == RX_REFUSED);
    assert(rx_next(m->core) == 0);
    assert(rx_schedule(m->core, 0, 9, 0) == RX_NOT_KEPT);
    assert(rx_schedule(m->core, 0, RX_FOREVER_NS, 0) == RX_NOT_KEPT);
    assert(rx_schedule(m->core, 0, 8, 0) == 0);
    assert(rx_next(m->core) == 1 && rx__equal(*m->core->now, rx__tag(10, 0)));
    assert(rx_schedule(m->core, 0, 0, 0) == RX_REFUSED);
    assert(rx_next(m->core) == RX_DONE);
    end_by_hand(m);
}

static void test_values_of_actions_have_numbers_of_their_own_until_they_are_over(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), act = action(p, a, 1);
    react(p, a, OF(p->startup[a], act), NOTHING, OF(act), note, NULL);
    runner *m = by_hand(p);
    int door = m->run->b->parts[0].door_of[act];
    unsigned char taken[200] = {0};
    assert(rx_next(m->core) == 0);
    for (int i = 0; i < 100; i++) {
        int64_t number = rx_schedule(m->core, 0, i / 10, 1);
        assert(number > 0 && number < 200 && !taken[number]);
        taken[number] = 1;
    }
    int64_t last = 0;
    for (int i = 0; i < 100; i++) {
        assert(rx_next(m->core) == 0 && (m->core->doors[door] & RX_PRESENT));
        uint64_t number = m->core->where[door];
        assert(taken[number]);
        taken[number] = 0;
        if (i != 50) continue;
        last = rx_schedule(m->core, 0, 100, 1);                  /* one of those that are free again */
        assert(last > 0 && last <= 100 && !taken[last]);
    }
    assert(rx_next(m->core) == 0 && m->core->where[door] == (uint64_t)last);
    assert(rx_next(m->core) == RX_DONE);
    end_by_hand(m);
}

static void test_ten_thousand_pending_events_are_kept(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), act = action(p, a, 1);
    react(p, a, OF(p->startup[a], act), NOTHING, OF(act), note, NULL);
    runner *m = by_hand(p);
    assert(rx_next(m->core) == 0);
    for (int64_t i = 0; i < 10000; i++) assert(rx_schedule(m->core, 0, i * 7919 % 10000, 0) == 0);
    for (int64_t i = 0; i < 10000; i++) assert(rx_next(m->core) == 0 && rx__equal(*m->core->now, rx__tag(i + 1, 0)));
    assert(rx_next(m->core) == RX_DONE);
    end_by_hand(m);
}

static void test_time_that_stands_still_is_reported_once(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), again = action(p, a, 0), runaways = 0;
    react(p, a, OF(p->startup[a], again), NOTHING, OF(again), note, NULL);
    p->max_microsteps = 50;
    runner *m = by_hand(p);
    for (int i = 0; i < 200; i++) {
        int64_t given = rx_next(m->core);
        if (given == RX_RUNAWAY) {
            assert(m->core->tag.microstep == 50);
            runaways++;
            given = rx_next(m->core);
        }
        assert(given == 0 && rx_schedule(m->core, 0, 0, 0) == 0);
    }
    assert(runaways == 1);
    end_by_hand(m);
}

static void test_after_a_failure_only_shutdown_reactions_run(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = output(p, a, 8);
    react(p, a, OF(timer(p, a, 0, 1)), NOTHING, OF(out), note, NULL);
    react(p, a, OF(input(p, a, out, AT_ONCE), p->shutdown[a]), NOTHING, NOTHING, note, NULL);
    react(p, a, OF(p->startup[a]), NOTHING, NOTHING, note, NULL);
    runner *m = by_hand(p);
    assert(rx_next(m->core) == 0);
    m->core->doors[m->core->lists[m->core->reactions[0].writes]] |= RX_PRESENT;
    rx_fail(m->core);                    /* the first reaction has raised: what it set goes nowhere */
    assert(rx_next(m->core) == 1 && rx_next(m->core) == RX_DONE);
    end_by_hand(m);
}

/* A shutdown reaction that may do things, two that are native, and one that was ready when the first one failed. */
static void test_after_a_failure_shutdown_reactions_run_and_what_they_do_goes_nowhere(void)
{
    noted first = {"c", 1, 1}, second = {"d", 1, 0};
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 0), c = reactor_on(p, 0), d = reactor_on(p, 0);
    int act = action(p, a, 0), out = output(p, a, 8);
    react(p, a, OF(p->startup[a]), NOTHING, OF(out), note, NULL);
    react(p, b, OF(p->startup[b]), NOTHING, NOTHING, note, NULL);
    react(p, c, OF(p->shutdown[c]), NOTHING, OF(output(p, c, 8)), note_and_do, &first);
    react(p, d, OF(p->shutdown[d]), NOTHING, NOTHING, note_and_do, &second);
    react(p, a, OF(p->shutdown[a]), NOTHING, OF(act), note, NULL);
    for (int i = 0; i < 5; i++) p->reactions[i].native = i == 2 || i == 3;
    p->reactions[3].deadline = INT64_MAX - 1;
    runner *m = opened(p);
    rx_worker *w = m->core;
    assert(rx_next(w) == 0);
    trail[0] = 0;
    uint32_t door = w->lists[w->reactions[0].writes];
    assert(w->doors[door] & RX_WRITABLE);
    rx_fail(w);
    assert(!w->doors[door]);
    assert(rx_next(w) == 4 && rx_schedule(w, 0, 0, 0) == RX_NOT_KEPT);
    assert(rx_next(w) == RX_DONE);
    for (int i = 1; i < 4; i++) assert(w->stats[i].count == 0);
    assert(!strcmp(trail, "c@0.1 d@0.1 "));
    end_by_hand(m);
}

static void test_a_record_that_is_cut_short_is_reported(void)
{
    int ends[2];
    static uint8_t value[1 << 20];               /* more than the pipe takes at once */
    assert(!pipe2(ends, O_NONBLOCK));
    assert(rx_log(ends[1], RX_LOG_ACTION, rx__tag(0, 0), 0, value, 8) == 0);
    assert(rx_log(ends[1], RX_LOG_ACTION, rx__tag(0, 0), 0, value, sizeof value) == ENOSPC);
    assert(rx_log(ends[1], RX_LOG_ACTION, rx__tag(0, 0), 0, value, sizeof value) == EAGAIN);
    close(ends[0]);
    close(ends[1]);
}

static void test_an_abort_ends_a_program_that_never_waits(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    react(p, a, OF(timer(p, a, 0, 1)), NOTHING, NOTHING, note, NULL);
    runner *m = by_hand(p);
    for (int i = 0; i < 100; i++) assert(rx_next(m->core) == 0);
    rx_abort(m->run->b->base, RX_E_ABORTED);
    assert(rx_next(m->core) == RX_ABORTED);
    end_by_hand(m);
}

int main(void)
{
    test_a_program_with_nothing_to_do_ends_a_microstep_later();
    test_a_timer_fires_at_its_offset_and_then_every_period();
    test_nothing_happens_beyond_the_timeout();
    test_a_program_with_nothing_left_ends_before_its_timeout();
    test_what_would_have_happened_later_keeps_a_program_to_its_timeout();
    test_keepalive_goes_on_to_the_timeout();
    test_real_time_makes_no_difference_to_tags();
    test_an_action_without_delay_is_for_the_next_microstep();
    test_a_second_event_of_one_tag_moves_on_by_a_microstep();
    test_a_feedback_through_an_action_goes_on_by_microsteps();
    test_reactions_of_a_tag_run_by_level_then_in_order_of_declaration();
    test_a_port_that_is_not_set_triggers_nobody();
    test_two_writers_of_a_port_are_one_event();
    test_a_delayed_connection_delivers_later();
    test_arrivals_of_one_connection_at_one_tag_spread_over_microsteps();
    test_values_arrive_whole_however_long_they_travel();
    test_a_request_to_stop_is_for_the_next_microstep();
    test_the_earliest_request_to_stop_counts();
    test_what_would_have_happened_later_keeps_a_program_to_its_stop();
    test_an_object_due_before_the_stop_outlives_one_due_beyond_it();
    test_reactions_of_one_level_come_each_once_and_with_their_own_doors_only();
    test_what_is_for_a_missed_deadline_runs_instead_of_the_reaction();
    test_a_missed_deadline_gives_the_late_method();
    test_only_its_own_reaction_may_schedule_an_action();
    test_values_of_actions_have_numbers_of_their_own_until_they_are_over();
    test_ten_thousand_pending_events_are_kept();
    test_time_that_stands_still_is_reported_once();
    test_after_a_failure_only_shutdown_reactions_run();
    test_after_a_failure_shutdown_reactions_run_and_what_they_do_goes_nowhere();
    test_a_record_that_is_cut_short_is_reported();
    test_an_abort_ends_a_program_that_never_waits();
    return 0;
}
