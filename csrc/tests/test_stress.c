/* Do channel, frontier and park hold when eight threads share few cores and meet in every way? Larger programs than in
 * test_shared, with everything native, compared with one worker; and the parts where nothing can be compared. */
#include "outside.h"

enum { WORKERS = 8 };

static void look_at(program *p, int r, list triggers, list effects) { react(p, r, triggers, NOTHING, effects, NULL, NULL); }

/* [times] on eight workers as on one. */
static void holds(program *p, int times, uint64_t budget, uint64_t often)
{
    int placement[MOST];
    memcpy(placement, p->placement, sizeof placement);
    memset(p->placement, 0, sizeof p->placement);
    p->workers = 1;
    run *alone = new_looking_run(p, budget, often);
    go(alone);
    memcpy(p->placement, placement, sizeof placement);
    p->workers = WORKERS;
    for (int i = 0; i < times; i++) {
        p->spin_ns = i % 2 * 20000;
        run *together = new_looking_run(p, budget, often);
        go(together);
        assert(saw_the_same(alone, together));
        end_run(together);
    }
    end_run(alone);
    free(p);
}

/* ---- channels ------------------------------------------------------------------------------------------------ */

/* All send to all, in all the ways there are, through rings of two. */
static void test_all_to_all_through_small_rings(void)
{
    program *p = new_program();
    int r[WORKERS], out[WORKERS], more[WORKERS];
    for (int k = 0; k < WORKERS; k++) {
        r[k] = reactor_on(p, k);
        out[k] = output(p, r[k], 8);
        more[k] = output(p, r[k], 256);
        look_at(p, r[k], OF(timer(p, r[k], 0, 1 + k % 3)), OF(out[k]));
    }
    for (int k = 0; k < WORKERS; k++) {
        list now = NOTHING, later = NOTHING;
        for (int i = 0; i < WORKERS; i++) {
            add(&now, input(p, r[k], out[i], AT_ONCE));
            add(&later, input(p, r[k], more[i], i % 2 ? rx__tag(0, 1) : rx__tag(i + 1, 0)));
        }
        look_at(p, r[k], now, OF(more[k]));
        look_at(p, r[k], later, NOTHING);
    }
    p->timeout = 60;
    p->ring = 2;
    p->few_slots = 1;
    holds(p, 4, 1000, 80);
}

/* ---- the frontier -------------------------------------------------------------------------------------------- */

/* A circle with positive delays: all may run ahead of the others, but not too far. */
static void test_a_circle_of_delays_with_clocks_of_their_own(void)
{
    program *p = new_program();
    int r[WORKERS], out[WORKERS];
    for (int k = 0; k < WORKERS; k++) {
        r[k] = reactor_on(p, k);
        out[k] = output(p, r[k], 8);
    }
    for (int k = 0; k < WORKERS; k++) {
        int before = (k + WORKERS - 1) % WORKERS;
        look_at(p, r[k], OF(timer(p, r[k], k, 5 + k), input(p, r[k], out[before], rx__tag(3 + k % 4, 0))), OF(out[k]));
    }
    p->timeout = 1500;
    holds(p, 4, 400, 70);
}

/* Idle workers between busy ones: most of the tags are not theirs, and the bound jumps. */
static void test_long_idle_times_are_jumped_over(void)
{
    program *p = new_program();
    int at = -1;
    for (int k = 0; k < WORKERS; k++) {
        int r = reactor_on(p, k), out = output(p, r, 8);
        look_at(p, r, OF(k ? input(p, r, at, rx__tag(1000000007, 0)) : timer(p, r, 0, 100000000000)), OF(out));
        if (k % 3 == 1) look_at(p, r, OF(timer(p, r, 77, 3333333333)), NOTHING);
        at = out;
    }
    p->timeout = 2000000000000;
    holds(p, 4, 10000, 100);
}

/* ---- beginnings and ends -------------------------------------------------------------------------------------- */

static void test_hundreds_of_short_lives(void)
{
    program *p = new_program();
    int at = -1;
    for (int k = 0; k < WORKERS; k++) {
        int r = reactor_on(p, k), out = output(p, r, 8);
        look_at(p, r, k ? OF(input(p, r, at, k % 2 ? AT_ONCE : rx__tag(0, 1)), p->shutdown[r]) : OF(p->startup[r]), OF(out));
        at = out;
    }
    holds(p, 100, 100, 100);
}

static void test_an_abort_at_any_moment_ends_all(void)
{
    program *p = new_program();
    int r[WORKERS], out[WORKERS];
    for (int k = 0; k < WORKERS; k++) {
        r[k] = reactor_on(p, k);
        out[k] = output(p, r[k], 8);
    }
    for (int k = 0; k < WORKERS; k++)
        look_at(p, r[k], OF(timer(p, r[k], 0, 1), input(p, r[k], out[(k + 1) % WORKERS], rx__tag(k % 2, k % 2 == 0))), OF(out[k]));
    p->workers = WORKERS;
    for (int i = 0; i < 30; i++) {
        p->spin_ns = i % 2 * 20000;
        p->ring = i % 3;
        run *one = new_looking_run(p, UINT64_MAX, 100);
        start_threads(one);
        for (int k = 0; k < i; k++) dawdle(), sched_yield();
        rx_abort(one->b->base, RX_E_ABORTED);
        join_threads(one);
        for (int k = 0; k < WORKERS; k++) assert(one->runners[k].result == RX_ABORTED);
        end_run(one);
    }
    free(p);
}

/* ---- from outside --------------------------------------------------------------------------------------------- */

static void test_what_is_heard_on_many_workers_meets_on_one(void)
{
    ear e;
    program *p = outside_program(WORKERS, &e);
    run *r = new_run(p);
    sender senders[SENDERS];
    start_threads(r);
    for (uint32_t i = 0; i < SENDERS; i++) start_sending(&senders[i], r, 1 + 2 * i);
    for (int i = 0; i < SENDERS; i++) pthread_join(senders[i].thread, NULL);
    join_threads(r);
    assert(e.n == SENDERS * EACH);
    end_run(r);
    free(p);
}

/* ---- park ----------------------------------------------------------------------------------------------------- */

static uint64_t token;

static int my_turn(rx_worker *w) { return rx__get_fenced(&token) % WORKERS == w->index; }

static void *pass_token(void *argument)
{
    runner *m = argument;
    open_worker(m);
    for (int i = 0; i < 1000; i++) {
        rx__peers(m->core)->wants = RX_ANYTHING;
        assert(rx__wait(m->core, my_turn) == 1);
        rx__put_fenced(&token, token + 1);
        rx__wake(m->core);
    }
    return NULL;
}

/* Were every fifth wake lost, this would take longer than the patience of a test. */
static void test_a_token_goes_round_eight_sleepers(void)
{
    program *p = new_program();
    for (int k = 0; k < WORKERS; k++) reactor_on(p, k);
    p->workers = WORKERS;
    for (p->spin_ns = 0; p->spin_ns < 20000; p->spin_ns += 10000) {
        run *r = new_run(p);
        token = 0;
        for (int k = 0; k < WORKERS; k++) assert(!pthread_create(&r->runners[k].thread, NULL, pass_token, &r->runners[k]));
        join_threads(r);
        assert(token == 1000 * WORKERS);
        for (int k = 0; k < WORKERS; k++) rx_close(r->runners[k].core);
        end_run(r);
    }
    free(p);
}

int main(void)
{
    alarm(4 * PATIENCE_S);
    test_all_to_all_through_small_rings();
    test_a_circle_of_delays_with_clocks_of_their_own();
    test_long_idle_times_are_jumped_over();
    test_hundreds_of_short_lives();
    test_an_abort_at_any_moment_ends_all();
    test_what_is_heard_on_many_workers_meets_on_one();
    test_a_token_goes_round_eight_sleepers();
    return 0;
}
