/* Does a waiter let another worker run where it is itself, and does it go elsewhere? The other one is played by the test:
 * only the waiter runs, so its waits are the same each time. */
#include "run.h"

enum { WAITS = 1000 };

static int looks, slept;      /* of the present wait: how often it looked; whether it had said that it sleeps by then */
static int other_sleeps, other_is_here;

/* Nothing to do but at the third look. When it looks, the other is where it has to be for the test. */
static int third_time(rx_worker *w)
{
    rx_image *image = w->image;
    rx__put32(&image->cores[1], other_is_here ? rx__peers(w)->core : rx__peers(w)->core + 1);
    if (other_sleeps) rx__set_bits(&image->sleepers, 2);
    else rx__clear_bits(&image->sleepers, 2);
    slept |= (rx__get_fenced(&image->sleepers) & 1) != 0;
    return ++looks == 3;
}

/* How many of so many waits went to sleep. */
static int sleeps_of(rx_worker *w, int waits)
{
    int n = 0;
    for (int i = 0; i < waits; i++) {
        looks = slept = 0;
        assert(rx__wait(w, third_time) == 1);
        n += slept;
    }
    return n;
}

static run *new_pair(int moves_off)
{
    program *p = new_program();
    for (int k = 0; k < 2; k++) reactor_on(p, k);
    p->workers = 2;
    p->spin_ns = 1000000000000;
    run *r = new_run(p);
    r->b->image->longest_sleep_ns = 1000;
    r->b->image->moves_off = (uint64_t)moves_off;
    open_worker(&r->runners[0]);
    other_sleeps = other_is_here = 0;
    return r;
}

static void end_pair(run *r)
{
    program *p = r->p;
    rx_close(r->runners[0].core);
    end_run(r);
    free(p);
}

static void test_a_waiter_spins_while_the_other_is_elsewhere(void)
{
    run *r = new_pair(1);
    assert(sleeps_of(r->runners[0].core, 20) == 0);
    assert(r->runners[0].core->bell->moves == 0);
    end_pair(r);
}

static void test_a_waiter_sleeps_where_the_other_is_to_run(void)
{
    run *r = new_pair(0);
    other_is_here = 1;
    assert(sleeps_of(r->runners[0].core, 20) == 20);
    assert(r->runners[0].core->bell->moves == 0);
    end_pair(r);
}

static void test_a_sleeper_is_not_in_the_way(void)
{
    run *r = new_pair(1);
    other_is_here = other_sleeps = 1;
    assert(sleeps_of(r->runners[0].core, 20) == 0);
    end_pair(r);
}

static void test_who_is_rung_counts_as_awake_at_once(void)
{
    run *r = new_pair(0);
    rx__set_bits(&r->b->image->sleepers, 3);
    rx__ring_bell(r->b->base, 1);
    assert(rx__get_fenced(&r->b->image->sleepers) == 1);
    end_pair(r);
}

/* After four such waits, then less and less often while that does not help; and all cores stay allowed. */
static void test_a_waiter_moves_off_where_the_other_stays(void)
{
    run *r = new_pair(1);
    rx_worker *w = r->runners[0].core;
    cpu_set_t before, after;
    assert(!sched_getaffinity(0, sizeof before, &before));
    int can = CPU_COUNT(&before) > 1;
    other_is_here = 1;
    sleeps_of(w, RX_PATIENCE);
    assert(w->bell->moves == 0);
    sleeps_of(w, 1);
    assert(w->bell->moves == (uint64_t)can);
    sleeps_of(w, WAITS);
    assert(can ? w->bell->moves > 3 && w->bell->moves < 10 : w->bell->moves == 0);
    assert(!sched_getaffinity(0, sizeof after, &after) && CPU_EQUAL(&before, &after));
    other_is_here = 0;                   /* and that it helps is noticed */
    sleeps_of(w, 2 * WAITS);
    assert(rx__peers(w)->patience == RX_PATIENCE);
    end_pair(r);
}

static void test_who_may_be_on_one_core_stays_there(void)
{
    run *r = new_pair(1);
    rx_worker *w = r->runners[0].core;
    cpu_set_t before, one, after;
    assert(!sched_getaffinity(0, sizeof before, &before));
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (!CPU_COUNT(&one) || sched_setaffinity(0, sizeof one, &one)) abort();
    other_is_here = 1;
    assert(sleeps_of(w, 50) == 50);
    assert(w->bell->moves == 0);
    assert(!sched_getaffinity(0, sizeof after, &after) && CPU_EQUAL(&one, &after));
    assert(!sched_setaffinity(0, sizeof before, &before));
    end_pair(r);
}

int main(void)
{
    alarm(PATIENCE_S);
    test_a_waiter_spins_while_the_other_is_elsewhere();
    test_a_waiter_sleeps_where_the_other_is_to_run();
    test_a_sleeper_is_not_in_the_way();
    test_who_is_rung_counts_as_awake_at_once();
    test_a_waiter_moves_off_where_the_other_stays();
    test_who_may_be_on_one_core_stays_there();
    return 0;
}
