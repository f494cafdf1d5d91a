/* What may a worker conclude from what the others have published? Three workers in a circle, all driven from here:
 * 0 sends to 1 after 5 ns, 1 to 2 at once, 2 to 0 after 2 ns. */
#include "run.h"

#include <sys/mman.h>

#define T rx__tag

static void nothing(void **data, unsigned char *present, void *state) { (void)data, (void)present, (void)state; }

typedef struct { program *p; run *run; rx_worker *w[3]; } circle;

static circle new_circle(int listens)
{
    program *p = new_program();
    int r[3], out[3];
    for (int k = 0; k < 3; k++) {
        r[k] = reactor_on(p, k);
        out[k] = output(p, r[k], 8);
    }
    rx_tag delays[3] = {T(2, 0), T(5, 0), AT_ONCE};
    for (int k = 0; k < 3; k++) react(p, r[k], OF(input(p, r[k], out[(k + 2) % 3], delays[k])), NOTHING, OF(out[k]), nothing, NULL);
    if (listens) physical_action(p, r[0], 0);
    p->workers = 3;
    p->ring = 256;            /* longer than a page */
    run *one = new_run(p);
    circle c = {p, one, {NULL}};
    for (int k = 0; k < 3; k++) {
        open_worker(&one->runners[k]);
        c.w[k] = one->runners[k].core;
    }
    one->b->image->start_ns = rx__clock();
    return c;
}

static void end_circle(circle c)
{
    for (int k = 0; k < 3; k++) rx_close(c.w[k]);
    end_run(c.run);
    free(c.p);
}

/* The three heads; each has done everything before its head. */
static void publish(circle c, rx_tag a, rx_tag b, rx_tag d)
{
    rx_tag heads[3] = {a, b, d};
    for (int k = 0; k < 3; k++) rx__publish(c.w[k], heads[k], c.w[k]->tag, UINT64_MAX);
}

static void test_the_bound_is_what_the_others_could_do_at_the_earliest(void)
{
    circle c = new_circle(0);
    publish(c, T(10, 0), T(30, 0), T(100, 0));
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->bound, T(15, 0)));      /* 0 at 10, which is here 5 later */
    rx__snapshot(c.w[2]);
    assert(rx__equal(rx__peers(c.w[2])->bound, T(15, 0)));      /* and goes on from here at once */
    end_circle(c);
}

static void test_ones_own_echo_bounds_too(void)
{
    circle c = new_circle(0);
    publish(c, T(1000, 0), T(3, 0), T(1000, 0));
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->bound, T(10, 0)));      /* what 1 sends at 3 comes back at 10 */
    end_circle(c);
}

static void test_an_unread_message_counts_as_its_receivers_act(void)
{
    circle c = new_circle(0);
    c.w[2]->tag = T(6, 0);
    rx__room(c.w[2], &c.w[2]->sources[0]);
    rx__commit(c.w[2], 0, 0);                           /* 0 will act on it at 8, and 1 then at 13 */
    publish(c, T(1000, 0), T(500, 0), T(1000, 0));
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->bound, T(13, 0)) && rx__equal(rx__peers(c.w[1])->own[0], T(8, 0)));
    assert(!rx__peers(c.w[1])->idle_everywhere);
    assert(rx__drain(c.w[0]) == 1);                  /* taking it changes nothing of that */
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->bound, T(13, 0)) && rx__equal(rx__peers(c.w[1])->own[0], T(8, 0)));
    end_circle(c);
}

static void test_a_bound_found_once_is_kept(void)
{
    circle c = new_circle(0);
    publish(c, T(50, 0), T(40, 0), T(50, 0));
    rx__snapshot(c.w[1]);
    rx_tag bound = rx__peers(c.w[1])->bound;
    publish(c, T(20, 0), T(40, 0), T(50, 0));        /* which no program does */
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->bound, bound));
    end_circle(c);
}

static void test_a_worker_that_is_done_bounds_nobody(void)
{
    circle c = new_circle(0);
    for (int k = 0; k < 3; k++) rx__publish(c.w[k], rx__forever(), rx__forever(), UINT64_MAX);
    rx__snapshot(c.w[1]);
    assert(rx__is_forever(rx__peers(c.w[1])->bound) && rx__peers(c.w[1])->idle_everywhere);
    end_circle(c);
}

/* ---- a picture of one moment ------------------------------------------------------------------------------------ */

#define PAGE 4096

static uint8_t *trap;         /* a page that cannot be touched: who comes to it finds worker 0 elsewhere afterwards */
static rx_worker *moves;

static void move(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    assert((uint8_t *)info->si_addr >= trap && (uint8_t *)info->si_addr < trap + PAGE);
    assert(!mprotect(trap, PAGE, PROT_READ | PROT_WRITE));
    rx__publish(moves, T(20, 0), moves->tag, UINT64_MAX);
}

/* The lines are read before the rings; what one says meanwhile makes a new picture necessary. */
static void test_a_picture_is_of_one_moment(void)
{
    circle c = new_circle(0);
    uint8_t *base = c.run->b->base;
    uint64_t ring = 0, *rings = RX_AT(uint64_t, base, c.run->b->image->rings);
    for (int k = 0; k < 9; k++) ring = rings[k] > ring ? rings[k] : ring;      /* the last one: its page has nothing else that is read */
    publish(c, T(50, 0), T(1000, 0), T(1000, 0));
    struct sigaction on_fault = {.sa_sigaction = move, .sa_flags = SA_SIGINFO | SA_NODEFER}, before;
    assert(!sigaction(SIGSEGV, &on_fault, &before));
    trap = base + ring / PAGE * PAGE;
    moves = c.w[0];
    assert(!mprotect(trap, PAGE, PROT_NONE));
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->own[0], T(20, 0)) && rx__equal(rx__peers(c.w[1])->bound, T(25, 0)));
    assert(!sigaction(SIGSEGV, &before, NULL));
    end_circle(c);
}

static void test_a_wait_is_over_when_the_last_writer_is_passed(void)
{
    circle c = new_circle(0);
    rx_wait wait = {AT_ONCE, 1, 3};
    publish(c, T(7, 0), T(7, 0), T(7, 0));
    rx__publish(c.w[1], T(7, 0), T(7, 0), 3);
    rx__look_at(c.w[2], 1);
    assert(!rx__covered(c.w[2], &wait, T(7, 0)));    /* reaction 3 has yet to run */
    rx__publish(c.w[1], T(7, 0), T(7, 0), 4);
    rx__look_at(c.w[2], 1);
    assert(rx__covered(c.w[2], &wait, T(7, 0)));
    assert(!rx__covered(c.w[2], &wait, T(7, 1)));
    rx__publish(c.w[1], T(9, 0), T(9, 0), 0);
    rx__look_at(c.w[2], 1);
    assert(rx__covered(c.w[2], &wait, T(8, 5)) && !rx__covered(c.w[2], &wait, T(9, 0)));
    end_circle(c);
}

static void test_a_wait_is_over_when_nobody_could_make_the_producer_act_in_time(void)
{
    circle c = new_circle(0);
    rx_wait wait = {AT_ONCE, 1, 3};
    c.w[2]->tag = T(10, 0);
    publish(c, T(4, 0), T(20, 0), T(10, 0));         /* 0 acts at 4, so 1 may at 9 */
    rx__snapshot(c.w[2]);
    assert(!rx__covered(c.w[2], &wait, T(10, 0)));
    publish(c, T(6, 0), T(20, 0), T(10, 0));
    rx__snapshot(c.w[2]);
    assert(rx__covered(c.w[2], &wait, T(10, 0)) && !rx__covered(c.w[2], &wait, T(11, 0)));
    end_circle(c);
}

static void test_a_delayed_value_is_due_at_one_microstep_of_its_time_only(void)
{
    circle c = new_circle(0);
    rx_wait later = {T(5, 1), 0, 0}, soon = {T(0, 2), 0, 0};
    publish(c, T(3, 4), T(20, 0), T(20, 0));
    rx__publish(c.w[0], T(3, 4), T(3, 4), 0);
    rx__look_at(c.w[1], 0);
    assert(rx__covered(c.w[1], &later, T(8, 0)) && rx__covered(c.w[1], &later, T(8, 2)));
    assert(!rx__covered(c.w[1], &later, T(8, 1)));   /* all of the time 3 arrives there */
    assert(rx__covered(c.w[1], &soon, T(3, 1)) && rx__covered(c.w[1], &soon, T(3, 5)) && !rx__covered(c.w[1], &soon, T(3, 6)));
    rx__publish(c.w[0], T(4, 0), T(4, 0), 0);
    rx__look_at(c.w[1], 0);
    assert(rx__covered(c.w[1], &later, T(8, 1)) && rx__covered(c.w[1], &soon, T(3, 900)));
    end_circle(c);
}

/* ---- a worker that hears from outside ------------------------------------------------------------------------ */

static void test_a_listener_may_act_at_any_time_from_the_clock_on(void)
{
    circle c = new_circle(1);
    publish(c, rx__forever(), rx__forever(), rx__forever());
    c.w[1]->started = 1;
    int64_t before = rx_physical_time(c.w[1]);
    rx__snapshot(c.w[1]);
    int64_t after = rx_physical_time(c.w[1]);
    assert(before <= rx__peers(c.w[1])->own[0].time && rx__peers(c.w[1])->own[0].time <= after);
    assert(rx__equal(rx__peers(c.w[1])->bound, rx__plus(rx__peers(c.w[1])->own[0], T(5, 0))));
    end_circle(c);
}

static void test_a_listener_ahead_of_the_clock_acts_after_what_it_has_done(void)
{
    circle c = new_circle(1);
    rx_tag far = T(1000000000000000, 7);
    rx__publish(c.w[0], rx__forever(), far, UINT64_MAX);
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->own[0], rx__next_microstep(far)));
    end_circle(c);
}

static void test_what_is_in_an_inbox_may_be_for_any_tag_not_yet_over(void)
{
    circle c = new_circle(1);
    rx__publish(c.w[0], rx__forever(), T(3, 1), UINT64_MAX);
    uint32_t *lock = (uint32_t *)rx__inbox_of(c.w[0]->base, 0);  /* its first word: a sender announces itself */
    rx__put32(lock, 1);
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->own[0], T(3, 2)));
    rx__put32(lock, 0);
    rx__inbox_state(c.w[0], 1);
    assert(rx_send(c.w[0]->base, c.run->b->fd, 0, 0, 0, 1, NULL, 0) == 1);
    rx__snapshot(c.w[1]);
    assert(rx__equal(rx__peers(c.w[1])->own[0], T(3, 2)) && !rx__peers(c.w[1])->idle_everywhere);
    end_circle(c);
}

static void test_emptying_an_inbox_lowers_the_head_first(void)
{
    circle c = new_circle(1);
    publish(c, rx__forever(), rx__forever(), rx__forever());
    rx__inbox_state(c.w[0], 1);
    assert(rx_send(c.w[0]->base, c.run->b->fd, 0, 0, 0, 1, NULL, 0) == 1);
    assert(rx__inbox_drain(c.w[0]) == 1);
    assert(rx__equal(rx__peers(c.w[0])->line->head, rx__own_next(c.w[0])) && !rx__is_forever(rx__peers(c.w[0])->line->head));
    end_circle(c);
}

int main(void)
{
    test_the_bound_is_what_the_others_could_do_at_the_earliest();
    test_ones_own_echo_bounds_too();
    test_an_unread_message_counts_as_its_receivers_act();
    test_a_bound_found_once_is_kept();
    test_a_worker_that_is_done_bounds_nobody();
    test_a_picture_is_of_one_moment();
    test_a_wait_is_over_when_the_last_writer_is_passed();
    test_a_wait_is_over_when_nobody_could_make_the_producer_act_in_time();
    test_a_delayed_value_is_due_at_one_microstep_of_its_time_only();
    test_a_listener_may_act_at_any_time_from_the_clock_on();
    test_a_listener_ahead_of_the_clock_acts_after_what_it_has_done();
    test_what_is_in_an_inbox_may_be_for_any_tag_not_yet_over();
    test_emptying_an_inbox_lowers_the_head_first();
    return 0;
}
