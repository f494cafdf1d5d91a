/* Does everything that other threads send arrive, once, in order, whole, and never at a tag that is over? */
#include "run.h"

enum { SENDERS = 6, EACH = 400 };

typedef struct {
    run *run;
    uint32_t worker, action;
    uint64_t number, bytes;   /* 0 bytes: the value itself travels */
    int accepted;
    pthread_t thread;
} sender;

/* The k-th value of a sender says so. */
static uint64_t value_of(uint64_t sender, uint64_t k) { return sender << 32 | k; }

static void *send_all(void *argument)
{
    sender *s = argument;
    uint64_t *data = malloc(s->bytes ? s->bytes : 8);
    for (uint64_t k = 1; k <= EACH;) {
        uint64_t value = value_of(s->number, k);
        fill(data, s->bytes, value);
        int taken = rx_send(s->run->b->base, s->run->b->fd, s->worker, s->action, 0, value, data, s->bytes);
        assert(taken >= 0);
        if (taken != 1) sched_yield();   /* not started yet, or there is no room */
        k += taken == 1;
        s->accepted += taken == 1;
        if (k % 64 == 0) dawdle();
    }
    free(data);
    return NULL;
}

static void start_senders(sender *senders, run *r, uint32_t worker, uint64_t bytes)
{
    for (uint64_t i = 0; i < SENDERS; i++) {
        senders[i] = (sender){.run = r, .worker = worker, .number = i, .bytes = bytes};
        assert(!pthread_create(&senders[i].thread, NULL, send_all, &senders[i]));
    }
}

static void join_senders(sender *senders)
{
    struct timespec end = in_seconds(PATIENCE_S);
    for (int i = 0; i < SENDERS; i++) {
        assert(!pthread_timedjoin_np(senders[i].thread, NULL, &end));
        assert(senders[i].accepted == EACH);
    }
}

static void nothing(void **data, unsigned char *present, void *state) { (void)data, (void)present, (void)state; }

/* A program of one worker with a physical action, whose reaction stops it after the last value. */
static runner *slow_listener(program *p, uint32_t capacity, int64_t min_delay)
{
    int a = reactor_on(p, 0), heard = physical_action(p, a, min_delay);
    react(p, a, OF(heard), NOTHING, NOTHING, nothing, NULL);
    p->reactions[0].native = 0;
    p->reactions[0].stop = rx__tag(0, 1);
    p->keepalive = 1;
    p->inbox = capacity;
    run *r = new_run(p);
    open_worker(&r->runners[0]);
    return &r->runners[0];
}

static runner *listener(program *p, uint32_t capacity) { return slow_listener(p, capacity, 0); }

static void end_listener(runner *m)
{
    program *p = m->run->p;
    rx_close(m->core);
    end_run(m->run);
    free(p);
}

static uint64_t heard_value(runner *m, uint64_t bytes)
{
    uint64_t where = m->core->where[0];
    assert(m->core->doors[0] == (RX_OPEN | RX_PRESENT));
    if (!bytes) return where & ~RX_SENT;
    assert(where & RX_OUTSIDE);
    const rx_copy *copy = rx__copy_at(where);
    assert(copy->size == bytes);
    return filled(copy + 1, bytes);
}

/* Of numbers of values that are not needed any more, how many there were and what they are together. */
typedef struct { uint64_t n, sum; } unneeded;

static void fetch(runner *m, unneeded *all)
{
    const uint64_t *numbers;
    for (uint32_t n = rx_unneeded(m->core, &numbers); n; n--, all->n++) all->sum += numbers[n - 1] & ~RX_SENT;
}

static int64_t next_but_fetching(runner *m, unneeded *all)
{
    int64_t next;
    while ((next = rx_next(m->core)) == RX_UNNEEDED) fetch(m, all);
    return next;
}

static void stop_now(runner *m) { m->core->doors[m->core->lists[m->core->reactions[0].writes]] |= RX_PRESENT; }

static int send_one(runner *m, int64_t delay, uint64_t value)
{
    return rx_send(m->run->b->base, m->run->b->fd, 0, 0, delay, value, NULL, 0);
}

static void check_many_senders(uint32_t capacity, uint64_t bytes)
{
    program *p = new_program();
    runner *m = listener(p, capacity);
    sender senders[SENDERS];
    uint64_t last[SENDERS] = {0};
    rx_tag before = rx__tag(-1, 0);
    unneeded all = {0};
    uint64_t sum = 0;
    start_senders(senders, m->run, 0, bytes);
    assert(rx_start(m->core) == 0);
    for (int n = 0; n < SENDERS * EACH; n++) {
        assert(next_but_fetching(m, &all) == 0);
        uint64_t value = heard_value(m, bytes), from = value >> 32, k = value & UINT32_MAX;
        sum += value;
        assert(from < SENDERS && k == last[from] + 1);
        last[from] = k;
        assert(rx__less(before, *m->core->now));
        before = *m->core->now;
        assert(before.time >= 0 && before.time <= rx_physical_time(m->core));
    }
    stop_now(m);
    assert(rx_next(m->core) == RX_DONE);
    fetch(m, &all);
    assert(bytes ? all.n == 0 : all.n == SENDERS * EACH && all.sum == sum);
    join_senders(senders);
    end_listener(m);
}

static void test_what_many_threads_send_arrives_in_the_order_of_each(void) { check_many_senders(0, 0); }
static void test_senders_wait_while_the_inbox_is_full(void) { check_many_senders(2, 0); }
static void test_bytes_arrive_as_a_copy(void) { check_many_senders(64, 48); }
static void test_bytes_that_outgrow_an_entry_arrive_too(void) { check_many_senders(8, 1600); }

static void test_nothing_is_accepted_before_the_start_nor_after_the_end(void)
{
    program *p = new_program();
    runner *m = listener(p, 0);
    assert(send_one(m, 0, 1) == 0);
    assert(rx_start(m->core) == 0);
    assert(send_one(m, 0, 2) == 1);
    assert(rx_next(m->core) == 0 && heard_value(m, 0) == 2);
    stop_now(m);
    assert(rx_next(m->core) == RX_DONE);
    assert(send_one(m, 0, 3) == 0);
    end_listener(m);
}

static void test_nothing_is_accepted_after_an_abort(void)
{
    program *p = new_program();
    runner *m = listener(p, 0);
    assert(rx_start(m->core) == 0);
    rx_abort(m->run->b->base, RX_E_ABORTED);
    assert(send_one(m, 0, 1) == 0);
    assert(rx_next(m->core) == RX_ABORTED);
    end_listener(m);
}

static void test_delays_come_on_top_of_the_clock(void)
{
    program *p = new_program();
    runner *m = slow_listener(p, 0, 7000000);
    assert(rx_start(m->core) == 0);
    int64_t began = rx_physical_time(m->core);
    assert(send_one(m, 3000000, 1) == 1 && send_one(m, 1000000, 2) == 1);
    assert(rx_next(m->core) == 0 && heard_value(m, 0) == 2 && m->core->now->time >= began + 8000000);
    assert(rx_next(m->core) == 0 && heard_value(m, 0) == 1 && m->core->now->time >= began + 10000000);
    stop_now(m);
    assert(rx_next(m->core) == RX_DONE);
    end_listener(m);
}

/* Four events of which one is over, one is beyond the stop, and two are too early for their action's policy. */
static void check_that_none_is_kept(int policy)
{
    program *p = new_program();
    runner *m = listener(p, 0);
    unneeded all = {0};
    m->core->actions[0].min_spacing = 1000000000;
    m->core->actions[0].policy = (uint32_t)policy;
    m->core->stop = rx__tag(500000000, 0);
    assert(rx_start(m->core) == 0);
    assert(send_one(m, 0, 1) == 1 && send_one(m, 1, 2) == 1 && send_one(m, 2, 3) == 1 && send_one(m, 2000000000, 4) == 1);
    assert(rx_next(m->core) == 0 && heard_value(m, 0) == (policy == RX_DROP ? 1 : 3));
    stop_now(m);
    assert(rx_next(m->core) == RX_DONE);
    fetch(m, &all);
    assert(all.n == 4 && all.sum == 10);
    end_listener(m);
}

static void test_a_value_that_is_dropped_or_replaced_is_not_needed(void)
{
    check_that_none_is_kept(RX_DROP);
    check_that_none_is_kept(RX_REPLACE);
    check_that_none_is_kept(RX_UPDATE);
}

static void test_many_that_are_not_needed_end_a_wait(void)
{
    program *p = new_program();
    runner *m = listener(p, 0);
    unneeded all = {0};
    m->core->actions[0].min_spacing = 1000000000000;
    m->core->actions[0].policy = RX_DROP;
    assert(rx_start(m->core) == 0);
    assert(send_one(m, 0, 1) == 1 && rx_next(m->core) == 0);
    for (uint64_t i = 0; i < 2 * MANY_UNNEEDED; i++) assert(send_one(m, 0, 1) == 1);
    assert(rx_next(m->core) == RX_UNNEEDED);
    fetch(m, &all);
    assert(all.n == 2 * MANY_UNNEEDED + 1);
    rx_abort(m->run->b->base, RX_E_ABORTED);
    assert(rx_next(m->core) == RX_ABORTED);
    end_listener(m);
}

static void test_a_reaction_that_sends_itself_more_than_fits_takes_it_itself(void)
{
    program *p = new_program();
    runner *m = listener(p, 4);
    unneeded all = {0};
    uint64_t sent = 1, heard = 0;
    assert(rx_start(m->core) == 0);
    assert(send_one(m, 0, 1) == 1 && rx_next(m->core) == 0);
    for (heard++; sent < 100; ) {
        int taken = send_one(m, 0, sent + 1);
        if (taken == RX_FULL) rx_take_sent(m->core);
        sent += taken == 1;
    }
    while (heard < sent) {
        assert(next_but_fetching(m, &all) == 0 && heard_value(m, 0) == heard + 1);
        heard++;
    }
    stop_now(m);
    assert(rx_next(m->core) == RX_DONE);
    end_listener(m);
}

static void test_a_value_that_no_memory_is_left_for_is_refused(void)
{
    program *p = new_program();
    runner *m = listener(p, 0);
    uint64_t data[200] = {0};
    assert(rx_start(m->core) == 0);
    m->run->b->image->limit = m->run->b->image->spill;
    assert(rx_send(m->run->b->base, m->run->b->fd, 0, 0, 0, 0, data, sizeof data) == -1);
    assert(send_one(m, 0, 7) == 1);      /* the inbox goes on */
    assert(rx_next(m->core) == 0 && heard_value(m, 0) == 7);
    stop_now(m);
    assert(rx_next(m->core) == RX_DONE);
    end_listener(m);
}

static void test_others_hear_when_the_inbox_is_quiet_again(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1), heard = physical_action(p, a, 0), out = output(p, a, 8);
    react(p, a, OF(heard), NOTHING, OF(out), nothing, NULL);
    react(p, b, OF(input(p, b, out, AT_ONCE)), NOTHING, NOTHING, nothing, NULL);
    p->workers = 2;
    run *r = new_run(p);
    runner *m = &r->runners[0];
    open_worker(m);
    rx__inbox_state(m->core, 1);
    rx__publish(m->core, rx__forever(), rx__tag(0, 0), UINT64_MAX);
    uint64_t version = rx__peers(m->core)->line->version;
    assert(send_one(m, 1000, 1) == 1 && !rx__inbox_quiet(rx__inbox_of(r->b->base, 0)));
    rx__inbox_drain(m->core);
    assert(!rx__is_forever(rx__peers(m->core)->line->head));
    assert(rx__peers(m->core)->line->version == version + 4);   /* once before, once after */
    rx_close(m->core);
    end_run(r);
    free(p);
}

static void test_memory_for_large_values_is_as_much_as_is_needed_at_once(void)
{
    enum { TIMES = 200, LARGE = 100000 };
    program *p = new_program();
    runner *m = listener(p, 8);
    uint64_t *data = malloc(LARGE), first = 0;
    assert(rx_start(m->core) == 0);
    for (uint64_t i = 0; i < TIMES; i++) {
        uint64_t bytes = LARGE - i * 16;             /* of many sizes, through all the entries */
        for (uint64_t k = 0; k < 2; k++) {
            fill(data, bytes, 1000 * i + k);
            assert(rx_send(m->run->b->base, m->run->b->fd, 0, 0, 0, 0, data, bytes) == 1);
        }
        for (uint64_t k = 0; k < 2; k++) assert(rx_next(m->core) == 0 && heard_value(m, bytes) == 1000 * i + k);
        if (!i) first = m->run->b->image->spill;
        assert(m->run->b->image->spill == first);
    }
    stop_now(m);
    assert(rx_next(m->core) == RX_DONE);
    free(data);
    end_listener(m);
}

/* ---- with more workers: what is heard goes on to the others, and no worker has begun a later tag ------------------ */

typedef struct { uint64_t value, n; rx_tag last; } ear;

static void pass_on(void **data, unsigned char *present, void *state)
{
    ear *e = state;
    const rx_cell *cell = me->core->cell_of[me->core->lists[me->core->reactions[0].reads]];
    e->value = cell->payload;
    e->n++;
    fill(data[1], 8, e->value);
    present[1] = 1;
    if (e->n == SENDERS * EACH) present[2] = 1;
}

static void listen_too(void **data, unsigned char *present, void *state)
{
    ear *e = state;
    assert(rx__less(e->last, now()));
    e->last = now();
    if (present[0]) e->value = filled(data[0], 8), e->n++;
}

static void test_others_hear_of_it_at_the_same_tag(void)
{
    for (int64_t spin = 0; spin < 2; spin++) {
        program *p = new_program();
        ear ears[3] = {{.last = {-1, 0}}, {.last = {-1, 0}}, {.last = {-1, 0}}};
        int a = reactor_on(p, 0), b = reactor_on(p, 1), c = reactor_on(p, 2);
        int heard = physical_action(p, a, 0), out = output(p, a, 8);
        react(p, a, OF(heard), NOTHING, OF(out), pass_on, &ears[0]);
        p->reactions[0].stop = rx__tag(0, 1);
        react(p, b, OF(input(p, b, out, AT_ONCE), timer(p, b, 0, 100000)), NOTHING, NOTHING, listen_too, &ears[1]);
        react(p, c, OF(input(p, c, out, rx__tag(50000, 0))), NOTHING, NOTHING, listen_too, &ears[2]);
        p->workers = 3;
        p->keepalive = p->real_time = 1;
        p->spin_ns = spin * 20000;
        run *r = new_run(p);
        sender senders[SENDERS];
        start_senders(senders, r, 0, 0);
        go(r);
        join_senders(senders);
        assert(ears[0].n == SENDERS * EACH && ears[1].n == SENDERS * EACH && ears[1].value == ears[0].value);
        assert(ears[2].n <= SENDERS * EACH);         /* the last ones were due after the stop */
        end_run(r);
        free(p);
    }
}

int main(void)
{
    alarm(2 * PATIENCE_S);               /* rx_next of this thread waits for what is sent */
    test_what_many_threads_send_arrives_in_the_order_of_each();
    test_senders_wait_while_the_inbox_is_full();
    test_bytes_arrive_as_a_copy();
    test_bytes_that_outgrow_an_entry_arrive_too();
    test_nothing_is_accepted_before_the_start_nor_after_the_end();
    test_nothing_is_accepted_after_an_abort();
    test_delays_come_on_top_of_the_clock();
    test_a_value_that_is_dropped_or_replaced_is_not_needed();
    test_many_that_are_not_needed_end_a_wait();
    test_a_reaction_that_sends_itself_more_than_fits_takes_it_itself();
    test_a_value_that_no_memory_is_left_for_is_refused();
    test_memory_for_large_values_is_as_much_as_is_needed_at_once();
    test_others_hear_when_the_inbox_is_quiet_again();
    test_others_hear_of_it_at_the_same_tag();
    return 0;
}
