/* Does a program mean the same when its reactors live on several workers? Programs for the situations that one can think
 * of; test_random has those that one cannot. Each runs on one worker first; then on several, with and without spinning,
 * every reaction must have seen the same. */
#include "run.h"

enum { BUDGET = 60, ALWAYS = 100 };

/* Runs the program with the placement that its reactors were declared with, as often as said. */
static void means_the_same(program *p, int workers, int times, uint64_t often)
{
    int placement[MOST];
    memcpy(placement, p->placement, sizeof placement);
    memset(p->placement, 0, sizeof p->placement);
    int processes = p->processes;
    p->workers = 1;
    p->processes = 0;
    run *alone = new_looking_run(p, BUDGET, often);
    go(alone);
    uint64_t ran = 0;
    for (int i = 0; i < p->n_reactions; i++) ran += alone->seen[i].count;
    assert(ran > (uint64_t)p->n_reactions);          /* or the test shows nothing */
    memcpy(p->placement, placement, sizeof placement);
    p->workers = workers;
    p->processes = processes;
    for (int i = 0; i < times; i++) {
        p->spin_ns = i % 3 * 5000;
        run *together = new_looking_run(p, BUDGET, often);
        go(together);
        for (int w = 0; w < workers; w++) assert(together->runners[w].result == RX_DONE);
        assert(saw_the_same(alone, together));
        end_run(together);
    }
    end_run(alone);
}

static void look_at(program *p, int r, list triggers, list effects) { react(p, r, triggers, NOTHING, effects, NULL, NULL); }

/* ---- zero-delay ---------------------------------------------------------------------------------------------- */

static void test_a_chain_without_delay_passes_through_all_workers_in_one_tag(void)
{
    for (int i = 0; i < 3; i++) {
        int workers = (int[]){2, 3, 8}[i];
        program *p = new_program();
        int first = reactor_on(p, 0), at = output(p, first, 8);
        look_at(p, first, OF(timer(p, first, 0, 3)), OF(at));
        for (int k = 1; k <= 2 * workers; k++) {     /* twice round: every worker waits for every other */
            int r = reactor_on(p, k % workers), out = output(p, r, 64);
            look_at(p, r, OF(input(p, r, at, AT_ONCE)), OF(out));
            at = out;
        }
        p->timeout = 100;
        means_the_same(p, workers, 3, 90);
        free(p);
    }
}

static void test_two_workers_answer_one_another_within_a_tag(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1);
    int ask = output(p, a, 8), answer = output(p, b, 8);
    look_at(p, a, OF(timer(p, a, 0, 2)), OF(ask));
    look_at(p, b, OF(timer(p, b, 0, 3), input(p, b, ask, AT_ONCE)), OF(answer));
    look_at(p, a, OF(input(p, a, answer, AT_ONCE)), NOTHING);
    p->timeout = 60;
    means_the_same(p, 2, 6, 60);
    free(p);
}

static void test_one_gathers_from_all_and_broadcasts_to_all(void)
{
    program *p = new_program();
    int hub = reactor_on(p, 0), word = output(p, hub, 200);
    list all = NOTHING, block = NOTHING;
    look_at(p, hub, OF(timer(p, hub, 0, 1)), OF(word));
    for (int k = 0; k < 16; k++) {
        int r = reactor_on(p, k * 8 / 16), out = output(p, r, 24);
        look_at(p, r, OF(input(p, r, word, AT_ONCE)), OF(out));
        add(&all, input(p, hub, out, AT_ONCE));
        add(&block, out);
    }
    p->blocks[p->n_blocks++] = block;
    look_at(p, hub, all, NOTHING);
    p->timeout = 40;
    means_the_same(p, 8, 4, 90);
    free(p);
}

/* ---- microsteps and delays ----------------------------------------------------------------------------------- */

static void test_ping_pong_goes_on_by_microsteps(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1);
    int ping = output(p, a, 8), pong = output(p, b, 8);
    look_at(p, a, OF(p->startup[a], input(p, a, pong, rx__tag(0, 1))), OF(ping));
    look_at(p, b, OF(input(p, b, ping, rx__tag(0, 1))), OF(pong));
    means_the_same(p, 2, 6, ALWAYS);
    free(p);
}

/* Worker 1 sends at once to 2, 2 three microsteps later to 0, 0 one later back to 1: what 1 sends comes back four
 * microsteps later, while all else that it could wait for lies far ahead. */
static void test_an_echo_is_heard_before_later_events(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1), c = reactor_on(p, 2);
    int from_a = output(p, a, 8), from_b = output(p, b, 8), from_c = output(p, c, 8);
    look_at(p, b, OF(timer(p, b, 0, 1)), OF(from_b));
    look_at(p, c, OF(input(p, c, from_b, AT_ONCE), timer(p, c, 0, 10)), OF(from_c));
    look_at(p, a, OF(input(p, a, from_c, rx__tag(0, 3)), timer(p, a, 0, 10)), OF(from_a));
    look_at(p, b, OF(input(p, b, from_a, rx__tag(0, 1)), timer(p, b, 0, 1)), NOTHING);
    p->timeout = 50;
    means_the_same(p, 3, 20, ALWAYS);
    free(p);
}

static void test_a_pipeline_runs_ahead_as_far_as_its_slots_and_rings_allow(void)
{
    for (int object = 0; object < 2; object++)
        for (uint32_t ring = 0; ring < 2; ring++) {
            program *p = new_program();
            int at = -1;
            for (int k = 0; k < 6; k++) {
                int r = reactor_on(p, k % 3), out = object ? object_output(p, r, 40) : output(p, r, 40);
                look_at(p, r, OF(k ? input(p, r, at, rx__tag(7, 0)) : timer(p, r, 0, 1)), OF(out));
                at = out;
            }
            p->timeout = 90;
            p->ring = ring;          /* of one message: all wait for room all the time */
            p->few_slots = 1;
            means_the_same(p, 3, 3, 90);
            free(p);
        }
}

static void test_full_rings_in_a_circle_empty_themselves(void)
{
    program *p = new_program();
    int r[3], out[3][4];
    for (int k = 0; k < 3; k++) {
        r[k] = reactor_on(p, k);
        for (int i = 0; i < 4; i++) {
            out[k][i] = output(p, r[k], 16);
            look_at(p, r[k], OF(timer(p, r[k], 0, 1)), OF(out[k][i]));
        }
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++) {
            look_at(p, r[k], OF(input(p, r[k], out[(k + 1) % 3][i], rx__tag(20, 0))), NOTHING);
            look_at(p, r[k], OF(input(p, r[k], out[(k + 2) % 3][i], rx__tag(0, 1))), NOTHING);
        }
    p->ring = 1;
    p->timeout = 50;
    means_the_same(p, 3, 4, ALWAYS);
    free(p);
}

static void test_arrivals_at_one_tag_spread_over_microsteps_in_the_order_of_sending(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1), out = output(p, a, 8), again = action(p, a, 0);
    look_at(p, a, OF(timer(p, a, 0, 5), again), OF(out, again));
    look_at(p, b, OF(input(p, b, out, rx__tag(5, 0)), timer(p, b, 0, 5)), NOTHING);
    p->timeout = 40;
    means_the_same(p, 2, 6, 70);
    free(p);
}

/* ---- the end ------------------------------------------------------------------------------------------------- */

static void test_a_request_to_stop_stops_all_at_one_tag(void)
{
    for (int64_t delay = 0; delay < 8; delay += 4) {
        program *p = new_program();
        for (int k = 0; k < 8; k++) {
            int r = reactor_on(p, k), out = output(p, r, 8);
            react(p, r, OF(timer(p, r, k, 3)), NOTHING, OF(out), NULL, NULL);
            p->reactions[p->n_reactions - 1].stop = rx__tag(delay, delay == 0);
            look_at(p, r, OF(p->shutdown[r], input(p, r, out, rx__tag(2, 0))), NOTHING);
        }
        means_the_same(p, 8, 3, 30);
        free(p);
    }
}

static void test_what_is_under_way_at_a_stop_ends_it_alike(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1), c = reactor_on(p, 2), out = output(p, a, 8), more = output(p, b, 8);
    look_at(p, a, OF(timer(p, a, 0, 0), timer(p, a, 6, 0)), OF(out));
    look_at(p, b, OF(input(p, b, out, rx__tag(20, 0)), timer(p, b, 8, 0)), OF(more));
    look_at(p, c, OF(input(p, c, more, rx__tag(0, 1)), p->shutdown[c]), NOTHING);
    react(p, c, OF(timer(p, c, 7, 0)), NOTHING, NOTHING, NULL, NULL);
    p->reactions[p->n_reactions - 1].stop = rx__tag(4, 0);
    look_at(p, b, OF(p->shutdown[b]), NOTHING);
    look_at(p, a, OF(p->shutdown[a]), NOTHING);
    means_the_same(p, 3, 10, 4 * ALWAYS);            /* a quarter of that is how often it asks */
    free(p);
}

static void test_what_shutdown_reactions_write_is_seen_at_the_same_tag(void)
{
    program *p = new_program();
    int at = -1;
    for (int k = 0; k < 8; k++) {
        int r = reactor_on(p, (k * 3 + 1) % 8), out = output(p, r, 8);
        look_at(p, r, k ? OF(p->shutdown[r], input(p, r, at, AT_ONCE)) : OF(p->shutdown[r], p->startup[r]), OF(out));
        at = out;
    }
    int r = reactor_on(p, 0);
    look_at(p, r, OF(input(p, r, at, AT_ONCE), timer(p, r, 0, 0)), NOTHING);
    means_the_same(p, 8, 10, ALWAYS);
    free(p);
}

/* The last tag of worker 1 lasts until worker 0, which is many tags behind, waits for room. */
static void take_long(void **data, unsigned char *present, void *state)
{
    (void)data, (void)present, (void)state;
    int64_t patience = rx__clock() + PATIENCE_S * 1000000000ll;
    while (!(rx__get_fenced(&me->core->image->sleepers) & 1)) assert(rx__clock() < patience);
}

static void write_much(void **data, unsigned char *present, void *state)
{
    uint64_t *written = state;
    fill(data[1], 64, (uint64_t)now().time);
    present[1] = 1;
    rx__put(written, *written + 1);
}

static void ignore(void **data, unsigned char *present, void *state) { (void)data, (void)present, (void)state; }

static void test_a_worker_that_is_done_keeps_nobody_waiting_for_room(void)
{
    for (uint32_t ring = 0; ring < 3; ring += 2) {                   /* slots run out, or the ring is full */
        uint64_t written = 0;
        program *p = new_program();
        int a = reactor_on(p, 0), b = reactor_on(p, 1), out = output(p, a, 64);
        react(p, a, OF(timer(p, a, 0, 1)), NOTHING, OF(out), write_much, &written);
        react(p, b, OF(input(p, b, out, rx__tag(100, 0))), NOTHING, NOTHING, ignore, NULL);
        react(p, b, OF(p->shutdown[b]), NOTHING, NOTHING, take_long, NULL);
        p->workers = 2;
        p->timeout = 60;
        p->ring = ring;
        run *r = new_run(p);
        go(r);
        assert(written == 61);
        end_run(r);
        free(p);
    }
}

/* ---- callers who look around while they wait ------------------------------------------------------------------- */

/* Takes so long that the worker in [state] looks around a few times. */
static void dawdle_for(void **data, unsigned char *present, void *state)
{
    (void)data, (void)present;
    int64_t patience = rx__clock() + PATIENCE_S * 1000000000ll;
    while (rx__get(&((runner *)state)->looks) < 3) assert(rx__clock() < patience);
}

static void count_in_order(void **data, unsigned char *present, void *state)
{
    (void)data, (void)present;
    uint64_t *heard = state;
    assert(now().time == 100 + (int64_t)(*heard)++);
}

/* The producer is watched and waits for room, or for a reader who takes long and is done with all before it; or the
 * reader is watched and done before the producer has sent much. */
static void test_nothing_is_lost_while_a_worker_looks_around(void)
{
    for (uint64_t watched = 0; watched < 2; watched++)
        for (uint32_t ring = 0; ring < 3; ring += 2) {
            uint64_t heard = 0;
            program *p = new_program();
            int a = reactor_on(p, 0), b = reactor_on(p, 1), out = output(p, a, 64);
            int slow = watched ? a : b;
            uint64_t written = 0;
            react(p, slow, OF(timer(p, slow, 5, 0)), NOTHING, NOTHING, dawdle_for, NULL);
            react(p, a, OF(timer(p, a, 0, 1)), NOTHING, OF(out), write_much, &written);
            react(p, b, OF(input(p, b, out, rx__tag(100, 0))), NOTHING, NOTHING, count_in_order, &heard);
            p->workers = 2;
            p->timeout = watched ? 60 : 160;
            p->ring = ring;
            p->watched = 1ull << watched;
            p->longest_sleep_ns = 100000;
            run *r = new_run(p);
            p->reactions[0].state = &r->runners[watched];
            go(r);
            assert(written == (watched ? 61 : 161) && heard == (watched ? 0 : 61));
            end_run(r);
            free(p);
        }
}

/* ---- failures ------------------------------------------------------------------------------------------------ */

static void abort_at_ten(void **data, unsigned char *present, void *state)
{
    (void)data, (void)present, (void)state;
    if (now().time == 10) rx_abort(me->run->b->base, RX_E_ABORTED);
}

static void count_up(void **data, unsigned char *present, void *state)
{
    (void)data, (void)present;
    ++*(uint64_t *)state;
}

/* Others that wait for the worker that fails, and others that never wait: all end, by way of their shutdown. */
static void test_an_abort_ends_all_workers(void)
{
    for (int connected = 0; connected < 2; connected++) {
        program *p = new_program();
        uint64_t ends[3] = {0};
        int r[3], out = -1;
        for (int k = 0; k < 3; k++) {
            r[k] = reactor_on(p, k);
            if (!k) out = output(p, r[k], 8);
            react(p, r[k], OF(timer(p, r[k], 0, 1)), NOTHING, k ? NOTHING : OF(out), k ? ignore : abort_at_ten, NULL);
            if (k && connected) react(p, r[k], OF(input(p, r[k], out, AT_ONCE)), NOTHING, NOTHING, ignore, NULL);
            react(p, r[k], OF(p->shutdown[r[k]]), NOTHING, NOTHING, count_up, &ends[k]);
            p->reactions[p->n_reactions - 1].native = 0;
        }
        p->workers = 3;
        run *run = new_run(p);
        go(run);
        for (int k = 0; k < 3; k++) assert(run->runners[k].result == RX_ABORTED && ends[k] == 1);
        end_run(run);
        free(p);
    }
}

/* From outside: no worker goes on and wakes the others. */
static void test_an_abort_ends_the_wait_for_the_start(void)
{
    program *p = new_program();
    for (int k = 0; k < 3; k++) reactor_on(p, k);
    p->workers = 3;
    run *r = new_run(p);
    for (int k = 0; k < 2; k++) pthread_create(&r->runners[k].thread, NULL, work, &r->runners[k]);       /* the third never comes */
    while (rx__get_fenced(&r->b->image->sleepers) != 3) sched_yield();
    rx_abort(r->b->base, RX_E_ABORTED);
    struct timespec end = in_seconds(PATIENCE_S);
    for (int k = 0; k < 2; k++) {
        assert(!pthread_timedjoin_np(r->runners[k].thread, NULL, &end));
        assert(r->runners[k].result == RX_ABORTED);
    }
    end_run(r);
    free(p);
}

/* ---- physical connections ------------------------------------------------------------------------------------ */

typedef struct { uint64_t n, value; rx_tag last; } ear;

static void hear(void **data, unsigned char *present, void *state)
{
    ear *e = state;
    assert(present[0] && filled(data[0], 64) == e->value + 1);
    assert(rx__less(e->last, now()) && now().time <= rx_physical_time(me->core));
    e->value++;
    e->n++;
    e->last = now();
}

static void test_a_physical_connection_delivers_all_in_order_when_they_arrive(void)
{
    program *p = new_program();
    uint64_t counted = 0;
    ear e = {.value = UINT64_MAX, .last = {-1, 0}};          /* it expects 0 next */
    int a = reactor_on(p, 0), b = reactor_on(p, 1), out = output(p, a, 64);
    react(p, a, OF(p->startup[a]), NOTHING, OF(out), write_much, &counted);
    for (int i = 1; i <= 40; i++) react(p, a, OF(timer(p, a, i, 0)), NOTHING, OF(out), write_much, &counted);
    react(p, b, OF(physical_input(p, b, out, 0)), NOTHING, NOTHING, hear, &e);
    p->workers = 2;
    run *r = new_run(p);
    go(r);
    assert(e.n == 41 && e.value == 40);              /* the program waits for what is on its way */
    end_run(r);
    free(p);
}

/* ---- processes ----------------------------------------------------------------------------------------------- */

static void test_processes_mean_the_same_as_one_worker(void)
{
    for (int workers = 2; workers <= 3; workers++) {
        program *p = new_program();
        int at = -1, back = -1, first = -1;
        for (int k = 0; k < 6; k++) {
            int r = reactor_on(p, k % workers);
            int typed = output(p, r, 200), small = object_output(p, r, 40), big = object_output(p, r, 3000);
            list triggers = k ? OF(input(p, r, at, AT_ONCE), input(p, r, back, rx__tag(3, 0))) : OF(timer(p, r, 0, 2));
            look_at(p, r, triggers, OF(typed, small, big));
            if (!k) first = r;
            at = k % 2 ? typed : small;
            back = big;
        }
        look_at(p, first, OF(input(p, first, back, rx__tag(0, 1)), input(p, first, at, rx__tag(30, 0))), NOTHING);
        p->timeout = 60;
        p->processes = 1;
        means_the_same(p, workers, 3, 90);
        free(p);
    }
}

int main(void)
{
    test_a_chain_without_delay_passes_through_all_workers_in_one_tag();
    test_two_workers_answer_one_another_within_a_tag();
    test_one_gathers_from_all_and_broadcasts_to_all();
    test_ping_pong_goes_on_by_microsteps();
    test_an_echo_is_heard_before_later_events();
    test_a_pipeline_runs_ahead_as_far_as_its_slots_and_rings_allow();
    test_full_rings_in_a_circle_empty_themselves();
    test_arrivals_at_one_tag_spread_over_microsteps_in_the_order_of_sending();
    test_a_request_to_stop_stops_all_at_one_tag();
    test_what_is_under_way_at_a_stop_ends_it_alike();
    test_what_shutdown_reactions_write_is_seen_at_the_same_tag();
    test_a_worker_that_is_done_keeps_nobody_waiting_for_room();
    test_nothing_is_lost_while_a_worker_looks_around();
    test_an_abort_ends_all_workers();
    test_an_abort_ends_the_wait_for_the_start();
    test_a_physical_connection_delivers_all_in_order_when_they_arrive();
    test_processes_mean_the_same_as_one_worker();
    return 0;
}
